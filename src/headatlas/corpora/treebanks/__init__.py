"""Sentences with dependency trees: readers of every format, one class for a sentence, label sets."""
