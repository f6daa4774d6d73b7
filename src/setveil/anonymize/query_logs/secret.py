"""The secret of methods that encode items, and what is derived from it."""

from __future__ import annotations

import hmac
import secrets
from typing import TYPE_CHECKING

from setveil.core.errors import ParameterError

if TYPE_CHECKING:
    import numpy as np

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
