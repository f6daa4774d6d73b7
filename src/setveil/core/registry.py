"""One list of everything that can be named: it feeds the CLI, the audit, the report and the docs.

A method registers itself where it is defined:

>>> from dataclasses import dataclass
>>> from setveil.core.registry import Registry
>>> registry = Registry()
>>> @registry.register("anonymizer", "nothing", paper="nobody 2000")
... @dataclass(frozen=True, kw_only=True)
... class Nothing:
...     '''Publish the data as it is.'''
...     k: int = 5
>>> registry.find("anonymizer", "nothing").target.__name__
'Nothing'
>>> [(p.name, p.default) for p in params_of(Nothing)]
[('k', 5)]

Packages outside setveil add methods through the entry point group ``setveil.methods``: each
entry point names a module, and importing the module registers what it defines.
"""

from __future__ import annotations

import dataclasses
import functools
import importlib
import inspect
import sys
import typing
from dataclasses import dataclass, field
from importlib.metadata import entry_points
from typing import Any, TypeVar

from setveil.core.errors import ParameterError

T = TypeVar("T", bound=type)

MOST = 2**31 - 1
"""The largest whole number that a parameter may be, unless its field says otherwise."""

KINDS = ("anonymizer", "guarantee", "attack", "relatedness")

# Modules whose import registers setveil's own methods, by kind: a name in the list is enough, so
# that `setveil --help` need not import numba.
BUILT_IN = {
    "anonymizer": ("setveil.anonymize",),
    "guarantee": ("setveil.guarantee",),
    "attack": ("setveil.attack",),
    "relatedness": ("setveil.relatedness",),
}


@dataclass(frozen=True, kw_only=True)
class Entry:
    """A registered class: its kind, its name, and where it comes from."""

    kind: str
    name: str
    target: type
    paper: str
    bibtex: str = ""

    @property
    def summary(self) -> str:
        """Return the first line of the class's docstring."""
        return (inspect.getdoc(self.target) or "").partition("\n")[0]


@dataclass(frozen=True, kw_only=True)
class Param:
    """A parameter of a registered class, read from its dataclass field."""

    name: str
    type: Any
    default: Any
    doc: str
    choices: tuple[str, ...] = ()
    most: int = MOST

    @property
    def required(self) -> bool:
        """Tell whether there is no default."""
        return self.default is dataclasses.MISSING


@dataclass
class Registry:
    """The list itself; the module-level functions use one shared instance."""

    _entries: dict[tuple[str, str], Entry] = field(default_factory=dict)
    _loaded: set[str] = field(default_factory=set)

    def register(
        self, kind: str, name: str, *, paper: str, bibtex: str = ""
    ) -> typing.Callable[[T], T]:
        """Return a class decorator that lists the class under `kind` and `name`.

        From here on its instances refuse whole numbers beyond the bounds of their fields.
        """
        if kind not in KINDS:
            raise ParameterError(
                f"{kind!r} is no kind of method", fix=f"use one of {', '.join(KINDS)}"
            )

        def decorate(target: T) -> T:
            known = self._entries.get((kind, name))
            if known is not None and known.target.__qualname__ != target.__qualname__:
                raise ParameterError(
                    f"the {kind} name {name!r} is taken by {known.target.__qualname__}",
                    fix="choose another name",
                )
            self._entries[kind, name] = Entry(
                kind=kind, name=name, target=target, paper=paper, bibtex=inspect.cleandoc(bibtex)
            )
            return _bounded(target)

        return decorate

    def load(self, kind: str) -> None:
        """Import the modules that register methods of this kind, once."""
        if kind in self._loaded:
            return
        self._loaded.add(kind)
        for module in BUILT_IN[kind]:
            importlib.import_module(module)
        if "outside" not in self._loaded:
            self._loaded.add("outside")
            for point in entry_points(group="setveil.methods"):
                point.load()

    def entries(self, kind: str) -> list[Entry]:
        """Return all entries of a kind, sorted by name."""
        self.load(kind)
        return [entry for (k, _), entry in sorted(self._entries.items()) if k == kind]

    def find(self, kind: str, name: str) -> Entry:
        """Return the entry of this kind and name, or say which names there are."""
        if (kind, name) not in self._entries:
            self.load(kind)
        try:
            return self._entries[kind, name]
        except KeyError:
            names = ", ".join(entry.name for entry in self.entries(kind)) or "none yet"
            raise ParameterError(
                f"there is no {kind} called {name!r}", fix=f"use one of: {names}"
            ) from None

    def outside_modules(self) -> list[tuple[str, str]]:
        """Return the modules outside setveil that registered something, with their files.

        Packages come by themselves with their entry points; these are modules that somebody
        imported. A script, or the cells of a notebook, has no module that others could load.
        """
        names = dict.fromkeys(entry.target.__module__ for entry in self._entries.values())
        found = []
        for name in names:
            file = getattr(sys.modules.get(name), "__file__", None)
            if name.partition(".")[0] not in {"setveil", "__main__"} and file is not None:
                found.append((name, file))
        return found

    def name_of(self, target: type) -> str:
        """Return the name under which a class is registered."""
        for entry in self._entries.values():
            if entry.target is target:
                return entry.name
        raise ParameterError(
            f"{target.__qualname__} is not registered",
            fix="decorate it with @register(kind, name, paper=...)",
        )


def params_of(target: type) -> list[Param]:
    """Return the parameters of a registered dataclass, in order, with their one-line docs.

    The documentation of a field stands in its metadata: ``k: int = field(default=5,
    metadata={"doc": "least size of a group"})``; a field that takes one of a few words names
    them as ``"choices"``, and one whose whole numbers have a bound of their own as ``"most"``.
    """
    hints = typing.get_type_hints(target)
    return [
        Param(
            name=f.name,
            type=hints[f.name],
            default=f.default,
            doc=f.metadata.get("doc", ""),
            choices=tuple(f.metadata.get("choices", ())),
            most=f.metadata.get("most", MOST),
        )
        for f in dataclasses.fields(target)
        if f.init
    ]


def _bounded(target: T) -> T:
    """Let a dataclass refuse whole numbers beyond the bounds of its fields.

    Kernels count in 64 bits, and loops as often as they are told: who checks here need not do so
    in every method, wherever its parameters come from (options, manifests, specs, programs).
    """
    if not dataclasses.is_dataclass(target):
        return target
    initialize = target.__init__
    bounds = {f.name: f.metadata.get("most", MOST) for f in dataclasses.fields(target) if f.init}

    @functools.wraps(initialize)
    def initialize_bounded(self: object, *args: object, **values: object) -> None:
        for name, value in values.items():
            if isinstance(value, int) and name in bounds and abs(value) > bounds[name]:
                shown = f"{value:,}" if abs(value) < 10**18 else "a number of more than 18 digits"
                raise ParameterError(f"{name} is {shown}", fix=f"use at most {bounds[name]:,}")
        initialize(self, *args, **values)

    target.__init__ = initialize_bounded  # type: ignore[method-assign]  # on purpose
    return target


_shared = Registry()
register = _shared.register
entries = _shared.entries
find = _shared.find
outside_modules = _shared.outside_modules
name_of = _shared.name_of
