"""The attackers of an audit: who attacks which form of release, and what each of them gets."""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import numpy as np

from setveil.audit.results import Adversary
from setveil.audit.run import WithUtility
from setveil.audit.store import number_of
from setveil.core.errors import NotApplicable, ParameterError, SetveilError
from setveil.core.registry import entries, find
from setveil.core.words import plain_json

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from setveil.attack.base import AuditRole, Finding
    from setveil.audit.results import Criteria
    from setveil.audit.run import Run
    from setveil.core.interval import Rate
    from setveil.core.table import TransactionTable
    from setveil.core.taxonomy import Taxonomy
    from setveil.release.base import Release
    from setveil.release.chunk_plan import CutRelease

WITHIN = "release"
"""The source of relatedness that everybody has: what the release itself shows."""
KNOWN = (1, 2, 3)
"""How many items of a person are known by those who decide about the verdict."""
MORE_KNOWN = 5
"""How many are known by those who stand beside them; one more of these knows all items."""
ALL = "all"
NUMBERS = {1: "one", 2: "two", 3: "three", 4: "four", 5: "five"}
FAILED = "failed: "
"""How the note of an attack begins that should have worked: what it would find is not known."""
NEEDLESS = "not run: an earlier attack already shows that this release cannot be recommended"
"""Why a dear attack was not run."""
STRANGERS = 100
"""Itemsets of nobody that are looked for beside the people: enough for a control."""
NARROW = 1 / 3
"""An interval is narrow enough if its width is below this part of its distance to the target."""
LEFT = 0.1
"""The share of the people who are missing in the second release that an audit makes."""


@dataclass(frozen=True, kw_only=True)
class Attacker:
    """An attack that an audit tries.

    Parameters
    ----------
    attack, params
        A registered attack and its parameters.
    relatedness
        The source that it asks; "" for attacks that ask none.
    knows
        What the attacker knows, in a few words.
    decides
        Whether the verdict depends on it.
    """

    attack: str
    params: dict[str, Any] = field(default_factory=dict)
    relatedness: str = ""
    knows: str = ""
    decides: bool = True

    @property
    def role(self) -> AuditRole:
        """How an audit uses the attack."""
        found: AuditRole = role_of(find("attack", self.attack).target)  # type: ignore[assignment]
        return found


def role_of(attack: type) -> AuditRole | None:
    """Return how an audit uses an attack; None for one that it cannot judge.

    >>> from setveil.attack import RA, Linkage
    >>> role_of(Linkage).family, role_of(RA)
    ('linkage', None)
    """
    return getattr(attack, "role", None)


def attackers(
    form: str,
    *,
    relatedness: Sequence[str] = (WITHIN,),
    known: Sequence[int] = KNOWN,
    only: Iterable[str] | None = None,
    sensitive: bool = False,
    longest: int = MORE_KNOWN,
) -> list[Attacker]:
    """Return who attacks a form of release, the cheapest first.

    Parameters
    ----------
    form
        Of the release.
    relatedness
        Sources that attackers can ask, each by itself.
    known
        How many items of a person are known by those who decide.
    only
        Names of attacks, or ``"all"``; by default those whose role says so.
    sensitive
        Whether there are sensitive items.
    longest
        Number of items of the longest record: who knows so many knows all.

    Examples
    --------
    >>> for one in attackers("disassociated")[-3:]:
    ...     print(one.attack, "knows", one.knows)
    aba knows only the release
    semantic-prior knows only the release
    vpa knows only the release
    """
    wanted = None if only is None else set(only)
    found: list[Attacker] = []
    for entry in entries("attack"):
        role = role_of(entry.target)
        if role is None or form not in entry.target.applies_to:  # type: ignore[attr-defined]
            continue
        chosen = role.by_default if wanted is None else bool(wanted & {entry.name, ALL})
        requires: frozenset[str] = entry.target.requires  # type: ignore[attr-defined]
        if not chosen or ("sensitive" in requires and not sensitive):
            continue
        first = Attacker(attack=entry.name, params=dict(role.params), knows=role.knows)
        if "targets" in requires:
            found += _who_know_items(first, known, longest, other="sensitive" in requires)
        elif "relatedness" in requires:
            found += [
                replace(first, relatedness=spec, knows=knowledge_of(spec))
                for spec in relatedness
                if spec != WITHIN or not role.needs_meaning
            ]
        else:
            found.append(first)
    return sorted(found, key=lambda each: (each.role.cost, not each.decides))


def _who_know_items(
    first: Attacker, known: Sequence[int], longest: int, *, other: bool
) -> list[Attacker]:
    """Return attackers who know some items of a person: those who decide, then who know more."""
    found = []
    items = "other items" if other else "items"
    for m in sorted(known, reverse=True):  # who knows most comes first, and may rule others out
        for which in ("rarest", "random"):
            word = NUMBERS.get(m, f"{m:,}")
            noun = items.removesuffix("s") if m == 1 else items
            knows = f"{word} {noun} of a person"
            if which == "rarest":
                knows = f"the {'' if m == 1 else f'{word} '}rarest {noun} of a person"
            params = {**first.params, "m": m, "knowledge": which}
            found.append(replace(first, params=params, knows=knows))
    if first.role.samples:
        more = {m for m in (MORE_KNOWN,) if max(known) < m < longest}
        for m in sorted(more):
            params = {**first.params, "m": m, "knowledge": "random"}
            knows = f"{NUMBERS.get(m, m)} {items} of a person"
            found.append(replace(first, params=params, knows=knows, decides=False))
        if longest > max(known):
            params = {**first.params, "m": longest, "knowledge": "random"}
            found.append(
                replace(first, params=params, knows=f"all {items} of a person", decides=False)
            )
    return found


def knowledge_of(spec: str) -> str:
    """Return what an attacker knows who asks a source of relatedness, in a few words.

    >>> knowledge_of("release"), knowledge_of("corpus:/home/me/notes.index")
    ('only the release', 'how words are related: corpus:notes.index')
    """
    if spec == WITHIN:
        return "only the release"
    return f"how words are related: {without_folders(spec)}"


def without_folders(spec: str) -> str:
    """Return a source with its files by name: a report tells nobody where they lie.

    >>> without_folders("0.5*corpus:/home/me/notes.index+0.5*release")
    '0.5*corpus:notes.index+0.5*release'
    """
    from setveil.relatedness.base import named_places

    for place in named_places(spec):
        spec = spec.replace(place, Path(place).name)
    return spec


def families_missing(form: str, tried: Iterable[Adversary], *, sensitive: bool) -> tuple[str, ...]:
    """Return the families of attackers that apply to a form by default, and were not tried.

    >>> families_missing("set-generalized", [], sensitive=True)
    ('elimination', 'inference', 'linkage')
    """
    needed = set()
    for entry in entries("attack"):
        role = role_of(entry.target)
        if role is not None and role.by_default and form in entry.target.applies_to:  # type: ignore[attr-defined]
            needs: frozenset[str] = entry.target.requires  # type: ignore[attr-defined]
            if sensitive or "sensitive" not in needs:
                needed.add(role.family)
    there = {Attacker(attack=each.attack).role.family for each in tried if each.decides}
    return tuple(sorted(needed - there))


def check_attacks(names: Iterable[str]) -> tuple[str, ...]:
    """Return names of attacks, or say which ones an audit knows.

    >>> check_attacks(["linkage", "gossip"])
    Traceback (most recent call last):
    setveil.core.errors.ParameterError: an audit has no attack 'gossip'. To fix: use some of aba, \
...
    """
    chosen = tuple(dict.fromkeys(names))
    if not chosen:
        raise ParameterError("no attack is named", fix="name some, or leave the choice to setveil")
    able = [entry.name for entry in entries("attack") if role_of(entry.target) is not None]
    for name in chosen:
        if name not in able and name != ALL:
            raise ParameterError(
                f"an audit has no attack {name!r}",
                fix=f"use some of {', '.join(able)}, or {ALL}",
            )
    return chosen


def check_known(numbers: Iterable[int]) -> tuple[int, ...]:
    """Return how many items attackers know, ascending, or refuse what cannot be known.

    >>> check_known([3, 1])
    (1, 3)
    """
    found = tuple(sorted(set(numbers)))
    if not found or found[0] < 1:
        raise ParameterError(
            f"attackers who know {list(found)} items cannot be drawn",
            fix="use whole numbers of at least 1",
        )
    return found


def attack_release(
    attacker: Attacker,
    run: Run,
    table: TransactionTable,
    *,
    seed: int,
    number: int,
    criteria: Criteria,
    sensitive: Sequence[str] = (),
    taxonomy: Taxonomy | None = None,
    enlarge: bool = True,
) -> list[Adversary]:
    """Attack a run's release and score the guess, with more people until the interval is narrow.

    Parameters
    ----------
    attacker
        Who attacks.
    run, table
        What was made, and from what.
    seed, number
        Of the audit, and of the run: everything drawn at random depends on them. Whom attackers
        look for depends on the first only, so that these are the same people in every run.
    criteria
        How far an interval must be from the target.
    sensitive, taxonomy
        The sensitive items, for who infers these, and the tree, for who publishes once more.
    enlarge
        Whether to draw more people where the interval is wide; otherwise there is one sample, of
        the second size.

    Returns
    -------
    list of Adversary
        One per finding of the attack. What does not apply is said in a note.

    Examples
    --------
    >>> from setveil import TransactionTable
    >>> from setveil.audit import run_method
    >>> from setveil.audit.results import Criteria
    >>> table = TransactionTable.from_rows([["flu", "gout"], ["flu", "rash"]] * 4)
    >>> run = run_method("disassociate", {"k": 2, "m": 2}, table)
    >>> who = attackers(run.release.form)[1]
    >>> found = attack_release(who, run, table, seed=1, number=1, criteria=Criteria())
    >>> [(each.figure, each.rate.value, each.baseline.value) for each in found]
    [('singled', 0.0, 0.125), ('named', 0.25, 0.125)]
    """
    role = attacker.role
    sizes = role.samples if attacker.decides else role.samples[:1]
    if not enlarge:
        sizes = role.samples[1:2] or role.samples[:1]
    found: list[Adversary] = []
    for size in sizes or (None,):
        params = attacker.params if size is None else {**attacker.params, "sample": size}
        scene = _Scene(
            attacker=replace(attacker, params=params),
            run=run,
            table=table,
            seed=seed,
            number=number,
            sensitive=tuple(sensitive),
            taxonomy=taxonomy,
        )
        found, complete = _attack_once(scene)
        if complete or all(_is_narrow(each, criteria) for each in found):
            break
    return found


@dataclass(frozen=True, kw_only=True, eq=False)
class _Scene:
    """An attacker, what is attacked, and all that the attack may depend on."""

    attacker: Attacker
    run: Run
    table: TransactionTable
    seed: int
    number: int
    sensitive: tuple[str, ...]
    taxonomy: Taxonomy | None


def _is_narrow(each: Adversary, criteria: Criteria) -> bool:
    """Tell whether more people would not make the answer clearer."""
    gain = each.gain
    if gain is None or gain.low > criteria.limit(each.risk):
        return True
    return gain.high - gain.low < NARROW * abs(gain.value - criteria.limit(each.risk))


def _attack_once(scene: _Scene) -> tuple[list[Adversary], bool]:
    """Return what an attack got, and whether there is nobody left to try it on."""
    started = time.perf_counter()
    attacker = scene.attacker
    common: dict[str, Any] = {
        "attack": attacker.attack,
        "params": attacker.params,
        "knows": attacker.knows,
        "decides": attacker.decides,
    }
    note, scored = "", None
    try:
        scored = _score(scene)
    except NotApplicable as error:
        note = f"does not apply: {error.what}"
    except SetveilError as error:
        note = f"{FAILED}{error}"
    except MemoryError:
        raise  # it says nothing about the attack: with more memory the run can be made again
    except Exception as error:  # noqa: BLE001  (one failed attack must not lose the run)
        note = f"{FAILED}{type(error).__name__}: {error}"
    common["seconds"] = time.perf_counter() - started
    found = [
        _adversary(finding, common, note if scored is None else scored)
        for finding in attacker.role.findings
    ]
    return found, scored is None or scored.complete


@dataclass(frozen=True, kw_only=True)
class _Scored:
    """The scores of one guess, what the attack noted, how many it tested, a few examples.

    `complete` says whether there is nobody left to test.
    """

    rates: Mapping[str, Rate | None]
    notes: tuple[str, ...]
    tested: int
    complete: bool
    examples: list[dict[str, Any]]


def _adversary(finding: Finding, common: Mapping[str, Any], scored: _Scored | str) -> Adversary:
    from setveil.measure import flat

    named: dict[str, Any] = {
        **common,
        "risk": finding.risk,
        "figure": finding.figure,
        "baseline_name": finding.baseline_name,
        "label": finding.label,
        "says": finding.says,
        "unit": finding.unit,
    }
    if isinstance(scored, str):
        return Adversary(**named, note=scored)
    rate = scored.rates.get(finding.figure)
    notes = scored.notes
    if rate is None:
        notes = ("does not apply: there is nothing of this kind to find", *notes)
    return Adversary(
        **named,
        rate=rate,
        baseline=scored.rates.get(finding.baseline),
        control=scored.rates.get(finding.control) if finding.control else None,
        advantage=None
        if rate is None or not finding.advantage
        else scored.rates.get(finding.advantage),
        tested=scored.tested,
        scores=plain_json(flat(scored.rates)),
        note="; ".join(notes),
        examples=scored.examples,
    )


def _score(scene: _Scene) -> _Scored:
    """Attack, and compare the guess with the truth."""
    attacker, run = scene.attacker, scene.run
    method = find("attack", attacker.attack).target(**attacker.params)
    draws = [
        scene.seed,
        scene.number,
        number_of([attacker.attack, attacker.params, attacker.knows]),
    ]
    known = _knowledge(method, scene)
    given: dict[str, Any] = {"release": run.release, "original": scene.table, "key": run.key}
    promised = {} if run.promise is None else run.promise.params()
    letters: dict[str, Any] = {name: promised.get(name) for name in ("k", "m")}
    cut = _cut(scene)
    if cut is not None:
        given = {"release": cut.release, "original": cut.original, "key": cut.key}
        letters["weights"] = cut.weights
    guess = method.run(given["release"], **known, rng=np.random.default_rng(draws))
    rates = guess.score(**given, **letters)
    examples = guess.examples(**given, relatedness=known.get("relatedness"))
    people = len(getattr(guess, "targets", ()))
    return _Scored(
        rates=rates,
        notes=(*_note_of(cut), *getattr(guess, "notes", ())),
        tested=people or int(getattr(guess, "tested", 0)),
        complete=people < method.sample if people else not getattr(guess, "draws", ()),
        examples=plain_json(examples),
    )


_CUT: WeakKeyDictionary[Release, tuple[int, CutRelease | None]] = WeakKeyDictionary()
"""Releases whose large clusters were cut: several attackers look at the same one."""


def _cut(scene: _Scene) -> CutRelease | None:
    """Return the release of fewer people that is attacked instead of one with large clusters."""
    from setveil.release.chunk_plan import cut_clusters, largest_clusters

    run, people = scene.run, scene.attacker.role.people
    if not people:
        return None
    known = _CUT.get(run.release)
    if known is None or known[0] != people:
        release = run.release.as_chunks()
        most = largest_clusters(release.sizes, people)
        rng = np.random.default_rng([scene.seed, scene.number, people])
        known = people, cut_clusters(release, scene.table, run.key, most=most, rng=rng)
        _CUT[run.release] = known
    return known[1]


def _note_of(cut: CutRelease | None) -> tuple[str, ...]:
    """Say that clusters were cut."""
    if cut is None:
        return ()
    number = int((cut.weights > 1).sum())
    large = "1 large cluster was" if number == 1 else f"{number:,} large clusters were"
    said = (
        f"{large} cut to {int(cut.release.sizes.max()):,} people drawn at random: every rate is "
        "an estimate, and an attacker has fewer records to choose from than in the release"
    )
    return (said,)


def _knowledge(
    method: Any,  # noqa: ANN401  (any registered attack)
    scene: _Scene,
) -> dict[str, Any]:
    """Return what the attacker knows; the same people are looked for in every run."""
    from setveil.audit.run import build, publish_again  # it imports this

    run, table, seed = scene.run, scene.table, scene.seed
    known: dict[str, Any] = {}
    people = np.arange(len(table))
    if "second" in method.requires:
        stay = np.random.default_rng([seed, 1]).random(len(table)) >= LEFT
        people = np.flatnonzero(stay)
        again = np.random.default_rng([seed, 2])
        known["second"] = publish_again(
            run, table.take(people), scene.taxonomy, scene.sensitive, again
        )
    if "targets" in method.requires:
        from setveil.measure import draw_questions, draw_targets

        drawing: dict[str, Any] = {
            "m": method.m,
            "knowledge": method.knowledge,
            "sample": method.sample,
            "rng": np.random.default_rng([seed, method.m]),
        }
        if "sensitive" in method.requires:
            known["targets"] = draw_questions(table, sensitive=scene.sensitive, **drawing)
        else:
            known["targets"] = draw_targets(table, among=people, strangers=STRANGERS, **drawing)
        known["taxonomy"] = run.taxonomy
    if "relatedness" in method.requires:
        from setveil.relatedness import parse_relatedness

        known["relatedness"] = parse_relatedness(scene.attacker.relatedness, release=run.release)
    if "anonymizer" in method.requires:
        method_used = build(run.method, run.params)
        known["anonymizer"] = (
            method_used if run.utility is None else WithUtility(method_used, run.utility)
        )
    if "candidates" in method.requires:
        known["candidates"] = table
    if "reference" in method.requires:
        # Records like the originals: drawn from them with replacement, so that no count is exact.
        drawn = np.random.default_rng([seed, 0]).integers(len(table), size=len(table))
        known["reference"] = table.take(np.sort(drawn))
    return known
