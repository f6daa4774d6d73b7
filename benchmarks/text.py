"""Extraction: words per second, MedQuAD in whole, and how the time grows with the texts."""

from __future__ import annotations

import json
import os
import resource
import time
from itertools import cycle, islice
from pathlib import Path

from benchmarks.row import Row
from setveil.text.documents import Document, Documents
from setveil.text.extract import METHODS, Extractor, cores, extract
from setveil.text.tagging import PatternTagger

MEDQUAD = "medquad.jsonl.gz"
WIKIPEDIA = "wikipedia_squad2_dev_35topics.jsonl.gz"
LIMIT = 120  # seconds on two cores


def _made_up(count: int) -> list[Document]:
    """Return documents for machines without the real ones."""
    text = "The patient has a long history of vascular diseases, and recently a high fever. " * 20
    return [Document(name=str(n), text=text) for n in range(count)]


def _documents(name: str, count: int) -> list[Document]:
    """Return the first documents of a file, or made-up ones."""
    folder = os.environ.get("SETVEIL_DATA")
    if not folder:
        return _made_up(count)
    return list(islice(Documents(path=Path(folder, name)), count))


def _cpu() -> float:
    """Return the CPU seconds of this process and of those it waited for."""
    uses = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(use.ru_utime + use.ru_stime for use in uses)


def speed(*, small: bool) -> list[Row]:
    """Return words and tokens per CPU second of one core."""
    documents = _documents(MEDQUAD, 40 if small else 400)
    words = sum(len(document.text.split()) for document in documents)
    tagger = PatternTagger()
    list(tagger.sentences("warm up"))
    start = time.process_time()
    tokens = sum(len(each) for document in documents for each in tagger.sentences(document.text))
    taken = time.process_time() - start
    rows = [Row(name="Tagging alone, one core", value=tokens / taken, unit="tokens/s")]
    for method in METHODS:
        extractor = Extractor(method=method)
        start = time.process_time()
        for document in documents:
            extractor(document.text)
        taken = time.process_time() - start
        name = f"Extraction of {method}, one core"
        rows.append(Row(name=name, value=words / taken, unit="words/s"))
    return rows


def whole(*, small: bool) -> list[Row]:
    """Return how long all of MedQuAD takes, from the compressed file to the table."""
    folder = os.environ.get("SETVEIL_DATA")
    if small or not folder:
        return []
    start, before = time.perf_counter(), _cpu()
    found = extract(Documents(path=Path(folder, MEDQUAD)))
    taken, used = time.perf_counter() - start, _cpu() - before
    what = f"{found.report.records:,} MedQuAD documents, {found.report.words:,} words"
    return [
        Row(name=f"{what}, {cores()} processes", value=taken, unit="s", most=LIMIT),
        Row(name="the same, CPU time of all processes", value=used, unit="s", most=2 * LIMIT),
    ]


def growth(*, small: bool) -> list[Row]:
    """Return the CPU time per word of four times the texts over that of the texts."""
    size = 100 if small else 600
    documents = _documents(WIKIPEDIA, size)
    extract(documents[:5], workers=1)

    def per_word(times: int) -> float:
        many = list(islice(cycle(documents), times * len(documents)))
        start = time.process_time()
        found = extract(many, workers=1)
        return (time.process_time() - start) / found.report.words

    once = min(per_word(1) for _ in range(3))
    name = f"CPU time per word, {4 * len(documents):,} documents over {len(documents):,}"
    return [Row(name=name, value=per_word(4) / once, unit="", most=1.3)]


def one_long_document(*, small: bool) -> list[Row]:
    """Return the CPU time per character of one long document over that of its parts."""
    parts = _documents(MEDQUAD, 20 if small else 300)
    joined = Document(name="all", text="\n\n".join(document.text for document in parts))
    seconds = []
    for documents in (parts, [joined]):
        start = time.process_time()
        extract(documents, workers=1)
        seconds.append(time.process_time() - start)
    name = f"one document of {len(joined.text) / 1e6:.1f} MB over the {len(parts)} it is made of"
    return [Row(name=name, value=seconds[1] / seconds[0], unit="", most=1.5)]


def run(*, small: bool) -> list[Row]:
    """Return all rows."""
    measures = (speed, whole, growth, one_long_document)
    return [row for measure in measures for row in measure(small=small)]


def figures(folder: Path) -> None:
    """Print records, items, mean length and ttr of both texts: the table of docs/text.md."""
    for file in (WIKIPEDIA, MEDQUAD):
        for method in METHODS:
            report = extract(Documents(path=folder / file), method=method).report
            print(json.dumps({"texts": file, **report.as_dict()}), flush=True)


if __name__ == "__main__":
    figures(Path(os.environ["SETVEIL_DATA"]))
