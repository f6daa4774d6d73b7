"""The forms of crafted releases: what is drawn, how often, and what judges it."""

from dataclasses import dataclass, field
from fractions import Fraction
from random import Random

from tests.adversarial.crafted import drawing, truth
from tests.adversarial.crafted.writing import load_crafted
from tests.campaign.joint_families import too_likely
from tests.reference.block_worlds import TooManyWorldsError, Worlds
from tests.reference.grouped import group_worlds
from tests.reference.k_anonymity import is_k_anonymous
from tests.reference.km import is_km_anonymous
from tests.reference.support_constraints import rare_parts

from setveil.core.errors import InputError, NotApplicable, SetveilError
from setveil.guarantee import (
    Coherence,
    Disassociated,
    KAnonymity,
    KmAnonymity,
    PrivacyDegree,
    RhoUncertainty,
    SafeDisassociated,
    SupportConstraints,
)
from setveil.release import deal
from setveil.release.set_generalized import members_of

COUNT = 100_000
SHARES = ("0.2", "1/3", "0.4", "1/2", "0.6", "2/3", "3/4", "1")


@dataclass
class Tally:
    """How many crafted releases were refused, what was said of the others, and what is wrong.

    `open` are verdicts that said they were not exact, `inapplicable` questions that the form has
    no answer to, `skipped` those that the brute force has none to.
    """

    crafted: int = 0
    refused: int = 0
    held: int = 0
    broken: int = 0
    open: int = 0
    inapplicable: int = 0
    skipped: int = 0
    disagreements: list = field(default_factory=list)

    @property
    def verdicts(self):
        return self.held + self.broken + self.open + self.inapplicable

    def compare(self, promise, release, state, where):
        """Compare a verdict with what is so in all originals, in none, or in some."""
        try:
            verdict = promise.check(release)
        except (NotApplicable, InputError) as error:
            self.inapplicable += 1
            self._expect(bool(error.what), where, promise, "an error without words")
            return
        except Exception as error:  # noqa: BLE001  (what it may be is the question)
            self._expect(False, where, promise, repr(error))
            return
        said = truth.HOLDS if verdict.holds else truth.BROKEN
        if not verdict.exact:
            self.open += 1
            # Not even an uncertain verdict may call a release safe that is not.
            right = not verdict.holds or state == truth.HOLDS
            self._expect(right, where, promise, f"perhaps holds, but {state}")
            return
        self.held += verdict.holds
        self.broken += not verdict.holds
        right = said == state or (said == truth.BROKEN and state == truth.UNKNOWN)
        self._expect(right, where, promise, f"{said}, but {state}")

    def _expect(self, right, where, promise, what):
        if not right:
            self.disagreements.append(f"{what}: {promise} of {where}")


@dataclass
class Case:
    """A release that was loaded, what it was loaded from, and where verdicts on it are counted."""

    rng: Random
    tally: Tally
    release: object
    rows: list
    structure: dict
    where: str

    def compare(self, promise, state):
        self.tally.compare(promise, self.release, state, self.where)

    def expect_no_answer(self, *promises):
        """Expect that the form has no answer to some questions."""
        for promise in promises:
            try:
                said = promise.check(self.release)
            except (NotApplicable, InputError):
                self.tally.inapplicable += 1
            else:
                self.fault(f"an answer, {said}, to {promise}")

    def fault(self, what):
        self.tally.disagreements.append(f"{what}: {self.where}")


@dataclass(frozen=True)
class Crafted:
    """A form, what draws the rows and the structure of a release, and what judges one."""

    form: str
    compared: str
    draw: object
    judge: object
    count: int = COUNT

    def run(self, share=1.0, first=0):
        """Craft a share of the releases, judge those that can be loaded, and return the figures."""
        tally = Tally()
        for number in range(first, first + max(round(self.count * share), 1)):
            self.judge_one(number, tally)
        return tally

    def judge_one(self, number, tally):
        """Judge what a number draws."""
        rng = Random(f"{self.form} {number}")
        rows, structure = self.draw(rng)
        tally.crafted += 1
        where = f"{self.form} {number}: {rows}, {structure}"
        try:
            release = load_crafted(self.form, rows, structure)
        except SetveilError:
            tally.refused += 1
            return
        except Exception as error:  # noqa: BLE001  (what it may be is the question)
            tally.disagreements.append(f"{error!r} when loaded: {where}")
            return
        self.judge(Case(rng, tally, release, rows, structure, where))


# --- records --------------------------------------------------------------------------------------


def state_of(kept):
    return truth.HOLDS if kept else truth.BROKEN


def draw_secrets(rng, names):
    """Draw items that are sensitive: shown ones mostly, and some that are not."""
    pool = sorted({*names, *drawing.POOL, "absent"})
    return sorted(set(rng.choices(sorted(names) or pool, k=rng.randint(1, 2)))
                  | set(rng.sample(pool, rng.choice([0, 0, 0, 1]))))  # fmt: skip


def count_records(case, rows):
    """Judge what is counted in records: equal ones, and sets of what they show.

    Returns k and m where every set is frequent enough.
    """
    k, m = case.rng.randint(1, 3), case.rng.randint(1, 3)
    case.compare(KAnonymity(k=k), state_of(is_k_anonymous(rows, k)))
    kept = is_km_anonymous(rows, k, m)
    case.compare(KmAnonymity(k=k, m=m), state_of(kept))
    return (k, m) if kept else None


def expect_leaves_kept(case, records, asked, n_leaves):
    """Expect that sets of leaves are as frequent as sets of what is shown."""
    if asked and truth.leaves_are_lost(records, *asked, n_leaves):
        case.fault(f"k^m-anonymous by what is shown, but not by leaves ({asked})")


def infer(case, records, *, sensitive, readings, located):
    """Judge what can be inferred, whichever way the names of sensitive items are read."""
    rng = case.rng
    share, prior = rng.choice(SHARES), rng.random() < 0.5
    states = [truth.rho(records, masks, Fraction(share), prior=prior) for masks in readings]
    promise = RhoUncertainty(rho=share, sensitive=sensitive, prior=prior)
    case.compare(promise, truth.both_ways(states))
    h, k, p = rng.choice(SHARES), rng.randint(1, 2), rng.randint(1, 2)
    asked = {"h": Fraction(h), "k": k, "p": p}
    states = [truth.coherence(records, masks, located, **asked) for masks in readings]
    promise = Coherence(h=h, k=k, p=p, sensitive=sensitive)
    case.compare(promise, truth.both_ways(states))


def every_way(choices):
    """Return all ways to read several names: sets of leaves, without those that mean nothing."""
    found = [frozenset()]
    for readings in choices:
        found = [way | {mask} for way in found for mask in readings]
    return [sorted(way - {0}) for way in set(found)]


def generalized(case):
    rows, nodes = case.rows, case.structure["nodes"]
    records, tree = truth.of_nodes(rows, case.structure)
    expect_leaves_kept(case, records, count_records(case, rows), tree.n_leaves)
    names = {text for node in nodes for text in (node["id"], node["name"])}
    sensitive = draw_secrets(case.rng, names)[:2]
    shown = 0
    for mask in records.behind.values():
        shown |= mask
    choices = [tree.readings(text, shown) for text in sensitive]
    located = [tree.located(text) for text in sensitive]
    infer(case, records, sensitive=sensitive, readings=every_way(choices), located=located)
    wanted = case.rng.sample(sorted(names), min(2, len(names)))
    images = {}
    for text in wanted:
        bit = tree.located(text)
        above = [label for label, mask in records.behind.items() if bit & mask]
        if not bit or len(above) > 1:
            case.expect_no_answer(SupportConstraints(itemsets=[[text]]))
            return
        images[text] = above[0] if above else None
    count_parts(case, rows, images)


def count_parts(case, rows, images):
    """Judge whether parts of an itemset, given by its images, are rare."""
    k, wanted = case.rng.randint(1, 3), sorted(images)
    kept = not rare_parts(rows, images, [wanted], k)
    case.compare(SupportConstraints(itemsets=[wanted], k=k), state_of(kept))


def alone(label):
    return (label,)


def in_sets(case, rows, members=alone):
    """Judge records of items, or of sets of items."""
    records, bit = truth.of_sets(rows, members)
    expect_leaves_kept(case, records, count_records(case, rows), len(bit))
    sensitive = draw_secrets(case.rng, bit)
    masks = sorted({bit[item] for item in sensitive if item in bit})
    infer(case, records, sensitive=sensitive, readings=[masks], located=masks)
    count_parts(case, rows, images_of(case.rng, records, bit))


def images_of(rng, records, bit):
    """Draw an itemset, and return what stands for each of its items."""
    return {
        item: next((x for x, mask in records.behind.items() if bit.get(item, 0) & mask), None)
        for item in draw_secrets(rng, bit)
    }


def suppressed(case):
    in_sets(case, case.rows)


def set_generalized(case):
    in_sets(case, case.rows, members_of)


def split(case):
    count_records(case, case.rows)
    count_parts(case, case.rows, images_of(case.rng, *truth.of_sets(case.rows, alone)))
    case.expect_no_answer(RhoUncertainty(sensitive=["HIV"]), Coherence(sensitive=["HIV"]))


def encoded(case):
    """Judge records of names and tags: of what cannot be read nothing may be said."""
    readable = set(case.structure["readable"])
    shown = {item for row in case.rows for item in row}
    if shown <= readable:
        in_sets(case, case.rows)
        return
    count_records(case, case.rows)
    asked = case.rng.choice(drawing.POOL)
    case.expect_no_answer(RhoUncertainty(sensitive=[asked]), Coherence(sensitive=[asked]))
    wanted = case.rng.choice(sorted({*shown, "absent"}))
    if wanted in readable:
        count_parts(case, case.rows, {wanted: wanted})
    else:
        case.expect_no_answer(SupportConstraints(itemsets=[[wanted]]))


def shared(case):
    handles = [[label.partition(":")[0] for label in row] for row in case.rows]
    supports = {h: sum(h in row for row in handles) for row in handles for h in row}
    if all(support >= case.structure["k"] for support in supports.values()):
        # All can be read: the names are those of the polynomials, which the loader found.
        in_sets(case, case.release.to_rows())
        return
    count_records(case, handles)
    case.expect_no_answer(RhoUncertainty(sensitive=["HIV"]), Coherence(sensitive=["HIV"]))


def perturbed(case):
    case.expect_no_answer(
        KAnonymity(k=1), KmAnonymity(k=1), RhoUncertainty(sensitive=["HIV"]),
        Coherence(sensitive=["HIV"]), SupportConstraints(itemsets=[["HIV"]]),
    )  # fmt: skip


# --- groups and chunks ----------------------------------------------------------------------------


@dataclass
class Group:
    """Records of a group, and its sensitive parts with their counts."""

    rows: list
    parts: list


def grouped(case):
    p = case.rng.randint(1, 4)
    named = case.rng.sample(drawing.POOL[:4], case.rng.randint(0, 2))
    groups = groups_in(case.rows, case.structure)
    apart = {item for group in groups for part, _ in group.parts for item in part}
    kept = True
    for group in groups:
        worlds = group_worlds(group, whole=case.structure.get("whole", True))
        for item in apart | set(named):
            slots = range(len(group.rows))
            most = max(sum(item in world[slot] for world in worlds) for slot in slots)
            kept = kept and p * most <= len(worlds)
    state = state_of(kept)
    if kept and "sensitive" in case.structure and deal(case.release).to_rows() != case.rows:
        state = truth.OPEN  # the originals are not alike likely: somebody chose the deal
    case.compare(PrivacyDegree(p=p, sensitive=named), state)
    case.expect_no_answer(KAnonymity(k=1), RhoUncertainty(sensitive=["HIV"]))


def groups_in(rows, structure):
    """Return the groups as a manifest describes them."""
    left = list(rows)
    slots = [[left.pop(0) for _ in range(size)] for size in structure["sizes"]]
    if "sensitive" in structure:
        secret = set(structure["sensitive"])
        found = []
        for group in slots:
            parts = [tuple(i for i in row if i in secret) for row in group]
            counted = [(part, parts.count(part)) for part in sorted(set(parts)) if part]
            found.append(Group([[i for i in row if i not in secret] for row in group], counted))
        return found
    counts = list(structure["counts"])
    parts = [[(left.pop(0), counts.pop(0)) for _ in range(n)] for n in structure["parts"]]
    return [Group(*each) for each in zip(slots, parts, strict=True)]


def disassociated(case):
    try:
        worlds = Worlds(case.release)
    except TooManyWorldsError:
        case.tally.skipped += 1
        return
    rng = case.rng
    k, m, share = rng.randint(1, 3), rng.randint(1, 3), rng.choice(SHARES)
    narrowed = worlds.is_narrowed(k, m)
    case.compare(Disassociated(k=k, m=m), state_of(not narrowed))
    broken = narrowed or worlds.gives_away()
    likely = False if broken else too_likely(case.release, worlds, m, Fraction(share))
    state = truth.UNKNOWN if likely is None else state_of(not (broken or likely))
    case.compare(SafeDisassociated(k=k, m=m, max_share=share), state)
    case.expect_no_answer(KAnonymity(k=1))


COUNTED = "every set of what records show"
FORMS = [
    Crafted("generalized", f"{COUNTED}, and all originals", drawing.draw_generalized, generalized),
    Crafted("suppressed", COUNTED, drawing.draw_suppressed, suppressed),
    Crafted("set-generalized", f"{COUNTED}, and all originals", drawing.draw_sets, set_generalized),
    Crafted("split", COUNTED, drawing.draw_suppressed, split),
    Crafted("encoded", COUNTED, drawing.draw_encoded, encoded),
    Crafted("shared", COUNTED, drawing.draw_shared, shared),
    Crafted("perturbed", "nothing can be decided", drawing.draw_perturbed, perturbed),
    Crafted("disassociated", "all originals", drawing.draw_chunks, disassociated),
    Crafted("grouped", "all originals", drawing.draw_grouped, grouped),
]
