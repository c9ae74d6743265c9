"""Results on disk: tables, the manifest, examples."""
