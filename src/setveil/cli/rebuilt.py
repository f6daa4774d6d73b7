"""The method that a release was made with, as its manifest names it."""

from pathlib import Path
from typing import Any

from setveil.core.errors import ReleaseError, SetveilError


def anonymizer_of(directory: str | Path) -> Any:
    """Return the anonymizer of a release, with the parameters it had.

    What was given besides parameters (privacy and utility constraints, a seed) is not public, and
    an adversary does without it: what only such inputs say is set as an audit sets it.

    >>> anonymizer_of("nowhere")
    Traceback (most recent call last):
    setveil.core.errors.ReleaseError: nowhere: no release is here: there is no manifest.json. To \
fix: ...
    """
    from setveil.core.params import usual_values
    from setveil.core.registry import find
    from setveil.release.store import load_manifest

    manifest = load_manifest(directory)
    try:
        target = find("anonymizer", manifest.method).target
        usual = usual_values(target)
        unsaid = {name: usual[name] for name in usual if manifest.params.get(name) is None}
        return target(**{**manifest.params, **unsaid})
    except (SetveilError, TypeError) as error:
        what = error.what if isinstance(error, SetveilError) else "its parameters are not ours"
        raise ReleaseError(
            f"the method {manifest.method!r} of this release cannot be run again: {what}",
            where=str(directory),
            fix="use an attack that needs no anonymizer, such as rba or ec",
        ) from None
