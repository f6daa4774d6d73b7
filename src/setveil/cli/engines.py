"""``--engine``: what runs the parts of the work, by name."""

from typing import TYPE_CHECKING, Annotated

import typer

from setveil.core.errors import ParameterError

if TYPE_CHECKING:
    from setveil.engine.local import Engine
    from setveil.engine.spark import Spark

EngineOption = Annotated[
    str,
    typer.Option(
        "--engine",
        metavar="ENGINE",
        help="What runs the parts of the work: local, loopback, spark or spark://host:port.",
    ),
]
PlaceOption = Annotated[
    str,
    typer.Option(
        "--engine",
        metavar="ENGINE",
        help="Where the records are: local, spark or spark://host:port.",
    ),
]
KNOWN = "local, loopback, spark or spark://host:port"


def check_engine(name: str) -> None:
    """Refuse a name that is no engine, before any work.

    >>> check_engine("dask")
    Traceback (most recent call last):
    setveil.core.errors.ParameterError: 'dask' is no engine. To fix: use local, loopback, spark or \
spark://host:port.
    """
    if name not in {"local", "loopback", "spark"} and not name.startswith("spark://"):
        raise ParameterError(f"{name!r} is no engine", fix=f"use {KNOWN}")


def check_place(name: str) -> None:
    """Refuse a name that is no place for whole pieces of work: loopback only runs a method's parts.

    >>> check_place("loopback")
    Traceback (most recent call last):
    setveil.core.errors.ParameterError: 'loopback' is an engine of `setveil anonymize` only. To \
fix: use local, spark or spark://host:port.
    """
    check_engine(name)
    if name == "loopback":
        raise ParameterError(
            "'loopback' is an engine of `setveil anonymize` only",
            fix="use local, spark or spark://host:port",
        )


def engine_named(name: str, seed: int | None = None) -> "Engine":
    """Return the engine of this name; `seed` is that of loopback's random order."""
    check_engine(name)
    if name == "loopback":
        from setveil.engine import Loopback

        return Loopback(seed=seed or 0)
    from setveil.engine import Local

    return spark_named(name) or Local()


def spark_named(name: str) -> "Spark | None":
    """Return the Spark engine of this name, or None for another engine's name."""
    if not name.startswith("spark"):
        return None
    from setveil.engine.spark import Spark

    return Spark() if name == "spark" else Spark(master=name)
