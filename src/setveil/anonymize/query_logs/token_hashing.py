"""Token hashing: every item is replaced by a keyed hash of it."""

from __future__ import annotations

import hmac
import secrets
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from setveil.anonymize.base import MethodRole, check_enough
from setveil.core.arrays import occurring
from setveil.core.errors import ParameterError
from setveil.core.registry import register
from setveil.release.base import Anonymization, Step
from setveil.release.encoded import publish_encoded

if TYPE_CHECKING:
    import numpy as np

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


WARNING = Step(
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
            log=(WARNING,),
            figures={"tags": len(items)},
        )
