"""One declaration of a parameter: its type, bounds, default, words, and what a search tries of it.

A parameter is declared once, where the dataclass of its method has the field:

>>> @checked
... @dataclass(frozen=True, kw_only=True)
... class Grouping:
...     k: int = group_size(5, doc="least number of records published alike")
...     r: int | None = count(10, doc="clusters tried for each record; none tries all")
...     rho: Fraction = share(Fraction(1, 2), above=0, doc="greatest confidence")
>>> Grouping(rho=0.7).rho
Fraction(7, 10)
>>> Grouping(r=0)
Traceback (most recent call last):
setveil.core.errors.ParameterError: r is 0. To fix: use a whole number of at least 1, or none.

Everything else follows from it: the check of values and its error (:func:`checked`), the options
of the command line and the lists of ``setveil methods`` (:func:`params_of`), how a text such as
``clump:k=2,r=none`` is read (:func:`read_spec`), and the values that an audit tries.
"""

from __future__ import annotations

import dataclasses
import functools
import math
import types
import typing
from dataclasses import MISSING, dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, TypedDict, TypeGuard, TypeVar, Unpack

from setveil.core.errors import ParameterError
from setveil.core.words import DURATION_FORMS, parse_duration, share_as_json, written_fraction

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

T = TypeVar("T", bound=type)

MOST = 2**31 - 1
"""The largest whole number that a parameter may be, unless its declaration says otherwise."""
LONGEST = 100
"""Characters of a number; a longer one means nothing and may take forever to read."""
SIZES = (2, 5, 10, 25, 50, 100, 250)
"""Sizes of groups that a search tries."""
NOTHING = frozenset({"none", "null", "all"})
"""Words for no limit, where a parameter may be None."""
WORDS: dict[str, bool] = {
    "true": True, "yes": True, "on": True, "1": True,
    "false": False, "no": False, "off": False, "0": False,
}  # fmt: skip
_RULE = "rule"


# --- numbers as they are written --------------------------------------------------------------


def in_json(value: Any) -> Any:
    """Return the value of a parameter as JSON holds it: a fraction as a number where it is one.

    >>> in_json(Fraction(1, 2)), in_json(Fraction(1, 3)), in_json(5)
    (0.5, '1/3', 5)
    """
    return share_as_json(value) if isinstance(value, Fraction) else value


def published_params(method: object, names: Iterable[str]) -> dict[str, Any]:
    """Return the parameters of a method as it holds them, ready for a manifest."""
    return {name: in_json(getattr(method, name)) for name in names}


def is_whole(value: object, least: int | None = None) -> TypeGuard[int]:
    """Tell whether a value is a whole number (True and False are none) of at least `least`.

    >>> is_whole(3), is_whole(True), is_whole(2.0), is_whole(0, least=1)
    (True, False, False, False)
    """
    if isinstance(value, bool) or not isinstance(value, int):
        return False
    return least is None or value >= least


def is_number(value: object) -> TypeGuard[float]:
    """Tell whether a value is a number (True and False are none).

    >>> is_number(0.5), is_number(2), is_number(True), is_number("2")
    (True, True, False, False)
    """
    return isinstance(value, int | float) and not isinstance(value, bool)


def check_whole(name: str, value: object, *, least: int = 1) -> None:
    """Refuse what is no whole number of at least `least`: for arguments outside declarations.

    >>> check_whole("bins", 0)
    Traceback (most recent call last):
    setveil.core.errors.ParameterError: bins is 0. To fix: use a whole number of at least 1.
    """
    if not is_whole(value, least):
        raise ParameterError(f"{name} is {value!r}", fix=f"use a whole number of at least {least}")


# --- rules: what a value may be ---------------------------------------------------------------


class About(TypedDict, total=False):
    """What every declaration can say besides the bounds of its values (see :class:`Rule`)."""

    doc: str
    ladder: tuple[Any, ...]
    begin: Any
    main: bool
    audited: Any
    words: Callable[[Any], str]
    symbol: str


@dataclass(frozen=True, kw_only=True)
class Rule:
    """What may be the value of a parameter; this one lets everything pass.

    Parameters
    ----------
    doc
        A few words for help and lists.
    ladder
        Values that a search tries, the weakest protection first; None leaves the parameter out,
        as its default is the weakest. Empty for a parameter that is not searched.
    begin
        The value of the ladder with which an audit begins.
    main
        Whether this is the one parameter that an audit searches.
    audited
        The value that an audit gives where it does not search the parameter.
    words
        Returns a value in words, for reports.
    symbol
        How the parameter is written in reports, if not by its name.
    choices
        The words of which a value is one; empty for other kinds.
    """

    doc: str = ""
    ladder: tuple[Any, ...] = ()
    begin: Any = None
    main: bool = False
    audited: Any = None
    words: Callable[[Any], str] | None = None
    symbol: str = ""
    choices: tuple[str, ...] = ()

    metavar: ClassVar[str] = ""

    @property
    def says(self) -> str:
        """What may be given, in words: "a whole number of at least 1"."""
        return "a text"

    @property
    def bounds(self) -> dict[str, float | None]:
        """The least and the greatest value, and one that must be exceeded; None for no bound.

        >>> Share(above=0).bounds, Count(least=2, most=9).bounds["most"], Flag().bounds["least"]
        ({'least': None, 'above': 0, 'most': 1}, 9, None)
        """
        found = {name: getattr(self, name, None) for name in ("least", "above", "most")}
        if found["above"] is not None:
            found["least"] = None
        endless = {None, -MOST, math.inf, -math.inf}
        return {name: None if bound in endless else bound for name, bound in found.items()}

    def check(self, value: Any) -> Any:
        """Return the value as the method holds it, or raise ValueError."""
        return value

    def read(self, text: str) -> Any:
        """Return the value that a text means, or raise ValueError."""
        return text

    def rungs(self, *, records: int, least: int) -> tuple[Any, ...]:
        """Return the values that a search tries on so many records.

        No group smaller than `least` is tried.
        """
        del records, least
        return self.ladder

    def value_at(self, rung: object, params: Mapping[str, Any]) -> object:
        """Return the value that a rung stands for beside the other parameters."""
        del params
        return rung


@dataclass(frozen=True, kw_only=True)
class Count(Rule):
    """A whole number within bounds."""

    least: int = 1
    most: int = MOST

    metavar: ClassVar[str] = "int"

    @property
    def says(self) -> str:
        """The bound below; who passes the one above is told that (see :meth:`Param.check`)."""
        return "a whole number" + f" of at least {self.least}" * (self.least > -MOST)

    def check(self, value: Any) -> Any:
        """Refuse what is no whole number, or too small."""
        if not is_whole(value, self.least):
            raise ValueError
        return value

    def read(self, text: str) -> Any:
        """Read a number; of one with more digits than any bound has, the first ones suffice."""
        return int(text[:LONGEST])


@dataclass(frozen=True, kw_only=True)
class GroupSize(Count):
    """A number of records that hide each other: what most audits search."""

    ladder: tuple[Any, ...] = SIZES
    begin: Any = 10
    main: bool = True

    def rungs(self, *, records: int, least: int) -> tuple[Any, ...]:
        """Return `least`, and the larger sizes of which the records make two groups.

        >>> GroupSize().rungs(records=60, least=5)
        (5, 10, 25)
        """
        larger = (size for size in self.ladder if size > least and 2 * size <= records)
        return (least, *larger)


@dataclass(frozen=True, kw_only=True)
class Share(Rule):
    """An exact fraction from 0 to 1, or within other bounds; `above` is a bound not reached."""

    least: int = 0
    most: int | None = 1
    above: int | None = None

    metavar: ClassVar[str] = "number"

    @property
    def says(self) -> str:
        """The bounds."""
        upper = "" if self.most is None else f"at most {self.most:,}"
        if self.above is not None:
            return f"a number above {self.above}{' and ' * bool(upper)}{upper}"
        if self.most is None:
            return f"a number of at least {self.least}"
        example = ", such as 0.8 or 4/5" if self.most == 1 else ""
        return f"a number from {self.least} to {self.most:,}{example}"

    def check(self, value: Any) -> Fraction:
        """Return the fraction that is written, not the nearest binary one."""
        exact = written_fraction(value)
        if (
            exact is None
            or exact < self.least
            or (self.most is not None and exact > self.most)
            or (self.above is not None and exact <= self.above)
        ):
            raise ValueError
        return exact

    def read(self, text: str) -> float | str:
        """Return a number where it is exact, and else the text, which :meth:`check` takes.

        >>> [Share().read(text) for text in ("1", "0.70", "1/3")]
        [1, 0.7, '1/3']
        """
        exact = written_fraction(text)
        if exact is None:
            raise ValueError
        if "/" in text or exact != written_fraction(float(exact)):
            return text
        return int(text) if text.isdigit() else float(exact)


@dataclass(frozen=True, kw_only=True)
class Real(Rule):
    """A finite number within bounds."""

    least: float = -math.inf
    most: float = math.inf

    metavar: ClassVar[str] = "float"

    @property
    def says(self) -> str:
        """The bounds."""
        bounded = math.isfinite(self.least) and math.isfinite(self.most)
        return f"a number from {self.least:g} to {self.most:g}" if bounded else "a number"

    def check(self, value: Any) -> Any:
        """Refuse what is no number, not finite, or out of bounds."""
        if not is_number(value) or not math.isfinite(value):
            raise ValueError
        if not self.least <= value <= self.most:
            raise ValueError
        return value

    def read(self, text: str) -> float:
        """Read a number."""
        return float(text)


@dataclass(frozen=True, kw_only=True)
class Duration(Rule):
    """Seconds above 0, written as 45, 90s or 30m."""

    above: ClassVar[int] = 0
    metavar: ClassVar[str] = "45|90s|30m"

    @property
    def says(self) -> str:
        """The ways to write one."""
        return f"a duration: {DURATION_FORMS}"

    def check(self, value: Any) -> Any:
        """Refuse what is no time at all."""
        if not is_number(value) or not value > 0:
            raise ValueError
        return value

    def read(self, text: str) -> float:
        """Read a number with its unit."""
        seconds = parse_duration(text)
        if seconds is None:
            raise ValueError
        return seconds


@dataclass(frozen=True, kw_only=True)
class Choice(Rule):
    """One of a few words."""

    @property
    def says(self) -> str:
        """The words."""
        return f"one of {', '.join(self.choices)}"

    def check(self, value: Any) -> Any:
        """Refuse other words."""
        if value not in self.choices:
            raise ValueError
        return value


@dataclass(frozen=True, kw_only=True)
class Flag(Rule):
    """Yes or no."""

    @property
    def says(self) -> str:
        """The two words."""
        return "true or false"

    def check(self, value: Any) -> Any:
        """Refuse numbers and words."""
        if not isinstance(value, bool):
            raise ValueError  # noqa: TRY004  (all rules refuse alike)
        return value

    def read(self, text: str) -> bool:
        """Read true, yes, on, 1, or false, no, off, 0."""
        if text.lower() not in WORDS:
            raise ValueError
        return WORDS[text.lower()]


# --- declarations of fields -------------------------------------------------------------------


def declare(default: Any, rule: Rule) -> Any:
    """Return a dataclass field with a rule of its own kind."""
    return field(default=default, metadata={_RULE: rule})


def count(
    default: Any = MISSING, *, least: int = 1, most: int = MOST, **about: Unpack[About]
) -> Any:
    """Declare a whole number from `least` to `most`."""
    return declare(default, Count(least=least, most=most, **about))


def group_size(default: Any = 5, *, least: int = 1, **about: Unpack[About]) -> Any:
    """Declare a number of records that hide each other: the main parameter of an audit."""
    return declare(default, GroupSize(least=least, **about))


def share(
    default: Any = MISSING,
    *,
    least: int = 0,
    most: int | None = 1,
    above: int | None = None,
    **about: Unpack[About],
) -> Any:
    """Declare an exact fraction from `least` to `most`, and greater than `above`."""
    return declare(default, Share(least=least, most=most, above=above, **about))


def real(
    default: Any = MISSING,
    *,
    least: float = -math.inf,
    most: float = math.inf,
    **about: Unpack[About],
) -> Any:
    """Declare a finite number from `least` to `most`."""
    return declare(default, Real(least=least, most=most, **about))


def duration(default: Any = None, **about: Unpack[About]) -> Any:
    """Declare a number of seconds."""
    return declare(default, Duration(**about))


def choice(default: Any, choices: Iterable[str], **about: Unpack[About]) -> Any:
    """Declare one of a few words."""
    return declare(default, Choice(choices=tuple(choices), **about))


def flag(default: Any, **about: Unpack[About]) -> Any:
    """Declare yes or no."""
    return declare(default, Flag(**about))


def text(default: Any = MISSING, **about: Unpack[About]) -> Any:
    """Declare a text, or a value that the method itself checks."""
    return declare(default, Rule(**about))


# --- parameters of a class --------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Param:
    """A parameter of a class: the name and type of its field, and what is declared of it."""

    name: str
    type: Any
    default: Any
    rule: Rule
    declared: bool = True

    @property
    def doc(self) -> str:
        """A few words about it."""
        return self.rule.doc

    @property
    def choices(self) -> tuple[str, ...]:
        """The words of which it is one; empty for other kinds."""
        return self.rule.choices

    @property
    def most(self) -> int:
        """The largest whole number that it may be."""
        return self.rule.most if isinstance(self.rule, Count) else MOST

    @property
    def required(self) -> bool:
        """Tell whether there is no default."""
        return self.default is MISSING

    @property
    def optional(self) -> bool:
        """Tell whether it may be None."""
        if isinstance(self.type, str):
            return "None" in self.type.replace("|", " ").split()
        union = typing.get_origin(self.type) in {types.UnionType, typing.Union}
        return union and types.NoneType in typing.get_args(self.type)

    @property
    def takes_none(self) -> bool:
        """Tell whether None is a value to be given, and not a way to leave the parameter out."""
        return self.optional and self.default is not None and None not in self.rule.ladder

    @property
    def says(self) -> str:
        """What may be given, in words."""
        return f"{self.rule.says}{', or none' * self.optional}"

    @property
    def symbol(self) -> str:
        """How it is written in reports."""
        return self.rule.symbol or self.name

    def in_words(self, value: Any) -> str:
        """Return a value for a report."""
        words = self.rule.words
        return f"{self.symbol} = {value}" if words is None else words(value)

    def check(self, value: Any) -> Any:
        """Return the value as the method holds it, or refuse it.

        Kernels count in 64 bits, and loops as often as they are told: numbers beyond the bounds
        are refused here, wherever they come from (options, manifests, specs, programs).
        """
        if isinstance(value, int) and abs(value) > self.most:
            shown = f"{value:,}" if abs(value) < 10**18 else "a number of more than 18 digits"
            raise ParameterError(f"{self.name} is {shown}", fix=f"use at most {self.most:,}")
        if not self.declared or (value is None and self.optional):
            return value
        try:
            return self.rule.check(value)
        except (ValueError, TypeError):
            raise ParameterError(f"{self.name} is {value!r}", fix=f"use {self.says}") from None

    def read(self, text: str) -> Any:
        """Return the value that a text means, or raise ValueError."""
        if self.optional and text.strip().lower() in NOTHING:
            return None
        return self.rule.read(text)


def _type_of_field(target: type, declared: dataclasses.Field[Any]) -> Any:
    """Return the type of a field; its text where that names what is not there at run time."""
    if not isinstance(declared.type, str):
        return declared.type
    owner = next(
        each for each in target.__mro__ if declared.name in vars(each).get("__annotations__", ())
    )
    alone = type(owner.__name__, (), {"__annotations__": {declared.name: declared.type}})
    alone.__module__ = owner.__module__
    try:
        return typing.get_type_hints(alone)[declared.name]
    except NameError:
        return declared.type


@functools.cache
def params_of(target: type) -> tuple[Param, ...]:
    """Return the parameters of a dataclass, in order.

    A field without a declaration takes what its type says; ``field(metadata={"doc": ...})`` says
    what it is for.

    >>> @dataclass(frozen=True, kw_only=True)
    ... class Plain:
    ...     k: int = 5
    >>> [(each.name, each.default, each.says) for each in params_of(Plain)]
    [('k', 5, 'a whole number')]
    """
    try:
        hints = typing.get_type_hints(target)
    except NameError:  # something, if only a class variable, has a type for type checkers only
        hints = {each.name: _type_of_field(target, each) for each in dataclasses.fields(target)}
    return tuple(
        Param(
            name=each.name,
            type=hints[each.name],
            default=each.default,
            rule=each.metadata.get(_RULE) or _rule_of_type(hints[each.name], each.metadata),
            declared=_RULE in each.metadata,
        )
        for each in dataclasses.fields(target)
        if each.init
    )


def main_param(target: type) -> Param | None:
    """Return the parameter that an audit searches: the first that says so."""
    return next((param for param in params_of(target) if param.rule.main), None)


def usual_values(target: type) -> dict[str, Any]:
    """Return what an audit gives for parameters that are None unless somebody says more.

    Where nothing else says what they stand for (constraints, say), a method needs them.

    >>> @dataclass(frozen=True, kw_only=True)
    ... class Constrained:
    ...     m: int = count(2, audited=2)
    ...     constrained: Fraction | None = share(None, audited=1)
    >>> usual_values(Constrained)
    {'constrained': 1}
    """
    return {
        param.name: param.rule.audited
        for param in params_of(target)
        if param.default is None and param.rule.audited is not None
    }


def _rule_of_type(kind: Any, metadata: Mapping[str, Any]) -> Rule:
    """Return the rule of a field that declares nothing but its type."""
    members = [member for member in typing.get_args(kind) if member is not types.NoneType]
    if len(members) == 1 and typing.get_origin(kind) in {types.UnionType, typing.Union}:
        kind = members[0]
    doc = metadata.get("doc", "")
    rules: dict[Any, Rule] = {
        int: Count(least=-MOST, doc=doc),
        bool: Flag(doc=doc),
        float: Real(doc=doc),
        Fraction: Share(doc=doc),
    }
    return rules.get(kind) or Rule(doc=doc)


def checked(target: T) -> T:
    """Let a dataclass check and convert the values of its parameters before anything else.

    Values arrive in ``__post_init__`` as the class holds them; what it checks there is how they
    fit together. :func:`setveil.core.registry.register` does this for every registered class.
    """
    initialize = target.__init__  # type: ignore[misc]  # replaced below
    names = [each.name for each in dataclasses.fields(target) if each.init and not each.kw_only]

    @functools.wraps(initialize)
    def initialize_checked(self: object, *args: object, **values: object) -> None:
        values |= dict(zip(names, args, strict=False))
        known = {param.name: param for param in params_of(target)}
        initialize(
            self,
            *args[len(names) :],  # too many: the language says so
            **{
                name: known[name].check(value) if name in known else value
                for name, value in values.items()
            },
        )

    target.__init__ = initialize_checked  # type: ignore[misc]
    return target


def check_values(target: type, **values: object) -> None:
    """Refuse values that parameters of a class could not be: for functions that take the same.

    >>> @dataclass(frozen=True, kw_only=True)
    ... class Attack:
    ...     sample: int = count(1000)
    >>> check_values(Attack, sample=0)
    Traceback (most recent call last):
    setveil.core.errors.ParameterError: sample is 0. To fix: use a whole number of at least 1.
    """
    known = {param.name: param for param in params_of(target)}
    for name, value in values.items():
        known[name].check(value)


# --- name:key=value ---------------------------------------------------------------------------


class Spec(NamedTuple):
    """A name, and the texts of the parameters that are given after it."""

    name: str
    given: dict[str, str]


def split_spec(text: str, *, hint: str = "") -> Spec:
    """Split ``name:key=value,key=value`` into its parts.

    >>> split_spec("gather: k=5, effort=fast")
    Spec(name='gather', given={'k': '5', 'effort': 'fast'})
    >>> split_spec("gather:5")
    Traceback (most recent call last):
    setveil.core.errors.ParameterError: gather:5: '5' is no parameter with its value. To fix: ...
    """
    name, _, rest = text.strip().partition(":")
    given: dict[str, str] = {}
    for part in filter(None, (part.strip() for part in rest.split(","))):
        key, sign, value = (piece.strip() for piece in part.partition("="))
        if not key or not sign or key in given:
            what = "is given twice" if key in given else "is no parameter with its value"
            raise ParameterError(
                f"{part!r} {what}",
                where=text,
                fix=f"write {name.strip()}:key=value,key=value{hint}",
            )
        given[key] = value
    return Spec(name.strip(), given)


def read_values(target: type, spec: Spec, *, where: str) -> dict[str, Any]:
    """Return the values of parameters of a class that are given as texts.

    >>> @dataclass(frozen=True, kw_only=True)
    ... class Clustering:
    ...     k: int = group_size(5)
    ...     r: int | None = count(10)
    >>> read_values(Clustering, split_spec("clump:k=2,r=none"), where="")
    {'k': 2, 'r': None}
    >>> read_values(Clustering, split_spec("clump:k=many"), where="clump:k=many")
    Traceback (most recent call last):
    setveil.core.errors.ParameterError: clump:k=many: 'many' is not a value for k. To fix: use a \
whole number of at least 1.
    """
    known = {param.name: param for param in params_of(target)}
    check_names(spec.name, spec.given, known)
    found = {}
    for key, value in spec.given.items():
        try:
            found[key] = known[key].read(value)
        except (ValueError, TypeError):
            raise ParameterError(
                f"{value[:LONGEST]!r} is not a value for {key}",
                where=where if len(where) <= LONGEST else f"{where[:LONGEST]}…",
                fix=f"use {known[key].says}",
            ) from None
    return found


def check_names(name: str, given: Iterable[str], known: Iterable[str]) -> None:
    """Refuse parameters that a method does not have.

    >>> check_names("gather", ["depth"], ["k", "effort"])
    Traceback (most recent call last):
    setveil.core.errors.ParameterError: gather has no parameter 'depth'. To fix: use k, effort.
    """
    unknown = sorted(set(given) - set(known))
    if unknown:
        raise ParameterError(
            f"{name} has no parameter {', '.join(map(repr, unknown))}",
            fix=f"use {', '.join(known)}" if known else "leave it out",
        )
