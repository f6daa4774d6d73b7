"""``setveil publish``, ``report`` and ``export``: an audit or a release, written for readers."""

from pathlib import Path
from typing import TYPE_CHECKING, Literal

import typer

from setveil.cli.options import (
    argument,
    expand_options,
    must_be_free,
    option,
    release_directory,
    warn_of_formulas,
    warn_of_published_formulas,
)
from setveil.cli.output import JsonOption, Progress, QuietOption, echo, emit, say
from setveil.core.errors import ParameterError, ReleaseError
from setveil.core.words import sentence

if TYPE_CHECKING:
    from setveil.audit.results import AuditResult, RunRecord


@expand_options
def publish(
    *,
    directory: Path = argument("AUDIT", "Directory that `setveil audit` wrote."),
    run: str | None = argument(
        "RUN", "Name of a run; without it, the recommended one.", default=None
    ),
    title: str = option("", "What to call the data. Recipients read it.", metavar="TEXT"),
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
    chosen = _find_run(result, run)
    if chosen is None:
        answer, reasons = result.answer, tuple(result.reasons)
    else:
        judgement = judge_run(chosen, result.criteria)
        answer, reasons = judgement.answer, judgement.reasons
    folder, digest = None, ""
    if chosen is not None and answer in POSITIVE:
        from setveil.release.public_folder import certificate_hash

        with Store.check_place(directory).lock() as store, Progress(quiet=quiet) as progress:
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


def _find_run(result: "AuditResult", name: str | None) -> "RunRecord | None":
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


# --- `setveil report`: the page of an audit, again, or in another form ----------------------------


STDOUT = "-"


@expand_options
def report(
    *,
    directory: Path = argument("DIR", "Directory that `setveil audit` wrote."),
    format: Literal["html", "md", "json"] = option(
        "html", "A page, Markdown, or everything as JSON."
    ),
    out: str | None = option(
        None,
        "Where to; - is stdout. By default DIR/private/report.html for a page, stdout "
        "for the others.",
        "--out",
        "-o",
        metavar="FILE",
    ),
    show_records: bool = option(
        False,
        "Also show records: some published ones, and what attacks made of them beside "
        "the originals.",
    ),
    figures: Path | None = option(
        None, "Also write the pictures there, as SVG and PNG.", metavar="FOLDER"
    ),
    force: bool = option(False, "Replace FILE if it exists."),
    quiet: QuietOption = False,
) -> None:
    """Write the report of an audit.

    Nothing is run again. The report describes the original records: it is for their owner.

    Example: setveil report audit --format md
    """
    from setveil.audit.store import load_audit
    from setveil.core.files import write_whole

    if show_records and format == "md":
        raise ParameterError(
            "the Markdown report never shows records", fix="use --format html or json"
        )
    if directory.is_file() and directory.name == "audit.json":
        directory = directory.parent.parent
    page = directory / "private" / "report.html"
    file = out if out is not None else str(page) if format == "html" else STDOUT
    if out is not None and out != STDOUT:
        _not_among_releases(Path(out), directory)
        must_be_free(Path(out), force=force, inputs=[directory / "private" / "audit.json"])
    if figures is not None:
        _not_among_releases(figures, directory)
    result = load_audit(directory)
    with Progress(quiet=quiet) as progress:
        progress("drawing the report")
        text = _text(result, directory, format=format, show_records=show_records)
        write_whole(file, text, mode=0o600)  # it describes the original records
        if file != STDOUT:
            say(f"report: {file} (do not publish it)", quiet=quiet)
        if figures is not None:
            from setveil.report import save_figures

            for figure in save_figures(result, figures):
                say(f"figure: {figure}", quiet=quiet)


def _not_among_releases(path: Path, directory: Path) -> None:
    """Refuse to put what is private where releases are."""
    if (directory / "publish").resolve() in (path.resolve(), *path.resolve().parents):
        raise ParameterError(
            "a report describes the original records and must not be among the releases",
            where=str(path),
            fix="write it elsewhere",
        )


def _text(result: "AuditResult", directory: Path, *, format: str, show_records: bool) -> str:
    """Return the report as HTML, Markdown or JSON."""
    if format == "html":
        from setveil.report import render_audit

        return render_audit(result, directory, show_records=show_records)
    if format == "md":
        from setveil.report import markdown_audit

        return markdown_audit(result)
    from setveil.cli.audit import without_records
    from setveil.cli.output import SCHEMA
    from setveil.core.words import json_text

    content = {"schema": SCHEMA, **result.to_json()}
    if not show_records:
        content["runs"] = [without_records(run) for run in content["runs"]]
    return json_text(content) + "\n"


# --- `setveil export`: any release as plain tables ------------------------------------------------


BOTH = ("parquet", "csv")


@expand_options
def export(
    *,
    release: str = argument("RELEASE", "Directory of a release, or a published one."),
    out: Path = option(..., "Folder to write.", "-o", "--out", metavar="OUT"),
    format: list[str] | None = option(
        None,
        "parquet, csv or jsonl; may be repeated. Without it: parquet and csv.",
        metavar="FORMAT",
    ),
    force: bool = option(False, "Replace an earlier export."),
    quiet: QuietOption = False,
    json: JsonOption = False,
) -> None:
    """Write a release as plain tables with a data dictionary.

    OUT gets the data (one line per published item), dictionary-columns and dictionary-terms. Which
    tables there are depends on the release: records; qit and st for groups; chunks and clusters
    for disassociated data.

    Example: setveil export release -o tables --format csv
    """
    from setveil.release.export import (
        FORMATS,
        check_format,
        describe_export,
        table_files,
    )
    from setveil.release.public_folder import check_replaceable, is_public_folder, write_folder
    from setveil.release.store import load_release

    formats = [check_format(each) for each in format or BOTH]
    directory = release_directory(release)
    place = out.resolve()
    if directory.resolve() in (place, *place.parents) or place in directory.resolve().parents:
        raise ReleaseError(
            "this is the release that is read, or a folder around it",
            where=str(out),
            fix="name a new folder",
        )
    if is_public_folder(out):
        raise ReleaseError(
            "this folder is for recipients, with a certificate of what is in it",
            where=str(out),
            fix="name a new folder",
        )
    if not force and out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise ReleaseError(
            "it exists already", where=str(out), fix="name a new folder, or replace it with --force"
        )
    with Progress(quiet=quiet) as progress:
        progress("reading the release")
        found = load_release(directory).export()
        tables = [*found.tables, *found.dictionary()]
        check_replaceable(out, [f"{table.name}.{each}" for table in tables for each in FORMATS])
        progress("writing the tables")
        files = table_files(tables, formats)
        write_folder(out, files)
    if "csv" in formats:
        warn_of_formulas([term.term for term in found.terms], out)
    say(f"{out}: {describe_export(found)}", quiet=quiet)
    if json:
        emit({"out": str(out), "files": sorted(files), "terms": len(found.terms)})
