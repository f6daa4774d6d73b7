"""``setveil demo``: the whole way on invented data, from records to a report."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from setveil.cli.output import (
    VIOLATED,
    JsonOption,
    Progress,
    QuietOption,
    compiling_announced,
    emit,
    print_table,
    say,
)

if TYPE_CHECKING:
    from setveil.audit import Run
    from setveil.data.synthetic import Synthetic
    from setveil.data.table import TransactionTable

SIZES = (2, 5, 10)
WISHED_K = 5
SEED = 1

VARIANTS: dict[str, tuple[dict[str, Any], ...]] = {
    "gather": ({"effort": "fast"}, {"effort": "balanced"}),
}
"""Methods that are worth showing in more than one way; all others run with their defaults."""

OTHER_PROMISES: tuple[tuple[str, dict[str, Any]], ...] = (
    ("apriori-km", {"k": WISHED_K, "m": 2}),
    ("td-control", {"rho": 0.5}),
)
"""Methods for other worries than being found among whole records, one setting each."""


def demo(
    *,
    out: Annotated[
        Path, typer.Option("--out", "-o", metavar="DIR", help="Where everything is written.")
    ] = Path("setveil-demo"),
    records: Annotated[
        int, typer.Option("--records", metavar="N", min=20, help="How many patients to invent.")
    ] = 5000,
    quiet: QuietOption = False,
    json: JsonOption = False,
) -> None:
    """Make clinic data, anonymize, verify and measure it, write a report.

    DIR/publish holds the releases: they may be published. DIR/private holds the records, the
    keys and the report: they may not. Running it again writes the same files again.

    Example: setveil demo --out setveil-demo
    """
    from setveil.audit import recommend
    from setveil.data.synthetic import clinic

    data = clinic(n=records, seed=SEED)
    say(f"{data.description}; {len(data.table.items):,} items in all", quiet=quiet)
    publish, private = _folders(out)
    plan = _plan()  # loads the methods, and numba, before compiling is watched
    with Progress(quiet=quiet) as progress, compiling_announced(quiet=quiet):
        _write_data(data, private)
        progress("compiling")
        _compile(plan, data)
        runs = []
        for name, params in plan:
            run = _run(name, params, data, progress=progress, publish=publish, private=private)
            say(f"{run.title}: {run.seconds['anonymize']:.2f} s", quiet=quiet)
            runs.append(run)
        progress("drawing the report")
        report = _write_report(runs, data, private)
    chosen = recommend(runs, k=WISHED_K)
    if json:
        emit(
            {
                "report": str(report),
                "recommended": None if chosen is None else chosen.name,
                "runs": [_as_json(run, publish) for run in runs],
            }
        )
    else:
        _print(runs, chosen, report)
    if not all(run.keeps_promise for run in runs):
        raise typer.Exit(VIOLATED)


def _folders(out: Path) -> tuple[Path, Path]:
    publish, private = out / "publish", out / "private"
    publish.mkdir(parents=True, exist_ok=True)
    private.mkdir(exist_ok=True)
    private.chmod(0o700)  # the records and the keys are the owner's
    return publish, private


def _plan() -> list[tuple[str, dict[str, Any]]]:
    """Return the methods that make whole records alike, at each k, and a few for other worries.

    Whole records are what a method is about that generalizes and whose only letter is k; with an
    m beside it, k counts something else.
    """
    from setveil.audit import applicable
    from setveil.registry import params_of

    plan: list[tuple[str, dict[str, Any]]] = []
    for entry in applicable(taxonomy=True):
        letters = {param.name for param in params_of(entry.target)}
        needed: frozenset[str] = getattr(entry.target, "requires", frozenset())
        if "taxonomy" in needed and "k" in letters and "m" not in letters:
            plan += [
                (entry.name, {**variant, "k": k})
                for variant in VARIANTS.get(entry.name, ({},))
                for k in SIZES
            ]
    return [*plan, *OTHER_PROMISES]


def _write_data(data: "Synthetic", private: Path) -> None:
    from setveil.data.whole_file import write_whole
    from setveil.data.writers import write

    write(data.table, private / "clinic.jsonl")
    data.taxonomy.write_arx(private / "taxonomy.csv")
    write_whole(private / "sensitive.txt", "".join(f"{item}\n" for item in data.sensitive))


def _compile(plan: list[tuple[str, dict[str, Any]]], data: "Synthetic") -> None:
    """Run every method once on a few records, so that no timing includes the compiler's."""
    from setveil.audit import run_method

    few = data.table.take(range(min(200, len(data.table))))
    for name, params in plan:
        if params.get("k") in {None, SIZES[0]} or "m" in params:
            run_method(name, params, few, data.taxonomy, sensitive=_among(data, few))


def _among(data: "Synthetic", table: "TransactionTable") -> list[str]:
    """Return the sensitive items that occur in a part of the data."""
    supports = table.supports()
    return [item for item in data.sensitive if supports[table.vocabulary.number(item)]]


def _run(
    name: str,
    params: dict[str, Any],
    data: "Synthetic",
    *,
    progress: Progress,
    publish: Path,
    private: Path,
) -> "Run":
    """Run a method and save what it made; what is judged is what was written."""
    from setveil.audit import run_method, save_run

    run = run_method(
        name, params, data.table, data.taxonomy, sensitive=data.sensitive, progress=progress
    )
    return save_run(run, publish / run.name, private / f"{run.name}.key")


def _write_report(runs: "list[Run]", data: "Synthetic", private: Path) -> Path:
    from setveil.data.whole_file import write_whole
    from setveil.report import render
    from setveil.report.words import sentence

    page = render(
        runs,
        table=data.table,
        taxonomy=data.taxonomy,
        title="A clinic's records",
        description=sentence(data.description),
        wished_k=WISHED_K,
    )
    report = private / "report.html"
    write_whole(report, page)
    return report


def _as_json(run: "Run", publish: Path) -> dict[str, Any]:
    return {
        "method": run.method,
        "params": run.params,
        "release": str(publish / run.name),
        "keeps_promise": run.keeps_promise,
        "consistent": run.consistent,
        "seconds": run.seconds,
        **run.measures,
    }


def _print(runs: "list[Run]", chosen: "Run | None", report: Path) -> None:
    from setveil.report.words import kept, lost

    rows = [
        (
            run.variant,
            str(run.params.get("k", "")).rjust(2),
            "kept" if run.keeps_promise else "BROKEN",
            lost(run.measures["ggd_share"]).rjust(11),
            kept(run.measures["items_exact"]).rjust(9),
            lost(run.measures["items_suppressed"]).rjust(8),
            "*" if run is chosen else "",
        )
        for run in runs
    ]
    head = ["method", " k", "promise", "detail lost", "as it was", "left out", ""]
    print_table(head, rows)
    good = sum(run.keeps_promise for run in runs)
    typer.echo(
        f"\n{good} of {len(runs)} releases keep their promise, checked in the files written."
    )
    if chosen is not None:
        typer.echo(f"* the least detail lost among those that keep k = {WISHED_K}")
    typer.echo(f"report: {report}")
