"""Models that are trained on attention, words and hidden states, with their controls and scores."""
