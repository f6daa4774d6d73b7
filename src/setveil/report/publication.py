"""The folder that recipients get: data, dictionary, README, certificate and the release itself.

A certificate is what the owner states about the data: promise, attacks, losses. It holds nothing of
the original but what the owner's audit measured, in people of 1,000 and in shares, rounded against
the release.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR
from pathlib import Path
from typing import TYPE_CHECKING, Any

from setveil import __version__
from setveil.audit.results import furthest
from setveil.audit.verdict import NAMES, POSITIVE, finding_sentence, judge_run, target_words
from setveil.core.errors import ParameterError, ReleaseError
from setveil.core.words import (
    NOT_APPLICABLE,
    json_text,
    lost,
    of_thousand,
    people,
    plural,
    sentence,
    won,
)
from setveil.release.export import table_files
from setveil.release.manifest import VERSION as RELEASE_VERSION
from setveil.release.public_folder import (
    CERTIFICATE,
    MARK,
    RELEASE,
    check_replaceable,
    file_hashes,
    fitness_of,
    release_files,
    remove_folder,
    write_folder,
)
from setveil.release.store import load_manifest, load_release
from setveil.report.summary import escaped, measure_rows

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping

    from setveil.audit.results import Adversary, AuditResult, Criteria, RunRecord
    from setveil.audit.store import Store
    from setveil.core.interval import Rate
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


# --- the certificate: what the owner states, as JSON and as a page --------------------------------


VERSION = 1
"""Version of the certificate's fields."""
OPTIONS = re.compile(r"\s*\(--[^)]*\)")
"""What tells the owner which option to use."""
"""A source with the name of its file; recipients get its kind only."""

STATEMENT = (
    "The certificate is a statement by the owner of the data. Nobody signed it. Everybody can "
    "check the promise and the hashes from these files. The attacks and losses were measured with "
    "the original data, which only the owner has: for these you rely on the owner."
)
ANSWERS = {
    "publish": "Every attack that the owner's audit tried stays at or below the owner's target.",
    "publish-with-care": "Every attack that the owner's audit tried stays at or below the owner's "
    "target. The owner asks you to use the data with care.",
}
RISKS = {
    "singling_out": ("Singling out", "Does somebody find exactly one record, the right one?"),
    "linkage": ("Linkage", "Does somebody tell which record, or which pieces, are a person's?"),
    "inference": ("Inference", "Does somebody learn more about a person from the data?"),
}
"""The three risks of Opinion 05/2014 of the Article 29 Working Party, in words."""


@dataclass(frozen=True, kw_only=True)
class Certificate:
    """What the owner states about a release, beside what the release itself shows.

    Parameters
    ----------
    answer
        The audit's answer, one of :data:`ANSWERS`.
    check
        What the independent check of the promise found, in a sentence.
    attacks
        Every attack that was tried. Of each only what :func:`attack_content` returns is published.
    untested
        Sentences: attackers that were not tried.
    losses
        Name, value in words and meaning of each measure of what was lost.
    cares
        Sentences: why to use the data with care.
    targets
        For each risk, in words, how much of it the owner accepts.
    title
        What the owner calls the data; may be empty.

    Examples
    --------
    >>> Certificate(answer="do-not-publish")
    Traceback (most recent call last):
    setveil.core.errors.ParameterError: data whose audit says 'do-not-publish' is not published. ...
    """

    answer: str
    check: str = ""
    attacks: tuple[Adversary, ...] = ()
    untested: tuple[str, ...] = ()
    losses: tuple[tuple[str, str, str], ...] = ()
    cares: tuple[str, ...] = ()
    targets: Mapping[str, str] | None = None
    title: str = ""

    def __post_init__(self) -> None:
        if self.answer not in ANSWERS:
            raise ParameterError(
                f"data whose audit says {self.answer!r} is not published",
                fix="choose a run whose answer is publish, or publish with care",
            )


def certificate_of_run(run: RunRecord, result: AuditResult, *, title: str = "") -> Certificate:
    """Return what the owner states about one run of an audit.

    Nothing is taken over that may name original items or the owner's files: no examples, notes or
    descriptions, and not which sources attackers asked.

    Parameters
    ----------
    run
        A run that may be published (:func:`~setveil.audit.verdict.judge_run`).
    result
        The audit.
    title
        What the owner calls the data.
    """
    attacks = tuple(each for each in run.adversaries if each.rate is not None)
    criteria = result.criteria
    return Certificate(
        answer=judge_run(run, criteria).answer,
        check=run.reason,
        attacks=attacks,
        untested=tuple(OPTIONS.sub("", each) for each in result.untested),
        losses=tuple(_losses(run)),
        cares=tuple(_cares(run, criteria)),
        targets={
            NAMES[risk]: f"at most {target_words(criteria, risk)}"
            for risk in RISKS
            if any(each.risk == risk for each in attacks)
        },
        title=title,
    )


def attack_content(each: Adversary) -> dict[str, Any]:
    """Return what the certificate says of an attack; no note, and no example of what it said.

    >>> from setveil.audit import Adversary
    >>> attack_content(Adversary(attack="aba", knows="how words are related: corpus:a"))["knows"]
    'how words are related'
    """
    return {
        "risk": each.risk,
        "attack": each.attack,
        "knows": _known(each),
        "label": each.label,
        "says": _says(each),
        "decides": each.decides,
        "tested": each.tested,
        "right": _per_thousand(each.rate),
        "guessing": _per_thousand(each.baseline, ROUND_FLOOR),
        "control": _per_thousand(each.control, ROUND_FLOOR),
        "gain": won(each.gain),
    }


def _per_thousand(rate: Rate | None, rounding: str = ROUND_CEILING) -> dict[str, Any] | None:
    """Return a rate in people of 1,000, as it is said and as numbers."""
    if rate is None:
        return None
    return {
        "says": people(rate, rounding=rounding),
        "of_1000": of_thousand(rate.value, rounding=rounding),
        "low": of_thousand(rate.low, rounding=ROUND_FLOOR),
        "high": of_thousand(rate.high),
    }


def _known(each: Adversary) -> str:
    """Return what an attacker knows without the source, which names files of the owner's."""
    return each.knows.partition(":")[0]


def _says(each: Adversary) -> str:
    """Return what an attack found as a sentence."""
    return "" if each.rate is None else finding_sentence(each, knows=_known(each))


def _losses(run: RunRecord) -> list[tuple[str, str, str]]:
    """Return the measures that are explained, rounded against the release."""
    return [
        (name, value, meaning) for name, value, meaning in measure_rows(run.measures) if meaning
    ]


def _cares(run: RunRecord, criteria: Criteria) -> list[str]:
    """Return why to use the data with care, as recipients are told it."""
    said = []
    if run.loss is not None and run.loss > criteria.max_loss:
        said.append(
            f"Counts of one and two items are off by {lost(run.loss)} on average; the owner had "
            f"allowed {lost(criteria.max_loss)}."
        )
    if run.group_size is None:
        said.append("The promise does not say among how many people each one is hidden.")
    elif run.group_size < criteria.min_k:
        said.append(
            f"The promise hides each person among {plural(run.group_size, 'person', 'people')}; "
            f"the owner had asked for at least {criteria.min_k:,}."
        )
    return said


def certificate_content(
    certificate: Certificate, manifest: Manifest, export: Export, files: Mapping[str, str]
) -> dict[str, Any]:
    """Return what ``certificate.json`` says.

    Parameters
    ----------
    certificate
        What the owner states.
    manifest, export
        The release, and what its tables say.
    files
        The hash of every other file, by name.
    """
    promise = manifest.promise
    return {
        "setveil": MARK,
        "version": VERSION,
        "title": certificate.title,
        "statement": STATEMENT,
        "answer": certificate.answer,
        "answer_says": ANSWERS[certificate.answer],
        "cares": list(certificate.cares),
        "data": {
            "form": manifest.form,
            "meaning": export.meaning,
            "records": manifest.records,
            "terms": len(export.terms),
            "method": manifest.method,
            "params": manifest.params,
        },
        "promise": None
        if promise is None
        else {
            "name": promise["name"],
            "params": promise["params"],
            "says": sentence(promise.get("says", "")),
            "check": sentence(certificate.check),
            "leaves_open": _left_open(manifest, export),
        },
        "verify": {
            "with_setveil": "setveil verify .",
            "without_setveil": instructions(manifest),
        },
        "targets": dict(certificate.targets or {}),
        "attacks": [attack_content(each) for each in certificate.attacks],
        "untested": list(certificate.untested),
        "losses": [
            {"measure": name, "says": value, "meaning": meaning}
            for name, value, meaning in certificate.losses
        ],
        "versions": {
            "setveil": __version__,
            "release_written_by": manifest.tool,
            "release_format": RELEASE_VERSION,
            "certificate": VERSION,
        },
        "files": dict(files),
    }


def instructions(manifest: Manifest) -> str:
    """Return how to check a promise without setveil; "" where there is none."""
    from setveil.guarantee import from_manifest

    if manifest.promise is None:
        return ""
    found = from_manifest(manifest.promise["name"], manifest.promise["params"])
    by_hand = getattr(found, "by_hand", None)
    told = "" if by_hand is None else by_hand()
    return told or "Its definition is in the paper of the method; setveil verify decides it."


def _left_open(manifest: Manifest, export: Export) -> list[str]:
    """Return what a promise does not protect against, in sentences, by what the release shows."""
    from setveil.guarantee import from_manifest

    if manifest.promise is None:
        return []
    found = from_manifest(manifest.promise["name"], manifest.promise["params"])
    unprotected = getattr(found, "unprotected", None)
    shown = [term.term for term in export.terms if term.stands_for == "itself"]
    return [] if unprotected is None else list(unprotected(shown))


def render_certificate(
    certificate: Certificate, manifest: Manifest, export: Export, files: Mapping[str, str]
) -> str:
    """Return the certificate as a page that needs no network and runs no script."""
    from setveil.report.page import page_templates

    content = certificate_content(certificate, manifest, export, files)
    return (
        page_templates()
        .get_template("certificate.html")
        .render(
            content=content,
            title=certificate.title or "Published data",
            care=certificate.answer != "publish",
            risks=_risk_cards(certificate),
            groups=_attack_groups(certificate),
            columns=[
                (table.name, name, meaning)
                for table in export.tables
                for name, meaning in table.columns.items()
            ],
            params=", ".join(f"{name} = {value}" for name, value in _short(manifest.params)),
        )
    )


def _short(params: Mapping[str, Any]) -> list[tuple[str, Any]]:
    """Return the parameters that fit into a line; lists are in the manifest."""
    return [(name, value) for name, value in params.items() if isinstance(value, str | int | float)]


def _risk_cards(certificate: Certificate) -> list[dict[str, str]]:
    """Return how far attackers got in each thing they tried; a risk that nobody tried says so."""
    most = furthest(certificate.attacks)
    cards = []
    for risk, (name, question) in RISKS.items():
        tried = [each for each in most if each.risk == risk]
        cards += [
            {
                "name": name if place == 0 else f"{name}: {each.label.lower()}",
                "question": question,
                "value": people(each.rate).partition(" (")[0],
                "beside": _beside(each),
                "says": _says(each),
            }
            for place, each in enumerate(tried)
        ]
        if not tried:
            empty = {"value": "not measured", "beside": "", "says": ""}
            cards.append({"name": name, "question": question, **empty})
    return cards


def _beside(each: Adversary) -> str:
    """Return the interval of a rate and what guessing gets, in a sentence."""
    assert each.rate is not None
    said = []
    if each.rate.low != each.rate.high:
        interval = people(each.rate).partition(" (")[2].rstrip(")")
        said.append(f"95% interval: {interval}")
    if each.baseline is not None:
        guessing = people(each.baseline, rounding=ROUND_FLOOR).partition(" (")[0]
        said.append(f"guessing: {guessing}")
    if each.tested:
        said.append(plural(each.tested, each.unit))
    return sentence("; ".join(said))


def _attack_groups(certificate: Certificate) -> list[dict[str, Any]]:
    """Return the attacks of each risk as rows: those that decide first."""
    found = []
    for risk, (name, question) in RISKS.items():
        tried = [each for each in certificate.attacks if each.risk == risk]
        rows = [
            {
                "says": _says(each) or f"{each.attack}: {_known(each)}",
                "attack": f"{each.attack}, knows {known}"
                if (known := _known(each))
                else each.attack,
                "right": people(each.rate) if each.rate is not None else "not measured",
                "guessing": people(each.baseline, rounding=ROUND_FLOOR),
                "control": people(each.control, rounding=ROUND_FLOOR),
                "gain": won(each.gain),
                "tested": f"{each.tested:,}" if each.tested else NOT_APPLICABLE,
                "decides": each.decides,
            }
            for each in sorted(tried, key=lambda each: not each.decides)
        ]
        found.append({"name": name, "question": question, "rows": rows})
    return found
