"""Tables of the papers, as data, and their comparison with ours."""
