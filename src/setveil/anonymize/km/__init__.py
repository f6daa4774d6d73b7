"""k^m-anonymity: whoever knows up to m items finds at least k records."""
