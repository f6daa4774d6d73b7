"""Guesses: every kind of them with any value changed, then scored."""

from __future__ import annotations

import json
from functools import cache
from typing import TYPE_CHECKING, Any

from tests.adversarial.fuzz.campaign import Case, Target
from tests.adversarial.fuzz.mutation import change_bytes, change_tree, json_text
from tests.adversarial.fuzz.releases import TABLE, anonymized

from setveil.attack import (
    RA,
    Inference,
    Intersection,
    Linkage,
    NoiseFilter,
    PublicRecords,
    TokenFrequency,
    load_guess,
)
from setveil.attack.guess import KINDS
from setveil.attack.reassociation.prior import Prior
from setveil.core.registry import entries
from setveil.measure import draw_questions, draw_targets, score
from setveil.measure.summary import flat

if TYPE_CHECKING:
    import random
    from pathlib import Path

FILE = "guess.json"
RELEASE_OF = {
    "elimination": "coat",
    "reassociation": "disassociate",
    "linkage": "coherence",
    "inference": "coherence",
    "intersection": "suppress-control",
    "noise": "select-a-size",
    "public-records": "select-a-size",
    "tokens": "token-hashing",
}


@cache
def _guesses() -> list[Any]:
    release = {kind: anonymized(method).release for kind, method in RELEASE_OF.items()}
    return [
        RA().run(release["elimination"]),
        Prior().run(release["reassociation"]),
        Linkage(k=2).run(release["linkage"], targets=draw_targets(TABLE, m=2, sample=4)),
        Inference().run(
            release["inference"],
            targets=draw_questions(TABLE, sensitive=["hiv"], m=2, sample=4),
        ),
        Intersection(k=2).run(
            release["intersection"],
            targets=draw_targets(TABLE, m=2, sample=4),
            second=release["linkage"],
        ),
        NoiseFilter().run(release["noise"]),
        PublicRecords().run(release["public-records"], candidates=TABLE),
        TokenFrequency().run(release["tokens"], reference=TABLE),
    ]


def seeds(_: Path) -> list[Case]:
    """Return a guess of each kind."""
    entries("attack")  # lists all kinds of guesses
    made = _guesses()
    assert {guess.kind for guess in made} == set(KINDS) == set(RELEASE_OF)
    contents = [
        {"setveil": "guess", "version": 2, "kind": guess.kind, **guess.to_json()} for guess in made
    ]
    return [Case(files={FILE: json.dumps(content).encode()}) for content in contents]


def change(draw: random.Random, known: list[Case]) -> Case:
    """Return a guess with some values changed."""
    text = draw.choice(known).files[FILE]
    if draw.random() < 0.9:
        content = json.loads(text)
        inside = {name: value for name, value in content.items() if name not in {"setveil", "kind"}}
        changed = change_tree(inside if draw.random() < 0.95 else content, draw)
        if isinstance(changed, dict):
            changed = {**{name: content[name] for name in ("setveil", "kind")}, **changed}
        text = json_text(changed, draw)
    else:
        text = change_bytes(text, draw, [draw.choice(known).files[FILE]])
    return Case(files={FILE: text})


def use(folder: Path, _: Case) -> None:
    """Load a guess, and score it with the release that such guesses are about."""
    guess = load_guess(folder / FILE)
    json.dumps(guess.to_json(), allow_nan=False).encode()
    made = anonymized(RELEASE_OF[guess.kind])
    truth = {"release": made.release, "original": TABLE, "key": made.key}
    json.dumps(flat(score(guess, **truth)), allow_nan=False)
    json.dumps(guess.examples(**truth), allow_nan=False).encode()


GUESSES = Target(name="guesses", inputs=130_000, seeds=seeds, change=change, use=use)
