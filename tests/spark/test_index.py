"""The index over a distributed corpus is the one that is built here, byte for byte."""

from __future__ import annotations

import gzip
import json
from itertools import chain, combinations

import pytest

from setveil.core.errors import InputError, ParameterError
from setveil.relatedness import build_index
from setveil.spark.corpus import DistributedCorpus, read_documents
from setveil.text.documents import Documents

pytestmark = pytest.mark.spark

TEXTS = [
    "High blood pressure, and blood tests.",
    "<p>A test of Crohn's</p><p>disease</p>",
    "",
    "Café au lait; x-ray of a knee. Blood!",
    'Quoted "twice",\nover two lines: the tests',
    "pressure of work",
]


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    folder = tmp_path_factory.mktemp("corpus")
    texts = folder / "texts"
    (texts / "a").mkdir(parents=True)
    for place, text in enumerate(filter(None, TEXTS)):  # Spark does not see empty files
        name = f"a/{place}.txt" if place % 2 else f"{place} é.txt"
        (texts / name).write_text(text, encoding="utf-8")
    (texts / "b.txt.gz").write_bytes(gzip.compress(b"packed knees"))
    (texts / "photo.png").write_bytes(b"\x89PNG\r\n\0\0")
    (texts / "table.csv").write_text("text\nnot read\n")
    (folder / "lines.jsonl").write_text(
        "\n".join(json.dumps({"id": i, "body": text}) for i, text in enumerate(TEXTS)) + "\n\n"
    )
    quoted = ('"' + text.replace('"', '""') + '"' for text in TEXTS)
    (folder / "table.csv").write_text("id,Text\n" + "".join(f"7,{text}\n" for text in quoted))
    return [str(folder / name) for name in ("texts", "lines.jsonl", "table.csv")]


def test_the_same_file(spark, corpus, tmp_path):
    here = build_index(chain.from_iterable(Documents(path=p) for p in corpus), tmp_path / "here")
    there = DistributedCorpus.from_texts(read_documents(corpus, spark))
    index = there.write_index(tmp_path / "there")
    assert index.total == here.total == 3 * len(TEXTS)
    assert (tmp_path / "there").read_bytes() == (tmp_path / "here").read_bytes()
    there.frame.unpersist()


def test_a_name_from_where_we_are(spark, tmp_path, monkeypatch):
    (tmp_path / "my texts").mkdir()
    (tmp_path / "my texts" / "a.jsonl").write_text('{"text": "cough"}\n')
    monkeypatch.chdir(tmp_path)  # Java stays where it is
    found = DistributedCorpus.from_texts(read_documents(["my texts/a.jsonl"], spark))
    assert found.table().vocabulary.names == ("cough",)


def test_counts_without_an_index(spark, tmp_path):
    texts = [f"{text} tests" if n % 3 else text for n, text in enumerate(TEXTS * 5)]
    frame = spark.start().createDataFrame([(text,) for text in texts] + [(None,)], "text string")
    corpus = DistributedCorpus.from_texts(frame.repartition(3), singulars=False)
    here = build_index([*texts, ""], tmp_path / "here", singulars=False)
    table = corpus.table()
    assert list(table.vocabulary.names) == here.words()
    assert table.supports().tolist() == here.counts(here.words()).tolist()
    names = table.vocabulary.names
    found = {(names[a], names[b]): n for a, b, n in table.pair_counts().collect()}
    expected = here.pair_counts(names, names)
    places = {name: i for i, name in enumerate(names)}
    for one, other in combinations(names, 2):
        assert found.get((one, other), 0) == expected[places[one], places[other]]


def test_what_cannot_be_read(spark, tmp_path):
    lines = tmp_path / "lines.jsonl"
    lines.write_text('{"text": "fever"}\n{"words": 1}\nno JSON\n')
    with pytest.raises(InputError, match="no JSON object with a field 'text'"):
        DistributedCorpus.from_texts(read_documents([str(lines)], spark)).spellings()
    frame = read_documents([str(lines)], spark, on_error="skip")
    assert [row.text for row in frame.collect()] == ["fever"]
    with pytest.raises(ParameterError, match="standard input"):
        read_documents(["-"], spark)
    (tmp_path / "table.csv").write_text("id,words\n1,fever\n")
    with pytest.raises(InputError, match="no column 'text'"):
        read_documents([str(tmp_path / "table.csv")], spark)
    with pytest.raises(InputError, match="no column 'body'"):
        DistributedCorpus.from_texts(frame, "body")
    (tmp_path / "empty.txt").write_text("... !")
    silent = DistributedCorpus.from_texts(read_documents([str(tmp_path / "empty.txt")], spark))
    with pytest.raises(InputError, match="no words"):
        silent.write_index(tmp_path / "index")
