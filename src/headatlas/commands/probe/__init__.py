"""`probe`: trained probes on a model's attention and hidden states over a treebank, their baselines and controls."""
