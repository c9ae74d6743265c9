"""`fit-mlm`: give an encoder a masked language model head, with small adapters."""
