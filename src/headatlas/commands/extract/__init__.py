"""`extract`: save the attention maps of a model, or import maps that others saved."""
