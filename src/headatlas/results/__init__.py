"""The atlas folder: tables, manifest, examples."""
