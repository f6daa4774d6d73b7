"""Randomized records: noise taken off, and records found among public ones."""
