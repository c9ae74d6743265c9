"""The command line as a person meets it: help that teaches, results, errors without a traceback."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from headatlas.cli.app import make_app
from headatlas.commands.shared.entry import function_of, list_entries
from headatlas.commands.shared.options import list_options
from headatlas.corpora.sample import sample_text
from headatlas.models.embedded import EMBEDDED
from headatlas.results.atlas import open_atlas
from typed import typed

NAMES = [folder.replace("_", "-") for folder in list_entries()]


@pytest.fixture
def text(tmp_path):
    lines = sample_text().read_text(encoding="utf-8").splitlines()[:60]
    path = tmp_path / "text.txt"
    path.write_text("\n".join(lines), encoding="utf-8")
    return path


def test_help_lists_every_command_and_begins_with_an_example():
    shown = typed("--help").stdout
    assert "headatlas survey bert-base-uncased --text wiki.txt --out atlas" in shown
    assert all(re.search(rf"│ {name} +[A-Z]", shown) for name in NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_help_teaches_by_examples_that_can_be_typed(name, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    shown = typed(name, "--help").stdout
    examples = [shlex.split(line.partition(" > ")[0]) for line in shown.splitlines() if line.startswith(" headatlas ")]
    assert len(examples) >= 2
    assert name in {words[1] for words in examples}
    for _, *words in examples:
        make_app(words).parse_args(words, exit_on_error=False, print_error=False)


@pytest.mark.parametrize("folder", list_entries())
def test_the_usual_dozen_options_come_first(folder):
    options = list_options(function_of(folder).options)
    first = [option for option in options if not option.group.panel and "parse=False" not in str(option.hint)]
    assert len(first) <= 14
    assert options[: len(first)] == tuple(first)


def test_the_help_of_survey_fits_on_three_screens(monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    assert len(typed("survey", "--help").stdout.splitlines()) <= 120


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--text", "a.txt"], "No model given. Put MODEL before all options"),
        (["bert", "--treebank", "a", "--parse-with", "en"], "--parse-with en parses the text, but --treebank already"),
        (["bert", "--text", "a.txt", "--shard", "3/2"], "--shard 3/2 is not valid"),
        (["bert", "--text", "a.txt", "--ray", "auto"], "--ray needs to know how many workers to start"),
        (["--maps", "maps", "--segments", "3"], "--segments was decided when the maps were extracted"),
    ],
)
def test_wrong_options_of_survey_are_refused_before_anything_is_loaded(arguments, sentence):
    ended = typed("survey", *arguments)
    assert ended.exit_code == 1
    assert ended.output.startswith(f"Error: {sentence}")


def test_a_survey_ends_with_tables_figures_and_a_page(tiny_folder, text, tmp_path):
    out = tmp_path / "atlas"
    done = typed("survey", tiny_folder("bert"), "--text", text, "--out", out, "--max-tokens", 40)
    assert done.exit_code == 0, done.output
    assert "2 layers, 8 heads" in done.output
    assert "attention on the previous token" in done.output
    assert {path.suffix for path in (out / "figures").iterdir()} == {".svg", ".png", ".pdf"}
    assert "figure3_gradients.svg" in {path.name for path in (out / "figures").iterdir()}
    assert f"Open {out / 'index.html'} in a browser.\nNext: headatlas explore {out} " in done.stdout
    assert f"\n      headatlas table {out} " in done.stdout
    page = out / "index.html"
    written = page.read_bytes()
    page.unlink()
    again = typed("page", out)
    assert again.output.startswith(f"\nWrote {page}. Open it in a browser.\nNext: headatlas table {out}")
    assert page.read_bytes() == written


def test_figures_can_be_drawn_elsewhere(tiny_folder, text, tmp_path):
    out = tmp_path / "atlas"
    options = ["--max-tokens", "40", "--studies", "positions", "--no-figures"]
    typed("survey", tiny_folder("gpt2"), "--text", text, "--out", out, *options)
    assert not (out / "figures").exists()
    drawn = typed("figures", out, "--out", tmp_path / "pictures", "--quiet")
    names = {Path(line).name for line in drawn.stdout.split()}
    assert {f"figure2_positions.{suffix}" for suffix in ("svg", "png", "pdf")} <= names
    assert not {name for name in names if name.startswith(("figure3", "figure4", "figure2_token"))}
    assert all(Path(line).stat().st_size > 1000 for line in drawn.stdout.split())


def test_several_texts_and_studies_in_a_row(tiny_folder, text, tmp_path):
    other = tmp_path / "other.txt"
    other.write_text("A dog ran.\nThe cat sat by the fire.\n", encoding="utf-8")
    out = tmp_path / "atlas"
    options = ["--studies", "positions", "entropy", "--out", out, "--max-tokens", 40, "--no-figures"]
    done = typed("survey", tiny_folder("bert"), "--text", text, other, *options)
    assert done.exit_code == 0, done.stderr
    atlas = open_atlas(out)
    files = atlas.manifest["corpora"]["text"]["files"]
    assert [Path(record["file"]).name for record in files] == ["text.txt", "other.txt"]
    assert set(atlas.tables) == {"positions", "entropy", "entropy_layers", "behaviours"}


def test_models_lists_what_is_embedded(monkeypatch):
    listed = typed("models").output
    for name, model in EMBEDDED.items():
        assert name in listed
        assert model.package in listed
    monkeypatch.setattr(type(EMBEDDED["embedded"]), "locate", lambda _: None)
    assert 'not installed: pip install "headatlas[embedded]"' in typed("models").output


def test_errors_are_one_clear_line_without_a_traceback(tmp_path):
    failed = typed("survey", "./nowhere", "--text", sample_text(), "--out", tmp_path / "atlas")
    assert failed.exit_code == 1
    assert failed.stderr.splitlines()[-1].startswith("Error: ./nowhere: there is no such folder.")
    assert "Traceback" not in failed.stderr
    assert not (tmp_path / "atlas").exists()


def test_version():
    assert re.fullmatch(r"headatlas \d+\.\d+\.\d+\n", typed("--version").output)
