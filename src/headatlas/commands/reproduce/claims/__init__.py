"""Every claim of "What Does BERT Look At?" and of lectures about it, as data: number, place, value, rule, tables.

A command may bring claims of its own: `CLAIMS` in a module `claims` of its folder.
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from importlib.util import find_spec

from headatlas.commands.reproduce.claims.claim import Check, Claim, Tables, judge
from headatlas.commands.reproduce.claims.coreference import COREFERENCE, table_2
from headatlas.commands.reproduce.claims.dependencies import SPECIAL_TOKENS, SYNTAX, table_1
from headatlas.commands.reproduce.claims.probes import ELSEWHERE, SECTION_5, table_3
from headatlas.commands.reproduce.claims.surface import SURFACE
from headatlas.plugins import command_folders


def _of_commands() -> Iterator[Claim]:
    for folder in command_folders():
        module = f"headatlas.commands.{folder}.claims"
        if module != __name__ and find_spec(module):
            yield from import_module(module).CLAIMS


_OF_PAPER = (*SURFACE, *SPECIAL_TOKENS, *table_1(), *SYNTAX, *table_2(), *COREFERENCE, *table_3(), *SECTION_5)
CLAIMS: tuple[Claim, ...] = tuple(sorted((*_OF_PAPER, *ELSEWHERE, *_of_commands()), key=lambda claim: claim.number))
"""In the order of their numbers."""

__all__ = ["CLAIMS", "Check", "Claim", "Tables", "judge"]
