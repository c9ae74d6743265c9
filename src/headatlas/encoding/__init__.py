"""Turn texts into batches: segments, words, mentions, token kinds, padding, masking, shards."""
