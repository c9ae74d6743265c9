"""What each command prints when it ends, and the options that only the command line has.

A report gets the result of its command, the command's options and its own. Everything heavy is imported when a report
is printed, because `--help` reads this file for the options.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from headatlas.commands.shared.options import OnByDefault, Options


@dataclass(frozen=True, kw_only=True)
class NoOptions(Options):
    """For reports without options of their own."""


@dataclass(frozen=True, kw_only=True)
class FigureOptions(Options, panel="Output"):
    """What to write besides tables."""

    figures: OnByDefault = True
    """Draw figures and write index.html."""


def report_layers(results: Any, _options: Any, printing: FigureOptions) -> None:
    """Print findings; draw figures and the page."""
    from headatlas.cli.endings import finish

    finish(results, draw=printing.figures)


def report_survey(atlas: Any, options: Any, printing: FigureOptions) -> None:
    """Print findings, draw figures and the page; say what to do with a shard."""
    from headatlas.cli.endings import finish
    from headatlas.cli.places import send_results, tell_shard

    if options.shard is not None:
        tell_shard(options.shard, options.out)
    else:
        finish(atlas, draw=printing.figures)
        send_results(atlas.folder, options.out)


def report_demo(atlas: Any, _options: Any, _printing: NoOptions) -> None:
    """Print findings, draw figures and the page."""
    from headatlas.cli.endings import finish

    finish(atlas, draw=True)


def report_extract(store: Any, options: Any, _printing: NoOptions) -> None:
    """Print what the folder of maps holds; say what to do with a shard."""
    from headatlas.cli.places import tell_shard, tell_store

    if options.shard is not None:
        tell_shard(options.shard, options.out)
    else:
        tell_store(store, checked=options.check is not None)


def report_merge(merged: Any, options: Any, printing: FigureOptions) -> None:
    """Print what the shards became: an atlas, a folder of maps, or the scores of an ablation."""
    from headatlas.cli.places import send_results, tell_store
    from headatlas.results.atlas import Atlas

    if isinstance(merged, Atlas):
        from headatlas.cli.endings import finish

        finish(merged, draw=printing.figures)
        send_results(merged.folder, options.out)
    elif isinstance(merged, Path):
        print(f"Scores:  {options.out}")
        print(
            f"Next:    headatlas ablate ... --out {options.out}, as before but without --shard, for tables and curves"
        )
    else:
        tell_store(merged)
