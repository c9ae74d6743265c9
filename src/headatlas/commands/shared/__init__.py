"""What commands share: entries, how options are declared and checked, groups of options, and endings."""
