"""ρ-uncertainty: no rule leads to a sensitive item with confidence ρ or more."""
