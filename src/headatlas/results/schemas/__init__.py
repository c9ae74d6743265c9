"""The tables' columns, a file a group of tables."""
