"""What the lectures claim of keyphrases, for the list of claims that `reproduce` prints."""

from __future__ import annotations

from headatlas.commands.reproduce.claims.probes import elsewhere

CLAIMS = (elsewhere(43, "lecture", "heads find keyphrases", "headatlas keyphrases", ".36 and .37"),)
