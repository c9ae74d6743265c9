"""A package that adds studies and a kind of corpus, installed by pip: it has everything that headatlas's own have."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

import headatlas as ha
from headatlas.studies import STUDIES
from tests.plugin.environments import PACKAGE, Environment
from typed import typed

SAMPLE = PACKAGE / "src" / "headatlas_sinks" / "sample.tsv"
SENTENCE = "puts more than half of its attention on the first token"
SMALL = ("--segments", 6, "--max-tokens", 40, "--examples", 4, "--bootstrap", 20, "--device", "cpu", "--no-figures")
PLUGIN = ("--studies", "sinks,positions,tag_attention")


@pytest.fixture(scope="module")
def made(tmp_path_factory, save_tiny):
    """Two surveys with the plug-in, their comparison, and one of them from merged shards; and what was printed."""
    folder = tmp_path_factory.mktemp("plugin")
    environment = Environment(folder / "environment")
    environment.install(PACKAGE)
    text = folder / "text.txt"
    text.write_text("\n\n".join(ha.sample_text().read_text(encoding="utf-8").split("\n\n")[:4]), encoding="utf-8")
    corpora = ("--text", text, "--tagged", SAMPLE, *SMALL)
    models = [save_tiny("bert", seed=seed) for seed in (0, 1)]
    commands = {
        "help": ("survey", "--help"),
        "a": ("survey", models[0], *corpora, *PLUGIN, "--out", folder / "a"),
        "b": ("survey", models[1], *corpora, *PLUGIN, "--out", folder / "b"),
        "page": ("page", folder / "a"),
        "compare": ("compare", folder / "a", folder / "b", "--out", folder / "ab", "--device", "cpu"),
        "1": ("survey", models[0], *corpora, *PLUGIN, "--out", folder / "1", "--shard", "1/2"),
        "2": ("survey", models[0], *corpora, *PLUGIN, "--out", folder / "2", "--shard", "2/2"),
        "merge": ("merge", folder / "1", folder / "2", "--out", folder / "merged"),
    }
    ended = dict(zip(commands, environment.run(*commands.values()), strict=True))
    failed = {name: output for name, (code, output) in ended.items() if code}
    assert not failed, failed
    return folder, {name: output for name, (_, output) in ended.items()}


def test_help_lists_the_studies_and_has_an_option_for_the_corpus(made):
    shown = " ".join(made[1]["help"].replace("│", " ").split())
    assert "sinks, tag_attention" in shown
    assert "--tagged" in shown
    assert "Sentences with a tag for every word: word, tab, tag." in shown


def test_tables_labels_and_findings_are_there(made):
    atlas = ha.open_atlas(made[0] / "a")
    heads = sum(atlas.manifest["model"]["heads"])
    assert len(atlas.tables["sinks"]) == heads
    assert len(atlas.tables["tag_attention"]) == 2 * heads
    assert "sink" in set(atlas.tables["behaviours"]["label"])
    assert SENTENCE in made[1]["a"]
    assert "12 sentences of the tagged sentences in sample.tsv" in made[1]["a"]
    assert atlas.manifest["plugins"] == {"headatlas-sinks": "0.3.1"}
    assert atlas.manifest["studies_skipped"] == {}


def test_the_comparison_has_intervals(made):
    differences = ha.open_comparison(made[0] / "ab").tables["differences"]
    for table in ("sinks", "tag_attention"):
        rows = differences[differences["table"] == table]
        assert set(rows["scope"]) == {"head", "layer", "model"}
        assert rows["low"].notna().all()
        assert rows["paired"].all()


def test_merged_shards_give_the_same(made):
    whole, merged = (ha.open_atlas(made[0] / name) for name in ("a", "merged"))
    for name in ("sinks", "tag_attention", "positions"):
        assert whole.tables[name]["value"].to_numpy() == pytest.approx(merged.tables[name]["value"].to_numpy())
        assert list(whole.tables[name]["count"]) == list(merged.tables[name]["count"])
    assert merged.manifest["plugins"] == {"headatlas-sinks": "0.3.1"}
    assert merged.manifest["findings"] == whole.manifest["findings"]


def test_the_page_has_the_measure_with_its_label_and_unit(made, browser):
    tab = browser.new_page(viewport={"width": 1400, "height": 900})
    tab.goto((made[0] / "a" / "index.html").as_uri() + "#view=grid&head=1-1")
    choices = tab.locator("main select option").all_inner_texts()
    assert "attention to the first token" in " ".join(choices)
    assert "attention to words with the same tag" in " ".join(choices)
    card = tab.inner_text(".card")
    assert re.search(r"first token\t\d+\.\d %", card)
    assert re.search(r"Tags\nattention to words with the same tag\t\d+\.\d %", card)
    tab.goto((made[0] / "a" / "index.html").as_uri() + "#view=overview")
    tab.click("summary:has-text('findings')")
    assert SENTENCE in tab.inner_text("main")


def test_without_the_package_the_atlas_opens_and_its_page_and_comparison_work(made, tmp_path):
    assert "sinks" not in STUDIES
    atlas = ha.open_atlas(made[0] / "a")
    page = ha.write_page(atlas)
    assert SENTENCE in page.read_text(encoding="utf-8")
    assert "its package is not installed here" in page.read_text(encoding="utf-8")
    done = typed("compare", made[0] / "a", made[0] / "b", "--out", tmp_path / "ab", "--device", "cpu", "--no-figures")
    assert done.exit_code == 0
    manifest = json.loads((tmp_path / "ab" / "manifest.json").read_text(encoding="utf-8"))
    for table in ("sinks", "tag_attention"):
        assert manifest["not_compared"][table] == "it is not known here: install the package that made it"
    differences = ha.open_comparison(tmp_path / "ab").tables["differences"]
    assert set(differences["table"]) == {"positions"}
    assert differences["low"].notna().all()
    done = typed("merge", made[0] / "1", made[0] / "2", "--out", Path(tmp_path / "merged"))
    assert (done.exit_code, "study sinks is not installed here" in done.output) == (1, True)
