"""One self-contained page for an atlas: the findings, the figures and the tables, with no network and no script."""

from __future__ import annotations

import base64
from collections.abc import Iterable
from html import escape
from pathlib import Path

import pandas as pd

from headatlas.atlas.about import corpora_read, left_out
from headatlas.atlas.figures import SurveyedAtlas
from headatlas.atlas.findings import findings
from headatlas.files import write_text
from headatlas.published.views import comparisons
from headatlas.results.markup import html

CAPTIONS = {
    "figure1_heads": "Heads at work on one input: darker lines are larger weights.",
    "figure2_token_kinds": "Attention to kinds of tokens. A point is a head, the line is the layer's mean.",
    "figure2_positions": "Attention to the previous, current and next token.",
    "figure3_gradients": "How much the loss depends on attention to a kind of token.",
    "figure4_entropy": "How broadly heads attend; dashed: attending to all tokens alike.",
    "figure5_relations": "The best heads for some dependency relations, on sentences chosen because the head is right "
    "about them: red lines join a word and its head.",
    "figure6_head_map": "Heads in the plane, like ones side by side, by layer and by what they do. Distances can be "
    "read only roughly: see stress and disparity in the table similarity.",
    "head_tree": "Heads joined to clusters, the nearest first.",
    "head_distances": "How differently all pairs of heads attend, in the order of their clusters.",
}
CAVEATS = (
    "Much attention to [SEP], or to the first token of a causal model, is often a way of attending to nothing: the "
    "paper finds that changing it hardly changes the output.",
    "Attention shows where a head looks, not what the model uses. A pattern is a reason to test further, not an "
    "explanation.",
)
MOST_ROWS = 1000  # of a table: more make the page slow to open

_STYLE = """
:root { color-scheme: light dark; }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
h1 { margin-bottom: 0; } figure { margin: 2rem 0; } figcaption { font-size: .9rem; }
img { width: 100%; max-width: 48rem; background: #fff; border-radius: 4px; padding: .5rem; box-sizing: border-box; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { padding: .15rem .8rem; text-align: right; border-bottom: 1px solid #8884; }
.text, caption { text-align: left; } .group { text-align: center; }
caption { font-weight: 600; padding: .5rem 0; }
.compared { overflow-x: auto; margin: 1.5rem 0; }
.compared td, .compared th { white-space: nowrap; padding: .1rem .45rem; font-size: .85rem; }
.compared p { font-size: .85rem; margin: .2rem 0; }
.scroll { max-height: 24rem; overflow: auto; } summary { cursor: pointer; font-weight: 600; margin: .5rem 0; }
"""


def write_page(atlas: SurveyedAtlas) -> Path:
    """Write DIR/index.html from the atlas's tables and drawn figures."""
    path = atlas.folder / "index.html"
    write_text(path, page_html(atlas))
    return path


def page_html(atlas: SurveyedAtlas) -> str:
    """The page as text. Everything that comes from a model or corpus is escaped."""
    manifest = atlas.manifest
    model = manifest["model"]
    local = model.get("kind") in ("folder", "gguf file")
    name = escape(Path(model["name"]).name if local else model["name"])
    skipped = [f"Not run: {study}: {reason}" for study, reason in manifest["studies_skipped"].items()]
    omitted = [f"Left out: {what}" for what in left_out(manifest)]
    body = [
        f"<h1>{name}</h1>",
        f"<p>{sum(model['heads'])} heads in {model['layers']} layers ({escape(str(model['class']))}), "
        f"on {escape('; '.join(corpora_read(manifest)))}; "
        f"seed {manifest['settings']['seed']}.</p>",
        "<h2>What the heads do</h2>",
        _list(findings(atlas.tables)),
        "<h2>Figures</h2>",
        *(_figure(atlas.folder / "figures" / f"{stem}.svg", caption) for stem, caption in CAPTIONS.items()),
        *_comparisons(atlas),
        "<h2>Tables</h2>",
        *(_table(table, atlas.tables[table]) for table in atlas.tables),
        "<h2>Before you conclude</h2>",
        _list([*CAVEATS, *skipped, *omitted]),
    ]
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>Attention heads of {name}</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n"
        + "\n".join(part for part in body if part)
        + "\n</body>\n</html>\n"
    )


def _list(sentences: Iterable[str]) -> str:
    return "<ul>" + "".join(f"<li>{escape(sentence)}</li>" for sentence in sentences) + "</ul>"


def _figure(path: Path, caption: str) -> str:
    """A drawn figure inside the page, as an image that cannot run anything."""
    if not path.exists():
        return ""
    data = base64.b64encode(path.read_bytes()).decode("ascii")
    text = escape(caption)
    return f'<figure><img src="data:image/svg+xml;base64,{data}" alt="{text}"><figcaption>{text}</figcaption></figure>'


def _comparisons(atlas: SurveyedAtlas) -> list[str]:
    views = [f'<div class="compared">{html(view)}</div>' for view in comparisons(atlas)]
    return ["<h2>Beside the paper</h2>", *views] if views else []


def _table(name: str, frame: pd.DataFrame) -> str:
    shown = frame.head(MOST_ROWS)
    body = shown.to_html(index=False, border=0, float_format="{:.4f}".format, na_rep="", escape=True)
    cut = len(frame) > MOST_ROWS
    more = f"<p>The first {MOST_ROWS:,} rows; all are in tables/{escape(name)}.csv.</p>" if cut else ""
    rows = f"<summary>{escape(name)} ({len(frame):,} rows)</summary>"
    return f'<details>{rows}{more}<div class="scroll">{body}</div></details>'
