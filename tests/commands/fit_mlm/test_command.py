"""headatlas fit-mlm as a person meets it."""

from __future__ import annotations

import subprocess
import sys

from typer.testing import CliRunner

from headatlas.cli import app as cli

run = CliRunner().invoke


def test_a_fit_ends_with_its_scores_and_the_next_command(headless, easy_text, tmp_path):
    out = tmp_path / "fitted"
    options = ["--tokens", "800", "--max-tokens", "24", "--rank", "2", "--device", "cpu"]
    done = run(cli.app, ["fit-mlm", str(headless("bert")), "--text", str(easy_text), "--out", str(out), *options])
    assert done.exit_code == 0, done.output
    assert "top-1" in done.output
    assert "unigram" in done.output
    assert f"headatlas survey {out}" in done.output.replace("\n", "")
    assert (out / "adapter_config.json").exists()


def test_help_needs_no_torch_and_shows_examples():
    code = "import sys; from headatlas.cli import app; assert not {'torch', 'peft'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)
    shown = run(cli.app, ["fit-mlm", "--help"], env={"COLUMNS": "200"})
    assert "headatlas fit-mlm embedded --text wiki.txt --out fitted" in shown.output
