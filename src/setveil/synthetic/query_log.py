"""An invented query log in the columns of the one AOL published: no line of it is a person's."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import product
from typing import TYPE_CHECKING

import numpy as np

from setveil.core.files import output_file
from setveil.synthetic.dataset import check_size_and_seed

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator

    import numpy.typing as npt

TOPICS = {
    "sport": "football tennis golf score league coach stadium ticket player marathon cycling swim",
    "health": "diabetes asthma fever allergy vitamin clinic headache vaccine diet cancer flu",
    "travel": "hotel flight beach island visa luggage cruise museum train passport airport tour",
    "cooking": "recipe chicken pasta soup bread cake cheese salad oven garlic butter lemon",
    "money": "loan mortgage tax credit bank insurance pension stock salary budget rent debt",
    "music": "guitar lyrics concert album piano singer chords drum festival band opera radio",
    "garden": "rose tomato fence lawn soil tree compost hedge tulip seed mower greenhouse",
    "cars": "engine tire brake dealer diesel truck battery motor garage gearbox clutch sedan",
    "school": "algebra essay college exam teacher grammar history lesson poem library degree",
    "pets": "puppy kitten aquarium leash vet parrot hamster breed kennel horse saddle rabbit",
}
QUALITIES = ("best", "cheap", "free", "new", "local", "used", "online", "big")
SYLLABLES = (("bra", "cor", "del", "fen"), ("lo", "mi"), ("dan", "vex", "tor", "nia"))
LENGTHS = (0.35, 0.8)
"""Chances of a query of one word, and of one or two."""
START = datetime(2006, 3, 1)  # noqa: DTZ001  (the log it looks like has no zone either)
HEADER = "AnonID\tQuery\tQueryTime\tItemRank\tClickURL\n"


def write_query_log(path: str | os.PathLike[str], *, users: int = 1000, seed: int = 0) -> int:
    r"""Write an invented log and return its number of queries.

    Users have up to three interests and ask in sessions; words are rare or usual within their
    topic, and some follow each other often. All that is fixed; the seed draws who asks what and
    when, so that two seeds give two logs of the same world.

    Parameters
    ----------
    path
        Where to; the file appears whole or not at all.
    users
        Number of users.
    seed
        Draws the queries.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder, "log.txt")
    ...     count = write_query_log(file, users=50, seed=1)
    ...     lines = file.read_text(encoding="utf-8").splitlines()
    >>> lines[0].split("\t"), len(lines) - 1 == count
    (['AnonID', 'Query', 'QueryTime', 'ItemRank', 'ClickURL'], True)
    """
    check_size_and_seed(users, seed)
    count = 0
    with output_file(path) as out:
        out.write(HEADER.encode())
        for line in _lines(users, np.random.default_rng(seed)):
            out.write(line.encode())
            count += 1
    return count


def _lines(users: int, rng: np.random.Generator) -> Iterator[str]:
    topics = [_Topic.of(number) for number in range(len(TOPICS))]
    popular = _cumulate(np.arange(1.0, len(topics) + 1.0) ** -0.7)
    for user in (np.cumsum(rng.integers(1, 40, users)) + 100).tolist():
        drawn = np.searchsorted(popular, rng.random(3)).tolist()
        interests = [topics[number] for number in dict.fromkeys(drawn)]
        clock = START + timedelta(minutes=int(rng.integers(0, 60 * 24 * 14)))
        for _ in range(int(rng.geometric(0.25))):
            clock += timedelta(minutes=int(rng.exponential(60 * 48)))
            topic = interests[min(int(rng.geometric(0.6)), len(interests)) - 1]
            for _ in range(int(rng.geometric(0.4))):
                clock += timedelta(seconds=int(rng.exponential(90)))
                query = topic.query(rng)
                clicked = f"\t{rng.integers(1, 11)}\thttp://www.{query.split()[-1]}.example"
                click = clicked if rng.random() < 0.5 else "\t\t"
                yield f"{user}\t{query}\t{clock:%Y-%m-%d %H:%M:%S}{click}\n"


@dataclass(frozen=True)
class _Topic:
    """Words with how often each begins a query, and how often each follows another."""

    words: tuple[str, ...]
    first: npt.NDArray[np.float64]
    next: npt.NDArray[np.float64]

    @classmethod
    def of(cls, number: int) -> _Topic:
        """Return the topic of this number: always the same."""
        words = _words(number)
        rng = np.random.default_rng(number)
        usual = np.arange(1, len(words) + 1) ** -0.9 * rng.lognormal(0, 0.5, len(words))
        together = usual * rng.lognormal(0, 2, (len(words), len(words)))
        return cls(tuple(words), _cumulate(usual), _cumulate(together))

    def query(self, rng: np.random.Generator) -> str:
        """Return one to three words, now and then with a quality before them."""
        chances = rng.random(5)
        place = int(np.searchsorted(self.first, chances[0]))
        chosen = [self.words[place]]
        for chance in chances[1 : 1 + int(np.searchsorted(LENGTHS, chances[3]))].tolist():
            place = int(np.searchsorted(self.next[place], chance))
            chosen.append(self.words[place])
        if chances[4] < 0.2:
            chosen.insert(0, QUALITIES[int(chances[4] * 5 * len(QUALITIES))])
        return " ".join(dict.fromkeys(chosen))


def _cumulate(weights: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return the chances to draw a place or one before it; the last is a bit above 1."""
    sums = np.cumsum(weights, axis=-1)
    return np.asarray(sums / sums[..., -1:] * (1 + 1e-12))


def _words(number: int) -> list[str]:
    """Return the words of a topic, the most usual first, then invented names that nobody has."""
    usual = list(TOPICS.values())[number].split()
    spelled = ["".join(parts) for parts in product(*SYLLABLES)]
    return [*usual, *("bcdfghjklm"[number] + word for word in spelled)]
