"""``setveil inspect``: how a data file is read, what it holds, how easily it gives people away."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from setveil.cli.options import SeedOption, argument, expand_options, must_be_free, option
from setveil.cli.output import JsonOption, Progress, QuietOption, echo, emit, print_table
from setveil.cli.reading import Reading, identity_sentence

if TYPE_CHECKING:
    from setveil.core.table import TransactionTable
    from setveil.io.identifiers import Finding
    from setveil.io.layout import Layout, ReadReport
    from setveil.measure.profile import Profile

FIRST = 3
"""How many records are shown."""


@expand_options
def inspect(
    *,
    data: str = argument("DATA", "File of records; - reads the standard input."),
    m: int = option(3, "Greatest number of items an adversary knows.", min=0),
    samples: int = option(1000, "Draws where a share must be estimated.", min=1),
    reading: Reading,
    save_layout: Path | None = option(
        None, "Write how DATA is laid out, for --layout.", metavar="FILE"
    ),
    force: bool = option(False, "Replace the file of the layout."),
    seed: SeedOption = None,
    quiet: QuietOption = False,
    json: JsonOption = False,
) -> None:
    """Show how a data file is read and how easily its records are recognised.

    First the role of each column with three sample values (masked where they look like
    identities) and the first records; then sizes; then the shares of records that one, two, three
    known items single out: counted where that is cheap, otherwise estimated with a 95% interval.
    Nothing is written unless --save-layout asks for it.

    Example: setveil inspect visits.csv --save-layout layout.toml
    """
    import numpy as np

    from setveil.core.files import write_whole
    from setveil.io.identifiers import find_identifiers
    from setveil.measure.profile import profile

    if save_layout is not None:
        must_be_free(save_layout, force=force, inputs=[data])
    with Progress(quiet=quiet) as progress:
        progress("reading")
        table = reading.read(data, quiet=quiet)
        report = table.reading
        assert report is not None
        progress("counting")
        rng = None if seed is None else np.random.default_rng(seed)
        found = profile(table, m=m, samples=samples, rng=rng)
        identities = find_identifiers(table, report.columns)
    if save_layout is not None:
        write_whole(save_layout, report.layout.as_toml())
    if json:
        emit(found.as_dict() | _reading_as_dict(table, report, identities))
    else:
        _print_reading(table, report, identities)
        _print(found)
        if save_layout is not None:
            echo()
            echo(f"layout: {save_layout}")


def _columns(report: "ReadReport") -> list[dict[str, Any]]:
    """Return each column with its role and three values; identities are masked."""
    from setveil.io.identifiers import mask

    layout = report.layout
    samples = () if report.detection is None else report.detection.best.samples
    found = []
    for place, column in enumerate(layout.columns):
        values = list(samples[place]) if place < len(samples) else []
        if column.role in {"identifier", "record id"}:
            values = [mask(value) for value in values]
        found.append({"name": column.name, "role": column.role, "samples": values})
    return found


def _reading_as_dict(
    table: "TransactionTable", report: "ReadReport", identities: "list[Finding]"
) -> dict[str, Any]:
    candidates = () if report.detection is None else report.detection.candidates
    return {
        "reading": report.as_dict(),
        "columns": _columns(report),
        "first_records": [list(table[i]) for i in range(min(FIRST, len(table)))],
        "candidates": [
            {
                "layout": each.layout.as_dict(),
                "score": each.score,
                "reasons": list(each.reasons),
                "option": each.option,
            }
            for each in candidates
        ],
        "identifiers": [
            {
                "column": each.column,
                "kind": each.kind,
                "reason": each.reason,
                "samples": list(each.samples),
            }
            for each in identities
        ],
    }


def _print_reading(
    table: "TransactionTable", report: "ReadReport", identities: "list[Finding]"
) -> None:
    """Print the layout, the columns, the first records, and what looks like an identity."""
    layout = report.layout
    echo(f"layout: {_layout_line(layout)}")
    columns = _columns(report)
    flags = [each for each in columns if each["role"] == "one-hot"]
    if len(flags) > 12:  # hundreds of item columns say nothing more than a few do
        rest = f"… and {len(flags) - 8:,} more"
        kept = [each for each in columns if each not in flags[8:]]
        columns = [*kept, {"name": rest, "role": "one-hot", "samples": []}]
    if columns:
        print_table(
            ["column", "role", "values"],
            [
                (each["name"] or "(no name)", each["role"], ", ".join(map(_short, each["samples"])))
                for each in columns
            ],
        )
    for number in range(min(FIRST, len(table))):
        echo(f"record {number + 1}: {', '.join(map(_short, table[number][:12])) or '(empty)'}")
    if identities:
        echo("Some items look like identities, and would stop anonymize, audit and harden:")
        for each in identities[:5]:
            echo(identity_sentence(each))
    echo()


def _layout_line(layout: "Layout") -> str:
    parts = [layout.format]
    if layout.delimiter:
        parts.append(f"delimiter {layout.delimiter!r}")
    if layout.columns:
        parts.append("with a header" if layout.header else "without a header")
    if separators := sorted({each.separator for each in layout.columns if each.separator}):
        parts.append(f"items in a cell separated by {', '.join(map(repr, separators))}")
    if layout.table:
        parts.append(f"table {layout.table!r}")
    if layout.delimiter:
        parts.append(layout.encoding)
    return ", ".join(parts)


def _short(text: str) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= 30 else f"{flat[:29]}…"


def _print(found: "Profile") -> None:
    median = int(found.length_median) if found.length_median % 1 == 0 else found.length_median
    lengths = f"{found.length_min:,} to {found.length_max:,}"
    top = [f"{item} ({records / found.records:.1%})" for item, records in found.top_items]
    print_table(
        ["figure", "value"],
        [
            ("records", f"{found.records:,}"),
            ("different items", f"{found.items:,}"),
            ("items over all records", f"{found.occurrences:,}"),
            ("items per record", f"{lengths}, median {median:,}, mean {found.length_mean:.2f}"),
            ("density", f"{found.density:.3%}"),
            ("type-token ratio (ttr)", f"{found.ttr:.4f}"),
            ("records without items", f"{found.empty_records:,}"),
            ("records that repeat another", f"{found.duplicate_records:,}"),
            ("items in a single record", f"{found.rare_items:,}"),
            ("most frequent items", ", ".join(top) or "none"),
        ],
    )
    said = found.sentences()
    if said:
        echo()
    for sentence in said:
        echo(sentence)
