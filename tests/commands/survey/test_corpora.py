"""Surveys of treebanks and coreference corpora: the tables, the same however run, and clear errors for bad input."""

from __future__ import annotations

import pandas as pd
import pytest

import headatlas as ha
from headatlas.cli import app
from headatlas.commands.survey import run as surveying
from headatlas.commands.survey.options import SurveyOptions
from headatlas.errors import CorpusError, SettingError
from headatlas.views.words.about import corpora_read

TREES = """\
# newdoc id = {document}
1\tThe\t_\tDET\tDT\t_\t2\tdet\t_\t_
2\tman\t_\tNOUN\tNN\t_\t4\tnmod:poss\t_\t_
3\t's\t_\tPART\tPOS\t_\t2\tcase\t_\t_
4\tdog\t_\tNOUN\tNN\t_\t5\tnsubj\t_\t_
5\tran\t_\tVERB\tVBD\t_\t0\troot\t_\t_
6\t.\t_\tPUNCT\t.\t_\t5\tpunct\t_\t_

1\tShe\t_\tPRON\tPRP\t_\t2\tnsubj\t_\t_
2\tsaw\t_\tVERB\tVBD\t_\t0\troot\t_\t_
3\tthe\t_\tDET\tDT\t_\t5\tdet\t_\t_
4\tred\t_\tADJ\tJJ\t_\t5\tamod\t_\t_
5\thouse\t_\tNOUN\tNN\t_\t2\tobj\t_\t_

"""
MENTIONS = """\
# begin document {document}
0\tThe\t(1
1\tman\t1)
2\tsaw\t_
3\tthe\t(2
4\tdog\t2)
5\t.\t_
6\tHe\t(1)
7\tsaw\t_
8\tit\t(2)
9\t.\t_
"""


@pytest.fixture
def treebank(tmp_path):
    path = tmp_path / "trees.conllu"
    path.write_text("".join(TREES.format(document=number) for number in range(10)), encoding="utf-8")
    return path


@pytest.fixture
def coreference(tmp_path):
    path = tmp_path / "mentions.conll"
    path.write_text("".join(MENTIONS.format(document=number) for number in range(3)), encoding="utf-8")
    return path


@pytest.fixture
def survey(tiny_folder, tmp_path):
    def call(model="bert", **options):
        defaults = {"out": tmp_path / "atlas", "max_tokens": 40, "device": "cpu", "bootstrap": 50, "least_count": 5}
        return ha.survey(str(tiny_folder(model)), progress=False, **defaults | options)

    return call


def test_one_survey_of_all_corpora(survey, treebank, coreference, tmp_path):
    text = tmp_path / "text.txt"
    text.write_text("the old man saw a dog.\nshe sat by the river.\n", encoding="utf-8")
    atlas = survey(text=text, treebank=treebank, coreference=coreference)
    assert {"positions", "dependencies", "dependency_best", "coreference", "coreference_best"} <= set(atlas.tables)
    assert list(atlas.manifest["corpora"]) == ["text", "treebank", "coreference"]
    about = atlas.manifest["corpora"]["treebank"]
    assert (about["sentences"], about["words"], about["documents"]) == (20, 110, 10)
    assert (about["label_set"], about["halved_by"], about["parsed_by"]) == ("universal", "document", None)
    assert atlas.manifest["corpora"]["coreference"]["mentions"] == 12
    best = atlas.tables["dependency_best"].set_index("relation")
    assert best.loc["all", "count"] == 110
    assert best.loc["all_but_root_punct", "count"] == 110 - 20 - 10
    assert best.loc["nmod:poss", "baseline"] == 1  # by the clitic, the word before the possessed
    assert best["control"].isna().all()
    assert len(atlas.tables["dependencies"].query("relation == 'det'")) == 2 * 4 * 2
    assert set(atlas.tables["coreference_baselines"]["baseline"]) == {"nearest", "head_match", "sieves"}
    kept = [(one.corpus, one.tree is not None, bool(one.mentions)) for one in atlas.examples]
    assert set(kept) == {("text", False, False), ("treebank", True, False), ("coreference", False, True)}
    assert len(kept) == 1 + 20 + 3


@pytest.mark.parametrize("model", ["gpt2", "roberta", "t5"])
def test_other_families_and_batches_give_one_row_a_head(survey, treebank, model, tmp_path):
    atlas, small = (
        survey(model, treebank=treebank),
        survey(model, treebank=treebank, batch_tokens=1, out=tmp_path / "b"),
    )
    assert atlas.tables["dependencies"]["count"].gt(0).all()
    pd.testing.assert_frame_equal(atlas.tables["dependencies"], small.tables["dependencies"])


def test_the_control_stands_in_the_same_table(survey, treebank, coreference, tmp_path):
    atlas = survey(treebank=treebank, coreference=coreference, control="fresh")
    random = survey(treebank=treebank, random_weights="fresh", out=tmp_path / "random")
    best = random.tables["dependency_best"]
    expected = pd.Series(best["accuracy"].to_numpy(), best["relation"])
    table = atlas.tables["dependency_best"]
    assert table["control"].tolist() == expected[table["relation"]].tolist()


def test_documents_are_read_to_their_end_unless_as_published(survey, coreference, tmp_path):
    begin, *rows = MENTIONS.format(document=0).splitlines()
    coreference.write_text("\n".join([begin, *([*rows, ""] * 6)]), encoding="utf-8")
    whole = survey(coreference=coreference, max_tokens=16).manifest["corpora"]["coreference"]
    cut = survey(coreference=coreference, max_tokens=16, as_published=True, out=tmp_path / "cut")
    assert whole["segments"] > cut.manifest["corpora"]["coreference"]["segments"] == 1
    assert "mention_beyond_the_cut" not in whole["left_out"]
    assert cut.manifest["corpora"]["coreference"]["left_out"]["mention_beyond_the_cut"] > 0


def test_a_stopped_survey_goes_on_with_the_part_it_was_at(survey, treebank, coreference, monkeypatch, tmp_path):
    whole = survey(treebank=treebank, coreference=coreference, out=tmp_path / "whole")
    run, stopped = surveying.run_studies, []

    def stopping(model, segments, studies, **options):
        if "coreference" in studies and not stopped:
            stopped.append(True)
            raise KeyboardInterrupt
        return run(model, segments, studies, **options)

    monkeypatch.setattr(surveying, "run_studies", stopping)
    with pytest.raises(KeyboardInterrupt):
        survey(treebank=treebank, coreference=coreference)
    atlas = survey(treebank=treebank, coreference=coreference)
    for name in whole.tables:
        pd.testing.assert_frame_equal(atlas.tables[name], whole.tables[name], check_exact=True)


def test_text_without_a_treebank_is_parsed_and_marked_as_silver(survey, spacy_pipeline, tmp_path):
    text = tmp_path / "text.txt"
    text.write_text("Dogs bark .\nCats sleep .\n", encoding="utf-8")
    atlas = survey(text=text, parse_with=spacy_pipeline, studies=["dependencies", "positions"])
    assert atlas.manifest["corpora"]["treebank"]["parsed_by"] == spacy_pipeline
    assert atlas.tables["dependencies"].query("relation == 'nsubj'")["count"].eq(2).all()
    assert "silver" in corpora_read(atlas.manifest)[1]


def test_few_documents_are_halved_by_sentence(survey, treebank, tmp_path):
    one = tmp_path / "one.conllu"
    one.write_text(TREES.format(document=0) * 1, encoding="utf-8")
    assert survey(treebank=one).manifest["corpora"]["treebank"]["halved_by"] == "sentence"


def test_without_a_corpus_the_model_reads_the_sample(tiny_folder, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    words = ["--studies", "positions", "dependencies", "--bootstrap", "10", "--segments", "5", "--max-tokens", "40"]
    app.main(["survey", str(tiny_folder("bert")), *words, "--no-figures"])
    folder = tmp_path / f"atlas-{tiny_folder('bert').name}"
    atlas = ha.open_atlas(folder)
    read = {kind: about["files"][0]["file"] for kind, about in atlas.manifest["corpora"].items()}
    assert read == {"text": str(ha.sample_text()), "treebank": str(ha.sample_treebank())}
    report = capsys.readouterr().out
    assert "This is the sample that comes with headatlas, for a first look." in report
    assert f"Wrote {folder.name}" in report


@pytest.mark.parametrize(
    ("source", "name"),
    [("google-bert/bert-base-uncased@main", "atlas-bert-base-uncased"), ("some/folder/", "atlas-folder")],
)
def test_results_are_named_after_the_model(source, name):
    assert SurveyOptions(source).out == name
    assert SurveyOptions(maps=source.partition("@")[0]).out == name


def test_what_is_no_tree_is_counted(survey, treebank):
    two_roots = "1\ta\t_\t_\t_\t_\t0\troot\t_\t_\n2\tb\t_\t_\t_\t_\t0\troot\t_\t_\n\n"
    treebank.write_text(treebank.read_text(encoding="utf-8") + two_roots, encoding="utf-8")
    about = survey(treebank=treebank).manifest["corpora"]["treebank"]
    assert about["left_out"] == {"sentence_with_several_roots": 1}


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"treebank": "nowhere.conllu"}, CorpusError, "nowhere.conllu: no such file"),
        ({"treebank": []}, SettingError, "No treebank file is given"),
        ({"studies": ["coreference"]}, SettingError, "'coreference' cannot run without --coreference"),
        ({"studies": ["positions"]}, SettingError, "'positions' cannot run without --text"),
        ({"format": {"labels": "penn"}}, SettingError, "--format labels=penn is not available"),
        ({"format": {"treebank": "xml"}}, SettingError, "--format treebank=xml is not available"),
        ({"bootstrap": 0}, SettingError, "--bootstrap must be at least 1"),
        ({"examples": 0}, SettingError, "--examples must be at least 1"),
        ({"parse_with": "en_core_web_sm"}, SettingError, "--parse-with.*--treebank already has parses"),
        ({"control": "fresh", "random_weights": "fresh"}, SettingError, "--control compares with random weights"),
        ({"max_tokens": 3}, CorpusError, "longer than 3 tokens"),
    ],
    ids=lambda value: str(value)[:30],
)
def test_bad_settings_are_clear_errors(survey, treebank, options, error, message):
    with pytest.raises(error, match=message):
        survey(**({"treebank": treebank} if options else {}) | options)
