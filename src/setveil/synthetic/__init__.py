"""Data that resembles real data and belongs to nobody: a clinic, queries, known benchmarks."""

from setveil.synthetic.clinic import clinic
from setveil.synthetic.dataset import Synthetic
from setveil.synthetic.lookalike import LOOKALIKES, Shape, lookalike
from setveil.synthetic.query_log import write_query_log

__all__ = ["LOOKALIKES", "Shape", "Synthetic", "clinic", "lookalike", "write_query_log"]
