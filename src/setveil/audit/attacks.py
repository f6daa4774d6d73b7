"""The adversaries of an audit: who attacks which form of release, and what counts as success."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from setveil.audit.changes import plain
from setveil.audit.results import Adversary
from setveil.audit.utility import WithUtility
from setveil.errors import NotApplicable, ParameterError, SetveilError
from setveil.registry import entries, find

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from setveil.audit.run import Run
    from setveil.data.table import TransactionTable
    from setveil.measure.interval import Rate

WITHIN = "release"
"""The source of relatedness that everybody has: what the release itself shows."""
KNOWN = (1, 2, 3)
"""How many items of a person are known."""
INFERENCE = "inference"
"""Who knows some items of a person and believes what the release says of the sensitive ones."""
ELIMINATION = ("rba", "ec", "shadow")
OTHER_ELIMINATION = ("gba", "mda", "tba", "wba")
"""Tried only when they are asked for: in docs/results.md none is above the best of the others."""
REASSOCIATION: dict[str, dict[str, Any]] = {
    "aba": {},
    "vpa": {"largest": 100},
    "semantic-prior": {"clustering": False},
}
"""With parameters: clustering tells which terms come from one record, and hardly changes how many
are attached rightly, which is what counts here; its time grows with the cube of a cluster,
as does that of further combinations of ``vpa``."""
OTHER_REASSOCIATION = ("rga", "mra")
ALL = "all"
NUMBERS = {1: "one", 2: "two", 3: "three"}


class Success(NamedTuple):
    """Which score counts, and what stands beside it.

    Parameters
    ----------
    figure
        The score: the larger, the more was learned.
    baseline, baseline_name
        What guessing gets, and who guesses.
    control
        The score of the attack where there is nothing to find; "" where there is none.
    """

    figure: str
    baseline: str
    baseline_name: str
    control: str = ""


SUCCESS = {
    "linkage": Success("named", "named_random", "naming any record"),
    INFERENCE: Success("believed", "believed_before", "knowing nothing", "believed_control"),
    **dict.fromkeys(
        (*ELIMINATION, *OTHER_ELIMINATION),
        Success("auc", "auc_ra", "ranking members at random", "auc_control"),
    ),
    **dict.fromkeys(
        (*REASSOCIATION, *OTHER_REASSOCIATION, "prior"),
        Success("accuracy", "accuracy_random", "attaching at random"),
    ),
    "public-records": Success("first", "first_random", "naming any candidate", "first_control"),
    "noise-filter": Success(
        "noise_removed",
        "noise_removed_alone",
        "judging each item by itself",
        "noise_removed_control",
    ),
    "token-frequency": Success(
        "accuracy", "accuracy_random", "naming items at random", "accuracy_control"
    ),
}
"""All scores on which an adversary's success is compared.

Of elimination attacks the area under the curve counts, not F: it does not depend on where an
attack draws its line, blind guessing gets one half on every release, and it grows with nothing
but the order into which the adversary brings original and added members.
"""


@dataclass(frozen=True, kw_only=True)
class Attacker:
    """An attack that an audit tries.

    Parameters
    ----------
    attack, params
        A registered attack and its parameters.
    relatedness
        The source that it asks; "" for attacks that ask none.

    Examples
    --------
    >>> Attacker(attack="linkage", params={"m": 2, "knowledge": "rarest"}).knows
    'the two rarest items of a person'
    >>> Attacker(attack="aba", relatedness="release").knows
    'only the release'
    """

    attack: str
    params: dict[str, Any] = field(default_factory=dict)
    relatedness: str = ""

    @property
    def knows(self) -> str:
        """What the adversary knows, in a few words."""
        if self.attack in {"linkage", INFERENCE}:
            m, which = self.params["m"], self.params["knowledge"]
            items = "item" if m == 1 else "items"
            if self.attack == INFERENCE:
                items = f"other {items}"
            word = NUMBERS.get(m, str(m))
            if which == "random":
                return f"{word} {items} of a person"
            return f"the {'' if m == 1 else f'{word} '}{which} {items} of a person"
        if self.relatedness not in {"", WITHIN}:
            return f"how words are related: {without_folders(self.relatedness)}"
        return KNOWLEDGE.get(self.attack, "only the release")

    def as_json(self) -> dict[str, Any]:
        """Return what a run's id depends on."""
        return {"attack": self.attack, "params": self.params, "relatedness": self.relatedness}


def without_folders(spec: str) -> str:
    """Return a source with its files by name: a report tells nobody where they lie.

    >>> without_folders("0.5*corpus:/home/me/notes.index+0.5*release")
    '0.5*corpus:notes.index+0.5*release'
    """
    from setveil.relatedness.base import named_places  # noqa: PLC0415  (start-up time)

    for place in named_places(spec):
        spec = spec.replace(place, Path(place).name)
    return spec


KNOWLEDGE = {
    "public-records": "all original records, but not which is whose",
    "token-frequency": "records of the same kind",
}
FAILED = "failed: "
"""How the note of an attack begins that should have worked: what it would find is not known."""


def attackers(
    form: str,
    *,
    relatedness: Sequence[str] = (WITHIN,),
    known: Sequence[int] = KNOWN,
    only: Iterable[str] | None = None,
    sensitive: bool = False,
) -> list[Attacker]:
    """Return who attacks a form of release.

    Parameters
    ----------
    form
        Of the release.
    relatedness
        Sources that adversaries can ask, each by itself.
    known
        How many items of a person are known.
    only
        Names of attacks, or ``"all"``; by default the strongest of each kind.
    sensitive
        Whether there are sensitive items.

    Examples
    --------
    >>> [(one.attack, one.knows) for one in attackers("disassociated")][-3:]
    [('aba', 'only the release'), ('vpa', 'only the release'), ('semantic-prior', 'only the release')]
    """  # noqa: E501  (the doctest's result)
    wanted = None if only is None else set(only)
    more = wanted or set()
    knowing = [{"m": m, "knowledge": which} for which in ("random", "rarest") for m in known]
    found = [Attacker(attack="linkage", params=params) for params in knowing]
    if form == "set-generalized":  # the release itself cannot tell members of a set apart
        found += [
            Attacker(attack=name, relatedness=spec)
            for spec in relatedness
            if spec != WITHIN
            for name in (*ELIMINATION, *(each for each in OTHER_ELIMINATION if more & {each, ALL}))
        ]
    if form == "disassociated":
        found.append(Attacker(attack="prior"))
        found += [
            Attacker(attack=name, params=params, relatedness=spec)
            for spec in relatedness
            for name, params in (
                *REASSOCIATION.items(),
                *((each, {}) for each in OTHER_REASSOCIATION if more & {each, ALL}),
            )
        ]
    found += [
        Attacker(attack=name)
        for name in ("noise-filter", "public-records", "token-frequency")
        if form in find("attack", name).target.applies_to  # type: ignore[attr-defined]
    ]
    if sensitive:
        found += [Attacker(attack=INFERENCE, params=params) for params in knowing]
    if wanted is None or ALL in wanted:
        return found
    return [each for each in found if each.attack in wanted]


def check_attacks(names: Iterable[str]) -> tuple[str, ...]:
    """Return names of attacks, or say which ones an audit knows.

    >>> check_attacks(["linkage", "gossip"])
    Traceback (most recent call last):
    setveil.errors.ParameterError: an audit has no attack 'gossip'. To fix: use some of linkage, ...
    """
    chosen = tuple(dict.fromkeys(names))
    entries("attack")
    for name in chosen:
        if name not in SUCCESS and name != ALL:
            raise ParameterError(
                f"an audit has no attack {name!r}",
                fix=f"use some of {', '.join(SUCCESS)}, or {ALL}",
            )
    return chosen


def check_known(numbers: Iterable[int]) -> tuple[int, ...]:
    """Return how many items adversaries know, ascending, or refuse what cannot be known.

    >>> check_known([3, 1])
    (1, 3)
    """
    found = tuple(sorted(set(numbers)))
    if not found or found[0] < 1:
        raise ParameterError(
            f"adversaries who know {list(found)} items cannot be drawn",
            fix="use whole numbers of at least 1",
        )
    return found


def attack(
    attacker: Attacker,
    run: Run,
    table: TransactionTable,
    *,
    seed: Sequence[int],
    sensitive: Sequence[str] = (),
) -> Adversary:
    """Attack a run's release and score the guess; what does not apply is said in a note.

    Parameters
    ----------
    attacker
        Who attacks.
    run, table
        What was made, and from what.
    seed
        Numbers that everything drawn at random depends on.
    sensitive
        The sensitive items, for who infers these.

    Examples
    --------
    >>> from setveil import TransactionTable
    >>> from setveil.audit import run_method
    >>> table = TransactionTable.from_rows([["flu", "gout"], ["flu", "rash"]] * 4)
    >>> run = run_method("disassociate", {"k": 2, "m": 2}, table)
    >>> found = attack(attackers(run.release.form)[1], run, table, seed=[1])
    >>> found.figure, found.rate.value, found.baseline.value
    ('named', 0.25, 0.125)
    """
    started = time.perf_counter()
    success = SUCCESS[attacker.attack]
    common: dict[str, Any] = {
        "attack": attacker.attack,
        "params": attacker.params,
        "knows": attacker.knows,
        "figure": success.figure,
        "baseline_name": success.baseline_name,
    }
    try:
        if attacker.attack == INFERENCE:
            rates, notes, examples = _inferred(attacker, run, table, seed, sensitive)
        else:
            rates, notes, examples = _scored(attacker, run, table, seed)
    except NotApplicable as error:
        return Adversary(**common, note=f"does not apply: {error.what}")
    except SetveilError as error:
        return Adversary(**common, note=f"{FAILED}{error}")
    except MemoryError:
        raise  # it says nothing about the attack: with more memory the run can be made again
    except Exception as error:  # noqa: BLE001  (one failed attack must not lose the run)
        return Adversary(**common, note=f"{FAILED}{type(error).__name__}: {error}")
    from setveil.measure import flat  # noqa: PLC0415  (start-up time)

    rate = rates.get(success.figure)
    if rate is None:
        notes = ("does not apply: there is nothing of this kind to find", *notes)
    return Adversary(
        **common,
        rate=rate,
        baseline=rates.get(success.baseline),
        control=rates.get(success.control) if success.control else None,
        advantage=None if rate is None else rates.get("advantage"),
        scores=plain(flat(rates)),
        note="; ".join(notes),
        seconds=time.perf_counter() - started,
        examples=examples,
    )


Scored = tuple["Mapping[str, Rate | None]", tuple[str, ...], list[dict[str, Any]]]


def _inferred(
    attacker: Attacker,
    run: Run,
    table: TransactionTable,
    seed: Sequence[int],
    secret: Sequence[str],
) -> Scored:
    """Return what is believed of people who hold sensitive items, by other items of theirs."""
    from setveil.measure import draw_targets, score_inference  # noqa: PLC0415  (start-up time)
    from setveil.measure.inference import holders  # noqa: PLC0415

    drawing = np.random.default_rng([seed[0], attacker.params["m"]])
    who = draw_targets(
        table, **attacker.params, among=holders(table, secret), hidden=secret, rng=drawing
    )
    rates = score_inference(
        run.release, original=table, targets=who, sensitive=secret, taxonomy=run.taxonomy
    )
    return rates, (), []


def _scored(attacker: Attacker, run: Run, table: TransactionTable, seed: Sequence[int]) -> Scored:
    """Return the scores of an attack, what it noted, and a few examples for the owner."""
    from setveil.attack import ReassociationGuess  # noqa: PLC0415  (start-up time)
    from setveil.measure import score, score_reassociation  # noqa: PLC0415
    from setveil.measure.examples import examples_of  # noqa: PLC0415

    method = find("attack", attacker.attack).target(**attacker.params)
    known = _knowledge(attacker, method, run, table, seed)
    guess = method.run(run.release, **known, rng=np.random.default_rng([*seed, 1]))
    notes = tuple(getattr(guess, "notes", ()))
    given: dict[str, Any] = {"release": run.release, "original": table, "key": run.key}
    letters: dict[str, Any] = {}
    judge: Callable[..., Mapping[str, Rate | None]] = score
    if isinstance(guess, ReassociationGuess):
        promised = {} if run.promise is None else run.promise.params()
        letters = {name: promised.get(name) for name in ("k", "m")}
        judge = score_reassociation
    rates = judge(guess, **given, **letters)
    examples = examples_of(guess, **given, relatedness=known.get("relatedness"))
    return rates, notes, plain(examples)


def _knowledge(
    attacker: Attacker,
    method: Any,  # noqa: ANN401  (any registered attack)
    run: Run,
    table: TransactionTable,
    seed: Sequence[int],
) -> dict[str, Any]:
    """Return what the adversary knows; the same people are looked for in every run."""
    from setveil.audit.run import build  # noqa: PLC0415

    known: dict[str, Any] = {}
    if "targets" in method.requires:
        from setveil.measure import draw_targets  # noqa: PLC0415  (start-up time)

        drawing = np.random.default_rng([seed[0], method.m])
        known["targets"] = draw_targets(
            table, m=method.m, knowledge=method.knowledge, sample=method.sample, rng=drawing
        )
        known["taxonomy"] = run.taxonomy
    if "relatedness" in method.requires:
        from setveil.relatedness import parse_relatedness  # noqa: PLC0415  (start-up time)

        known["relatedness"] = parse_relatedness(attacker.relatedness, release=run.release)
    if "anonymizer" in method.requires:
        method_used = build(run.method, run.params)
        known["anonymizer"] = (
            method_used if run.utility is None else WithUtility(method_used, run.utility)
        )
    if "candidates" in method.requires:
        known["candidates"] = table
    if "reference" in method.requires:
        # Records like the originals: drawn from them with replacement, so that no count is exact.
        drawn = np.random.default_rng([seed[0], 0]).integers(len(table), size=len(table))
        known["reference"] = table.take(np.sort(drawn))
    return known
