"""From runs to the page: the verdict, the pictures with their tables, the data, the template."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from setveil import __version__
from setveil.audit import recommend, tree_over
from setveil.errors import ParameterError
from setveil.measure.profile import profile
from setveil.registry import find
from setveil.report import charts
from setveil.report.details import COLUMNS, SHOWN, describe_run
from setveil.report.words import NOT_APPLICABLE, about, kept, lost, number, plural, sentence

if TYPE_CHECKING:
    from collections.abc import Sequence

    from setveil.audit import Run
    from setveil.data.table import TransactionTable
    from setveil.data.taxonomy import Taxonomy
    from setveil.measure.profile import Profile

    Table = dict[str, list[Any]]

KNOWN = 3
"""How many items of a person an acquaintance may know, at most, in the uniqueness curve."""

PARTS = ("as it was", "more general", "left out")


def render(
    runs: Sequence[Run],
    *,
    table: TransactionTable,
    taxonomy: Taxonomy,
    title: str,
    description: str,
    wished_k: int,
) -> str:
    """Return the page as text; the same runs give the same bytes, timings aside.

    Parameters
    ----------
    runs
        What :func:`setveil.audit.run_method` returned, at least one.
    table, taxonomy
        The original data.
    title, description
        What a reader calls the data, and a sentence about it.
    wished_k
        The protection that is asked for: the page recommends the release that keeps it at the
        least loss.
    """
    from jinja2 import Environment, PackageLoader, StrictUndefined  # noqa: PLC0415  (start-up time)
    from markupsafe import Markup  # noqa: PLC0415  (start-up time)

    if not runs:
        raise ParameterError("a report needs at least one run", fix="run a method first")
    before = profile(table, m=KNOWN, top=SHOWN)
    tree = tree_over(table, taxonomy)
    chosen = recommend(runs, k=wished_k)
    privacy, privacy_chart = _privacy(runs)
    parts, parts_chart = _parts(runs, wished_k)
    unique, unique_chart = _unique(before)
    specs = {"privacy": privacy_chart, "parts": parts_chart, "unique": unique_chart}
    # Vega escapes the texts in its drawings (tested), so they go onto the page as they are.
    drawn = {name: Markup(charts.draw(spec)) if spec else "" for name, spec in specs.items()}  # noqa: S704
    pages = Environment(
        loader=PackageLoader("setveil.report"), autoescape=True, undefined=StrictUndefined
    )
    return pages.get_template("page.html").render(
        version=__version__,
        title=title,
        description=description,
        wished_k=wished_k,
        has_choice=chosen is not None,
        verdict=_verdict(runs, chosen, wished_k),
        figures=_figures(chosen, before),
        charts=drawn,
        hollow="" if all(run.keeps_promise for run in runs) else "Hollow: promise not kept. ",
        privacy=privacy,
        others=_others(runs),
        parts=parts,
        unique=unique,
        size=_size(before, taxonomy),
        common=_common(before),
        columns=[{"name": name, "how": how} for name, how in COLUMNS.items()],
        runs=[describe_run(run, before.top_items, tree, chosen=run is chosen) for run in runs],
        methods=[find("anonymizer", name) for name in dict.fromkeys(run.method for run in runs)],
    )


# --- the first screen -------------------------------------------------------------------------


def _verdict(runs: Sequence[Run], chosen: Run | None, wished_k: int) -> dict[str, Any]:
    broken = [run for run in runs if run.verdict is not None and not run.keeps_promise]
    silent = [run for run in runs if run.verdict is None]
    untrue = [run for run in runs if not run.consistent]
    promising = len(runs) - len(silent)
    kept_count = promising - len(broken)
    if kept_count == promising:
        lead = f"All {number(promising)} releases keep their promise."
        if promising == 1:
            lead = "The one release keeps its promise."
    else:
        lead = f"{number(kept_count)} of {plural(promising, 'release')} keep their promise."
    warnings = [f"Do not publish {run.title}: its promise is not kept." for run in broken]
    warnings += [f"{run.title} promises nothing." for run in silent]
    warnings += [f"Do not publish {run.title}: it says things that are false." for run in untrue]
    if chosen is None:
        advice = f"None of them keeps k = {wished_k}. Publish nothing yet: try another method."
    else:
        advice = (
            f"Recommended for k = {wished_k}: {chosen.title}. Among the releases that keep it, it "
            f"loses the least detail ({lost(chosen.measures['ggd_share'])})."
        )
    return {
        "good": promising > 0 and not broken and not untrue and chosen is not None,
        "lead": lead if promising else "No release promises anything.",
        "advice": advice,
        "warnings": warnings,
    }


def _figures(chosen: Run | None, before: Profile) -> list[dict[str, str]]:
    alone = {
        "value": about(before.uniqueness[-1].value) if before.uniqueness else NOT_APPLICABLE,
        "what": "original records stand alone, for someone who knows "
        f"{plural(KNOWN, 'item')} of a person",
        "how": "This is the danger that anonymizing is to remove.",
    }
    if chosen is None:
        return [alone]
    return [
        alone,
        {
            "value": f"at least {number(chosen.k_alone)}",
            "what": "equal records around each person in the recommended release",
            "how": "Even someone who knows all of a person's items cannot tell these records "
            "apart. Counted in the published records, not taken from the method.",
        },
        {
            "value": lost(chosen.measures["ggd_share"]),
            "what": "of the items' detail is lost",
            "how": "0%: published as it was. 100%: nothing but the number of records is left. "
            f"{kept(_share(chosen, 'items_exact'))} of all items are published unchanged.",
        },
    ]


# --- pictures, each with its table ----------------------------------------------------------------


def _privacy(runs: Sequence[Run]) -> tuple[Table, dict[str, Any]]:
    """Return the loss of each method at each k, as a table and as a chart."""
    points: charts.Values = [
        {
            "x": _equal_records(run),
            "y": run.measures["ggd_share"],
            "series": run.variant,
            "ok": run.keeps_promise,
        }
        for run in runs
    ]
    points = [point for point in points if point["x"] is not None and point["y"] is not None]
    spec = charts.curves(points, x_title="k: equal records, at least", y_title="detail lost")
    loss = {(point["series"], point["x"]): lost(point["y"]) for point in points}
    sizes = sorted({k for _, k in loss})
    rows = [
        [series, *(loss.get((series, k), "") for k in sizes)]
        for series in dict.fromkeys(series for series, _ in loss)
    ]
    return {"head": ["detail lost", *(f"k = {k}" for k in sizes)], "rows": rows}, spec


def _equal_records(run: Run) -> int | None:
    """Return the k of a run for the pictures over k; None where it is about something else."""
    k: int | None = run.params.get("k")
    return k if run.promise is None else run.k_alone


def _others(runs: Sequence[Run]) -> Table:
    """Return the runs that promise something else than equal records, in words."""
    rows = [
        [
            run.title,
            sentence(run.promise.describe()),
            "kept" if run.keeps_promise else "not kept",
            lost(run.measures.get("ggd_share")),
            kept(run.measures.get("items_exact")),
            lost(run.measures.get("items_suppressed")),
        ]
        for run in runs
        if run.promise is not None and run.k_alone is None
    ]
    return {
        "head": ["release", "what is promised", "", "detail lost", "as it was", "left out"],
        "rows": rows,
    }


def _share(run: Run, measure: str) -> float | None:
    value = run.measures.get(measure)
    return None if value is None else float(value)


def _parts(runs: Sequence[Run], wished_k: int) -> tuple[Table, dict[str, Any] | None]:
    """Return what became of the items at the wished k, as a table and as a chart."""
    rows, values = [], []
    for run in runs:
        exact, gone = _share(run, "items_exact"), _share(run, "items_suppressed")
        if _equal_records(run) != wished_k or exact is None or gone is None:
            continue
        between = max(0.0, 1 - exact - gone)
        rows.append([run.variant, kept(exact), kept(between), lost(gone)])
        values += [
            {"row": run.variant, "part": part, "share": share}
            for part, share in zip(PARTS, (exact, between, gone), strict=True)
        ]
    spec = charts.stacks(values, parts=PARTS, x_title="share of item occurrences")
    return {"head": ["method", *PARTS], "rows": rows}, spec if rows else None


def _unique(before: Profile) -> tuple[Table, dict[str, Any]]:
    rows, values = [], []
    for m, rate in enumerate(before.uniqueness, start=1):
        interval = "" if rate.exact else f", {kept(rate.low)} to {lost(rate.high)} at 95%"
        rows.append([m, about(rate.value) + interval])
        values.append({"x": str(m), "y": rate.value, "label": lost(rate.value)})
    spec = charts.bars(values, x_title="items known about a person", y_title="records alone")
    return {"head": ["items known", "records that stand alone"], "rows": rows}, spec


# --- the data -----------------------------------------------------------------------------------


def _size(before: Profile, tree: Taxonomy) -> Table:
    rows = [
        ["records", number(before.records)],
        ["different items", number(before.items)],
        ["item occurrences", number(before.occurrences)],
        ["items per record, mean", number(before.length_mean, 1)],
        ["items per record, most", number(before.length_max)],
        ["records without items", number(before.empty_records)],
        ["records that repeat another", number(before.duplicate_records)],
        ["items in a single record", number(before.rare_items)],
        ["taxonomy", f"{plural(len(tree), 'node')}, height {tree.height}"],
    ]
    return {"head": ["what", "how many"], "rows": rows}


def _common(before: Profile) -> Table:
    rows = [[item, number(records)] for item, records in before.top_items]
    return {"head": ["item", "records"], "rows": rows}
