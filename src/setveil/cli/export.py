"""``setveil export``: any release as plain tables."""

from pathlib import Path
from typing import Annotated

import typer

from setveil.cli.options import release_directory, warn_of_formulas
from setveil.cli.output import JsonOption, Progress, QuietOption, emit, say
from setveil.core.errors import ReleaseError

BOTH = ("parquet", "csv")


def export(
    *,
    release: Annotated[
        str, typer.Argument(metavar="RELEASE", help="Directory of a release, or a published one.")
    ],
    out: Annotated[Path, typer.Option("-o", "--out", metavar="OUT", help="Folder to write.")],
    format: Annotated[
        list[str] | None,
        typer.Option(
            "--format",
            metavar="FORMAT",
            help="parquet, csv or jsonl; may be repeated. Without it: parquet and csv.",
        ),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace an earlier export.")] = False,
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
