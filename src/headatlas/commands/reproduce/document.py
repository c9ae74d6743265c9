"""report.md: every published number and finding beside ours, the paper's tables in full, and the figures."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import pandas as pd

from headatlas.commands.reproduce.claim import MARGINS, WIDEST
from headatlas.results.atlas import Atlas
from headatlas.results.folder import Results
from headatlas.results.rendering import markdown_text, render
from headatlas.results.view import Column, View
from headatlas.views.published.tables import source
from headatlas.views.published.views import COMPARED, counts, reproduction_view, view_of
from headatlas.views.words.about import corpora_read, left_out, unknown_warnings

REPORT = "report.md"
FIGURES = {
    "figure1_heads": "Figure 1: heads at work on one input",
    "figure2_token_kinds": "Figure 2: attention to kinds of tokens",
    "figure2_positions": "Section 3.1: attention to neighbours",
    "figure3_gradients": "Figure 3: gradients",
    "figure4_entropy": "Figure 4: entropy",
    "figure5_relations": "Figure 5: heads for relations",
    "table3_probes": "Table 3 as bars",
    "probe_weights": "Which heads the probes use",
    "probe_layers": "The structural probe on every layer",
    "figure6_head_map": "Figure 6: which heads are similar",
}
RULES = (
    "A number is *reproduced* if the published value lies within our 95 % interval, widened by a margin, and the "
    f"interval is at most {WIDEST['%']:g} points, {WIDEST['nats']:g} nats or {WIDEST['heads']:g} heads wide. Margins: "
    f"{MARGINS['table 1']:g} points in table 1 and the notebook, {MARGINS['table 2']:g} in tables 2 and 3, which are "
    f"printed without decimals; {MARGINS['nats']:g} nats; {MARGINS['heads']:g} head in counts of heads. A finding is "
    "reproduced if the rule beside it holds beyond its interval. Neither counts if the same network with random "
    "weights, fresh or shuffled, meets the rule too: then it is *not decided*. *differs* is what one expects of "
    "another model or corpus. What no model decides, such as the accuracy of offsets, is a check of the corpus and "
    "counted apart."
)


def report_text(atlas: Atlas, probed: Results | None, others: Sequence[str]) -> str:
    """The report as Markdown. atlas: of the survey, with the table `reproduction`; others: what --results are of."""
    table = atlas.tables["reproduction"]
    model, paper = atlas.manifest["model"], source("dependencies")
    name, heads = markdown_text(model["name"]), model["heads"]
    parts = [
        f"# {paper.paper} with {name}",
        f"**{counts(table)}** The paper's model is {paper.model}; this is {name}, with {sum(heads)} heads in "
        f"{len(heads)} layers.",
        "\n".join(f"- {markdown_text(line)}" for line in (*_corpora(atlas, probed), *others)),
        "## When a number or finding counts as reproduced",
        RULES,
    ]
    for place in table["place"].unique():
        parts += [f"## {place[0].upper()}{place[1:]}", _rows_of(table[table["place"] == place], model["name"])]
    parts += ["## The tables side by side", *_side_by_side(atlas), *(_side_by_side(probed) if probed else ())]
    parts += ["## Figures", *_figures(atlas.folder)]
    return "\n\n".join(parts) + "\n"


def _corpora(atlas: Atlas, probed: Results | None) -> Iterator[str]:
    """What was read and what was left out of it."""
    yield from corpora_read(atlas.manifest)
    yield from unknown_warnings(atlas.manifest)
    if probed is not None:
        train, scored = (probed.manifest["corpora"][part] for part in ("treebank", "eval"))
        vectors = probed.manifest["vectors"]
        with_words = f", word vectors of {vectors['width']} numbers ({Path(vectors['name']).name})" if vectors else ""
        yield f"probes trained on {train['sentences']:,} sentences, scored on {scored['sentences']:,}{with_words}"
    for omitted in left_out(atlas.manifest) + (left_out(probed.manifest) if probed is not None else []):
        yield f"left out: {omitted}"
    for study, reason in atlas.manifest["studies_skipped"].items():
        yield f"not run: {study}: {reason}"


def _rows_of(table: pd.DataFrame, name: str) -> str:
    """The rows of one place, with the rule of each."""
    whole = reproduction_view(table, name)
    cells = tuple((*row[1:], rule) for row, rule in zip(whole.cells, table["rule"], strict=True))
    return render(View(table, (*whole.columns[1:], Column("reproduced if")), cells), "markdown").strip()


def _side_by_side(atlas: Results) -> Iterator[str]:
    """Tables 1 to 3 in full."""
    for name in COMPARED:
        if all(table in atlas.tables for table in COMPARED[name][1]):
            yield render(view_of(atlas, name), "markdown").strip()


def _figures(folder: Path) -> Iterator[str]:
    for stem, caption in FIGURES.items():
        if (folder / "figures" / f"{stem}.png").exists():
            yield f"![{caption}](figures/{stem}.png)\n\n{caption}"
