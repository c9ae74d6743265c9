"""What the lectures claim of keyphrases, for the list of claims that `reproduce` prints."""

from __future__ import annotations

from headatlas.commands.reproduce.claim import Answer, Claim, Tables
from headatlas.tables import records

CONTROLS = ("random_heads", "uniform", "length", "position")
PHRASES = 10
SIGNIFICANT = 0.01


def above_controls(tables: Tables) -> Answer | None:
    """Do the chosen heads find more keyphrases than every control?"""
    chosen = f"k == {PHRASES} and report_words == 'exclude'"
    leads = tables["keyphrase_leads"].query(f"{chosen} and method in {CONTROLS}")
    f1 = tables["keyphrase_scores"].query(f"{chosen} and method == 'heads'")["f1"].mean()
    words = "{method} {lead:+.3f} (p = {p_value:.3f})"
    figures = ", ".join(words.format(**row).replace("_", " ") for row in records(leads))
    holds = bool(((leads["lead_low"] > 0) & (leads["p_value"] < SIGNIFICANT)).all())
    return Answer(holds, f"F1 {f1:.2f}; {figures}") if set(leads["method"]) == set(CONTROLS) else None


CLAIMS = (
    Claim(43, "lecture", "heads find keyphrases", ("keyphrase_leads", "keyphrase_scores"),
          f"F1 of {PHRASES} phrases surely above that of random heads, even attention, length and position of phrases "
          f"(corrected p < {SIGNIFICANT})", above_controls, decided_by="comparison",
          lacking="--results of headatlas keyphrases --train --data"),
)  # fmt: skip
