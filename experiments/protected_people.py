"""People with a confidential number, published in three ways (paper 002)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

    Ints = npt.NDArray[np.int64]
    Floats = npt.NDArray[np.float64]

RECORDS = 1000
DOMAIN = np.arange(10, 151)
"""Possible incomes, in thousands."""
ATTRIBUTES = ("sex", "region", "job", "age", "service")
EXACT = "published as it is"
LEAST = 10
"""Records of the smallest group whose mean is of interest."""
DRAWS = 5  # samples whose errors are averaged


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
            for some in combinations(sorted(known), size):
                inside = self.people.like(target, some)
                if not self._told(some, inside, told):
                    continue
                told[some] = inside
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
