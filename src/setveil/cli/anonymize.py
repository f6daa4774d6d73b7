"""``setveil anonymize METHOD``: a command for each registered method, with its own options."""

from collections.abc import Callable, Mapping
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from setveil.cli.options import (
    STDIN,
    EngineOption,
    SeedOption,
    TreeOptions,
    argument,
    check_engine,
    command_app,
    command_of,
    expand_options,
    find_engine,
    find_spark,
    group_of,
    must_have_directory,
    must_not_be_read,
    note_added_leaves,
    only_one_stdin,
    option,
    read_taxonomy,
    tell_missing,
    warn_of_formulas,
)
from setveil.cli.output import (
    JsonOption,
    Progress,
    QuietOption,
    announce_compiling,
    echo,
    emit,
    say,
)
from setveil.cli.reading import (
    AllowOption,
    InTreeOption,
    Reading,
    SensitiveOption,
    ShareOption,
    VariantsOption,
    check_sensitive_options,
    draw_sensitive,
    read_sensitive,
    refuse_identifiers,
    tree_for_ordinary,
)
from setveil.core.errors import InputError, NotApplicable, ParameterError, ReleaseError
from setveil.core.params import published_params

if TYPE_CHECKING:
    from setveil.anonymize.base import Anonymizer
    from setveil.core.records import Records
    from setveil.core.registry import Entry
    from setveil.core.taxonomy import Taxonomy
    from setveil.release.base import Release


# --- constraints of methods that publish sets of items --------------------------------------------

CONSTRAINTS = frozenset({"privacy", "utility"})
ANYTHING, WORDNET = "all", "wordnet"

PrivacyOption = Annotated[
    str | None,
    typer.Option(
        "--privacy",
        metavar="FILE",
        help="Itemsets that must not be rare: one per line, + between items.",
    ),
]
UtilityOption = Annotated[
    str,
    typer.Option(
        "--utility",
        metavar="FILE|all|wordnet[:DIR]",
        help="What may be published as one: the sets in a file (one per line, + between items), "
        "any items, or nouns that WordNet finds alike.",
    ),
]


def unused_constraints(entry: "Entry") -> frozenset[str]:
    """Return the constraints that a method has no use for."""
    accepts: frozenset[str] = getattr(entry.target, "accepts", frozenset())
    return CONSTRAINTS - accepts


def read_constraints(
    entry: "Entry", privacy: str | None, utility: str, *, quiet: bool
) -> dict[str, Any]:
    """Return the constraints that are given, for a method that takes some."""
    if unused_constraints(entry):
        return {}
    from setveil.io.item_lists import read_itemsets

    inputs: dict[str, Any] = {}
    if privacy is not None:
        inputs["privacy"] = read_itemsets(privacy)
    kind, _, place = utility.partition(":")
    if kind == WORDNET:
        from setveil.io.wordnet import WordNet

        inputs["utility"] = WordNet.find(place or None)
        say(f"utility constraints from {inputs['utility']!r}", quiet=quiet)
    elif utility != ANYTHING:
        inputs["utility"] = read_itemsets(utility)
    return inputs


# --- the commands ---------------------------------------------------------------------------------

EXAMPLE = "Example: setveil anonymize {name} visits.csv{inputs}{options} -o release"
REMARKS = {"note", "stop", "warn"}
"""Steps of a method's log that its user must see: what was not done, and what to look out for."""

INPUTS = {"taxonomy": " --taxonomy tree.csv", "sensitive": " --sensitive sensitive.txt"}


def command_for(entry: "Entry") -> Any:
    """Return the command of one method: its parameters as options, then those all methods share."""
    needed: frozenset[str] = getattr(entry.target, "requires", frozenset())
    inputs = "".join(text for name, text in INPUTS.items() if name in needed)
    return command_of(
        entry,
        run,
        example=lambda options: EXAMPLE.format(name=entry.name, inputs=inputs, options=options),
        without=unused_constraints(entry),
    )


anonymize_app = command_app(
    "anonymize",
    group_of("anonymizer", "Methods", command_for),
    text="Turn a data file into a release that may be published.",
    usage="DATA -o RELEASE",
)


@expand_options
def run(  # one parameter per option of the command line
    entry: "Entry",
    params: Mapping[str, Any],
    *,
    data: str = argument("DATA", "Records to anonymize; - reads stdin."),
    out: Path = option(..., "Directory for the release.", "--out", "-o", metavar="RELEASE"),
    tree: TreeOptions,
    sensitive: SensitiveOption = None,
    sensitive_share: ShareOption = None,
    sensitive_in_tree: InTreeOption = "error",
    variants: VariantsOption = "error",
    privacy: PrivacyOption = None,
    utility: UtilityOption = ANYTHING,
    key: Path | None = option(None, "File for the private key (only you read it).", metavar="KEY"),
    reading: Reading,
    allow_identifiers: AllowOption = False,
    release_format: Literal["parquet", "jsonl", "csv"] = option(
        "parquet", "Format of the published data file."
    ),
    engine: EngineOption = "local",
    secret_file: Path | None = option(
        None,
        "Secret of a method that encodes items, at least 16 bytes; drawn if not given.",
        metavar="FILE",
    ),
    seed: SeedOption = None,
    force: bool = option(False, "Replace RELEASE and KEY."),
    quiet: QuietOption = False,
    json: JsonOption = False,
) -> None:
    """Read, anonymize, save; each check that needs no work comes before the work."""
    check_engine(engine)
    only_one_stdin(data, tree.taxonomy)
    inputs_named = [data, tree.taxonomy, sensitive, privacy, secret_file]
    _check_places(out, key, inputs_named, force=force)
    method = entry.target(**params)
    check_sensitive_options(entry.name, method.requires, sensitive, sensitive_share, variants)
    _check_tree(entry.name, method.requires, tree.taxonomy)
    drawn = sensitive_share is not None
    drawing = _drawing(entry, secret_file, seed)
    unused = None if drawn or "rng" in drawing else seed
    _note_unused_seed(entry.name, unused, engine, quiet=quiet)
    constraints = read_constraints(entry, privacy, utility, quiet=quiet)
    sensitive_of = partial(
        find_sensitive, sensitive, sensitive_share, variants=variants, seed=seed, quiet=quiet
    )
    # Of records that are not here, only single items can be protected.
    several = any(len(set(itemset)) > 1 for itemset in constraints.get("privacy", ()))
    if stays_on_spark(engine, entry.name, data, here=key is not None or several):
        check_spark_options(
            entry.name,
            {
                "--key": key,
                "--release-format": None if release_format == "parquet" else release_format,
                **{
                    f"--{name.replace('_', '-')}": value
                    for name, value in reading.given.items()
                    if name not in {"id", "item", "on_error"}
                },
            },
        )
        public = published_params(method, params)
        with Progress(quiet=quiet) as progress:
            said = anonymize_on_spark(
                data,
                method,
                out,
                engine=engine,
                reading=reading,
                allowed=allow_identifiers,
                tree=tree,
                inputs=drawing | constraints,
                sensitive_of=sensitive_of,
                name=entry.name,
                params=public,
                force=force,
                progress=progress,
                quiet=quiet,
            )
        names = said.pop("sensitive")
        said |= {"release": str(out), "sensitive_drawn": list(names) if drawn else None}
        _tell(entry.name, public, said, json=json, quiet=quiet)
        return
    from setveil.release.store import save

    with Progress(quiet=quiet) as progress, announce_compiling(quiet=quiet):
        progress("reading")
        table = reading.read(data, quiet=quiet)
        refuse_identifiers(table, allowed=allow_identifiers, where=data, quiet=quiet)
        inputs: dict[str, Any] = {"engine": find_engine(engine, seed), "progress": progress}
        inputs |= drawing | constraints
        secret, outside = sensitive_of(table), None
        if "sensitive" in method.requires:
            inputs["sensitive"] = secret
        if tree.taxonomy is not None:
            given = read_taxonomy(tree.taxonomy, parents=tree.parents, quiet=quiet)
            inputs["taxonomy"], table, outside = tree_for_ordinary(
                given,
                table,
                secret,
                missing=tree.missing,
                # Items that were drawn cannot have been taken out before.
                in_tree="take-out" if drawn else sensitive_in_tree,
                quiet=quiet,
            )
            tell_missing(outside, k=getattr(method, "k", None), quiet=quiet)
            note_added_leaves(given, inputs["taxonomy"], quiet=quiet)
        progress("anonymizing")
        made = method.anonymize(table, **inputs)
        progress("writing")
        public = published_params(method, params)
        save(
            made.release,
            out,
            method=entry.name,
            params=public,
            promise=made.promise,
            force=force,
            format=release_format,
            key=made.key,
            key_file=key,
        )
    _warn_of_cells(made.release, out, release_format)
    said = {
        "records": len(table),
        "published": len(made.release),
        "promise": None if made.promise is None else made.promise.describe(),
        "sensitive_drawn": list(secret) if drawn else None,
        "release": str(out),
        "key": None if key is None else str(key),
        "log": made.log,
        "content": made.release.content(),
        "missing": outside,
        "reading": None if table.reading is None else table.reading.as_dict(),
    }
    _tell(entry.name, public, said, json=json, quiet=quiet)


def find_sensitive(
    file: str | None,
    share: float | None,
    table: "Records",
    *,
    variants: str,
    seed: int | None,
    quiet: bool,
) -> tuple[str, ...]:
    """Return the sensitive items: those that a file names, or a share that is drawn, or none."""
    if file is not None:
        return read_sensitive(file, table, variants=variants, quiet=quiet)
    return () if share is None else draw_sensitive(share, table, seed)


def _warn_of_cells(release: "Release", out: Path, release_format: str) -> None:
    """Say which names a spreadsheet may run that opens the data of a release."""
    if release_format == "csv":
        warn_of_formulas(release.data_rows().labels, out)


def _tell(
    name: str, params: Mapping[str, Any], said: Mapping[str, Any], *, json: bool, quiet: bool
) -> None:
    """Print what was done, and what a user must see of how it was done."""
    result = {
        "method": name,
        "params": params,
        "records": said["records"],
        "published": said["published"],
        "promise": said["promise"],
        "content": said["content"].as_dict(),
        "missing": said["missing"].as_dict() if said.get("missing") else None,
        "sensitive_drawn": said.get("sensitive_drawn"),
        "release": said["release"],
        "key": said.get("key"),
        "reading": said.get("reading"),
        "log": [asdict(step) for step in said["log"]],
    }
    for step in said["log"]:
        if step.action in REMARKS:
            say(f"{step.subject}: {step.reason}" if step.reason else step.subject, quiet=quiet)
    if json:
        emit(result)
    else:
        _print(result)


def _check_places(
    out: Path, key: Path | None, inputs: list[str | Path | None], *, force: bool
) -> None:
    """Refuse places for the release and its key that would publish or replace what is private."""
    from setveil.release.store import check_key_place, check_place, finish_key

    if str(out) == STDIN:
        raise ReleaseError("a release is a directory, not a stream", fix="name a directory")
    must_have_directory(out)
    check_place(out, force=force)
    if key is None:
        return
    place = key.resolve()
    if out.resolve() in {place, *place.parents}:
        raise ParameterError(
            "the key would lie inside the release, which is meant to be published",
            where=str(key),
            fix="keep the key elsewhere",
        )
    must_have_directory(key)
    must_not_be_read(key, inputs)
    finish_key(key)
    check_key_place(key, out, force=force)


def _check_tree(name: str, requires: frozenset[str], taxonomy: str | None) -> None:
    """Refuse a tree where a method uses none, and its absence where it needs one."""
    if "taxonomy" in requires and taxonomy is None:
        raise ParameterError(
            f"{name} generalizes items along a tree, and none is given",
            fix="give one with --taxonomy FILE; `setveil taxonomy build` makes one",
        )
    if "taxonomy" not in requires and taxonomy is not None:
        raise ParameterError(f"{name} uses no tree", fix="leave out --taxonomy")


def _note_unused_seed(name: str, seed: int | None, engine: str, *, quiet: bool) -> None:
    """Tell that a seed has no effect here."""
    if seed is not None and engine != "loopback":
        say(f"{name} draws nothing at random: --seed changes nothing", quiet=quiet)


def _drawing(entry: "Entry", secret_file: Path | None, seed: int | None) -> dict[str, Any]:
    """Return the secret or the generator that a method which draws at random gets."""
    import numpy as np

    accepts: frozenset[str] = getattr(entry.target, "accepts", frozenset())
    if secret_file is not None:
        if "secret" not in accepts:
            raise ParameterError(f"{entry.name} has no secret", fix="leave out --secret-file")
        from setveil.core.untrusted import LIST_LIMIT, read_file

        try:
            return {"secret": read_file(secret_file, limit=LIST_LIMIT)}
        except OSError as error:
            raise InputError(
                f"the secret cannot be read: {error.strerror or error}",
                where=str(secret_file),
                fix="name a file that holds the secret",
            ) from None
    if seed is None or "rng" not in accepts:
        return {}
    if "privacy" not in accepts:  # drawn constraints are named in the promise anyway
        say(
            f"{entry.name} draws from the seed {seed}: whoever finds it can repeat what was "
            "drawn. Do not publish this release."
        )  # with --quiet too: it is a warning
    return {"rng": np.random.default_rng(seed)}


def _print(result: Mapping[str, Any]) -> None:
    records, published = result["records"], result["published"]
    source = "" if records == published else f" of {records:,}"
    if published > records:
        source = f" from {records:,}"
    echo(f"{result['release']}: {published:,}{source} records by {result['method']}")
    echo(f"promise: {result['promise'] or 'none; this method promises nothing'}")
    if result["content"]["sentence"]:
        echo(result["content"]["sentence"])
    if result["sensitive_drawn"] is not None:
        echo(f"sensitive items drawn: {', '.join(result['sensitive_drawn'])}")
    if result["key"] is not None:
        echo(f"private key: {result['key']} (do not publish it)")


# --- records that stay on Spark -------------------------------------------------------------------

SAMPLED = 10_000
"""How many records are searched for identities where the records stay on Spark."""


def stays_on_spark(engine: str, method: str, data: str, *, here: bool) -> bool:
    """Tell whether records are to stay where they are, and are not read here.

    A single file is read here for methods that need all records in one place, and where something
    is asked for that needs them `here`, such as a key.

    >>> stays_on_spark("spark", "gather", "visits.parquet", here=False)
    True
    >>> stays_on_spark("local", "gather", "visits.parquet", here=False)
    False
    >>> stays_on_spark("spark", "gather", "visits.csv", here=False)
    False
    """
    if not engine.startswith("spark"):
        return False
    if "://" in data or Path(data).is_dir():
        return True
    from setveil.core.registry import distributed_methods

    parquet = Path(data).suffix.lower() == ".parquet"
    return parquet and not here and method in distributed_methods()


def check_spark_options(method: str, options: Mapping[str, object]) -> None:
    """Refuse methods and options that need the records here; None is what an option is without.

    >>> check_spark_options("gather", {"--key": None})
    >>> check_spark_options("gather", {"--key": "visits.key"})
    Traceback (most recent call last):
    setveil.core.errors.ParameterError: --key does not go with records that stay on Spark. To fix: \
leave it out, or use --engine local.
    """
    from setveil.core.registry import distributed_methods

    if method not in distributed_methods():
        raise NotApplicable(
            f"{method} needs all records in one place",
            fix=f"use one of {', '.join(distributed_methods())}, or give a single file",
        )
    for name, value in options.items():
        if value is not None:
            raise ParameterError(
                f"{name} does not go with records that stay on Spark",
                fix="leave it out, or use --engine local",
            )


def anonymize_on_spark(
    data: str,
    method: "Anonymizer",
    out: Path,
    *,
    engine: str,
    reading: Reading,
    allowed: bool,
    tree: TreeOptions,
    inputs: Mapping[str, Any],
    sensitive_of: "Callable[[Records], tuple[str, ...]]",
    name: str,
    params: Mapping[str, Any],
    force: bool,
    progress: "Progress",
    quiet: bool,
) -> dict[str, Any]:
    """Anonymize distributed records and save the release; return what is said about it."""
    from setveil.core.missing_items import DROP, complete
    from setveil.spark import anonymize, read_distributed
    from setveil.spark.publish import save_distributed

    progress("reading")
    table = read_distributed(data, find_spark(engine), format="parquet", **reading.settings)
    refuse_identifiers(table.sampled(SAMPLED), allowed=allowed, where=data, quiet=quiet)
    occurrences = int(table.supports().sum())
    say(f"{data}: {occurrences:,} occurrences of {table.n_items:,} items.", quiet=quiet)
    taxonomy: Taxonomy | None = None
    outside = None
    if tree.taxonomy is not None:
        given = read_taxonomy(tree.taxonomy, parents=tree.parents, quiet=quiet)
        records = dict(zip(table.vocabulary.names, table.supports().tolist(), strict=True))
        taxonomy, outside = complete(given, records, missing=tree.missing, records=records)
        if tree.missing == DROP:
            table = table.without(outside.items)
        tell_missing(outside, k=getattr(method, "k", None), quiet=quiet)
        note_added_leaves(given, taxonomy, quiet=quiet)
    secret = sensitive_of(table)
    progress("anonymizing")
    made = anonymize(method, table, taxonomy=taxonomy, sensitive=secret or None, **inputs)
    progress("writing")
    manifest = save_distributed(made, out, method=name, params=params, force=force)
    return {
        "records": manifest.records,
        "published": manifest.records,
        "promise": made.promise.describe(),
        "sensitive": secret,
        "log": made.log,
        "content": made.release.content(),
        "missing": outside,
    }
