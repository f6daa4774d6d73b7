"""Keys, which are archives of arrays, and indexes of a corpus, which have a format of their own."""

from __future__ import annotations

import json
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
from tests.adversarial.fuzz.campaign import Case, Target
from tests.adversarial.fuzz.mutation import change_archive, change_bytes, change_tree, json_text
from tests.adversarial.fuzz.releases import TABLE, TREE, anonymized

from setveil.attack import Linkage
from setveil.core.errors import SetveilError
from setveil.measure import draw_targets, score
from setveil.relatedness import build_index
from setveil.relatedness.index import ALIGNED, LENGTH, MAGIC, SECTIONS, CorpusIndex, digest_of
from setveil.release import Key
from setveil.release.store import load_key, save_key

if TYPE_CHECKING:
    import random
    from pathlib import Path

KEY = "visits.key"
METHODS = ("partition", "disassociate", "split-personality", "token-hashing", "permutation")
INDEX = "notes.index"
NOTES = ["High blood pressure.", "Blood tests; low pressure.", "A test.", "", "Fever and flu, flu."]


# --- Keys ----------------------------------------------------------------------------------------


def key_seeds(folder: Path) -> list[Case]:
    """Return the keys of some releases, and one with all that a key can hold."""
    keys = [anonymized(method).key for method in METHODS]
    keys.append(Key(records=[1, 0], names=("flu", "é"), removed=((0, "flu"), (1, "gout"))))
    found = []
    for key in keys:
        save_key(key, folder / KEY)
        found.append(Case(files={KEY: (folder / KEY).read_bytes()}))
    return found


def key_change(draw: random.Random, known: list[Case]) -> Case:
    """Return a key with its arrays, its texts or its bytes changed."""
    content = draw.choice(known).files[KEY]
    if draw.random() < 0.35:
        return Case(files={KEY: _other_texts(content, draw)})
    return Case(files={KEY: change_archive(content, draw, [draw.choice(known).files[KEY]])})


def _other_texts(content: bytes, draw: random.Random) -> bytes:
    """Return the key with other names, or other occurrences that were removed."""
    import io

    with np.load(io.BytesIO(content)) as held:
        arrays = {name: held[name] for name in held.files}
    name = draw.choice(("names", "removed"))
    plain: list[Any] = ["flu", "gout"] if name == "names" else [[0, "flu"], [1, "gout"]]
    given = json.loads(arrays[name].tobytes()) if name in arrays else plain
    text = json_text(change_tree(given, draw), draw)
    arrays[name] = np.frombuffer(text, dtype=np.uint8)
    sink = io.BytesIO()
    np.savez(sink, **arrays)
    return sink.getvalue()


@cache
def _link() -> Any:
    targets = draw_targets(TABLE, m=2, sample=4)
    return Linkage(k=2).run(anonymized("coherence").release, targets=targets)


def key_use(folder: Path, _: Case) -> None:
    """Load a key, and hold it beside releases and their original."""
    key = load_key(folder / KEY)
    "".join(key.names).encode()
    for method in METHODS:
        release = anonymized(method).release
        try:
            release.is_consistent_with(TABLE, key, TREE)
        except SetveilError as error:
            str(error).encode()
    try:
        score(_link(), release=anonymized("coherence").release, original=TABLE, key=key)
    except SetveilError as error:
        str(error).encode()


KEYS = Target(name="keys", inputs=120_000, seeds=key_seeds, change=key_change, use=key_use)


# --- Indexes -------------------------------------------------------------------------------------


def index_seeds(folder: Path) -> list[Case]:
    """Return two indexes."""
    found = []
    for notes in (NOTES, NOTES * 9):
        build_index(notes, folder / INDEX, singulars=False)
        found.append(Case(files={INDEX: (folder / INDEX).read_bytes()}))
    return found


def _taken_apart(content: bytes) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the arrays of an index, and its table."""
    end = len(content) - len(MAGIC) - LENGTH.size
    (length,) = LENGTH.unpack(content[end : end + LENGTH.size])
    table = json.loads(content[end - length : end])
    arrays = {}
    for name, (start, count, kind) in table["sections"].items():
        dtype = np.dtype(kind)
        arrays[name] = np.frombuffer(content, dtype, count, start).copy()
    return arrays, table


def _put_together(arrays: dict[str, Any], table: Any, draw: random.Random) -> bytes:
    text = json_text(table, draw)
    content = bytearray(MAGIC)
    for array in arrays.values():
        content += bytes(-len(content) % ALIGNED) + array.tobytes()
    return bytes(content) + text + LENGTH.pack(len(text)) + MAGIC


def _right_table(arrays: dict[str, Any], table: dict[str, Any]) -> dict[str, Any]:
    at, sections = len(MAGIC), {}
    for name, array in arrays.items():
        at += -at % ALIGNED
        sections[name] = [at, len(array), array.dtype.str.replace("|", "<")]
        at += array.nbytes
    digest = digest_of(arrays, singulars=table["singulars"])
    return {**table, "sections": sections, "digest": digest}


NUMBERS = (0, 1, -1, 2, 5, 100, 2**31 - 1, -(2**31), 2**32 - 1, 2**40, 2**62, -(2**63), 2**63 - 1)


def _change_array(arrays: dict[str, Any], draw: random.Random) -> None:
    name = draw.choice(list(SECTIONS))
    array = arrays[name]
    kind = draw.randrange(5)
    if kind <= 1 and len(array):
        number = draw.choice(NUMBERS)
        array[draw.randrange(len(array))] = np.array(number).astype(array.dtype)
    elif kind == 2 and len(array):
        draw.shuffle(shuffled := array.tolist())
        arrays[name] = np.array(shuffled, dtype=array.dtype)
    elif kind == 3:
        arrays[name] = array[: draw.randint(0, len(array))]
    else:
        arrays[name] = np.repeat(array, draw.choice((1, 2, 0)))


def index_change(draw: random.Random, known: list[Case]) -> Case:
    """Return an index with other numbers under a right hash, another table, or other bytes."""
    content = draw.choice(known).files[INDEX]
    kind = draw.random()
    if kind < 0.25:
        return Case(files={INDEX: change_bytes(content, draw, [draw.choice(known).files[INDEX]])})
    arrays, table = _taken_apart(content)
    if kind < 0.75:
        for _ in range(draw.choice((1, 1, 2, 3))):
            _change_array(arrays, draw)
        table = _right_table(arrays, table)
    else:
        table = change_tree(table, draw)
    return Case(files={INDEX: _put_together(arrays, table, draw)})


def index_use(folder: Path, _: Case) -> None:
    """Open an index, and look up words, phrases and pairs."""
    index = CorpusIndex.open(folder / INDEX)
    terms = ["blood", "blood pressure", "low pressure", "flu flu", "Tests", "unheard", "", "\ud800"]
    index.counts(terms)
    index.pair_counts(terms[:4], terms[1:6])
    "".join(index.words()).encode()
    repr(index).encode()
    index.fingerprint().encode()


INDEXES = Target(
    name="indexes", inputs=160_000, seeds=index_seeds, change=index_change, use=index_use
)
