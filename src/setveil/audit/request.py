"""The main job: try methods and settings, judge and attack what they publish, and answer."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from setveil import __version__
from setveil.anonymize.base import method_role
from setveil.attack.base import RISKS
from setveil.audit.adversaries import KNOWN, WITHIN, check_attacks, check_known, role_of
from setveil.audit.results import (
    FAILED,
    INAPPLICABLE,
    MAX_LOSS,
    MIN_K,
    SKIPPED,
    TARGET,
    AuditResult,
    Criteria,
    RunRecord,
)
from setveil.audit.run import tree_over
from setveil.audit.search import Search, ladders_of, methods_for
from setveil.audit.store import Store, data_hash, number_of, records_hash, run_id
from setveil.audit.trials import Case, Job, Limits, Trials
from setveil.audit.verdict import conclude, foresee
from setveil.core.errors import InputError, ParameterError
from setveil.core.interval import Rate
from setveil.core.params import split_spec
from setveil.core.registry import entries, find
from setveil.core.spelling import variants
from setveil.core.untrusted import read_settings
from setveil.core.words import (
    DURATION_FORMS,
    SIZE_FORMS,
    parse_duration,
    parse_size,
    plain_json,
    plural,
    some,
)
from setveil.release.public_folder import remove_folder

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterable, Sequence

    from setveil.audit.results import Adversary
    from setveil.audit.run import Setting
    from setveil.audit.trials import Progress
    from setveil.core.table import TransactionTable
    from setveil.core.taxonomy import Taxonomy
    from setveil.engine.spark import Spark


def audit(
    table: TransactionTable,
    *,
    out: str | os.PathLike[str],
    taxonomy: Taxonomy | None = None,
    sensitive: Iterable[str] = (),
    target: float | Mapping[str, float] = TARGET,
    max_loss: float = MAX_LOSS,
    min_k: int = MIN_K,
    methods: Sequence[str] = (),
    attacks: Sequence[str] | None = None,
    relatedness: Sequence[str] = (WITHIN,),
    known: Sequence[int] = KNOWN,
    workload: Iterable[Iterable[str]] = (),
    budget: float | None = None,
    since: float | None = None,
    memory: int | None = None,
    workers: int | None = None,
    engine: Spark | None = None,
    seed: int | None = None,
    title: str = "",
    description: str = "",
    tell: Callable[[Progress], None] | None = None,
) -> AuditResult:
    """Anonymize in many ways, verify, attack and measure each release, and say what to publish.

    Parameters
    ----------
    table, taxonomy, sensitive
        The data, the tree of its items, and its sensitive items; methods that need what is not
        given are left out.
    out
        Directory for everything private (``private/``, with a candidate release of each trial). A
        ``publish/`` that an earlier audit left there is removed: it belongs to another answer.
        Runs that ended in an earlier call with the same data and settings are not made again.
    target
        The largest gain of any attack that is acceptable: 0 is guessing, 1 is everything. Or a
        number for some of the risks ``"singling_out"``, ``"linkage"`` and ``"inference"``, and
        for ``"all"`` others.
    max_loss, min_k
        A safe release that loses more, or hides a person among fewer, is recommended with care
        only. No k below `min_k` is tried unless `methods` name it.
    methods
        Names, or settings such as ``"gather:k=5,effort=fast"``; ``"all"`` for every method that
        applies and promises something. Without any, a choice of these.
    attacks
        Names of attacks to try, or ``"all"``; by default those whose role says so. Where a kind
        of attack is left out that applies to a release, that release is not recommended.
    relatedness
        Sources that attackers can ask (:func:`setveil.relatedness.parse_relatedness`).
    known
        How many items of a person attackers know who decide about the verdict.
    workload
        Sets of items that recipients will count; the report says how far off each count is.
    budget, since
        Seconds for everything, and when they began, by :func:`time.monotonic`; by default now.
        What does not fit is marked as skipped. A single run gets a quarter of the time, and the
        last twentieth is kept for what comes after the runs.
    memory
        Bytes for this process and its workers together; refused where one worker needs more
        before it does anything. See :class:`setveil.engine.processes.Processes`.
    workers
        Number of processes; 0 runs everything in this one, but for a budget of time or memory,
        which only a process of its own can be held to. By default one per core, up to four.
    engine
        A Spark on which each run is a task, instead of processes here; `memory` and `workers` are
        its own matter then. What a run leaves behind is sent back and written here; files that
        `relatedness` names must lie where Spark's workers find them under the same name.
    seed
        Of everything drawn at random. Without one it is drawn by the operating system and kept in
        ``private/``. A seed that others can guess is for research: do not publish releases of
        methods that draw at random then.
    title, description
        What a reader calls the data, and a sentence about it.
    tell
        Called with a :class:`~setveil.audit.trials.Progress` whenever a trial begins or ends.

    Returns
    -------
    AuditResult
        Also written to ``private/audit.json``; :func:`~setveil.audit.store.load_audit` reads it.

    Examples
    --------
    >>> import tempfile
    >>> from setveil import TransactionTable
    >>> table = TransactionTable.from_rows([["flu", "gout"], ["flu", "rash"]] * 50)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     found = audit(table, out=folder, methods=["disassociate:k=5,m=2"], workers=0, seed=1)
    >>> found.runs[0].name, found.runs[0].verified
    ('disassociate-k5-m2', True)
    """
    return _answer(**locals())


def harden(
    table: TransactionTable,
    *,
    out: str | os.PathLike[str],
    taxonomy: Taxonomy | None = None,
    sensitive: Iterable[str] = (),
    target: float | Mapping[str, float] = TARGET,
    max_loss: float = MAX_LOSS,
    min_k: int = MIN_K,
    methods: Sequence[str] = (),
    each: bool = False,
    attacks: Sequence[str] | None = None,
    relatedness: Sequence[str] = (WITHIN,),
    known: Sequence[int] = KNOWN,
    workload: Iterable[Iterable[str]] = (),
    budget: float | None = None,
    since: float | None = None,
    memory: int | None = None,
    workers: int | None = None,
    engine: Spark | None = None,
    seed: int | None = None,
    title: str = "",
    description: str = "",
    tell: Callable[[Progress], None] | None = None,
) -> AuditResult:
    """Make methods stronger until every attack stays at or below the target; recommend one setting.

    Every parameter is searched that changes what can be found out (:mod:`setveil.audit.search`).
    A search starts with the weakest setting; raises, step by step, the parameter that lowers the
    risk most per loss; and, when the target is reached, lowers what was not needed. It is no
    search of all settings: a better one may exist. What is recommended is the least loss among
    those tried, and all of these are in the result.

    Parameters
    ----------
    table, out, taxonomy, sensitive, target, max_loss, min_k, attacks, relatedness, known
    workload, memory, workers, engine, seed
        As for :func:`setveil.audit.audit`. Runs that ended before, also those of an audit into
        the same directory, are not made again.
    methods
        Names; with parameters that shall stay as they are, as in ``"disassociate:m=2"``. Without
        any, the choice of an audit.
    each
        Whether to search every method to its end, even where another already loses less.
    budget, since
        Seconds for everything, and when they began; the search ends there with what it has.
    title, description
        What a reader calls the data, and a sentence about it.
    tell
        As for :func:`setveil.audit.audit`.

    Returns
    -------
    AuditResult
        With every setting that was tried; `notes` say how the search of each method ended.

    Examples
    --------
    >>> import tempfile
    >>> from setveil import TransactionTable
    >>> table = TransactionTable.from_rows([["flu", "gout"], ["flu", "rash"], ["flu"]] * 20)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     found = harden(table, out=folder, methods=["disassociate:m=2,refine=false"], workers=0,
    ...                    known=[2], seed=1, target=0.2)
    >>> found.runs[0].name, found.chosen.risk <= 0.2
    ('disassociate-k5-m2-refinefalse', True)
    """
    return _answer(free=True, **locals())


def _answer(
    table: TransactionTable,
    *,
    out: str | os.PathLike[str],
    taxonomy: Taxonomy | None,
    sensitive: Iterable[str],
    target: float | Mapping[str, float],
    max_loss: float,
    min_k: int,
    methods: Sequence[str],
    attacks: Sequence[str] | None,
    relatedness: Sequence[str],
    known: Sequence[int],
    workload: Iterable[Iterable[str]],
    budget: float | None,
    since: float | None,
    memory: int | None,
    workers: int | None,
    engine: Spark | None,
    seed: int | None,
    title: str,
    description: str,
    tell: Callable[[Progress], None] | None,
    free: bool = False,
    each: bool = False,
) -> AuditResult:
    """Check what is asked for, make the trials within the limits, and write what follows.

    `free` lets the search change every parameter, and `each` searches every method to its end.
    """
    limits = Limits(
        budget=budget,
        memory=memory,
        workers=workers,
        started=time.monotonic() if since is None else since,
        engine=engine,
    )
    criteria = criteria_of(target, max_loss=max_loss, min_k=min_k)
    if workers is not None and workers < 0:
        raise ParameterError(f"workers is {workers}", fix="use 0 or more")
    if seed is not None and seed < 0:
        raise ParameterError(f"the seed is {seed}", fix="use a whole number of at least 0")
    secret = check_items(table, taxonomy, sensitive)
    if min_k > max(len(table), MIN_K):
        raise ParameterError(
            f"min_k is {min_k:,}, but there are only {plural(len(table), 'record')}",
            fix="use a smaller number",
        )
    sources = check_sources(relatedness, table)
    named = None if attacks is None else check_attacks(attacks)
    searched = methods_for(
        methods,
        taxonomy=taxonomy is not None,
        sensitive=bool(secret),
        meaning=any(spec != WITHIN for spec in sources),
    )
    if free:
        _check_searchable(searched, sources)
    ladders = {
        text: ladders_of(text, records=len(table), taxonomy=taxonomy, free=free, min_k=min_k)
        for text in searched
    }
    search = Search(ladders, criteria, each=each)
    numbers = check_known(known)
    counts = tuple(tuple(items) for items in workload)
    foreseen = foresee(criteria, people=len(table), holders=_holders(table, secret))
    with Store.open(out).lock() as store:
        records = records_hash(table)
        store.claim(records)
        case = Case(
            data=data_hash(records, taxonomy, secret),
            table=table,
            taxonomy=taxonomy,
            sensitive=secret,
            relatedness=sources,
            attacks=named,
            known=numbers,
            criteria=criteria,
            workload=counts,
            seed=store.seed(seed),
            store=store,
        )
        profile = profile_of(case)
        trials = Trials(case, search, limits, lambda each: job_of(case, each), tell, foreseen)
        trials.run()
        result = replace(
            _conclude(trials, free=free),
            title=title or "Audit",
            description=description,
            profile=profile,
            settings=_settings(case, limits, methods),
        )
        if store.publish.exists():  # it was judged by another audit: never beside this answer
            remove_folder(store.publish)
        store.keep_result(result)
        return result


def criteria_of(target: float | Mapping[str, float], *, max_loss: float, min_k: int) -> Criteria:
    """Return what a release must reach.

    >>> criteria_of({"all": 0.2, "inference": 0.05}, max_loss=0.25, min_k=5).targets
    {'inference': 0.05}
    """
    if isinstance(target, Mapping):
        parts = dict(target)
        whole = parts.pop("all", TARGET)
        return Criteria(target=whole, targets=parts, max_loss=max_loss, min_k=min_k)
    return Criteria(target=target, max_loss=max_loss, min_k=min_k)


def _holders(table: TransactionTable, sensitive: Sequence[str]) -> int | None:
    """Return how many records hold a sensitive item; None where no item is named."""
    if not sensitive:
        return None
    numbers = [table.vocabulary.number(item) for item in sensitive]
    rows = np.repeat(np.arange(len(table)), table.lengths)
    return len(np.unique(rows[np.isin(table.items, numbers)]))


def _conclude(trials: Trials, *, free: bool) -> AuditResult:
    """Return what follows from the trials."""
    case, search = trials.case, trials.search
    runs = tuple(with_original(run, trials.original) for run in search.results)
    skipped = any(run.state == SKIPPED for run in runs)
    verdict = conclude(
        runs,
        case.criteria,
        unfinished=trials.limits.how_to_go_on() if skipped else "",
        foreseen=trials.foreseen,
        free=free,
    )
    return AuditResult(
        title="",
        criteria=case.criteria,
        runs=runs,
        original=trials.original,
        answer=verdict.answer,
        recommended=verdict.recommended,
        reasons=verdict.reasons,
        cares=verdict.cares,
        untested=_untested_attackers(case, runs, verdict.recommended),
        next_steps=verdict.next_steps,
        notes=(*_ends(search), *_notes(case, runs)),
    )


def _settings(case: Case, limits: Limits, methods: Sequence[str]) -> dict[str, Any]:
    """Return what was asked for, as the result keeps it."""
    reading = case.table.reading
    return {
        "version": __version__,
        "seed": case.seed,
        "records": len(case.table),
        "taxonomy": None if case.taxonomy is None else len(case.taxonomy),
        "sensitive": list(case.sensitive),
        "methods": list(methods),
        "attacks": None if case.attacks is None else list(case.attacks),
        "relatedness": list(case.relatedness),
        "known": list(case.known),
        "budget_seconds": limits.budget,
        "memory_bytes": limits.memory,
        "reading": None if reading is None else reading.as_dict(),
    }


def _untested_attackers(
    case: Case, runs: Sequence[RunRecord], recommended: str | None
) -> tuple[str, ...]:
    """Return which attackers nobody tried, a sentence each."""
    said = []
    if not case.sensitive:
        said.append(
            "An attacker who wants to learn sensitive items: none were named (--sensitive)."
        )
    if all(spec == WITHIN for spec in case.relatedness):
        said.append(
            "An attacker who knows what the items mean, from texts about similar people: no "
            "source was given (--relatedness)."
        )
    chosen = next((run for run in runs if run.id == recommended), None)
    form = "" if chosen is None else chosen.form
    tried = set() if chosen is None else {each.attack for each in chosen.adversaries}
    for entry in entries("attack"):
        role = role_of(entry.target)
        applies = form in entry.target.applies_to  # type: ignore[attr-defined]
        second = "second" in entry.target.requires  # type: ignore[attr-defined]
        if role is not None and applies and second and entry.name not in tried:
            said.append("An attacker who has a second release of the same people (--attacks all).")
    return tuple(said)


def _ends(search: Search) -> list[str]:
    """Return how the search of each method ended."""
    return [
        f"{text}: {plural(len(tried), 'setting')} tried; {search.ends[text].rstrip('.')}."
        for text, tried in search.tried.items()
        if text in search.ends
    ]


def _notes(case: Case, runs: Sequence[RunRecord]) -> list[str]:
    """Return which trials have no release, and what was not given."""
    said = []
    states = ((SKIPPED, "skipped"), (FAILED, "failed"), (INAPPLICABLE, "did not apply"))
    for state, verb in states:
        number = sum(run.state == state for run in runs)
        if number:
            said.append(f"{number} of {plural(len(runs), 'trial')} {verb}; each says why.")
    if case.taxonomy is None:
        said.append("No taxonomy was given: methods that generalize items were not tried.")
    if not case.sensitive:
        said.append("No sensitive items were given: methods that protect them were not tried.")
    near = variants(case.sensitive, case.table.vocabulary.names)
    if near:
        said.append(
            f"{plural(len(near), 'item')} written almost like a sensitive one "
            f"{'counts' if len(near) == 1 else 'count'} as different: {some(list(near))}."
        )
    return said


def _check_searchable(searched: Sequence[str], sources: Sequence[str]) -> None:
    """Refuse a search of methods that could never be recommended."""
    blind = all(spec == WITHIN for spec in sources)
    for text in searched:
        name = split_spec(text).name
        role = method_role(find("anonymizer", name).target)
        if role.only_named:
            raise ParameterError(
                f"{name} promises nothing that could be checked", fix="leave it out"
            )
        if blind and role.needs_meaning:
            raise ParameterError(
                f"{name} cannot be judged without a source of relatedness",
                fix="name one with relatedness (--relatedness), or leave it out",
            )


def with_original(run: RunRecord, original: RunRecord | None) -> RunRecord:
    """Return a run with what each of its attackers gets from the original data.

    >>> from setveil.audit.results import RunRecord
    >>> run = RunRecord(id="1", name="x", title="x", method="x", params={})
    >>> with_original(run, None) == run
    True
    """
    known = {} if original is None else {each.family: each.rate for each in original.adversaries}

    def before(each: Adversary) -> Rate | None:
        role = role_of(find("attack", each.attack).target)
        findings = () if role is None else role.findings
        if any(finding.figure == each.figure and finding.outright for finding in findings):
            return Rate.counted(1.0)
        return known.get(each.family)

    return replace(
        run, adversaries=tuple(replace(each, raw=before(each)) for each in run.adversaries)
    )


def check_items(
    table: TransactionTable, taxonomy: Taxonomy | None, sensitive: Iterable[str]
) -> tuple[str, ...]:
    """Refuse records without items and sensitive items that do not occur; return these, sorted.

    >>> from setveil import TransactionTable
    >>> check_items(TransactionTable.from_rows([["flu", "HIV"]]), None, ["HIV", "flu"])
    ('HIV', 'flu')
    """
    if not len(table) or not len(table.items):
        raise InputError("the data has no items", fix="check the file")
    secret = tuple(sorted(set(sensitive)))
    supports = table.supports()
    unknown = [
        item
        for item in secret
        if item not in table.vocabulary or not supports[table.vocabulary.number(item)]
    ]
    if unknown:
        raise InputError(
            f"{len(unknown)} sensitive items do not occur in the data: {', '.join(unknown[:5])}",
            fix="check their spelling, or leave them out",
        )
    if taxonomy is not None:
        tree_over(table, taxonomy, secret)
    return secret


def check_sources(relatedness: Sequence[str], table: TransactionTable) -> tuple[str, ...]:
    """Refuse before any work a source of relatedness that cannot be used: each is made once.

    >>> from setveil import TransactionTable
    >>> table = TransactionTable.from_rows([["flu"]])
    >>> check_sources(["release", "release"], table)
    ('release',)
    >>> check_sources(["glove"], table)
    Traceback (most recent call last):
    setveil.core.errors.ParameterError: glove needs to know where. To fix: write glove:FILE.
    """
    from setveil.relatedness import parse_relatedness
    from setveil.release import publish_suppressed

    sources = tuple(dict.fromkeys(relatedness))
    if any(spec != WITHIN for spec in sources):
        shown, _ = publish_suppressed(table, [True] * table.n_items)
        for spec in sources:
            parse_relatedness(spec, release=shown)
    return sources


def job_of(case: Case, setting: Setting) -> Job:
    """Return a setting with the id of its run: a hash of all that this depends on."""
    content = {
        "data": case.data,
        "seed": case.seed,
        "attacks": None if case.attacks is None else sorted(case.attacks),
        "relatedness": [[spec, *stamps(spec)] for spec in case.relatedness],
        "known": list(case.known),
        "workload": [list(items) for items in case.workload],
        "targets": {risk: case.criteria.limit(risk) for risk in RISKS},
        "method": setting.method,
        "params": setting.params,
    }
    number = number_of([case.data, setting.method, setting.params])
    return Job(id=run_id(content), setting=setting, number=number)


def stamps(spec: str) -> list[list[Any]]:
    """Return size and time of the files that a source of relatedness names.

    >>> stamps("release"), stamps("corpus:nowhere.index")
    ([], [['nowhere.index', None]])
    """
    from setveil.relatedness.base import named_places

    found: list[list[Any]] = []
    for place in named_places(spec):
        try:
            state = Path(place).stat()
            found.append([place, state.st_size, state.st_mtime_ns])
        except OSError:
            found.append([place, None])
    return found


def profile_of(case: Case) -> dict[str, Any]:
    """Return what is said of the records; before the runs, whose time ends for the report."""
    from setveil.measure.profile import profile

    found = profile(case.table, rng=np.random.default_rng(case.seed))
    return {**plain_json(found.as_dict()), "sentences": found.sentences()}


MOST = 10
"""Rare items that are named as a first idea."""
LEAST = 2
"""Records that must hold an item for it to be named."""


def suggest_sensitive(table: TransactionTable, *, most: int = MOST) -> list[tuple[str, int]]:
    """Return rare items with the number of records that hold them, the rarest first.

    What few people have is what they would rather not have found; but only the owner knows. Items
    of a single record are left out: they name a person, whatever they mean.

    >>> from setveil import TransactionTable
    >>> table = TransactionTable.from_rows([["flu", "hiv"], ["flu", "hiv"], ["flu"], ["mumps"]])
    >>> suggest_sensitive(table, most=1)
    [('hiv', 2)]
    """
    supports = table.supports()
    several = np.flatnonzero(supports >= LEAST)
    rare = several[np.argsort(supports[several], kind="stable")][:most].tolist()
    return [(table.vocabulary[number], int(supports[number])) for number in rare]


# --- ``audit.toml``: all that an audit is told, in a file that can be kept and run again ----------


FILES = ("data", "layout", "taxonomy", "sensitive", "workload")
"""Names of files, which are looked for beside the file that names them."""
KINDS: dict[str, tuple[type, ...]] = {
    "data": (str,),
    "layout": (str, dict),
    "format": (str,),
    "encoding": (str,),
    "delimiter": (str,),
    "quote": (str,),
    "header": (bool,),
    "id": (str,),
    "item": (str,),
    "items": (str, list),
    "separator": (str,),
    "ignore": (str, list),
    "table": (str,),
    "query": (str,),
    "normalize": (bool,),
    "min_support": (int,),
    "empty": (str,),
    "on_error": (str,),
    "taxonomy": (str,),
    "missing": (str,),
    "parents": (str,),
    "sensitive": (str, list),
    "sensitive_share": (int, float),
    "variants": (str,),
    "title": (str,),
    "description": (str,),
    "target": (int, float, dict),
    "max_loss": (int, float),
    "min_k": (int,),
    "methods": (list,),
    "attacks": (list,),
    "relatedness": (str, list),
    "known": (list,),
    "workload": (str,),
    "budget": (str, int, float),
    "memory": (str, int),
    "workers": (int,),
    "engine": (str,),
    "seed": (int,),
}
"""What may stand in the file, and of which kinds it may be."""


def read_config(file: str | os.PathLike[str]) -> dict[str, Any]:
    r"""Return what a file says; files that it names are looked for beside it.

    `budget` and `memory` become seconds and bytes; `relatedness` becomes a list.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder, "audit.toml")
    ...     _ = file.write_text('data = "visits.csv"\nbudget = "30m"\nrelatedness = "release"')
    ...     found = read_config(file)
    >>> Path(found["data"]).name, found["budget"], found["relatedness"]
    ('visits.csv', 1800.0, ['release'])
    """
    path = Path(file)
    where = str(path)
    try:
        found = read_settings(path)
    except OSError as error:
        raise InputError(
            f"cannot be read: {error.strerror or error}", where=where, fix="name a file"
        ) from None
    except ValueError as error:
        raise InputError(
            f"this is no TOML: {error}", where=where, fix="see docs/audit.md"
        ) from None
    _check(found, where)
    for name in FILES:
        if isinstance(found.get(name), str):
            found[name] = str(path.parent / found[name])
    if isinstance(found.get("relatedness"), str):
        found["relatedness"] = [found["relatedness"]]
    if "relatedness" in found:
        found["relatedness"] = [_beside(path.parent, spec) for spec in found["relatedness"]]
    try:
        return parse_limits(found)
    except ParameterError as error:
        raise InputError(error.what, where=where, fix=error.fix) from None


def parse_limits(settings: dict[str, Any], *, prefix: str = "") -> dict[str, Any]:
    """Return settings with `budget` and `memory` as seconds and bytes.

    >>> parse_limits({"budget": "30m", "memory": "2G", "target": 0.1})
    {'budget': 1800.0, 'memory': 2000000000, 'target': 0.1}
    """
    parsed = dict(settings)
    for name, parse, forms in (
        ("budget", parse_duration, DURATION_FORMS),
        ("memory", parse_size, SIZE_FORMS),
    ):
        if name in parsed:
            text = str(settings[name])
            parsed[name] = parse(text)
            if parsed[name] is None:
                raise ParameterError(f"{prefix}{name} is {text[:60]!r}", fix=f"write {forms}")
    return parsed


def _beside(folder: Path, spec: str) -> str:
    """Return a source of relatedness with its files looked for in a folder."""
    from setveil.relatedness.base import named_places

    for place in named_places(spec):
        spec = spec.replace(place, str(folder / place))
    return spec


def _check(found: dict[str, Any], where: str) -> None:
    unknown = sorted(set(found) - set(KINDS))
    if unknown:
        raise InputError(
            f"there is no setting {', '.join(map(repr, unknown))}",
            where=where,
            fix=f"use some of {', '.join(KINDS)}",
        )
    if "data" not in found:
        raise InputError("it names no data", where=where, fix='write data = "visits.csv"')
    for name, value in found.items():
        kinds = KINDS[name]
        good = isinstance(value, kinds) and (bool in kinds or not isinstance(value, bool))
        if isinstance(value, list):
            inner = int if name == "known" else str
            good = good and all(type(each) is inner for each in value)
        if not good:
            lists = "a list of numbers" if name == "known" else "a list of texts"
            said = {
                "str": "a text",
                "list": lists,
                "int": "a number",
                "bool": "true or false",
                "dict": "a table",
            }
            words = [said[kind.__name__] for kind in kinds if kind.__name__ in said]
            raise InputError(
                f"{name} is {value!r}", where=where, fix=f"give it {' or '.join(words)}"
            )
