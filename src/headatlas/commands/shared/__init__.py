"""What commands share: how options are declared and checked, and the groups of options that several commands have."""
