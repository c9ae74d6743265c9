"""Shards of a run, each done on a machine of its own, put together to what the single run would have left."""
