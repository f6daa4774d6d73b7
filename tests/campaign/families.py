"""The families of the campaign: what is drawn, how often, and what is compared."""

from dataclasses import dataclass
from random import Random

from tests.campaign import joint_families, record_families
from tests.campaign.tally import Tally

MOST_TRIES = 20
"""A family that draws so many tables for each release it judges is drawn wrongly."""


@dataclass(frozen=True)
class Family:
    """A guarantee, its methods, how many releases are judged, and what judges one of them."""

    guarantee: str
    methods: tuple
    compared: str
    count: int
    judge: object

    def run(self, share=1.0, first=0):
        """Judge a share of the releases, half of them made by methods, and return the figures."""
        tally = Tally()
        wanted = max(round(self.count * share), 1)
        number = first
        while tally.releases < wanted:
            assert number - first < MOST_TRIES * wanted, f"too few releases of {self.guarantee}"
            self.judge_one(number, tally)
            number += 1
        return tally

    def judge_one(self, number, tally):
        """Judge what a number draws; even numbers are given to a method."""
        before = len(tally.disagreements)
        rng = Random(f"{self.guarantee} {number}")
        self.judge(rng, tally, by_method=number % 2 == 0)
        for place in range(before, len(tally.disagreements)):
            tally.disagreements[place] = f"{self.guarantee} {number}: {tally.disagreements[place]}"


RECORDS = "every set of items, counted in the published records"
FAMILIES = [
    Family(
        "k-anonymity",
        ("clump", "gather", "partition"),
        "every published record, compared with every other",
        14_000,
        record_families.k_anonymity,
    ),
    Family(
        "k^m-anonymity",
        ("apriori-km", "direct-km", "hghs", "lra", "optimal-km", "vpa-km"),
        RECORDS,
        24_000,
        record_families.km,
    ),
    Family("(h,k,p)-coherence", ("coherence",), RECORDS, 10_000, record_families.coherence),
    Family(
        "ρ-uncertainty",
        ("rho-family", "simple-suppression", "suppress-control", "td-control"),
        RECORDS,
        18_000,
        record_families.rho,
    ),
    Family(
        "support constraints",
        ("coat", "pcta"),
        f"{RECORDS}; every refusal: all possible recodings",
        12_000,
        record_families.support_constraints,
    ),
    Family(
        "disassociation",
        ("disassociate",),
        "all possible originals",
        16_000,
        joint_families.disassociated,
    ),
    Family(
        "safe disassociation",
        ("safe-disassociate",),
        "all possible originals, and the chance of each item in them",
        14_000,
        joint_families.safe_disassociated,
    ),
    Family(
        "privacy degree",
        ("anatomy", "cahd", "permutation"),
        "the chance of each sensitive item in all possible originals",
        12_000,
        joint_families.privacy_degree,
    ),
]
TOTAL = sum(family.count for family in FAMILIES)
