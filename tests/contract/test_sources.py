"""What every registered source of relatedness owes; a new one is tested at once."""

import json

import numpy as np
import pytest
from tests.contract.releases import TABLE
from tests.unit.test_relatedness_web import Counter, running

from setveil.core import registry
from setveil.core.errors import SetveilError
from setveil.relatedness import Relatedness, build_index, parse_relatedness
from setveil.release import publish_suppressed

NOTES = [
    f"{first} {second} {other}"
    for first, second in (("flu", "cough"), ("gout", "toe"), ("rash", "skin"), ("cough", "cold"))
    for other in ("monday", "tuesday", "friday", "sunday")
]
TERMS = ["flu", "gout", "cough", "unheard-of"]
ENTRIES = registry.entries("relatedness")
NEEDS_DATA = {"wordnet"}
"""Sources whose data must be on the machine: without it they refuse, and that is looked at."""


@pytest.fixture(scope="module")
def specs(tmp_path_factory):
    """Return for each source that needs a place a text that names one."""
    folder = tmp_path_factory.mktemp("sources")
    build_index(NOTES, folder / "notes.index")
    (folder / "vectors.txt").write_text("flu 1 2\ngout 2 1\ncough 1 1\n")
    with Counter() as server, running(server):
        settings = {"url": server.url, "count": "hits[0].total", "total": 10_000, "rate": 1e6}
        lines = [f"{name} = {json.dumps(value)}\n" for name, value in settings.items()]
        (folder / "web.toml").write_text("".join(lines))
        yield {
            "corpus": f"corpus:{folder}/notes.index",
            "pmi": f"pmi:{folder}/notes.index",
            "trained": f"trained:{folder}/notes.index",
            "glove": f"glove:{folder}/vectors.txt",
            "web": f"web:{folder}/web.toml",
        }


@pytest.fixture(scope="module")
def release():
    return publish_suppressed(TABLE, np.ones(TABLE.n_items, dtype=bool))[0]


def source_of(entry, specs, release):
    try:
        return parse_relatedness(specs.get(entry.name, entry.name), release=release)
    except SetveilError as error:
        if entry.name not in NEEDS_DATA or not error.fix:
            raise
        pytest.skip(f"{entry.name}: {error.what}")


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.name)
def test_distances_are_numbers_where_terms_are_known(entry, specs, release):
    source = source_of(entry, specs, release)
    assert isinstance(source, Relatedness)
    known = source.known(TERMS)
    found = source.distances(TERMS, TERMS)
    assert (found.dtype, found.shape, known.dtype) == (np.float64, (4, 4), np.bool_)
    np.testing.assert_array_equal(np.isnan(found), ~(known[:, None] & known[None, :]))
    np.testing.assert_allclose(found, found.T, atol=1e-9)
    assert source.distances(TERMS[:1], TERMS).shape == (1, 4)
    assert source.distances([], TERMS).shape == (0, 4)


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.name)
def test_the_same_source_says_the_same(entry, specs, release):
    first, second = (source_of(entry, specs, release) for _ in range(2))
    assert first.fingerprint() == second.fingerprint()
    found = first.distances(TERMS, TERMS)
    np.testing.assert_array_equal(found, second.distances(TERMS, TERMS))
    turned = first.distances(TERMS[::-1], TERMS)
    np.testing.assert_allclose(turned[::-1], found, atol=1e-9)


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.name)
def test_a_place_that_is_none_is_refused_clearly(entry, tmp_path):
    with pytest.raises(SetveilError) as refused:
        parse_relatedness(f"{entry.name}:{tmp_path}/nowhere")
    assert refused.value.fix
