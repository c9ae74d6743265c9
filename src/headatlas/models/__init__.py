"""Load models, observe their attention, remove and prune heads."""
