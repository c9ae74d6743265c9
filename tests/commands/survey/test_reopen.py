"""A finished survey's studies, read back from its folder."""

from __future__ import annotations

import pandas as pd
import pytest

import headatlas as ha
from headatlas.commands.survey.reopen import reopen_studies
from headatlas.corpora.sample import sample_treebank
from headatlas.engine.run_folder import read_manifest, write_manifest
from headatlas.errors import AtlasError
from headatlas.results.tables import TABLES


@pytest.fixture(scope="module")
def atlas(tiny_folder, tmp_path_factory):
    folder = tmp_path_factory.mktemp("survey")
    trees = folder / "trees.conllu"
    sentences = sample_treebank().read_text(encoding="utf-8").split("\n\n")[:40]
    trees.write_text("\n\n".join(sentences) + "\n\n", encoding="utf-8")
    phrases = folder / "phrases.jsonl"
    phrases.write_text('{"text": "the old dog ran to the river .", "keyphrases": ["old dogs"]}\n' * 5, encoding="utf-8")
    return ha.survey(
        str(tiny_folder("bert")),
        text=ha.sample_text(),
        treebank=trees,
        coreference=trees,
        keyphrases=phrases,
        out=folder / "atlas",
        segments=6,
        max_tokens=64,
        bootstrap=20,
        device="cpu",
        progress=False,
    )


def test_they_give_the_tables_of_the_survey_again(atlas):
    found = {}
    for study in reopen_studies(atlas):
        found |= study.frames()
    assert found.keys() == set(atlas.tables) - {"behaviours"}
    for name, table in found.items():
        if name == "dependency_best":
            table = table.assign(control=float("nan"))
        pd.testing.assert_frame_equal(TABLES[name].conform(table), atlas.tables[name], check_dtype=False)


def test_replicates_have_a_column_for_each_row(atlas):
    replicates = {name: drawn for study in reopen_studies(atlas) for name, drawn in study.replicates().items()}
    without = {"behaviours", "head_distances", "head_map", "similarity", "resting", "keyphrase_best"}
    without |= {name for name in atlas.tables if name.endswith(("_layers", "_lengths"))}
    assert replicates.keys() == {*atlas.tables, "dependency_best/lead"} - without
    for name, drawn in replicates.items():
        assert drawn.shape == (20, len(atlas.tables[name.partition("/")[0]]))


def test_a_folder_without_its_sums_is_refused(atlas, tmp_path):
    copy = tmp_path / "copy"
    copy.mkdir()
    manifest = read_manifest(atlas.folder)
    write_manifest(copy, manifest)
    with pytest.raises(AtlasError, match=r"text\.safetensors: is missing"):
        list(reopen_studies(ha.open_atlas(copy)))
    del manifest["settings"]["bootstrap"]
    write_manifest(copy, manifest)
    with pytest.raises(AtlasError, match="another version: its settings lack bootstrap"):
        list(reopen_studies(ha.open_atlas(copy)))


def test_settings_that_no_survey_can_have_had(atlas, tmp_path):
    copy = tmp_path / "copy"
    copy.mkdir()
    manifest = read_manifest(atlas.folder)
    manifest["corpora"]["treebank"]["relations"][3] = None
    write_manifest(copy, manifest)
    with pytest.raises(
        AtlasError, match=r"copy/manifest\.json: its settings are damaged .*None is not the name of a relation"
    ):
        list(reopen_studies(ha.open_atlas(copy)))


def test_a_treebank_of_a_label_set_that_nobody_knows(tiny_folder, tmp_path):
    trees = tmp_path / "trees.conllu"
    rows = [line.split("\t") for line in sample_treebank().read_text(encoding="utf-8").split("\n")[:400]]
    renamed = [[*row[:7], f"mine_{row[7]}", *row[8:]] if len(row) == 10 else row for row in rows]
    trees.write_text("\n".join(map("\t".join, renamed)).rpartition("\n\n")[0] + "\n\n", encoding="utf-8")
    options = {"max_tokens": 64, "bootstrap": 5, "least_count": 1, "device": "cpu", "progress": False}
    atlas = ha.survey(str(tiny_folder("bert")), treebank=trees, out=tmp_path / "atlas", **options)
    assert atlas.manifest["corpora"]["treebank"]["label_set"] == "other"
    assert "mine_nsubj" in set(atlas.tables["dependency_best"]["relation"])
    [study] = reopen_studies(atlas)
    assert set(study.frames()["dependencies"]["relation"]) == set(atlas.tables["dependencies"]["relation"])
