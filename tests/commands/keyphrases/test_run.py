"""Extractions from end to end: tables, manifest, pictures, and clear errors for bad input."""

from __future__ import annotations

import json

import pandas as pd
import pytest

import headatlas as ha
from headatlas.commands.keyphrases import finetuning
from headatlas.commands.keyphrases import word_weights as module
from headatlas.commands.keyphrases.choosing import shipped
from headatlas.commands.keyphrases.shaded import shaded_html, shaded_svg, write_shaded
from headatlas.errors import AtlasError, SettingError
from headatlas.studies.labels import labels_of
from tests.commands.keyphrases.made_up import corpus

QUICK = {"bootstrap": 20, "device": "cpu", "progress": False, "max_tokens": 64}


@pytest.fixture(scope="module")
def found(tiny_folder, tmp_path_factory):
    folder = tmp_path_factory.mktemp("phrases")
    train, data = corpus(folder / "train.jsonl", 4), corpus(folder / "data.jsonl", 3, start=1)
    return ha.keyphrases(str(tiny_folder("bert")), train=train, data=data, out=folder / "out", **QUICK)


def test_every_table_is_there(found):
    tables = found.tables
    assert set(tables) == {
        *("keyphrases", "keyphrase_words", "keyphrase_scores", "keyphrase_leads"),
        *("keyphrase_ranking", "keyphrase_curve", "keyphrase_weights"),
    }
    others = {"all_heads", "random_heads", "uniform", "length", "tf_idf", "text_rank", "position", "yake"}
    for table, methods in (("keyphrase_scores", {"heads"} | others), ("keyphrase_leads", others)):
        by_setting = tables[table].groupby("report_words")["method"].agg(set)
        assert by_setting.to_dict() == {"exclude": methods, "keep": methods}
    assert tables["keyphrase_scores"]["count"].eq(12).all()
    assert tables["keyphrases"].groupby("document")["rank"].max().le(10).all()
    assert tables["keyphrases"]["right"].any()
    assert tables["keyphrase_weights"]["share"].sum() == pytest.approx(1)
    assert sorted(tables["keyphrase_weights"]["rank"]) == list(range(1, 9))
    chosen = found.manifest["heads_chosen"]
    assert chosen["origin"] == "found on 16 training documents"
    best = tables["keyphrase_weights"].nsmallest(len(chosen["names"]), "rank")
    assert {f"{row.layer}-{row.head}" for row in best.itertuples()} == set(chosen["names"])


def test_scores_are_those_of_the_phrases_that_are_listed(found):
    listed = found.tables["keyphrases"].query("rank <= 5")
    precision = listed.groupby("document")["right"].mean().mean()
    row = found.tables["keyphrase_scores"].query("method == 'heads' and k == 5 and report_words == 'exclude'")
    assert row["precision"].item() == pytest.approx(float(precision))


def test_pictures_and_shaded_texts(found):
    names = {path.name for path in ha.write_figures(found, formats=("svg",))}
    assert {"keyphrase_scores.svg", "keyphrase_curve.svg", "keyphrase_ranking.svg"} <= names
    page = write_shaded(found).read_text(encoding="utf-8")
    assert page.count("<h2>") == 12
    assert "<u>" in page
    assert "<b>" in page
    assert (found.folder / "figures" / "shaded_text.svg").read_text(encoding="utf-8").startswith("<svg")


def test_words_are_text_and_never_markup(found):
    words = found.tables["keyphrase_words"].head(3).assign(word="<script>alert(1)</script>")
    assert "<script>" not in shaded_html(words, "a <b>") + shaded_svg(words)


def test_named_heads_need_no_training(tiny_folder, tmp_path):
    text = tmp_path / "text.txt"
    text.write_text("The old man saw a little dog.\n\nShe sat by the big river.\n", encoding="utf-8")
    made = ha.keyphrases(str(tiny_folder("gpt2")), text=text, heads=["1-2", "2-4"], out=tmp_path / "out", **QUICK)
    assert set(made.tables) == {"keyphrases", "keyphrase_words"}
    assert made.manifest["heads_chosen"]["names"] == ["1-2", "2-4"]
    assert made.tables["keyphrases"]["right"].isna().all()
    assert made.tables["keyphrases"]["document"].unique().tolist() == ["0.0", "0.1"]


def test_a_finished_extraction_is_opened_and_another_refused(found, tiny_folder):
    given = {"train": found.folder.parent / "train.jsonl", "data": found.folder.parent / "data.jsonl"}
    again = ha.keyphrases(str(tiny_folder("bert")), **given, out=found.folder, **QUICK)
    assert again.manifest["started"] == found.manifest["started"]
    with pytest.raises(AtlasError, match="holds other results"):
        ha.keyphrases(str(tiny_folder("bert")), **given, out=found.folder, top=3, **QUICK)


class KilledError(Exception):
    """The power is gone."""


@pytest.mark.parametrize("place", [1, 3, -1])
def test_a_run_that_died_resumes_with_the_next_batch(found, tiny_folder, tmp_path, monkeypatch, place):
    given = {"train": found.folder.parent / "train.jsonl", "data": found.folder.parent / "data.jsonl"}
    options = {**given, **QUICK, "batch_tokens": 100}
    observe, made, end = module.make_batch, [], {}

    def observed(segments, *rest):
        made.append([segment.id for segment in segments])
        if len(made) == end.get("at"):
            raise KilledError
        return observe(segments, *rest)

    monkeypatch.setattr(module, "make_batch", observed)
    whole = ha.keyphrases(str(tiny_folder("bert")), out=tmp_path / "whole", **options)
    batches = list(made)
    assert len(batches) > 4
    made.clear()
    end["at"] = range(len(batches))[place] + 1
    with pytest.raises(KilledError):
        ha.keyphrases(str(tiny_folder("bert")), out=tmp_path / "again", **options)
    with pytest.raises(AtlasError, match="has not finished"):
        ha.open_results(tmp_path / "again")
    with pytest.raises(AtlasError, match="top 10 instead of 3"):
        ha.keyphrases(str(tiny_folder("bert")), out=tmp_path / "again", top=3, **options)
    made.clear()
    begun = end.pop("at") - 1
    again = ha.keyphrases(str(tiny_folder("bert")), out=tmp_path / "again", **options)
    assert made == batches[begun:], "only what was missing is observed"
    for name in whole.tables:
        pd.testing.assert_frame_equal(whole.tables[name], again.tables[name])
    assert again.manifest["corpora"] == whole.manifest["corpora"]
    assert not (again.folder / "state").exists()


def test_a_tagger_is_trained_once(found, tiny_folder, tmp_path, monkeypatch):
    given = {"train": found.folder.parent / "train.jsonl", "data": found.folder.parent / "data.jsonl"}
    options = {**given, **QUICK, "finetune": True, "epochs": 1, "out": tmp_path / "out"}
    monkeypatch.setattr(finetuning, "prune", lambda *_, **__: (_ for _ in ()).throw(KilledError))
    with pytest.raises(KilledError):
        ha.keyphrases(str(tiny_folder("bert")), **options)
    monkeypatch.undo()
    monkeypatch.setattr(finetuning, "fine_tune", lambda *_: pytest.fail("it is trained again"))
    made = ha.keyphrases(str(tiny_folder("bert")), **options)
    assert made.tables["keyphrase_taggers"]["tagger"].tolist() == ["whole", "pruned"]
    assert made.manifest["tagger"]["trained_on"] + made.manifest["tagger"]["held_back"] == 16


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({}, "No documents given"),
        ({"text": "a", "data": "b"}, "exclude each other"),
        ({"data": "a", "train": "a"}, "are the same"),
        ({"data": "a", "finetune": True}, "--finetune needs --train"),
        ({"data": "a", "top": 0}, "--top must be at least 1"),
        ({"data": "a", "pooling": "sum"}, 'Invalid value "sum" for --pooling'),
        ({"data": "a", "rate": 2.0}, "--rate must lie"),
        ({"data": "a", "heads": []}, "Name at least one head"),
    ],
)
def test_bad_settings_are_refused_before_a_model_is_loaded(options, problem, tmp_path):
    with pytest.raises(SettingError, match=problem):
        ha.keyphrases("nowhere", out=tmp_path / "out", **options)


def test_a_model_without_known_heads_says_what_to_do(tiny_folder, tmp_path):
    data = corpus(tmp_path / "data.jsonl", 1)
    with pytest.raises(SettingError, match=r"No heads are known .* --train"):
        ha.keyphrases(str(tiny_folder("bert")), data=data, out=tmp_path / "out", **QUICK)
    with pytest.raises(SettingError, match="There is no head 9-9"):
        ha.keyphrases(str(tiny_folder("bert")), data=data, heads=["9-9"], out=tmp_path / "out", **QUICK)


def test_behaviours_of_a_survey_stand_beside_the_weights(tiny_folder, tmp_path):
    train, data = corpus(tmp_path / "train.jsonl", 2), corpus(tmp_path / "data.jsonl", 1)
    model = str(tiny_folder("bert"))
    atlas = ha.survey(model, text=ha.sample_text(), segments=4, examples=1, studies=["positions", "entropy"],
                      out=tmp_path / "atlas", **QUICK)  # fmt: skip
    made = ha.keyphrases(model, train=train, data=data, atlas=atlas.folder, out=tmp_path / "out", **QUICK)
    known = {(row.layer, row.head) for row in labels_of(atlas.tables["behaviours"]).itertuples()}
    weights = made.tables["keyphrase_weights"]
    assert {(row.layer, row.head) for row in weights[weights["behaviours"] != ""].itertuples()} == known
    with pytest.raises(AtlasError, match="holds the results of keyphrases, not a survey"):
        ha.keyphrases(model, train=train, data=data, atlas=made.folder, out=tmp_path / "other", **QUICK)
    assert not (tmp_path / "other").exists()


def test_heads_ship_for_the_embedded_model(load_embedded, tmp_path):
    model = load_embedded("embedded")
    choice = shipped(model)
    assert choice is not None
    text = tmp_path / "text.txt"
    text.write_text(
        "Graph kernels are used to find the similarity of molecules for drug discovery.\n", encoding="utf-8"
    )
    made = ha.keyphrases(model, text=text, out=tmp_path / "out", progress=False)
    assert "graph kernels" in {phrase.lower() for phrase in made.tables["keyphrases"]["phrase"]}
    assert json.loads(json.dumps(made.manifest["heads_chosen"]))["origin"].startswith("shipped")
