"""The command line as a person meets it: help that teaches, results, errors without a traceback."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from typer.main import get_command
from typer.testing import CliRunner

from headatlas.cli import app as cli
from headatlas.corpora.sample import sample_text
from headatlas.models.embedded import EMBEDDED
from headatlas.results.atlas import open_atlas

run = CliRunner().invoke


def plain(text: str) -> str:
    return re.sub(r"\x1b\[[0-9;]*m", "", text)


@pytest.fixture
def text(tmp_path):
    lines = sample_text().read_text(encoding="utf-8").splitlines()[:60]
    path = tmp_path / "text.txt"
    path.write_text("\n".join(lines), encoding="utf-8")
    return path


@pytest.fixture
def headatlas(monkeypatch, capsys):
    """Run the whole program, as `headatlas` in a terminal does, but in this process, which has imported everything."""

    def call(*arguments: object) -> SimpleNamespace:
        monkeypatch.setattr(sys, "argv", ["headatlas", *map(str, arguments)])
        with pytest.raises(SystemExit) as ended:
            cli.main()
        output, errors = capsys.readouterr()
        return SimpleNamespace(returncode=ended.value.code, stdout=output, stderr=errors)

    return call


def test_help_lists_every_command_and_begins_with_an_example():
    shown = plain(run(cli.app, ["--help"], env={"COLUMNS": "200"}).output)
    assert "headatlas survey bert-base-uncased --text wiki.txt --out atlas" in shown
    assert all(re.search(rf"│ {command} +[A-Z]", shown) for command in cli.COMMANDS)


@pytest.mark.parametrize("command", cli.COMMANDS)
def test_help_teaches_by_examples_with_options_that_exist(command):
    shown = plain(run(cli.app, [command, "--help"], env={"COLUMNS": "200"}).output)
    explained = re.search(r"^ Examples? *$(.*?)^╭", shown, re.MULTILINE | re.DOTALL)
    if command in ("demo", "models"):  # they need nothing but their name
        assert explained is None
        return
    examples = [line.split() for line in explained[1].splitlines() if line.startswith(" headatlas ")]
    assert command in {words[1] for words in examples}
    for _, name, *words in examples:
        parameters = get_command(cli.app).commands[name].params
        known = {option for one in parameters for option in (*one.opts, *one.secondary_opts)}
        assert {word for word in words if word.startswith("--")} <= known


def test_every_survey_option_is_explained():
    shown = plain(run(cli.app, ["survey", "--help"], env={"COLUMNS": "240"}).output)
    for option in (
        "--text",
        "--out",
        "--segments",
        "--max-tokens",
        "--studies",
        "--batch-tokens",
        "--device",
        "--seed",
    ):
        line = next(line for line in shown.splitlines() if option in line)
        assert re.search(r"[a-z]{3,} [a-z]{2,}", line.split(option, 1)[1]), line


def test_a_survey_ends_with_tables_figures_and_a_page(tiny_folder, text, tmp_path):
    out = tmp_path / "atlas"
    done = run(
        cli.app, ["survey", str(tiny_folder("bert")), "--text", str(text), "--out", str(out), "--max-tokens", "40"]
    )
    assert done.exit_code == 0, done.output
    assert "2 layers, 8 heads" in done.output
    assert "attention on the previous token" in done.output
    assert {path.suffix for path in (out / "figures").iterdir()} == {".svg", ".png", ".pdf"}
    assert "figure3_gradients.svg" in {path.name for path in (out / "figures").iterdir()}
    assert done.output.strip().endswith("index.html")
    page = out / "index.html"
    written = page.read_bytes()
    page.unlink()
    again = run(cli.app, ["page", str(out)])
    assert again.output.strip().endswith("index.html")
    assert page.read_bytes() == written


def test_figures_can_be_drawn_elsewhere(tiny_folder, text, tmp_path):
    out = tmp_path / "atlas"
    options = ["--max-tokens", "40", "--studies", "positions", "--no-figures"]
    run(cli.app, ["survey", str(tiny_folder("gpt2")), "--text", str(text), "--out", str(out), *options])
    assert not (out / "figures").exists()
    drawn = run(cli.app, ["figures", str(out), "--out", str(tmp_path / "pictures")])
    names = {Path(line).name for line in drawn.output.split()}
    assert {f"figure2_positions.{suffix}" for suffix in ("svg", "png", "pdf")} <= names
    assert not {name for name in names if name.startswith(("figure3", "figure4", "figure2_token"))}
    assert all(Path(line).stat().st_size > 1000 for line in drawn.output.split())


def test_several_texts_and_studies_in_a_row(headatlas, tiny_folder, text, tmp_path):
    other = tmp_path / "other.txt"
    other.write_text("A dog ran.\nThe cat sat by the fire.\n", encoding="utf-8")
    out = tmp_path / "atlas"
    options = ["--studies", "positions", "entropy", "--out", out, "--max-tokens", 40, "--no-figures"]
    done = headatlas("survey", tiny_folder("bert"), "--text", text, other, *options)
    assert done.returncode == 0, done.stderr
    atlas = open_atlas(out)
    files = atlas.manifest["corpora"]["text"]["files"]
    assert [Path(record["file"]).name for record in files] == ["text.txt", "other.txt"]
    assert set(atlas.tables) == {"positions", "entropy", "behaviours"}


def test_models_lists_what_is_embedded(monkeypatch):
    listed = run(cli.app, ["models"]).output
    for name, model in EMBEDDED.items():
        assert name in listed
        assert model.package in listed
    monkeypatch.setattr(type(EMBEDDED["embedded"]), "locate", lambda _: None)
    assert 'not installed: pip install "headatlas[embedded]"' in run(cli.app, ["models"]).output


def test_errors_are_one_clear_line_without_a_traceback(headatlas, tmp_path):
    failed = headatlas("survey", "./nowhere", "--text", sample_text(), "--out", tmp_path / "atlas")
    assert failed.returncode == 1
    assert plain(failed.stderr).startswith("Error: ./nowhere: no such folder.")
    assert "Traceback" not in failed.stderr
    assert not (tmp_path / "atlas").exists()


def test_version():
    assert re.fullmatch(r"headatlas \d+\.\d+\.\d+\n", run(cli.app, ["--version"]).output)
