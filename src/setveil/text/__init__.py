"""From documents and query logs to tables of records, and to tables with wished properties."""
