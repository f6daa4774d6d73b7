"""Noise, query restriction and sampling, compared by what an adversary still lacks (paper 002)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from experiments.claims import Claim, judged, together
from experiments.protected_people import ATTRIBUTES, DOMAIN, EXACT, LEAST, RECORDS, People, matched
from experiments.tables import chosen, markdown, over_seeds
from setveil.core.files import write_whole
from setveil.measure import equivocation_curve

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    import numpy.typing as npt

    Row = dict[str, Any]
    Ints = npt.NDArray[np.int64]
    Floats = npt.NDArray[np.float64]

NAME = "equivocation"
TITLE = "Equivocation: noise, query restriction and sampling"
TARGETS = 100
LEVELS = (0.25, 0.5, 1.0)
"""Standard deviations of the noise, as shares of that of the confidential values."""
MIDDLE = 0.5
EPSILONS = (0, 1, 2, 5, 10, 20, 40)
KNOWN = tuple(range(len(ATTRIBUTES) + 1))
TECHNIQUES = ("noise", "query restriction", "query restriction, trackers", "sampling", EXACT)
IMAGE = "img/equivocation.svg"


@dataclass(frozen=True, kw_only=True)
class Unit:
    """One generated table, protected three ways at one level."""

    level: float
    seed: int


def units(seeds: int, *, small: bool = False) -> list[Unit]:
    """Return what there is to do.

    >>> len(units(5))
    15
    """
    levels = (MIDDLE,) if small else LEVELS
    return [Unit(level=level, seed=seed) for level in levels for seed in range(seeds)]


def run(unit: Unit) -> list[Row]:
    """Return what is lacking about the targets of one table under each technique."""
    rng = np.random.default_rng([unit.seed, round(100 * unit.level)])
    people = People.drawn(rng)
    techniques = matched(people, unit.level, rng)
    targets = rng.choice(RECORDS, TARGETS, replace=False)
    found = []
    for s in KNOWN:
        asked = [(int(t), tuple(rng.choice(len(ATTRIBUTES), s, replace=False))) for t in targets]
        for name, technique in techniques.items():
            curves, truths = [], []
            for target, known in asked:
                posterior = technique.posterior(target, known)
                curves.append(equivocation_curve(DOMAIN, posterior, EPSILONS))
                truths.append(posterior[people.income[target] - DOMAIN[0]])
            mean = np.mean(curves, axis=0)
            found.append(
                {"level": unit.level, "seed": unit.seed, "technique": name, "s": s,
                 "setting": float(technique.setting), "error": technique.error,
                 "area": float(np.trapezoid(mean, EPSILONS)), "truth": float(np.mean(truths)),
                 **{f"h{e}": float(h) for e, h in zip(EPSILONS, mean, strict=True)}}
            )  # fmt: skip
    return found


# --- what is said about it ------------------------------------------------------------------------


def report(rows: list[Row], page: Path) -> str:
    """Return the part of the page about these figures, and draw the curves."""
    _draw(rows, page.parent / IMAGE)
    return "\n\n".join([_intro(rows), *_tables(rows), _curves(rows)])


def claims(rows: list[Row]) -> list[Claim]:
    """Return what paper 002 says of known attributes, and what these figures say."""
    found = {}
    for name in TECHNIQUES[:-1]:
        own = chosen(rows, technique=name)
        changes = []
        for row in chosen(own, s=KNOWN[-1]):
            (start,) = chosen(own, s=KNOWN[0], seed=row["seed"], level=row["level"])
            changes.append({"seed": row["seed"], "value": row["area"] / start["area"] - 1})
        found[name] = over_seeds(changes, "value")
    return [
        Claim(
            paper="002", says="the more attributes are known, the less equivocation is left",
            data=f"generated people, s = {KNOWN[0]} to {KNOWN[-1]}",
            ours="area changes by "
            + "; ".join(f"{name}: {mean.text()}" for name, mean in found.items()),
            verdict=together([judged(mean, most=0.0) for mean in found.values()]),
        )
    ]  # fmt: skip


def _intro(rows: list[Row]) -> str:
    seeds = len({row["seed"] for row in rows})
    return (
        f"A generated table of {RECORDS:,} people: {', '.join(ATTRIBUTES)}, and a confidential "
        f"income between {DOMAIN[0]} and {DOMAIN[-1]} thousand that depends on them. The "
        "adversary knows *s* attributes of a target, drawn at random. *Noise*: everything is "
        "published, incomes with Gaussian noise; the adversary weighs all matching records by "
        "Bayes' rule. *Query restriction*: only counts and sums of at least q records are "
        "answered, and every income that the answers allow is equally likely; with *trackers* "
        "the adversary also takes differences of answers. *Sampling*: a share of the records is "
        "published as it is. The settings are matched: the means of groups (of one attribute or "
        f"two, and at least {LEAST} people) are as wrong as under the noise, as nearly as a whole "
        f"q can make them. Means over {seeds} seeds of {TARGETS} targets each, "
        "with 95% intervals (Student's t). H(ε) is in bits; "
        f"{np.log2(len(DOMAIN)):.2f} bits is knowing nothing but the range. A posterior may be "
        "narrow and wrong: *truth* is the mean chance that it gives to the true income."
    )


def _tables(rows: list[Row]) -> Iterator[str]:
    shown = (("h0", "H(0), bits"), ("area", f"area under H(ε), ε = 0 … {EPSILONS[-1]}"),
             ("truth", "truth"))  # fmt: skip
    for level in dict.fromkeys(row["level"] for row in rows):
        own = chosen(rows, level=level)
        by_name = {name: chosen(own, technique=name) for name in TECHNIQUES}
        lines = [
            [name, _setting(name, of_name), over_seeds(of_name, "error").text()]
            for name, of_name in by_name.items()
        ]
        settings = markdown(["technique", "setting", "error of means"], lines)
        yield f"### Noise of {level:.0%} of the standard deviation\n\n{settings}"
        for figure, title in shown:
            lines = [
                [name, *(over_seeds(chosen(of_name, s=s), figure).text() for s in KNOWN)]
                for name, of_name in by_name.items()
            ]
            yield markdown([title, *(f"s = {s}" for s in KNOWN)], lines)


def _setting(name: str, rows: list[Row]) -> str:
    value = over_seeds(rows, "setting").value
    if name == "noise":
        return f"sd {value:.1f}"
    return f"q = {value:.0f}" if name.startswith("query") else f"{value:.0%} of the records"


def _curves(rows: list[Row]) -> str:
    own = chosen(rows, level=MIDDLE, s=KNOWN[-2])
    lines = [
        [name, *(over_seeds(chosen(own, technique=name), f"h{e}").text() for e in EPSILONS)]
        for name in TECHNIQUES
    ]
    return (
        f"### Curves\n\nH(ε) at noise of {MIDDLE:.0%}, s = {KNOWN[-2]}; for other s in the "
        f"picture.\n\n{markdown(['H(ε)', *(f'ε = {e}' for e in EPSILONS)], lines)}\n\n"
        f"![Curves of equivocation]({IMAGE})"
    )


def _draw(rows: list[Row], image: Path) -> None:
    """Draw the curves of the middle level, a field for each number of known attributes."""
    import vl_convert  # tens of megabytes: only when a page is written

    points = [
        {"ε": e, "H": over_seeds(chosen(own, technique=name), f"h{e}").value,
         "s": f"s = {s}", "technique": name}
        for s in KNOWN
        for own in [chosen(rows, level=MIDDLE, s=s)]
        for name in TECHNIQUES
        for e in EPSILONS
    ]  # fmt: skip
    legend = {"orient": "bottom", "title": None, "labelLimit": 300}
    technique = {"field": "technique", "sort": list(TECHNIQUES), "legend": legend}
    spec = {
        "$schema": "https://vega.github.io/schema/vega-lite/v5.json",
        "data": {"values": points},
        "facet": {"field": "s", "type": "nominal", "title": None},
        "columns": 3,
        "spec": {
            "width": 200,
            "height": 150,
            "mark": {"type": "line", "point": True},
            "encoding": {
                "x": {"field": "ε", "type": "quantitative", "title": "ε, thousand"},
                "y": {"field": "H", "type": "quantitative", "title": "H(ε), bits"},
                "color": {**technique, "type": "nominal"},
                "shape": {**technique, "type": "nominal"},
            },
        },
    }
    image.parent.mkdir(parents=True, exist_ok=True)
    write_whole(image, vl_convert.vegalite_to_svg(spec))
