"""Pruning a model for real: choosing heads, checking, measuring and saving what is left."""
