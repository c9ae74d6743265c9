"""Section 3.2 and footnote 3: is attention to special tokens what heads do where they have nothing to say?"""

from __future__ import annotations

from headatlas.commands.reproduce.claims.claim import Answer, Claim, Tables
from headatlas.commands.reproduce.claims.dependencies import MORE_WORDS, by_relation, own_row
from headatlas.studies.labels import MOSTLY
from headatlas.tables import records

RESTS_MORE = 0.1  # of the attention, by which words outside a relation rest on special tokens more than those in it
LITTLE_LOST = 0.05  # of the accuracy, when special tokens may be chosen


def _rests(relation: str) -> Claim:
    def ask(tables: Tables) -> Answer | None:
        best, resting = own_row(tables, relation), tables["resting"]
        if best is None:
            return None
        here = (resting["layer"] == best["layer"]) & (resting["head"] == best["head"]) & (resting["by"] == "dependent")
        rows = records(resting[here & (resting["word"] == best["relation"])])
        if not rows:
            return None
        (row,) = rows
        holds = row["others"] > MOSTLY and row["difference_low"] > RESTS_MORE
        return Answer(holds, f"{100 * row['value']:.0f} % in the relation, {100 * row['others']:.0f} % of other words")

    rule = f"other words over half, and surely {100 * RESTS_MORE:.0f} points more than words in the relation"
    item = f"words outside {relation} rest on special tokens in the head for it"
    return Claim(12, "section 3.2", item, ("resting", "dependency_best"), rule, ask, "mostly", lacking=MORE_WORDS)


def _median_head(tables: Tables) -> Answer | None:
    every = tables["dependencies"].query("relation == 'all'")
    best = every.sort_values("accuracy").groupby(["layer", "head"]).tail(1)
    lost = (best["accuracy"] - best["with_special"]).median()
    return Answer(bool(lost <= LITTLE_LOST), f"the median head loses {100 * lost:.1f} points of all words")


def _best_heads(tables: Tables) -> Answer | None:
    best = by_relation(tables["dependency_best"])
    lost = best["accuracy"] - best["with_special"]
    few = int((lost <= LITTLE_LOST).sum())
    return Answer(few > len(best) / 2, f"{few} of {len(best)} relations; median loss {100 * lost.median():.0f} points")


SPECIAL_TOKENS = (
    _rests("dobj"),
    _rests("det"),
    Claim(18, "footnote 3", "special tokens as candidates hardly change most heads", ("dependencies.with_special",),
          f"the median head loses at most {100 * LITTLE_LOST:.0f} points", _median_head),
    Claim(18, "footnote 3", "nor the best head of most relations", ("dependency_best.with_special",),
          f"at most {100 * LITTLE_LOST:.0f} points lost for more than half of the relations", _best_heads),
)  # fmt: skip
