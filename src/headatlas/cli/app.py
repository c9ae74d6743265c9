"""The command line, derived by cyclopts from the commands' options and docstrings.

`headatlas --help` imports no command; `headatlas survey --help` imports only survey's options, and never torch.
"""

from __future__ import annotations

import errno
import inspect
import io
import os
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from difflib import get_close_matches
from importlib import import_module
from importlib.abc import MetaPathFinder
from importlib.util import find_spec
from pathlib import Path
from typing import Any, get_args

from cyclopts import App, CycloptsError, Group, MissingArgumentError, Parameter, UnusedCliTokensError
from rich.console import Console
from rich.text import Text

from headatlas.commands.shared.command import annotate, explain
from headatlas.commands.shared.entry import Entry, Panel, function_of, list_entries, load, summary_of
from headatlas.commands.shared.models import refuse_unknown_model
from headatlas.commands.shared.options import list_options, refuse_missing
from headatlas.errors import HeadatlasError, SurveyInterruptedError, is_out_of_memory, out_of_memory, printable
from headatlas.progress import Stage, showing, stage

ABOUT = """Find out what every attention head of a transformer attends to.

Start with `headatlas demo`, then survey a model of your own:

    headatlas survey bert-base-uncased --text wiki.txt --out atlas
"""
SLOW = ("torch", "transformers", "headatlas.commands.shared.ending")
MODULES = 3800  # that these import, about: the bar ends when they have
COMPLETION = ["--install-completion"]  # which needs the options of every command
TAB = ["__complete"]  # by which a shell asks what may come next; then follow the words typed so far
_COLOURS = re.compile(r"(\x1b\[[\d;]*m)")


def main(arguments: Sequence[str] | None = None) -> None:
    """Run one command; print errors that a user can fix without a traceback.

    Args:
        arguments: The words after `headatlas`; those typed in the shell if omitted.
    """
    guard_output()
    words = sys.argv[1:] if arguments is None else list(arguments)
    try:
        make_app(words)(words or ["--help"])
        sys.stdout.flush()  # here, so that a full disk is reported in one line
    except SurveyInterruptedError as error:
        _print_error(Text(str(error), "yellow"))
        sys.exit(130)
    except HeadatlasError as error:
        _print_error(Text.assemble(("Error: ", "red"), str(error)))
        sys.exit(1)
    except BrokenPipeError:  # whoever read the output, such as `head`, has enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    except OSError as error:
        if not is_output_full(error):
            raise
        _print_error(Text(f"Error: the output cannot be written ({error.strerror}). Free some space."))
        sys.exit(1)


def make_app(words: Sequence[str]) -> App:
    """Make the command line; only the command that the words name is imported."""
    named = words[1:2] if words[:1] == TAB else words[:1]
    app = App(
        name="headatlas",
        usage="Usage: headatlas COMMAND [OPTIONS]",
        help=ABOUT,
        help_format="markdown",
        version=_version,
        default_parameter=Parameter(negative_bool=(), negative_iterable=(), show_default=_show_default),
        error_formatter=_format_error,
        result_action="return_value",
        suppress_keyboard_interrupt=False,
    )
    app.register_install_completion_command(help="Complete commands, options and choices in this shell.")
    panels = {title: Group(title, sort_key=order) for order, title in enumerate(get_args(Panel))}
    flags = Group("Options", sort_key=len(panels))
    for flag in ("--help", "--install-completion", "--version"):
        app[flag].group = flags
    for folder, entry in list_entries().items():
        name = folder.replace("_", "-")
        wanted = name in named or named == COMPLETION
        app.command(
            _typed(name, function_of(folder), entry) if wanted else _not_imported,
            name=name,
            group=panels[entry.panel],
            sort_key=entry.place,
            usage=f"Usage: headatlas {name} {entry.arguments}[OPTIONS]",
            help=None if wanted else summary_of(folder),  # its own --help shows the whole docstring
        )
    return app


def _not_imported() -> None:
    """Stand in for a command that was not typed."""


def _typed(name: str, function: Any, entry: Entry) -> Callable[..., None]:
    """Return a command as it is typed: its own options, then those of its report."""
    report_options = load(entry.printing)

    def run(*args: Any, **kwargs: Any) -> None:
        report_names = {option.name for option in list_options(report_options)} & kwargs.keys()
        printing = report_options(**{name: kwargs.pop(name) for name in report_names})
        quiet, as_json = (getattr(printing, way, False) for way in ("quiet", "json"))
        options = function.options(*args, **kwargs)
        refuse_missing(options)
        refuse_unknown_model(options)
        with showing(not quiet), _end_in_words(name, entry):
            if not entry.light and SLOW[0] not in sys.modules:
                import_slowly(name.replace("-", "_"))
            result = function.run(options)
            from headatlas.commands.shared.report import report_shard, show  # slow

            report = load(entry.report) if getattr(options, "shard", None) is None else report_shard
            for line in show(report(result, options, printing), name, quiet=quiet, as_json=as_json):
                print(line)

    extra = inspect.signature(report_options).parameters.values()
    signature = inspect.signature(function)
    vars(run)["__signature__"] = signature.replace(parameters=[*signature.parameters.values(), *extra])
    run.__annotations__ = annotate(function.options, report_options)
    run.__doc__ = f"{function.shell_help}\n{explain(report_options)}"
    return run


def import_slowly(folder: str) -> None:
    """Import what a command needs, which takes seconds, with a bar that moves with every module."""
    own = f"headatlas.commands.{folder}.run"
    last = own if find_spec(own) else "headatlas.commands.survey.run"
    with stage("Starting", total=MODULES) as bar:
        sys.meta_path.insert(0, ImportReporter(bar))
        try:
            for module in (*SLOW, last):
                import_module(module)
        finally:
            sys.meta_path[:] = [finder for finder in sys.meta_path if not isinstance(finder, ImportReporter)]


class ImportReporter(MetaPathFinder):
    """Finds no module, but counts those that are wanted."""

    def __init__(self, bar: Stage) -> None:
        self._bar = bar

    def find_spec(self, _name: str, _path: Any, _target: Any = None) -> None:
        """Leave the finding to others."""
        self._bar.advance()


@contextmanager
def _end_in_words(name: str, entry: Entry) -> Iterator[None]:
    """Explain an immediate Ctrl-C and a lack of memory."""
    try:
        yield
    except KeyboardInterrupt:
        resume = " Everything saved so far stays; the same command resumes." if entry.resumes else ""
        raise SurveyInterruptedError(f"Stopped at once.{resume}") from None
    except (MemoryError, RuntimeError) as error:
        if not is_out_of_memory(error):
            raise
        raise out_of_memory(f"in headatlas {name}") from error


def _version() -> str:
    from headatlas import __version__

    return f"headatlas {__version__}"


def _show_default(value: Any) -> str | None:
    return None if value in (None, (), "") or isinstance(value, bool) else str(value)


def _format_error(error: CycloptsError) -> Text:
    """Reword the messages of cyclopts that show Python's notation or do not give the cause."""
    if isinstance(error, UnusedCliTokensError):
        unused = " ".join(error.unused_tokens or ())
        takes_text = "--text" in _flags(error) and Path(unused).exists()
        meant = f" Did you mean --text {unused}?" if takes_text else ""
        return Text(f"Error: Unexpected argument: {unused}.{meant}")
    if isinstance(error, MissingArgumentError) and (argument := error.argument):
        if argument.index is not None:
            return Text(f"Error: {argument.name.strip('-').upper()} is missing. Put it before all options.")
        return Text(f"Error: {argument.name} is missing.{_suggest(argument.name, error)}")
    return Text(f"Error: {error}")


def _suggest(name: str, error: CycloptsError) -> str:
    """Suggest which word of the command line may be a misspelling of a missing option."""
    known = _flags(error)
    for word in error.root_input_tokens or ():
        if word.startswith("--") and word not in known and get_close_matches(word.partition("=")[0], [name]):
            return f" Is {word} misspelt?"
    return ""


def _flags(error: CycloptsError) -> set[str]:
    """The options of the command in which an error occurred."""
    arguments = error.app.assemble_argument_collection() if error.app else ()
    return {flag for argument in arguments for flag in argument.names}


def _print_error(text: Text) -> None:
    Console(stderr=True, soft_wrap=not sys.stderr.isatty(), highlight=False).print(text)


class Screen(io.TextIOWrapper):
    """A terminal for tables, findings and names that may come from untrusted files."""

    def __init__(self, terminal: io.TextIOWrapper) -> None:
        super().__init__(terminal.buffer, terminal.encoding, "backslashreplace", line_buffering=True)
        self._terminal = terminal  # if it were collected, it would close the buffer

    def write(self, text: str) -> int:
        """Write text; colours and tabs are the only control characters that reach the terminal."""
        parts = _COLOURS.split(text)
        parts[::2] = ("\t".join(map(printable, part.split("\t"))) for part in parts[::2])
        super().write("".join(parts))
        return len(text)


def guard_output() -> None:
    """Escape control characters on a terminal, and whatever standard output cannot encode."""
    if not isinstance(sys.stdout, io.TextIOWrapper):
        return
    sys.stdout.reconfigure(errors="backslashreplace")
    if sys.stdout.isatty():
        sys.stdout = Screen(sys.stdout)


def is_output_full(error: OSError) -> bool:
    """Whether standard output, not a file, has no space left or no device.

    The rest of the output is then dropped; otherwise Python would try to write it again as it exits.
    """
    full = error.filename is None and error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EIO)
    if full:
        try:
            sys.stdout.flush()
        except OSError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return full


if __name__ == "__main__":
    main()
