"""What an attack says: a guess, kept as JSON, that never saw the original."""

from __future__ import annotations

import dataclasses
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Self

from setveil.core.errors import InputError, NotApplicable, ParameterError, SetveilError
from setveil.core.untrusted import fits, misfit, read_json

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Mapping

    from setveil.core.interval import Rate
    from setveil.core.records import Records
    from setveil.core.table import TransactionTable
    from setveil.relatedness.base import Relatedness
    from setveil.release.base import Key, Release

VERSION = 2
"""Version of the file's layout; a guess of a later version is refused."""

KINDS: dict[str, type[Guess]] = {}
"""The classes of guesses by the name that a file gives them; a class that has one is listed."""


@dataclass(frozen=True, kw_only=True)
class Guess:
    """What an attack believes about a release; each family of attacks has a class of its own.

    A class sets `kind`, which lists it, and declares fields of texts, numbers, tuples and
    mappings with text keys; it overrides :meth:`to_json` and :meth:`from_json` for anything
    else. JSON turns tuples into lists: ``__post_init__`` turns them back. It compares itself with
    the truth by :meth:`rates`: `scored_with` names what that may be told besides, `score_words`
    says what each score means, and `beside` which baselines and control stand beside a score, as
    the ends of their names.

    Parameters
    ----------
    attack
        The registered name of the attack.
    about
        Fingerprint of the release that was attacked; None if nobody noted it. A guess that has
        one is scored with that release only.

    Examples
    --------
    >>> @dataclass(frozen=True, kw_only=True)
    ... class Suspicion(Guess):
    ...     kind = "suspicion"
    ...     names: tuple[str, ...]
    ...     def __post_init__(self):
    ...         super().__post_init__()
    ...         object.__setattr__(self, "names", tuple(self.names))
    >>> content = Suspicion(attack="gossip", names=("flu",)).to_json()
    >>> content
    {'attack': 'gossip', 'about': None, 'names': ('flu',)}
    >>> Suspicion.from_json(content).names
    ('flu',)
    >>> del KINDS["suspicion"]
    """

    kind: ClassVar[str] = ""
    scored_with: ClassVar[frozenset[str]] = frozenset()
    score_words: ClassVar[dict[str, str]] = {}
    beside: ClassVar[tuple[str, ...]] = ()

    attack: str
    about: str | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.attack, str) or not isinstance(self.about, str | None):
            raise ParameterError("a guess names its attack and its release by texts")

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if cls.kind:
            KINDS[cls.kind] = cls

    def to_json(self) -> dict[str, Any]:
        """Return the guess as JSON values."""
        return {f.name: getattr(self, f.name) for f in dataclasses.fields(self)}

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> Self:
        """Return the guess that :meth:`to_json` described, if its fields are what they should be.

        ``__post_init__`` checks what annotations do not say.
        """
        wrong = misfit(content, cls)
        if wrong is not None:
            raise ParameterError(f"its field {wrong!r} is missing, unknown or of another kind")
        return cls(**content)

    def check_about(self, release: Release) -> None:
        """Refuse another release than the one that the guess is about, if it says which.

        >>> from setveil import TransactionTable
        >>> from setveil.release import publish_suppressed
        >>> release, _ = publish_suppressed(TransactionTable.from_rows([["flu"]]), [True])
        >>> Guess(attack="gossip").check_about(release)
        >>> Guess(attack="gossip", about="9f3c").check_about(release)
        Traceback (most recent call last):
        setveil.core.errors.InputError: the guess is about another release. To fix: attack this \
release...
        """
        if self.about is not None and self.about != release.fingerprint():
            raise other_release()

    def score(
        self,
        *,
        release: Release,
        original: Records,
        key: Key,
        **known: Any,
    ) -> dict[str, Rate | None]:
        """Compare the guess with the truth: :func:`setveil.measure.score` says how.

        >>> from setveil import TransactionTable
        >>> table = TransactionTable.from_rows([["flu"]])
        >>> Guess(attack="gossip").score(release=None, original=table, key=None)
        Traceback (most recent call last):
        setveil.core.errors.NotApplicable: guesses of 'gossip' cannot be scored
        """
        self.check_about(release)
        here = original.table_of(self.originals())
        used = {name: value for name, value in known.items() if name in self.scored_with}
        return self.rates(release=release, original=here, key=key, **used)

    def originals(self) -> tuple[int, ...] | None:
        """Return the places of the original records that scores need; None for all."""
        return None

    def rates(
        self, *, release: Release, original: TransactionTable, key: Key
    ) -> dict[str, Rate | None]:
        """Return rates by name, with baselines and control; None where one cannot be said."""
        raise NotApplicable(f"guesses of {self.attack!r} cannot be scored")

    def part_scores(
        self, by: str, *, release: Release, original: TransactionTable, key: Key
    ) -> list[Any]:
        """Return the scores of each part that was attacked, by what `by` names."""
        raise NotApplicable(f"guesses of {self.attack!r} are scored as a whole only")

    def examples(
        self,
        *,
        release: Release,
        original: TransactionTable,
        key: Key,
        relatedness: Relatedness | None = None,
        count: int = 3,
    ) -> list[dict[str, Any]]:
        """Return what was said of the records that were given away most, as JSON values.

        They show what an adversary can get, not what it gets on average, and are for the owner's
        eyes only.

        Parameters
        ----------
        release, original, key
            What the guess is compared with.
        relatedness
            Where the attack had its distances from: what spoke against eliminated members is then
            told, too.
        count
            How many records, at most.

        Returns
        -------
        list of dict
            Lists of items: ``known`` (of the person), ``published``, ``guessed``, ``original``;
            those that a kind of attack has. ``why``: rows of an eliminated member, an item of the
            context, the distance between them, and that of the members that were kept. Empty for
            attacks that say nothing of single records, and where nothing was right.
        """
        return []


def guess_classes(package: str) -> dict[str, type]:
    """Return the classes of guesses that stand in a package, by their names.

    >>> sorted(guess_classes("setveil.attack.linkage"))
    ['IntersectionGuess', 'LinkageGuess']
    """
    from setveil.core.registry import entries

    entries("attack")  # importing the attacks lists their classes of guesses
    return {
        each.__name__: each for each in KINDS.values() if each.__module__.startswith(f"{package}.")
    }


def other_release() -> InputError:
    """Return the error that a guess is scored with a release that it is not about."""
    return InputError(
        "the guess is about another release",
        fix="attack this release, or name the one that was attacked",
    )


def first_items(items: Iterable[str], most: int = 40) -> list[str]:
    """Return the items of a record as an example shows them: the first, and how many more.

    >>> first_items("abcd", most=2)
    ['a', 'b', '… and 2 more']
    """
    every = list(items)
    more = len(every) - most
    return [*every[:most], f"… and {more} more"] if more > 0 else every


def save_guess(
    guess: Guess, path: str | os.PathLike[str], *, release: Release | None = None
) -> None:
    """Write a guess to a file that appears whole or not at all.

    Parameters
    ----------
    guess
        What an attack said.
    path
        The file; ``-`` for standard output.
    release
        What was attacked: then the guess can be scored with no other release.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from setveil.attack import TokenGuess
    >>> guess = TokenGuess(attack="token-frequency", names={"9f3c": "flu"}, chances={"9f3c": 0.5},
    ...                    by_frequency={}, control={}, candidates=10)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_guess(guess, Path(folder, "guess.json"))
    ...     load_guess(Path(folder, "guess.json")) == guess
    True
    """
    from setveil.core.files import write_whole

    if release is not None:
        guess = dataclasses.replace(guess, about=release.fingerprint())
    content = {"setveil": "guess", "version": VERSION, "kind": guess.kind, **guess.to_json()}
    write_whole(path, json.dumps(content, ensure_ascii=False, allow_nan=False) + "\n")


def load_guess(path: str | os.PathLike[str]) -> Guess:
    """Read a guess that :func:`save_guess` wrote.

    Raises
    ------
    InputError
        The file cannot be read, or is no guess.
    """
    from setveil.core.registry import entries

    entries("attack")  # importing the attacks lists their classes of guesses
    fix = "name the file that `setveil attack -o` wrote"
    where = str(path)
    try:
        content = read_json(path)
    except OSError as error:
        raise InputError(
            f"the guess cannot be read: {error.strerror or error}", where=where, fix=fix
        ) from None
    except ValueError:
        raise InputError("this is no guess: it is not JSON", where=where, fix=fix) from None
    if not isinstance(content, dict) or content.pop("setveil", None) != "guess":
        raise InputError("this is no guess", where=where, fix=fix)
    version, kind = content.pop("version", None), content.pop("kind", None)
    if version != VERSION or not isinstance(kind, str) or kind not in KINDS:
        raise InputError(
            f"a guess of the kind {kind!r} and version {version!r} is not known here",
            where=where,
            fix="update setveil",
        )
    if not fits(content, dict[str, Any]):
        raise InputError("the guess is damaged: a number is not finite", where=where, fix=fix)
    try:
        return KINDS[kind].from_json(content)
    except SetveilError as error:
        raise InputError(f"the guess is damaged: {error.what}", where=where, fix=fix) from None
    except (TypeError, ValueError, KeyError, AttributeError, OverflowError, RecursionError):
        raise InputError("the guess is damaged", where=where, fix=fix) from None
