"""`probe`: trained probes on a model's attention and hidden states over a treebank, their baselines and controls."""

from __future__ import annotations

from headatlas.commands.probe.run import probe

__all__ = ["probe"]
