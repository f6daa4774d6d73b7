"""Relational counterparts: tables of columns instead of records of items."""
