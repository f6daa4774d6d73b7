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

Packages outside setveil add methods through the entry point group ``setveil.methods``: each
entry point names a module, and importing the module registers what it defines.
"""

from __future__ import annotations

import dataclasses
import importlib
import inspect
import pkgutil
import sys
import typing
from dataclasses import dataclass, field
from importlib.metadata import entry_points
from typing import TypeVar

from setveil.core.errors import ParameterError
from setveil.core.params import checked

T = TypeVar("T", bound=type)

KINDS = ("anonymizer", "guarantee", "attack", "relatedness")

# Packages whose modules register setveil's own methods, by kind; they are imported when the list
# is first asked for, so that `setveil --help` need not import numba.
PACKAGES = {
    "anonymizer": "setveil.anonymize",
    "guarantee": "setveil.guarantee",
    "attack": "setveil.attack",
    "relatedness": "setveil.relatedness",
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


def import_modules(package: str) -> None:
    """Import all modules of a package, so that what they define registers itself.

    Compiled loops register nothing; they come with the methods that run them.
    """
    path = importlib.import_module(package).__path__
    for module in pkgutil.walk_packages(path, f"{package}."):
        if not module.name.endswith("kernels"):
            importlib.import_module(module.name)


@dataclass
class Registry:
    """The list itself; the module-level functions use one shared instance."""

    _entries: dict[tuple[str, str], Entry] = field(default_factory=dict)
    _loaded: set[str] = field(default_factory=set)

    def register(
        self, kind: str, name: str, *, paper: str, bibtex: str = ""
    ) -> typing.Callable[[T], T]:
        """Return a class decorator that lists the class under `kind` and `name`.

        From here on its instances refuse what their fields do not allow
        (:func:`setveil.core.params.checked`).
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
            return checked(target) if dataclasses.is_dataclass(target) else target

        return decorate

    def load(self, kind: str) -> None:
        """Import the modules that register methods of this kind, once."""
        if kind in self._loaded:
            return
        self._loaded.add(kind)
        import_modules(PACKAGES[kind])
        if "outside" not in self._loaded:
            self._loaded.add("outside")
            for point in entry_points(group="setveil.methods"):
                point.load()

    def entries(self, kind: str) -> list[Entry]:
        """Return all entries of a kind, sorted by name."""
        self.load(kind)
        return [entry for (k, _), entry in sorted(self._entries.items()) if k == kind]

    def classes_in(self, kind: str, package: str) -> dict[str, type]:
        """Return the classes of a kind that stand in a package, by their names as classes."""
        targets = [entry.target for entry in self.entries(kind)]
        return {
            each.__name__: each for each in targets if each.__module__.startswith(f"{package}.")
        }

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

    def distributed_methods(self) -> list[str]:
        """Return the names of the anonymizers that work on distributed records."""
        return [e.name for e in self.entries("anonymizer") if hasattr(e.target, "distributed")]

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


_shared = Registry()
register = _shared.register
entries = _shared.entries
classes_in = _shared.classes_in
find = _shared.find
distributed_methods = _shared.distributed_methods
outside_modules = _shared.outside_modules
name_of = _shared.name_of
