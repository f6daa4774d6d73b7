"""Measure the generated data and write what comes out into docs/synthetic.md.

Run ``python -m benchmarks.synthetic``; with ``--print`` the tables are only printed.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from setveil.measure.profile import profile
from setveil.synthetic import LOOKALIKES, clinic, lookalike

if TYPE_CHECKING:
    from setveil.core.interval import Rate
    from setveil.synthetic import Synthetic

PAGE = Path(__file__).parents[1] / "docs" / "synthetic.md"
BEGIN = "<!-- written by python -m benchmarks.synthetic: begin -->\n"
END = "<!-- end -->\n"
SAMPLES = 4000


def row(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |\n"


def share(rate: Rate) -> str:
    """Return a share as people write it, with its interval where it was estimated."""
    if rate.exact:
        return f"{rate.value:.2%}"
    return f"{rate.value:.1%} ({rate.low:.1%} to {rate.high:.1%})"


def curve(data: Synthetic) -> list[str]:
    found = profile(data.table, samples=SAMPLES, rng=np.random.default_rng(1))
    return [share(rate) for rate in found.uniqueness]


def tables(scale: float = 1.0) -> str:
    """Return both tables in Markdown; `scale` shrinks the data for a quick run."""
    figures = row(["look-alike of", "", "records", "items", "mean length", "longest"])
    figures += row(["---", "---", *["---:"] * 4])
    unique = row(["data", "one item", "two items", "three items"]) + row(["---", *["---:"] * 3])
    for name, shape in LOOKALIKES.items():
        start = time.perf_counter()
        data = lookalike(name, n=round(shape.rows * scale))
        print(f"{name}: {time.perf_counter() - start:.2f} s")
        published = f"{shape.longest}" if shape.longest is not None else "not published"
        items = f"{shape.items:,}" if shape.longest is not None else "not published"
        found = [f"{shape.rows:,}", items, f"{shape.mean:g}", published]
        figures += row([shape.title, "published", *found])
        lengths = data.table.lengths
        found = [f"{len(lengths):,}", f"{data.table.n_items:,}"]
        found += [f"{lengths.mean():.2f}", f"{lengths.max():,}"]
        figures += row(["", "generated", *found])
        unique += row([name, *curve(data)])
    unique += row(["clinic, 5,000 patients", *curve(clinic(n=5000))])
    return f"{figures}\n{unique}"


def rewritten(page: str, new: str) -> str:
    """Return the page with what stands between the two marks replaced."""
    head, begin, rest = page.partition(BEGIN)
    _, end, tail = rest.partition(END)
    if not begin or not end:
        raise SystemExit(f"{PAGE.name} lacks the line {BEGIN.strip()} or {END.strip()}")
    return f"{head}{begin}{new}{end}{tail}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--print", action="store_true", help="print the tables, change no file")
    wanted = parser.parse_args()
    new = tables()
    print(new, end="")
    if not wanted.print:
        PAGE.write_text(rewritten(PAGE.read_text(encoding="utf-8"), new), encoding="utf-8")


if __name__ == "__main__":
    main()
