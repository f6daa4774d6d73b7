"""What an audit tries: the methods that apply, each with a few settings, the likeliest first."""

from __future__ import annotations

import json
from itertools import chain, zip_longest
from typing import TYPE_CHECKING, Any

from setveil.audit.run import applicable, build
from setveil.audit.setting import Setting
from setveil.errors import ParameterError
from setveil.registry import entries, params_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from setveil.registry import Entry

SIZES = (10, 25, 5, 2)
"""Values of k, p or l, in the order in which they are tried: what may well do comes first."""
CONFIDENCES = (0.3, 0.1, 0.5, 0.7)
"""Values of ρ, likewise."""
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


def plan(
    *,
    taxonomy: bool,
    sensitive: bool,
    meaning: bool = False,
    methods: Sequence[str] = (),
) -> list[Setting]:
    """Return the settings to try, one of each method first, so that a budget cuts no method off.

    Parameters
    ----------
    taxonomy, sensitive
        Whether there is a tree, and whether there are sensitive items.
    meaning
        Whether there is a source of relatedness that says more than the release itself.
    methods
        Names, or settings such as ``"gather:k=5,effort=fast"``; ``"all"`` for every method that
        applies and promises something. Without any, a choice of these.

    Examples
    --------
    >>> [one.name for one in plan(taxonomy=True, sensitive=False)][:4]
    ['gather-k10', 'disassociate-k10-m2', 'safe-disassociate-k10-m2', 'apriori-km-k10-m2']
    >>> [one.title for one in plan(taxonomy=True, sensitive=False, methods=["gather:k=3"])]
    ['gather, k = 3']
    """
    able = {entry.name: entry for entry in applicable(taxonomy=taxonomy, sensitive=sensitive)}
    if not methods:
        names = [name for name in CHOSEN if name in able and (meaning or name not in NEEDS_MEANING)]
        return _in_turn(settings_of(able[name]) for name in names)
    wanted = list(chain.from_iterable([*able] if each == ALL else [each] for each in methods))
    return _in_turn(
        _wished(text, able, one_of_all=ALL in methods) for text in dict.fromkeys(wanted)
    )


def settings_of(entry: Entry) -> list[Setting]:
    """Return the settings of a method that are tried.

    >>> from setveil.registry import find
    >>> [one.name for one in settings_of(find("anonymizer", "cahd"))]
    ['cahd-p10', 'cahd-p25', 'cahd-p5', 'cahd-p2']
    """
    letters = {param.name for param in params_of(entry.target)}
    if "k" in letters:
        rest = {"m": 2} if "m" in letters else {}
        return [Setting(method=entry.name, params={"k": k, **rest}) for k in SIZES]
    if "rho" in letters:
        return [Setting(method=entry.name, params={"rho": rho}) for rho in CONFIDENCES]
    sized = next((letter for letter in ("p", "l") if letter in letters), None)
    if sized is not None:
        return [Setting(method=entry.name, params={sized: size}) for size in SIZES]
    return [Setting(method=entry.name)]


def _in_turn(lists: Iterable[list[Setting]]) -> list[Setting]:
    """Return the first of each list, then the second of each, and so on; each name once."""
    turns = chain.from_iterable(zip_longest(*lists))
    return list({each.name: each for each in turns if each is not None}.values())


def _wished(text: str, able: dict[str, Entry], *, one_of_all: bool) -> list[Setting]:
    """Return the settings that a text names."""
    name, colon, rest = text.partition(":")
    entry = one_of(able, name.strip())
    if colon:
        return [_checked(Setting(method=entry.name, params=parameters_in(rest, text)))]
    if one_of_all and entry.name in PROMISELESS:
        return []
    return settings_of(entry)


def one_of(able: dict[str, Entry], name: str) -> Entry:
    """Return the method of this name, or say what it lacks.

    >>> one_of({}, "gather")
    Traceback (most recent call last):
    setveil.errors.ParameterError: gather needs taxonomy. To fix: give it, or leave gather out.
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


def _checked(setting: Setting) -> Setting:
    """Refuse parameters before any work that the method would refuse."""
    try:
        build(setting.method, setting.params)
    except TypeError:
        raise ParameterError(
            f"{setting.method} cannot take {setting.params}",
            fix="check the kinds of its parameters with `setveil methods`",
        ) from None
    return setting
