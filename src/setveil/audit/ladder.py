"""The settings of a method from the weakest to the strongest, one ladder per parameter."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from setveil.audit.results import MIN_K
from setveil.audit.run import build
from setveil.audit.setting import Setting
from setveil.audit.utility import ALONE, UTILITY
from setveil.core.errors import ParameterError
from setveil.core.params import Spec, main_param, params_of, read_values, split_spec
from setveil.core.registry import find

if TYPE_CHECKING:
    from collections.abc import Mapping

    from setveil.core.params import Param
    from setveil.core.taxonomy import Taxonomy

    Position = tuple[int, ...]


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
    params
        What the method declares of its parameters.

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
    params: Mapping[str, Param] = field(default_factory=dict)

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
        known = self.params
        return Setting(
            method=self.method,
            params={
                name: known[name].rule.value_at(value, params) if name in known else value
                for name, value in params.items()
                if value is not None or (name in known and known[name].takes_none)
            },
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
    spec = split_spec(text)
    target = find("anonymizer", spec.name).target
    params = {param.name: param for param in params_of(target)}
    rungs = _rungs(target, records=records, taxonomy=taxonomy, min_k=min_k)
    audited = {name: param.rule.audited for name, param in params.items()}
    if not free:
        main = main_param(target)
        rungs = {name: values for name, values in rungs.items() if main and name == main.name}
        if spec.given:  # what is the default anyway is said only where the text says nothing
            audited = {
                name: value for name, value in audited.items() if value != params[name].default
            }
    given: dict[str, Any] = {}
    for name, value in spec.given.items():
        values = tuple(_read(target, name, each, spec, text) for each in value.split("|"))
        if len(values) > 1:
            rungs[name] = values
        else:
            rungs.pop(name, None)
            given[name] = values[0]
    ladders = Ladders(
        method=spec.name,
        fixed=given
        | {
            name: value
            for name, value in audited.items()
            if value is not None and name not in {*given, *rungs}
        },
        rungs=rungs,
        params=params,
    )
    if not free:
        start = tuple(
            values.index(params[name].rule.begin) if params[name].rule.begin in values else 0
            for name, values in rungs.items()
        )
        ladders = replace(ladders, start=start)
    _check(ladders)
    return ladders


def _read(target: type, name: str, value: str, spec: Spec, where: str) -> object:
    """Return the value that a text gives to a parameter, or to the utility constraints."""
    if name == UTILITY and UTILITY in getattr(target, "accepts", ()):
        return value
    return read_values(target, Spec(spec.name, {name: value}), where=where)[name]


def _rungs(
    target: type, *, records: int, taxonomy: Taxonomy | None, min_k: int
) -> dict[str, tuple[Any, ...]]:
    """Return the rungs of all parameters of a method that have some."""
    rungs = {
        param.name: param.rule.rungs(records=records, least=min_k) for param in params_of(target)
    }
    if UTILITY in getattr(target, "accepts", ()):
        levels = () if taxonomy is None else tuple(range(1, taxonomy.height))
        rungs[UTILITY] = (None, *(f"tree:{level}" for level in levels), ALONE)
    return {name: values for name, values in rungs.items() if values}


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
