"""Records of people of whom a few items are known."""
