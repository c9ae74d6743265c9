"""From text to batches: segments, words, token kinds, padding, masking."""
