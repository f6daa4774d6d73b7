"""Values of the wrong kind, half characters and huge numbers: refused in a sentence, everywhere."""

import json
from contextlib import suppress

import numpy as np
import pytest
from tests.adversarial.fuzz import archives, audits, guesses, releases, settings
from tests.adversarial.fuzz.campaign import Case, place
from tests.adversarial.fuzz.mutation import Raw, json_text
from typer.testing import CliRunner

from setveil import Taxonomy, cli
from setveil.attack import load_guess
from setveil.audit.store import VERSION, Store, load_audit
from setveil.core import errors
from setveil.core.errors import InputError, ReleaseError
from setveil.core.untrusted import parse_json
from setveil.core.words import kept, lost
from setveil.guarantee import KAnonymity
from setveil.io.item_lists import read_itemsets
from setveil.measure import score
from setveil.relatedness.index import CorpusIndex
from setveil.release import publish_groups
from setveil.release.manifest import _digest
from setveil.release.store import MANIFEST, load_key, load_release, save

DEEP = Raw("[" * 3000 + "]" * 3000)
DIGITS = Raw("9" * 5000)
HALF = "\ud800"


class Always:
    """Draws that are always the same."""

    def random(self):
        return 0.3


def as_json(content):
    return json_text(content, Always())


# --- releases -------------------------------------------------------------------------------------


@pytest.fixture
def release(tmp_path):
    """Return a release, and how to write it again with another manifest whose hashes are right."""
    tree = Taxonomy.balanced(["flu", "gout", "rash", "hiv"], fanout=2)
    made, _ = publish_groups(
        tree, group_offsets=[0, 2], group_nodes=[2, 5], group_of=[0, 0], hides=True
    )
    save(made, tmp_path, method="clump", params={}, promise=KAnonymity(k=2), format="jsonl")
    manifest = json.loads((tmp_path / MANIFEST).read_bytes())

    def write():
        content = {"form": manifest["form"], "structure": manifest["structure"]}
        with suppress(TypeError, ValueError):  # what has no hash cannot be parsed either
            manifest["structure_sha256"] = _digest(content)
        (tmp_path / MANIFEST).write_bytes(as_json(manifest))

    return tmp_path, manifest, write


@pytest.mark.parametrize("parent", [[], {}, 1, True, [[]], DEEP, DIGITS, HALF])
def test_parents_that_are_no_ids(release, parent):
    folder, manifest, write = release
    manifest["structure"]["nodes"][1]["parent"] = parent
    write()
    with pytest.raises(ReleaseError):
        load_release(folder)


@pytest.mark.parametrize("name", ["id", "name", "parent", "leaves", "pseudo"])
@pytest.mark.parametrize("value", [[], {}, None, 1.5, HALF, DEEP, DIGITS, Raw("NaN"), 2**63])
def test_nodes_of_any_kind(release, name, value):
    folder, manifest, write = release
    manifest["structure"]["nodes"][2][name] = value
    write()
    with pytest.raises(ReleaseError):
        load_release(folder)


def test_the_command_line_says_it_in_a_sentence(release):
    folder, manifest, write = release
    manifest["structure"]["nodes"][1]["parent"] = []
    write()
    found = CliRunner().invoke(cli.app, ["verify", str(folder)])
    assert found.exit_code == 2
    assert "a parent is not named by its id" in " ".join(found.output.split())
    assert "Traceback" not in found.output


def test_a_message_about_a_very_long_name_can_be_read(release):
    folder, manifest, _ = release
    (data,) = (path for path in folder.iterdir() if path.name != MANIFEST)
    case = releases.put(manifest, as_json(["x" * 10**6]), {})
    data.unlink()
    place(case, folder)
    with pytest.raises(ReleaseError, match="which is not in the release's tree") as caught:
        load_release(folder)
    assert len(str(caught.value)) < 2 * errors.LONGEST


# --- JSON -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "content",
    [
        b'"\xed\xa0\x80"',  # half a character as it must not stand in UTF-8
        b'"\\ud800"',
        '"\ud800"',
        '["a"]'.encode("utf-16"),
        b"NaN",
        b"[-Infinity]",
        as_json(DIGITS),
        as_json(DEEP),
    ],
)
def test_json_that_is_none(content):
    with pytest.raises(ValueError):  # whoever reads says what was expected
        parse_json(content)


@pytest.mark.parametrize("name", ["names", "removed"])
@pytest.mark.parametrize("text", [b'["a\xed\xa0\x80"]', b'[[0, "\xed\xa0\x80"]]', b"[NaN]"])
def test_keys_with_half_a_character(tmp_path, name, text):
    arrays = {"records": np.array([0]), name: np.frombuffer(text, np.uint8)}
    np.savez(tmp_path / "a.npz", **arrays)
    with pytest.raises(ReleaseError, match="damaged or no key"):
        load_key(tmp_path / "a.npz")


# --- guesses --------------------------------------------------------------------------------------


def guess(kind):
    [case] = [
        case for case in guesses.seeds(None) if json.loads(case.files[guesses.FILE])["kind"] == kind
    ]
    return json.loads(case.files[guesses.FILE])


def load(tmp_path, content):
    (tmp_path / "guess.json").write_bytes(as_json(content))
    return load_guess(tmp_path / "guess.json")


@pytest.mark.parametrize(
    ("kind", "name", "value"),
    [
        ("noise", "components", Raw("NaN")),
        ("noise", "components", Raw("1e999")),
        ("noise", "components", "many"),
        ("noise", "correlated", []),
        ("noise", "notes", [1]),
        ("noise", "notes", "abc"),
        ("public-records", "notes", [None]),
        ("public-records", "copies", [1.5] * 10),
        ("public-records", "chances", [True] * 10),
        ("linkage", "notes", [[]]),
        ("linkage", "k", 10**30),
        ("tokens", "candidates", 10**30),
        ("tokens", "by_frequency", {"x": {}}),
        ("reassociation", "notes", [1]),
        ("elimination", "notes", {}),
        ("reassociation", "clusters", DEEP),
    ],
)
def test_guesses_with_wrong_values(tmp_path, kind, name, value):
    content = guess(kind)
    assert name in content
    load(tmp_path, content)
    content[name] = value
    with pytest.raises(InputError, match=r"damaged|not JSON"):
        load(tmp_path, content)


def test_pairs_of_a_guess_are_texts(tmp_path):
    content = guess("reassociation")
    content["pairs"] = [[content["clusters"][0]["cluster"], 1, 2]]
    with pytest.raises(InputError, match="damaged: a pair is two terms"):
        load(tmp_path, content)


def test_public_records_more_than_can_be_counted(tmp_path):
    content = guess("public-records")
    content["copies"] = [2**62] * len(content["copies"])
    with pytest.raises(InputError, match="how often there is each candidate"):
        load(tmp_path, content)


def test_records_that_one_release_alone_does_not_have(tmp_path):
    """What the first release led to was looked up without a look at its bounds."""
    content = guess("intersection")
    content["alone"][0][3] = [2**62]
    made = releases.anonymized(guesses.RELEASE_OF["intersection"])
    found = load(tmp_path, content)
    with pytest.raises(InputError, match="about another release"):
        score(found, release=made.release, original=releases.TABLE, key=made.key)


# --- audits ---------------------------------------------------------------------------------------


def audit(tmp_path, *path, value):
    """Write an audit with one value changed, and return its folder."""
    case = audits.seeds(None)[0]
    content = json.loads(case.files[audits.FILE])
    holder = content
    for step in path[:-1]:
        holder = holder[step]
    assert path[-1] in holder or isinstance(holder, list)
    holder[path[-1]] = value
    place(case, tmp_path)
    (tmp_path / audits.FILE).write_bytes(as_json(content))
    return tmp_path


RUN = ("runs", 0)
ATTACK = (*RUN, "adversaries", 0)


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("title",), []),
        (("criteria", "target"), "0.1"),
        (("criteria", "target"), Raw("1e999")),
        (("reasons",), [[]]),
        (("notes",), "abc"),
        (("recommended",), {}),
        (("profile",), {"unique_1": []}),
        (("profile",), {"top_items": [{"item": 1, "records": "x"}]}),
        (("profile",), {"records": "many"}),
        (("settings",), {"relatedness": 5}),
        (("runs",), {}),
        ((*RUN, "title"), 1.5),
        ((*RUN, "loss"), [0.5]),
        ((*RUN, "holds"), "yes"),
        ((*RUN, "seconds"), 0.5),
        ((*RUN, "seconds"), {"verify": "long"}),
        ((*RUN, "measures"), {"are": "x"}),
        ((*RUN, "promise"), {"name": "k-anonymity"}),
        ((*RUN, "promise"), "k"),
        ((*RUN, "figures"), {"items": [["flu"]]}),
        ((*RUN, "figures"), {"steps": 3}),
        ((*RUN, "figures"), {"content": []}),
        ((*RUN, "witnesses"), [{"items": 1}]),
        ((*RUN, "adversaries"), {"a": 1}),
        ((*ATTACK, "rate"), {"value": "x", "low": 0, "high": 1, "exact": True}),
        ((*ATTACK, "rate"), {"value": 0.5}),
        ((*ATTACK, "baseline"), 0.5),
        ((*ATTACK, "scores"), 7),
        ((*ATTACK, "params"), []),
        ((*ATTACK, "examples"), [{"why": [["a"]]}]),
        ((*ATTACK, "seconds"), 10**400),
        ((*ATTACK, "attack"), None),
    ],
)
def test_audits_with_wrong_values(tmp_path, path, value):
    folder = audit(tmp_path, *path, value=value)
    found = CliRunner().invoke(cli.app, ["report", str(folder), "--format", "md"])
    assert found.exit_code == 2, found.output
    assert "the audit is damaged at" in " ".join(found.output.split())
    assert "Traceback" not in found.output


@pytest.mark.parametrize("value", [HALF, DIGITS, DEEP])
def test_audits_that_are_no_json(tmp_path, value):
    folder = audit(tmp_path, "title", value=value)
    for form in ("html", "md", "json"):
        found = CliRunner().invoke(cli.app, ["report", str(folder), "--format", form])
        assert found.exit_code == 2, found.output
        assert "this is no audit" in found.output


def test_figures_beyond_all_measure_are_shown(tmp_path):
    folder = audit(tmp_path, *RUN, "loss", value=1e300)
    assert load_audit(folder).runs[0].loss == 1e300
    assert CliRunner().invoke(cli.app, ["report", str(folder), "--format", "md"]).exit_code == 0
    assert lost(1e300) == f"1{'0' * 302}.0%"
    assert kept(-1e300) == f"-1{'0' * 302}.0%"


def test_the_largest_seed_is_no_damage(tmp_path):
    folder = audit(tmp_path, "settings", value={"seed": 2**128 - 1})
    assert load_audit(folder).settings == {"seed": 2**128 - 1}


@pytest.mark.parametrize("run", [[], None, 1, {}, {"id": []}, "x"])
def test_a_damaged_run_is_made_again(tmp_path, run):
    case = audits.seeds(None)[0]
    place(case, tmp_path)
    content = {"setveil": "run", "version": VERSION, "release": None, "run": run}
    (tmp_path / audits.RUN.format(case.options["id"])).write_bytes(as_json(content))
    store = Store.open(tmp_path)
    assert store.finished(case.options["id"], case.options["name"]) is None


@pytest.mark.parametrize("seed", [-1, True, 1.5, "7", 2**128, None, []])
def test_a_damaged_seed_is_drawn_again(tmp_path, seed):
    store = Store.open(tmp_path)
    (store.private / "seed.json").write_text(json.dumps({"seed": seed}))
    drawn = store.seed(None)
    assert type(drawn) is int
    assert drawn >= 0
    assert drawn != seed
    assert store.seed(None) == drawn


# --- indexes --------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", archives.SECTIONS)
def test_an_index_without_one_of_its_lists(tmp_path, name):
    [content, _] = [case.files[archives.INDEX] for case in archives.index_seeds(tmp_path)]
    arrays, table = archives._taken_apart(content)
    arrays[name] = arrays[name][:0]
    table = archives._right_table(arrays, table)
    path = tmp_path / "notes.index"
    path.write_bytes(archives._put_together(arrays, table, Always()))
    with pytest.raises(InputError, match="the index is damaged"):
        CorpusIndex.open(path)


@pytest.mark.parametrize("kind", ["(", "i8" * 99, [], None, "<f16", "O", "<i8,<i8", 8])
def test_an_index_of_numbers_of_another_kind(tmp_path, kind):
    """NumPy reads what a type is called with the parser of Python."""
    content = archives.index_seeds(tmp_path)[0].files[archives.INDEX]
    arrays, table = archives._taken_apart(content)
    table["sections"]["postings"][2] = kind
    path = tmp_path / "notes.index"
    path.write_bytes(archives._put_together(arrays, table, Always()))
    with pytest.raises(InputError, match="the index is damaged"):
        CorpusIndex.open(path)


# --- settings and lists ---------------------------------------------------------------------------


@pytest.mark.parametrize("kind", settings.TEXTS)
@pytest.mark.parametrize(
    "value",
    [
        "[" * 3000,
        "[" * 3000 + "]" * 3000,
        "{a=" * 3000 + "1" + "}" * 3000,
        "a." * 3000,
        "9" * 5000,
        "0x" + "f" * 5000,  # a number of 6,021 digits, which cannot even be shown
        '"\\ud800"',
        "99999-01-01",
    ],
)
def test_settings_with_wrong_values(tmp_path, kind, value):
    seed = next(case for case in settings.seeds(tmp_path) if case.options["kind"] == kind)
    name = {"audit": "seed", "web": "total", "layout": "skip"}[kind]
    lines = [line for line in settings.TEXTS[kind].decode().splitlines() if name not in line]
    text = "\n".join([f"{name} = {value}", *lines]).encode()
    place(Case(files={**seed.files, settings.FILE: text}), tmp_path)
    with pytest.raises(InputError) as caught:
        settings.use(tmp_path, seed)
    assert len(str(caught.value)) < 3 * errors.LONGEST


@pytest.mark.parametrize(
    "line", ["[" * 3000, "[" * 3000 + "]" * 3000, "[" + "9" * 5000 + "]", '["\\ud800"]', "[1]"]
)
def test_itemsets_that_only_look_like_json(tmp_path, line):
    """An item may begin with a bracket: what is no list of texts is an item."""
    path = tmp_path / "privacy.txt"
    path.write_text(f"flu + gout\n{line}\n")
    assert read_itemsets(path) == (("flu", "gout"), (line,))
