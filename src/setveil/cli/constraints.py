"""The constraints of methods that publish sets of items: itemsets in files, or WordNet."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from setveil.cli.output import say

if TYPE_CHECKING:
    from setveil.core.registry import Entry

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
