"""Releases of secret shares: an item can be read where enough records hold it."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from setveil.core.errors import ParameterError, ReleaseError
from setveil.core.params import is_whole
from setveil.core.table import Vocabulary
from setveil.release.data_file import LabelledRows
from setveil.release.encoded import EncodedRelease

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    import numpy.typing as npt

PRIME = 2**521 - 1
BLOCK = 64
"""Bytes of a name that one polynomial carries; a number of 64 bytes is less than the prime."""
DIGITS = 132
"""Hexadecimal digits of a value of a polynomial."""


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class SharedRelease(EncodedRelease):
    """Published records of secret shares: of each item, its record's point on a polynomial.

    An item's shares carry the same handle. With `k` of them the polynomial is known, and with it
    the item's name, which is its value at 0; fewer tell nothing of the name. So an item can be
    read exactly where at least `k` records hold it; elsewhere its handle is a tag, see
    :class:`~setveil.release.encoded.EncodedRelease`. The shares of record `j` (from 0) are the
    polynomials' values at j + 1.

    Parameters
    ----------
    vocabulary, offsets, items, readable
        The records as anybody can read them, with the handles of unreadable items as tags.
    k
        How many shares make an item readable.
    handles
        The handle of each item of the vocabulary.
    shares
        The share behind each entry of `items`, in hexadecimal digits.

    Examples
    --------
    >>> from setveil.anonymize import SecretSharing
    >>> from setveil import TransactionTable
    >>> table = TransactionTable.from_rows([["flu", "hiv"], ["flu"]])
    >>> release = SecretSharing(k=2).anonymize(table, secret=b"only for this example").release
    >>> release.to_rows()
    [['...', 'flu'], ['flu']]
    """

    form: ClassVar[str] = "shared"
    builder: ClassVar[str] = "the method secret-sharing"

    k: int
    handles: tuple[str, ...]
    shares: tuple[str, ...]

    def __post_init__(self) -> None:
        super().__post_init__()
        fix = f"build releases with {self.builder}"
        if len(self.handles) != len(self.vocabulary) or len(self.shares) != len(self.items):
            raise ParameterError("the shares do not fit the published items", fix=fix)
        if not np.array_equal(self.readable, self.supports() >= self.k):
            raise ParameterError(f"not just what {self.k} records hold can be read", fix=fix)

    def share_rows(self) -> list[list[str]]:
        """Return the records as they are published: ``handle:share`` for each item."""
        labels = [
            f"{self.handles[item]}:{share}"
            for item, share in zip(self.items.tolist(), self.shares, strict=True)
        ]
        return [labels[a:b] for a, b in pairwise(self.offsets.tolist())]

    # --- its bytes -----------------------------------------------------------------------------

    structure_fields: ClassVar[frozenset[str]] = frozenset({"k"})

    def data_rows(self) -> LabelledRows:
        """Return the records as rows of shares."""
        labels = [label for row in self.share_rows() for label in row]
        return LabelledRows(self.offsets, np.arange(len(labels), dtype=np.int32), labels)

    def structure(self) -> dict[str, Any]:
        """Return how many shares make an item readable."""
        return {"k": self.k}

    @classmethod
    def rebuild(cls, rows: LabelledRows, structure: Mapping[str, Any]) -> SharedRelease:
        """Return the release of some rows of shares."""
        k = structure.get("k")
        if not is_whole(k, 1):
            raise ReleaseError("manifest.json is damaged: it does not say how many shares it takes")
        return shared_release(rows.rows(), k)


def shared_release(rows: Iterable[Sequence[str]], k: int) -> SharedRelease:
    """Return the release of some rows of shares, with all read that can be read.

    Raises
    ------
    ReleaseError
        The rows are no shares, or the shares of an item do not belong together.
    """
    points: dict[str, list[tuple[int, tuple[int, ...]]]] = defaultdict(list)
    split: list[list[tuple[str, str]]] = []
    for x, row in enumerate(rows, 1):
        split.append([])
        for label in row:
            handle, colon, share = label.partition(":")
            if not colon or not handle or len(share) % DIGITS or not share:
                raise ReleaseError(f"{label[:20]!r} … is no share")
            points[handle].append((x, values(share)))
            split[-1].append((handle, share))
    shown = {}
    for handle, found in points.items():
        name = read_item(found, k)
        shown[handle] = handle if name is None else name
    if len(set(shown.values())) < len(shown):
        raise ReleaseError("two handles stand for the same item")
    ordered = sorted(shown, key=shown.__getitem__)
    number = {handle: place for place, handle in enumerate(ordered)}
    numbered = [sorted((number[handle], share) for handle, share in row) for row in split]
    return SharedRelease(
        vocabulary=Vocabulary(names=tuple(shown[handle] for handle in ordered)),
        offsets=np.cumsum([0, *map(len, numbered)]),
        items=np.array([item for row in numbered for item, _ in row], dtype=np.int32),
        readable=_flags(len(points[handle]) >= k for handle in ordered),
        k=k,
        handles=tuple(ordered),
        shares=tuple(share for row in numbered for _, share in row),
    )


def _flags(flags: Iterable[bool]) -> npt.NDArray[np.bool_]:
    return np.fromiter(flags, dtype=bool)


# --- polynomials --------------------------------------------------------------------------------


def values(share: str) -> tuple[int, ...]:
    """Return a share as numbers, one per block of the name.

    >>> values("0" * 131 + "a")
    (10,)
    """
    try:
        return tuple(int(share[at : at + DIGITS], 16) for at in range(0, len(share), DIGITS))
    except ValueError:
        raise ReleaseError(f"{share[:20]!r} … is no share") from None


def value_at(coefficients: Sequence[int], x: int, *, prime: int = PRIME) -> int:
    """Return the value of a polynomial, whose constant coefficient comes first, modulo a prime.

    >>> [value_at([5, 3, 2], x, prime=17) for x in (1, 2, 3, 4)]
    [10, 2, 15, 15]
    """
    total = 0
    for coefficient in reversed(coefficients):
        total = (total * x + coefficient) % prime
    return total


@dataclass(frozen=True)
class Newton:
    """The polynomial of least degree through some points, modulo a prime, in Newton's form.

    >>> through = Newton.of([(1, 10), (3, 15), (4, 15)], prime=17)
    >>> through.at(0), through.at(2)
    (5, 2)
    """

    places: tuple[int, ...]
    differences: tuple[int, ...]
    prime: int

    @classmethod
    def of(cls, points: Sequence[tuple[int, int]], *, prime: int = PRIME) -> Newton:
        """Find the polynomial by divided differences."""
        places = tuple(x for x, _ in points)
        column = [y for _, y in points]
        differences = column[:1]
        for width in range(1, len(points)):
            column = [
                (after - before) * pow(places[i + width] - places[i], -1, prime) % prime
                for i, (before, after) in enumerate(pairwise(column))
            ]
            differences.append(column[0])
        return cls(places, tuple(differences), prime)

    def at(self, x: int) -> int:
        """Return the value at `x`."""
        total = 0
        for place, difference in zip(
            reversed(self.places), reversed(self.differences), strict=True
        ):
            total = (total * (x - place) + difference) % self.prime
        return total


def blocks_of(item: str) -> list[int]:
    """Return a name as numbers below the prime: a byte 128 marks its end, zeros fill up.

    >>> len(blocks_of("flu")), len(blocks_of("x" * 64))
    (1, 2)
    """
    raw = item.encode("utf-8", "surrogatepass") + b"\x80"
    raw += b"\0" * (-len(raw) % BLOCK)
    return [int.from_bytes(raw[at : at + BLOCK]) for at in range(0, len(raw), BLOCK)]


def read_item(found: Sequence[tuple[int, tuple[int, ...]]], k: int) -> str | None:
    """Return the name behind shares of one item, or None where there are fewer than `k`.

    Parameters
    ----------
    found
        For each share its record's point and its values, one per block.
    k
        How many shares make the item readable.

    Examples
    --------
    >>> shares = [(x, (value_at([blocks_of("flu")[0], 99], x),)) for x in (1, 2, 3)]
    >>> read_item(shares, 2), read_item(shares[:1], 2)
    ('flu', None)
    """
    if len(found) < k:
        return None
    damaged = ReleaseError("the shares of an item do not belong together")
    if len({x for x, _ in found}) < len(found) or len({len(each) for _, each in found}) > 1:
        raise damaged
    raw = b""
    for block in range(len(found[0][1])):
        points = [(x, each[block]) for x, each in found]
        through = Newton.of(points[:k])
        secret = through.at(0)
        if any(through.at(x) != y for x, y in points[k:]):
            raise damaged
        if secret >= 1 << 8 * BLOCK:
            raise damaged
        raw += secret.to_bytes(BLOCK)
    name, mark, rest = raw.rpartition(b"\x80")
    try:
        text = name.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        raise damaged from None
    if not mark or rest.strip(b"\0"):
        raise damaged
    return text
