"""``setveil anonymize METHOD DATA --engine spark`` where DATA is Parquet: records stay on Spark."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from setveil.cli.engines import spark_named
from setveil.cli.inputs import note_added_leaves, read_taxonomy, tell_missing
from setveil.cli.output import say
from setveil.cli.reading import Reading, refuse_identifiers
from setveil.core.errors import NotApplicable, ParameterError

if TYPE_CHECKING:
    from setveil.anonymize.base import Anonymizer
    from setveil.cli.output import Progress
    from setveil.core.taxonomy import Taxonomy

DISTRIBUTED = frozenset({"clump", "gather", "partition", "apriori-km", "disassociate"})
"""The methods of :data:`setveil.spark.anonymizing.METHODS`."""
SAMPLED = 10_000
"""How many records are searched for identities where the records stay on Spark."""


@dataclass(frozen=True, kw_only=True)
class Job:
    """What is read from where, and what the command line says about it.

    Parameters
    ----------
    engine
        The name of the engine.
    data
        A Parquet file, a directory of them, or an address that Spark knows.
    reading
        Columns, if they are named, and what to do with records that cannot be read.
    allowed
        Whether items that look like identities may be published.
    taxonomy, missing, parents
        The tree, and what to do with items and nodes that do not fit.
    """

    engine: str
    data: str
    reading: Reading
    allowed: bool
    taxonomy: str | None
    missing: Literal["error", "drop", "nearest", "attach-to-root"]
    parents: Literal["error", "first"]


def stays_on_spark(engine: str, method: str, data: str, *, key: bool) -> bool:
    """Tell whether records are to stay where they are, and are not read here.

    A single file is read here for methods that need all records in one place, and where a key is
    asked for.

    >>> stays_on_spark("spark", "gather", "visits.parquet", key=False)
    True
    >>> stays_on_spark("local", "gather", "visits.parquet", key=False)
    False
    >>> stays_on_spark("spark", "gather", "visits.csv", key=False)
    False
    """
    if not engine.startswith("spark"):
        return False
    if "://" in data or Path(data).is_dir():
        return True
    return Path(data).suffix.lower() == ".parquet" and method in DISTRIBUTED and not key


def refuse_beside_spark(method: str, options: Mapping[str, object]) -> None:
    """Refuse methods and options that need the records here; None is what an option is without.

    >>> refuse_beside_spark("gather", {"--key": None})
    >>> refuse_beside_spark("gather", {"--key": "visits.key"})
    Traceback (most recent call last):
    setveil.core.errors.ParameterError: --key does not go with records that stay on Spark. To fix: \
leave it out, or use --engine local.
    """
    if method not in DISTRIBUTED:
        raise NotApplicable(
            f"{method} needs all records in one place",
            fix=f"use one of {', '.join(sorted(DISTRIBUTED))}, or give a single file",
        )
    for name, value in options.items():
        if value is not None:
            raise ParameterError(
                f"{name} does not go with records that stay on Spark",
                fix="leave it out, or use --engine local",
            )


def anonymize_there(
    job: Job,
    method: "Anonymizer",
    out: Path,
    *,
    name: str,
    params: Mapping[str, Any],
    force: bool,
    progress: "Progress",
    quiet: bool,
) -> dict[str, Any]:
    """Anonymize distributed records and save the release; return what is said about it."""
    from setveil.core.missing_items import DROP, complete
    from setveil.release.content import content_of_items
    from setveil.spark import anonymize, read_distributed
    from setveil.spark.measures_parts import DistributedRelease
    from setveil.spark.publish import save_distributed

    progress("reading")
    table = read_distributed(
        job.data,
        spark_named(job.engine),
        format="parquet",
        **job.reading.settings,
    )
    sample = table.sampled(SAMPLED)
    refuse_identifiers(sample, allowed=job.allowed, where=job.data, quiet=quiet)
    say(
        f"{job.data}: {int(table.supports.sum()):,} occurrences of {table.n_items:,} items.",
        quiet=quiet,
    )
    tree: Taxonomy | None = None
    outside = None
    if job.taxonomy is not None:
        given = read_taxonomy(job.taxonomy, parents=job.parents, quiet=quiet)
        records = dict(zip(table.vocabulary.names, table.supports.tolist(), strict=True))
        tree, outside = complete(given, records, missing=job.missing, records=records)
        if job.missing == DROP:
            table = table.without(outside.items)
        tell_missing(outside, k=getattr(method, "k", None), quiet=quiet)
        note_added_leaves(given, tree, quiet=quiet)
    progress("anonymizing")
    made = anonymize(method, table, taxonomy=tree)
    progress("writing")
    manifest = save_distributed(made, out, method=name, params=params, force=force)
    sketch = DistributedRelease.of(made.release).sketch
    return {
        "records": manifest.records,
        "published": manifest.records,
        "promise": made.promise.describe(),
        "log": made.log,
        "content": content_of_items(None if sketch is None else sketch.release),
        "missing": outside,
    }
