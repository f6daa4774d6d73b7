"""The folder that recipients get: data, dictionary, README, certificate and the release itself."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from setveil.audit.verdict import POSITIVE, judge_run
from setveil.core.errors import ReleaseError
from setveil.core.words import json_text, plural, sentence
from setveil.release.export import table_files
from setveil.release.public_folder import (
    CERTIFICATE,
    RELEASE,
    check_replaceable,
    file_hashes,
    fitness_of,
    release_files,
    remove_folder,
    write_folder,
)
from setveil.release.store import load_manifest, load_release
from setveil.report.certificate import (
    ANSWERS,
    STATEMENT,
    Certificate,
    certificate_content,
    certificate_of_run,
    instructions,
    render_certificate,
)
from setveil.report.markdown import escaped

if TYPE_CHECKING:
    import os

    from setveil.audit.results import AuditResult, RunRecord
    from setveil.audit.store import Store
    from setveil.release.export import Export
    from setveil.release.manifest import Manifest

README, PAGE = "README.md", "certificate.html"
FORMATS = ("parquet", "csv")


def write_publication(
    release_dir: str | os.PathLike[str],
    out_dir: str | os.PathLike[str],
    *,
    certificate: Certificate,
) -> Path:
    """Write one release as a folder for recipients; it appears whole or not at all.

    The folder holds ``data/`` (Parquet and CSV), the data dictionary, ``README.md``,
    ``certificate.html`` and ``certificate.json``, and the release itself in ``release/``, so that
    ``setveil verify`` works on the folder. The same release and certificate give the same bytes.

    Parameters
    ----------
    release_dir
        The directory of a release, with nothing else in it.
    out_dir
        Where to. An earlier folder of this kind is replaced; one that holds anything else is
        refused.
    certificate
        What the owner states about the release.

    Returns
    -------
    Path
        The folder.

    Raises
    ------
    ReleaseError
        The release is damaged or holds other files, or the folder cannot be written.

    Examples
    --------
    >>> import tempfile
    >>> from setveil import TransactionTable
    >>> from setveil.release import publish_suppressed
    >>> from setveil.release.store import save
    >>> release, _ = publish_suppressed(TransactionTable.from_rows([["flu"], ["flu"]]), [True])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = save(release, f"{folder}/made", method="coat", params={}, promise=None)
    ...     out = write_publication(f"{folder}/made", f"{folder}/publish",
    ...                             certificate=Certificate(answer="publish"))
    ...     sorted(path.name for path in out.iterdir())
    ['README.md', 'certificate.html', 'certificate.json', 'data', 'dictionary-columns.csv', \
'dictionary-terms.csv', 'release']
    """
    source, out = Path(release_dir), Path(out_dir)
    check_replaceable(out)
    fitness = fitness_of(source)
    if not fitness.fit:
        raise ReleaseError(" ".join(fitness.sentences()), where=str(source))
    manifest, export = load_manifest(source), load_release(source).export()
    files = {f"{RELEASE}/{name}": content for name, content in release_files(source).items()}
    tables = table_files(export.tables, FORMATS)
    files |= {f"data/{name}": content for name, content in tables.items()}
    files |= table_files(export.dictionary(), ["csv"])
    files[README] = recipient_text(certificate, manifest, export).encode()
    files[PAGE] = render_certificate(certificate, manifest, export, file_hashes(files)).encode()
    content = certificate_content(certificate, manifest, export, file_hashes(files))
    files[CERTIFICATE] = f"{json_text(content, indent=1)}\n".encode()
    write_folder(out, files)
    return out


def publish_run(store: Store, result: AuditResult, run: RunRecord, *, title: str = "") -> Path:
    """Write what recipients get of one run of an audit to ``publish/``, in place of what is there.

    Parameters
    ----------
    store
        The audit's directory.
    result
        What the audit found.
    run
        The run; only one that may be published is.
    title
        What the owner calls the data, on the certificate and in the README.

    Returns
    -------
    Path
        The folder.

    Raises
    ------
    ReleaseError
        The run may not be published, or its release is no longer the one that was judged.
    """
    judgement = judge_run(run, result.criteria)
    if judgement.answer not in POSITIVE:
        raise ReleaseError(
            f"{run.title} may not be published: {'; '.join(judgement.reasons)}",
            fix="choose another run",
        )
    kept = store.finished(run.id, run.name)
    if kept is None or judge_run(kept, result.criteria).answer != judgement.answer:
        raise ReleaseError(
            f"the release of {run.title} is not the one that the audit judged",
            where=str(store.candidates / run.name),
            fix="run the audit again",
        )
    certificate = certificate_of_run(run, result, title=title)
    return write_publication(store.candidates / run.name, store.publish, certificate=certificate)


def publish_recommended(store: Store, result: AuditResult) -> Path | None:
    """Bring ``publish/`` in line with the answer of an audit; return the folder, if there is one.

    It holds the recommended run. Where no run is recommended, an earlier publication is removed.
    """
    if result.chosen is not None:
        return publish_run(store, result, result.chosen)
    if store.publish.exists():
        remove_folder(store.publish)
    return None


def recipient_text(certificate: Certificate, manifest: Manifest, export: Export) -> str:
    """Return the README for recipients: what the data is, how to count with it, how to check it."""
    changed = (
        f"This folder holds {plural(manifest.records, 'record')}, changed before publication so "
        f"that people are protected. {ANSWERS[certificate.answer]}"
    )
    lines = [
        f"# {escaped(certificate.title or 'Published data')}",
        "",
        changed,
        "",
        *(f"{escaped(care)}\n" for care in certificate.cares),
        "## What the data says",
        "",
        escaped(export.meaning),
        "",
        *_files(export),
        *_columns(export),
        *_counting(export),
        *_checking(manifest),
    ]
    return "\n".join(lines) + "\n"


def _files(export: Export) -> list[str]:
    rows = [
        (f"data/{table.name}.parquet, data/{table.name}.csv", f"{table.about} The same in both.")
        for table in export.tables
    ]
    rows += [
        ("dictionary-columns.csv", "What each column of the data means."),
        (
            "dictionary-terms.csv",
            f"Each published term: its kind, what it stands for, how many {export.unit} hold it.",
        ),
        ("certificate.html, certificate.json", "What is promised, what was tried, what was lost."),
        ("release/", "The same data in the form that setveil reads and checks."),
    ]
    return ["## Files", "", "| file | content |", "|---|---|", *map(_row, rows), ""]


def _columns(export: Export) -> list[str]:
    rows = [
        (table.name, name, meaning)
        for table in export.tables
        for name, meaning in table.columns.items()
    ]
    head = ["## Columns", "", "| table | column | meaning |", "|---|---|---|"]
    return [*head, *map(_row, rows), ""]


def _row(cells: tuple[str, ...]) -> str:
    return f"| {' | '.join(map(escaped, cells))} |"


def _counting(export: Export) -> list[str]:
    return [
        "## How to count",
        "",
        "Run these in this folder. The comments say what is printed.",
        "",
        "With [polars](https://pola.rs), or any program that reads Parquet or CSV:",
        "",
        "```python",
        export.example.polars,
        "```",
        "",
        "With the Python package setveil, which knows what the form of the data allows:",
        "",
        "```python",
        export.example.setveil,
        "```",
        "",
        "`support_bounds` gives the least and the greatest number of original records that can "
        "hold all the items named."
        if "support_bounds" in export.example.setveil
        else "`setveil.load_release` gives an object with the published records; its documentation "
        "lists what it answers.",
        "",
    ]


def _checking(manifest: Manifest) -> list[str]:
    lines = ["## What is promised, and how to check it", ""]
    promise = manifest.promise
    if promise is None:
        lines += ["The method that made this data promises nothing.", ""]
    else:
        lines += [
            escaped(sentence(promise.get("says", ""))),
            "",
            "- With setveil, in this folder: `setveil verify .`",
            f"- Without setveil: {escaped(instructions(manifest))}",
            "",
        ]
    return [*lines, STATEMENT, "", "Do not try to find out who stands behind a record."]
