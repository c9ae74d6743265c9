"""What each command prints when it ends, and the options that only the command line has.

A report gets the result of its command, the command's options and its own. Everything heavy is imported when a report
is printed, because `--help` reads this file for the options.
"""

from __future__ import annotations

from dataclasses import dataclass
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


@dataclass(frozen=True, kw_only=True)
class DrawingOptions(Options, panel="Output"):
    """What to draw besides tables."""

    figures: OnByDefault = True
    """Draw figures."""


def report_layers(results: Any, _options: Any, printing: FigureOptions) -> None:
    """Print findings; draw figures and the page."""
    from headatlas.cli.endings import finish

    finish(results, draw=printing.figures)


def report_probe(results: Any, _options: Any, printing: DrawingOptions) -> None:
    """Print the scores; draw figures."""
    from headatlas.cli.endings import finish_with
    from headatlas.cli.findings import probe_findings

    finish_with(probe_findings(results), results, draw=printing.figures)


def report_prune(pruned: Any, _options: Any, _printing: NoOptions) -> None:
    """Print what was cut out and what that saves."""
    from headatlas.cli.findings import pruning_findings

    for line in pruning_findings(pruned):
        print(line)


def report_fit(fit: Any, _options: Any, _printing: NoOptions) -> None:
    """Print the scores of the head."""
    from headatlas.cli.findings import fit_findings

    for line in fit_findings(fit):
        print(line)


def report_ablate(results: Any, options: Any, printing: DrawingOptions) -> None:
    """Print what was found on each task and draw figures; say what to do with a shard."""
    from headatlas.cli.endings import finish_with
    from headatlas.cli.findings import ablation_findings
    from headatlas.cli.places import send_results, tell_shard

    if options.shard is not None:
        tell_shard(options.shard, options.out)
    else:
        finish_with(ablation_findings(results), results, draw=printing.figures)
        send_results(results.folder, options.out)


def report_keyphrases(results: Any, _options: Any, printing: DrawingOptions) -> None:
    """Print phrases and scores; draw figures and shaded texts."""
    from headatlas.cli.endings import finish_with
    from headatlas.cli.findings import keyphrase_findings
    from headatlas.views.figures.shaded import write_shaded

    finish_with(keyphrase_findings(results), results, draw=printing.figures)
    if printing.figures:
        print(f"Texts:   {write_shaded(results)}")
