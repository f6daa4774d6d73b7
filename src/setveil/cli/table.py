"""``setveil table METHOD``: schemes for tables of columns, and the check of what they promise."""

import inspect
import re
from collections.abc import Callable, Sequence
from dataclasses import MISSING, fields
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from setveil.cli.options import (
    STDOUT,
    CommandGroup,
    DelimiterOption,
    ForceDataOption,
    SeedOption,
    TaxonomyOption,
    argument,
    check_output,
    command_app,
    expand_options,
    only_one_stdin,
    option,
    option_group,
    read_taxonomy,
    set_parameters,
    single_command,
    warn_of_formulas,
)
from setveil.cli.output import (
    UNDECIDED,
    VIOLATED,
    JsonOption,
    Progress,
    QuietOption,
    announce_compiling,
    echo,
    emit,
    say,
)
from setveil.cli.reading import warn_of_variants
from setveil.cli.verify import exit_code, print_verdict, verdict_json
from setveil.core.errors import ParameterError

if TYPE_CHECKING:
    import numpy as np
    import polars as pl

    from setveil.guarantee.base import Verdict


WIDTHS = re.compile(r"\s*\d+(\.\d+)?\s*(,\s*\d+(\.\d+)?\s*)*")
LISTS = (".parquet", ".jsonl", ".ndjson")
"""Endings of files that can hold lists and that no spreadsheet opens."""

QuasiOption = Annotated[
    list[str],
    typer.Option("--quasi", metavar="COLUMN", help="Column that people may know; repeatable."),
]
KOption = Annotated[int, typer.Option("--k", help="Least number of rows that look alike.")]
HierarchyOption = Annotated[
    list[str] | None,
    typer.Option(
        "--hierarchy",
        metavar="COLUMN=FILE|WIDTHS",
        help="Tree of a column, or widths of intervals such as Age=5,10; repeatable.",
    ),
]
SensitiveColumn = Annotated[
    str, typer.Option("--sensitive", metavar="COLUMN", help="The sensitive column.")
]
LOption = Annotated[
    int, typer.Option("--l", help="No value has more than one in l of a group's rows.")
]
ColumnsOption = Annotated[
    list[str], typer.Option("--column", metavar="COLUMN", help="Column to change; repeatable.")
]


@option_group
class TableJob:
    """The options that all schemes share: what is read, and where the result goes."""

    data: str = argument("DATA", "Table with a header; - reads stdin.")
    out: str = option(..., "File to write; - is stdout.", "-o", "--out", metavar="OUT")
    delimiter: DelimiterOption = None
    force: ForceDataOption = False
    quiet: QuietOption = False
    json: JsonOption = False

    def read(self, *more_outs: str, inputs: Sequence[str] = ()) -> "pl.DataFrame":
        """Refuse outputs that could not be written in the end, then read the table."""
        from setveil.tabular.files import read_frame

        only_one_stdin(self.data, *inputs)
        for out in (self.out, *more_outs):
            check_output(
                out, "the table", force=self.force, json=self.json, inputs=[self.data, *inputs]
            )
        return read_frame(self.data, delimiter=self.delimiter)

    def change(self, scheme: Callable[..., Any], *more_outs: str, **options: Any) -> Any:
        """Read the table and change it by a scheme."""
        with Progress(quiet=self.quiet) as progress:
            frame = self.read(*more_outs)
            progress("working")
            return scheme(frame, **options)

    def tell(
        self, method: str, lines: Sequence[str], promise: str | None, **result: object
    ) -> None:
        """Print what was made as JSON, or as lines, unless a table itself went to stdout."""
        if self.json:
            emit({"file": self.out, "method": method, **result, "promise": promise})
        elif STDOUT not in {self.out, result.get("sensitive_file")}:
            for line in (*lines, f"promise: {promise or 'none'}"):
                echo(line)
            if "checked" in result:
                echo(f"checked: {result['checked']}")


def write_output(frame: "pl.DataFrame", out: str) -> None:
    """Write a table; the file appears whole or not at all."""
    import polars as pl

    from setveil.tabular.files import write_frame

    write_frame(frame, out)
    if not out.endswith(LISTS):
        texts = [column.drop_nulls() for column in frame.select(pl.col(pl.String)).iter_columns()]
        warn_of_formulas(chain(frame.columns, *texts), out)


def generator(seed: int | None) -> "np.random.Generator | None":
    """Return what draws at random with a seed; without one the operating system does."""
    import numpy as np

    return None if seed is None else np.random.default_rng(seed)


# --- hierarchies of columns ---------------------------------------------------------------------


def named_hierarchy(text: str) -> tuple[str, str]:
    """Split COLUMN=FILE or COLUMN=WIDTHS.

    >>> named_hierarchy("Age=5,10")
    ('Age', '5,10')
    """
    widths = WIDTHS.fullmatch(text.rpartition("=")[2])
    column, found, tree = text.rpartition("=") if widths else text.partition("=")
    if not found or not column or not tree:
        raise ParameterError(
            f"--hierarchy is {text!r}", fix="write COLUMN=FILE or COLUMN=5,10,20 for intervals"
        )
    return column, tree


def column_tree(text: str, *, quiet: bool) -> Any:
    """Return intervals of these widths, or the tree in this file."""
    from setveil.tabular import Intervals

    if WIDTHS.fullmatch(text):
        return Intervals(
            *(float(width) if "." in width else int(width) for width in text.split(","))
        )
    return read_taxonomy(text, quiet=quiet)


def tree_files(trees: Sequence[tuple[str, str]]) -> list[str]:
    """Return the files among the hierarchies.

    >>> tree_files([("Age", "5,10"), ("Job", "jobs.csv")])
    ['jobs.csv']
    """
    return [text for _, text in trees if not WIDTHS.fullmatch(text)]


# --- schemes that promise k-anonymity -----------------------------------------------------------


def _scheme(
    name: str, line: str, *, trees: bool = False, draws: bool = False
) -> Callable[..., None]:
    """Return the command of a scheme that makes a table k-anonymous."""

    @expand_options
    def command(
        *,
        quasi: QuasiOption,
        k: KOption = 5,
        hierarchy: HierarchyOption = None,
        seed: SeedOption = None,
        job: TableJob,
    ) -> None:
        from setveil import tabular

        named = [named_hierarchy(text) for text in hierarchy or []]
        with Progress(quiet=job.quiet) as progress:
            frame = job.read(inputs=tree_files(named))
            more: dict[str, Any] = {"rng": generator(seed)} if draws else {}
            if trees:
                more["hierarchies"] = {
                    column: column_tree(text, quiet=job.quiet) for column, text in named
                }
            progress("generalizing" if trees else "suppressing")
            run = getattr(tabular, name.replace("-", "_"))
            done = run(frame, quasi=quasi, k=k, **more)
        _publish(job, name, done, rows_before=len(frame))

    unused = ({"hierarchy"} if not trees else set()) | ({"seed"} if not draws else set())
    parameters = inspect.signature(command).parameters
    set_parameters(command, [p for n, p in parameters.items() if n not in unused])
    drawn = "Which of equal rows are told is drawn at random.\n\n" if draws else ""
    example = f"setveil table {name} people.csv --quasi Age --quasi Job --k 2 -o public.csv"
    command.__doc__ = f"{line}\n\n{drawn}Example: {example}\n"
    return command


def _publish(job: TableJob, name: str, done: Any, *, rows_before: int) -> None:
    """Check the table by itself, write it, and say what it promises."""
    from setveil.core.words import plural
    from setveil.tabular.check_anonymity import KAnonymity

    promise = KAnonymity(quasi=done.quasi, k=done.k)
    verdict = promise.check(done.frame)
    if not verdict.holds:
        say(f"setveil: nothing is written, as the table breaks its promise: {verdict.reason}")
        raise typer.Exit(VIOLATED)
    write_output(done.frame, job.out)
    classes = len(set(done.classes.tolist()))
    rows = plural(len(done), "row")
    job.tell(
        name,
        [
            f"{job.out}: {rows} in {plural(classes, 'class', 'classes')} by {name}",
            *(f"note: {note}" for note in done.notes),
        ],
        promise.describe(),
        rows=len(done),
        rows_before=rows_before,
        classes=classes,
        checked=verdict.reason,
        notes=list(done.notes),
    )


# --- schemes that set a column apart, or blur it ------------------------------------------------


@expand_options
def anatomize(
    *,
    sensitive_out: str = option(..., "File for the groups' values.", metavar="FILE"),
    sensitive: SensitiveColumn,
    l: LOption = 2,
    seed: SeedOption = None,
    job: TableJob,
) -> None:
    """Publish a sensitive column apart, joined by groups only.

    Example: setveil table anatomize people.csv --sensitive Disease --l 3 -o rows.csv
    --sensitive-out values.csv
    """
    from setveil.tabular import anatomize as run

    out = job.out
    if out == sensitive_out or (
        STDOUT not in {out, sensitive_out} and Path(out).resolve() == Path(sensitive_out).resolve()
    ):
        raise ParameterError(f"both tables would go to {out}", fix="name two files")
    done = job.change(run, sensitive_out, sensitive=sensitive, l=l, rng=generator(seed))
    write_output(done.quasi, out)
    write_output(done.sensitive, sensitive_out)
    groups = int(done.sensitive["group"].n_unique())
    job.tell(
        "anatomize",
        [
            f"{out}: {len(done):,} rows in {groups:,} groups by anatomize",
            f"{sensitive_out}: the values of {sensitive} in each group",
        ],
        _group_promise(sensitive, l),
        sensitive_file=sensitive_out,
        rows=len(done),
        groups=groups,
    )


@expand_options
def permute(
    *,
    sensitive: SensitiveColumn,
    l: LOption = 2,
    spread: float = option(0.0, "Least range of a group's sensitive numbers."),
    seed: SeedOption = None,
    job: TableJob,
) -> None:
    """Shuffle a sensitive column within groups.

    Example: setveil table permute people.csv --sensitive Income --l 3 --spread 10000 -o public.csv
    """
    from setveil.tabular import permute as run

    done = job.change(run, sensitive=sensitive, l=l, spread=spread, rng=generator(seed))
    write_output(done.frame, job.out)
    groups = int(done.frame["group"].n_unique())
    wide = f", whose numbers are at least {spread:g} apart" if spread else ""
    job.tell(
        "permute",
        [f"{job.out}: {len(done):,} rows in {groups:,} groups by permute"],
        _group_promise(sensitive, l) + wide,
        rows=len(done),
        groups=groups,
    )


def _group_promise(sensitive: str, l: int) -> str:
    return f"no value of {sensitive} has more than one in {l} of a group's rows"


@expand_options
def noise(
    *,
    column: ColumnsOption,
    share: float = option(1.0, "Deviation of the noise, as a share of the column's."),
    distribution: Literal["gaussian", "laplace", "uniform"] = option(
        "gaussian", "What the noise is drawn from."
    ),
    seed: SeedOption = None,
    job: TableJob,
) -> None:
    """Add random numbers to columns; promises nothing.

    Example: setveil table noise people.csv --column Income --share 0.5 -o public.csv
    """
    from setveil.tabular import add_noise

    drawing = {"distribution": distribution, "rng": generator(seed)}
    done = job.change(add_noise, columns=column, share=share, **drawing)
    write_output(done.frame, job.out)
    deviations = ", ".join(f"{name} {each:.4g}" for name, each in done.deviations.items())
    job.tell(
        "noise",
        [
            f"{job.out}: {len(done):,} rows by noise",
            f"standard deviation of the noise, which may be published: {deviations}",
        ],
        None,
        rows=len(done),
        deviations=done.deviations,
    )


@expand_options
def swap(
    *,
    column: ColumnsOption,
    share: float = option(0.1, "Share of rows that take part."),
    window: float = option(1.0, "How far apart in rank two swapped values may be, 0 to 1."),
    seed: SeedOption = None,
    job: TableJob,
) -> None:
    """Exchange values of a column between rows; promises nothing.

    Example: setveil table swap people.csv --column Job --share 0.3 -o public.csv
    """
    from setveil.tabular import swap as run

    done = job.change(run, columns=column, share=share, window=window, rng=generator(seed))
    write_output(done.frame, job.out)
    line = f"{job.out}: {len(done):,} rows by swap"
    job.tell("swap", [line], None, rows=len(done), moved=done.moved)


# --- tables with one set-valued column ----------------------------------------------------------


@expand_options
def relational_transaction(
    *,
    quasi: QuasiOption,
    items: str = option(..., "The set-valued column: lists, or a|b in one cell.", metavar="COLUMN"),
    k: KOption = 5,
    m: int = option(2, "Greatest number of items someone may know."),
    rows: int | None = option(None, "Least number of rows of a class; 4 times k if not given."),
    taxonomy: TaxonomyOption = None,
    method: Literal["hghs", "apriori-km"] = option(
        "hghs", "What is run on the items of each class."
    ),
    hierarchy: HierarchyOption = None,
    job: TableJob,
) -> None:
    """Anonymize a table with a set-valued column: one promise for both parts.

    Mondrian on the plain columns, a method for items within each class. Afterwards the promise
    is checked from what is written only.

    Example: setveil table relational-transaction people.csv --quasi age --items visits -o out.csv
    """
    from setveil.core.registry import find
    from setveil.tabular.relational_transaction import relational_transaction as run

    trees = [named_hierarchy(text) for text in hierarchy or []]
    files = tree_files(trees) + ([] if taxonomy is None else [taxonomy])
    quiet = job.quiet
    with Progress(quiet=quiet) as progress, announce_compiling(quiet=quiet):
        frame = job.read(inputs=files)
        done = run(
            frame,
            quasi=quasi,
            items=items,
            k=k,
            m=m,
            rows=rows,
            taxonomy=None if taxonomy is None else read_taxonomy(taxonomy, quiet=quiet),
            hierarchies={column: column_tree(text, quiet=quiet) for column, text in trees},
            method=find("anonymizer", method).target(k=k, m=m),
            progress=progress,
        )
        progress("checking")
        verdict = done.promise.check(done.frame)
    if not (verdict.holds and verdict.exact):
        say(f"setveil: nothing is written, as the promise was not found kept: {verdict.reason}")
        raise typer.Exit(UNDECIDED if verdict.holds else VIOLATED)
    write_output(done.frame if job.out.endswith(LISTS) else _flat(done.frame, items), job.out)
    counts = done.occurrences
    classes = int(done.classes.max()) + 1
    losses = (
        f"items: {counts['original']:,}, {counts['suppressed']:,} of them suppressed, "
        f"{counts['generalized']:,} generalized"
    )
    job.tell(
        "relational-transaction",
        [
            f"{job.out}: {len(done):,} rows in {classes:,} classes, items by {method}",
            losses,
        ],
        done.promise.describe(),
        rows=len(done),
        classes=classes,
        occurrences=counts,
        checked=verdict.reason,
    )


def _flat(frame: Any, items: str) -> Any:
    """Return the table with the items of a row in one text, as a CSV file can hold them."""
    import polars as pl

    from setveil.tabular.columns import join_items

    return frame.with_columns(pl.Series(items, join_items(frame[items].to_list()), dtype=pl.String))


# --- `setveil table check`: whether a table, or a mechanism, keeps a promise ----------------------


NAMES = (
    "k-anonymity",
    "xy-anonymity",
    "alpha-k-anonymity",
    "distinct-diversity",
    "entropy-diversity",
    "recursive-diversity",
    "confidence-bounding",
    "t-closeness",
    "delta-presence",
    "k-km-anonymity",
    "differential-privacy",
    "rho1-rho2",
)
"""The checks; known without importing them."""

OPTIONS = {"values": "value"}
"""Options that are called otherwise than the parameter, as they are given once for each."""

MECHANISMS = ("differential-privacy", "rho1-rho2")
"""Checks of a matrix of chances."""


@option_group
class CheckOptions:
    """The parameters of all checks; each takes some of them."""

    quasi: list[str] | None = option(
        None, "Column that people may know; repeatable.", metavar="COLUMN"
    )
    sensitive: str | None = option(None, "Column that must not be inferred.", metavar="COLUMN")
    value: list[str] | None = option(
        None, "Protected sensitive value; repeatable.", metavar="VALUE"
    )
    x: list[str] | None = option(None, "Column that people may know; repeatable.", metavar="COLUMN")
    y: list[str] | None = option(None, "Column whose values count; repeatable.", metavar="COLUMN")
    items: str | None = option(None, "The set-valued column.", metavar="COLUMN")
    k: int | None = option(None, "Least number of rows (or values).")
    m: int | None = option(None, "Greatest number of items that may be known.")
    l: str | None = option(None, "Diversity of a class.", metavar="NUMBER")
    c: str | None = option(None, "Factor of recursive diversity.", metavar="NUMBER")
    alpha: str | None = option(None, "Greatest share of a value.", metavar="SHARE")
    h: str | None = option(None, "Greatest confidence.", metavar="SHARE")
    t: str | None = option(None, "Greatest distance of a class.", metavar="SHARE")
    distance: str | None = option(None, "equal, ordered or hierarchical.", metavar="NAME")
    taxonomy: str | None = option(None, "Tree of sensitive values.", metavar="FILE")
    public: str | None = option(None, "Table of everybody, in the same terms.", metavar="FILE")
    low: str | None = option(None, "Least chance of presence.", metavar="SHARE")
    high: str | None = option(None, "Greatest chance of presence.", metavar="SHARE")
    epsilon: str | None = option(None, "ε of the mechanism.", metavar="NUMBER")
    rho1: str | None = option(None, "Belief before.", metavar="SHARE")
    rho2: str | None = option(None, "Belief after.", metavar="SHARE")


@expand_options
def check(
    *,
    name: str = argument("CHECK", f"What to check: {', '.join(NAMES)}."),
    data: str = argument(
        "DATA",
        "CSV or Parquet file, - for the standard input; for a mechanism its chances: "
        "a row for each value, named in the first column.",
    ),
    options: CheckOptions,
    delimiter: DelimiterOption = None,
    quiet: QuietOption = False,
    json: JsonOption = False,
) -> None:
    """Check whether a table, or a mechanism, keeps a promise.

    Exit code 0: it holds; 1: it is violated, and the witnesses are printed; 2: wrong use;
    3: not decided exactly.

    Example: setveil table check k-anonymity people.csv --quasi age --quasi zip --k 5
    """
    given = {key: each for key, each in vars(options).items() if each not in (None, [])}
    if "l" in given:
        given["l"] = _number(given["l"])
    only_one_stdin(data, options.taxonomy, options.public)
    with Progress(quiet=quiet) as progress:
        progress("checking")
        promise, verdict = _run_check(name, data, given, delimiter)
    code = exit_code([verdict])
    if json:
        told = {"check": name, "params": promise.params(), "promise": promise.describe()}
        emit({"data": data, **told, **verdict_json(verdict)})
    elif not quiet or code:
        print_verdict(name, verdict, rows=True)
    if code:
        raise typer.Exit(code)


def _number(text: str) -> int | str:
    """Return a whole number as one: distinct diversity takes no other."""
    return int(text) if text.isdecimal() and len(text) < 10 else text


def _run_check(
    name: str, data: str, given: dict[str, Any], delimiter: str | None
) -> tuple[Any, "Verdict"]:
    """Build the check from its options, read the file and ask."""
    from setveil.core.spelling import variants
    from setveil.tabular import CHECKS
    from setveil.tabular.files import read_frame

    if name not in CHECKS:
        raise ParameterError(f"there is no check {name!r}", fix=f"use one of {', '.join(CHECKS)}")
    kind = CHECKS[name]
    known = {OPTIONS.get(f.name, f.name): f.default is MISSING for f in fields(kind)}
    wanted = {**known, "public": True} if name == "delta-presence" else known
    for each in given:
        if each not in wanted:
            raise ParameterError(
                f"{name} takes no --{each}",
                fix=f"it takes {', '.join(f'--{other}' for other in wanted)}",
            )
    for each, needed in wanted.items():
        if needed and each not in given:
            raise ParameterError(f"{name} needs --{each}", fix=f"give --{each}")
    names = {given_as: parameter for parameter, given_as in OPTIONS.items()}
    others = {names.get(key, key): value for key, value in given.items() if key != "public"}
    if "taxonomy" in others:
        others["taxonomy"] = read_taxonomy(others["taxonomy"], quiet=True)
    promise = kind(**others)
    frame = read_frame(data, delimiter=delimiter)
    if given.get("value") and given.get("sensitive") in frame.columns:
        there = map(str, frame[given["sensitive"]].drop_nulls().unique(maintain_order=True))
        warn_of_variants(variants(given["value"], there), "value")
    if name in MECHANISMS:
        return promise, promise.check(_matrix(frame))
    if name == "delta-presence":
        return promise, promise.check(frame, read_frame(given["public"], delimiter=delimiter))
    return promise, promise.check(frame)


def _matrix(frame: Any) -> dict[str, dict[str, object]]:
    """Return a table of chances by the names of its rows and columns."""
    rows: dict[str, dict[str, object]] = {}
    for row in frame.iter_rows():
        if str(row[0]) in rows:
            raise ParameterError(f"two rows are called {row[0]!r}", fix="name each row differently")
        cells = dict(zip(frame.columns[1:], row[1:], strict=True))
        rows[str(row[0])] = {y: chance for y, chance in cells.items() if chance is not None}
    return rows


# --- the group ----------------------------------------------------------------------------------

COMMANDS: dict[str, Callable[..., None]] = {
    "full-domain": _scheme(
        "full-domain", "Generalize all values of a column to the same level.", trees=True
    ),
    "subtree": _scheme(
        "subtree", "Generalize along a cut: all children of a node are told, or none.", trees=True
    ),
    "sibling": _scheme(
        "sibling", "Generalize some children of a node; it stands for the others.", trees=True
    ),
    "cell": _scheme(
        "cell", "Generalize a value in some rows and tell it in others.", trees=True, draws=True
    ),
    "mondrian": _scheme(
        "mondrian", "Cut the rows into classes; each shows the ranges of its values.", trees=True
    ),
    "suppress-records": _scheme(
        "suppress-records", "Leave out the rows that too few rows are like."
    ),
    "suppress-values": _scheme("suppress-values", "Suppress values wherever they occur."),
    "suppress-cells": _scheme("suppress-cells", "Suppress single cells.", draws=True),
    "anatomize": anatomize,
    "permute": permute,
    "noise": noise,
    "swap": swap,
    "relational-transaction": relational_transaction,
    "check": check,
}
"""The commands, in the order of the documentation."""


def summary(command: Callable[..., None]) -> str:
    """Return the first line of a command's help."""
    return (command.__doc__ or "").partition("\n")[0]


class Tables(CommandGroup):
    """One command per scheme."""

    heading = "Methods"

    def summaries(self) -> dict[str, str]:
        """Return the schemes in the order of the documentation."""
        return {name: summary(command) for name, command in COMMANDS.items()}

    def build(self, name: str) -> Any:
        """Return the command of a scheme; for an unknown one, say which there are."""
        if name not in COMMANDS:
            raise ParameterError(
                f"there is no scheme {name!r} for tables", fix=f"use one of {', '.join(COMMANDS)}"
            )
        return single_command(name, COMMANDS[name])


table_app = command_app(
    "table", Tables, text="Anonymize or check a table of columns.", usage="DATA -o OUT"
)
