"""Giving an encoder a masked language model head, with small adapters so that it can use it."""
