"""What an audit found, on the screen, as JSON and as a page."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from setveil.cli.options import warn_of_published_formulas
from setveil.cli.output import Progress, echo, emit, say
from setveil.core.words import format_duration, lost, plural

if TYPE_CHECKING:
    from setveil.audit import AuditResult, RunRecord
    from setveil.audit.trials import Progress as SearchProgress


def tell(
    result: "AuditResult", out: Path, *, seed: int | None, json: bool, demo: bool = False
) -> None:
    """Write the report, print the answer, and end with its exit code; a demo just ends."""
    from setveil.audit.results import ANSWERS
    from setveil.audit.store import Store
    from setveil.report.publication import publish_recommended

    report = write_report(result, out)
    with Store(out).alone() as store:
        published = publish_recommended(store, result)
    if published is not None:
        warn_of_published_formulas(published)
    _warn_of_seed(result, seed)
    if json:
        content = result.to_json()
        content["runs"] = [without_records(run) for run in content["runs"]]
        places = {"report": str(report), "publish": None if published is None else str(published)}
        emit({**content, "recommendation": _recommendation(result), **places})
    else:
        print_result(result, report, published)
    code = 0 if demo else ANSWERS[result.answer]
    if code:
        raise typer.Exit(code)


def without_records(run: dict[str, Any]) -> dict[str, Any]:
    """Return a run as JSON without single records, which are shown on request only.

    >>> without_records({"adversaries": [{"attack": "aba", "examples": []}], "figures": {}})
    {'adversaries': [{'attack': 'aba'}], 'figures': {}}
    """
    tried = [
        {name: value for name, value in each.items() if name != "examples"}
        for each in run["adversaries"]
    ]
    figures = {name: value for name, value in run["figures"].items() if name != "story"}
    return {**run, "adversaries": tried, "figures": figures}


def _recommendation(result: "AuditResult") -> dict[str, object] | None:
    """Return the recommended run in short; None where there is none."""
    chosen = result.chosen
    if chosen is None:
        return None
    return {
        "id": chosen.id,
        "name": chosen.name,
        "method": chosen.method,
        "params": chosen.params,
        "promise": chosen.promise,
        "loss": chosen.loss,
        "risk": chosen.to_json()["risk"],
        "cares": list(result.cares),
    }


def write_report(result: "AuditResult", out: Path) -> Path:
    """Write the page that is for the owner alone; return where."""
    from setveil.core.files import write_whole
    from setveil.report import render_audit

    report = out / "private" / "report.html"
    write_whole(report, render_audit(result, out), mode=0o600)
    return report


def print_result(result: "AuditResult", report: Path, published: Path | None) -> None:
    """Print the first screen: the answer, the risks before and after, the loss, what to do."""
    from setveil.report.summary import first_screen

    screen = first_screen(result)
    echo()
    echo(f"{screen.answer}   {screen.about}")
    if screen.headline:
        echo(screen.headline)
    if screen.risks:
        echo()
        head = ("What could an attacker still do?", "original data", "this release", "guessing")
        rows = [(row.label, row.original, row.release, row.guessing) for row in screen.risks]
        widths = [max(map(len, column)) for column in zip(head, *rows, strict=True)]
        for row in (head, *rows):
            cells = [
                text.ljust(width) if place == 0 else text.rjust(width)
                for place, (text, width) in enumerate(zip(row, widths, strict=True))
            ]
            echo("  " + "   ".join(cells).rstrip())
    for title, sentences in screen.paragraphs:
        echo()
        echo(f"{title}: {sentences[0]}")
        for sentence in sentences[1:]:
            echo(f"  {sentence}")
    echo()
    if published is not None:
        echo(f"To publish: {published}")
    echo(f"Report, for you alone: {report}")


def tell_progress(progress: Progress, search: "SearchProgress", *, quiet: bool) -> None:
    """Show how far a search is: a bar on a terminal, a line per trial elsewhere."""
    left = f", {_about(search.seconds_left)} left"
    now = f", now {' and '.join(search.running)}" if search.running else ""
    progress(
        f"{search.done} of about {plural(search.expected, 'trial')}{left}{now}",
        search.done,
        search.expected,
    )
    if search.begins:
        for warning in search.foreseen:
            say(f"warning: {warning}", quiet=quiet)
        if search.ended is None:
            say(
                f"Estimated time: {_about(search.seconds_left)}. You can stop with Ctrl-C; "
                "finished trials are kept.",
                quiet=quiet,
            )
    if search.ended is None:
        return
    say(_line(search.ended, search.done, search.expected), quiet=quiet)
    best = search.best
    if best is not None and best.id == search.ended.id:
        say(
            f"  best so far: {best.title}, {_figures(best)}",
            quiet=quiet,
        )


def _about(seconds: float) -> str:
    return f"about {format_duration(max(round(seconds), 1))}"


def _line(record: "RunRecord", done: int, total: int) -> str:
    """Return what is told of a run as soon as it ends."""
    head = f"[{done}/{total}] {record.title}: "
    if record.state != "done":
        return f"{head}{record.state}: {record.error}"
    promise = "promise checked" if record.verified else "promise not certain"
    said = record.figures.get("content", {}).get("sentence")
    only = f". {said}" if said else ""
    return f"{head}{promise}, {_figures(record)}{only}"


def _figures(record: "RunRecord") -> str:
    return f"worst attack gains at most {lost(record.risk)}, loss {lost(record.loss)}"


def _warn_of_seed(result: "AuditResult", seed: int | None) -> None:
    """Say which releases would give away what was drawn; with --quiet too: it is a warning."""
    from setveil.core.registry import find

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
