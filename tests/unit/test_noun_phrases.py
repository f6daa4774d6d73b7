"""Noun phrases, nouns and tokens, and the tagging below them."""

import sys
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.reference import noun_phrases as reference

from setveil.core.errors import ParameterError
from setveil.text import tagging
from setveil.text.extract import METHODS, Extractor
from setveil.text.noun_phrases import (
    STOP_WORDS,
    extend_stop_words,
    is_word,
    noun_phrases,
    nouns,
    tokens,
    without_contained,
)
from setveil.text.tagging import PIECE, SpacyTagger, find_tagger, pieces, tagged_sentences, tidied

TAGS = {"N": "NN", "A": "JJ", "L": "NN", ".": "VB"}


class Fixed:
    """A tagger that gives what it was told."""

    def __init__(self, sentences):
        self._sentences = sentences

    def sentences(self, text):
        del text
        yield from self._sentences


@st.composite
def sentences(draw):
    kinds = draw(st.text(alphabet="NAL.", max_size=12))
    words = [
        draw(st.sampled_from("qx" if kind == "L" else ["cell", "gene", "bone", "heart"]))
        for kind in kinds
    ]
    return words, kinds


@given(st.lists(sentences(), max_size=4))
def test_pairs_are_those_of_the_regular_expression(drawn):
    tagged = [
        [(word, TAGS[kind]) for word, kind in zip(words, kinds, strict=True)]
        for words, kinds in drawn
    ]
    expected = [phrase for words, kinds in drawn for phrase in reference.phrases(words, kinds)]
    assert noun_phrases("x", Fixed(tagged)) == reference.without_contained(expected)


items = st.lists(st.sampled_from("abc"), min_size=1, max_size=4).map(" ".join)


@given(st.lists(items, max_size=12))
def test_contained_items_are_dropped(listed):
    assert without_contained(listed) == reference.without_contained(listed)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        ("The patient's body", ["patient", "body"]),
        ("The patient\u2019s body", ["patient", "body"]),
        ("vitamin D and hepatitis B", ["vitamin d", "hepatitis b"]),
        ("defective S cones", ["cone"]),
        ("other symptoms, many symptoms, the same symptom", ["symptom"]),
        ("The disease. The diseases.", ["disease"]),
        ("Signs\n- Fever\n- Cough", ["sign", "fever", "cough"]),
        ("Write to a.b@c.org or https://x.org/y", []),
        ("She may cause an affected child harm.", ["affected child", "harm"]),
        ("the United States", ["united states"]),
        ("COMMON SYMPTOMS", ["common symptom"]),
        ("don't", []),
    ],
)
def test_noun_phrases(text, expected):
    assert noun_phrases(text) == expected


def test_nouns_are_single_and_singular():
    text = "Studies of the vascular diseases of women; 12 studies"
    assert nouns(text) == ["study", "disease", "woman"]


def test_tokens_are_lemmas_without_stop_words_numbers_and_single_characters():
    text = "Studies, studying and studies' results: 12 x 30% of the five larger cells were growing."
    assert tokens(text) == ["study", "result", "large", "cell", "grow"]


def test_stop_words_of_the_user_are_left_out():
    assert noun_phrases("A sick patient", stop_words=extend_stop_words(["Patient"])) == []
    assert Extractor(method="tokens", stop_words=("fever",))("high fever") == ["high"]
    with pytest.raises(ParameterError, match="more than one word"):
        extend_stop_words(["two words"])


@pytest.mark.parametrize("word", ["é", "ß-1", "b12", "o'neil", "u.s.", "at&t"])
def test_words(word):
    assert is_word(word)


@pytest.mark.parametrize("word", ["12", "--", "x@y.z", "caf\ufffd", "www.x.org", "a b", "", "%"])
def test_no_words(word):
    assert not is_word(word)


@given(st.text(max_size=300))
def test_any_text_gives_clean_items(text):
    for method in METHODS.values():
        found = method(text)
        assert len(found) == len(set(found))
        for item in found:
            assert item == item.lower()
            assert all(is_word(word) for word in item.split(" "))
            assert item not in STOP_WORDS


# --- tagging ----------------------------------------------------------------------------------


@given(st.text(alphabet="ab.\n ", max_size=400), st.integers(5, 60))
def test_pieces_join_to_the_text(text, size):
    cut = list(pieces(text, size))
    assert "".join(cut) == text
    assert all(0 < len(piece) <= size for piece in cut)


def test_a_long_text_is_tagged_in_pieces_with_the_same_result():
    sentence = "The vascular disease has a long history. "
    text = sentence * (3 * PIECE // len(sentence))
    assert noun_phrases(text) == noun_phrases(sentence)


@pytest.mark.parametrize("rubbish", ["-" * 200_000, "a" * 200_000, "-=" * 100_000, "'" * 200_000])
def test_what_is_no_word_takes_no_time(rubbish):
    assert noun_phrases(f"A fever {rubbish} and a cough") == ["fever", "cough"]


def test_tidied_keeps_paragraphs():
    assert tidied("a\r\n \r\nb\rc\0d") == "a\n\nb\nc d"


def test_a_missing_package_is_said(monkeypatch):
    monkeypatch.setitem(sys.modules, "textblob", None)
    with pytest.raises(ParameterError, match=r"pip install 'setveil\[text\]'"):
        tagging._textblob.__wrapped__()


def token(text, tag, *, start=False):
    return SimpleNamespace(text=text, tag_=tag, is_sent_start=start, is_space=text.isspace())


def fake_spacy(monkeypatch, pipes=("tagger",)):
    def load(name, exclude):
        assert "ner" in exclude
        if name == "none":
            raise OSError(name)
        words = [token("old", "JJ", start=True), token("dogs", "NNS"), token("\n", "_SP")]
        words += [token("bark", "VBP"), token("Cats", "NNS", start=True)]
        return Pipeline(words)

    class Pipeline:
        pipe_names = pipes

        def __init__(self, words):
            self.words = words

        def __call__(self, text):
            del text
            return self.words

    monkeypatch.setitem(sys.modules, "spacy", SimpleNamespace(load=load))


def test_a_spacy_model_is_used_where_named(monkeypatch):
    fake_spacy(monkeypatch)
    found = list(tagged_sentences("x", SpacyTagger(model="m")))
    assert found == [[("old", "JJ"), ("dogs", "NNS"), ("bark", "VBP")], [("Cats", "NNS")]]
    assert noun_phrases("x", SpacyTagger(model="m")) == ["old dog", "cat"]
    assert find_tagger("m") == SpacyTagger(model="m")


def test_what_is_wrong_with_a_spacy_model_is_said(monkeypatch):
    monkeypatch.setitem(sys.modules, "spacy", None)
    with pytest.raises(ParameterError, match="pip install spacy"):
        list(SpacyTagger(model="m").sentences("x"))
    fake_spacy(monkeypatch)
    with pytest.raises(ParameterError, match="spacy download none"):
        list(SpacyTagger(model="none").sentences("x"))
    fake_spacy(monkeypatch, pipes=())
    with pytest.raises(ParameterError, match="does not tag"):
        list(SpacyTagger(model="m").sentences("x"))
