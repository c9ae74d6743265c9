"""The store of maps: attention kept on disk, written by a model or imported, read as it is needed."""
