"""(h, k, p)-coherence: suppression of items until few known items tell little."""
