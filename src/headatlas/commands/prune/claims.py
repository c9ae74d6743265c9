"""What the lectures claim of pruned models, for the list of claims that `reproduce` prints."""

from __future__ import annotations

from headatlas.commands.reproduce.claim import Answer, Claim, Tables
from headatlas.tables import records

FASTER = 0.95  # of the time before: what less than that is may be chance


def smaller_and_faster(tables: Tables) -> Answer:
    """Do the pruned models have fewer parameters, and take less time?"""
    figures, holds = [], True
    for row in records(tables["prune_manifest"]):
        size, time = row["parameters.after"] / row["parameters.before"], row["speed.model.ratio"]
        holds &= size < 1 and time < FASTER
        figures.append(
            f"without {len(row['removed'])} heads {100 * size:.1f} % of the parameters, {100 * time:.1f} % of the time"
        )
    return Answer(holds, "; ".join(figures))


CLAIMS = (
    Claim(42, "lecture", "pruning makes a model smaller and faster", ("prune_manifest",),
          f"fewer parameters, and at most {FASTER:.0%} of the time", smaller_and_faster, decided_by="corpus",
          lacking="--results of headatlas prune"),
)  # fmt: skip
