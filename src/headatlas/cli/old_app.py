"""The command line. Every command is a file that parses, calls and prints; heavy imports wait until it runs."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import wraps
from typing import Any

import typer

from headatlas.cli.arguments import spread
from headatlas.cli.compare import compare
from headatlas.cli.demo import demo
from headatlas.cli.draw import draw
from headatlas.cli.explore import explore
from headatlas.cli.extract import extract
from headatlas.cli.figures import figures
from headatlas.cli.merge import merge
from headatlas.cli.models import models
from headatlas.cli.page import page
from headatlas.cli.reproduce import reproduce
from headatlas.cli.screen import guard_output, is_output_full
from headatlas.cli.survey import survey
from headatlas.cli.table import table
from headatlas.errors import HeadatlasError, SurveyInterruptedError

ABOUT = """An atlas of a transformer's attention heads: what each one looks at.

Start with `headatlas demo`, then survey a model of your own:

    headatlas survey bert-base-uncased --text wiki.txt --out atlas
"""

COMMANDS: dict[str, Callable[..., None]] = {
    "demo": demo,
    "survey": survey,
    "merge": merge,
    "extract": extract,
    "reproduce": reproduce,
    "table": table,
    "draw": draw,
    "figures": figures,
    "compare": compare,
    "page": page,
    "explore": explore,
    "models": models,
}

RESUMED = {"demo", "survey", "extract", "reproduce", "layers"}
"""The commands that continue where they were stopped; the others begin again."""

app = typer.Typer(
    help=ABOUT,
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _ends_in_words(name: str, command: Callable[..., None]) -> Callable[..., None]:
    """The command, with an error in words where Ctrl-C or a lack of memory ends it at once."""

    @wraps(command)
    def run(*args: Any, **options: Any) -> None:
        try:
            command(*args, **options)
        except KeyboardInterrupt:
            kept = "What was saved is kept; the same command continues." if name in RESUMED else ""
            raise SurveyInterruptedError(f"Stopped at once. {kept}".strip()) from None
        except (MemoryError, RuntimeError) as error:
            from headatlas.engine.memory import is_out_of_memory, out_of_memory

            if not is_out_of_memory(error):
                raise
            raise out_of_memory(f"in headatlas {name}") from error

    return run


for name, command in COMMANDS.items():
    app.command(name)(_ends_in_words(name, command))


def _version(wanted: bool) -> None:
    if wanted:
        from headatlas import __version__

        typer.echo(f"headatlas {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: bool = typer.Option(False, "--version", callback=_version, is_eager=True, help="Print the version."),
) -> None:
    pass


def main(words: list[str]) -> None:
    """Run the command line: errors a user can mend are printed without a traceback."""
    guard_output()
    try:
        app(args=spread(words))
    except SurveyInterruptedError as error:
        typer.secho(str(error), err=True, fg="yellow")
        sys.exit(130)
    except HeadatlasError as error:
        typer.secho("Error: ", err=True, fg="red", nl=False)
        typer.echo(str(error), err=True)
        sys.exit(1)
    except OSError as error:
        if not is_output_full(error):
            raise
        typer.echo(f"Error: the output cannot be written ({error.strerror}). Free some space.", err=True)
        sys.exit(1)


if __name__ == "__main__":
    main()
