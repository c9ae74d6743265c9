"""`layers`: what each layer knows of a task on spans, by scalar mixes and cumulative scores."""

from __future__ import annotations

from headatlas.commands.layers.run import layers

__all__ = ["layers"]
