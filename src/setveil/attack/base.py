"""What every attack shares: where it applies, and what its adversary must know."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Protocol, runtime_checkable

from setveil.errors import NotApplicable

if TYPE_CHECKING:
    from setveil.attack.guess import Guess
    from setveil.release.base import Release


@runtime_checkable
class Attack(Protocol):
    """An attack with its parameters: a frozen dataclass, registered as ``"attack"``.

    `applies_to` names the forms of release it can be run on; `requires` what the adversary must
    know (``"reference"``, a table of records like the originals). :meth:`run` takes these as
    keywords, and ``rng`` where it draws at random. It never sees the original.
    """

    applies_to: ClassVar[frozenset[str]]
    requires: ClassVar[frozenset[str]]

    def run(self, release: Release, **knowledge: Any) -> Guess:  # noqa: ANN401
        """Return what the adversary believes about `release`."""
        ...


def check_applies(name: str, applies_to: frozenset[str], release: Release) -> None:
    """Refuse, before any work, a form of release that an attack says nothing about.

    >>> from setveil.data import TransactionTable
    >>> from setveil.release import publish_suppressed
    >>> release, _ = publish_suppressed(TransactionTable.from_rows([["flu"]]), [True])
    >>> check_applies("token-frequency", frozenset({"encoded"}), release)
    Traceback (most recent call last):
    setveil.errors.NotApplicable: token-frequency does not attack releases of the form ...
    """
    if release.form not in applies_to:
        raise NotApplicable(
            f"{name} does not attack releases of the form {release.form!r}",
            fix=f"it is about the forms {', '.join(sorted(applies_to))}",
        )
