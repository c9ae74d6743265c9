"""Every claim of "What Does BERT Look At?" and of lectures about it, as data: number, place, value, rule, tables.

A command may bring claims of its own: `CLAIMS` in a module `claims` of its folder.
"""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec

from headatlas.commands.reproduce.claim import Check, Claim, Tables, judge
from headatlas.commands.reproduce.claims.coreference import COREFERENCE, table_2
from headatlas.commands.reproduce.claims.dependencies import SPECIAL_TOKENS, SYNTAX, table_1
from headatlas.commands.reproduce.claims.probes import SECTION_5, table_3
from headatlas.commands.reproduce.claims.surface import NOT_SURVEYED, SURFACE
from headatlas.plugins import command_folders

OF_COMMANDS: dict[str, tuple[Claim, ...]] = {
    folder: import_module(f"{package.__name__}.claims").CLAIMS
    for folder, package in command_folders().items()
    if f"{package.__name__}.claims" != __name__ and find_spec(f"{package.__name__}.claims")
}
"""The claims that other commands answer (`--results`), by command."""
_OF_PAPER = (*SURFACE, *SPECIAL_TOKENS, *table_1(), *SYNTAX, *table_2(), *COREFERENCE, *table_3(), *SECTION_5)
_ALL = (*_OF_PAPER, *NOT_SURVEYED, *(claim for claims in OF_COMMANDS.values() for claim in claims))
CLAIMS: tuple[Claim, ...] = tuple(sorted(_ALL, key=lambda claim: claim.number))
"""In the order of their numbers."""

__all__ = ["CLAIMS", "OF_COMMANDS", "Check", "Claim", "Tables", "judge"]
