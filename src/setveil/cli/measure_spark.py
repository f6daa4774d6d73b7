"""``setveil measure --engine spark``: the same measures, added up on Spark's workers."""

from pathlib import Path
from typing import TYPE_CHECKING

from setveil.cli.inputs import recall_missing
from setveil.cli.sensitive import read_sensitive, whole_tree
from setveil.core.errors import InputError

if TYPE_CHECKING:
    from setveil.cli.reading import Reading
    from setveil.core.taxonomy import Taxonomy
    from setveil.engine.spark import Spark
    from setveil.release.content import Content
    from setveil.spark import DistributedTable
    from setveil.spark.measures_parts import DistributedRelease

ENDINGS = frozenset({".parquet", ".dat", ".fimi", ".basket"})
FORMATS = frozenset({"parquet", "fimi", "basket"})
"""What Spark's workers read by themselves."""
SETTINGS = frozenset({"format", "delimiter", "id", "item", "on_error"})
"""What they can be told about it; with anything else the data is read here."""


def measured_on(
    engine: "Spark",
    directory: Path,
    original: str,
    *,
    key: Path | None,
    taxonomy: "Taxonomy | None",
    missing: str,
    sensitive: str | None,
    sensitive_in_tree: str,
    variants: str,
    seed: int | None,
    k: int | None,
    reading: "Reading",
    quiet: bool,
) -> tuple[dict[str, float | int | None], "Content"]:
    """Return the measures that are sums over records, None for the others; and what is shown."""
    import numpy as np

    from setveil.core.missing_items import DROP
    from setveil.release.content import content_of_items
    from setveil.release.store import load_key
    from setveil.spark.measures import every_item, measure_distributed
    from setveil.spark.measures_parts import DistributedRelease

    release = DistributedRelease.open(directory, engine)
    private = None if key is None else load_key(key, directory)
    table = _original(engine, original, by_place=private is not None, reading=reading, quiet=quiet)
    _must_belong_together(release, table)
    if private is not None and (private.records >= table.n_records).any():
        raise InputError(
            "the key does not belong to this original",
            fix="name the data and the key that `setveil anonymize` read and wrote",
        )
    items = every_item(table)
    secret: tuple[str, ...] = ()
    if sensitive is not None:
        secret = read_sensitive(sensitive, items, variants=variants, quiet=quiet)
    if taxonomy is not None:
        taxonomy, _, report = whole_tree(
            taxonomy,
            items,
            secret,
            missing=missing,
            in_tree=sensitive_in_tree,
            records=dict(zip(table.vocabulary.names, table.supports.tolist(), strict=True)),
        )
        if report.choice == DROP:
            table = table.without(report.items)
        recall_missing(report, quiet=quiet)
    figures = measure_distributed(
        release,
        table,
        key=private,
        taxonomy=taxonomy,
        sensitive=secret,
        rng=None if seed is None else np.random.default_rng(seed),
        k=k,
    )
    content = content_of_items(None if release.sketch is None else release.sketch.release)
    return figures | dict.fromkeys(("tkd", "rules_kept", "rules_exact")), content


def _must_belong_together(release: "DistributedRelease", table: "DistributedTable") -> None:
    """Refuse to compare a release with data it cannot come from."""
    import numpy as np

    if release.sketch is None:
        fits = release.published.n_records == table.n_records
    else:
        # No record is published longer than it was: of no length are there more than there were.
        here, there = (each.length_counts() for each in (release.records()[0], table))
        longest = max(len(here), len(there))
        here, there = (np.pad(each, (0, longest - len(each))) for each in (here, there))
        fits = bool(np.all(here[::-1].cumsum() <= there[::-1].cumsum()))
    if not fits:
        raise InputError(
            "the release cannot come from this original",
            fix="name the data that `setveil anonymize` read",
        )


def _original(
    engine: "Spark", path: str, *, by_place: bool, reading: "Reading", quiet: bool
) -> "DistributedTable":
    """Let the workers read the original; read it here where a key counts its records."""
    from setveil.spark import DistributedTable, read_distributed

    chosen = reading.settings.get("format")
    by_workers = chosen in FORMATS if chosen else Path(path).suffix.lower() in ENDINGS
    if by_workers and not by_place and path != "-" and set(reading.settings) <= SETTINGS:
        return read_distributed(path, engine, **reading.settings)
    table = reading.read(path, quiet=quiet)
    return DistributedTable.from_table(table, engine, bags=table.is_bag)
