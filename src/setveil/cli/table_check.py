"""``setveil table check``: whether a table, or a mechanism, keeps a promise."""

from dataclasses import MISSING, fields
from typing import TYPE_CHECKING, Annotated, Any

import typer

from setveil.cli.inputs import DelimiterOption, only_one_stdin, read_taxonomy
from setveil.cli.output import (
    UNDECIDED,
    VIOLATED,
    JsonOption,
    Progress,
    QuietOption,
    echo,
    emit,
)
from setveil.cli.sensitive import warn_of_variants
from setveil.core.errors import ParameterError

if TYPE_CHECKING:
    from setveil.guarantee.base import Verdict

SHOWN = 5
"""How many witnesses are printed; all of a verdict's are in its JSON."""

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
    quasi: Annotated[
        list[str] | None,
        typer.Option("--quasi", metavar="COLUMN", help="Column that people may know; repeatable."),
    ] = None,
    sensitive: Annotated[
        str | None,
        typer.Option("--sensitive", metavar="COLUMN", help="Column that must not be inferred."),
    ] = None,
    value: Annotated[
        list[str] | None,
        typer.Option("--value", metavar="VALUE", help="Protected sensitive value; repeatable."),
    ] = None,
    x: Annotated[
        list[str] | None,
        typer.Option("--x", metavar="COLUMN", help="Column that people may know; repeatable."),
    ] = None,
    y: Annotated[
        list[str] | None,
        typer.Option("--y", metavar="COLUMN", help="Column whose values count; repeatable."),
    ] = None,
    items: Annotated[
        str | None, typer.Option("--items", metavar="COLUMN", help="The set-valued column.")
    ] = None,
    k: Annotated[int | None, typer.Option("--k", help="Least number of rows (or values).")] = None,
    m: Annotated[
        int | None, typer.Option("--m", help="Greatest number of items that may be known.")
    ] = None,
    l: Annotated[
        str | None, typer.Option("--l", metavar="NUMBER", help="Diversity of a class.")
    ] = None,
    c: Annotated[
        str | None, typer.Option("--c", metavar="NUMBER", help="Factor of recursive diversity.")
    ] = None,
    alpha: Annotated[
        str | None, typer.Option("--alpha", metavar="SHARE", help="Greatest share of a value.")
    ] = None,
    h: Annotated[
        str | None, typer.Option("--h", metavar="SHARE", help="Greatest confidence.")
    ] = None,
    t: Annotated[
        str | None, typer.Option("--t", metavar="SHARE", help="Greatest distance of a class.")
    ] = None,
    distance: Annotated[
        str | None,
        typer.Option("--distance", metavar="NAME", help="equal, ordered or hierarchical."),
    ] = None,
    taxonomy: Annotated[
        str | None, typer.Option("--taxonomy", metavar="FILE", help="Tree of sensitive values.")
    ] = None,
    public: Annotated[
        str | None,
        typer.Option("--public", metavar="FILE", help="Table of everybody, in the same terms."),
    ] = None,
    low: Annotated[
        str | None, typer.Option("--low", metavar="SHARE", help="Least chance of presence.")
    ] = None,
    high: Annotated[
        str | None, typer.Option("--high", metavar="SHARE", help="Greatest chance of presence.")
    ] = None,
    epsilon: Annotated[
        str | None, typer.Option("--epsilon", metavar="NUMBER", help="ε of the mechanism.")
    ] = None,
    rho1: Annotated[
        str | None, typer.Option("--rho1", metavar="SHARE", help="Belief before.")
    ] = None,
    rho2: Annotated[
        str | None, typer.Option("--rho2", metavar="SHARE", help="Belief after.")
    ] = None,
    delimiter: DelimiterOption = None,
    quiet: QuietOption = False,
    json: JsonOption = False,
) -> None:
    """Check whether a table, or a mechanism, keeps a promise.

    Exit code 0: it holds; 1: it is violated, and the witnesses are printed; 2: wrong use;
    3: not decided exactly.

    Example: setveil table check k-anonymity people.csv --quasi age --quasi zip --k 5
    """
    given = {
        "quasi": quasi,
        "sensitive": sensitive,
        "value": value,
        "x": x,
        "y": y,
        "items": items,
        "k": k,
        "m": m,
        "l": _number(l),
        "c": c,
        "alpha": alpha,
        "h": h,
        "t": t,
        "distance": distance,
        "taxonomy": taxonomy,
        "public": public,
        "low": low,
        "high": high,
        "epsilon": epsilon,
        "rho1": rho1,
        "rho2": rho2,
    }
    only_one_stdin(data, taxonomy, public)
    with Progress(quiet=quiet) as progress:
        progress("checking")
        promise, verdict = _judged(
            name,
            data,
            {key: each for key, each in given.items() if each not in (None, [])},
            delimiter,
        )
    state = VIOLATED if verdict.exact and not verdict.holds else 0 if verdict.exact else UNDECIDED
    if json:
        emit({"data": data, **_as_json(name, promise, verdict)})
    elif not quiet or state:
        print_verdict(name, verdict)
    if state:
        raise typer.Exit(state)


def _number(text: str | None) -> int | str | None:
    """Return a whole number as one: distinct diversity takes no other."""
    return int(text) if text is not None and text.isdecimal() and len(text) < 10 else text


def _judged(
    name: str, data: str, given: dict[str, Any], delimiter: str | None
) -> tuple[Any, "Verdict"]:
    """Build the check from its options, read the file and ask."""
    from setveil.core.spelling import variants
    from setveil.tabular.checks import CHECKS
    from setveil.tabular.files import read_frame

    if name not in CHECKS:
        raise ParameterError(f"there is no check {name!r}", fix=f"use one of {', '.join(CHECKS)}")
    kind = CHECKS[name]
    known = {OPTIONS.get(f.name, f.name): f.default is MISSING for f in fields(kind)}
    wanted = {**known, "public": True} if name == "delta-presence" else known
    for option in given:
        if option not in wanted:
            raise ParameterError(
                f"{name} takes no --{option}",
                fix=f"it takes {', '.join('--' + each for each in wanted)}",
            )
    for option, needed in wanted.items():
        if needed and option not in given:
            raise ParameterError(f"{name} needs --{option}", fix=f"give --{option}")
    names = {option: parameter for parameter, option in OPTIONS.items()}
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


def _as_json(name: str, promise: Any, verdict: "Verdict") -> dict[str, Any]:
    return {
        "check": name,
        "params": promise.params(),
        "promise": promise.describe(),
        "holds": verdict.holds,
        "exact": verdict.exact,
        "reason": verdict.reason,
        "checked": verdict.checked,
        "witnesses": [
            {
                "items": list(w.items),
                "support": w.support,
                "required": w.required,
                "consequent": w.consequent,
                "confidence": None if w.confidence is None else float(w.confidence),
            }
            for w in verdict.witnesses
        ],
    }


def print_verdict(name: str, verdict: "Verdict") -> None:
    """Print the answer and the first witnesses."""
    state = "holds" if verdict.holds else "VIOLATED"
    if not verdict.exact:
        state = "not decided exactly"
    echo(f"{name}  {state}: {verdict.reason}")
    for witness in verdict.witnesses[:SHOWN]:
        follows = "" if witness.consequent is None else f" → {witness.consequent}"
        rows = f"{witness.support:,}, " if witness.support else ""
        items = ", ".join(witness.items) or "no items"
        echo(f"  {{{items}}}{follows}: {rows}required {witness.required}")
    if len(verdict.witnesses) > SHOWN:
        echo(f"  ... {len(verdict.witnesses) - SHOWN} more with --json")
