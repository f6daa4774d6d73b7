"""``setveil demo``: an audit of invented data, and a story: safe by promise, opened, made safe."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from setveil.cli.audit_result import line, tell
from setveil.cli.output import (
    VIOLATED,
    JsonOption,
    Progress,
    QuietOption,
    compiling_announced,
    say,
)

if TYPE_CHECKING:
    from setveil.audit import Adversary, AuditResult, RunRecord
    from setveil.audit.store import Store
    from setveil.data.synthetic import Synthetic

SEED = 1
OTHERS = 2
"""Seed of the patients that the adversaries' notes are about."""
NOTES = 3000
TARGET = 0.1
USUAL = ("coat:k=5,s=1,constrained=1", "disassociate:k=5,m=2", "gather:k=5")
"""What one might publish without a further thought."""
STRONGER = (
    "coat:k=5|25|50|100,s=1,constrained=1,objective=null,utility=null|alone",
    "safe-disassociate:k=5,m=2,max_cluster_size=null,refine=null|false,max_share=1|0.25|0.1",
)
"""What is then made stronger, each by itself."""
ATTACKS = ("linkage", "rba", "shadow", "prior", "semantic-prior")
"""Some of the adversaries, so that it takes two minutes."""
BY_MEANING = {"rba", "shadow", "semantic-prior"}
WORKERS: int | None = None
"""Processes; None for what an audit takes."""


def demo(
    *,
    out: Annotated[
        Path, typer.Option("--out", "-o", metavar="DIR", help="Where everything is written.")
    ] = Path("setveil-demo"),
    records: Annotated[
        int,
        typer.Option(
            "--records",
            metavar="N",
            min=20,
            max=1_000_000,
            help="How many patients to invent.",
        ),
    ] = 2000,
    data_only: Annotated[
        bool, typer.Option("--data-only", help="Write the invented records, and stop.")
    ] = False,
    quiet: QuietOption = False,
    json: JsonOption = False,
) -> None:
    """Audit an invented clinic, harden what attacks open, write a report.

    DIR/publish holds the releases, DIR/private the records, the keys and the report, which may
    not be published. Running it again writes the same files again.

    Example: setveil demo --out setveil-demo
    """
    from setveil.data.synthetic import clinic

    store = _opened(out)
    data = clinic(n=records, seed=SEED)
    say(f"{data.description}; {len(data.table.items):,} items in all", quiet=quiet)
    if data_only:
        _write_data(data, store.private)
        return
    with Progress(quiet=quiet) as progress, compiling_announced(quiet=quiet):
        result = _audited(data, store, progress, quiet=quiet)
    tell(result, out, seed=None, json=json)
    if not all(run.verified for run in result.runs):
        raise typer.Exit(VIOLATED)


def _audited(
    data: "Synthetic", store: "Store", progress: Progress, *, quiet: bool
) -> "AuditResult":
    """Publish as usual, make it stronger, and put all of it into one result."""
    from setveil.audit import audit, harden
    from setveil.words import sentence

    _write_data(data, store.private)

    def told(record: "RunRecord", done: int, total: int) -> None:
        progress("trying settings", done, total)
        say(line(record, done, total), quiet=quiet)

    given: dict[str, Any] = {
        "out": store.folder,
        "taxonomy": data.taxonomy,
        "sensitive": data.sensitive,
        "target": TARGET,
        "attacks": ATTACKS,
        "relatedness": [f"corpus:{_write_notes(store.private)}"],
        "seed": SEED,
        "workers": WORKERS,
    }
    progress("trying settings")
    usual = audit(data.table, methods=USUAL, told=told, **given)
    stronger = harden(data.table, methods=STRONGER, each=True, told=told, **given)
    tried = {run.name: run for run in (*usual.runs, *stronger.runs)}
    whole = audit(  # every run is there already
        data.table,
        methods=[_text(run) for run in tried.values()],
        title="A clinic's records",
        description=sentence(data.description),
        **given,
    )
    told_story = replace(
        whole,
        reasons=(*whole.reasons, *_story(usual, stronger)),
        notes=(*stronger.notes[: len(STRONGER)], *whole.notes),
    )
    store.keep_result(told_story)
    return told_story


def _opened(out: Path) -> "Store":
    from setveil.audit.store import Store

    return Store.opened(out)


def _text(run: "RunRecord") -> str:
    import json

    listed = (
        f"{name}={value if isinstance(value, str) else json.dumps(value)}"
        for name, value in run.params.items()
    )
    return f"{run.method}:{','.join(listed)}"


def _story(usual: "AuditResult", stronger: "AuditResult") -> list[str]:
    """Return what the runs show, one after the other, in sentences."""
    from setveil.audit.advice import advise, in_words, share

    said = []
    for run, text in zip(usual.runs, STRONGER, strict=False):
        worst = _by_meaning(run)
        if worst is None or run.risk is None or run.loss is None:
            continue
        promise = (
            "keeps its promise, checked in its files" if run.verified else "BREAKS its promise"
        )
        said.append(f"{run.title} {promise}; but: {in_words(worst)}{_beside(run, worst)}")
        tried = [each for each in stronger.runs if each.method == text.partition(":")[0]]
        chosen = advise(tried, target=TARGET, attacks=ATTACKS).recommended
        best = next((each for each in tried if each.id == chosen), None)
        if best is None or best.risk is None or best.loss is None:
            said.append(f"None of {len(tried)} stronger settings brings that to the target.")
        else:
            said.append(
                f"Hardening: {best.title} lowers the risk from {share(run.risk)} to "
                f"{share(best.risk)}; counts are off by {share(best.loss)} instead of "
                f"{share(run.loss)}."
            )
    return said


def _beside(run: "RunRecord", worst: "Adversary") -> str:
    """Return what of an attack's success is not owed to meaning, as far as that was measured."""
    from setveil.audit.advice import share

    if worst.control is not None:
        return f" With the records' contexts exchanged it is {share(worst.control.value)}."
    for each in run.adversaries:
        if each.attack == "prior" and worst is not each and each.rate is not None:
            return f" By the release's own counts alone (prior) it is {share(each.rate.value)}."
    return ""


def _by_meaning(run: "RunRecord") -> "Adversary | None":
    """Return the worst attack that knows what words mean; else the worst."""
    tried = [each for each in run.adversaries if each.attack in BY_MEANING]
    return replace(run, adversaries=tuple(tried)).worst or run.worst


def _write_data(data: "Synthetic", private: Path) -> None:
    from setveil.core.files import write_whole
    from setveil.io.writers import write

    write(data.table, private / "clinic.jsonl")
    data.taxonomy.write_arx(private / "taxonomy.csv")
    write_whole(private / "sensitive.txt", "".join(f"{item}\n" for item in data.sensitive))


def _write_notes(private: Path) -> Path:
    """Index what adversaries have read: notes about other patients, which anybody may have."""
    from setveil.data.synthetic import clinic
    from setveil.relatedness.index_build import build_index

    index, made = private / "notes.index", private / "notes.index.new"
    rows = clinic(n=NOTES, seed=OTHERS).table.to_rows()
    build_index((", ".join(row) for row in rows), made, singulars=False)
    if index.is_file() and index.read_bytes() == made.read_bytes():
        made.unlink()  # runs that asked the same index are kept
    else:
        made.replace(index)
    return index
