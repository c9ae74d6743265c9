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


@dataclass(frozen=True, kw_only=True)
class DrawingOptions(Options, panel="Output"):
    """What to draw besides tables."""

    figures: OnByDefault = True
    """Draw figures."""


def report_layers(results: Any, _options: Any, printing: FigureOptions) -> None:
    """Print findings; draw figures and the page."""
    from headatlas.cli.endings import finish

    finish(results, draw=printing.figures)


def report_draw(figure: Any, options: Any, _printing: NoOptions) -> None:
    """Print where the picture is; without --out, save it under the names of its heads."""
    if options.out is not None:
        print(options.out)
        return
    from headatlas.commands.shared.options import list_given
    from headatlas.models.heads import parse_head
    from headatlas.views.figures.style import picture_file, save_figure

    names = ["-".join(map(str, parse_head(name))) for name in list_given(options.head)]
    stem, form = picture_file(Path(f"head_{'_'.join(names)}.png"))
    print(*save_figure(figure, stem, (form,)))


def report_compare(comparison: Any, _options: Any, printing: FigureOptions) -> None:
    """Print what differs; draw figures and the page."""
    from headatlas.cli.endings import finish_comparison

    finish_comparison(comparison, draw=printing.figures)


def report_reproduce(atlas: Any, _options: Any, _printing: NoOptions) -> None:
    """Print published and measured numbers, and how many agree."""
    from headatlas.commands.reproduce.report import REPORT
    from headatlas.results.rendering import render
    from headatlas.views.published.views import counts, view_of

    print(render(view_of(atlas, "reproduction"), "terminal"), end="")
    print(f"In all:  {counts(atlas.tables['reproduction'])}")
    print(f"Report:  {atlas.folder / REPORT}")
    print(f"Figures: {atlas.folder / 'figures'}")
    print(f"Page:    {atlas.folder / 'index.html'}")


def report_paths(paths: Path | list[Path], _options: Any, _printing: NoOptions) -> None:
    """Print where files were written."""
    print(*(paths if isinstance(paths, list) else [paths]), sep="\n")


def report_text(text: str, _options: Any, _printing: NoOptions) -> None:
    """Print a text that ends its last line itself."""
    print(text, end="")


def report_nothing(_result: None, _options: Any, _printing: NoOptions) -> None:
    """Print nothing more."""


def report_survey(atlas: Any, options: Any, printing: FigureOptions) -> None:
    """Print findings, draw figures and the page; say what to do with a shard."""
    from headatlas.cli.endings import finish
    from headatlas.cli.places import send_results, tell_shard

    if options.shard is not None:
        tell_shard(options.shard, options.out)
    else:
        finish(atlas, draw=printing.figures)
        send_results(atlas.folder, options.out)


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


def report_keyphrases(results: Any, _options: Any, printing: DrawingOptions) -> None:
    """Print phrases and scores; draw figures and shaded texts."""
    from headatlas.cli.endings import finish_with
    from headatlas.cli.findings import keyphrase_findings
    from headatlas.views.figures.shaded import write_shaded

    finish_with(keyphrase_findings(results), results, draw=printing.figures)
    if printing.figures:
        print(f"Texts:   {write_shaded(results)}")
