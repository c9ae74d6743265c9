"""Sentences with dependency trees: one reader per format, one class for a sentence, the sets of labels."""
