"""One trial of an audit: make a release, write it, verify it, attack it, measure it."""

from __future__ import annotations

import time
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from setveil.audit.adversaries import NEEDLESS, attack_release, attackers, families_missing
from setveil.audit.changes import changes, plain
from setveil.audit.contents import describe_contents, title_of
from setveil.audit.results import DONE, FAILED, INAPPLICABLE, Adversary, RunRecord
from setveil.audit.run import Run, run_method, save_run
from setveil.audit.setting import Setting
from setveil.audit.story import tell_story
from setveil.core.errors import InfeasibleError, NotApplicable, SetveilError
from setveil.core.params import main_param
from setveil.core.registry import find, name_of
from setveil.measure.workload import workload_error

if TYPE_CHECKING:
    from setveil.audit.adversaries import Attacker
    from setveil.audit.results import Criteria
    from setveil.audit.store import Store
    from setveil.core.table import TransactionTable
    from setveil.core.taxonomy import Taxonomy


ORIGINAL = Setting(method="original")
"""Stands for the original data as it is: attacked like a release, never published."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Case:
    """All that the runs of an audit share; `data` is a hash of what is audited."""

    data: str
    table: TransactionTable
    taxonomy: Taxonomy | None
    sensitive: tuple[str, ...]
    relatedness: tuple[str, ...]
    attacks: tuple[str, ...] | None
    known: tuple[int, ...]
    criteria: Criteria
    workload: tuple[tuple[str, ...], ...]
    seed: int
    store: Store

    def attackers(self, form: str) -> list[Attacker]:
        """Return who attacks a form of release."""
        return attackers(
            form,
            relatedness=self.relatedness,
            known=self.known,
            only=self.attacks,
            sensitive=bool(self.sensitive),
            longest=int(self.table.lengths.max()),
        )


@dataclass(frozen=True, kw_only=True)
class Job:
    """A setting to run, the id of the run, and the number that it draws with.

    The number goes with the audit's seed. Unlike the id it depends on data, method and parameters
    only: the same figures come out wherever the files of a source lie, and whenever they were
    written; other data never get the same noise.
    """

    id: str
    setting: Setting
    number: int


def title_of_setting(setting: Setting) -> str:
    """Return what readers call a setting: what is done to the data, then the method's name.

    >>> title_of_setting(Setting(method="gather", params={"k": 5}))
    'similar records made equal, k = 5 · gather'
    """
    main = main_param(find("anonymizer", setting.method).target)
    rest = {
        name: value for name, value in setting.params.items() if main is None or name != main.name
    }
    variant = Setting(method=setting.method, params=rest).variant
    return f"{title_of(setting.method, setting.params)} · {variant}"


def run_trial(case: Case, job: Job) -> RunRecord:
    """Make, write, verify, attack and measure one release; what goes wrong is in the record."""
    setting = job.setting
    if setting == ORIGINAL:
        return _attack_original(case, job)
    blank = RunRecord(
        id=job.id,
        name=setting.name,
        title=title_of_setting(setting),
        method=setting.method,
        params=plain(setting.params),
    )
    try:
        made = run_method(
            setting.method,
            setting.params,
            case.table,
            case.taxonomy,
            sensitive=case.sensitive,
            rng=np.random.default_rng([case.seed, job.number]),
        )
        run = save_run(
            made, case.store.candidates / setting.name, case.store.key_file(setting.name)
        )
    except (InfeasibleError, NotApplicable) as error:
        return replace(blank, state=INAPPLICABLE, error=str(error))
    except SetveilError as error:
        return replace(blank, state=FAILED, error=str(error))
    record = _recorded(blank, run, case)
    begun = time.perf_counter()
    adversaries = _attack(case, job, run)
    record = replace(
        record,
        adversaries=adversaries,
        missing=families_missing(run.release.form, adversaries, sensitive=bool(case.sensitive)),
        seconds={**record.seconds, "attack": time.perf_counter() - begun},
    )
    case.store.keep(record)
    return record


def _attack(case: Case, job: Job, run: Run) -> tuple[Adversary, ...]:
    """Let all attackers try, the cheapest and best informed first.

    Where one is above the target, those who know less are not needed for the same attack, nor are
    those who know more than they decide with, nor dear attacks. Attacks that somebody named are
    run in any case.
    """
    found: list[Adversary] = []
    for attacker in case.attackers(run.release.form):
        if case.attacks is None and _is_needless(attacker, found, case.criteria):
            found += [
                Adversary(
                    attack=attacker.attack,
                    params=attacker.params,
                    knows=attacker.knows,
                    risk=finding.risk,
                    figure=finding.figure,
                    note=NEEDLESS,
                )
                for finding in attacker.role.findings
            ]
            continue
        found += attack_release(
            attacker,
            run,
            case.table,
            seed=case.seed,
            number=job.number,
            criteria=case.criteria,
            sensitive=case.sensitive,
            taxonomy=case.taxonomy,
        )
    return tuple(found)


def _is_needless(attacker: Attacker, found: list[Adversary], criteria: Criteria) -> bool:
    """Tell whether an attack cannot change the verdict, because another one rules it out."""
    tried = [each for each in found if each.decides and each.gain is not None]
    certain = {
        each.attack
        for each in tried
        if each.gain is not None and each.gain.low > criteria.limit(each.risk)
    }
    opened = any(
        each.gain is not None and each.gain.high > criteria.limit(each.risk) for each in tried
    )
    if attacker.role.cost or not attacker.decides:
        return opened
    return attacker.attack in certain


def _attack_original(case: Case, job: Job) -> RunRecord:
    """Attack the original data as if it were published, for the rates before."""
    from setveil.release import publish_suppressed

    begun = time.perf_counter()
    release, key = publish_suppressed(case.table, [True] * case.table.n_items)
    run = Run(
        method=job.setting.method,
        params={},
        release=release,
        key=key,
        promise=None,
        verdict=None,
        consistent=True,
        measures={},
        log=(),
        figures={},
        seconds={},
    )
    found: list[Adversary] = []
    for attacker in case.attackers(release.form):
        findings = attacker.role.findings
        if attacker.role.by_default and not any(finding.outright for finding in findings):
            found += attack_release(
                attacker,
                run,
                case.table,
                seed=case.seed,
                number=job.number,
                criteria=case.criteria,
                sensitive=case.sensitive,
                enlarge=False,
            )
    record = RunRecord(
        id=job.id,
        name=ORIGINAL.name,
        title="the original data",
        method=ORIGINAL.method,
        params={},
        state=DONE,
        form=release.form,
        adversaries=tuple(replace(each, examples=[]) for each in found),
        seconds={"attack": time.perf_counter() - begun},
    )
    case.store.keep(record)
    return record


def _story(run: Run, case: Case) -> dict[str, Any]:
    """Tell how the best informed of the deciding attackers looks for one person."""
    rng = np.random.default_rng([case.seed, 3])
    return tell_story(run, case.table, {"m": max(case.known), "knowledge": "rarest"}, rng)


def _workload(run: Run, case: Case) -> list[dict[str, Any]]:
    """Return what the release answers to the owner's count queries."""
    if not case.workload:
        return []
    answers = workload_error(run.release, case.table, case.workload, run.taxonomy)
    return [answer._asdict() for answer in answers]


def _recorded(blank: RunRecord, run: Run, case: Case) -> RunRecord:
    """Return what there is to say about a run before it is attacked."""
    promise = run.promise
    verdict = run.verdict
    return replace(
        blank,
        form=run.release.form,
        release=f"private/candidates/{blank.name}",
        promise=None
        if promise is None
        else {
            "name": name_of(type(promise)),
            "params": plain(promise.params()),
            "says": promise.describe(),
            "group_size": getattr(promise, "group_size", None),
        },
        holds=None if verdict is None else bool(verdict.holds),
        exact=verdict is not None and bool(verdict.exact),
        reason="" if verdict is None else verdict.reason,
        witnesses=[] if verdict is None else [plain(asdict(each)) for each in verdict.witnesses],
        consistent=bool(run.consistent),
        loss=run.measures.get("are"),
        measures=plain(dict(run.measures)),
        figures={
            **plain(run.figures),
            **changes(run, case.table),
            "contents": plain(describe_contents(run, case.table, case.sensitive)),
            "story": plain(_story(run, case)),
            "workload": plain(_workload(run, case)),
        },
        seconds=dict(run.seconds),
    )
