"""What a family of the campaign counts."""

from dataclasses import dataclass, field


@dataclass
class Tally:
    """How many releases were judged, and where setveil and the brute force disagree.

    `methods` and `random` count releases made by methods and drawn at random, `broken` those of
    which the brute force finds the guarantee broken, `answers` the numbers that were compared
    besides (bounds of supports, candidates, certain items), `open` the verdicts that said they
    were not exact, `refused` the tables that a method rightly refused, `skipped` the releases that
    the brute force cannot judge: they allow too many originals, or do not say how likely each is.
    """

    methods: int = 0
    random: int = 0
    broken: int = 0
    answers: int = 0
    open: int = 0
    refused: int = 0
    skipped: int = 0
    disagreements: list = field(default_factory=list)

    @property
    def releases(self):
        return self.methods + self.random

    def judge(self, truth, verdict, *, promised, where):
        """Compare a verdict with the truth; a promised release must keep its promise."""
        if promised:
            self.methods += 1
            self.expect(truth, True, "the method keeps its promise", where)
        else:
            self.random += 1
        self.broken += not truth
        if verdict.exact:
            self.expect(verdict.holds, truth, "the verdict", where)
        else:
            self.open += 1
            self.expect(verdict.holds and not truth, False, "a false 'holds'", where)

    def answer(self, found, truth, what, where):
        """Compare something that a release answers with the truth."""
        self.answers += 1
        self.expect(found, truth, what, where)

    def expect(self, found, truth, what, where):
        if found != truth:
            self.disagreements.append(f"{what}: {found}, brute force: {truth}; {where}")
