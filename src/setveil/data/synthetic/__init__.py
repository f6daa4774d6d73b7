"""Data that resembles real data and belongs to nobody: a clinic, and look-alikes of benchmarks."""

from setveil.data.synthetic.clinic import clinic
from setveil.data.synthetic.dataset import Synthetic
from setveil.data.synthetic.lookalike import LOOKALIKES, Shape, lookalike

__all__ = ["LOOKALIKES", "Shape", "Synthetic", "clinic", "lookalike"]
