"""Documents with keyphrases that people chose."""
