"""k-anonymity: groups of k records or more that look alike, by generalization."""
