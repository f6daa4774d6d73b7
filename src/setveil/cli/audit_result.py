"""What an audit found, on the screen, as JSON and as a page."""

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from setveil.cli.output import UNDECIDED, VIOLATED, echo, emit, print_table, say
from setveil.words import lost

if TYPE_CHECKING:
    from setveil.audit import AuditResult, RunRecord


def tell(result: "AuditResult", out: Path, *, seed: int | None, json: bool) -> None:
    """Write the report, and print what was found.

    The command ends with 1 where nothing is recommended, and with 3 where no trial finished.
    """
    from setveil.audit.results import undecided

    report = write_report(result, out)
    _warn_of_seed(result, seed)
    if json:
        content = result.to_json()
        for run in content["runs"]:  # single records are shown only where that is asked for
            for adversary in run["adversaries"]:
                del adversary["examples"]
        emit({**content, "report": str(report)})
    else:
        print_result(result, report)
    if result.recommended is None:
        raise typer.Exit(UNDECIDED if undecided(result.runs) else VIOLATED)


def write_report(result: "AuditResult", out: Path) -> Path:
    """Write the page that is for the owner alone; return where."""
    from setveil.core.files import write_whole
    from setveil.report import render_audit

    report = out / "private" / "report.html"
    write_whole(report, render_audit(result, out), mode=0o600)
    return report


def print_result(result: "AuditResult", report: Path) -> None:
    """Print every run, the reasons, and where to look."""
    rows = [
        (
            "*" if run.id == result.recommended else "",
            run.title,
            _state(run),
            lost(run.risk).rjust(6),
            lost(run.loss).rjust(6),
            "" if run.worst is None else f"{run.worst.attack}, knowing {run.worst.knows}",
        )
        for run in result.runs
    ]
    print_table(["", "release", "promise", "  risk", "  loss", "worst attack"], rows)
    echo()
    for reason in result.reasons:
        echo(reason)
    for note in result.notes:
        echo(f"Note: {note}")
    chosen = result.chosen
    if chosen is not None:
        echo()
        echo(f"publish: {report.parent.parent / chosen.release}")
    echo(f"report (for you alone): {report}")


def _state(run: "RunRecord") -> str:
    """Return what became of a run and its promise, in a word or two."""
    if run.state != "done":
        return run.state
    from setveil.audit.advice import is_bare

    state = "kept" if run.verified else "not certain"
    return f"{state}; no items shown" if is_bare(run) else state


def line(record: "RunRecord", done: int, total: int) -> str:
    """Return what is told of a run as soon as it ends."""
    head = f"[{done}/{total}] {record.title}: "
    if record.state != "done":
        return f"{head}{record.state}: {record.error}"
    promise = "promise checked" if record.verified else "promise not certain"
    said = record.figures.get("content", {}).get("sentence")
    only = f". {said}" if said else ""
    return f"{head}{promise}, risk {lost(record.risk)}, loss {lost(record.loss)}{only}"


def _warn_of_seed(result: "AuditResult", seed: int | None) -> None:
    """Say which releases would give away what was drawn; with --quiet too: it is a warning."""
    from setveil.registry import find

    drawn = sorted(
        run.name
        for run in result.runs
        if run.release
        and {"rng"} & getattr(find("anonymizer", run.method).target, "accepts", frozenset())
    )
    if seed is not None and drawn:
        say(
            f"{', '.join(drawn)}: drawn from the seed {seed}. Whoever finds it can repeat what "
            "was drawn: do not publish them, or audit without --seed."
        )
