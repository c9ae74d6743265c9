"""Comparisons end to end on tiny models: what is compared, what is not and why, and bad input."""

from __future__ import annotations

import json
import re
import shutil

import pandas as pd
import pytest

import headatlas as ha
from headatlas.errors import AtlasError, CorpusError, SettingError
from headatlas.results.tables import TABLES
from typed import typed

MATCHED = {"head_matches", "match_summary", "cross_distances"}


@pytest.fixture(scope="session")
def compared(compare, atlas, other):
    return compare(atlas, other)


def test_every_table_is_there_with_its_schema(compared):
    assert set(compared.tables) == {"differences", "behaviour_matches"} | MATCHED
    for name in compared.tables:
        assert compared.tables[name].columns.tolist() == TABLES[name].names
        assert (compared.folder / "tables" / f"{name}.csv").exists()
    assert compared.manifest["tables"] == {name: len(compared.tables[name]) for name in compared.tables}


def test_every_number_of_the_atlases_is_in_the_differences(compared, atlas, other):
    table = compared.tables["differences"]
    heads = table[(table["table"] == "dependencies") & (table["scope"] == "head")]
    expected = other.tables["dependencies"]["accuracy"] - atlas.tables["dependencies"]["accuracy"]
    assert heads["difference"].tolist() == expected.tolist()
    assert heads["paired"].all()
    assert (heads["low"] <= heads["high"]).all()
    nats = table[(table["table"] == "entropy") & (table["measure"] == "source=cls") & (table["scope"] == "model")]
    own = atlas.tables["entropy"].query("source == 'cls'")["value"].mean()
    assert nats["value_a"].item() == pytest.approx(own)
    assert (table[table["scope"] == "best"]["table"].unique() == ["dependency_best", "coreference_best"]).all()
    rules = table[table["table"] == "coreference_baselines"]
    assert (rules[["difference", "low", "high"]] == 0).all(axis=None)


def test_the_manifest_says_what_was_compared_and_what_not(compared, atlas):
    manifest = compared.manifest
    rows = {name: len(atlas.tables[name]) for name in atlas.tables if "head" in atlas.tables[name]}
    assert manifest["a"] == {"folder": str(atlas.folder), "model": atlas.manifest["model"], "tables": rows}
    segments = f"{atlas.manifest['corpora']['text']['segments']} segments (fewer than 20 documents)"
    assert manifest["corpora"]["text"] == {"same_files": True, "paired": True, "resampled": [segments, segments]}
    assert manifest["settings_that_differ"] == manifest["without_intervals"] == {}
    assert {"head_map", "behaviours"} <= set(manifest["not_compared"])
    assert manifest["distances"]["segments"] == atlas.manifest["corpora"]["text"]["segments"]
    assert ha.open_comparison(compared.folder).manifest == manifest


def test_an_atlas_beside_itself_differs_in_nothing(compare, atlas):
    comparison = compare(atlas.folder, str(atlas.folder))
    table = comparison.tables["differences"]
    assert (table["difference"].dropna() == 0).all()
    assert (table[["low", "high"]].dropna() == 0).all(axis=None)
    assert table["low"].notna().sum() > 100
    matches = comparison.tables["head_matches"]
    assert matches["place_kept"].all()
    assert matches["own"].max() < 1e-6
    labels = comparison.tables["behaviour_matches"]
    assert labels["layer_a"].equals(labels["layer_b"])
    assert labels["head_a"].equals(labels["head_b"])


@pytest.mark.parametrize("second", ["other", "causal"])
def test_turned_round_every_difference_is_the_opposite(compare, atlas, second, request):
    b = request.getfixturevalue(second)
    there, back = (compare(*pair).tables["differences"] for pair in ((atlas, b), (b, atlas)))
    keys = ["table", "column", "measure", "scope", "layer_a", "head_a", "layer_b", "head_b"]
    swap = {f"{name}_{end}": f"{name}_{rest}" for name in ("layer", "head") for end, rest in ("ab", "ba")}
    both = there.merge(back.rename(columns=swap), on=keys, suffixes=("", "_back"))
    assert len(both) == len(there) == len(back)
    pd.testing.assert_series_equal(both["difference_back"], -both["difference"], check_names=False)
    pd.testing.assert_series_equal(both["low_back"], -both["high"], check_names=False)


def test_models_of_other_shapes(compare, atlas, deeper):
    comparison = compare(atlas, deeper)
    assert set(comparison.tables["differences"]["scope"]) == {"model", "best", "row"}
    assert {"heads one by one", "means of layers", "layer_distances"} <= set(comparison.manifest["not_compared"])
    matches = comparison.tables["head_matches"]
    assert matches["layer_a"].notna().sum() == 8
    assert matches["layer_b"].notna().sum() == 12


def test_another_tokenizer_is_no_ground_for_distances(compare, atlas, causal):
    comparison = compare(atlas, causal)
    assert not MATCHED & set(comparison.tables)
    assert "vocabularies differ" in comparison.manifest["distances"]["skipped"]
    table = comparison.tables["differences"].dropna(subset="low").groupby("table")["paired"].all()
    assert not table["positions"]
    assert table["dependencies"]
    sep = comparison.tables["differences"].query("table == 'token_kinds' and measure == 'kind=sep'")
    assert sep["difference"].isna().all(), "there is no [SEP] to attend to"


def test_only_what_both_have_is_compared(compare, survey, tiny_folder, corpora, atlas):
    few = survey(tiny_folder("bert"), studies=["positions", "entropy"], treebank=None, coreference=None, segments=3)
    comparison = compare(few, atlas, segments=2)
    assert set(comparison.tables["differences"]["table"]) == {"positions", "entropy"}
    assert comparison.manifest["not_compared"]["dependencies"] == "only B has it"
    assert comparison.manifest["settings_that_differ"] == {"segments": [3, 8]}
    assert comparison.manifest["distances"]["segments"] == 2
    trees = survey(tiny_folder("bert"), text=None, coreference=None)
    with pytest.raises(AtlasError, match="no table in common"):
        compare(few, trees)
    skipped = compare(trees, atlas).manifest["distances"]["skipped"]
    assert "A was not surveyed on a text; give one with --text" in skipped
    assert set(compare(trees, atlas, text=corpora["text"]).tables) >= MATCHED


def altered(atlas, folder, change):
    copied = shutil.copytree(atlas.folder, folder)
    manifest = json.loads((copied / "manifest.json").read_text(encoding="utf-8"))
    change(manifest)
    (copied / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")
    return copied


def test_a_table_of_a_study_that_is_not_installed_is_named(compare, atlas, tmp_path):
    foreign = altered(atlas, tmp_path / "altered", lambda manifest: manifest["tables"].update(sinks=1))
    pd.DataFrame({"layer": [1], "head": [1], "value": [0.5]}).to_parquet(foreign / "tables" / "sinks.parquet")
    comparison = compare(foreign, foreign, segments=1)
    assert comparison.manifest["not_compared"]["sinks"] == "it is not known here: install the package that made it"
    assert "sinks" not in set(comparison.tables["differences"]["table"])


def test_what_is_not_compared_is_said_with_the_columns(compared):
    reasons = compared.manifest["not_compared"]
    assert reasons["layer_distances: p_value, p_adjusted"] == "a difference of p-values is not an effect"
    assert reasons["entropy: expected"] == "it depends on the text, not on a head"
    measures = "clusters, cloud_silhouette, p_clusters, heads_tested, p_layers, heads_left_out, share_of_rows"
    assert f"similarity: {measures}" in reasons


def test_a_very_long_table_is_not_compared_and_not_read(compare, atlas, tmp_path, monkeypatch):
    """As of the pairs of a thousand heads. The rest of the comparison is the same."""
    folder = altered(atlas, tmp_path / "altered", lambda manifest: None)
    (folder / "tables" / "head_distances.parquet").unlink()
    pairs = atlas.manifest["tables"]["head_distances"]
    monkeypatch.setattr("headatlas.commands.compare.run.MOST_ROWS", pairs - 1)
    comparison = compare(atlas, folder, segments=1)
    assert f"it has {pairs} rows, more than the {pairs - 1}" in comparison.manifest["not_compared"]["head_distances"]
    assert "layer_distances" in set(comparison.tables["differences"]["table"])


def test_distances_in_other_units_are_not_compared(compare, atlas, tmp_path):
    published = altered(atlas, tmp_path / "altered", lambda manifest: manifest["settings"].update(as_published=True))
    comparison = compare(atlas, published, segments=1)
    assert "differently: as_published" in comparison.manifest["not_compared"]["layer_distances"]
    assert not comparison.tables["differences"]["table"].isin(["layer_distances", "head_distances", "similarity"]).any()


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (
            lambda m: m["model"].update(name="./gone"),
            "a model can no longer be loaded: ./gone: there is no such",
        ),
        (lambda m: m["model"].update(weights_sha256={}), "have changed since the survey"),
        (lambda m: m["model"].update(attention="decoder"), "does not have the heads"),
        (lambda m: m["corpora"]["text"]["files"][0].update(file="gone.txt"), "gone.txt, which A was surveyed on"),
        (lambda m: m["corpora"]["text"]["files"][0].update(sha256="0"), "has changed since"),
    ],
)
def test_without_the_models_or_the_text_the_tables_are_compared(compare, atlas, tmp_path, change, reason):
    comparison = compare(altered(atlas, tmp_path / "altered", change), atlas)
    assert reason in comparison.manifest["distances"]["skipped"]
    assert set(comparison.tables) == {"differences", "behaviour_matches"}


def test_without_sums_there_are_no_intervals_and_it_is_said(compare, atlas, other, tmp_path):
    copied = shutil.copytree(other.folder, tmp_path / "copied")
    shutil.rmtree(copied / "state")
    comparison = compare(atlas, copied, segments=1)
    assert comparison.tables["differences"]["low"].isna().all()
    assert comparison.tables["differences"]["low_a"].notna().any()
    assert "is missing" in comparison.manifest["without_intervals"]["b"]


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"text": "nowhere.txt"}, CorpusError, "nowhere.txt: no such file"),
        ({"segments": 0}, SettingError, "--segments"),
        ({"format": {"text": "docx"}}, SettingError, "--format text=docx"),
        ({"device": "abacus"}, SettingError, "--device abacus"),
        ({"dtype": "int3"}, SettingError, "int3"),
    ],
)
def test_bad_settings(compare, atlas, options, error, message):
    with pytest.raises(error, match=message):
        compare(atlas, atlas, **options)


def test_other_folders_are_left_alone(compare, atlas, compared, tmp_path):
    before = atlas.manifest
    with pytest.raises(AtlasError, match="holds the results of survey, not of compare"):
        compare(atlas, atlas, out=atlas.folder)
    assert atlas.manifest == before
    file = tmp_path / "file"
    file.touch()
    with pytest.raises(AtlasError, match="is a file"):
        compare(atlas, atlas, out=file)
    with pytest.raises(AtlasError, match="holds the results of compare, not a survey"):
        compare(compared.folder, atlas, out=tmp_path / "unmade")
    assert not (tmp_path / "unmade").exists(), "a comparison that cannot start must not claim the folder"
    with pytest.raises(AtlasError, match="holds the results of survey, not a comparison"):
        ha.open_comparison(atlas.folder)
    with pytest.raises(AtlasError, match=r"there are no results here .*headatlas compare"):
        ha.open_comparison(tmp_path)


def test_the_page_is_written_from_the_folder_alone(compared, tmp_path):
    def forget(manifest):
        manifest["a"]["folder"] = manifest["b"]["folder"] = "gone"

    copied = altered(compared, tmp_path / "copied", forget)
    done = typed("page", str(copied), "--quiet")
    assert done.stdout == f"{copied / 'index.html'}\n"
    html = (copied / "index.html").read_text(encoding="utf-8")
    assert html == ha.show_atlas(compared).html
    assert "headatlas.show_atlas(comparison)" in compared._repr_html_()


def test_what_each_side_says_of_its_heads_is_kept(compared, atlas, other):
    for side, own in zip(compared.sides, (atlas, other), strict=True):
        assert {"positions", "head_map", "behaviours", "dependencies"} <= set(side)
        for name in side:
            pd.testing.assert_frame_equal(side[name], own.tables[name])


def test_from_the_command_line(atlas, other, corpora, tmp_path, monkeypatch):
    monkeypatch.setattr("headatlas.commands.shared.ending.write_figures", lambda comparison: [])
    text = str(corpora["text"])
    arguments = ["compare", str(atlas.folder), str(other.folder), "--text", text, "--segments", "3"]
    out = tmp_path / "out"
    done = typed(*arguments, "--device", "cpu", "--out", str(out))
    assert done.exit_code == 0, done.output
    said = re.sub(r"\s+", " ", done.stdout)
    assert re.search(r"\d of 8 heads are matched with the head in the same place \(by chance: 1\)", said)
    assert re.search(r"positions: \d+ of 24 differences of single heads are significant \(p < 0.05, corrected", said)
    assert "Differences on the treebank: over 12 sentences (fewer than 20 documents), which both saw." in said
    assert "Not compared: head_map" in said
    assert f"index.html in a browser. Next: headatlas table {out} " in said
    assert (out / "index.html").stat().st_size > 100_000
    shown = typed("table", str(out), "head_matches", "--sort", "own", "--rows", "2")
    assert "2 of 8 rows" in shown.output
    assert typed("table", str(out), "differences", "--format", "csv").exit_code == 0
    drawn = typed("figures", str(out), "--quiet")
    assert {line.rpartition("/")[2] for line in drawn.stdout.split()} == {
        f"{stem}.{form}"
        for stem in ("heads_moved", "head_matches", "best_heads", "surface")
        for form in ("svg", "png", "pdf")
    }
