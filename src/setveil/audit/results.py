"""What an audit found: plain records that are written, read again, shown and compared."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, Self, TypedDict

from setveil.core.json_kinds import fits, misfit
from setveil.errors import InputError
from setveil.measure.interval import Rate

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import polars as pl

    from setveil.audit.frontier import Chart

DONE = "done"
FAILED = "failed"
SKIPPED = "skipped"

TEXTS = ("name", "method", "title", "state", "form", "worst_attack")
FLAGS = ("verified", "meets_target", "recommended")
SHARES = ("risk", "loss", "seconds")
"""Columns of the frame of an audit."""


class PromiseText(TypedDict):
    """A promise as an audit keeps it."""

    name: str
    params: dict[str, Any]
    says: str


class WitnessText(TypedDict, total=False):
    """What breaks a promise, as an audit keeps it."""

    items: list[str]
    support: float | None
    required: str
    consequent: str | None


class ContentText(TypedDict, total=False):
    """What a release shows, as an audit keeps it."""

    sentence: str | None


class NotedFigures(TypedDict, total=False):
    """What an audit notes of a run beside plain numbers (:func:`setveil.audit.changes.changes`)."""

    items: list[tuple[str, float, float, float]]
    terms: list[tuple[str, float]]
    steps: list[tuple[str, str, str, float]]
    content: ContentText


class ExampleText(TypedDict, total=False):
    """What an attack said of a record (:func:`setveil.measure.examples.examples_of`)."""

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


def _check(found: Mapping[str, Any], kind: type, **closer: Any) -> None:  # noqa: ANN401
    """Refuse an object from a file that is not as its class says."""
    wrong = misfit(found, kind, **closer)
    if wrong is not None:
        raise InputError(f"the audit is damaged at {wrong!r}", fix="audit again")


@dataclass(frozen=True, kw_only=True)
class Adversary:
    """One attack on one release, and what it got.

    Parameters
    ----------
    attack, params
        The registered attack and its parameters.
    knows
        What the adversary knows, in a few words: "2 random items of a person", "corpus:notes".
    figure
        Name of the score that counts as success, such as ``"named"`` or ``"accuracy"``.
    rate
        That score with its interval; None where the attack does not apply, failed or was left out.
    baseline, baseline_name
        What guessing without the attack gets, and who guesses.
    control
        What the attack gets where there is nothing to find; None where there is no such control.
    scores
        All scores as :func:`setveil.measure.flat` gives them.
    note
        Why there is no rate, or what a reader must know.
    seconds
        Time it took.
    examples
        What it said of a few records, for the owner's eyes
        (:func:`setveil.measure.examples.examples_of`).

    Examples
    --------
    >>> Adversary(attack="aba", figure="accuracy", rate=Rate.counted(0.75),
    ...           baseline=Rate.counted(0.5), baseline_name="random").gain.value
    0.5
    """

    attack: str
    params: dict[str, Any] = field(default_factory=dict)
    knows: str = ""
    figure: str = ""
    rate: Rate | None = None
    baseline: Rate | None = None
    baseline_name: str = ""
    control: Rate | None = None
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

    def to_json(self) -> dict[str, Any]:
        """Return what :meth:`from_json` reads."""
        return asdict(self)

    @classmethod
    def from_json(cls, found: Mapping[str, Any]) -> Self:
        """Read what :meth:`to_json` wrote."""
        _check(found, cls, examples=list[ExampleText])
        rates = {
            name: None if found.get(name) is None else Rate(**found[name])
            for name in ("rate", "baseline", "control", "advantage")
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
        ``"done"``, ``"failed"`` (see `error`) or ``"skipped"`` (budget).
    error
        What went wrong, for readers.
    form
        The release's form; "" unless done.
    release
        Its folder below the audit's directory, such as ``publish/gather-k5``; "" unless done.
    promise
        ``{"name": …, "params": …, "says": sentence}``; None where nothing is promised.
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
    seconds: dict[str, float] = field(default_factory=dict)

    @property
    def verified(self) -> bool:
        """Whether it promised something that certainly holds, and nothing published is false."""
        return self.state == DONE and self.holds is True and self.exact and self.consistent

    @property
    def worst(self) -> Adversary | None:
        """The attack whose gain may be the largest; None where none was measured."""
        tried = [each for each in self.adversaries if each.gain is not None]
        return max(tried, key=lambda each: each.gain.high, default=None)  # type: ignore[union-attr]

    @property
    def risk(self) -> float | None:
        """The upper end of the worst attack's gain: what the target is compared with."""
        worst = self.worst
        return None if worst is None or worst.gain is None else worst.gain.high

    def to_json(self) -> dict[str, Any]:
        """Return what :meth:`from_json` reads."""
        return {**asdict(self), "adversaries": [each.to_json() for each in self.adversaries]}

    @classmethod
    def from_json(cls, found: Mapping[str, Any]) -> Self:
        """Read what :meth:`to_json` wrote."""
        _check(
            found,
            cls,
            promise=PromiseText | None,
            witnesses=list[WitnessText | str],
            figures=NotedFigures,
        )
        tried = tuple(Adversary.from_json(each) for each in found.get("adversaries", ()))
        return cls(**{**found, "adversaries": tried})


def undecided(runs: Sequence[RunRecord]) -> bool:
    """Tell whether no run finished, and limits of time or memory are among the reasons.

    >>> undecided([RunRecord(id="1", name="x", title="x", method="x", params={}, state=SKIPPED)])
    True
    """
    states = {run.state for run in runs}
    return DONE not in states and SKIPPED in states


@dataclass(frozen=True, kw_only=True)
class AuditResult:
    """All runs of an audit, and what follows from them.

    Parameters
    ----------
    title, description
        What a reader calls the data, and a sentence about it.
    target
        The largest gain of any attack that is acceptable.
    runs
        Every run, done or not, in the order of the plan.
    recommended
        Id of the recommended run; None where none meets the target.
    reasons
        Plain sentences: why this one, or why none.
    profile
        What the data is like (:mod:`setveil.measure.profile`), as JSON.
    settings
        What was asked for: seed, budget, attacks, sensitive items, as JSON.
    notes
        What a reader must know: budget reached, attacks left out and why.
    """

    title: str
    description: str = ""
    target: float
    runs: tuple[RunRecord, ...]
    recommended: str | None = None
    reasons: tuple[str, ...] = ()
    profile: dict[str, Any] = field(default_factory=dict)
    settings: dict[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    def __repr__(self) -> str:
        """Return a line: all that was found holds timings and, in examples, records."""
        best = "none" if self.chosen is None else self.chosen.name
        return f"AuditResult({self.title!r}, {len(self.runs)} runs, recommended: {best})"

    @property
    def chosen(self) -> RunRecord | None:
        """The recommended run."""
        return next((run for run in self.runs if run.id == self.recommended), None)

    def to_frame(self) -> pl.DataFrame:
        """Return a row per run as a polars frame: what it promised, risks and loses.

        >>> run = RunRecord(id="1", name="gather-k5", title="gather, k = 5", method="gather",
        ...                 params={"k": 5}, loss=0.2)
        >>> AuditResult(title="", target=0.1, runs=(run,)).to_frame()["loss"].to_list()
        [0.2]
        """
        import polars as pl  # noqa: PLC0415  (start-up time)

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
            "meets_target": run.risk is not None and run.risk <= self.target,
            "recommended": run.id == self.recommended,
            "risk": run.risk,
            "loss": run.loss,
            "seconds": sum(run.seconds.values()),
        }

    def plot(self) -> Chart:
        """Return risk and loss of all runs as a picture; notebooks show it by themselves.

        >>> AuditResult(title="", target=0.1, runs=()).plot().svg()[:4]
        '<svg'
        """
        from setveil.audit.frontier import chart  # noqa: PLC0415  (start-up time)

        return chart(self)

    def _repr_html_(self) -> str:
        from setveil.data.notebook import html_table, shown_text  # noqa: PLC0415  (start-up time)

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
        caption = f"{self.title}: target {self.target:.0%}"
        table = html_table(caption, ["release", "verified", "risk", "loss"], rows)
        return f"{table}\n<ul>{said}</ul>"

    def to_json(self) -> dict[str, Any]:
        """Return what :meth:`from_json` reads."""
        return {**asdict(self), "runs": [run.to_json() for run in self.runs]}

    @classmethod
    def from_json(cls, found: Mapping[str, Any]) -> Self:
        """Read what :meth:`to_json` wrote."""
        _check(found, cls, settings=SettingsText)
        profile = dict(found.get("profile", {}))
        known = fits(profile.pop("top_items", []), list[TopItem])
        known = fits(profile.pop("sentences", []), list[str]) and known
        if not known or not fits(profile, dict[str, float | bool | None]):
            raise InputError("the audit is damaged at 'profile'", fix="audit again")
        return cls(
            **{
                **found,
                "runs": tuple(RunRecord.from_json(run) for run in found["runs"]),
                "reasons": tuple(found.get("reasons", ())),
                "notes": tuple(found.get("notes", ())),
            }
        )
