"""``setveil measure``: what a release lost against the original."""

from operator import le
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from setveil.cli.engines import PlaceOption, check_place, spark_named
from setveil.cli.inputs import (
    MissingOption,
    ParentsOption,
    SeedOption,
    TaxonomyOption,
    only_one_stdin,
    read_taxonomy,
    recall_missing,
    release_directory,
)
from setveil.cli.output import (
    JsonOption,
    Progress,
    QuietOption,
    compiling_announced,
    echo,
    emit,
    print_table,
)
from setveil.cli.reading import Reading, reads_records
from setveil.cli.score_meanings import said_of
from setveil.cli.sensitive import (
    SensitiveOption,
    VariantsOption,
    WasInTreeOption,
    read_sensitive,
    whole_tree,
)
from setveil.core.errors import InputError, NotApplicable, ParameterError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from setveil.attack import Guess
    from setveil.core.table import TransactionTable
    from setveil.core.taxonomy import Taxonomy
    from setveil.measure import PartScore
    from setveil.release.base import Key, Release
    from setveil.release.content import Content

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


@reads_records
def measure(
    *,
    release: Annotated[
        str, typer.Argument(metavar="RELEASE", help="Directory that `setveil anonymize` wrote.")
    ],
    original: Annotated[
        str, typer.Option("--original", metavar="DATA", help="The original data; - reads stdin.")
    ],
    key: Annotated[
        Path | None,
        typer.Option("--key", metavar="KEY", help="The private key that --key wrote."),
    ] = None,
    guess: Annotated[
        Path | None,
        typer.Option("--guess", metavar="GUESS", help="Score what `setveil attack` wrote instead."),
    ] = None,
    by: Annotated[
        Literal["item", "record"] | None,
        typer.Option("--by", help="Score a guess for each generalized item, or each record."),
    ] = None,
    relatedness: Annotated[
        str | None,
        typer.Option(
            "--relatedness",
            metavar="SPEC",
            help="How far apart terms are, for the word mover's distance of rebuilt records.",
        ),
    ] = None,
    taxonomy: TaxonomyOption = None,
    missing: MissingOption = "error",
    parents: ParentsOption = "error",
    sensitive: SensitiveOption = None,
    sensitive_in_tree: WasInTreeOption = "keep",
    variants: VariantsOption = "error",
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
    from setveil.release.content import content_of
    from setveil.release.store import load_key, load_manifest, load_release

    only_one_stdin(original, taxonomy)
    _check_scoring(guess, key, by, relatedness)
    check_place(engine)
    directory = release_directory(release)
    if (spark := spark_named(engine)) is not None:
        if guess is not None:
            raise ParameterError("guesses are scored here", fix="leave out --engine")
        from setveil.cli.measure_spark import measured_on

        with Progress(quiet=quiet) as progress, compiling_announced(quiet=quiet):
            progress("measuring")
            figures, content = measured_on(
                spark,
                directory,
                original,
                key=key,
                taxonomy=None
                if taxonomy is None
                else read_taxonomy(taxonomy, parents=parents, quiet=quiet),
                missing=missing,
                sensitive=sensitive,
                sensitive_in_tree=sensitive_in_tree,
                variants=variants,
                seed=seed,
                k=_promised(directory).get("k"),
                reading=reading,
                quiet=quiet,
            )
        _print_figures(figures, load_manifest(directory).form, content, json=json)
        return
    with Progress(quiet=quiet) as progress, compiling_announced(quiet=quiet):
        progress("loading")
        published = load_release(directory)
        private = None if key is None else load_key(key, directory)
        table = reading.read(original, quiet=quiet)
        secret: tuple[str, ...] = ()
        if sensitive is not None:
            secret = read_sensitive(sensitive, table, variants=variants, quiet=quiet)
        tree = None
        if taxonomy is not None:
            tree = read_taxonomy(taxonomy, parents=parents, quiet=quiet)
            tree, table, report = whole_tree(
                tree, table, secret, missing=missing, in_tree=sensitive_in_tree
            )
            recall_missing(report, quiet=quiet)
        _must_belong_together(published, table, private, tree)
        progress("measuring")
        if guess is not None and private is not None and by is not None:
            parts = _parts(load_guess(guess), by, published, table, private)
        elif guess is not None and private is not None:
            figures = _scores(
                load_guess(guess),
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
                k=_promised(directory).get("k"),
            )
    if by is not None:
        _print_parts(parts, by, json=json)
    elif guess is not None and not json:
        _print_scores(figures)
    else:
        _print_figures(figures, published.form, content_of(published), json=json)


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


def _promised(directory: str | Path) -> "Mapping[str, Any]":
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
    from setveil.attack import LinkageGuess, ReassociationGuess
    from setveil.measure import flat, score, score_linkage, score_reassociation

    if not isinstance(guess, ReassociationGuess):
        if relatedness is not None:
            raise ParameterError(
                f"guesses of {guess.attack!r} have no word mover's distance",
                fix="leave out --relatedness",
            )
        if isinstance(guess, LinkageGuess):
            return flat(
                score_linkage(
                    guess,
                    release=published,
                    original=table,
                    key=key,
                    sensitive=sensitive,
                    taxonomy=tree,
                )
            )
        return flat(score(guess, release=published, original=table, key=key))
    source = None
    if relatedness is not None:
        from setveil.relatedness import parse_relatedness

        source = parse_relatedness(relatedness, release=published)
    promised = _promised(directory)
    return flat(
        score_reassociation(
            guess,
            release=published,
            original=table,
            key=key,
            k=promised.get("k"),
            m=promised.get("m"),
            relatedness=source,
        )
    )


def _print_scores(figures: "Mapping[str, float | int | None]") -> None:
    """Print each score on a line with the ends of its 95% interval, and what stands beside it."""
    beside, meanings = said_of(figures)
    ends = ("_low", "_high", *(f"_{run}" for run in beside))
    rows = [
        (name, *(figures.get(f"{name}{end}") for end in ("", *ends)), meanings.get(name, ""))
        for name in figures
        if not name.endswith(ends)
    ]
    print_table(["score", "value", "low", "high", *beside, "meaning"], rows)


def _parts(
    guess: "Guess", by: str, published: "Release", table: "TransactionTable", key: "Key"
) -> "list[PartScore]":
    """Return the score of each generalized item or record."""
    from setveil.attack import EliminationGuess
    from setveil.measure import score_items, score_records

    if not isinstance(guess, EliminationGuess):
        raise NotApplicable(f"guesses of {guess.attack!r} are scored as a whole only")
    if by == "item":
        return score_items(guess, release=published, original=table, key=key)
    return score_records(guess, release=published, original=table, key=key)


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


def _must_belong_together(
    published: "Release", table: "TransactionTable", key: "Key | None", tree: "Taxonomy | None"
) -> None:
    """Refuse to compare a release with data it cannot come from."""
    if published.form in {"disassociated", "grouped", "perturbed"}:
        fits = len(published) == len(table)
    else:
        here = sorted((len(row) for row in published.to_rows()), reverse=True)
        there = sorted(table.lengths.tolist(), reverse=True)
        # No record is published longer than it was, so neither is the i-th longest one; only a
        # split record may become several.
        fits = published.form == "split" or (len(here) <= len(there) and all(map(le, here, there)))
    if key is not None:
        fits = fits and len(key) == len(published) and bool((key.records < len(table)).all())
        if tree is not None or published.form != "generalized":
            fits = fits and published.is_consistent_with(table, key, tree)
    if not fits:
        raise InputError(
            "the release cannot come from this original" + (" by this key" if key else ""),
            fix="name the data and the key that `setveil anonymize` read and wrote",
        )
