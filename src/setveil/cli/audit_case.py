"""The data of an audit, read from files: records, sensitive items, tree."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from setveil.cli.audit_result import tell_progress
from setveil.cli.engines import check_place, spark_named
from setveil.cli.inputs import only_one_stdin, read_taxonomy, tell_missing
from setveil.cli.interrupts import command_began, time_limited
from setveil.cli.output import Progress, compiling_announced, say
from setveil.cli.reading import Reading, refuse_identifiers
from setveil.cli.sensitive import STOP, draw_sensitive, read_sensitive, settle_sensitive
from setveil.core.errors import ParameterError
from setveil.core.quantities import format_duration, spell_duration

if TYPE_CHECKING:
    from setveil.audit import AuditResult
    from setveil.audit.trials import Progress as SearchProgress
    from setveil.core.table import TransactionTable
    from setveil.core.taxonomy import Taxonomy

PASSED = (
    "target",
    "max_loss",
    "min_k",
    "methods",
    "attacks",
    "relatedness",
    "known",
    "budget",
    "memory",
    "workers",
)
"""Settings that go on as they are."""
SHOWN = 5
"""How many rare items are named as a first idea of what may be sensitive."""


class Read(NamedTuple):
    """What was read."""

    table: "TransactionTable"
    taxonomy: "Taxonomy | None"
    sensitive: tuple[str, ...]
    note: str = ""
    """What a reader of the report must know of the records."""


def read_case(given: Mapping[str, Any], out: Path, *, allowed: bool, quiet: bool) -> Read:
    """Read what the settings name, once it is certain that the audit can be written."""
    from setveil.audit.store import Store

    check_place(given.get("engine", "local"))
    only_one_stdin(given["data"], given.get("taxonomy"))
    _must_not_hold(out, given)
    Store.check_place(out)
    table = Reading.of(given).read(given["data"], quiet=quiet)
    refuse_identifiers(table, allowed=allowed, where=given["data"], quiet=quiet)
    secret = _sensitive(given, table, quiet=quiet)
    if given.get("taxonomy") is None:
        return Read(table, None, secret)
    return _with_tree(given, table, secret, quiet=quiet)


def run_audit(
    work: "Callable[..., AuditResult]",
    given: Mapping[str, Any],
    out: Path,
    *,
    stage: str,
    allowed: bool,
    quiet: bool,
    **more: Any,
) -> "AuditResult":
    """Read what the settings name, audit or harden it, and tell every run that ends.

    The time of a budget counts from the start of the command, and ends all of this.
    """
    budget = given.get("budget")
    why = (
        ""
        if budget is None
        else (
            f"The time limit of {format_duration(budget)} ended before the first trial, so there "
            f"is no verdict. Allow more time, as in --budget {spell_duration(4 * budget)}"
        )
    )
    earlier = (out / "publish").exists()
    with time_limited(budget, why):
        read = read_case(given, out, allowed=allowed, quiet=quiet)
        with Progress(quiet=quiet) as progress, compiling_announced(quiet=quiet):
            progress(stage)

            def tell(search: "SearchProgress") -> None:
                tell_progress(progress, search, quiet=quiet)

            try:
                result = work(
                    read.table,
                    out=out,
                    taxonomy=read.taxonomy,
                    sensitive=read.sensitive,
                    workload=_workload(given, read.table),
                    seed=given.get("seed"),
                    title=given.get("title") or Path(given["data"]).stem,
                    description=" ".join(filter(None, (given.get("description"), read.note))),
                    tell=tell,
                    since=command_began(),
                    engine=spark_named(given.get("engine", "local")),
                    **{name: given[name] for name in PASSED if given.get(name) is not None},
                    **more,
                )
            except KeyboardInterrupt:
                say("Trials that have finished are kept: run the same command again to go on.")
                raise
    if earlier and result.chosen is None:
        say(f"{out / 'publish'} from an earlier run was removed: no release passes this time.")
    return result


def _workload(given: Mapping[str, Any], table: "TransactionTable") -> tuple[tuple[str, ...], ...]:
    """Read the count queries that recipients will ask; none where no file is named."""
    if given.get("workload") is None:
        return ()
    from setveil.measure.workload import read_workload

    return read_workload(given["workload"], table)


def _must_not_hold(out: Path, given: Mapping[str, Any]) -> None:
    """Refuse a directory in which the inputs lie: it is written to, and part of it published."""
    publish = (out / "publish").resolve()
    for name in ("data", "taxonomy", "sensitive", "workload"):
        place = given.get(name)
        if isinstance(place, str) and publish in Path(place).resolve().parents:
            raise ParameterError(
                f"{name} lies among what may be published", where=place, fix="move it elsewhere"
            )


def _sensitive(
    given: Mapping[str, Any], table: "TransactionTable", *, quiet: bool
) -> tuple[str, ...]:
    """Return the sensitive items; where there are none, give an idea of how to find some."""
    from setveil.audit import suggest_sensitive

    named, share = given.get("sensitive"), given.get("sensitive_share")
    near = given.get("variants", STOP)
    if named is not None and share is not None:
        raise ParameterError(
            "sensitive items are named and drawn", fix="give --sensitive or --sensitive-share"
        )
    if isinstance(named, str):
        return read_sensitive(named, table, variants=near, quiet=quiet)
    if named is not None:
        return settle_sensitive(tuple(dict.fromkeys(named)), table, variants=near, quiet=quiet)
    if share is not None:
        if not 0 < share <= 1:
            raise ParameterError(
                f"the share of sensitive items is {share:g}",
                fix="use a number above 0 and at most 1",
            )
        # Without a seed the draw must not change on the next call, or no run could be kept.
        return draw_sensitive(share, table, given.get("seed", 0))
    rare = [f"{item} ({records:,})" for item, records in suggest_sensitive(table, most=SHOWN)]
    if rare:
        say(
            "No sensitive items are named, so methods that protect them are not tried. These rare "
            f"items may be sensitive: {', '.join(rare)}. If nobody should learn that a person has "
            "an item, write it into a file, one item per line, and add --sensitive FILE.",
            quiet=quiet,
        )
    return ()


def _with_tree(
    given: Mapping[str, Any],
    table: "TransactionTable",
    sensitive: tuple[str, ...],
    *,
    quiet: bool,
) -> Read:
    """Read the tree, and bring it and the records together."""
    from setveil.core.missing_items import CHOICES, DROP, ERROR, NEAREST, ROOT, cover

    for name, known in (("missing", CHOICES), ("parents", ("error", "first"))):
        if given.get(name, "error") not in known:
            raise ParameterError(f"{name} is {given[name]!r}", fix=f"use {' or '.join(known)}")
    missing = given.get("missing", ERROR)
    tree = read_taxonomy(given["taxonomy"], parents=given.get("parents", "error"), quiet=quiet)
    covered = cover(tree, table, missing=missing, apart=set(sensitive))
    tell_missing(covered.report, quiet=quiet)
    note = ""
    if missing == DROP and covered.report.items:
        note = (
            f"{' '.join(covered.report.sentences())} All figures are about the records without "
            "these items."
        )
    # Methods that protect all items alike generalize the sensitive ones, too: none is dropped.
    whole = cover(covered.tree, covered.table, missing=NEAREST if missing == NEAREST else ROOT)
    tell_missing(whole.report, quiet=quiet)
    return Read(covered.table, whole.tree, sensitive, note)
