"""Labelled spans and pairs of spans, for the tasks that `layers` probes."""
