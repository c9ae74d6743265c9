"""`layers`: what each layer knows of a task on spans, by scalar mixes and cumulative scores."""
