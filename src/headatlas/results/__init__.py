"""Results on disk: tables and their schemas, the manifest, examples."""
