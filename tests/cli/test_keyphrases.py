"""headatlas keyphrases, as typed."""

from __future__ import annotations

from typer.testing import CliRunner

from headatlas.cli.app import app
from headatlas.cli.arguments import spread
from tests.commands.keyphrases.made_up import corpus


def run(*arguments):
    return CliRunner().invoke(app, spread(["keyphrases", *map(str, arguments)]))


def test_heads_phrases_scores_and_places_are_printed(tiny_folder, tmp_path):
    train, data = corpus(tmp_path / "train.jsonl", 2), corpus(tmp_path / "data.jsonl", 1, start=1)
    options = ("--max-tokens", 64, "--bootstrap", 20, "--device", "cpu")
    done = run(tiny_folder("bert"), "--train", train, "--data", data, "--out", tmp_path / "out", *options)
    assert done.exit_code == 0, done.output
    for said in ("found on 8 training documents", "F1 of the first 5, 10, 15 phrases", "text_rank", "scalar_mix"):
        assert said in done.output
    assert (tmp_path / "out" / "shaded.html").exists()
    assert (tmp_path / "out" / "figures" / "keyphrase_curve.png").exists()


def test_a_survey_takes_keyphrases(tiny_folder, tmp_path):
    data = corpus(tmp_path / "data.jsonl", 2)
    options = ("--max-tokens", "64", "--bootstrap", "20", "--examples", "2", "--no-figures")
    typed = ["survey", str(tiny_folder("bert")), "--keyphrases", str(data), "--out", str(tmp_path / "atlas"), *options]
    done = CliRunner().invoke(app, spread(typed))
    assert done.exit_code == 0, done.output
    assert "tokens of keyphrases come first" in done.output
