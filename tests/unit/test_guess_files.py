"""Guesses on disk: what is damaged is refused, and so is another release."""

import json

import pytest

from setveil import TransactionTable
from setveil.attack import (
    RA,
    EliminationGuess,
    Intersection,
    Linkage,
    NoiseFilter,
    PublicRecords,
    TableGuess,
    load_guess,
    save_guess,
)
from setveil.core.errors import InputError
from setveil.measure import draw_targets, score
from setveil.release import ItemChannel, publish_perturbed
from setveil.release.set_generalized import publish_sets
from setveil.release.store import load_release, save


def test_a_saved_guess_is_scored_with_its_own_release_only(tmp_path):
    made = []
    for last in ("d", "e"):  # the same generalized item in the same records
        table = TransactionTable.from_rows([["a", "c"], ["b", last]])
        made.append((table, *publish_sets(table, [0, 0, 1, 2])))
    (table, release, key), (other, elsewhere, its_key) = made
    guess = RA().run(release)
    assert score(guess, release=elsewhere, original=other, key=its_key)["recall"]
    save_guess(guess, tmp_path / "guess.json", release=release)
    loaded = load_guess(tmp_path / "guess.json")
    assert score(loaded, release=release, original=table, key=key)["recall"]
    with pytest.raises(InputError, match="about another release"):
        score(loaded, release=elsewhere, original=other, key=its_key)


@pytest.mark.parametrize("name", ["linkage", "intersection", "noise-filter", "public-records"])
def test_so_is_every_other_guess(name, tmp_path):
    rows = [["a", "b"], ["c", "d"], ["a", "d"]] * 4
    table = TransactionTable.from_rows(rows)
    channel = ItemChannel(beta="1/5", domain=4)
    release, key = publish_perturbed(table, channel)
    elsewhere, its_key = publish_perturbed(TransactionTable.from_rows([*rows[1:], ["b"]]), channel)
    targets = draw_targets(table, m=2)
    guess = {
        "linkage": lambda: Linkage(k=2).run(release, targets=targets),
        "intersection": lambda: Intersection(k=2).run(release, targets=targets, second=elsewhere),
        "noise-filter": lambda: NoiseFilter().run(release),
        "public-records": lambda: PublicRecords().run(release, candidates=table),
    }[name]()
    save_guess(guess, tmp_path / "guess.json", release=release)
    loaded = load_guess(tmp_path / "guess.json")
    assert score(loaded, release=release, original=table, key=key)
    with pytest.raises(InputError, match="the guess is about another release"):
        score(loaded, release=elsewhere, original=table, key=its_key)


@pytest.mark.parametrize("form", ["parquet", "jsonl", "csv"])
def test_a_release_is_known_again_in_every_format(form, tmp_path):
    table = TransactionTable.from_rows([["é", "a", "c"], ["b", "a, c"], []])
    release, _ = publish_sets(table, [0, 1, 0, 2, 3])
    save(release, tmp_path / form, method="coat", params={}, promise=None, format=form)
    assert load_release(tmp_path / form).fingerprint() == release.fingerprint()


@pytest.mark.parametrize(
    "change",
    [
        {"scores": [[0.1]]},
        {"eliminated": [[5, 0]]},
        {"eliminated": [[0, 0], [0, 0]], "decided": [1.0, 1.0]},
        {"decided": []},
        {"probabilities": [[2.0, 0.0], [0.0, 0.0]]},
        {"records": "no"},
        {"records": [10**30, 1]},
        {"records": [2**63, 1]},
        {"records": [-1, 1]},
        {"records": [[0], [1]]},
        {"records": [0.0, 1.0]},
        {"records": ["0", "1"]},
        {"group": "0"},
        {"group": True},
        {"members": [["a"], ["b"]]},
        {"members": "ab"},
        {"scores": [["0.1", "0.2"], ["0.3", "0.4"]]},
        {"scores": [[10**400, 0.2], [0.3, 0.4]]},
        {"eliminated": [[0.5, 0.5]]},
        {"eliminated": [0, 0]},
        {"decided": ["0.5"]},
        {"threshold": "x"},
        {"threshold": 10**400},
        {"unexpected": 1},
    ],
)
def test_damaged_tables_are_refused(change, kept):
    kept(lambda content: content["tables"][0].update(change))


@pytest.mark.parametrize(
    "change", [{"attack": 5}, {"notes": "abc"}, {"notes": [1]}, {"about": 7}, {"control": 1}]
)
def test_damaged_guesses_are_refused(change, kept):
    kept(lambda content: content.update(change))


@pytest.mark.parametrize("kind", [[], {}, None, 1])
def test_kinds_that_are_none(kind, kept):
    kept(lambda content: content.update(kind=kind), says="not known here")


@pytest.fixture
def kept(tmp_path):
    """Damage a guess on disk, and make sure that it is refused."""
    table = TableGuess(
        group=0,
        members=("a", "b"),
        records=[0, 1],
        scores=[[0.1, 0.2], [0.3, 0.4]],
        eliminated=[[0, 0]],
        decided=[0.5],
    )
    path = tmp_path / "guess.json"
    save_guess(EliminationGuess(attack="mda", tables=(table,)), path)
    content = json.loads(path.read_text())

    def check(damage, says="damaged"):
        damage(content)
        path.write_text(json.dumps(content))
        with pytest.raises(InputError, match=says):
            load_guess(path)

    return check
