"""One method on one table, start to end: anonymize, verify independently, measure, time.

The judge never sees how the release was made: :func:`run_method` hands the finished release to the
guarantee and to the measures, which know nothing of the method.

>>> from setveil import Taxonomy, TransactionTable
>>> table = TransactionTable.from_rows([["apple"], ["pear"], ["apple", "beef"], ["pear", "beef"]])
>>> food = Taxonomy.from_parents({"apple": "fruit", "pear": "fruit", "beef": "meat",
...                               "fruit": "food", "meat": "food"})
>>> run = run_method("gather", {"k": 2}, table, food)
>>> run.name, run.keeps_promise, run.consistent
('gather-k2', True, True)
>>> run.release.to_rows()
[['fruit', 'beef'], ['fruit', 'beef'], ['fruit'], ['fruit']]
"""

from __future__ import annotations

import re
import time
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from setveil.core.errors import ParameterError
from setveil.core.notebook import html_table
from setveil.core.params import params_of
from setveil.core.registry import Entry, entries, find

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping
    from pathlib import Path

    from setveil.anonymize.base import Anonymizer
    from setveil.core.table import TransactionTable
    from setveil.core.taxonomy import Taxonomy
    from setveil.core.threads import Progress
    from setveil.guarantee.base import Guarantee, Verdict
    from setveil.release.base import Anonymization, Key, Release, Step

    Measures = Mapping[str, float | int | None]

    Sets = tuple[tuple[str, ...], ...]


# --- which items may be published as one ----------------------------------------------------------

UTILITY = "utility"
"""Name under which utility constraints stand among the parameters of a setting."""
ANY = "any"
"""All items may be joined, as where nothing is said."""
ALONE = "alone"
"""Nothing may be joined: what is rare is left out."""
LEVEL = re.compile(r"tree:(\d+)")


def check_utility(text: object) -> None:
    """Refuse what names no utility constraints.

    >>> check_utility("tree:2")
    >>> check_utility("forest")
    Traceback (most recent call last):
    setveil.core.errors.ParameterError: utility is 'forest'. To fix: use any, alone, or tree:1, ...
    """
    if text not in {ANY, ALONE} and not (isinstance(text, str) and LEVEL.fullmatch(text)):
        raise ParameterError(
            f"utility is {text!r}",
            fix="use any, alone, or tree:1, tree:2, … for items below the same node of that level",
        )


def utility_in_words(text: str) -> str:
    """Return what utility constraints allow.

    >>> utility_in_words("alone"), utility_in_words("tree:2")
    ('nothing may be joined', 'only items below the same term of level 2 may be joined')
    """
    if text == ALONE:
        return "nothing may be joined"
    if text == ANY:
        return "any items may be joined"
    level = text.partition(":")[2]
    return f"only items below the same term of level {level} may be joined"


def utility_of(text: str, table: TransactionTable, taxonomy: Taxonomy | None) -> Sets:
    """Return the sets of items that may be published as one.

    Parameters
    ----------
    text
        ``"any"``: all together. ``"alone"``: each item by itself. ``"tree:2"``: items below the
        same node two steps below the top; those that stand higher are by themselves.
    table, taxonomy
        The items that occur, and their tree.

    Examples
    --------
    >>> from setveil import Taxonomy, TransactionTable
    >>> table = TransactionTable.from_rows([["flu", "cold"], ["gout"]])
    >>> tree = Taxonomy.from_parents({"flu": "virus", "cold": "virus", "virus": "any",
    ...                               "gout": "any"})
    >>> utility_of("tree:1", table, tree), utility_of("alone", table, None)
    ((('gout',), ('cold', 'flu')), (('cold',), ('flu',), ('gout',)))
    """
    check_utility(text)
    items = sorted(occurring(table))
    if text == ANY:
        return (tuple(items),)
    if text == ALONE:
        return tuple((item,) for item in items)
    if taxonomy is None:
        raise ParameterError(f"utility {text} needs a taxonomy", fix="give one, or use alone")
    level = int(text.partition(":")[2])
    tree = taxonomy.for_items(items)
    found: dict[int, list[str]] = {}
    for item in items:
        way = list(tree.ancestors(tree.node(item)))[::-1]  # from the top down to the item
        found.setdefault(way[min(level, len(way) - 1)], []).append(item)
    return tuple(tuple(members) for _, members in sorted(found.items()))


def occurring(table: TransactionTable) -> list[str]:
    """Return the items that some record holds.

    >>> from setveil import TransactionTable
    >>> occurring(TransactionTable.from_rows([["flu"], []]))
    ['flu']
    """
    return [table.vocabulary[number] for number in np.flatnonzero(table.supports()).tolist()]


@dataclass(frozen=True)
class WithUtility:
    """An anonymizer with its utility constraints, as an adversary runs it who knows both.

    Parameters
    ----------
    method
        The anonymizer.
    sets
        Items that may be published as one; those that do not occur are left out of them.

    Examples
    --------
    >>> from setveil import TransactionTable
    >>> from setveil.anonymize import Coat
    >>> method = WithUtility(Coat(k=2, constrained=1, s=1), (("flu",), ("cold", "gout")))
    >>> made = method.anonymize(TransactionTable.from_rows([["flu"], ["cold"], ["cold"]]))
    >>> made.release.to_rows()
    [['cold'], ['cold'], []]
    """

    method: Anonymizer
    sets: Sets

    @property
    def requires(self) -> frozenset[str]:
        """What the anonymizer needs."""
        return self.method.requires

    @property
    def accepts(self) -> frozenset[str]:
        """What it takes besides."""
        found: frozenset[str] = getattr(self.method, "accepts", frozenset())
        return found

    def anonymize(self, table: TransactionTable, **inputs: Any) -> Anonymization:
        """Anonymize under those constraints that speak of items of `table`."""
        there = set(occurring(table))
        sets = [[item for item in each if item in there] for each in self.sets]
        return self.method.anonymize(table, utility=[each for each in sets if each], **inputs)


# --- settings and runs ----------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Setting:
    """A registered anonymizer and the parameters that are given to it.

    Parameters
    ----------
    method
        The registered name.
    params
        What is given; all others keep their defaults.

    Examples
    --------
    >>> one = Setting(method="apriori-km", params={"k": 5, "m": 2})
    >>> one.name, one.title
    ('apriori-km-k5-m2', 'apriori-km (m 2), k = 5')
    """

    method: str
    params: dict[str, Any] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """A name for files and links: the method and its given parameters."""
        parts = [
            value if isinstance(value, str) else f"{name}{_short(value)}"
            for name, value in self.params.items()
        ]
        return re.sub(r"[^a-z0-9.-]+", "", "-".join([self.method, *parts]).lower())

    @property
    def variant(self) -> str:
        """The method with its given parameters other than k: what stays the same along a curve."""
        rest = [
            value if isinstance(value, str) and name != UTILITY else f"{name} {value}"
            for name, value in self.params.items()
            if name != "k"
        ]
        return f"{self.method} ({', '.join(rest)})" if rest else self.method

    @property
    def title(self) -> str:
        """What a reader calls it."""
        k = self.params.get("k")
        return self.variant if k is None else f"{self.variant}, k = {k}"


def _short(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


@dataclass(frozen=True, kw_only=True, eq=False)
class Run:
    """A method with its parameters, what it published, and what became of the promise and the data.

    Parameters
    ----------
    method
        The registered name.
    params
        The parameters that were given; all others had their defaults.
    release, key, promise, log, figures
        What the anonymizer returned (see :class:`setveil.release.base.Anonymization`).
    verdict
        The independent check of `promise` on `release`; None where nothing was promised.
    consistent
        Whether every original record is one that its published record allows.
    measures
        What :func:`setveil.measure.measure_all` says.
    seconds
        Wall time of the stages ``anonymize``, ``verify``, ``measure``.
    taxonomy
        The tree that the release is about; None where the method had none.
    utility
        Items that could be published as one; None where the setting names no such constraint.
    """

    method: str
    params: dict[str, Any]
    release: Release
    key: Key
    promise: Guarantee | None = None
    verdict: Verdict | None = None
    consistent: bool = True
    measures: Measures = field(default_factory=dict)
    log: tuple[Step, ...] = ()
    figures: dict[str, Any] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)
    taxonomy: Taxonomy | None = None
    utility: tuple[tuple[str, ...], ...] | None = None

    @property
    def keeps_promise(self) -> bool:
        """Whether something was promised, and the check is certain that it holds."""
        return self.verdict is not None and self.verdict.holds and self.verdict.exact

    def _repr_html_(self) -> str:
        verdict = "promises nothing" if self.verdict is None else self.verdict.reason
        if self.verdict is not None and not self.keeps_promise:
            verdict = f"promise NOT kept: {verdict}"
        return html_table(f"{self.title}; {verdict}", ["measure", "value"], self.measures.items())

    @property
    def setting(self) -> Setting:
        """The method with the parameters that were given."""
        return Setting(method=self.method, params=self.params)

    @property
    def title(self) -> str:
        """What a reader calls the run."""
        return self.setting.title

    @property
    def variant(self) -> str:
        """The method with its given parameters other than k: what stays the same along a curve."""
        return self.setting.variant

    @property
    def name(self) -> str:
        """A name for files and links: the method and its given parameters."""
        return self.setting.name


def applicable(*, taxonomy: bool, sensitive: bool = False) -> list[Entry]:
    """Return the registered anonymizers that need nothing beyond the data and what is there.

    >>> [entry.name for entry in applicable(taxonomy=False, sensitive=True)][:3]
    ['anatomy', 'cahd', 'coat']
    """
    there = {"taxonomy"} if taxonomy else set()
    there |= {"sensitive"} if sensitive else set()
    return [
        entry
        for entry in entries("anonymizer")
        if cast("type[Anonymizer]", entry.target).requires <= there
    ]


def build(name: str, params: Mapping[str, Any]) -> Anonymizer:
    """Return the anonymizer of this name with these parameters, or say which ones it takes.

    Utility constraints may stand among them (:mod:`setveil.audit.run`); they are checked here
    and given to the method with the data.

    >>> build("clump", {"k": 3}).k
    3
    """
    target = find("anonymizer", name).target
    known = [param.name for param in params_of(target)]
    if UTILITY in params and UTILITY in getattr(target, "accepts", ()):
        check_utility(params[UTILITY])
        params = {key: value for key, value in params.items() if key != UTILITY}
    unknown = sorted(set(params) - set(known))
    if unknown:
        raise ParameterError(
            f"{name} has no parameter {', '.join(map(repr, unknown))}",
            fix=f"use {', '.join(known)}",
        )
    method: Anonymizer = target(**params)
    return method


def tree_over(
    table: TransactionTable, taxonomy: Taxonomy, sensitive: Collection[str] = ()
) -> Taxonomy:
    """Return the tree with a leaf for each item that occurs: the one that all stages must share.

    With `sensitive` items it is the tree of the others: those are taken out of it.

    >>> from setveil import Taxonomy, TransactionTable
    >>> dogs = Taxonomy.from_parents({"poodle": "dog"})
    >>> tree_over(TransactionTable.from_rows([["dog"]]), dogs).ids
    ('dog', 'dog (itself)', 'poodle')
    """
    apart = set(sensitive)
    occurring = (table.vocabulary[item] for item in np.flatnonzero(table.supports()).tolist())
    return taxonomy.for_items(item for item in occurring if item not in apart).without(apart)


def run_method(
    name: str,
    params: Mapping[str, Any],
    table: TransactionTable,
    taxonomy: Taxonomy | None = None,
    *,
    sensitive: Iterable[str] = (),
    rng: np.random.Generator | None = None,
    progress: Progress | None = None,
) -> Run:
    """Anonymize `table`, check the promise from the release alone, and measure what was lost.

    Parameters
    ----------
    name, params
        A registered anonymizer and its parameters; ``utility`` is as in
        :func:`setveil.audit.run.utility_of`.
    table, taxonomy
        The data. A method gets the taxonomy if it needs one.
    sensitive
        Names of sensitive items. A method gets them if it needs them; one that needs both gets
        the taxonomy without them.
    rng
        What a method that draws at random draws from; without it, from the operating system.
    progress
        Called with (stage, done, total) while the method works.

    Returns
    -------
    Run
        A broken promise is a verdict in it, not an error.
    """
    # Loaded when something runs: start-up time.
    from setveil.core.words import share_as_json
    from setveil.measure import measure_all

    method = build(name, params)
    secret = tuple(sensitive) if "sensitive" in method.requires else ()
    inputs, tree = _inputs(name, method, params, table, taxonomy, secret=secret)
    if rng is not None and "rng" in getattr(method, "accepts", ()):
        inputs["rng"] = rng
    started = time.perf_counter()
    made = method.anonymize(table, **inputs, progress=progress)
    anonymized = time.perf_counter()
    verdict = made.promise.check(made.release) if made.promise is not None else None
    consistent = made.release.is_consistent_with(table, made.key, tree)
    verified = time.perf_counter()
    measures = measure_all(
        made.release,
        table,
        key=made.key,
        taxonomy=tree,
        sensitive=secret,
        rng=np.random.default_rng(0),  # the same count queries for every run: comparable errors
        k=None if made.promise is None else made.promise.params().get("k"),
    )
    return Run(
        method=name,
        params={
            key: share_as_json(value) if isinstance(value, Fraction) else value
            for key, value in params.items()
        },
        release=made.release,
        key=made.key,
        promise=made.promise,
        verdict=verdict,
        consistent=consistent,
        measures=measures,
        log=made.log,
        figures=made.figures,
        seconds={
            "anonymize": anonymized - started,
            "verify": verified - anonymized,
            "measure": time.perf_counter() - verified,
        },
        taxonomy=tree,
        utility=inputs.get(UTILITY),
    )


def publish_again(
    run: Run,
    table: TransactionTable,
    taxonomy: Taxonomy | None,
    sensitive: Iterable[str],
    rng: np.random.Generator,
) -> Release:
    """Publish other records as a run published its own, with the same method and parameters.

    >>> from setveil import TransactionTable
    >>> table = TransactionTable.from_rows([["flu", "gout"], ["flu", "rash"]] * 4)
    >>> run = run_method("disassociate", {"k": 2}, table)
    >>> again = publish_again(run, table.take([0, 1, 2, 3]), None, (), np.random.default_rng(1))
    >>> len(again)
    4
    """
    method = build(run.method, run.params)
    secret = tuple(sensitive) if "sensitive" in method.requires else ()
    inputs, _ = _inputs(run.method, method, run.params, table, taxonomy, secret=secret)
    if "rng" in getattr(method, "accepts", ()):
        inputs["rng"] = rng
    release: Release = method.anonymize(table, **inputs).release
    return release


def _inputs(
    name: str,
    method: Anonymizer,
    params: Mapping[str, Any],
    table: TransactionTable,
    taxonomy: Taxonomy | None,
    *,
    secret: tuple[str, ...],
) -> tuple[dict[str, Any], Taxonomy | None]:
    """Return what a method is given with the records, and the tree that the release is about."""
    _check_given(name, method.requires, taxonomy, secret)
    given: dict[str, Any] = {"sensitive": secret, "taxonomy": None}
    tree = None
    if taxonomy is not None and "taxonomy" in method.requires:
        given["taxonomy"] = tree_over(table, taxonomy, secret)
        tree = given["taxonomy"].beside(secret)
    inputs = {need: given[need] for need in method.requires}
    if UTILITY in params:
        inputs[UTILITY] = utility_of(params[UTILITY], table, taxonomy)
    return inputs, tree


def _check_given(
    name: str, requires: frozenset[str], taxonomy: Taxonomy | None, sensitive: tuple[str, ...]
) -> None:
    """Say before any work what a method lacks."""
    if "taxonomy" in requires and taxonomy is None:
        raise ParameterError(f"{name} needs a taxonomy", fix="pass taxonomy=...")
    if "sensitive" in requires and not sensitive:
        raise ParameterError(f"{name} needs sensitive items", fix="pass sensitive=[...]")


def save_run(run: Run, directory: Path, key_file: Path) -> Run:
    """Write a run's release and its key, and judge what was written.

    The release is read back and checked against the promise in its own manifest: the verdict of
    the returned run is about the files, as `setveil verify` would give it. Files of an earlier
    run are replaced.
    """
    from setveil.guarantee import from_manifest
    from setveil.release import store

    manifest = store.save(
        run.release,
        directory,
        method=run.method,
        params=run.params,
        promise=run.promise,
        force=True,
        key=run.key,
        key_file=key_file,
    )
    if manifest.promise is None:
        return run
    promise = from_manifest(manifest.promise["name"], manifest.promise["params"])
    return replace(run, verdict=promise.check(store.load_release(directory)))
