"""What an audit found: plain records that are written, read again, shown and compared."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, Self, TypedDict

from setveil.attack.base import RISKS
from setveil.core.errors import InputError, ParameterError
from setveil.core.interval import Rate
from setveil.core.params import is_whole
from setveil.core.untrusted import fits, misfit

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    import polars as pl

    from setveil.audit.figures import Chart

DONE = "done"
FAILED = "failed"
SKIPPED = "skipped"
INAPPLICABLE = "inapplicable"
STATES = (DONE, FAILED, SKIPPED, INAPPLICABLE)

PUBLISH = "publish"
WITH_CARE = "publish-with-care"
DO_NOT = "do-not-publish"
NOT_DECIDED = "not-decided"
ANSWERS = {PUBLISH: 0, WITH_CARE: 4, DO_NOT: 1, NOT_DECIDED: 3}
"""The answers of an audit, with the exit codes of the commands that give them."""

TARGET = 0.1
MAX_LOSS = 0.25
MIN_K = 5

TEXTS = ("name", "method", "title", "state", "form", "worst_attack")
FLAGS = ("verified", "meets_target", "recommended")
SHARES = ("risk", *RISKS, "loss", "seconds")
"""Columns of the frame of an audit."""


class PromiseText(TypedDict):
    """A promise as an audit keeps it."""

    name: str
    params: dict[str, Any]
    says: str
    group_size: int | None


class WitnessText(TypedDict, total=False):
    """What breaks a promise, as an audit keeps it."""

    items: list[str]
    support: float | None
    required: str
    consequent: str | None


class ContentText(TypedDict, total=False):
    """What a release shows, as an audit keeps it."""

    sentence: str | None


class BeforeAfter(TypedDict):
    """An invented record, before and after."""

    before: list[str]
    after: list[str]


class OwnerText(TypedDict, total=False):
    """What a release contains, for its owner (:mod:`setveil.audit.contents`)."""

    headline: str
    stays: str
    coarser: str
    gone: str
    affected: list[tuple[str, int, str]]
    computable: list[str]
    errors: dict[str, float | None]
    unprotected: list[str]
    example: BeforeAfter


class StoryText(TypedDict, total=False):
    """How someone looked for one person (:mod:`setveil.audit.contents`)."""

    known: list[str]
    before: float
    after: float
    learned: list[str]
    sentences: list[str]


class CountText(TypedDict):
    """What a release answers to a count query (:class:`setveil.measure.workload.QueryAnswer`)."""

    items: list[str]
    records: int
    estimate: float | None
    low: int | None
    high: int | None
    error: float | None


class NotedFigures(TypedDict, total=False):
    """What an audit notes of a run beside numbers (:func:`setveil.audit.contents.item_changes`)."""

    items: list[tuple[str, float, float, float]]
    terms: list[tuple[str, float]]
    steps: list[tuple[str, str, str, float]]
    content: ContentText
    contents: OwnerText
    story: StoryText
    workload: list[CountText]


class ExampleText(TypedDict, total=False):
    """What an attack said of a record (:meth:`setveil.attack.guess.Guess.examples`)."""

    known: list[str] | None
    published: list[str] | None
    guessed: list[str] | None
    original: list[str] | None
    why: list[tuple[str, str, float, float]]


class TopItem(TypedDict):
    """An item that many records hold."""

    item: str
    records: int


class SettingsText(TypedDict, total=False):
    """What was asked for; further settings are any values."""

    relatedness: list[str]
    sensitive: list[str]


def _check(found: Mapping[str, Any], kind: type, **closer: Any) -> None:
    """Refuse an object from a file that is not as its class says."""
    wrong = misfit(found, kind, **closer)
    if wrong is not None:
        raise InputError(f"the audit is damaged at {wrong!r}", fix="audit again")


@dataclass(frozen=True, kw_only=True)
class Criteria:
    """What a release must reach to be recommended.

    Parameters
    ----------
    target
        The largest gain of any attack that is acceptable: 0 is guessing, 1 is everything.
    targets
        The same for some of the three risks, where they differ.
    max_loss
        The loss up to which a release is recommended without reserve.
    min_k
        The number of people among whom a promise must hide each one, likewise.

    Examples
    --------
    >>> criteria = Criteria(targets={"inference": 0.05})
    >>> criteria.limit("inference"), criteria.limit("linkage")
    (0.05, 0.1)
    >>> Criteria(target=7)
    Traceback (most recent call last):
    setveil.core.errors.ParameterError: the target is 7. To fix: use a share, from 0 to 1.
    """

    target: float = TARGET
    targets: dict[str, float] = field(default_factory=dict)
    max_loss: float = MAX_LOSS
    min_k: int = MIN_K

    def __post_init__(self) -> None:
        for risk, share in (("", self.target), *self.targets.items()):
            if risk and risk not in RISKS:
                raise ParameterError(
                    f"there is no risk called {risk!r}", fix=f"use one of {', '.join(RISKS)}"
                )
            if isinstance(share, bool) or not 0 <= share <= 1:
                of_risk = f" of {risk}" if risk else ""
                raise ParameterError(
                    f"the target{of_risk} is {share:g}", fix="use a share, from 0 to 1"
                )
        if not self.max_loss >= 0:
            raise ParameterError(f"max_loss is {self.max_loss:g}", fix="use 0 or more")
        if not is_whole(self.min_k, 1):
            raise ParameterError(f"min_k is {self.min_k}", fix="use a whole number of at least 1")

    def limit(self, risk: str) -> float:
        """Return the largest acceptable gain of an attack that shows this risk."""
        return self.targets.get(risk, self.target)


def _criteria(found: object) -> Criteria:
    """Read what a release must reach, or refuse what is none."""
    try:
        if isinstance(found, dict) and misfit(found, Criteria) is None:
            return Criteria(**found)
    except ParameterError:
        pass
    raise InputError("the audit is damaged at 'criteria'", fix="audit again")


@dataclass(frozen=True, kw_only=True)
class Adversary:
    """One attack on one release, and what it got.

    Parameters
    ----------
    attack, params
        The registered attack and its parameters.
    knows
        What the adversary knows, in a few words: "2 random items of a person", "corpus:notes".
    risk
        Which risk it shows: one of :data:`~setveil.attack.base.RISKS`.
    decides
        Whether the verdict depends on it; attackers who know more stand beside those who decide.
    figure
        Name of the score that counts as success, such as ``"named"`` or ``"accuracy"``.
    rate
        That score with its interval; None where the attack does not apply, failed or was left out.
    baseline, baseline_name
        What guessing without the attack gets, and who guesses.
    control
        What the attack gets where there is nothing to find; None where there is no such control.
    raw
        What the same attack gets from the original data; None where that was not measured.
    tested
        Number of people, or of whatever else was attacked, that the rate rests on; 0 where nobody
        counted.
    label, says
        What the attacker does, in a few words; a sentence for a data owner, with ``{count}`` of
        1,000 and ``{knows}``.
    unit
        What `tested` counts.
    scores
        All scores as :func:`setveil.measure.flat` gives them.
    note
        Why there is no rate, or what a reader must know.
    seconds
        Time it took.
    examples
        What it said of a few records, for the owner's eyes
        (:meth:`setveil.attack.guess.Guess.examples`).

    Examples
    --------
    >>> Adversary(attack="aba", figure="accuracy", rate=Rate.counted(0.75),
    ...           baseline=Rate.counted(0.5), baseline_name="random").gain.value
    0.5
    """

    attack: str
    params: dict[str, Any] = field(default_factory=dict)
    knows: str = ""
    risk: str = "linkage"
    decides: bool = True
    figure: str = ""
    rate: Rate | None = None
    baseline: Rate | None = None
    baseline_name: str = ""
    control: Rate | None = None
    raw: Rate | None = None
    tested: int = 0
    label: str = ""
    says: str = ""
    unit: str = "test"
    advantage: Rate | None = None
    scores: dict[str, float | None] = field(default_factory=dict)
    note: str = ""
    seconds: float = 0.0
    examples: list[dict[str, Any]] = field(default_factory=list)

    @property
    def gain(self) -> Rate | None:
        """The share of what guessing misses that the attack gets: 0 is guessing, 1 is all.

        That is the score's `advantage`, which pairs the attack and guessing on the same units.
        Of a score that states none, the upper end counts the attack's upper end against the
        baseline's lower one, and the other way round: never narrower than the truth. Below
        guessing is 0.
        """
        if self.advantage is not None or self.rate is None:
            return self.advantage
        base = Rate.counted(0.0) if self.baseline is None else self.baseline
        return Rate(
            value=_beyond(self.rate.value, base.value),
            low=_beyond(self.rate.low, base.high),
            high=_beyond(self.rate.high, base.low),
            exact=self.rate.exact and base.exact,
        )

    @property
    def family(self) -> tuple[str, str, str]:
        """What names the same attacker on another release."""
        given = {name: value for name, value in self.params.items() if name != "sample"}
        return self.attack, self.figure, f"{sorted(given.items())} {self.knows}"

    def in_short(self) -> dict[str, Any]:
        """Return who attacked, and what they got, before, after and by guessing, as JSON."""
        rates = {
            "rate": self.rate,
            "original": self.raw,
            "guessing": self.baseline,
            "control": self.control,
            "gain": self.gain,
        }
        return {
            "label": self.label,
            "attack": self.attack,
            "knows": self.knows,
            **{name: None if rate is None else asdict(rate) for name, rate in rates.items()},
            "tested": self.tested,
        }

    def to_json(self) -> dict[str, Any]:
        """Return what :meth:`from_json` reads, and the gain."""
        gain = self.gain
        return {**asdict(self), "gain": None if gain is None else asdict(gain)}

    @classmethod
    def from_json(cls, found: Mapping[str, Any]) -> Self:
        """Read what :meth:`to_json` wrote."""
        found = {name: value for name, value in found.items() if name != "gain"}
        _check(found, cls, examples=list[ExampleText])
        if found.get("risk", RISKS[0]) not in RISKS:
            raise InputError("the audit is damaged at 'risk'", fix="audit again")
        rates = {
            name: None if found.get(name) is None else Rate(**found[name])
            for name in ("rate", "baseline", "control", "raw", "advantage")
        }
        return cls(**{**found, **rates})


def _beyond(rate: float, base: float) -> float:
    return 0.0 if base >= 1 else min(max((rate - base) / (1 - base), 0.0), 1.0)


@dataclass(frozen=True, kw_only=True)
class RunRecord:
    """One method with one setting: what it promised, lost, and gave away.

    Parameters
    ----------
    id
        Hash of all that the run depends on (data, method, parameters, attacks, seed, version).
    name, title
        For files and links, and for readers.
    method, params
        The registered anonymizer and the parameters that were given.
    state
        ``"done"``, ``"failed"`` (see `error`), ``"skipped"`` (budget) or ``"inapplicable"``: the
        data does not allow the setting.
    error
        What went wrong, for readers.
    form
        The release's form; "" unless done.
    release
        Its folder below the audit's directory, such as ``private/candidates/gather-k5``; ""
        unless done.
    promise
        ``{"name": …, "params": …, "says": sentence, "group_size": …}``; None where nothing is
        promised.
    holds, exact, reason, witnesses
        The independent verdict on the written files.
    consistent
        Whether every original record is one that its published record allows.
    loss
        The common measure of what was lost, on which runs compare; None where it cannot be said.
    measures, figures
        All measures, and what the method itself counted.
    adversaries
        Every attack that was tried.
    missing
        Kinds of attackers that apply to the release and were not tried, in words.
    seconds
        Time per stage.
    """

    id: str
    name: str
    title: str
    method: str
    params: dict[str, Any]
    state: str = DONE
    error: str = ""
    form: str = ""
    release: str = ""
    promise: dict[str, Any] | None = None
    holds: bool | None = None
    exact: bool = False
    reason: str = ""
    witnesses: list[Any] = field(default_factory=list)
    consistent: bool = False
    loss: float | None = None
    measures: dict[str, float | int | None] = field(default_factory=dict)
    figures: dict[str, Any] = field(default_factory=dict)
    adversaries: tuple[Adversary, ...] = ()
    missing: tuple[str, ...] = ()
    seconds: dict[str, float] = field(default_factory=dict)

    @property
    def verified(self) -> bool:
        """Whether it promised something that certainly holds, and nothing published is false."""
        return self.state == DONE and self.holds is True and self.exact and self.consistent

    @property
    def deciding(self) -> tuple[Adversary, ...]:
        """The attacks that were measured and that the verdict depends on."""
        return tuple(each for each in self.adversaries if each.decides and each.gain is not None)

    @property
    def worst(self) -> Adversary | None:
        """The deciding attack whose gain may be the largest; None where none was measured."""
        return max(self.deciding, key=_upper_end, default=None)

    @property
    def risk(self) -> float | None:
        """The upper end of the worst attack's gain: what the target is compared with."""
        worst = self.worst
        return None if worst is None or worst.gain is None else worst.gain.high

    @property
    def risks(self) -> dict[str, Adversary]:
        """For each of the three risks that was measured, the attack that decides about it.

        That is the one whose gain may be the largest, by the upper end of its interval. It need
        not be the one that got furthest, which is in :attr:`furthest`: fewer tests make a wider
        interval.
        """
        found = {
            risk: max(
                (each for each in self.deciding if each.risk == risk), key=_upper_end, default=None
            )
            for risk in RISKS
        }
        return {risk: worst for risk, worst in found.items() if worst is not None}

    @property
    def furthest(self) -> list[Adversary]:
        """For each thing that attackers tried, the deciding attack that got furthest."""
        return furthest(self.deciding)

    @property
    def group_size(self) -> int | None:
        """The number of people among whom the promise hides each one, if it speaks of one."""
        size = None if self.promise is None else self.promise.get("group_size")
        return size if isinstance(size, int) else None

    def to_json(self) -> dict[str, Any]:
        """Return what :meth:`from_json` reads, and the risks."""
        parts = {risk: worst.in_short() for risk, worst in self.risks.items()}
        shown = [{"risk": each.risk, **each.in_short()} for each in self.furthest]
        return {
            **asdict(self),
            "adversaries": [each.to_json() for each in self.adversaries],
            "risk": {"worst": self.risk, **parts, "furthest": shown},
        }

    @classmethod
    def from_json(cls, found: Mapping[str, Any]) -> Self:
        """Read what :meth:`to_json` wrote."""
        found = {name: value for name, value in found.items() if name != "risk"}
        _check(
            found,
            cls,
            promise=PromiseText | None,
            witnesses=list[WitnessText | str],
            figures=NotedFigures,
            adversaries=list[dict[str, Any]],
        )
        if found.get("state", DONE) not in STATES:
            raise InputError("the audit is damaged at 'state'", fix="audit again")
        tried = tuple(Adversary.from_json(each) for each in found.get("adversaries", ()))
        missing = tuple(found.get("missing", ()))
        return cls(**{**found, "adversaries": tried, "missing": missing})


def _upper_end(adversary: Adversary) -> tuple[float, float]:
    gain = adversary.gain
    return (-1.0, -1.0) if gain is None else (gain.high, gain.value)


def furthest(tried: Iterable[Adversary]) -> list[Adversary]:
    """Return for each thing that attackers try the deciding attack that got furthest, by risk.

    Of equal ones it is the first: attackers who know most come first.

    >>> few, many = (Adversary(attack="linkage", label="Name", rate=Rate.counted(share))
    ...              for share in (0.25, 0.5))
    >>> furthest([few, many]) == [many]
    True
    """
    found: dict[tuple[int, str], tuple[float, Adversary]] = {}
    for each in tried:
        got = each.rate if each.gain is None else each.gain
        if each.decides and got is not None:
            place = RISKS.index(each.risk), each.label
            if place not in found or got.value > found[place][0]:
                found[place] = got.value, each
    return [found[place][1] for place in sorted(found, key=lambda place: place[0])]


@dataclass(frozen=True, kw_only=True)
class AuditResult:
    """All runs of an audit, and the answer that follows from them.

    Parameters
    ----------
    title, description
        What a reader calls the data, and a sentence about it.
    criteria
        What a release must reach.
    runs
        Every run, done or not, method by method, in the order in which they were tried.
    original
        What the attacks get from the original data; None where that was not measured.
    answer
        One of :data:`ANSWERS`.
    recommended
        Id of the recommended run; None unless the answer is to publish.
    reasons
        Plain sentences: why this answer.
    cares
        Why "with care": what the recommended run lacks.
    untested
        Attackers that nobody tried, a sentence each.
    next_steps
        What to do now, a sentence each.
    profile
        What the data is like (:mod:`setveil.measure.profile`), as JSON.
    settings
        What was asked for: seed, budget, attacks, sensitive items, as JSON.
    notes
        What a reader must know: budget reached, how searches ended.
    """

    title: str
    description: str = ""
    criteria: Criteria = field(default_factory=Criteria)
    runs: tuple[RunRecord, ...]
    original: RunRecord | None = None
    answer: str = NOT_DECIDED
    recommended: str | None = None
    reasons: tuple[str, ...] = ()
    cares: tuple[str, ...] = ()
    untested: tuple[str, ...] = ()
    next_steps: tuple[str, ...] = ()
    profile: dict[str, Any] = field(default_factory=dict)
    settings: dict[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    def __repr__(self) -> str:
        """Return a line: all that was found holds timings and, in examples, records."""
        best = "" if self.chosen is None else f" {self.chosen.name}"
        return f"AuditResult({self.title!r}, {len(self.runs)} runs, {self.answer}{best})"

    @property
    def target(self) -> float:
        """The largest gain of any attack that is acceptable."""
        return self.criteria.target

    @property
    def chosen(self) -> RunRecord | None:
        """The recommended run."""
        return next((run for run in self.runs if run.id == self.recommended), None)

    def to_frame(self) -> pl.DataFrame:
        """Return a row per run as a polars frame: what it promised, risks and loses.

        >>> run = RunRecord(id="1", name="gather-k5", title="gather, k = 5", method="gather",
        ...                 params={"k": 5}, loss=0.2)
        >>> AuditResult(title="", runs=(run,)).to_frame()["loss"].to_list()
        [0.2]
        """
        import polars as pl

        kinds = {**dict.fromkeys(TEXTS, pl.String), **dict.fromkeys(FLAGS, pl.Boolean)}
        kinds |= dict.fromkeys(SHARES, pl.Float64)
        return pl.DataFrame([self._row(run) for run in self.runs], schema=kinds)

    def _row(self, run: RunRecord) -> dict[str, Any]:
        worst = run.worst
        return {
            "name": run.name,
            "method": run.method,
            "title": run.title,
            "state": run.state,
            "form": run.form,
            "worst_attack": None if worst is None else f"{worst.attack}: {worst.knows}",
            "verified": run.verified,
            "meets_target": bool(run.risks)
            and all(
                each.gain is not None and each.gain.high <= self.criteria.limit(risk)
                for risk, each in run.risks.items()
            ),
            "recommended": run.id == self.recommended,
            "risk": run.risk,
            **{
                risk: run.risks[risk].gain.high if risk in run.risks else None  # type: ignore[union-attr]
                for risk in RISKS
            },
            "loss": run.loss,
            "seconds": sum(run.seconds.values()),
        }

    def plot(self) -> Chart:
        """Return risk and loss of all runs as a picture; notebooks show it by themselves.

        >>> AuditResult(title="", runs=()).plot().svg()[:4]
        '<svg'
        """
        from setveil.audit.figures import chart

        return chart(self)

    def _repr_html_(self) -> str:
        from setveil.core.notebook import html_table, shown_text

        rows = [
            [
                f"{'→ ' if run.id == self.recommended else ''}{run.title}",
                run.state if run.state != DONE else "yes" if run.verified else "no",
                run.risk,
                run.loss,
            ]
            for run in self.runs
        ]
        said = "".join(f"<li>{shown_text(reason)}</li>" for reason in self.reasons)
        caption = f"{self.title}: {self.answer.replace('-', ' ')}; target {self.target:.0%}"
        table = html_table(caption, ["release", "verified", "risk", "loss"], rows)
        return f"{table}\n<ul>{said}</ul>"

    def to_json(self) -> dict[str, Any]:
        """Return what :meth:`from_json` reads."""
        return {
            **asdict(self),
            "runs": [run.to_json() for run in self.runs],
            "original": None if self.original is None else self.original.to_json(),
        }

    @classmethod
    def from_json(cls, found: Mapping[str, Any]) -> Self:
        """Read what :meth:`to_json` wrote."""
        _check(
            found,
            cls,
            criteria=dict[str, Any],
            settings=SettingsText,
            runs=list[dict[str, Any]],
            original=dict[str, Any] | None,
        )
        profile = dict(found.get("profile", {}))
        known = fits(profile.pop("top_items", []), list[TopItem])
        known = fits(profile.pop("sentences", []), list[str]) and known
        if not known or not fits(profile, dict[str, float | bool | None]):
            raise InputError("the audit is damaged at 'profile'", fix="audit again")
        if found.get("answer") not in ANSWERS:
            raise InputError("the audit is damaged at 'answer'", fix="audit again")
        original = found.get("original")
        texts = ("reasons", "cares", "untested", "next_steps", "notes")
        return cls(
            **{
                **found,
                "criteria": _criteria(found.get("criteria")),
                "runs": tuple(RunRecord.from_json(run) for run in found["runs"]),
                "original": None if original is None else RunRecord.from_json(original),
                **{name: tuple(found.get(name, ())) for name in texts},
            }
        )
