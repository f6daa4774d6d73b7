"""Items are kept or replaced at random."""
