"""Write docs/tables.md from the declarations of the tables.

python -m scripts.document_tables
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from headatlas.results.tables import KnownTables
from headatlas.tables import Key, Table

DOCUMENT = Path(__file__).parents[1] / "docs" / "tables.md"
INTRODUCTION = """\
# Tables

Every table is written as Parquet and CSV, with one row per head and measure unless its question says otherwise. Layers
and heads count from 1. `headatlas table DIR NAME` prints one; `atlas.tables["name"]` is a pandas frame. The measures
are defined in [definitions.md](definitions.md), the columns are explained [below](#columns). Values are means over the
tokens of a segment, then over segments, as in the paper. An empty cell is a value that does not exist, such as the
attention to `[SEP]` of a model without one.

This page is made from the declarations of the tables by `python -m scripts.document_tables`.
"""


def document() -> str:
    """Return the page: the question of every table by command, then the columns of each."""
    commands: dict[str, list[Table]] = {"survey": []}
    for made in sorted(KnownTables().made.values(), key=lambda made: not made.corpus):  # tables of studies first
        commands.setdefault(made.command, []).append(made.table)
    questions = [line for command, tables in commands.items() for line in _questions(command, tables)]
    columns = [line for tables in commands.values() for table in tables for line in _columns(table)]
    return "\n".join([INTRODUCTION, *questions, "## Columns", "", *columns]).rstrip() + "\n"


def _questions(command: str, tables: list[Table]) -> Iterator[str]:
    yield from (f"## {command}", "")
    if any(table.section for table in tables):
        yield from ("| table | the question | in the paper |", "| --- | --- | --- |")
        yield from (f"| `{table.name}` | {_cell(table.question)} | {table.section} |" for table in tables)
    else:
        yield from ("| table | the question |", "| --- | --- |")
        yield from (f"| `{table.name}` | {_cell(table.question)} |" for table in tables)
    yield ""


def _columns(table: Table) -> Iterator[str]:
    yield from (f"### {table.name}", "", "| column | unit | meaning |", "| --- | --- | --- |")
    for column in table.columns:
        unit = "key" if isinstance(column, Key) else column.unit
        yield f"| `{column.name}` | {unit} | {_cell(column.about)} |"
    yield ""


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("[", "\\[")


if __name__ == "__main__":
    DOCUMENT.write_text(document(), encoding="utf-8")
