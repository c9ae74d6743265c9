"""Options said once: the same checks, words and defaults for Python and the command line."""

from __future__ import annotations

import inspect
import pydoc
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from headatlas.cli.app import make_app
from headatlas.commands.shared.command import command
from headatlas.commands.shared.corpora import FormatOptions
from headatlas.commands.shared.entry import function_of, list_entries, load
from headatlas.commands.shared.options import Bounds, Files, Options, Positive, flag_of, list_names, list_options
from headatlas.errors import SettingError
from typed import typed

ENTRIES = list_entries()


@dataclass(frozen=True, kw_only=True)
class Sampling(Options, panel="Sampling"):
    """How to sample."""

    segments: Positive = 10
    """Number of segments."""


@dataclass(frozen=True, kw_only=True)
class Example(Sampling):
    """Options of a command."""

    model: str = field(kw_only=False)
    """The model."""
    text: Files | None = None
    """The text."""


@command(Example)
def example(options: Example) -> Example:
    """Do something.

    And more.
    """
    return options


def test_keywords_are_flat_and_typed():
    parameters = inspect.signature(example).parameters
    assert list(parameters) == ["model", "text", "segments"]
    assert parameters["segments"].annotation is int
    assert parameters["segments"].kind is inspect.Parameter.KEYWORD_ONLY
    assert example("bert", segments=3) == Example("bert", segments=3)


def test_help_of_python_explains_every_option():
    assert inspect.getdoc(example).endswith(
        "And more.\n\nArgs:\n    model: The model.\n    text: The text.\n\nSampling:\n    segments: Number of segments."
        " Default: 10."
    )


@command(Example)
def shown(options: Example) -> Example:
    """Do something.

        headatlas shown bert --segments 3

    In Python: headatlas.shown("bert")

    >>> 1 + 1
    2
    """
    return options


def test_python_and_the_shell_have_examples_of_their_own():
    python, shell = inspect.getdoc(shown), shown.shell_help
    assert "Example:\n    >>> 1 + 1\n    2" in python
    assert ">>>" not in shell
    assert "    headatlas shown bert --segments 3" in shell
    assert "headatlas shown" not in python
    assert "In Python" in shell
    assert "In Python" not in python


def test_the_page_of_a_function_fits_a_page():
    page = pydoc.render_doc(function_of("survey"), renderer=pydoc.plaintext)
    assert max(map(len, page.splitlines())) <= 120
    assert "--" not in page  # options are called by their keywords
    for said in (
        "dtype: Floating",
        "One of: float32",
        "Default: 128.",
        "Parallel runs:",
        "any iterable",
        "-> Atlas",
    ):
        assert said in page


@pytest.mark.parametrize("value", [0, -1, True, "3", float("nan")])
def test_numbers_are_checked_in_python(value):
    with pytest.raises(SettingError, match="--segments must be"):
        example("bert", segments=value)


def test_an_upper_bound():
    with pytest.raises(SettingError, match="--port must be at most 65535, not 70000"):
        Bounds(0, 65535).check("--port", 70000)


def test_names_may_be_given_with_commas_or_one_by_one():
    assert list_names("a,b") == list_names(["a", "b"]) == list_names(["a,b"]) == ["a", "b"]
    assert list_names(None) is None


def test_settings_leave_out_what_cannot_change_results():
    assert Example("bert", text="a").settings() == {"model": "bert", "segments": 10}


def test_formats_are_checked_and_recorded_for_every_kind():
    assert FormatOptions(format={"text": "wikitext"}).settings()["format"]["text"] == "wikitext"
    assert FormatOptions().settings() == FormatOptions(format={"text": "auto"}).settings()
    with pytest.raises(SettingError, match=r"--format text=pdf is not available\. Choose from: text=auto"):
        FormatOptions(format={"text": "pdf"})
    with pytest.raises(SettingError, match="--format image is not a kind of corpus"):
        FormatOptions(format={"image": "png"})


@pytest.mark.parametrize("name", ENTRIES)
def test_every_option_is_explained(name):
    explained = inspect.getdoc(function_of(name))
    for option in list_options(function_of(name).options):
        assert f"\n    {option.name}: " in explained, option.name


@pytest.mark.parametrize("name", ENTRIES)
def test_no_name_is_cut_in_the_help_at_80_columns(name, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    command_name = name.replace("_", "-")
    help_text = typed(command_name, "--help").stdout
    for option in list_options(function_of(name).options):
        shown = flag_of(option.name)
        hidden = "parse=False" in str(option.hint)
        assert (shown in help_text) is not hidden, option.name
    assert max(map(len, help_text.splitlines())) <= 80
    assert f"\n headatlas {command_name}" in help_text  # examples, one per line


@pytest.mark.parametrize("name", ENTRIES)
def test_options_of_the_report_do_not_hide_those_of_the_command(name):
    printing = {option.name for option in list_options(load(ENTRIES[name].printing))}
    assert not printing & {option.name for option in list_options(function_of(name).options)}


def test_shell_and_python_give_the_same_options():
    words = ["layers", "bert", "--train", "a", "b", "--eval", "c", "--out", "d", "--seeds", "1", "--no-heads"]
    _, bound, _ = make_app(words).parse_args(words, exit_on_error=False, print_error=False)
    options = function_of("layers").options
    expected = options("bert", train=[Path("a"), Path("b")], eval=[Path("c")], out="d", seeds=1, heads=False)
    assert options(*bound.args, **bound.kwargs) == expected


@pytest.mark.parametrize(("option", "value"), [("seeds", 0), ("dtype", "float23")])
def test_shell_and_python_report_the_same_error(option, value):
    with pytest.raises(SettingError) as error:
        function_of("layers")("bert", train="a", eval="b", **{option: value})
    ended = typed("layers", "bert", "--train", "a", "--eval", "b", f"--{option}", value)
    assert ended.exit_code > 0
    assert ended.output == f"Error: {error.value}"
