"""Where independent pieces of work run: in threads, as on a cluster, or on one."""

from setveil.engine.base import Engine
from setveil.engine.local import Local
from setveil.engine.loopback import Loopback
from setveil.engine.spark import Spark

__all__ = ["Engine", "Local", "Loopback", "Spark"]
