"""``setveil taxonomy build``: trees from WordNet and from word vectors."""

import json

import numpy as np
import pytest

from setveil import Taxonomy

WORDNET = {
    "data.noun": """\
00000100 03 n 01 entity 0 000 | x
00000200 03 n 01 symptom 0 001 @ 00000100 n 0000 | x
00000300 03 n 01 cough 0 001 @ 00000200 n 0000 | x
00000400 03 n 02 fever 0 pyrexia 0 001 @ 00000200 n 0000 | x
00000500 03 n 01 illness 0 001 @ 00000100 n 0000 | x
00000600 03 n 02 influenza 0 flu 0 001 @ 00000500 n 0000 | x
00000700 03 n 01 cold 0 001 @ 00000500 n 0000 | x
""",
    "index.noun": "".join(
        f"{lemma} n 1 1 @ 1 1 {offset:08}\n"
        for lemma, offset in [
            ("entity", 100), ("symptom", 200), ("cough", 300), ("fever", 400), ("illness", 500),
            ("influenza", 600), ("flu", 600), ("cold", 700),
        ]
    ),
    "noun.exc": "",
}  # fmt: skip
ITEMS = ["asthma", "cold", "cough", "fever", "flu"]


@pytest.fixture
def home(clinic, monkeypatch):
    """Give the clinic a WordNet, vectors, and a cache of its own."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(clinic.folder / "cache"))
    place = clinic.folder / "dict"
    place.mkdir()
    for name, text in WORDNET.items():
        (place / name).write_text(text)
    rows = [[1, 0.2], [1, 0], [0, 1], [0.1, 1], [1, 0.1]]
    np.savez(clinic.folder / "vectors.npz", words=np.array(ITEMS), vectors=np.array(rows))
    monkeypatch.chdir(clinic.folder)
    return clinic


def build(clinic, *options):
    return clinic.run("taxonomy", "build", clinic.data, "-o", "new.csv", *options)


def test_from_wordnet(home):
    refused = build(home, "--from", "wordnet", "--wordnet", "dict")
    assert refused.exit_code == 2
    said = (
        "1 of 5 items are no nouns of WordNet (2 of 16 occurrences): 'asthma'. To fix: put phrases"
    )
    assert said in refused.stderr
    assert "attach-to-root" not in refused.stderr
    options = ["--from", "wordnet", "--wordnet", "dict", "--missing", "attach-to-root"]
    result = build(home, *options, "--json")
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout)["leaves"] == 5
    assert "5 items, found in WordNet: 4." in result.stderr
    tree = Taxonomy.read("new.csv")
    assert tree.names == (
        "entity", "asthma", "illness", "cold", "flu", "symptom", "cough", "fever",
    )  # fmt: skip
    home.tree = home.folder / "new.csv"
    assert home.anonymize().exit_code == 0
    assert home.run("verify", home.release).exit_code == 0


def test_heads(home):
    home.data.write_text('["dry cough"]\n["night fever"]\n')
    options = ["--from", "wordnet", "--wordnet", "dict"]
    refused = build(home, *options)
    assert refused.exit_code == 2
    assert "--heads" in refused.stderr
    result = build(home, *options, "--heads")
    assert result.exit_code == 0, result.output
    assert "2 phrases ('dry cough → cough', 'night fever → fever')" in result.stderr


def test_wordnet_is_looked_for(home, monkeypatch):
    monkeypatch.setenv("WNSEARCHDIR", str(home.folder / "dict"))
    options = ["--from", "wordnet", "--missing", "attach-to-root"]
    assert build(home, *options).exit_code == 0
    monkeypatch.setenv("WNSEARCHDIR", "")
    monkeypatch.setattr("setveil.io.wordnet_files.places", lambda: iter(()))
    result = build(home, *options, "--force")
    assert result.exit_code == 2
    assert "wordnet-base" in result.stderr


def test_from_embeddings(home):
    options = ["--from", "embeddings", "--vectors", "vectors.npz", "--fanout", "2", "--force"]
    result = build(home, *options)
    assert result.exit_code == 0, result.output
    assert "Groups may be named after 0 of them." in result.stderr
    tree = Taxonomy.read("new.csv")
    assert {"cough", "fever"} == {
        tree.names[v]
        for v in range(len(tree))
        if tree.parents[v] == tree.parents[tree.node("cough")]
    }
    assert [name for name in tree.names if name not in ITEMS] == [
        f"group {i}" for i in (1, 2, 3, 4)
    ]
    build(home, *options, "--name-support", "3")
    assert "like flu" in Taxonomy.read("new.csv").names
    (home.folder / "never.txt").write_text("flu\n")
    build(home, *options, "--name-support", "3", "--never-name", "never.txt")
    names = Taxonomy.read("new.csv").names
    assert "like flu" not in names
    assert "like cold" in names
    rare = [name for name in names if "asthma" in name]  # two records hold it
    assert rare == ["asthma"]


def test_items_without_vectors(home):
    np.savez("vectors.npz", words=np.array(ITEMS[1:]), vectors=np.eye(4))
    options = ["--from", "embeddings", "--vectors", "vectors.npz"]
    refused = build(home, *options)
    assert refused.exit_code == 2
    assert "1 of 5 items have no vector (2 of 16 occurrences): 'asthma'" in refused.stderr
    assert "--missing nearest" in refused.stderr
    assert "attach-to-root" not in refused.stderr
    attached = build(home, *options, "--missing", "attach-to-root")
    assert attached.exit_code == 0
    assert Taxonomy.read("new.csv").n_leaves == 5
    assert "1 item, the rarest in 2 records, hangs directly under the root" in attached.stderr
    left = build(home, *options, "--missing", "drop", "--force", "--json")
    assert "give --missing drop to the commands that use this tree, too" in left.stderr
    assert Taxonomy.read("new.csv").n_leaves == 4
    said = json.loads(left.stdout)["missing"]
    assert (said["choice"], said["items"], said["occurrences"]) == ("drop", ["asthma"], 2)


def test_unknown_nouns_go_beside_the_most_similar(home):
    home.data.write_text('["coughing", "cold"]\n["flu", "fever"]\n["cough"]\n')
    options = ["--from", "wordnet", "--wordnet", "dict", "--missing", "nearest", "--force"]
    result = build(home, *options)
    assert result.exit_code == 0, result.output
    # "cough" and "coughing" share 5 of 6 + 9 - 5 groups of letters.
    said = "  'coughing': below 'symptom', beside 'cough' (similarity of the names 0.50)"
    assert said in result.stderr.splitlines()
    tree = Taxonomy.read("new.csv")
    assert tree.parents[tree.node("coughing")] == tree.parents[tree.node("cough")]
    rows = [[1, 0.2], [1, 0], [0, 1]]
    words = np.array(["coughing", "flu", "cough"])
    np.savez("words.npz", words=words, vectors=np.array(rows))
    result = build(home, *options, "--vectors", "words.npz")
    assert "'coughing': below 'illness', beside 'flu' (similarity of the vectors" in result.stderr


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--from", "embeddings"], "--vectors FILE"),
        (["--from", "embeddings", "--vectors", "none.txt"], "no such file"),
        (["--from", "wordnet", "--wordnet", "none"], "there is no WordNet here"),
        (["--wordnet", "dict"], "--wordnet has no meaning for --from fanout"),
        (["--missing", "attach-to-root"], "--missing has no meaning"),
        (["--from", "wordnet", "--vectors", "vectors.npz"], "without --missing nearest"),
        (["--from", "wordnet", "--fanout", "3"], "--fanout has no meaning for --from wordnet"),
        (["--from", "embeddings", "--heads", "--vectors", "vectors.npz"], "--heads has no meaning"),
        (["--from", "embeddings", "--vectors", "vectors.npz", "--never-name", "no.txt"],
         "list of items cannot be read"),
    ],
)  # fmt: skip
def test_wrong_use(home, options, message):
    before = set(home.names())
    result = build(home, *options)
    assert result.exit_code == 2
    assert message in result.stderr
    assert "Traceback" not in result.stderr
    assert {name for name in home.names() if not name.startswith("cache")} == before
