"""The attack in the loop: the search of an audit with the freedom to change every parameter."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from setveil.audit.adversaries import KNOWN, WITHIN
from setveil.audit.limits import Limits
from setveil.audit.main import Request, criteria_of
from setveil.audit.results import MAX_LOSS, MIN_K, TARGET

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from setveil.audit.results import AuditResult
    from setveil.audit.trials import Progress
    from setveil.core.table import TransactionTable
    from setveil.core.taxonomy import Taxonomy
    from setveil.engine.spark import Spark


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

    Every parameter is searched that changes what can be found out (:mod:`setveil.audit.ladder`).
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
    limits = Limits(
        budget=budget,
        memory=memory,
        workers=workers,
        started=time.monotonic() if since is None else since,
        engine=engine,
    )
    request = Request.checked(
        table,
        taxonomy,
        sensitive,
        criteria=criteria_of(target, max_loss=max_loss, min_k=min_k),
        methods=methods,
        attacks=attacks,
        relatedness=relatedness,
        known=known,
        workload=workload,
        workers=workers,
        seed=seed,
        free=True,
        each=each,
    )
    return request.run(out, limits, title=title, description=description, tell=tell)
