"""Query logs: how fast one is read, and how many hashed items the frequency attack reads."""

from __future__ import annotations

import os
import re
import tempfile
import time
from pathlib import Path

import numpy as np

from benchmarks.row import Row
from setveil import TransactionTable, read
from setveil.anonymize import SecretSharing, TokenHashing
from setveil.attack import TokenFrequency
from setveil.measure import score
from setveil.synthetic import write_query_log
from setveil.text.documents import Documents
from setveil.text.query_log import read_queries, transactions


def reading(*, small: bool) -> list[Row]:
    """Return lines per second of an invented log in the AOL layout, to records per user."""
    users = 100 if small else 10_000
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "log.txt")
        lines = write_query_log(file, users=users, seed=1)
        # The users' queries again and again, as other users: the invention is slower to write.
        content = file.read_text(encoding="utf-8").splitlines(keepends=True)
        with file.open("a", encoding="utf-8") as out:
            for copy in range(9):
                out.writelines(f"{copy}{line}" for line in content[1:])
        start = time.perf_counter()
        _, report = transactions(read_queries(file), items="queries")
        taken = time.perf_counter() - start
    name = f"{report.lines:,} lines to {report.records:,} records of whole queries"
    assert report.lines == 10 * lines
    return [Row(name=name, value=report.lines / taken, unit="lines/s", least=200_000)]


def _halves(table: TransactionTable) -> tuple[TransactionTable, TransactionTable]:
    order = np.random.default_rng(1).permutation(len(table))
    half = len(table) // 2
    return table.take(order[:half]), table.take(order[half:])


def _sources(*, small: bool) -> dict[str, TransactionTable]:
    folder = os.environ.get("SETVEIL_DATA")
    if small or not folder:
        with tempfile.TemporaryDirectory() as place:
            write_query_log(Path(place, "log.txt"), users=3000, seed=1)
            log = read_queries(Path(place, "log.txt"))
            return {"invented queries": transactions(log, per="query", items="tokens")[0]}
    texts = (document.text for document in Documents(path=Path(folder, "medquad.jsonl.gz")))
    sentences = (each.lower() for text in texts for each in re.split(r"[.!?]\s", text))
    words = TransactionTable.from_rows(re.findall(r"[a-z]{2,}", each) for each in sentences)
    return {
        "baskets of Groceries": read(Path(folder, "groceries.basket.csv")),
        "invoices of Online Retail": read(Path(folder, "online_retail.dat.gz")),
        "sentences of MedQuAD": words,
    }


def inverting(*, small: bool) -> list[Row]:
    """Return how many hashed items are read when half of the records can be read."""
    rows = []
    for name, table in _sources(small=small).items():
        secret, known = _halves(table)
        made = TokenHashing().anonymize(secret, rng=np.random.default_rng(1))
        start = time.perf_counter()
        guess = TokenFrequency(most=100 if small else 500).run(made.release, reference=known)
        taken = time.perf_counter() - start
        rates = score(guess, release=made.release, original=secret, key=made.key)
        for what, rate in (
            ("read", "accuracy"),
            ("by frequency rank alone", "accuracy_frequency"),
            ("by an unrelated reference", "accuracy_control"),
        ):
            found = rates[rate]
            assert found is not None
            text = f"{len(guess.names)} tags in {len(secret):,} {name}: {what}"
            rows.append(Row(name=text, value=100 * found.value, unit="%"))
        rows.append(Row(name=f"the attack on {name}", value=taken, unit="s"))
    return rows


def sharing(*, small: bool) -> list[Row]:
    """Return shares made per second."""
    table = next(iter(_sources(small=small).values()))
    start = time.perf_counter()
    SecretSharing(k=5).anonymize(table)
    taken = time.perf_counter() - start
    return [Row(name="secret sharing, k = 5", value=len(table.items) / taken, unit="shares/s")]


def run(*, small: bool) -> list[Row]:
    """Return all rows."""
    return [row for measure in (reading, inverting, sharing) for row in measure(small=small)]
