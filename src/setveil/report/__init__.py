"""Runs become one self-contained HTML page for the owner of the data.

>>> from setveil import Taxonomy, TransactionTable
>>> from setveil.audit import run_method
>>> table = TransactionTable.from_rows([["flu"], ["flu"], ["gout"], ["gout"]])
>>> tree = Taxonomy.from_parents({"flu": "illness", "gout": "illness"})
>>> page = render([run_method("gather", {"k": 2}, table, tree)], table=table, taxonomy=tree,
...               title="Four patients", description="", wished_k=2)
>>> "The one release keeps its promise." in page
True
"""

from setveil.report.page import render

__all__ = ["render"]
