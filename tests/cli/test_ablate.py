"""headatlas ablate on the command line."""

from __future__ import annotations

from typer.testing import CliRunner

from headatlas.cli.app import app
from headatlas.cli.arguments import spread
from headatlas.corpora.sample import sample_text


def test_the_command_says_what_it_found(tiny_folder, tmp_path):
    out = tmp_path / "out"
    line = ["ablate", str(tiny_folder("bert")), "--task", "masked-lm", "--text", str(sample_text()), "--examples", "6"]
    line += [
        "--max-tokens",
        "64",
        "--bootstrap",
        "20",
        "--steps",
        "2",
        "--random-orders",
        "1",
        "--no-figures",
        "--out",
        str(out),
    ]
    done = CliRunner().invoke(app, spread(line))
    assert done.exit_code == 0, done.output
    assert "masked-lm: 6 examples of sample.txt" in done.output
    assert "with all heads: log_likelihood -" in done.output
    assert "of 8 heads, " in done.output
    assert "with 50 % of the heads removed, by order: importance -" in done.output
    for name in ("ablation", "importance", "removal_curve"):
        shown = CliRunner().invoke(app, ["table", str(out), name, "--rows", "3"])
        assert shown.exit_code == 0, shown.output


def test_several_values_of_an_option():
    line = ["ablate", "m", "--task", "masked-lm", "minimal-pairs", "--heads", "1-1", "2-2"]
    assert spread(line)[2:] == ["--task", "masked-lm", "--task", "minimal-pairs", "--heads", "1-1", "--heads", "2-2"]


def test_the_format_of_keyphrases_can_be_named(tmp_path):
    data = tmp_path / "documents.jsonl"
    data.write_text('{"text": "A cat sat.", "keyphrases": ["cat"]}\n', encoding="utf-8")
    line = ["ablate", "m", "--task", "keyphrases", "--data", str(data), "--out", str(tmp_path / "out")]
    done = CliRunner().invoke(app, [*line, "--keyphrase-format", "pdf"])
    assert "--keyphrase-format pdf is unknown. Use one of: auto, " in str(done.exception)
