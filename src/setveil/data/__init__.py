"""Tables of records and the taxonomies of their items."""

from setveil.data.table import TransactionTable, Vocabulary
from setveil.data.taxonomy import Taxonomy

__all__ = ["Taxonomy", "TransactionTable", "Vocabulary"]
