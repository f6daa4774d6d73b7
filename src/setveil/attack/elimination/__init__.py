"""Generalized items: which of their members were really there."""
