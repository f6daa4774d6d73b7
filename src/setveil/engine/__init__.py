"""Where independent pieces of work run: in threads, as on a cluster, or on one."""

from setveil.engine.local import Engine, Local, Loopback
from setveil.engine.spark import Spark

__all__ = ["Engine", "Local", "Loopback", "Spark"]
