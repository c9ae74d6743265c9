"""Surveys of keyphrase corpora: tables, manifest, figures, and clear errors for bad input."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

import headatlas as ha
from headatlas.errors import CorpusError, SettingError
from headatlas.views.words.about import corpora_read
from headatlas.views.words.findings import findings
from tests.commands.keyphrases.made_up import folders_corpus

TEXTS = [
    ("the old man saw a little dog , and the dog ran over to the big river .", ["little dogs", "big river", "cats"]),
    ("she sat by the river when it was night .", ["river", "night"]),
    ("they have not been in the red house by the water .", ["red house"]),
]


@pytest.fixture
def corpus(tmp_path):
    return folders_corpus(tmp_path / "corpus", TEXTS * 3)


@pytest.fixture
def survey(tiny_folder, tmp_path):
    def call(model="bert", out="atlas", **options):
        usual = {"bootstrap": 20, "examples": 2, "device": "cpu", "progress": False, "max_tokens": 64}
        return ha.survey(str(tiny_folder(model)), out=tmp_path / out, **usual | options)

    return call


def test_a_folder_gives_a_table_figures_and_a_page(survey, corpus):
    atlas = survey(keyphrases=corpus)
    table = atlas.tables["keyphrase_heads"]
    assert len(table) == 2 * 4 * 4
    assert (table["count"] == 9).all()
    assert table["average_precision"].between(0, 1).all()
    about = atlas.manifest["corpora"]["keyphrases"]
    assert (about["documents"], about["keyphrases"], about["keyphrases_in_text"]) == (9, 18, 15)
    assert about["left_out"] == {"keyphrase_not_in_text": 3}
    assert "15 in the text, of 9 documents" in corpora_read(atlas.manifest)[0]
    assert any("keyphrase tokens" in str(finding) for finding in findings(atlas.tables))
    assert any(path.name == "keyphrase_heads.svg" for path in ha.write_figures(atlas))
    assert "keyphrase_heads" in ha.write_page(atlas).read_text(encoding="utf-8")


def test_batches_make_no_difference_and_windows_count_every_word_once(survey, corpus):
    whole = survey(keyphrases=corpus).tables["keyphrase_heads"]
    small = survey(keyphrases=corpus, out="small", batch_tokens=30).tables["keyphrase_heads"]
    pd.testing.assert_frame_equal(whole, small, rtol=1e-4, atol=1e-6)
    cut = survey(keyphrases=corpus, out="cut", max_tokens=12)
    assert cut.manifest["corpora"]["keyphrases"]["documents_in_windows"] == 6


def test_shards_put_together_are_the_single_run_also_where_a_document_lies_in_two(survey, corpus, tmp_path):
    windows = {"keyphrases": corpus, "max_tokens": 12}
    whole = survey(**windows)
    for number in (1, 2):
        survey(out=f"part{number}", shard=f"{number}/2", **windows)
    merged = ha.merge([tmp_path / "part1", tmp_path / "part2"], out=tmp_path / "merged")
    pd.testing.assert_frame_equal(merged.tables["keyphrase_heads"], whole.tables["keyphrase_heads"], rtol=1e-9)
    assert merged.manifest["corpora"] == whole.manifest["corpora"]


def test_a_causal_model_is_read_too(survey, corpus):
    table = survey("gpt2", keyphrases=corpus).tables["keyphrase_heads"]
    assert np.isfinite(table["cross_entropy"]).all()


def test_the_corpus_is_part_of_what_a_survey_is(survey, corpus):
    survey(keyphrases=corpus)
    (corpus / "keys" / "0.key").write_text("dog", encoding="utf-8")
    with pytest.raises(ha.HeadatlasError, match="holds other results"):
        survey(keyphrases=corpus)


def test_bad_input_is_refused(survey, corpus, tmp_path):
    with pytest.raises(CorpusError, match=r"no such file\. Give a file, a folder or a zip"):
        survey(keyphrases=tmp_path / "nowhere")
    with pytest.raises(SettingError, match="--format keyphrases=x is not available"):
        survey(keyphrases=corpus, format={"keyphrases": "x"})
    with pytest.raises(SettingError, match="cannot run without --keyphrases"):
        survey(text=ha.sample_text(), studies=["keyphrases"])
    lines = tmp_path / "absent.jsonl"
    lines.write_text(json.dumps({"text": "the dog", "keyphrases": ["cat"]}) + "\n", encoding="utf-8")
    with pytest.raises(CorpusError, match="None of the 1 keyphrases occurs in the text"):
        survey(keyphrases=lines)
