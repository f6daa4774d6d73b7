"""What the scores of guesses say, and what stands beside them, by what the guess is about."""

from collections.abc import Iterable, Mapping

SCORES = {
    "accuracy": "share of what was attacked that the guess has right",
    "accuracy_frequency": "the same by frequency rank alone",
    "accuracy_random": "the same by names drawn at random",
    "accuracy_control": "the same by the attack with a reference that is unrelated",
    "precision": "share of the guesses it was sure of (chance 0.9 and more) that are right",
    "sure": "share of what was attacked that it was sure of",
    "tags_read": "share of all tags that were read",
    "occurrences_read": "share of the tags' occurrences in the records that were read",
}
"""What the scores of guesses say, beside the measures of loss."""
ELIMINATION = {
    "auc": "chance that an added cell is ranked above an original one",
    "kept_f1": "harmonic mean of the next two: original cells recognised",
    "kept_precision": "share of the cells it kept that are original",
    "kept_recall": "share of the original cells that it kept",
    "f1": "harmonic mean of the next two: added cells found",
    "precision": "share of the cells it eliminated that were added",
    "recall": "share of the added cells that it eliminated",
    "ece": "expected calibration error of its probabilities",
    "sure": "share of the cells that it calls added with a chance of 0.95 and more",
    "sure_precision": "share of these that were added",
    "cell_density": "share of the attacked cells that are original",
    "attacked": "share of all cells that it could attack",
}
"""The same for guesses about added members: a cell is a member in a record."""
BESIDE = ("ra", "all", "control")
"""Baselines and control that stand beside the scores of an elimination attack."""
REASSOCIATION = {
    "accuracy": "share of what belongs to each record besides its anchor that was attached to it",
    "precision": "share of what was attached that belongs there",
    "transaction_breakage": "share of the records with at least one term attached rightly",
    "km_breakage": "share of the protected itemsets that stand together in a record again",
    "wmd": "mean word mover's distance of rebuilt from true records",
    "term_pair_precision": "share of the pairs of term-chunk terms that do come from one record",
    "gain": "accuracy above that of the baseline prior",
    "advantage": "share of what attaching at random misses that the attack gets",
}
"""The same for guesses about which pieces belong together."""
LINKAGE = {
    "named": "chance of naming the right record of a person of whom a few items are known",
    "advantage": "share of what naming blindly misses that the attack gets",
    "singled": "share of the targets with just one candidate, which is theirs",
    "advantage_singled": "share of what naming blindly misses that singling out gets",
    "sure": "mean chance that the adversary gives to the record it names",
    "single": "share of the targets with just one candidate",
    "below_k": "share of the targets with fewer than k candidates",
    "found": "share of the targets with any candidate",
    "candidates": "mean number of records that may be the target's",
    "learned": "share of the targets of whom a further item is certain",
    "equivocation": "bits lacking about whether a target holds a sensitive item; at most 1",
    "equivocation_before": "the same without anything known of the target",
}
"""The same for guesses about whose record is whose."""
INFERENCE = {
    "believed": "mean chance that is given to a sensitive item that a person has",
    "believed_before": "the same by an attacker who knows nothing of the person",
    "believed_control": "mean chance that is given to one that the person does not have",
    "advantage": "share of what knowing nothing misses that the attack gets",
}
"""The same for guesses about sensitive items."""
PARTS = {"records": "the same for record and shared chunks", "terms": "the same for term chunks"}
"""Each of them is also said for parts of the release."""
BASELINES = ("random", "prior")
"""Baselines that stand beside the scores of a re-association attack."""
NOISE = {
    "noise_removed": "share of the wrong cells of the release that the guess has right, net",
    "advantage": "share of what judging each item by itself leaves wrong that the guess has right",
    "precision": "share of the items that records are believed to hold that they do",
    "recall": "share of the items of the records that the guess believes",
    "f1": "harmonic mean of the two",
}
"""For guesses about which items a record holds: a cell is an item in a record."""
BESIDE_NOISE = ("alone", "published", "control")
"""Each item by itself; the release as it is; the attack where nothing goes together."""

PUBLIC_RECORDS = {
    "first": "share of the records whose original is named first among the candidates",
    "rank": "mean share of the other candidates that are ranked above the original",
    "among": "share of the attacked records whose original is among the candidates",
    "sure": "share of these that it names with a chance of 0.9 and more",
    "precision": "share of those that it names rightly",
    "sure_absent": "share of the records it is sure of although their original is not there",
}
"""For guesses about which public record a randomized one was."""
BESIDE_PUBLIC_RECORDS = ("random", "control")
"""Naming blindly; the truth exchanged between the records."""


def said_of(figures: Iterable[str]) -> tuple[tuple[str, ...], Mapping[str, str]]:
    """Return what stands beside scores of these names, and what each of them says.

    >>> said_of(["named", "named_random"])[0]
    ('random', 'control')
    """
    names = set(figures)
    of_parts = {f"{n}_{p}": text for n in REASSOCIATION for p, text in PARTS.items()}
    of_links = ("random", "control", *(("first",) if "named_first" in names else ()))
    by_score: dict[str, tuple[tuple[str, ...], Mapping[str, str]]] = {
        "cell_density": (BESIDE, ELIMINATION),
        "transaction_breakage": (BASELINES, REASSOCIATION | of_parts),
        "noise_removed": (BESIDE_NOISE, NOISE),
        "among": (BESIDE_PUBLIC_RECORDS, PUBLIC_RECORDS),
        "believed": ((), INFERENCE),
        "named": (of_links, LINKAGE),
    }
    return next((found for name, found in by_score.items() if name in names), ((), SCORES))
