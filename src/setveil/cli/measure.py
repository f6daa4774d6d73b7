"""``setveil measure``: what a release lost against the original."""

from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from setveil.cli.options import (
    PlaceOption,
    SeedOption,
    argument,
    check_place,
    expand_options,
    find_spark,
    only_one_stdin,
    option,
    recall_missing,
    release_directory,
)
from setveil.cli.output import (
    JsonOption,
    Progress,
    QuietOption,
    announce_compiling,
    echo,
    emit,
    print_table,
)
from setveil.cli.reading import OriginalOptions, Reading
from setveil.core.errors import InputError, NotApplicable, ParameterError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from setveil.attack import Guess
    from setveil.core.records import Records
    from setveil.core.table import TransactionTable
    from setveil.core.taxonomy import Taxonomy
    from setveil.engine.spark import Spark
    from setveil.measure import PartScore
    from setveil.release.account import Content
    from setveil.release.base import Key, Release
    from setveil.spark import DistributedTable


MEANINGS = {
    "ggd": "generalized group distortion: LM of each published node, 1 per unpublished item",
    "ggd_share": "ggd per original item: 0 nothing lost, 1 nothing published",
    "ncp": "mean penalty of an original item: 0 as it was, 1 suppressed",
    "average_loss": "mean loss of an original item, as ncp, but by the ordinary items only",
    "length_mean": "published items or nodes per record",
    "level_mean": "mean level of the published nodes; the root is at level 1",
    "records_kept": "published records per original record",
    "items_kept": "published items or nodes per original item",
    "items_exact": "share of the original items that are published as they were",
    "items_suppressed": "share of the original items that are not published",
    "are": "average relative error of count queries",
    "are_low": "lower end of its 95% interval",
    "are_high": "upper end of its 95% interval",
    "tkd": "share of the 100 most frequent itemsets that are no longer certain",
    "rules_kept": "share of the association rules that can still be stated, if only in general",
    "rules_exact": "share of them that can be stated as they were",
    "tkd_a": "the same, counting only what stands in one chunk together",
    "tkd_ml2": "the same for itemsets of items and of general terms of the taxonomy",
    "re": "mean relative error of the supports of pairs of terms of middling frequency; at most 2",
    "tlost": "share of the terms with a support of k and more that stand in term chunks only",
    "certain_links": "share of the records in which one or two items give another one away",
    "items_true": "share of the published items that their records really hold",
    "perturbation_loss": "mean loss of an original item by what is wrong with its record; see docs",
    "kl": "reconstruction error of sensitive items: KL divergence over cells of 4 items, in nats",
    "kl_low": "lower end of its 95% interval",
    "kl_high": "upper end of its 95% interval",
    "ul": "utility loss: itemsets that generalized items may stand for; 1 per suppressed item",
    "ul_log2": "its logarithm to base 2: it is very small where there are many items",
}
REBUILT = {"tkd": "share of the 100 most frequent itemsets that one reconstruction does not show"}
IN_A_RECONSTRUCTION = {
    "disassociated": {**REBUILT, "items_suppressed": "share of the original items deleted"},
    "perturbed": REBUILT,
}
"""Meanings that differ for a form."""


@expand_options
def measure(
    *,
    release: str = argument("RELEASE", "Directory that `setveil anonymize` wrote."),
    original: str = option(..., "The original data; - reads stdin.", metavar="DATA"),
    key: Path | None = option(None, "The private key that --key wrote.", metavar="KEY"),
    guess: Path | None = option(
        None, "Score what `setveil attack` wrote instead.", metavar="GUESS"
    ),
    by: Literal["item", "record"] | None = option(
        None, "Score a guess for each generalized item, or each record."
    ),
    relatedness: str | None = option(
        None,
        "How far apart terms are, for the word mover's distance of rebuilt records.",
        metavar="SPEC",
    ),
    options: OriginalOptions,
    reading: Reading,
    seed: SeedOption = None,
    engine: PlaceOption = "local",
    quiet: QuietOption = False,
    json: JsonOption = False,
) -> None:
    """Measure what a release lost against the original data.

    What cannot be said without the key or the taxonomy is "n/a" (null in JSON). With a guess: how
    right it was, with 95% intervals.

    Example: setveil measure release --original visits.csv --key visits.key --taxonomy tree.csv
    """
    import numpy as np

    from setveil.attack import load_guess
    from setveil.measure import measure_all
    from setveil.release.store import load_key, load_release

    only_one_stdin(original, options.taxonomy)
    _check_scoring(guess, key, by, relatedness)
    check_place(engine)
    directory = release_directory(release)
    spark = find_spark(engine)
    with Progress(quiet=quiet) as progress, announce_compiling(quiet=quiet):
        progress("loading")
        private = None if key is None else load_key(key, directory)
        if spark is None or guess is not None:  # a guess is compared with what a key counts, here
            published: Release = load_release(directory)
            table: Any
            table, tree, secret = options.read(original, reading, quiet=quiet)
        else:
            published, table, tree, secret = _open_on_spark(
                spark, directory, original, by_place=key is not None, options=options,
                reading=reading, quiet=quiet,
            )  # fmt: skip
        _check_origin(published, table, private, tree)
        progress("measuring")
        if guess is not None and private is not None and by is not None:
            parts = load_guess(guess).part_scores(
                by, release=published, original=table, key=private
            )
        elif guess is not None and private is not None:
            scored = load_guess(guess)
            figures = _scores(
                scored,
                published,
                table,
                private,
                directory=directory,
                relatedness=relatedness,
                sensitive=secret,
                tree=tree,
            )
        else:
            rng = None if seed is None else np.random.default_rng(seed)
            figures = measure_all(
                published,
                table,
                key=private,
                taxonomy=tree,
                sensitive=secret,
                rng=rng,
                k=_promise_params(directory).get("k"),
            )
    if by is not None:
        _print_parts(parts, by, json=json)
    elif guess is not None and not json:
        _print_scores(scored, figures)
    else:
        _print_figures(figures, published.form, published.content(), json=json)


def _check_scoring(
    guess: Path | None, key: Path | None, by: str | None, relatedness: str | None
) -> None:
    """Refuse options that only make sense together."""
    if guess is not None and key is None:
        raise ParameterError(
            "a guess is compared with the truth, and only the key tells it", fix="give --key KEY"
        )
    if by is not None and guess is None:
        raise ParameterError("--by is about scoring a guess", fix="give --guess GUESS")
    if relatedness is not None and guess is None:
        raise ParameterError("--relatedness is about scoring a guess", fix="give --guess GUESS")


def _print_figures(
    figures: "Mapping[str, Any]", form: str, content: "Content", *, json: bool
) -> None:
    """Print each measure with what it means for a form of release, and what that shows at all."""
    if json:
        emit({**figures, "root_share": content.root_share, "bare": content.bare})
        return
    meanings = MEANINGS | IN_A_RECONSTRUCTION.get(form, {})
    rows = [(name, value, meanings.get(name, "")) for name, value in figures.items()]
    print_table(["measure", "value", "meaning"], rows)
    if content.sentence:
        echo(content.sentence)


def _promise_params(directory: str | Path) -> "Mapping[str, Any]":
    """Return the parameters of what a release promises, which are those it was made with."""
    from setveil.release.store import load_manifest

    promise = load_manifest(directory).promise
    params: Mapping[str, Any] = {} if promise is None else promise["params"]
    return params


def _scores(
    guess: "Guess",
    published: "Release",
    table: "TransactionTable",
    key: "Key",
    *,
    directory: str | Path,
    relatedness: str | None,
    sensitive: "tuple[str, ...]",
    tree: "Taxonomy | None",
) -> dict[str, float | None]:
    """Return how right a guess was."""
    from setveil.measure import flat, score

    source = None
    if relatedness is not None:
        from setveil.relatedness import parse_relatedness

        if "relatedness" not in guess.scored_with:
            raise ParameterError(
                f"guesses of {guess.attack!r} have no word mover's distance",
                fix="leave out --relatedness",
            )
        source = parse_relatedness(relatedness, release=published)
    promised = _promise_params(directory)
    return flat(
        score(
            guess,
            release=published,
            original=table,
            key=key,
            sensitive=sensitive,
            taxonomy=tree,
            k=promised.get("k"),
            m=promised.get("m"),
            relatedness=source,
        )
    )


def _print_scores(guess: "Guess", figures: "Mapping[str, float | int | None]") -> None:
    """Print each score on a line with the ends of its 95% interval, and what stands beside it."""
    ends = ("_low", "_high", *(f"_{run}" for run in guess.beside))
    words = guess.score_words
    rows = [
        (name, *(figures.get(f"{name}{end}") for end in ("", *ends)), words.get(name, ""))
        for name in figures
        if not name.endswith(ends)
    ]
    print_table(["score", "value", "low", "high", *guess.beside, "meaning"], rows)


def _print_parts(parts: "list[PartScore]", by: str, *, json: bool) -> None:
    """Print scores one by one; records are counted from 1."""
    rows = [
        {by: part.name + 1 if isinstance(part.name, int) else part.name, **part._asdict()}
        for part in parts
    ]
    for row in rows:
        del row["name"]
    if json:
        emit({f"{by}s": rows})
    elif rows:
        print_table(list(rows[0]), [list(row.values()) for row in rows])
    else:
        echo(f"no {by} was attacked")


def _check_origin(
    published: "Release", table: Any, key: "Key | None", tree: "Taxonomy | None"
) -> None:
    """Refuse to compare a release with data it cannot come from."""
    fits = published.may_come_from(table)
    if key is not None:
        fits = fits and len(key) == len(published) and bool((key.records < table.n_records).all())
        if fits and (tree is not None or not published.needs_taxonomy):
            with suppress(NotApplicable):  # only where all records are here
                fits = published.is_consistent_with(table, key, tree)
    if not fits:
        raise InputError(
            "the release cannot come from this original" + (" by this key" if key else ""),
            fix="name the data and the key that `setveil anonymize` read and wrote",
        )


# --- the same measures, added up on Spark's workers -----------------------------------------------

ENDINGS = frozenset({".parquet", ".dat", ".fimi", ".basket"})
FORMATS = frozenset({"parquet", "fimi", "basket"})
"""What Spark's workers read by themselves."""
SETTINGS = frozenset({"format", "delimiter", "id", "item", "on_error"})
"""What they can be told about it; with anything else the data is read here."""


def _open_on_spark(
    engine: "Spark",
    directory: Path,
    original: str,
    *,
    by_place: bool,
    options: OriginalOptions,
    reading: "Reading",
    quiet: bool,
) -> "tuple[Release, Records, Taxonomy | None, tuple[str, ...]]":
    """Return a release and its original, both distributed, the tree and the sensitive items."""
    from setveil.core.missing_items import DROP
    from setveil.release.parts import check_parts
    from setveil.release.store import load_manifest
    from setveil.spark import DistributedRelease

    check_parts(load_manifest(directory).form)
    release = DistributedRelease.open(directory, engine)
    table = _original(engine, original, by_place=by_place, reading=reading, quiet=quiet)
    items = table.every_item()
    secret = options.read_sensitive(items, quiet=quiet)
    if options.taxonomy is None:
        return release, table, None, secret
    records = dict(zip(table.vocabulary.names, table.supports().tolist(), strict=True))
    taxonomy, _, report = options.read_tree(items, secret, quiet=quiet, records=records)
    if report.choice == DROP:
        table = table.without(report.items)
    recall_missing(report, quiet=quiet)
    return release, table, taxonomy, secret


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
