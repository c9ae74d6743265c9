"""headatlas keyphrases, as typed."""

from __future__ import annotations

from tests.commands.keyphrases.made_up import corpus
from typed import typed


def test_heads_phrases_scores_and_places_are_printed(tiny_folder, tmp_path):
    train, data = corpus(tmp_path / "train.jsonl", 2), corpus(tmp_path / "data.jsonl", 1, start=1)
    options = ("--max-tokens", 64, "--bootstrap", 20, "--device", "cpu")
    done = typed(
        "keyphrases", tiny_folder("bert"), "--train", train, "--data", data, "--out", tmp_path / "out", *options
    )
    assert done.exit_code == 0, done.output
    for said in (
        *("found on 8 training documents", "F1 of the first 5, 10, 15 phrases", "text_rank", "scalar_mix"),
        *("random_heads", "single sets", "length", "micro", "with report words: keep", "are candidates, the most"),
        *("of the methods without attention", "cannot be told apart", "shuffled labels"),
    ):
        assert said in done.output
    assert (tmp_path / "out" / "shaded.html").exists()
    assert (tmp_path / "out" / "figures" / "keyphrase_curve.png").exists()


def test_a_survey_takes_keyphrases(tiny_folder, tmp_path):
    data = corpus(tmp_path / "data.jsonl", 2)
    options = ("--max-tokens", "64", "--bootstrap", "20", "--examples", "2", "--no-figures")
    done = typed("survey", tiny_folder("bert"), "--keyphrases", data, "--out", tmp_path / "atlas", *options)
    assert done.exit_code == 0, done.output
    assert "No head surely ranks keyphrase tokens better" in done.output, "the weights are random"
