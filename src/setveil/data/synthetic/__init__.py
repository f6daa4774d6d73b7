"""Data that resembles real data and belongs to nobody: a clinic, queries, known benchmarks."""

from setveil.data.synthetic.clinic import clinic
from setveil.data.synthetic.dataset import Synthetic
from setveil.data.synthetic.lookalike import LOOKALIKES, Shape, lookalike
from setveil.data.synthetic.query_log import write_query_log

__all__ = ["LOOKALIKES", "Shape", "Synthetic", "clinic", "lookalike", "write_query_log"]
