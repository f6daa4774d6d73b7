"""All measures of a release at once, and how right a guess about it was.

A score is a rate with its interval, beside what guessing without knowledge gets.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any, cast

from setveil.attack.elimination.elimination_guess import EliminationGuess
from setveil.attack.inference import InferenceGuess
from setveil.attack.linkage.linkage import LinkageGuess
from setveil.attack.randomized.noise_filter import NoiseGuess
from setveil.attack.randomized.public_records import PublicRecordsGuess
from setveil.attack.reassociation.reassociation_guess import ReassociationGuess
from setveil.attack.token_frequency import TokenGuess
from setveil.core.errors import NotApplicable
from setveil.measure import generalization as of
from setveil.measure.disassociation import linked_share, pair_support_error, terms_lost
from setveil.measure.generalization import average_loss, ul, ul_log2
from setveil.measure.itemsets import (
    certain_itemset_loss,
    multilevel_itemset_loss,
    rules_kept,
    top_k_itemset_loss,
)
from setveil.measure.perturbation import items_shown, items_true, perturbation_loss
from setveil.measure.queries import average_relative_error
from setveil.measure.reconstruction import mean_reconstruction_error

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    import numpy as np

    from setveil.attack.guess import Guess
    from setveil.core.interval import Rate
    from setveil.core.records import Records
    from setveil.core.table import TransactionTable
    from setveil.core.taxonomy import Taxonomy
    from setveil.release.base import Key, Release
    from setveil.release.grouped import GroupedRelease
    from setveil.release.perturbed import PerturbedRelease


def measure_all(
    release: Release,
    original: Records,
    *,
    key: Key | None = None,
    taxonomy: Taxonomy | None = None,
    sensitive: Iterable[str] = (),
    rng: np.random.Generator | None = None,
    k: int | None = None,
) -> dict[str, float | int | None]:
    """Return every measure by name; None where one cannot be said.

    Utility loss (``ul``, ``ul_log2``) comes only with releases whose items are sets; ``tkd_a``,
    ``tkd_ml2``, ``re``, ``tlost`` and ``certain_links`` only with disassociated ones; ``kl``, the
    reconstruction error, with its interval only with grouped ones;
    ``items_true`` and ``perturbation_loss`` only with perturbed ones.

    Parameters
    ----------
    release, original
        What is compared.
    key
        Which original stands behind which record; NCP and average loss need it where an item may
        have several images and nothing is hidden (Partition, LRA).
    taxonomy
        The tree the release was made with, as it was given to the method; a release that
        generalizes needs it for most measures.
    sensitive
        The sensitive items, if the method was given some.
    rng
        Draws the queries, and reconstructions of a disassociated release; without it always the
        same ones are drawn.
    k
        The k that the release was made with: ``tlost`` of a disassociated release needs it.

    Examples
    --------
    >>> from setveil import Taxonomy, TransactionTable
    >>> from setveil.release import publish_groups
    >>> tree = Taxonomy.balanced(["a", "b"])
    >>> table = TransactionTable.from_rows([["a"], ["b"]])
    >>> release, key = publish_groups(tree, group_offsets=[0, 1], group_nodes=[0],
    ...                               group_of=[0, 0], hides=True)
    >>> figures = measure_all(release, table, taxonomy=tree)
    >>> figures["ggd"], figures["items_exact"], figures["are"]
    (2.0, 0.0, 0.0)
    """
    apart = tuple(sensitive)
    tree = None if taxonomy is None else of.tree_for(taxonomy, original, apart)
    # Reconstructions are drawn aside: every form is asked the same queries.
    worlds = None if rng is None else rng.spawn(1)[0]
    figures = {
        "ggd": _or_none(lambda: of.ggd(release, original)),
        "ggd_share": _or_none(lambda: of.ggd_share(release, original)),
        "ncp": _or_none(lambda: of.ncp(release, original, key=key, taxonomy=tree)),
        "average_loss": _or_none(
            lambda: average_loss(release, original, key=key, taxonomy=tree, sensitive=apart)
        ),
        "length_mean": _or_none(lambda: of.length_mean(release)),
        "level_mean": _or_none(lambda: of.level_mean(release)),
        "records_kept": _or_none(lambda: of.records_kept(release, original)),
        "items_kept": _or_none(lambda: of.items_kept(release, original)),
        "items_exact": _or_none(lambda: of.items_exact(release, original)),
        "items_suppressed": _or_none(lambda: of.items_suppressed(release, original)),
        "are": None,
        "are_low": None,
        "are_high": None,
        "tkd": _or_none(lambda: top_k_itemset_loss(release, original, taxonomy=tree, rng=worlds)),
        "rules_kept": None,
        "rules_exact": None,
    }
    with suppress(NotApplicable):
        error = average_relative_error(release, original, taxonomy=tree, rng=rng)
        figures |= {"are": error.value, "are_low": error.low, "are_high": error.high}
    with suppress(NotApplicable):
        rules = rules_kept(release, original, taxonomy=tree)
        figures |= {"rules_kept": rules.value, "rules_exact": rules.exact}
    # Each form adds what only it has. What is not in parts is compared with a table that is here.
    here = cast("TransactionTable", original)
    with suppress(NotApplicable):
        release.as_sets()
        figures |= {
            "ul": _or_none(lambda: ul(release, original)),
            "ul_log2": _or_none(lambda: ul_log2(release, original)),
        }
    with suppress(NotApplicable):
        release.chunk_terms()
        figures |= _of_disassociated(release, original, key=key, tree=tree, rng=worlds, k=k)
    with suppress(NotApplicable):
        figures |= _of_groups(release.as_groups(), here, rng=worlds)
    with suppress(NotApplicable):
        figures |= _of_perturbed(release.as_randomized(), here, key=key, tree=tree)
    return figures


def _of_perturbed(
    release: PerturbedRelease,
    original: TransactionTable,
    *,
    key: Key | None,
    tree: Taxonomy | None,
) -> dict[str, float | None]:
    """Return the measures that are about what chance did; only the key tells most of them."""
    length = len(release.items) / len(release) if len(release) else None
    figures: dict[str, float | None] = {"length_mean": length, "items_true": None}
    figures["perturbation_loss"] = None
    if key is None:
        return figures
    figures["items_true"] = _or_none(lambda: items_true(release, original, key=key))
    shown = _or_none(lambda: items_shown(release, original, key=key))
    figures["items_exact"] = shown
    figures["items_suppressed"] = None if shown is None else 1 - shown
    if tree is not None:
        figures["perturbation_loss"] = _or_none(
            lambda: perturbation_loss(release, original, key=key, taxonomy=tree)
        )
    return figures


def _of_disassociated(
    release: Release,
    original: Records,
    *,
    key: Key | None,
    tree: Taxonomy | None,
    rng: np.random.Generator | None,
    k: int | None,
) -> dict[str, float | None]:
    """Return the measures that are about chunks, and what only the key tells."""
    here = cast("TransactionTable", original)
    figures: dict[str, float | None] = {
        "tkd_a": _or_none(lambda: certain_itemset_loss(release, original)),
        "tkd_ml2": None,
        "re": _or_none(lambda: pair_support_error(release, original, rng=rng)),
        "tlost": None if k is None else _or_none(lambda: terms_lost(release, original, k=k)),
        "certain_links": _or_none(lambda: linked_share(release, here, key=key)),
    }
    if tree is not None:
        figures["tkd_ml2"] = _or_none(
            lambda: multilevel_itemset_loss(release, here, taxonomy=tree, rng=rng)
        )
    occurrences = int(original.occurrences().sum())
    if key is not None and occurrences:
        # Nothing published tells how many records hold a term of a term chunk.
        figures["items_suppressed"] = len(key.removed) / occurrences
    return figures


def _of_groups(
    release: GroupedRelease, original: TransactionTable, *, rng: np.random.Generator | None
) -> dict[str, float | None]:
    """Return the reconstruction error with its interval."""
    with suppress(NotApplicable):
        error = mean_reconstruction_error(release, original, rng=rng)
        return {"kl": error.value, "kl_low": error.low, "kl_high": error.high}
    return dict.fromkeys(("kl", "kl_low", "kl_high"))


def _or_none(measure: Callable[[], float]) -> float | None:
    try:
        return measure()
    except NotApplicable:
        return None


# --- how right a guess was ------------------------------------------------------------------------


def score(
    guess: Guess,
    *,
    release: Release,
    original: TransactionTable,
    key: Key,
    **known: Any,
) -> dict[str, Rate | None]:
    """Compare a guess with the truth; each class of guesses says how (:meth:`Guess.rates`).

    Parameters
    ----------
    guess
        What an attack said about `release`.
    release, original, key
        What was published, what it was made from, and the private link between them.
    known
        What else the scores of some guesses are about, such as ``sensitive`` items; guesses that
        have no use for it leave it aside.

    Returns
    -------
    dict of str to Rate or None
        Rates by name; None where one cannot be said. Beside the main ones stand baselines (what
        guessing without the attack gets) and a control (what the attack gets where there is
        nothing to find).

    Examples
    --------
    >>> from setveil import TransactionTable
    >>> from setveil.attack import Guess
    >>> table = TransactionTable.from_rows([["flu"]])
    >>> score(Guess(attack="gossip"), release=None, original=table, key=None)
    Traceback (most recent call last):
    setveil.core.errors.NotApplicable: guesses of 'gossip' cannot be scored
    """
    return guess.score(release=release, original=original, key=key, **known)


score_elimination = EliminationGuess.score
score_inference = InferenceGuess.score
score_linkage = LinkageGuess.score
score_noise = NoiseGuess.score
score_public_records = PublicRecordsGuess.score
score_reassociation = ReassociationGuess.score
score_tokens = TokenGuess.score


def flat(rates: Mapping[str, Rate | None]) -> dict[str, float | None]:
    """Return rates as numbers: each under its name, and its interval as ``_low`` and ``_high``.

    >>> from setveil.measure import Rate
    >>> flat({"accuracy": Rate.counted(0.5), "auc": None})
    {'accuracy': 0.5, 'accuracy_low': 0.5, 'accuracy_high': 0.5, 'auc': None}
    """
    figures: dict[str, float | None] = {}
    for name, rate in rates.items():
        if rate is None:
            figures[name] = None
        else:
            figures |= {name: rate.value, f"{name}_low": rate.low, f"{name}_high": rate.high}
    return figures
