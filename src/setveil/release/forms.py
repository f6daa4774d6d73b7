"""The forms of a release, by the names that manifests give them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from setveil.core.errors import ReleaseError
from setveil.release.disassociated import DisassociatedRelease
from setveil.release.encoded import EncodedRelease
from setveil.release.generalized import GeneralizedRelease
from setveil.release.grouped import GroupedRelease
from setveil.release.perturbed import PerturbedRelease
from setveil.release.set_generalized import SetGeneralizedRelease
from setveil.release.shared import SharedRelease
from setveil.release.split import SplitRelease
from setveil.release.suppressed import SuppressedRelease

if TYPE_CHECKING:
    from collections.abc import Mapping

    from setveil.release.base import Release
    from setveil.release.data_file import LabelledRows

FORMS: dict[str, type[Release]] = {
    form.form: form
    for form in (
        GeneralizedRelease,
        SuppressedRelease,
        SetGeneralizedRelease,
        SplitRelease,
        EncodedRelease,
        SharedRelease,
        PerturbedRelease,
        DisassociatedRelease,
        GroupedRelease,
    )
}
"""The forms that can be stored."""


def rebuild(form: str, rows: LabelledRows, structure: Mapping[str, Any]) -> Release:
    """Return the release that was stored under the name of a form.

    >>> from setveil.release.data_file import LabelledRows
    >>> rebuild("suppressed", LabelledRows.of([["flu", "gout"], ["flu"]]), {}).to_rows()
    [['flu', 'gout'], ['flu']]
    """
    if form not in FORMS:
        raise ReleaseError(f"the form {form!r} is not known")
    return FORMS[form].rebuild(rows, structure)
