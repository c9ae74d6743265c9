"""Run studies over batches, in this process or by workers; save, stop, resume; lock the output folder."""
