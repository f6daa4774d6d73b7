"""Checks of tables: δ-presence."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from setveil.core.errors import InputError, ParameterError
from setveil.guarantee.thresholds import exact_share, share_as_json
from setveil.tabular.check_anonymity import QUASI
from setveil.tabular.classes import answered, class_sizes, many, named_columns, shown, witness

if TYPE_CHECKING:
    from setveil.guarantee.base import Verdict


@dataclass(frozen=True, kw_only=True)
class DeltaPresence:
    """Nobody can tell whether a person of a public table is in the release, up to two bounds.

    The public table lists everybody who might be in the release, in the same (generalized) terms:
    apply the release's generalization to it first. Of the b people of a class, a are in the
    release, so each of them is with the chance a / b, which must lie between `low` and `high`.

    Parameters
    ----------
    quasi
        The columns that both tables have.
    low
        Least chance, held as it is written; 0 if it does not matter who is known to be absent.
    high
        Greatest chance.

    Examples
    --------
    >>> import polars as pl
    >>> public = pl.DataFrame({"age": ["30-39"] * 4 + ["40-49"] * 2})
    >>> ill = pl.DataFrame({"age": ["30-39", "40-49", "40-49"]})
    >>> DeltaPresence(quasi=["age"], low=0, high=0.5).check(ill, public).reason
    '1 of 2 classes is outside 0 to 1/2, the farthest 1'

    Notes
    -----
    The classes of a release must not overlap, as those of a full-domain generalization do not.

    References
    ----------
    M. E. Nergiz, M. Atzori, C. Clifton: Hiding the presence of individuals from shared databases,
    SIGMOD 2007.
    """

    quasi: tuple[str, ...] = QUASI
    low: Fraction = field(default=Fraction(0), metadata={"doc": "least chance of being there"})
    high: Fraction = field(
        default=Fraction(1, 2), metadata={"doc": "greatest chance of being there"}
    )

    def __post_init__(self) -> None:
        object.__setattr__(self, "quasi", named_columns("quasi", self.quasi))
        object.__setattr__(self, "low", exact_share("low", self.low))
        object.__setattr__(self, "high", exact_share("high", self.high))
        if self.low > self.high:
            raise ParameterError(
                f"low is {self.low} and high is {self.high}", fix="use low of at most high"
            )

    def check(self, frame: Any, public: Any) -> Verdict:  # noqa: ANN401
        """Compare the classes of the release and the public table; witnesses: chances outside."""
        everybody = class_sizes(public, self.quasi)
        present = class_sizes(frame, self.quasi)
        for row, count in present.items():
            if count > everybody.get(row, 0):
                raise InputError(
                    f"the release has {many(count, 'row')} with "
                    f"{', '.join(shown(self.quasi, row))}, the public table "
                    f"{everybody.get(row, 0):,}",
                    fix="the public table must list everybody, in the same terms as the release",
                )
        bad, outside = [], []
        for row, size in everybody.items():
            chance = Fraction(present.get(row, 0), size)
            off = max(self.low - chance, chance - self.high)
            if off > 0:
                required = f"a chance between {self.low} and {self.high}, not {chance}"
                bad.append((-off, witness(shown(self.quasi, row), size, required, None, chance)))
                outside.append((off, chance))
        classes = many(len(everybody), "class", "classes")
        farthest = max(outside)[1] if outside else ""
        return answered(
            rows=sum(everybody.values()),
            kept=f"in each of {classes} the chance to be there is between {self.low} and "
            f"{self.high}",
            broken=f"{len(bad):,} of {classes} {'is' if len(bad) == 1 else 'are'} outside "
            f"{self.low} to {self.high}, the farthest {farthest}",
            bad=bad,
        )

    def describe(self) -> str:
        """Return the promise in one plain sentence.

        >>> DeltaPresence(quasi=["age"], high=0.3).describe()
        'who is like somebody in age is in the release with a chance between 0 and 3/10'
        """
        return (
            f"who is like somebody in {', '.join(self.quasi)} is in the release with a chance "
            f"between {self.low} and {self.high}"
        )

    def params(self) -> dict[str, Any]:
        """Return the parameters as JSON values."""
        return {
            "quasi": list(self.quasi),
            "low": share_as_json(self.low),
            "high": share_as_json(self.high),
        }
