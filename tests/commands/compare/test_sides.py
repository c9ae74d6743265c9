"""When two surveys are paired, which settings count as different, and manifests that cannot be compared by."""

from __future__ import annotations

import copy
import json
import shutil

import numpy as np
import pytest

from headatlas.commands.compare.differences import differing_settings, open_side, paired, same_files, side_of
from headatlas.errors import AtlasError

CORPORA = ("text", "treebank", "coreference")


def test_the_same_corpora_and_tokenizer_are_paired(atlas, other):
    assert all(same_files(corpus, atlas.manifest, other.manifest) for corpus in CORPORA)
    assert all(paired(corpus, atlas.manifest, other.manifest) for corpus in CORPORA)


def test_another_tokenizer_unpairs_what_it_cuts_and_not_sentences(atlas, causal):
    assert same_files("text", atlas.manifest, causal.manifest)
    assert [paired(corpus, atlas.manifest, causal.manifest) for corpus in CORPORA] == [False, True, False]


def test_documents_are_paired_whatever_the_tokenizer(atlas, causal):
    manifests = [copy.deepcopy(side.manifest) for side in (atlas, causal)]
    for manifest in manifests:
        for corpus in CORPORA:
            manifest["corpora"][corpus]["resampled_by"] = "document"
    assert all(paired(corpus, *manifests) for corpus in CORPORA)
    manifests[0]["corpora"]["treebank"]["resampled_by"] = "input"
    assert [paired(corpus, *manifests) for corpus in CORPORA] == [True, False, True]


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (lambda manifest: manifest["settings"].update(seed=1), [False, False, False]),
        (lambda manifest: manifest["settings"].update(max_tokens=30), [False, True, True]),
        (lambda manifest: manifest["corpora"]["text"].update(tokens=1), [False, True, True]),
        (lambda manifest: manifest["settings"]["format"].update(treebank="conllx"), [True, False, True]),
        (lambda manifest: manifest["corpora"]["treebank"].update(sentences=1), [True, True, True]),
        (lambda manifest: manifest["corpora"]["coreference"]["files"][0].update(sha256=""), [True, True, False]),
        (lambda manifest: manifest["settings"].update(batch_tokens=1), [True, True, True]),
    ],
)
def test_what_unpairs(atlas, change, expected):
    changed = copy.deepcopy(atlas.manifest)
    change(changed)
    assert [paired(corpus, atlas.manifest, changed) for corpus in CORPORA] == expected


def test_paired_replicates_weigh_the_same_units(atlas, survey, tiny_folder, other):
    """The rules without a model have the same replicates in both surveys, and others with another seed."""
    seeded = survey(tiny_folder("bert"), seed=1, text=None, treebank=None)
    drawn = [side_of(one)[0].replicates["coreference_baselines"] for one in (atlas, other, seeded)]
    assert np.array_equal(drawn[0], drawn[1], equal_nan=True)
    assert not np.array_equal(drawn[0], drawn[2], equal_nan=True)
    assert drawn[0].shape == (60, len(atlas.tables["coreference_baselines"]))
    assert not paired("coreference", atlas.manifest, seeded.manifest)


def test_settings_that_may_show_are_listed(atlas):
    changed = copy.deepcopy(atlas.manifest)
    changed["settings"].update(as_published=True, batch_tokens=64, model="other", weights={})
    assert differing_settings(atlas.manifest, changed) == {"as_published": [False, True]}


def test_replicates_are_of_the_rows_of_the_tables(atlas):
    side, problem = side_of(atlas)
    assert problem is None
    assert {"positions", "entropy", "dependencies", "dependency_best", "coreference"} <= set(side.replicates)
    assert all(drawn.shape == (60, len(side.tables[key.partition("/")[0]])) for key, drawn in side.replicates.items())


@pytest.fixture
def damaged(atlas, tmp_path):
    return shutil.copytree(atlas.folder, tmp_path / "damaged")


def rewrite(folder, change):
    path = folder / "manifest.json"
    manifest = json.loads(path.read_text(encoding="utf-8"))
    change(manifest)
    path.write_text(json.dumps(manifest), encoding="utf-8")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda manifest: manifest.update(complete=False), "has not finished"),
        (lambda manifest: manifest.update(command="compare"), "holds the results of compare, not a survey"),
        (lambda manifest: manifest.update(format="headatlas-atlas-1"), "not a manifest that this version"),
        (lambda manifest: manifest.pop("corpora"), "survey's corpora"),
        (lambda manifest: manifest.update(model=[]), "cannot be read .model is a list"),
        (lambda manifest: manifest["model"].pop("heads"), "survey's model"),
        (lambda manifest: manifest["settings"].pop("seed"), "survey's settings"),
    ],
)
def test_manifests_that_cannot_be_compared_by(damaged, change, message):
    rewrite(damaged, change)
    with pytest.raises(AtlasError, match=message):
        open_side(damaged)


def test_no_atlas_at_all(tmp_path):
    with pytest.raises(AtlasError, match=r"there are no results here .*headatlas survey"):
        open_side(tmp_path)
    (tmp_path / "manifest.json").write_text("{", encoding="utf-8")
    with pytest.raises(AtlasError, match="cannot be read"):
        open_side(tmp_path)


def test_missing_sums_leave_the_tables(damaged):
    (damaged / "state" / "treebank.safetensors").unlink()
    side, problem = side_of(open_side(damaged))
    assert "positions" in side.replicates
    assert "dependencies" not in side.replicates
    assert "dependencies" in side.tables
    assert "treebank.safetensors: is missing" in problem


def test_a_survey_of_another_version_has_no_replicates(damaged):
    rewrite(damaged, lambda manifest: manifest["settings"].pop("bootstrap"))
    side, problem = side_of(open_side(damaged))
    assert not side.replicates
    assert "another version" in problem


def test_tables_that_do_not_fit_the_sums_are_refused(damaged, other):
    table = other.tables["positions"].iloc[:-1]
    table.to_parquet(damaged / "tables" / "positions.parquet")
    rewrite(damaged, lambda manifest: manifest["tables"].update(positions=23))
    with pytest.raises(AtlasError, match="positions has 23 rows, but the sums in state/ have 24"):
        side_of(open_side(damaged))
