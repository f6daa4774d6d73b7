"""One run of an audit: make a release, write it, verify it, attack it, measure it."""

from __future__ import annotations

import time
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from setveil.audit.attacks import attack, attackers
from setveil.audit.changes import changes, plain
from setveil.audit.results import FAILED, RunRecord
from setveil.audit.run import run_method, save_run
from setveil.errors import SetveilError
from setveil.registry import name_of

if TYPE_CHECKING:
    from setveil.audit.run import Run
    from setveil.audit.setting import Setting
    from setveil.audit.store import Store
    from setveil.data.table import TransactionTable
    from setveil.data.taxonomy import Taxonomy


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
    seed: int
    store: Store


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


def perform(case: Case, job: Job) -> RunRecord:
    """Make, write, verify, attack and measure one release; what goes wrong is in the record."""
    setting = job.setting
    blank = RunRecord(
        id=job.id,
        name=setting.name,
        title=setting.title,
        method=setting.method,
        params=plain(setting.params),
    )
    seed = [case.seed, job.number]
    try:
        made = run_method(
            setting.method,
            setting.params,
            case.table,
            case.taxonomy,
            sensitive=case.sensitive,
            rng=np.random.default_rng(seed),
        )
        run = save_run(made, case.store.publish / setting.name, case.store.key_file(setting.name))
    except SetveilError as error:
        return replace(blank, state=FAILED, error=str(error))
    begun = time.perf_counter()
    adversaries = tuple(
        attack(each, run, case.table, seed=[*seed, place], sensitive=case.sensitive)
        for place, each in enumerate(
            attackers(
                run.release.form,
                relatedness=case.relatedness,
                known=case.known,
                only=case.attacks,
                sensitive=bool(case.sensitive),
            )
        )
    )
    record = _recorded(blank, run, case)
    record = replace(
        record,
        adversaries=adversaries,
        seconds={**record.seconds, "attack": time.perf_counter() - begun},
    )
    case.store.keep(record)
    return record


def _recorded(blank: RunRecord, run: Run, case: Case) -> RunRecord:
    """Return what there is to say about a run before it is attacked."""
    promise = run.promise
    verdict = run.verdict
    return replace(
        blank,
        form=run.release.form,
        release=f"publish/{blank.name}",
        promise=None
        if promise is None
        else {
            "name": name_of(type(promise)),
            "params": plain(promise.params()),
            "says": promise.describe(),
        },
        holds=None if verdict is None else bool(verdict.holds),
        exact=verdict is not None and bool(verdict.exact),
        reason="" if verdict is None else verdict.reason,
        witnesses=[] if verdict is None else [plain(asdict(each)) for each in verdict.witnesses],
        consistent=bool(run.consistent),
        loss=run.measures.get("are"),
        measures=plain(dict(run.measures)),
        figures={**plain(run.figures), **changes(run, case.table)},
        seconds=dict(run.seconds),
    )
