"""Reading corpora: one reader a file."""
