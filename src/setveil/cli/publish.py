"""``setveil publish``: what recipients get, from an audit."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from setveil.cli.options import warn_of_published_formulas
from setveil.cli.output import JsonOption, Progress, QuietOption, echo, emit
from setveil.core.errors import ParameterError
from setveil.core.words import sentence

if TYPE_CHECKING:
    from setveil.audit.results import AuditResult, RunRecord


def publish(
    *,
    directory: Annotated[
        Path, typer.Argument(metavar="AUDIT", help="Directory that `setveil audit` wrote.")
    ],
    run: Annotated[
        str | None,
        typer.Argument(metavar="RUN", help="Name of a run; without it, the recommended one."),
    ] = None,
    title: Annotated[
        str,
        typer.Option("--title", metavar="TEXT", help="What to call the data. Recipients read it."),
    ] = "",
    quiet: QuietOption = False,
    json: JsonOption = False,
) -> None:
    """Write what recipients get: the data of one run, explained, with a certificate.

    AUDIT/publish is written anew: data as Parquet and CSV, a data dictionary, a README, a
    certificate, and the release itself. setveil publishes only a run that passed its audit.

    Exit codes: 0 published, 4 published with care, 1 it may not be published, 3 the audit could
    not decide; with 1 and 3 nothing is written.

    Example: setveil publish audit --title "Visits 2026"
    """
    from setveil.audit.results import ANSWERS
    from setveil.audit.store import Store, load_audit
    from setveil.audit.verdict import POSITIVE, judge_run
    from setveil.report.publication import publish_run

    result = load_audit(directory)
    chosen = _chosen(result, run)
    if chosen is None:
        answer, reasons = result.answer, tuple(result.reasons)
    else:
        judgement = judge_run(chosen, result.criteria)
        answer, reasons = judgement.answer, judgement.reasons
    folder, digest = None, ""
    if chosen is not None and answer in POSITIVE:
        from setveil.release.public_folder import certificate_hash

        with Store.check_place(directory).alone() as store, Progress(quiet=quiet) as progress:
            progress("writing what recipients get")
            folder = publish_run(store, result, chosen, title=title)
            digest = certificate_hash(folder)
        warn_of_published_formulas(folder)
    if json:
        emit(
            {
                "answer": answer,
                "run": None if chosen is None else chosen.name,
                "reasons": list(reasons),
                "publish": None if folder is None else str(folder),
                "certificate_sha256": digest or None,
            }
        )
    else:
        _print(answer, chosen, reasons, folder, digest)
    if ANSWERS[answer]:
        raise typer.Exit(ANSWERS[answer])


def _chosen(result: "AuditResult", name: str | None) -> "RunRecord | None":
    """Return the run of a name, or the recommended one; None where there is none."""
    from setveil.audit.verdict import POSITIVE

    if name is None:
        return result.chosen if result.answer in POSITIVE else None
    found = next((run for run in result.runs if name in {run.name, run.id}), None)
    if found is None:
        from difflib import get_close_matches

        names = [run.name for run in result.runs]
        near = get_close_matches(name, names, n=1) or names[:1]
        raise ParameterError(
            f"the audit has no run called {name!r}",
            fix=f"use a name of the report, such as {near[0]}" if near else "audit again",
        )
    return found


def _print(
    answer: str,
    chosen: "RunRecord | None",
    reasons: tuple[str, ...],
    folder: Path | None,
    digest: str,
) -> None:
    said = " ".join(map(sentence, reasons))
    if folder is None or chosen is None:
        what = (
            "The audit recommends no release, so nothing was written."
            if chosen is None
            else f"{chosen.title} was not published."
        )
        echo(f"{answer.replace('-', ' ').upper()}: {what}")
        if said:
            echo(f"Why: {said}")
        return
    care = f" With care: {said}" if said else ""
    echo(f"{chosen.title} is in {folder}.{care}")
    echo(f"Read {folder / 'certificate.html'} before you give the folder away.")
    echo("SHA-256 of certificate.json; send it to recipients separately, for example by phone:")
    echo(f"  {digest}")
