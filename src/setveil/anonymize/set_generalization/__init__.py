"""Items become sets of items, under constraints of privacy and of utility."""
