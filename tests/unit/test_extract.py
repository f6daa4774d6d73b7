"""Extraction: documents to records, here or in processes."""

import random
import signal
import subprocess
import sys

import pytest

from setveil import TransactionTable
from setveil.core.errors import InputError, ParameterError, SetveilError
from setveil.text import extract as module
from setveil.text.documents import Document, Documents
from setveil.text.extract import METHODS, Extractor, Processes, extract

TEXTS = [
    "A long history of vascular disease.",
    "Fever and a cough.",
    "",
    "The fever, the cough!",
    "12 and 30.",
    "High fever; a long history.",
]


def test_one_record_per_document_with_an_item():
    found = extract(TEXTS, keep_order=True)
    assert found.table.to_rows() == [
        ["long history", "vascular disease"],
        ["cough", "fever"],
        ["cough", "fever"],
        ["high fever", "long history"],
    ]
    assert found.names == ("1", "2", "4", "6")
    report = found.report
    assert (report.met.documents, report.met.empty, report.without_items) == (6, 1, 1)
    assert (report.records, report.items, report.occurrences) == (4, 5, 8)
    assert (report.length_mean, report.ttr) == (2, 5 / 8)
    assert report.words == sum(len(text.split()) for text in TEXTS)
    assert "1 document is empty." in report.sentences()


def test_the_order_of_the_documents_leaves_no_trace():
    first = extract(TEXTS)
    shuffled = list(TEXTS)
    for seed in range(5):
        random.Random(seed).shuffle(shuffled)
        other = extract([Document(name=text, text=text) for text in shuffled])
        assert other.table.to_rows() == first.table.to_rows()
        assert other.table.vocabulary == first.table.vocabulary
        for name, row in zip(other.names, other.table.to_rows(), strict=True):
            assert sorted(METHODS["noun-phrases"](name)) == row


@pytest.mark.parametrize("method", METHODS)
def test_processes_give_the_same_as_one(monkeypatch, method):
    monkeypatch.setattr(module, "BATCH", 100)
    monkeypatch.setattr(module, "WORTH_IT", 200)
    texts = [f"{text} word{number}" for number, text in enumerate(TEXTS * 5)]
    done = []
    alone = extract(texts, method=method, workers=1)
    apart = extract(texts, method=method, workers=2, progress=lambda *args: done.append(args))
    assert apart.table.to_rows() == alone.table.to_rows()
    assert apart.names == alone.names
    assert apart.report == alone.report
    assert done[-1] == ("extracting", len(texts), 0)
    assert [count for _, count, _ in done] == sorted(count for _, count, _ in done)


def test_few_documents_start_no_process(monkeypatch):
    monkeypatch.setattr(module, "Processes", None)
    assert len(extract(TEXTS, workers=8).table) == 4


def test_an_error_while_reading_reaches_the_caller(monkeypatch, tmp_path):
    monkeypatch.setattr(module, "BATCH", 10)
    monkeypatch.setattr(module, "WORTH_IT", 20)
    path = tmp_path / "a.jsonl"
    path.write_text('{"text": "A long history."}\n' * 20 + "broken\n")
    with pytest.raises(InputError, match="line 21"):
        extract(Documents(path=path), workers=2)
    found = extract(Documents(path=path, on_error="skip"), workers=2)
    assert (found.report.records, found.report.skipped_count) == (20, 1)
    assert "1 malformed line skipped." in found.report.sentences()


def test_a_process_that_dies_is_an_error():
    with Processes(Extractor(), 1) as processes:
        processes._all[0].kill()
        processes._all[0].wait()
        with pytest.raises(SetveilError, match="ended before its work was done"):
            list(processes.each([["A fever."]]))


def test_what_a_process_lacks_is_said_before_the_work():
    with pytest.raises(ParameterError), Processes(Extractor(tagger="no_such_model"), 2):
        pass


def test_processes_end_when_their_parent_is_killed(tmp_path):
    script = tmp_path / "parent.py"
    script.write_text(
        "import time\n"
        "from setveil.text.extract import Processes\n"
        "from setveil.text.extract import Extractor\n"
        "pool = Processes(Extractor(), 1).__enter__()\n"  # without a guard for the main module
        "print(pool._all[0].pid, flush=True)\n"
        "time.sleep(60)\n"
    )
    with subprocess.Popen([sys.executable, script], stdout=subprocess.PIPE, text=True) as parent:
        child = int(parent.stdout.readline())
        parent.send_signal(signal.SIGKILL)
    for _ in range(100):
        if subprocess.run(["ps", "-p", str(child)], capture_output=True, check=False).returncode:
            return
        subprocess.run(["sleep", "0.1"], check=True)
    pytest.fail("the process outlived its parent")


@pytest.mark.parametrize("options", [{"method": "verbs"}, {"workers": 0}, {"stop_words": ["a b"]}])
def test_bad_parameters(options):
    with pytest.raises(ParameterError):
        extract(TEXTS, **options)


@pytest.mark.parametrize("texts", [[], ["", "12"]])
def test_nothing_to_extract_is_an_error(texts):
    with pytest.raises(InputError, match="gives an item"):
        extract(texts)


def test_a_document_of_ten_megabytes(tmp_path):
    path = tmp_path / "long.txt"
    sentence = "The vascular disease of the patient has a long history.\n"
    # Two million words take ten seconds: most of them here are one that is no word.
    path.write_text(sentence * 2000 + "x" * 9_900_000 + "\n" + sentence)
    assert path.stat().st_size > 10_000_000
    found = extract(Documents(path=path))
    assert found.table.to_rows() == [["long history", "patient", "vascular disease"]]


def test_wikipedia(data_dir):
    documents = Documents(path=data_dir / "wikipedia_squad2_dev_35topics.jsonl.gz")
    found = extract(documents, method="nouns")
    assert found.report.records == len(set(found.names)) == 1204
    assert isinstance(found.table, TransactionTable)
    assert 20 < found.report.length_mean < 40
    assert "united states" not in found.table.vocabulary
    assert {"disease", "war", "city"} <= set(found.table.vocabulary.names)
