"""Dictionary forms beside those of WordNet, which the lexicon behind ours has never seen."""

import gzip
import json
import tarfile
from collections import Counter

import pytest

from setveil.text.inflection import lemma, singular
from setveil.text.tagging import tagged_sentences

NOUN_RULES = [("s", ""), ("ses", "s"), ("ves", "f"), ("xes", "x"), ("zes", "z"), ("ches", "ch")]
NOUN_RULES += [("shes", "sh"), ("men", "man"), ("ies", "y")]
VERB_RULES = [("s", ""), ("ies", "y"), ("es", "e"), ("es", ""), ("ed", "e"), ("ed", "")]
VERB_RULES += [("ing", "e"), ("ing", "")]


@pytest.mark.parametrize(
    ("plural", "expected"),
    [
        ("studies", "study"),
        ("movies", "movie"),
        ("diagnoses", "diagnosis"),
        ("bases", "base"),
        ("abscesses", "abscess"),
        ("viruses", "virus"),
        ("lenses", "lens"),
        ("boxes", "box"),
        ("headaches", "headache"),
        ("potatoes", "potato"),
        ("leaves", "leaf"),
        ("critics", "critic"),
        ("fishermen", "fisherman"),
        ("x-rays", "x-ray"),
        ("mothers-in-law", "mother-in-law"),
        *((word, word) for word in ("diabetes", "arthritis", "virus", "genetics", "gas", "series")),
        *((word, word) for word in ("specimen", "illness", "pancreas", "news", "fever", "b-s")),
    ],
)
def test_singular(plural, expected):
    assert singular(plural) == expected


@pytest.mark.parametrize(
    ("word", "tag", "expected"),
    [
        ("hoping", "VBG", "hope"),
        ("hopping", "VBG", "hop"),
        ("visiting", "VBG", "visit"),
        ("breathing", "VBG", "breathe"),
        ("using", "VBG", "use"),
        ("added", "VBD", "add"),
        ("carried", "VBD", "carry"),
        ("obtained", "VBN", "obtain"),
        ("overthrown", "VBN", "overthrow"),
        ("ranging", "VBG", "range"),
        ("catheterized", "VBN", "catheterize"),
        ("goes", "VBZ", "go"),
        ("diagnoses", "VBZ", "diagnose"),
        ("found", "VBD", "find"),
        ("found", "VB", "found"),
        ("better", "JJR", "good"),
        ("greatest", "JJS", "great"),
        ("proper", "JJ", "proper"),
        ("red", "VBD", "red"),
    ],
)
def test_lemma(word, tag, expected):
    assert lemma(word, tag) == expected


@pytest.fixture(scope="module")
def wordnet(data_dir):
    """Return WordNet's lemmas and irregular forms of nouns and verbs."""
    found = {}
    with tarfile.open(data_dir / "wordnet-3.0-dict.tar.gz") as archive:
        for member in archive.getmembers():
            name = member.name.rpartition("/")[2]
            if name in {"index.noun", "index.verb", "noun.exc", "verb.exc"}:
                found[name] = archive.extractfile(member).read().decode().splitlines()
    lemmas = {part: {line.split()[0] for line in found[f"index.{part}"]} for part in PARTS}
    irregular = {
        part: {line.split()[0]: line.split()[1:] for line in found[f"{part}.exc"]} for part in PARTS
    }
    return lemmas, irregular


PARTS = {"noun": ({"NNS"}, NOUN_RULES), "verb": ({"VBZ", "VBD", "VBN", "VBG"}, VERB_RULES)}


@pytest.fixture(scope="module")
def tagged(data_dir):
    """Return how often each tagged word occurs in every tenth paragraph and document."""
    counts = Counter()
    for name in ("wikipedia_squad2_dev_35topics", "medquad"):
        with gzip.open(data_dir / f"{name}.jsonl.gz", "rt", encoding="utf-8") as lines:
            for number, line in enumerate(lines):
                if number % (3 if name != "medquad" else 20) == 0:
                    for sentence in tagged_sentences(json.loads(line)["text"]):
                        counts.update((word.lower(), tag) for word, tag in sentence)
    return counts


@pytest.mark.parametrize("part", PARTS)
def test_agrees_with_wordnet_on_real_text(part, wordnet, tagged):
    lemmas, irregular = (given[part] for given in wordnet)
    tags, rules = PARTS[part]
    agreed = Counter()
    for word, tag in tagged:
        if tag not in tags or not word.isalpha() or word == "people":  # ours is person, by choice
            continue
        allowed = {*irregular.get(word, []), *({word} & lemmas)}
        allowed |= {
            word[: -len(end)] + new
            for end, new in rules
            if word.endswith(end) and word[: -len(end)] + new in lemmas
        }
        if allowed:
            agreed[lemma(word, tag) in allowed] += 1
    assert agreed.total() > 1000
    assert agreed[True] / agreed.total() > 0.985
