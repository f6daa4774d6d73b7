"""``setveil report``: the page of an audit, again, or in another form."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from setveil.cli.options import must_be_free
from setveil.cli.output import Progress, QuietOption, say
from setveil.core.errors import ParameterError

if TYPE_CHECKING:
    from setveil.audit import AuditResult

STDOUT = "-"


def report(
    *,
    directory: Annotated[
        Path, typer.Argument(metavar="DIR", help="Directory that `setveil audit` wrote.")
    ],
    format: Annotated[
        Literal["html", "md", "json"],
        typer.Option("--format", help="A page, Markdown, or everything as JSON."),
    ] = "html",
    out: Annotated[
        str | None,
        typer.Option(
            "--out",
            "-o",
            metavar="FILE",
            help="Where to; - is stdout. By default DIR/private/report.html for a page, stdout "
            "for the others.",
        ),
    ] = None,
    show_records: Annotated[
        bool,
        typer.Option(
            "--show-records",
            help="Also show records: some published ones, and what attacks made of them beside "
            "the originals.",
        ),
    ] = False,
    figures: Annotated[
        Path | None,
        typer.Option(
            "--figures", metavar="FOLDER", help="Also write the pictures there, as SVG and PNG."
        ),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace FILE if it exists.")] = False,
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
    from setveil.cli.audit_result import without_records
    from setveil.cli.output import SCHEMA
    from setveil.core.words import json_text

    content = {"schema": SCHEMA, **result.to_json()}
    if not show_records:
        content["runs"] = [without_records(run) for run in content["runs"]]
    return json_text(content) + "\n"
