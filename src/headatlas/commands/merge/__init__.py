"""`merge`: combine the shards of a run into what one run would have written."""
