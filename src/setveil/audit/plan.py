"""Which methods an audit tries, and how a text names one with its parameters."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from setveil.audit.run import applicable
from setveil.core.errors import ParameterError
from setveil.core.registry import entries

if TYPE_CHECKING:
    from collections.abc import Sequence

    from setveil.core.registry import Entry

CHOSEN = (
    "gather",
    "disassociate",
    "safe-disassociate",
    "apriori-km",
    "coat",
    "cahd",
    "td-control",
    "coherence",
    "suppress-control",
)
"""The methods of an audit that names none: one or two of each kind, not every variant."""
NEEDS_MEANING = frozenset({"coat", "pcta"})
"""Methods whose releases can be judged only with a source of relatedness."""
PROMISELESS = frozenset({"select-a-size", "secret-sharing", "split-personality", "token-hashing"})
"""Methods that promise nothing, or nothing about a release: tried only when they are named."""
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
    blind = frozenset() if meaning else NEEDS_MEANING
    if not named:
        return tuple(name for name in CHOSEN if name in able and name not in blind)
    found: list[str] = []
    for text in named:
        if text == ALL:
            found += [name for name in able if name not in PROMISELESS | blind]
            continue
        one_of(able, text.partition(":")[0].strip())
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


def parameters_in(text: str, where: str) -> dict[str, Any]:
    """Read ``k=5,effort=fast``; what is no JSON is a text.

    >>> parameters_in("k=5, effort=fast, rho=0.3", "")
    {'k': 5, 'effort': 'fast', 'rho': 0.3}
    """
    found: dict[str, Any] = {}
    for part in text.split(","):
        name, sign, value = (each.strip() for each in part.partition("="))
        if not name or not sign or not value:
            raise ParameterError(
                f"{where!r} is no setting of a method", fix="write it as in gather:k=5,effort=fast"
            )
        found[name] = value_in(value)
    return found


def value_in(text: str) -> Any:  # noqa: ANN401  (whatever JSON can say)
    """Read a value as JSON, or as a text.

    >>> value_in("5"), value_in("fast"), value_in("null")
    (5, 'fast', None)
    """
    try:
        return json.loads(text)
    except ValueError:
        return text
