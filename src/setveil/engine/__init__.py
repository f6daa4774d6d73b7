"""Where independent pieces of work run: in threads, or as on a cluster."""

from setveil.engine.base import Engine
from setveil.engine.local import Local
from setveil.engine.loopback import Loopback

__all__ = ["Engine", "Local", "Loopback"]
