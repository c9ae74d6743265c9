"""Two studies and a kind of corpus for headatlas."""
