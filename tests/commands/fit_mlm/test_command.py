"""headatlas fit-mlm as it is typed."""

from __future__ import annotations

from typed import typed


def test_a_fit_ends_with_its_scores_and_the_next_command(headless, easy_text, tmp_path):
    out = tmp_path / "fitted"
    options = ["--tokens", "800", "--max-tokens", "24", "--rank", "2", "--device", "cpu"]
    done = typed("fit-mlm", headless("bert"), "--text", easy_text, "--out", out, *options)
    assert done.exit_code == 0, done.output
    assert "top-1" in done.output
    assert "unigram" in done.output
    assert f"headatlas survey {out}" in done.output.replace("\n", "")
    assert (out / "adapter_config.json").exists()
    assert f"Encoding {easy_text.name}" in done.stderr


def test_help_shows_examples(monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    assert "headatlas fit-mlm embedded --text wiki.txt --out fitted" in typed("fit-mlm", "--help").output
