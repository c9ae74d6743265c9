"""Documents with coreference chains: one reader per format, mentions and their head words."""
