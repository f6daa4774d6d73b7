"""Parts of a distributed release as releases of their own, so that the same functions answer.

What a release says about a record depends on the record and on what is published at all. A part
is therefore a release of some records beside the whole release's vocabulary or tree.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from setveil.core.errors import NotApplicable
from setveil.core.table import TransactionTable, canonical_order, take_rows
from setveil.release.base import rebuild
from setveil.release.data_file import LabelledRows
from setveil.release.generalized import GeneralizedRelease
from setveil.release.set_generalized import SetGeneralizedRelease
from setveil.release.store import load_manifest
from setveil.release.suppressed import SuppressedRelease
from setveil.spark.chunks import DistributedChunks
from setveil.spark.stored import OpenedRelease, open_release
from setveil.spark.table import DistributedTable, sorted_rows

if TYPE_CHECKING:
    import os

    from setveil.core.arrays import Int32Array, Int64Array
    from setveil.core.taxonomy import Taxonomy
    from setveil.engine.spark import Spark
    from setveil.release.base import Release
    from setveil.spark.batches import Batch

RECORDS = (GeneralizedRelease, SetGeneralizedRelease, SuppressedRelease)
"""The forms whose records say by themselves what they say."""


class Part(NamedTuple):
    """Some records of a release as a release, and where each of them stood in its batch.

    Parameters
    ----------
    release
        The records in canonical order; the first may be an added one that holds everything.
    places
        For each record of `release` its row in the batch, or -1 for the added one.
    """

    release: Release
    places: Int64Array


@dataclass(frozen=True, kw_only=True, eq=False)
class Sketch:
    """All that is published, without the records: what parts of a release have in common.

    Parameters
    ----------
    release
        A release of the same form with each published item alone in a record.
    numbers
        For each item number of the distributed table that of the form.

    Examples
    --------
    >>> from setveil.release import publish_suppressed
    >>> from setveil.spark.batches import Batch
    >>> table = TransactionTable.from_rows([["flu", "gout"], ["gout"]])
    >>> sketch = Sketch.of(publish_suppressed(table, [True, True])[0])
    >>> sketch.release.to_rows()
    [['flu'], ['gout']]
    >>> part = sketch.part(Batch(np.array([0, 1, 1]), np.array([1], dtype=np.int32)))
    >>> part.release.to_rows(), part.places.tolist()
    ([['flu', 'gout'], ['gout'], []], [-1, 0, 1])
    """

    release: Release
    numbers: Int32Array

    @classmethod
    def of(cls, release: Release) -> Sketch:
        """Take away the records of a release that is here."""
        stored = release.data_rows()
        used = np.unique(stored.items).tolist()
        return cls.stored(release.form, [stored.labels[i] for i in used], release.structure())

    @classmethod
    def stored(cls, form: str, labels: list[str], structure: Any) -> Sketch:  # noqa: ANN401
        """Return the sketch of a release that is stored with these labels.

        Raises
        ------
        NotApplicable
            What a record of this form says depends on other records.
        """
        if form not in {kind.form for kind in RECORDS}:
            raise NotApplicable(
                f"releases of the form {form!r} are not measured on Spark", fix="use --engine local"
            )
        nodes = structure.get("nodes")
        place = {node["id"]: v for v, node in enumerate(nodes)} if isinstance(nodes, list) else {}
        ordered = sorted(labels, key=lambda label: (place.get(label, 0), label))
        release = rebuild(form, LabelledRows.of([label] for label in ordered), structure)
        known = release.data_rows()
        at = {known.labels[item]: item for item in known.items.tolist()}
        numbers = np.array([at[label] for label in sorted(labels)], dtype=np.int32)
        return cls(release=release, numbers=numbers)

    def over(self, taxonomy: Taxonomy) -> Sketch:
        """Return the sketch for rows of nodes of a whole tree."""
        assert isinstance(self.release, GeneralizedRelease)
        place = {node_id: v for v, node_id in enumerate(self.release.tree.ids)}
        numbers = np.array([place.get(node_id, -1) for node_id in taxonomy.ids], dtype=np.int32)
        return replace(self, numbers=numbers)

    def part(self, batch: Batch, *, whole: bool = True) -> Part:
        """Return some records as a release of its own.

        Parameters
        ----------
        batch
            Rows of item numbers of the distributed table.
        whole
            Whether it must be told what is published elsewhere: then a record is added where
            the form reads that off its records.
        """
        release = self.release
        items = self.numbers[batch.items] if len(batch.items) else batch.items
        tree = release.tree if isinstance(release, GeneralizedRelease) else None
        added = not isinstance(release, GeneralizedRelease) or (whole and release.whole)
        offsets = batch.offsets
        if added:
            everything = release.data_rows().items
            items = np.concatenate([everything, items])
            offsets = np.concatenate([[0], offsets + len(everything)])
        width = len(self.numbers) if tree is None else len(tree)
        offsets, items = sorted_rows(offsets, items, width, bags=True)
        order = canonical_order(offsets, items)
        offsets, items = take_rows(offsets, items, order)
        made = replace(release, offsets=offsets, **{"items" if tree is None else "nodes": items})  # type: ignore[type-var]
        return Part(made, order - 1 if added else order)


@dataclass(frozen=True, kw_only=True, eq=False)
class DistributedRelease:
    """Published records over many machines, with what they have in common here.

    Parameters
    ----------
    published
        The records, or the clusters of chunks.
    sketch
        What the numbers of the records stand for; None for chunks.
    """

    published: DistributedTable | DistributedChunks
    sketch: Sketch | None

    def __repr__(self) -> str:
        return f"<DistributedRelease of {self.published!r}>"

    def records(self) -> tuple[DistributedTable, Sketch]:
        """Return the records and their sketch; refuse chunks, which are no records."""
        if isinstance(self.published, DistributedChunks) or self.sketch is None:
            raise NotApplicable("chunks are no records of items")
        return self.published, self.sketch

    @classmethod
    def from_release(cls, release: Release, engine: Spark | None = None) -> DistributedRelease:
        """Distribute a release that is here; records keep their places."""
        if release.form == "disassociated":
            return cls(published=DistributedChunks.from_release(release, engine), sketch=None)  # type: ignore[arg-type]
        sketch = Sketch.of(release)
        stored = release.data_rows()
        used, items = np.unique(stored.items, return_inverse=True)
        labels = [stored.labels[i] for i in used.tolist()]
        table = TransactionTable.from_csr(stored.offsets, items, labels, bags=True)
        return cls(published=DistributedTable.from_table(table, engine, bags=True), sketch=sketch)

    @classmethod
    def of(cls, release: OpenedRelease | DistributedChunks) -> DistributedRelease:
        """Return what :func:`setveil.spark.anonymize` made, ready to be measured."""
        if isinstance(release, DistributedChunks):
            return cls(published=release, sketch=None)
        table, sample = release.records
        return cls(published=table, sketch=Sketch(release=sample, numbers=release.numbers))

    @classmethod
    def open(cls, directory: str | os.PathLike[str], engine: Spark) -> DistributedRelease:
        """Open a release on disk; the workers read its records."""
        published = open_release(directory, engine).published
        if isinstance(published, DistributedChunks):
            return cls(published=published, sketch=None)
        manifest = load_manifest(directory)
        if not isinstance(published, DistributedTable):
            raise NotApplicable(
                f"releases of the form {manifest.form!r} are not measured on Spark",
                fix="use --engine local",
            )
        labels = list(published.vocabulary.names)
        return cls(
            published=published, sketch=Sketch.stored(manifest.form, labels, manifest.structure)
        )
