"""Knowing a release again by its content."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from setveil.release.base import Release


def fingerprint(release: Release) -> str:
    """Return a hash of the form and the published records, whatever file they are kept in.

    >>> from setveil import TransactionTable
    >>> from setveil.release import publish_suppressed
    >>> table = TransactionTable.from_rows([["flu", "gout"], ["flu"]])
    >>> whole, _ = publish_suppressed(table, [True, True])
    >>> part, _ = publish_suppressed(table, [True, False])
    >>> len(fingerprint(whole)), fingerprint(whole) == fingerprint(part)
    (64, False)
    """
    digest = hashlib.sha256(release.form.encode())
    for row in release.to_rows():
        digest.update(b"\n" + json.dumps(sorted(row)).encode())
    return digest.hexdigest()
