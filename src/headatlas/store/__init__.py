"""Attention maps on disk: the format, its writer and reader, importers, and stored maps in place of a model."""
