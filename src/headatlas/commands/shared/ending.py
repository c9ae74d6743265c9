"""The end of a command: what it found and left out, what it wrote, and what to do next."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import chain
from pathlib import Path
from typing import Any

from headatlas.commands.shared.report import Findings, Item, Written, as_item, as_warning
from headatlas.remote import is_url, send
from headatlas.results.atlas import Atlas
from headatlas.results.folder import Results
from headatlas.results.naming import layers_and_heads, model_named
from headatlas.views.figures.write import write_figures
from headatlas.views.page import write_page
from headatlas.views.words.about import corpora_read, left_out, unknown_warnings
from headatlas.views.words.findings import all_findings
from headatlas.wording import counted

SAMPLE_READ = (
    "This is the sample that comes with headatlas, for a first look. For results that hold, give headatlas survey your "
    "own corpora: --text FILE --treebank FILE --coreference FILE."
)


def finish(
    results: Results,
    report: Iterable[Item],
    *,
    draw: bool,
    write: Callable[..., Path] | None = write_page,
    out: str | Path | None = None,
    next_steps: Iterable[tuple[str, str]] = (),
) -> Iterator[Item]:
    """Give a report, draw the figures, and say what was written and what to do next.

    Args:
        results: The folder to finish.
        report: Lines about its contents.
        draw: Whether to draw figures, and to write the page.
        write: Writes the page of the results, if they have one.
        out: The --out option: figures and page are sent there if it is a URL.
        next_steps: Commands that people may run next, and what each does. Then comes the one that lists the tables.

    Yields:
        What to show.
    """
    yield from report
    made = [counted(len(results.tables), "table")]
    page = None
    if draw:
        made.append(counted(len({path.stem for path in write_figures(results)}), "figure"))
        page = write(results) if write else None
    if out is not None and is_url(out):
        send(results.folder, out)
        yield f"Sent to: {out}"
    listing = f"headatlas table {results.folder}", "list the tables and what they answer"
    rows = results.manifest["tables"]
    yield Written(results.folder, ", ".join(made), page, rows, next=(*next_steps, listing))


def report_atlas(atlas: Atlas, options: Any, printing: Any) -> Iterator[Item]:
    """Finish an atlas, with figures and page unless they are turned off."""
    draw = getattr(printing, "figures", True)
    report = _atlas_report(atlas)
    if getattr(options, "on_sample", False):
        report = chain(report, [f"\n{SAMPLE_READ}"])
    live = draw and "layer_mix" not in atlas.tables and atlas.manifest["model"].get("kind") != "imported maps"
    explore = f"headatlas explore {atlas.folder}", "type a text of your own and remove heads"
    return finish(atlas, report, draw=draw, out=options.out, next_steps=[explore] * live)


def _atlas_report(atlas: Atlas) -> Iterator[Item]:
    manifest = atlas.manifest
    yield f"\n{model_and_size(manifest['model'])}, on"
    yield from (f"  {corpus}" for corpus in corpora_read(manifest))
    found = all_findings(atlas)
    of_tasks = "layer_mix" in atlas.tables  # of which each has its sentences, and none stands for the others
    said: list[Item] = [*map(as_item, found)] if of_tasks else [Findings(found, atlas.folder)]
    yield from with_omissions(said, manifest)


def with_omissions(report: Iterable[Item], manifest: Mapping[str, Any]) -> Iterator[Item]:
    """Put warnings of unknown tokens before a report, and what was not run or left out after it."""
    yield from map(as_warning, unknown_warnings(manifest))
    yield from report
    for name, reason in manifest.get("studies_skipped", {}).items():
        yield as_warning(f"Not run: {name}: {reason}")
    if omitted := left_out(manifest):
        yield f"Left out: {', '.join(omitted)}"


def model_and_size(model: Mapping[str, Any]) -> str:
    """Name a model, with the numbers of its layers and heads."""
    return f"{model_named(model)}: {layers_and_heads(model)}"
