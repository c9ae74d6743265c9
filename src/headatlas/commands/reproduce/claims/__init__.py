"""Every claim of "What Does BERT Look At?" and of lectures about it, as data: number, place, value, rule, tables."""

from __future__ import annotations

from headatlas.commands.reproduce.claims.claim import Check, Claim, Tables, judge
from headatlas.commands.reproduce.claims.coreference import COREFERENCE, table_2
from headatlas.commands.reproduce.claims.dependencies import SPECIAL_TOKENS, SYNTAX, table_1
from headatlas.commands.reproduce.claims.probes import ELSEWHERE, SECTION_5, table_3
from headatlas.commands.reproduce.claims.surface import SURFACE

CLAIMS: tuple[Claim, ...] = tuple(
    sorted(
        (*SURFACE, *SPECIAL_TOKENS, *table_1(), *SYNTAX, *table_2(), *COREFERENCE, *table_3(), *SECTION_5, *ELSEWHERE),
        key=lambda claim: claim.number,
    )
)
"""In the order of their numbers."""

__all__ = ["CLAIMS", "Check", "Claim", "Tables", "judge"]
