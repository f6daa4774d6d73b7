"""What else is read: taxonomies, lists of items, word vectors, documents, query logs, tables."""

from __future__ import annotations

import io
import json
from typing import TYPE_CHECKING

import numpy as np
from tests.adversarial.fuzz.campaign import Case, Target
from tests.adversarial.fuzz.mutation import change_archive, change_bytes, change_tree, json_text

from setveil.core.errors import SetveilError
from setveil.guarantee import parse
from setveil.io.embeddings import Vectors
from setveil.io.item_lists import read_items, read_itemsets
from setveil.io.taxonomy_files import read_taxonomy, write_edges
from setveil.tabular.files import read_frame, write_frame
from setveil.text.documents import Documents
from setveil.text.query_log import read_queries, transactions

if TYPE_CHECKING:
    import random
    from collections.abc import Callable
    from pathlib import Path

OBO = (
    b"format-version: 1.2\n\n[Term]\nid: A:1\nname: all\n\n[Term]\nid: A:2\nname: flu\nis_a: A:1"
    b" ! all\n\n[Term]\nid: A:3\nname: old\nis_obsolete: true\n"
)
LOG = (
    b"AnonID\tQuery\tQueryTime\n7\tgood wine\t2006-03-01 21:29:00\n7\taccent marks\t2006-03-01 "
    b"22:04:00\n9\tsudden weight loss\t2006-03-03 19:21:00\n"
)


def _vectors() -> bytes:
    sink = io.BytesIO()
    np.savez(sink, words=np.array(["flu", "gout"]), vectors=np.eye(2, dtype=np.float32))
    return sink.getvalue()


SEEDS: tuple[tuple[str, str, bytes], ...] = (
    ("taxonomy", "edges.csv", b"child,parent\nflu,airways\ncough,airways\nairways,all\ngout,all\n"),
    ("taxonomy", "paths.csv", b"flu;airways;all\ncough;airways;all\ngout;joints;all\n"),
    ("taxonomy", "nodes.tsv", b"id\tname\tparent\n1\tall\t\n2\tflu\t1\n3\tgout\t1|4\n4\tx\t1\n"),
    ("taxonomy", "tree.obo", OBO),
    ("items", "items.txt", "HIV infection\n\ndepression \né\n".encode()),
    ("itemsets", "itemsets.txt", b'HIV + depression\n\ngout\n["C++", "flu"]\n'),
    ("vectors", "glove.txt", b"flu 0.5 1\ncold 0.25 1\nnew york 1 2\n"),
    ("vectors", "vectors.npz", _vectors()),
    ("documents", "notes.jsonl", b'{"id": 1, "text": "A fever."}\n{"text": null, "name": "x"}\n'),
    ("documents", "notes.csv", b'name,text\na,"A fever, high"\nb,cough\n'),
    ("documents", "note.txt", b"<html><p>A fever</p></html>"),
    ("log", "log.txt", LOG),
    ("frame", "people.csv", b"Age;Zip\n35;02138\n;02139\n"),
    ("frame", "people.jsonl", b'{"Age": 35, "Zip": "02138"}\n{"Age": null, "Zip": "02139"}\n'),
)


def seeds(_: Path) -> list[Case]:
    """Return a file of each kind."""
    return [
        Case(files={name: content}, options={"kind": kind, "name": name})
        for kind, name, content in SEEDS
    ]


def change(draw: random.Random, known: list[Case]) -> Case:
    """Return a file with some of its bytes, its JSON or its arrays changed."""
    seed = draw.choice(known)
    name = seed.options["name"]
    content = seed.files[name]
    others = [next(iter(draw.choice(known).files.values()))]
    if name.endswith(".npz"):
        content = change_archive(content, draw, others)
    elif (b"{" in content and draw.random() < 0.5) or (
        name == "itemsets.txt" and draw.random() < 0.5
    ):
        plain = ["C++", "flu"] if name == "itemsets.txt" else json.loads(content.split(b"\n")[0])
        lines = content.split(b"\n")
        lines.insert(draw.randint(0, len(lines)), json_text(change_tree(plain, draw), draw))
        content = b"\n".join(lines)
    else:
        content = change_bytes(content, draw, others)
    return Case(files={name: content}, options=seed.options)


# --- Use -----------------------------------------------------------------------------------------


def _use_taxonomy(path: Path) -> None:
    tree, report = read_taxonomy(path, parents="first")
    " ".join(report.sentences()).encode()
    "".join((*tree.ids, *tree.names)).encode()
    try:
        write_edges(tree, path.with_name("written.csv"))
    except SetveilError as error:
        str(error).encode()


def _use_items(path: Path) -> None:
    "".join(read_items(path)).encode()
    parse(f"rho-uncertainty:rho=0.5,sensitive=@{path}")


def _use_itemsets(path: Path) -> None:
    "".join(item for itemset in read_itemsets(path) for item in itemset).encode()


def _use_vectors(path: Path) -> None:
    vectors = Vectors.read(path)
    vectors.of(["flu", "new york", "unheard-of", ""])
    Vectors.read(path, terms=["flu"])
    "".join(vectors.words).encode()


def _use_documents(path: Path) -> None:
    for each in Documents(path=path, on_error="skip"):
        f"{each.name}{each.text}".encode()
    list(Documents(path=path))


def _use_log(path: Path) -> None:
    log = read_queries(path)
    for per in ("user", "query"):
        table, report = transactions(log, per=per, items="queries", workers=1)
        "".join(table.vocabulary.names).encode()
        " ".join(report.sentences()).encode()


def _use_frame(path: Path) -> None:
    write_frame(read_frame(path), path.with_name("written.csv"))


USES: dict[str, Callable[[Path], None]] = {
    "taxonomy": _use_taxonomy,
    "items": _use_items,
    "itemsets": _use_itemsets,
    "vectors": _use_vectors,
    "documents": _use_documents,
    "log": _use_log,
    "frame": _use_frame,
}


def use(folder: Path, case: Case) -> None:
    """Read a file as what it is."""
    USES[case.options["kind"]](folder / case.options["name"])


LISTS = Target(name="lists", inputs=170_000, seeds=seeds, change=change, use=use)
