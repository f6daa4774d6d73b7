"""The settings of a method from the weakest to the strongest, one ladder per parameter."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from setveil.audit.plan import parameters_in, value_in
from setveil.audit.results import MIN_K
from setveil.audit.run import build
from setveil.audit.setting import Setting
from setveil.audit.utility import ALONE, UTILITY
from setveil.core.errors import ParameterError
from setveil.core.registry import find, params_of

if TYPE_CHECKING:
    from setveil.core.taxonomy import Taxonomy

    Position = tuple[int, ...]

SIZES = (2, 5, 10, 25, 50, 100, 250)
DEFAULT_K = 5
MAIN = ("k", "rho", "p", "l")
"""The parameter that an audit searches: the first of these that a method has."""
BEGIN = {"k": 10, "rho": 0.3, "p": 10, "l": 10}
"""Where an audit begins: what may well do."""
USUAL = {"m": 2}
"""Parameters that an audit sets, and a search with more freedom does not."""
SIZE = "max_cluster_size"
RUNGS: dict[str, tuple[Any, ...]] = {
    "k": SIZES,
    "l": SIZES,
    "p": SIZES,
    "m": (1, 2, 3),
    "rho": (0.7, 0.5, 0.3, 0.1, 0.05),
    "h": (0.8, 0.5, 0.3, 0.1),
    SIZE: (None, "×4", "×16"),
    "refine": (None, False),
    "max_share": (None, 0.5, 0.25, 0.1),
    "constrained": (0.05, 0.25, 1),
    "objective": (None, "ul_gaining"),
    "effort": (None, "fast"),
    "alpha": (None, 10),
}
"""What is tried of each parameter; None leaves it out, as its default is the weakest.

Sizes of clusters are multiples of what k makes of them. The effort and the reach of neighbours
change what is lost, and how records are grouped, which an attack may feel.
"""
OF_METHOD: dict[str, dict[str, tuple[Any, ...]]] = {
    "coherence": {"p": (1, 2, 3)},  # here p counts known items
    "clump": {"objective": (None,)},  # the others change only what is lost
}
ALLOWED: dict[str, dict[str, Any]] = {"coat": {"s": 1}}
"""Limits that would only make a setting fail: what is left out counts as loss anyway."""


@dataclass(frozen=True, kw_only=True)
class Ladders:
    """A method with the parameters that are given, and the rungs of those that are searched.

    Parameters
    ----------
    method
        The registered name.
    fixed
        Parameters that stay as they are.
    rungs
        Values of the others, the weakest first.
    start
        The rungs at which a search begins: by default the weakest.

    Examples
    --------
    >>> ladders = Ladders(method="gather", rungs={"k": (2, 5), "effort": (None, "fast")})
    >>> ladders.at((1, 0)).name, [ladders.at(each).name for each in ladders.raised((1, 0))]
    ('gather-k5', ['gather-k5-fast'])
    """

    method: str
    fixed: dict[str, Any] = field(default_factory=dict)
    rungs: dict[str, tuple[Any, ...]]
    start: Position = ()

    def __post_init__(self) -> None:
        if not self.start:
            object.__setattr__(self, "start", (0,) * len(self.rungs))

    def at(self, position: Position) -> Setting:
        """Return the setting of these rungs."""
        given = {
            name: rungs[place]
            for (name, rungs), place in zip(self.rungs.items(), position, strict=True)
        }
        params = {**given, **self.fixed}
        if isinstance(params.get(SIZE), str) and params[SIZE].startswith("×"):
            params[SIZE] = int(params[SIZE][1:]) * 2 * params.get("k", DEFAULT_K) ** 2
        return Setting(
            method=self.method,
            params={name: value for name, value in params.items() if value is not None},
        )

    def raised(self, position: Position) -> list[Position]:
        """Return where one parameter is a rung higher."""
        return self._moved(position, 1)

    def lowered(self, position: Position) -> list[Position]:
        """Return where one parameter is a rung lower."""
        return self._moved(position, -1)

    def _moved(self, position: Position, by: int) -> list[Position]:
        lengths = [len(rungs) for rungs in self.rungs.values()]
        return [
            (*position[:place], position[place] + by, *position[place + 1 :])
            for place, length in enumerate(lengths)
            if 0 <= position[place] + by < length
        ]


def ladders_of(
    text: str,
    *,
    records: int,
    taxonomy: Taxonomy | None = None,
    free: bool = True,
    min_k: int = MIN_K,
) -> Ladders:
    """Return the ladders of a method that a text names, such as ``"disassociate:m=2"``.

    Parameters
    ----------
    text
        A registered anonymizer; parameters after the colon stay as they are given, or are
        searched among the values that ``|`` separates, the weakest first.
    records
        Number of records: no k beyond half of it is tried.
    taxonomy
        Its levels are tried as utility constraints, where a method takes such.
    free
        Whether every parameter is searched that changes what can be found out; otherwise the main
        one only, from a middle value on.
    min_k
        No k below this is tried unless `text` names it.

    Examples
    --------
    >>> ladders_of("disassociate:m=2,refine=false", records=60).rungs
    {'k': (5, 10, 25), 'max_cluster_size': (None, '×4', '×16')}
    >>> ladders_of("coat:k=5|50,objective=ul", records=60).rungs
    {'k': (5, 50), 'constrained': (0.05, 0.25, 1), 'utility': (None, 'alone')}
    >>> audited = ladders_of("disassociate", records=60, free=False)
    >>> audited.rungs, audited.at(audited.start).name
    ({'k': (5, 10, 25)}, 'disassociate-k10-m2')
    """
    name, _, rest = text.partition(":")
    name = name.strip()
    target = find("anonymizer", name).target
    given = parameters_in(rest, text) if rest else {}
    rungs = _rungs(name, target, records=records, taxonomy=taxonomy, min_k=min_k)
    if not free:
        main = next((letter for letter in MAIN if letter in rungs), None)
        letters = {param.name for param in params_of(target)}
        if not rest:
            given = {each: value for each, value in USUAL.items() if each in letters}
        rungs = {each: values for each, values in rungs.items() if each == main}
    for each, value in given.items():
        if isinstance(value, str) and "|" in value:
            rungs[each] = tuple(value_in(part) for part in value.split("|"))
        else:
            rungs.pop(each, None)
    usual = {**ALLOWED.get(name, {}), **getattr(target, "usual", {})}
    ladders = Ladders(
        method=name,
        fixed={each: value for each, value in given.items() if each not in rungs}
        | {each: value for each, value in usual.items() if each not in {*given, *rungs}},
        rungs=rungs,
    )
    if not free:
        start = tuple(
            values.index(BEGIN[each]) if BEGIN.get(each) in values else 0
            for each, values in rungs.items()
        )
        ladders = replace(ladders, start=start)
    _check(ladders)
    return ladders


def _rungs(
    name: str, target: type, *, records: int, taxonomy: Taxonomy | None, min_k: int
) -> dict[str, tuple[Any, ...]]:
    """Return the rungs of all parameters of a method that have some."""
    known = {**RUNGS, **OF_METHOD.get(name, {})}
    rungs = {param.name: known[param.name] for param in params_of(target) if param.name in known}
    sizes = sorted({min_k, *(size for size in SIZES if size > min_k)})
    fitting = tuple(size for size in sizes if size == min_k or 2 * size <= records)
    rungs = {each: fitting if values is SIZES else values for each, values in rungs.items()}
    if UTILITY in getattr(target, "accepts", ()):
        levels = () if taxonomy is None else tuple(range(1, taxonomy.height))
        rungs[UTILITY] = (None, *(f"tree:{level}" for level in levels), ALONE)
    return {each: values for each, values in rungs.items() if values != (None,)}


def _check(ladders: Ladders) -> None:
    """Refuse values before any work that the method would refuse."""
    start = (0,) * len(ladders.rungs)
    single = [
        (*start[:place], rung, *start[place + 1 :])
        for place, values in enumerate(ladders.rungs.values())
        for rung in range(1, len(values))
    ]
    for position in [start, *single]:
        setting = ladders.at(position)
        try:
            build(setting.method, setting.params)
        except TypeError:
            raise ParameterError(
                f"{setting.method} cannot take {setting.params}",
                fix="check the kinds of its parameters with `setveil methods`",
            ) from None
