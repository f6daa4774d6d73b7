"""How each form of release is taken apart for the disk, and put together again."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from setveil.core.errors import NotApplicable, ParameterError, ReleaseError
from setveil.core.quantities import share_as_json
from setveil.core.table import Vocabulary, canonical_order, take_rows
from setveil.release.chunk_store import LISTS, chunk_rows, chunk_structure, rebuild_chunks
from setveil.release.disassociated import DisassociatedRelease
from setveil.release.encoded import EncodedRelease
from setveil.release.generalized import GeneralizedRelease
from setveil.release.group_store import DEALT, LISTED, group_rows, group_structure, rebuild_groups
from setveil.release.grouped import GroupedRelease
from setveil.release.item_channel import ItemChannel
from setveil.release.manifest import NODE, describe_tree, rebuild_tree
from setveil.release.perturbed import PerturbedRelease
from setveil.release.records import Records
from setveil.release.set_generalized import SetGeneralizedRelease
from setveil.release.shared import SharedRelease, shared_release
from setveil.release.split import SplitRelease
from setveil.release.suppressed import SuppressedRelease

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from setveil.release.base import Release
    from setveil.release.item_rows import ItemRows


@dataclass(frozen=True, kw_only=True)
class Form:
    """What the store needs to know of a form.

    Parameters
    ----------
    records
        What goes into the data file.
    structure
        What goes into the manifest, as JSON values: all that the records alone do not say.
    rebuild
        Returns the release of some records and a structure, or says what is wrong with them.
    fields
        The names of all fields that a structure may have, at any depth.
    """

    records: Callable[[Any], Records]
    structure: Callable[[Any], dict[str, Any]]
    rebuild: Callable[[Records, Mapping[str, Any]], Release]
    fields: frozenset[str] = frozenset()


def form_of(release: Release) -> Form:
    """Return how a release is stored.

    >>> from setveil import TransactionTable
    >>> from setveil.release import publish_suppressed
    >>> release, _ = publish_suppressed(TransactionTable.from_rows([["flu"]]), [True])
    >>> form_of(release).records(release).labels
    ('flu',)
    """
    if release.form not in FORMS:
        raise NotApplicable(f"releases of the form {release.form!r} cannot be stored yet")
    return FORMS[release.form]


def rebuild(form: str, records: Records, structure: Mapping[str, Any]) -> Release:
    """Return the release that was stored under the name of a form.

    >>> rebuild("suppressed", Records.of([["flu", "gout"], ["flu"]]), {}).to_rows()
    [['flu', 'gout'], ['flu']]
    """
    if form not in FORMS:
        raise ReleaseError(f"the form {form!r} is not known")
    return FORMS[form].rebuild(records, structure)


# --- generalized records --------------------------------------------------------------------------


def _generalized_structure(release: GeneralizedRelease) -> dict[str, Any]:
    return {
        "hides": release.hides,
        "whole": release.whole,
        "nodes": describe_tree(release.tree),
    }


def _rebuild_generalized(records: Records, structure: Mapping[str, Any]) -> GeneralizedRelease:
    hides, whole = structure.get("hides"), structure.get("whole", False)
    if not isinstance(hides, bool) or not isinstance(whole, bool):
        raise ReleaseError("manifest.json is damaged: it does not say whether items are hidden")
    tree = rebuild_tree(structure.get("nodes"))
    numbers = {node_id: v for v, node_id in enumerate(tree.ids)}
    unknown = next((label for label in records.labels if label not in numbers), None)
    if unknown is not None:
        raise ReleaseError(f"the data holds {unknown!r}, which is not in the release's tree")
    node_of = np.array([numbers[label] for label in records.labels], dtype=np.int32)
    offsets, nodes = records.offsets, node_of[records.items]
    if structure.get("parts") is True:  # records in parts have no order, until here
        offsets, nodes = take_rows(offsets, nodes, canonical_order(offsets, nodes))
    if len(tree.pruned(np.unique(nodes))[0]) != len(tree):
        raise ReleaseError("the release's tree holds nodes that no record publishes")
    return GeneralizedRelease(tree=tree, offsets=offsets, nodes=nodes, hides=hides, whole=whole)


# --- records of items: removed everywhere, split, as tags, as shares ------------------------------


def _item_records(release: ItemRows) -> Records:
    return Records(release.offsets, release.items, release.vocabulary.names)


def _item_rows(records: Records) -> dict[str, Any]:
    """Return the fields that all forms of records of items have."""
    return {
        "vocabulary": Vocabulary(names=tuple(records.labels)),
        "offsets": records.offsets,
        "items": records.items,
    }


def _check_bare(structure: Mapping[str, Any]) -> None:
    if structure:
        raise ReleaseError("manifest.json is damaged: this form has no structure")


def _rebuild_suppressed(records: Records, structure: Mapping[str, Any]) -> SuppressedRelease:
    _check_bare(structure)
    return SuppressedRelease(**_item_rows(records))


def _rebuild_sets(records: Records, structure: Mapping[str, Any]) -> SetGeneralizedRelease:
    _check_bare(structure)
    return SetGeneralizedRelease(**_item_rows(records))


def _rebuild_split(records: Records, structure: Mapping[str, Any]) -> SplitRelease:
    _check_bare(structure)
    return SplitRelease(**_item_rows(records))


def _readable_names(release: EncodedRelease) -> list[str]:
    return [release.vocabulary[i] for i in np.flatnonzero(release.readable).tolist()]


def _rebuild_encoded(records: Records, structure: Mapping[str, Any]) -> EncodedRelease:
    fields = _item_rows(records)
    readable, known = structure.get("readable"), fields["vocabulary"]
    if not isinstance(readable, list) or not all(
        isinstance(n, str) and n in known for n in readable
    ):
        raise ReleaseError("manifest.json is damaged: it does not say what can be read")
    clear = set(readable)
    flags = np.array([name in clear for name in known.names], dtype=bool)
    return EncodedRelease(**fields, readable=flags)


def _share_records(release: SharedRelease) -> Records:
    labels = [label for row in release.share_rows() for label in row]
    return Records(release.offsets, np.arange(len(labels), dtype=np.int32), labels)


def _chunk_records(release: DisassociatedRelease) -> Records:
    return Records(*chunk_rows(release), release.vocabulary.names)


def _group_records(release: GroupedRelease) -> Records:
    return Records(*group_rows(release), release.vocabulary.names)


def _rebuild_shared(records: Records, structure: Mapping[str, Any]) -> SharedRelease:
    k = structure.get("k")
    if isinstance(k, bool) or not isinstance(k, int) or k < 1:
        raise ReleaseError("manifest.json is damaged: it does not say how many shares it takes")
    return shared_release(records.rows(), k)


def _channel_structure(release: PerturbedRelease) -> dict[str, Any]:
    channel = release.channel
    sizes = None if channel.sizes is None else [share_as_json(c) for c in channel.sizes]
    return {"beta": share_as_json(channel.beta), "domain": channel.domain, "sizes": sizes}


def _rebuild_perturbed(records: Records, structure: Mapping[str, Any]) -> PerturbedRelease:
    sizes = structure.get("sizes")
    if set(structure) != {"beta", "domain", "sizes"} or not isinstance(sizes, list | None):
        raise ReleaseError("manifest.json is damaged: it does not say how chance worked")
    try:
        channel = ItemChannel(
            beta=structure["beta"],
            domain=structure["domain"],
            sizes=None if sizes is None else tuple(sizes),
        )
        return PerturbedRelease(**_item_rows(records), channel=channel)
    except ParameterError as error:
        raise ReleaseError(f"the release is damaged: {error.what}") from None


FORMS: dict[str, Form] = {
    GeneralizedRelease.form: Form(
        records=lambda release: Records(release.offsets, release.nodes, release.tree.ids),
        structure=_generalized_structure,
        rebuild=_rebuild_generalized,
        fields=frozenset({"hides", "whole", "nodes", "parts", *NODE}),
    ),
    SuppressedRelease.form: Form(
        records=_item_records, structure=lambda _: {}, rebuild=_rebuild_suppressed
    ),
    SetGeneralizedRelease.form: Form(
        records=_item_records, structure=lambda _: {}, rebuild=_rebuild_sets
    ),
    SplitRelease.form: Form(records=_item_records, structure=lambda _: {}, rebuild=_rebuild_split),
    EncodedRelease.form: Form(
        records=_item_records,
        structure=lambda release: {"readable": _readable_names(release)},
        rebuild=_rebuild_encoded,
        fields=frozenset({"readable"}),
    ),
    SharedRelease.form: Form(
        records=_share_records,
        structure=lambda release: {"k": release.k},
        rebuild=_rebuild_shared,
        fields=frozenset({"k"}),
    ),
    PerturbedRelease.form: Form(
        records=_item_records,
        structure=_channel_structure,
        rebuild=_rebuild_perturbed,
        fields=frozenset({"beta", "domain", "sizes"}),
    ),
    DisassociatedRelease.form: Form(
        records=_chunk_records,
        structure=chunk_structure,
        rebuild=lambda records, structure: rebuild_chunks(
            **_item_rows(records), structure=structure
        ),
        fields=frozenset({*LISTS, "parts"}),
    ),
    GroupedRelease.form: Form(
        records=_group_records,
        structure=group_structure,
        rebuild=lambda records, structure: rebuild_groups(
            **_item_rows(records), structure=structure
        ),
        fields=LISTED | DEALT,
    ),
}
"""The forms that can be stored, by the name a manifest gives them."""
