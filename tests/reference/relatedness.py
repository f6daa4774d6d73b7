"""Counts and distances by looking at every document, one pair at a time."""

import math
import re
import unicodedata


def plain_words(text):
    text = unicodedata.normalize("NFC", text).lower().replace("'s", "").replace("\u2019s", "")
    return [part for part in re.split(r"[\W_]+", text) if part]


def holds(document, term):
    """Tell whether the words of a term stand next to each other in a document, as lists."""
    wanted = plain_words(term)
    found = plain_words(document)
    if not wanted:
        return False
    return any(found[i : i + len(wanted)] == wanted for i in range(len(found)))


def plain_counts(documents, terms):
    return [sum(holds(document, term) for document in documents) for term in terms]


def plain_pair_counts(documents, rows, columns):
    return [[sum(holds(d, a) and holds(d, b) for d in documents) for b in columns] for a in rows]


def plain_ngd(documents, a, b):
    (x,), (y,) = plain_counts(documents, [a]), plain_counts(documents, [b])
    ((both,),) = plain_pair_counts(documents, [a], [b])
    if x == 0 or y == 0:
        return math.nan
    if both == 0:
        return 1.0
    total = len(documents)
    if max(x, y) >= total:
        total = max(x, y) + 1
    above = max(math.log(x), math.log(y)) - math.log(both)
    return above / (math.log(total) - min(math.log(x), math.log(y)))


def plain_pmi(documents, a, b):
    (x,), (y,) = plain_counts(documents, [a]), plain_counts(documents, [b])
    ((both,),) = plain_pair_counts(documents, [a], [b])
    if x == 0 or y == 0:
        return math.nan
    return math.log((both + 0.5) / (x * y / len(documents) + 0.5))


def plain_cosine_distance(a, b):
    along = sum(x * y for x, y in zip(a, b, strict=True))
    return 1 - along / math.sqrt(sum(x * x for x in a) * sum(y * y for y in b))
