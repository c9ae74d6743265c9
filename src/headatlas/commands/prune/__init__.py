"""`prune`: choose heads, remove their weights, check and measure what remains, save it."""
