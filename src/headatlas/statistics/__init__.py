"""Pure numeric functions on attention maps."""
