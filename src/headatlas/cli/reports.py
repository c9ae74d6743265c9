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


def report_atlas(atlas: Any, options: Any, printing: Any) -> None:
    """Finish an atlas, with figures and page unless they are turned off; for a shard, say how to merge it."""
    from headatlas.cli.endings import finish_atlas

    if not _report_shard(options):
        finish_atlas(atlas, getattr(printing, "figures", True), options.out)


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
    from headatlas.cli.endings import comparison_report, finish

    finish(comparison, comparison_report(comparison), draw=printing.figures)


def report_reproduce(atlas: Any, _options: Any, _printing: NoOptions) -> None:
    """Print published and measured numbers, and how many agree."""
    from headatlas.commands.reproduce.run import REPORT
    from headatlas.results.rendering import render
    from headatlas.views.published.views import counts, view_of

    print(render(view_of(atlas, "reproduction"), "terminal"), end="")
    print(f"Total: {counts(atlas.tables['reproduction'])}")
    print(f"\nWrote {atlas.folder / REPORT}, tables and figures. Open {atlas.folder / 'index.html'} in a browser.")


def report_paths(paths: Path | list[Path], _options: Any, _printing: NoOptions) -> None:
    """Print where files were written."""
    print(*(paths if isinstance(paths, list) else [paths]), sep="\n")


def report_text(text: str, _options: Any, _printing: NoOptions) -> None:
    """Print a text that ends its last line itself."""
    print(text, end="")


def report_nothing(_result: None, _options: Any, _printing: NoOptions) -> None:
    """Print nothing more."""


def report_probe(results: Any, _options: Any, printing: DrawingOptions) -> None:
    """Print the scores; draw figures."""
    from headatlas.cli.endings import finish, probe_report, with_omissions

    finish(results, with_omissions(probe_report(results), results.manifest), draw=printing.figures, write=None)


def report_prune(pruned: Any, _options: Any, _printing: NoOptions) -> None:
    """Print what was cut out and what that saves."""
    from headatlas.cli.endings import pruning_report

    print(*pruning_report(pruned), sep="\n")


def report_fit(fit: Any, _options: Any, _printing: NoOptions) -> None:
    """Print the scores of the fitted head."""
    from headatlas.cli.endings import fit_report

    print(*fit_report(fit), sep="\n")


def report_ablate(results: Any, options: Any, printing: DrawingOptions) -> None:
    """Print the effect on each task and draw figures; for a shard, say how to merge it."""
    from headatlas.cli.endings import ablation_report, finish, with_omissions

    if not _report_shard(options):
        report = with_omissions(ablation_report(results), results.manifest)
        finish(results, report, draw=printing.figures, write=None, out=options.out)


def report_extract(store: Any, options: Any, _printing: NoOptions) -> None:
    """Print what the folder of maps holds; for a shard, say how to merge it."""
    from headatlas.cli.endings import store_report

    if not _report_shard(options):
        print(*store_report(store, checked=options.check is not None), sep="\n")


def report_merge(merged: Any, options: Any, printing: FigureOptions) -> None:
    """Print what the shards became: an atlas, a folder of maps, or the scores of an ablation."""
    from headatlas.cli.endings import finish_atlas, store_report
    from headatlas.results.atlas import Atlas

    if isinstance(merged, Atlas):
        finish_atlas(merged, printing.figures, options.out)
    elif isinstance(merged, Path):
        print(f"Wrote the scores to {options.out}.")
        print(f"Next: headatlas ablate ... --out {options.out}, as before but without --shard, for tables and curves")
    else:
        print(*store_report(merged), sep="\n")


def report_keyphrases(results: Any, _options: Any, printing: DrawingOptions) -> None:
    """Print phrases and scores; draw figures and shaded texts."""
    from headatlas.cli.endings import finish, keyphrase_report, with_omissions
    from headatlas.views.figures.keyphrases import write_shaded

    report = with_omissions(keyphrase_report(results), results.manifest)
    finish(results, report, draw=printing.figures, write=write_shaded)


def _report_shard(options: Any) -> bool:
    """If one shard was run, say how to merge it."""
    shard = getattr(options, "shard", None)
    if shard is not None:
        print(
            f"Shard {shard} is done: {options.out}.\nNext: headatlas merge DIR... --out DIR, when all shards are done"
        )
    return shard is not None
