"""Items replaced by what a secret makes of them: keyed hashes, or shares that k records open."""

from __future__ import annotations

import hashlib
import hmac
import secrets
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from setveil.anonymize.base import MethodRole, check_enough
from setveil.core.arrays import occurring
from setveil.core.errors import ParameterError
from setveil.core.literature import ADAR_2007
from setveil.core.params import group_size
from setveil.core.registry import register
from setveil.release.base import Anonymization, Step
from setveil.release.encoded import publish_encoded
from setveil.release.shared import DIGITS, PRIME, SharedRelease, blocks_of, value_at

if TYPE_CHECKING:
    from setveil.core.table import TransactionTable
    from setveil.core.threads import Progress
    from setveil.engine.local import Engine


LEAST = 16
"""Bytes that a secret must have: fewer could be tried one after the other."""
DRAWN = 32
TAG = 16
"""Bytes of a tag: enough that no two items ever get the same one."""


def chosen_secret(secret: bytes | None, rng: np.random.Generator | None) -> bytes:
    """Return the given secret, or one drawn from `rng`, or from the operating system.

    >>> len(chosen_secret(None, None))
    32
    >>> chosen_secret(b"too short", None)
    Traceback (most recent call last):
    setveil.core.errors.ParameterError: the secret has 9 bytes. To fix: use at least 16, ...
    """
    if secret is None:
        return secrets.token_bytes(DRAWN) if rng is None else rng.bytes(DRAWN)
    if not isinstance(secret, bytes) or len(secret) < LEAST:
        size = f"{len(secret)} bytes" if isinstance(secret, bytes) else "no bytes"
        raise ParameterError(
            f"the secret has {size}",
            fix=f"use at least {LEAST}, for example from `head -c 32 /dev/urandom`",
        )
    return secret


def tag_of(secret: bytes, purpose: str, item: str) -> str:
    """Return the tag of an item: HMAC-SHA256 under the secret, cut to 128 bits, in hexadecimal.

    >>> tag_of(b"0" * 32, "token", "flu") == tag_of(b"0" * 32, "token", "flu")
    True
    >>> len(tag_of(b"0" * 32, "token", "flu"))
    32
    """
    return hmac.digest(secret, f"{purpose}\0{item}".encode("utf-8", "surrogatepass"), "sha256")[
        :TAG
    ].hex()


HASHING_WARNING = Step(
    action="warn",
    subject="token-hashing promises nothing",
    reason="equal items keep equal tags, so that whoever has similar records in clear reads the "
    "frequent ones off their frequencies and neighbours (setveil attack token-frequency)",
)


@register(
    "anonymizer",
    "token-hashing",
    paper="Kumar, Novak, Pang & Tomkins 2007",
    bibtex="""
    @inproceedings{kumar2007anonymizing,
      author    = {Kumar, Ravi and Novak, Jasmine and Pang, Bo and Tomkins, Andrew},
      title     = {On Anonymizing Query Logs via Token-based Hashing},
      booktitle = {Proceedings of the 16th International Conference on World Wide Web},
      pages     = {629--638}, year = {2007}
    }""",
)
@dataclass(frozen=True, kw_only=True)
class TokenHashing:
    """Replace every item by a keyed hash of it; promises nothing.

    The records keep their shape: which of them share an item, how often an item occurs, and with
    which others. That is what the attack :class:`~setveil.attack.TokenFrequency` needs. The hash
    is HMAC-SHA256 under a secret; a plain hash could be inverted by hashing a dictionary.

    Examples
    --------
    >>> from setveil import TransactionTable
    >>> table = TransactionTable.from_rows([["tom", "cruise"], ["cruise"]])
    >>> made = TokenHashing().anonymize(table, secret=b"only for this example")
    >>> made.release.to_rows()
    [['5087...', 'ddef...'], ['ddef...']]
    >>> made.key.names, made.promise
    (('tom', 'cruise'), None)

    References
    ----------
    R. Kumar, J. Novak, B. Pang, A. Tomkins: On anonymizing query logs via token-based hashing.
    WWW 2007. They study why it fails.
    """

    called: ClassVar[str] = "codes instead of names"
    role: ClassVar[MethodRole] = MethodRole(only_named=True)
    requires: ClassVar[frozenset[str]] = frozenset()
    accepts: ClassVar[frozenset[str]] = frozenset({"secret", "rng"})

    def anonymize(
        self,
        table: TransactionTable,
        *,
        secret: bytes | None = None,
        rng: np.random.Generator | None = None,
        engine: Engine | None = None,  # there is nothing to distribute
        progress: Progress | None = None,
    ) -> Anonymization:
        """Return the records with tags for items, and the key that says what each tag means.

        Parameters
        ----------
        table
            The original records.
        secret
            At least 16 bytes; the same secret gives an item the same tag in every release.
            Without it one is drawn from the operating system and forgotten.
        rng
            Draws the secret instead, for research: whoever knows the seed can read the tags.
        engine, progress
            As for every method.
        """
        check_enough(table, 1)
        key = chosen_secret(secret, rng)
        items = [table.vocabulary[i] for i in occurring(table.items).tolist()]
        release, link = publish_encoded(table, {item: tag_of(key, "token", item) for item in items})
        if progress:
            progress("hashing", len(items), len(items))
        return Anonymization(
            release=release,
            key=link,
            promise=None,
            log=(HASHING_WARNING,),
            figures={"tags": len(items)},
        )


WIDTH = 80
"""Bytes drawn for a coefficient: 119 bits more than the prime, so that none is more likely."""

SHARING_WARNING = Step(
    action="warn",
    subject="secret-sharing promises little",
    reason="an item that fewer than k records hold cannot be read, but its handle shows which "
    "records share it; what can be read may still single out a record",
)


@register(
    "anonymizer",
    "secret-sharing",
    paper="Adar 2007",
    bibtex=ADAR_2007,
)
@dataclass(frozen=True, kw_only=True)
class SecretSharing:
    """Publish secret shares: an item can be read once k records hold it; promises little.

    For each item a polynomial of degree k - 1 is derived from a secret, with the item's name as
    its value at 0; a record that holds the item publishes the polynomial's value at its own
    point. Any k of these values give the polynomial and the name; fewer say nothing of the name,
    whatever is computed. A record that holds an item twice gives one share: records are counted,
    not repetitions.

    What can be read is what remains when all items of fewer than k records are left out. Beyond
    that, the handle under which an item's shares are found shows which records share an item
    that cannot be read, and how many they are.

    Parameters
    ----------
    k
        How many records must hold an item before it can be read.

    Examples
    --------
    >>> from setveil import TransactionTable
    >>> table = TransactionTable.from_rows([["flu", "hiv"], ["flu"], ["gout"]])
    >>> made = SecretSharing(k=2).anonymize(table)
    >>> made.release.legible.to_rows(), made.promise
    ([['flu'], ['flu'], []], None)

    References
    ----------
    E. Adar: User 4XXXXX9: Anonymizing query logs. Query Log Analysis Workshop, WWW 2007.
    A. Shamir: How to share a secret. Communications of the ACM 22(11), 1979.

    Departures: the point of a record is its place in the release, not a hash of the user; the
    polynomials are derived from a secret that nobody else has, for one derived from the query
    alone could be found by guessing the query.
    """

    called: ClassVar[str] = "common items by name, the others as codes"
    role: ClassVar[MethodRole] = MethodRole(only_named=True)
    requires: ClassVar[frozenset[str]] = frozenset()
    accepts: ClassVar[frozenset[str]] = frozenset({"secret", "rng"})

    k: int = group_size(doc="how many records must hold an item before it can be read")

    def anonymize(
        self,
        table: TransactionTable,
        *,
        secret: bytes | None = None,
        rng: np.random.Generator | None = None,
        engine: Engine | None = None,  # there is nothing to distribute
        progress: Progress | None = None,
    ) -> Anonymization:
        """Return the records as shares, and the key that says what each handle means.

        Parameters
        ----------
        table
            The original records.
        secret
            At least 16 bytes; without it one is drawn from the operating system and forgotten.
        rng
            Draws the secret instead, for research: whoever knows the seed can read everything.
        engine, progress
            As for every method.
        """
        check_enough(table, self.k)
        private = chosen_secret(secret, rng)
        supports = table.supports()
        items = [table.vocabulary[i] for i in np.flatnonzero(supports).tolist()]
        handles = {item: tag_of(private, "handle", item) for item in items}
        common = {item for item in items if supports[table.vocabulary.number(item)] >= self.k}
        codes = {item: item if item in common else handles[item] for item in items}
        # Ordered by what can be read, so that the order tells nothing of the rest.
        plain, key = publish_encoded(table, codes, readable=common)
        polynomials = [self._polynomials(private, item) for item in key.names]
        records = np.repeat(np.arange(len(plain)), np.diff(plain.offsets))
        shares = []
        for done, (item, record) in enumerate(
            zip(plain.items.tolist(), records.tolist(), strict=True), 1
        ):
            values = [value_at(each, record + 1) for each in polynomials[item]]
            shares.append("".join(f"{value:0{DIGITS}x}" for value in values))
            if progress and done % 100_000 == 0:
                progress("sharing", done, len(records))
        release = SharedRelease(
            vocabulary=plain.vocabulary,
            offsets=plain.offsets,
            items=plain.items,
            readable=plain.readable,
            k=self.k,
            handles=tuple(handles[item] for item in key.names),
            shares=tuple(shares),
        )
        return Anonymization(
            release=release,
            key=key,
            promise=None,
            log=(SHARING_WARNING,),
            figures={"readable": len(common), "unreadable": len(items) - len(common)},
        )

    def _polynomials(self, private: bytes, item: str) -> list[list[int]]:
        """Return the coefficients of an item's polynomials, one polynomial per block of its name.

        SHAKE-256 over the secret's hash and the name draws them: a sponge keyed in front.
        """
        blocks = blocks_of(item)
        start = hashlib.sha256(private + b"\0shares").digest() + item.encode(
            "utf-8", "surrogatepass"
        )
        wanted = WIDTH * (self.k - 1)
        drawn = hashlib.shake_256(start).digest(wanted * len(blocks))
        numbers = [
            int.from_bytes(drawn[at : at + WIDTH]) % PRIME for at in range(0, len(drawn), WIDTH)
        ]
        size = self.k - 1
        return [[block, *numbers[i * size : (i + 1) * size]] for i, block in enumerate(blocks)]
