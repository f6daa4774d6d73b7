"""Records in groups, with sensitive items published for the group only."""
