"""``setveil table check``: whether a table, or a mechanism, keeps a promise."""

from dataclasses import MISSING, dataclass, fields
from typing import TYPE_CHECKING, Annotated, Any

import typer

from setveil.cli.options import (
    DelimiterOption,
    expand_options,
    only_one_stdin,
    option,
    read_taxonomy,
)
from setveil.cli.output import JsonOption, Progress, QuietOption, emit
from setveil.cli.sensitive import warn_of_variants
from setveil.cli.verify import exit_code, print_verdict, verdict_json
from setveil.core.errors import ParameterError

if TYPE_CHECKING:
    from setveil.guarantee.base import Verdict

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


@dataclass(frozen=True, kw_only=True)
class CheckOptions:
    """The parameters of all checks; each takes some of them."""

    # fmt: off
    quasi: Annotated[list[str] | None, option("--quasi", "COLUMN",
        "Column that people may know; repeatable.")] = None
    sensitive: Annotated[str | None, option("--sensitive", "COLUMN",
        "Column that must not be inferred.")] = None
    value: Annotated[list[str] | None, option("--value", "VALUE",
        "Protected sensitive value; repeatable.")] = None
    x: Annotated[list[str] | None, option("--x", "COLUMN",
        "Column that people may know; repeatable.")] = None
    y: Annotated[list[str] | None, option("--y", "COLUMN",
        "Column whose values count; repeatable.")] = None
    items: Annotated[str | None, option("--items", "COLUMN",
        "The set-valued column.")] = None
    k: Annotated[int | None, option("--k", None,
        "Least number of rows (or values).")] = None
    m: Annotated[int | None, option("--m", None,
        "Greatest number of items that may be known.")] = None
    l: Annotated[str | None, option("--l", "NUMBER",
        "Diversity of a class.")] = None
    c: Annotated[str | None, option("--c", "NUMBER",
        "Factor of recursive diversity.")] = None
    alpha: Annotated[str | None, option("--alpha", "SHARE",
        "Greatest share of a value.")] = None
    h: Annotated[str | None, option("--h", "SHARE",
        "Greatest confidence.")] = None
    t: Annotated[str | None, option("--t", "SHARE",
        "Greatest distance of a class.")] = None
    distance: Annotated[str | None, option("--distance", "NAME",
        "equal, ordered or hierarchical.")] = None
    taxonomy: Annotated[str | None, option("--taxonomy", "FILE",
        "Tree of sensitive values.")] = None
    public: Annotated[str | None, option("--public", "FILE",
        "Table of everybody, in the same terms.")] = None
    low: Annotated[str | None, option("--low", "SHARE",
        "Least chance of presence.")] = None
    high: Annotated[str | None, option("--high", "SHARE",
        "Greatest chance of presence.")] = None
    epsilon: Annotated[str | None, option("--epsilon", "NUMBER",
        "ε of the mechanism.")] = None
    rho1: Annotated[str | None, option("--rho1", "SHARE",
        "Belief before.")] = None
    rho2: Annotated[str | None, option("--rho2", "SHARE",
        "Belief after.")] = None
    # fmt: on


@expand_options
def check(
    *,
    name: Annotated[
        str, typer.Argument(metavar="CHECK", help=f"What to check: {', '.join(NAMES)}.")
    ],
    data: Annotated[
        str,
        typer.Argument(
            metavar="DATA",
            help="CSV or Parquet file, - for the standard input; for a mechanism its chances: "
            "a row for each value, named in the first column.",
        ),
    ],
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
