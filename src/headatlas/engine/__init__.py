"""Running studies over a corpus."""
