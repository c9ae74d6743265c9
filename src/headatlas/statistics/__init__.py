"""Numeric functions on attention maps, and the statistics of scores: tallies, resampling, tests."""
