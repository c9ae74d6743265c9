"""What a folder of results holds, as a notebook shows it: each table with its size and what it answers."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape

import pandas as pd

from headatlas.results.markup import html
from headatlas.results.schema import TABLES
from headatlas.results.view import plain_view


def summary_html(title: str, rows: Mapping[str, int], more: str) -> str:
    """A heading, a table of tables, and how to see more. rows: how many each table has."""
    about = [TABLES[name].about if name in TABLES else "" for name in rows]
    frame = pd.DataFrame({"table": list(rows), "rows": list(rows.values()), "about": about})
    return f"<div>{html(plain_view(frame, title))}<p>{escape(more)}</p></div>"
