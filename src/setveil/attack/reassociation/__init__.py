"""Disassociated records, put together again."""
