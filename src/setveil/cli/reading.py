"""What a command reads: records, the guard against identities, the sensitive items, the tree.

A command that reads records has a parameter ``reading`` of the class :class:`Reading`.
"""

from collections.abc import Mapping
from dataclasses import fields
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple

import typer

from setveil.cli.options import (
    TreeOptions,
    only_one_stdin,
    option,
    option_group,
    read_taxonomy,
    recall_missing,
)
from setveil.cli.output import say
from setveil.core.errors import InputError, ParameterError
from setveil.core.words import plural

if TYPE_CHECKING:
    from collections.abc import Sequence

    from setveil.core.missing_items import Covered
    from setveil.core.records import Records
    from setveil.core.table import TransactionTable
    from setveil.core.taxonomy import Taxonomy
    from setveil.io.identifiers import Finding


AllowOption = Annotated[
    bool,
    typer.Option(
        "--allow-identifiers",
        help="Go on although items look like identities; for research, not for publishing.",
    ),
]


@option_group
class Reading:
    """How records are to be read: the options, in the order of the help.

    >>> reading = Reading(format="long", items=["Dx1,Dx2"], on_error="skip")
    >>> reading.given
    {'format': 'long', 'items': ['Dx1,Dx2'], 'on_error': 'skip'}
    >>> reading.settings["items"]
    ['Dx1', 'Dx2']
    """

    format: str | None = option(
        None,
        "fimi, basket, long, wide, one-hot, jsonl or spmf; found out when not given.",
        metavar="FORMAT",
    )
    layout: str | None = option(
        None, "How DATA is laid out, as `setveil inspect --save-layout` wrote it.", metavar="FILE"
    )
    id: str | None = option(
        None, "Column that tells which record a row belongs to.", metavar="COLUMN"
    )
    item: str | None = option(
        None, "Column (or JSON field) that holds the items.", metavar="COLUMN"
    )
    items: list[str] | None = option(
        None,
        "Several columns with items, such as 'Dx*' or Dx1,Dx2; or one with several in a cell.",
        metavar="COLUMNS",
    )
    separator: str | None = option(
        None, "What separates several items in a cell, such as ';'.", metavar="TEXT"
    )
    ignore: list[str] | None = option(None, "Columns to set aside.", metavar="COLUMNS")
    header: bool | None = option(
        None, "Whether the first row names the columns.", "--header/--no-header"
    )
    delimiter: str | None = option(
        None, "What separates fields; also tab or space.", metavar="TEXT"
    )
    quote: str | None = option(
        None, "What surrounds fields: double, single or none.", metavar="NAME"
    )
    encoding: str | None = option(
        None, "How bytes become text, such as cp1252; found out when not given.", metavar="NAME"
    )
    table: str | None = option(None, "Table of a database, or sheet of a workbook.", metavar="NAME")
    query: str | None = option(None, "Query of an SQLite database; it is only read.", metavar="SQL")
    normalize: bool = option(
        False, "Join items that differ only in case, spaces or punctuation at the end."
    )
    min_support: int | None = option(
        None, "Leave out items that fewer than N records hold.", metavar="N"
    )
    empty: Literal["keep", "drop", "error"] | None = option(
        None, "What to do with records without items; keep by default."
    )
    on_error: Literal["stop", "skip"] = option(
        "stop", "Stop at a malformed line of DATA, or skip and list it."
    )

    @classmethod
    def of(cls, given: Mapping[str, Any]) -> "Reading":
        """Return the reading that settings of a file ask for."""
        known = {name: given[name] for name in READING if given.get(name) is not None}
        return cls(**known)

    @property
    def given(self) -> dict[str, Any]:
        """Return what differs from the defaults, as it was written."""
        values = {each.name: (getattr(self, each.name), each.default) for each in fields(self)}
        return {name: value for name, (value, default) in values.items() if value != default}

    @property
    def settings(self) -> dict[str, Any]:
        """Return what is given as :func:`setveil.read` takes it: names of columns one by one."""
        found = self.given
        for name in {"items", "ignore"} & set(found):
            parts = [found[name]] if isinstance(found[name], str) else found[name]
            found[name] = [
                each for part in parts for each in map(str.strip, part.split(",")) if each
            ]
            if not found[name]:
                raise ParameterError(f"--{name} names no column", fix="name one, or leave it out")
        return found

    def read(self, data: str, *, quiet: bool = False) -> "TransactionTable":
        """Read records, and say on stderr what was found out, set aside, merged and skipped."""
        from setveil.io.layout import Layout
        from setveil.io.readers import read

        settings = self.settings
        if isinstance(settings.get("layout"), Mapping):  # written out in audit.toml
            settings["layout"] = Layout.from_dict(settings["layout"])
        table = read(data, **settings)
        if table.reading is not None:
            for sentence in table.reading.sentences():
                say(sentence, quiet=quiet)
        return table


READING = tuple(each.name for each in fields(Reading))
"""The options of reading."""


# --- the guard ----------------------------------------------------------------------------------


def refuse_identifiers(
    table: "TransactionTable", *, allowed: bool, where: str, quiet: bool = False
) -> None:
    """Stop before anything is published that looks like an identity.

    With `allowed` it is said, and not stopped.
    """
    from setveil.io.identifiers import Finding, are_people, find_identifiers, mask

    reading = table.reading
    found = find_identifiers(table, () if reading is None else reading.columns)
    if reading is not None and reading.detection is not None:
        known = {finding.column for finding in found}
        found += [
            Finding(
                column=name,
                kind="record numbers or names",
                reason="if nothing were said about the file, it would not be published",
                samples=tuple(mask(sample) for sample in samples),
                count=len(samples),
            )
            for name, samples in reading.detection.private
            if name not in known
        ]
    flags = [] if reading is None else reading.layout.names("one-hot")
    if are_people(flags):
        found.append(
            Finding(
                column=None,
                kind="person names",
                reason="the columns are called like people",
                samples=tuple(mask(name) for name in flags[:3]),
                count=len(flags),
            )
        )
    if not found:
        return
    lines = [identity_sentence(finding) for finding in found[:5]]
    if allowed:
        say(f"{where}: published all the same, as --allow-identifiers says:", quiet=quiet)
        for line in lines:
            say(line, quiet=quiet)
        return
    raise InputError(
        "what would be published looks like identities:",
        where=where,
        lines=lines,
        fix=_ways_on(found, "" if reading is None else reading.format),
    )


def identity_sentence(finding: "Finding") -> str:
    """Return what looks like an identity, where, why, and samples that give nothing away."""
    place = "Items" if finding.column is None else f"Column {finding.column!r}"
    return f"  {place}: {finding.kind} ({finding.reason}), such as {', '.join(finding.samples)}"


def _ways_on(found: "list[Finding]", form: str) -> str:
    if form in {"fimi", "spmf", "jsonl"}:
        return (
            "remove it from the file; where the first number of each line is the record's own, "
            "read it with --format basket --delimiter space --id 1; or, for research, go on with "
            "--allow-identifiers"
        )
    column = next((finding.column for finding in found if finding.column is not None), None)
    named = "COLUMN" if column is None else f"'{column}'" if " " in column else column
    if form == "basket":
        place = named.strip("'").removeprefix("field ")
        known = place if place.isdecimal() else "NUMBER"
        return (
            "remove it from the file, or read the file as a table (without --format basket); if a "
            f"field tells records apart, use it for that (--id {known}); or, for research, go on "
            "with --allow-identifiers"
        )
    return (
        f"leave it out of --items or set it aside (--ignore {named}), use it to tell records apart "
        f"(--id {named}), or, for research, go on with --allow-identifiers"
    )


# --- the sensitive items: named in a file, or drawn at random for research ------------------------


CLOSE = 3
"""How many similar items are named for one that does not occur."""
LISTED = 20
"""How many variants of sensitive items are listed."""
VARIANTS = STOP, INCLUDE, DISTINCT = "error", "include", "distinct"

SensitiveOption = Annotated[
    str | None,
    typer.Option("--sensitive", metavar="FILE", help="Sensitive items, one per line."),
]
ShareOption = Annotated[
    float | None,
    typer.Option(
        "--sensitive-share",
        metavar="SHARE",
        help="Draw this share of the items as sensitive ones (for research).",
    ),
]
VARIANTS_HELP = (
    "What to do with items written almost like a sensitive one: stop, protect them as well, or "
    "take them for different items."
)
VariantsOption = Annotated[
    Literal["error", "include", "distinct"],
    typer.Option("--variants", help=VARIANTS_HELP),
]
InTreeOption = Annotated[
    Literal["error", "take-out"],
    typer.Option(
        "--sensitive-in-tree", help="What to do with sensitive items that are in the tree."
    ),
]


class Original(NamedTuple):
    """The original records, the tree that a release of them is about, and the sensitive items."""

    table: "TransactionTable"
    taxonomy: "Taxonomy | None"
    sensitive: tuple[str, ...]


@option_group
class OriginalOptions(TreeOptions):
    """What `setveil anonymize` was told about the items of a release."""

    sensitive: SensitiveOption = None
    sensitive_in_tree: Literal["keep", "take-out"] = option(
        "keep", "Whether `setveil anonymize` took them out of the tree."
    )
    variants: VariantsOption = "error"

    def read(self, data: str, reading: "Reading", *, quiet: bool) -> Original:
        """Read the original records, the sensitive items and the tree."""
        only_one_stdin(data, self.taxonomy)
        table = reading.read(data, quiet=quiet)
        sensitive = self.read_sensitive(table, quiet=quiet)
        if self.taxonomy is None:
            return Original(table, None, sensitive)
        tree, table, report = self.read_tree(table, sensitive, quiet=quiet)
        recall_missing(report, quiet=quiet)
        return Original(table, tree, sensitive)

    def read_sensitive(self, table: "TransactionTable", *, quiet: bool) -> tuple[str, ...]:
        """Return the sensitive items; none where no file is named."""
        if self.sensitive is None:
            return ()
        return read_sensitive(self.sensitive, table, variants=self.variants, quiet=quiet)

    def read_tree(
        self,
        table: "TransactionTable",
        sensitive: "Sequence[str]",
        *,
        quiet: bool,
        records: "Mapping[str, int] | None" = None,
    ) -> "Covered":
        """Return the tree that a release is about, and the records: a leaf for every item.

        Sensitive items that were taken out of the tree, or never were in it, stand beside it.
        `records` tells how many records hold each item, where the table is only a part of the data.
        """
        from setveil.core.missing_items import cover

        assert self.taxonomy is not None
        tree = read_taxonomy(self.taxonomy, parents=self.parents, quiet=quiet)
        taken_out = set(sensitive) if self.sensitive_in_tree == "take-out" else set()
        beside = taken_out | set(tree.missing(sensitive))
        covered = cover(tree, table, missing=self.missing, apart=beside, records=records)
        return covered._replace(tree=covered.tree.without(taken_out).beside(sorted(beside)))


def check_sensitive_options(
    name: str,
    requires: frozenset[str],
    file: str | None,
    share: float | None,
    variants: str,
) -> None:
    """Refuse sensitive items where a method takes none, and their absence where it needs them."""
    if file is not None and share is not None:
        raise ParameterError(
            "--sensitive and --sensitive-share exclude each other",
            fix="name the sensitive items, or draw them",
        )
    given = file is not None or share is not None
    if "sensitive" not in requires and given:
        raise ParameterError(
            f"{name} protects all items alike and takes no sensitive ones",
            fix="leave the option out, or use a method such as td-control or coherence",
        )
    if "sensitive" in requires and not given:
        raise ParameterError(
            f"{name} protects sensitive items, and none are named",
            fix="give a file with one item per line by --sensitive FILE, or draw some by "
            "--sensitive-share 0.1",
        )
    if variants != STOP and file is None:
        raise ParameterError(
            "--variants is about sensitive items that are named, and none are",
            fix="leave it out, or name them by --sensitive FILE",
        )
    if share is not None and not 0 < share <= 1:
        raise ParameterError(
            f"the share of sensitive items is {share:g}", fix="use a number above 0 and at most 1"
        )


def read_sensitive(
    file: str, table: "Records", *, variants: str = STOP, quiet: bool = False
) -> tuple[str, ...]:
    """Read the sensitive items; see :func:`settle_sensitive`."""
    from setveil.io.item_lists import read_items

    return settle_sensitive(read_items(file), table, variants=variants, where=file, quiet=quiet)


def settle_sensitive(
    items: "Sequence[str]",
    table: "Records",
    *,
    variants: str,
    where: str = "",
    quiet: bool = False,
) -> tuple[str, ...]:
    """Return which items of the data are sensitive, once that is beyond doubt.

    Every named item must occur in the data. Items that are written almost like a named one
    (:func:`setveil.core.spelling.variants`) stop the command, join the sensitive items
    (``include``), or are said to differ (``distinct``).
    """
    from setveil.core.spelling import variants as find_variants
    from setveil.core.words import some

    if variants not in VARIANTS:
        raise ParameterError(f"variants is {variants!r}", fix=f"use {', '.join(VARIANTS)}")
    there = occurring(table)
    near = {} if variants == DISTINCT else find_variants(items, there)
    if near and variants == STOP:
        raise InputError(
            f"{plural(len(near), 'item')} of the data {'is' if len(near) == 1 else 'are'} written "
            "almost like a sensitive one:",
            where=where,
            lines=variant_lines(near),
            fix="protect them as well with --variants include; or, if they mean something else, "
            "go on with --variants distinct",
        )
    if near:
        say(f"Also treated as sensitive (--variants include): {some(list(near))}", quiet=quiet)
    known, met = set(there), set(near.values())
    unknown = [item for item in items if item not in known and item not in met]
    _refuse_unknown(unknown, len(items), known, where)
    return tuple(item for item in (*items, *near) if item in known)


def variant_lines(near: "Mapping[str, str]") -> list[str]:
    """Return a line for each variant, and how it is written where that cannot be seen."""
    lines = []
    for name, item in list(near.items())[:LISTED]:
        written = "" if name.isascii() else f" (written {name!a})"
        lines.append(f"  {name!r}{written} is like {item!r}")
    more = len(near) - LISTED
    return lines + ([f"  and {more:,} more"] if more > 0 else [])


def warn_of_variants(near: "Mapping[str, str]", noun: str) -> None:
    """Say on stderr, with --quiet too, what may be sensitive as well and was not checked so."""
    if not near:
        return
    verb = "is" if len(near) == 1 else "are"
    say(
        f"warning: {plural(len(near), noun)} {verb} written almost like a sensitive one, and "
        f"{verb} not checked as such:"
    )
    for line in variant_lines(near):
        say(line)


def _refuse_unknown(unknown: list[str], count: int, known: set[str], where: str) -> None:
    """Refuse sensitive items that the data does not hold, and name similar ones that it does."""
    if not unknown:
        return
    from difflib import get_close_matches

    from setveil.core.words import some

    names = sorted(known)
    lines = []
    for item in unknown[:LISTED]:
        inside = [name for name in names if item.casefold() in name.casefold()]
        close = inside[:CLOSE] or get_close_matches(item, names, n=CLOSE, cutoff=0.6)
        if close:
            lines.append(f"  similar to {item!r}: {', '.join(map(repr, close))}")
    raise InputError(
        f"{len(unknown)} of {count} sensitive items do not occur in the data: {some(unknown)}",
        where=where,
        lines=lines,
        fix="check their spelling, or take them out of the list",
    )


def draw_sensitive(share: float, table: "Records", seed: int | None) -> tuple[str, ...]:
    """Draw a share of the items, at least one; without a seed nobody can repeat it."""
    import numpy as np

    names = occurring(table)
    if not names:
        raise InputError("the data has no items to draw sensitive ones from", fix="check the file")
    rng = np.random.default_rng(seed)
    count = max(1, round(share * len(names)))
    chosen = rng.choice(len(names), count, replace=False)
    return tuple(sorted(names[i] for i in chosen.tolist()))


def tree_for_ordinary(
    tree: "Taxonomy",
    table: "TransactionTable",
    sensitive: "Sequence[str]",
    *,
    missing: str,
    in_tree: str,
    quiet: bool = False,
) -> "Covered":
    """Return the tree with a leaf for each item that is not sensitive, and the records."""
    from setveil.core.missing_items import cover
    from setveil.core.words import some

    inside = sorted(set(sensitive) - set(tree.missing(sensitive)))
    if inside and in_tree == "error":
        raise InputError(
            f"{len(inside)} of {len(sensitive)} sensitive items are in the tree of the others: "
            f"{some(inside)}",
            fix="take them out of the file, or let setveil do it by --sensitive-in-tree take-out",
        )
    if inside:
        noun = "item was" if len(inside) == 1 else "items were"
        say(f"{len(inside)} sensitive {noun} taken out of the tree", quiet=quiet)
    # First a leaf for categories that are items: they stay, even if nothing else is below them.
    covered = cover(tree, table, missing=missing, apart=set(sensitive))
    return covered._replace(tree=covered.tree.without(inside))


def occurring(table: "Records") -> list[str]:
    """Return the items that occur, by name; a table may know names that no record holds."""
    return [table.vocabulary[i] for i in table.supports().nonzero()[0].tolist()]
