"""`draw`: the attention of one sentence as a picture."""
