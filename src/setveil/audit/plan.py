"""Which methods an audit tries."""

from __future__ import annotations

from typing import TYPE_CHECKING

from setveil.anonymize.base import method_role
from setveil.audit.run import applicable
from setveil.core.errors import ParameterError
from setveil.core.params import split_spec
from setveil.core.registry import entries

if TYPE_CHECKING:
    from collections.abc import Sequence

    from setveil.core.registry import Entry

ALL = "all"


def methods_for(
    named: Sequence[str], *, taxonomy: bool, sensitive: bool, meaning: bool
) -> tuple[str, ...]:
    """Return the methods that an audit searches, as texts such as ``"gather:effort=fast"``.

    Parameters
    ----------
    named
        Names, with parameters where these shall stay as they are; ``"all"`` for every method that
        applies and promises something. Without any, a choice of these.
    taxonomy, sensitive
        Whether there is a tree, and whether there are sensitive items.
    meaning
        Whether there is a source of relatedness that says more than the release itself.

    Examples
    --------
    >>> methods_for([], taxonomy=True, sensitive=False, meaning=False)
    ('gather', 'disassociate', 'safe-disassociate', 'apriori-km')
    >>> methods_for(["gather:k=3"], taxonomy=True, sensitive=False, meaning=False)
    ('gather:k=3',)
    """
    able = {entry.name: entry for entry in applicable(taxonomy=taxonomy, sensitive=sensitive)}
    roles = {name: method_role(entry.target) for name, entry in able.items()}
    judged = [name for name, role in roles.items() if meaning or not role.needs_meaning]
    if not named:
        chosen = [name for name in judged if roles[name].place is not None]
        return tuple(sorted(chosen, key=lambda name: (roles[name].place, name)))
    found: list[str] = []
    for text in named:
        if text == ALL:
            found += [name for name in judged if not roles[name].only_named]
            continue
        one_of(able, split_spec(text).name)
        found.append(text)
    return tuple(dict.fromkeys(found))


def one_of(able: dict[str, Entry], name: str) -> Entry:
    """Return the method of this name, or say what it lacks.

    >>> one_of({}, "gather")
    Traceback (most recent call last):
    setveil.core.errors.ParameterError: gather needs taxonomy. To fix: give it, or leave gather out.
    """
    if name in able:
        return able[name]
    known = {entry.name: entry for entry in entries("anonymizer")}
    if name not in known:
        raise ParameterError(
            f"there is no anonymizer called {name!r}", fix=f"use one of: {', '.join(known)}"
        )
    needed = " and ".join(sorted(getattr(known[name].target, "requires", ())))
    raise ParameterError(f"{name} needs {needed}", fix=f"give it, or leave {name} out")
