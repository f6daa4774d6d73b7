"""Noise, query restriction and sampling, compared by what an adversary still lacks (paper 002)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from experiments.tables import markdown, over_seeds
from setveil.data.whole_file import write_whole
from setveil.measure import equivocation_curve

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy.typing as npt

    Row = dict[str, Any]
    Ints = npt.NDArray[np.int64]
    Floats = npt.NDArray[np.float64]

NAME = "equivocation"
TITLE = "Equivocation: noise, query restriction and sampling"
RECORDS = 1000
TARGETS = 100
LEVELS = (0.25, 0.5, 1.0)
"""Standard deviations of the noise, as shares of that of the confidential values."""
MIDDLE = 0.5
DOMAIN = np.arange(10, 151)
"""Possible incomes, in thousands."""
EPSILONS = (0, 1, 2, 5, 10, 20, 40)
ATTRIBUTES = ("sex", "region", "job", "age", "service")
KNOWN = tuple(range(len(ATTRIBUTES) + 1))
EXACT = "published as it is"
TECHNIQUES = ("noise", "query restriction", "query restriction, trackers", "sampling", EXACT)
LEAST = 10
"""Records of the smallest group whose mean is of interest."""
DRAWS = 5  # samples whose errors are averaged
IMAGE = Path(__file__).parents[1] / "docs" / "img" / "equivocation.svg"


@dataclass(frozen=True, kw_only=True)
class Unit:
    """One generated table, protected three ways at one level."""

    level: float
    seed: int


def units(seeds: int) -> list[Unit]:
    """Return what there is to do.

    >>> len(units(5))
    15
    """
    return [Unit(level=level, seed=seed) for level in LEVELS for seed in range(seeds)]


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


# --- people ---------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class People:
    """A table of attributes, categories as numbers, and one confidential number of each record."""

    attributes: Ints
    income: Ints

    @classmethod
    def drawn(cls, rng: np.random.Generator) -> People:
        """Draw people whose income depends on job, age and service, and a little on the rest."""
        sex, region = rng.integers(2, size=RECORDS), rng.integers(5, size=RECORDS)
        job = rng.choice(6, RECORDS, p=(0.3, 0.25, 0.2, 0.12, 0.08, 0.05))
        age = rng.integers(20, 66, RECORDS)
        service = (rng.beta(1.5, 3, RECORDS) * (age - 19)).astype(np.int64)
        income = 22 + 9 * job + 0.35 * (age - 20) + 0.6 * service + 3 * sex + 1.5 * region
        income = np.rint(income * rng.lognormal(0, 0.18, RECORDS)).astype(np.int64)
        return cls(
            attributes=np.stack([sex, region, job, age, service], axis=1),
            income=np.clip(income, DOMAIN[0], DOMAIN[-1]),
        )

    def like(self, target: int, known: tuple[int, ...]) -> npt.NDArray[np.bool_]:
        """Tell which records have the known attributes of the target."""
        columns = list(known)
        return (self.attributes[:, columns] == self.attributes[target, columns]).all(axis=1)

    @cached_property
    def groups(self) -> list[Ints]:
        """The records of each value of an attribute and each pair of values that many have."""
        found = []
        for size in (1, 2):
            for columns in combinations(range(len(ATTRIBUTES)), size):
                part = self.attributes[:, columns]
                _, group = np.unique(part, axis=0, return_inverse=True)
                order = np.argsort(group, kind="stable")
                found += np.split(order, np.cumsum(np.bincount(group))[:-1])
        return [group for group in found if len(group) >= LEAST]

    def error_of_means(self, means: list[float]) -> float:
        """Return the error of groups' means: root of the mean square, in standard deviations."""
        sizes = np.array([len(group) for group in self.groups])
        wrong = [m - self.income[g].mean() for m, g in zip(means, self.groups, strict=True)]
        square = np.average(np.square(wrong), weights=sizes)
        return float(np.sqrt(square) / self.income.std())


# --- techniques -----------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Noise:
    """Incomes with Gaussian noise; attributes as they are."""

    people: People
    setting: float
    published: Floats

    @classmethod
    def of(cls, people: People, level: float, rng: np.random.Generator) -> Noise:
        """Add noise of a share of the standard deviation."""
        sigma = level * float(people.income.std())
        return cls(
            people=people, setting=sigma, published=people.income + rng.normal(0, sigma, RECORDS)
        )

    @cached_property
    def error(self) -> float:
        """How far the means of groups are off."""
        return self.people.error_of_means([self.published[g].mean() for g in self.people.groups])

    @cached_property
    def by_record(self) -> Floats:
        """For each record how likely each income is, by Bayes' rule.

        The share of each income beforehand is the likeliest one, found by expectation and
        maximization as in Agrawal and Aggarwal (2001).
        """
        likelihood = np.exp(-(((self.published[:, None] - DOMAIN) / self.setting) ** 2) / 2)
        shares = np.full(len(DOMAIN), 1 / len(DOMAIN))
        for _ in range(50):
            joint = likelihood * shares + 1e-300
            joint /= joint.sum(axis=1, keepdims=True)
            shares = joint.mean(axis=0)
        return joint

    def posterior(self, target: int, known: tuple[int, ...]) -> Floats:
        """Return how likely each income of the target is: any matching record may be theirs."""
        return self.by_record[self.people.like(target, known)].mean(axis=0)


@dataclass(frozen=True, kw_only=True)
class Restriction:
    """Counts and sums of at least so many records; with trackers also through differences."""

    people: People
    setting: int
    trackers: bool = False

    @cached_property
    def error(self) -> float:
        """How far the means of groups are off, where a refused one is taken for that of all."""
        income = self.people.income
        return self.people.error_of_means(
            [income[g if len(g) >= self.setting else slice(None)].mean()
             for g in self.people.groups]
        )  # fmt: skip

    def posterior(self, target: int, known: tuple[int, ...]) -> Floats:
        """Return the incomes that all answers about the known attributes allow, equally likely.

        A sum over c records leaves for one of them what the others cannot make up: they have at
        least the least income there is, and at most the greatest.
        """
        low, high = int(DOMAIN[0]), int(DOMAIN[-1])
        first, last = low, high
        told: dict[tuple[int, ...], npt.NDArray[np.bool_]] = {}
        for size in range(len(known) + 1):
            for chosen in combinations(sorted(known), size):
                inside = self.people.like(target, chosen)
                if not self._told(chosen, inside, told):
                    continue
                told[chosen] = inside
                count, total = int(inside.sum()), int(self.people.income[inside].sum())
                first = max(first, total - (count - 1) * high)
                last = min(last, total - (count - 1) * low)
        return _shares(np.arange(first, last + 1))

    def _told(
        self,
        chosen: tuple[int, ...],
        inside: npt.NDArray[np.bool_],
        told: dict[tuple[int, ...], npt.NDArray[np.bool_]],
    ) -> bool:
        """Tell whether a sum is answered, or is the difference of two that are."""
        if inside.sum() >= self.setting:
            return True
        wider = (chosen[:i] + chosen[i + 1 :] for i in range(len(chosen)))
        return self.trackers and any(
            (told[one] & ~inside).sum() >= self.setting for one in wider if one in told
        )


@dataclass(frozen=True, kw_only=True)
class Sampling:
    """A share of the records as they are."""

    people: People
    setting: float
    chosen: npt.NDArray[np.bool_]

    @classmethod
    def of(cls, people: People, share: float, rng: np.random.Generator) -> Sampling:
        """Draw a share of the records."""
        chosen = np.zeros(RECORDS, dtype=bool)
        chosen[rng.choice(RECORDS, max(round(share * RECORDS), 1), replace=False)] = True
        return cls(people=people, setting=share, chosen=chosen)

    @cached_property
    def error(self) -> float:
        """How far the means of groups are off; without a record in the sample, that of all."""
        income = self.people.income
        means = []
        for group in self.people.groups:
            inside = group[self.chosen[group]]
            means.append(float(income[inside if len(inside) else self.chosen].mean()))
        return self.people.error_of_means(means)

    def posterior(self, target: int, known: tuple[int, ...]) -> Floats:
        """Return how likely each income is: as in the sample, or as in a record that matches."""
        anybody = _shares(self.people.income[self.chosen])
        matching = self.people.income[self.chosen & self.people.like(target, known)]
        if not len(matching):
            return anybody  # so the target was not drawn
        return self.setting * _shares(matching) + (1 - self.setting) * anybody


def _shares(incomes: Ints) -> Floats:
    return np.bincount(incomes - DOMAIN[0], minlength=len(DOMAIN)) / len(incomes)


def matched(
    people: People, level: float, rng: np.random.Generator
) -> dict[str, Noise | Restriction | Sampling]:
    """Return the techniques, the others set so that means of groups are as wrong as under noise."""
    noise = Noise.of(people, level, rng)
    sizes = sorted({len(group) for group in people.groups})
    restrictions = [Restriction(people=people, setting=q) for q in sizes]
    restriction = min(restrictions, key=lambda each: abs(each.error - noise.error))
    low, high = 1 / RECORDS, 1.0
    for _ in range(8):
        share = (low + high) / 2
        errors = [Sampling.of(people, share, rng).error for _ in range(DRAWS)]
        low, high = (share, high) if np.mean(errors) > noise.error else (low, share)
    everybody = np.ones(RECORDS, dtype=bool)
    return {
        "noise": noise,
        "query restriction": restriction,
        "query restriction, trackers": Restriction(
            people=people, setting=restriction.setting, trackers=True
        ),
        "sampling": Sampling.of(people, (low + high) / 2, rng),
        EXACT: Sampling(people=people, setting=1.0, chosen=everybody),
    }


# --- what is said about it ------------------------------------------------------------------------


def report(rows: list[Row]) -> str:
    """Return the part of docs/results.md about these figures, and draw the curves."""
    _draw(rows)
    return "\n\n".join([_intro(rows), *_tables(rows), _curves(rows)])


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


def _chosen(rows: list[Row], **wanted: Any) -> list[Row]:  # noqa: ANN401
    return [row for row in rows if all(row[name] == value for name, value in wanted.items())]


def _tables(rows: list[Row]) -> Iterator[str]:
    shown = (("h0", "H(0), bits"), ("area", f"area under H(ε), ε = 0 … {EPSILONS[-1]}"),
             ("truth", "truth"))  # fmt: skip
    for level in LEVELS:
        own = _chosen(rows, level=level)
        by_name = {name: _chosen(own, technique=name) for name in TECHNIQUES}
        lines = [
            [name, _setting(name, of_name), over_seeds(of_name, "error").text()]
            for name, of_name in by_name.items()
        ]
        settings = markdown(["technique", "setting", "error of means"], lines)
        yield f"### Noise of {level:.0%} of the standard deviation\n\n{settings}"
        for figure, title in shown:
            lines = [
                [name, *(over_seeds(_chosen(of_name, s=s), figure).text() for s in KNOWN)]
                for name, of_name in by_name.items()
            ]
            yield markdown([title, *(f"s = {s}" for s in KNOWN)], lines)


def _setting(name: str, rows: list[Row]) -> str:
    value = over_seeds(rows, "setting").value
    if name == "noise":
        return f"sd {value:.1f}"
    return f"q = {value:.0f}" if name.startswith("query") else f"{value:.0%} of the records"


def _curves(rows: list[Row]) -> str:
    own = _chosen(rows, level=MIDDLE, s=KNOWN[-2])
    lines = [
        [name, *(over_seeds(_chosen(own, technique=name), f"h{e}").text() for e in EPSILONS)]
        for name in TECHNIQUES
    ]
    return (
        f"### Curves\n\nH(ε) at noise of {MIDDLE:.0%}, s = {KNOWN[-2]}; for other s in the "
        f"picture.\n\n{markdown(['H(ε)', *(f'ε = {e}' for e in EPSILONS)], lines)}\n\n"
        f"![Curves of equivocation](img/{IMAGE.name})"
    )


def _draw(rows: list[Row]) -> None:
    """Draw the curves of the middle level, a field for each number of known attributes."""
    import vl_convert  # noqa: PLC0415  (tens of megabytes: only when a page is written)

    points = [
        {"ε": e, "H": over_seeds(_chosen(own, technique=name), f"h{e}").value,
         "s": f"s = {s}", "technique": name}
        for s in KNOWN
        for own in [_chosen(rows, level=MIDDLE, s=s)]
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
    IMAGE.parent.mkdir(parents=True, exist_ok=True)
    write_whole(IMAGE, vl_convert.vegalite_to_svg(spec))
