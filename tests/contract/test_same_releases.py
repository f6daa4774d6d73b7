"""Releases are byte for byte those of commit 52ec9b7, the last before the consolidation.

Every registered anonymizer publishes 120 invented patients through the command line, under a few
settings. What is compared by SHA-256: the published data as JSON lines and as CSV, the manifest,
the exported tables, and the content of the private key. Parquet is not compared: its bytes depend
on the version of polars.

The folder ``same_releases`` holds the patients, their tree, sensitive items and constraints, and
the hashes. After a change that is meant to change releases, and for a new method, write them anew
(the test says which differ; without a commit the present code is taken):

    git worktree add /tmp/before 52ec9b7
    PYTHONPATH=/tmp/before/src .venv/bin/python -m tests.contract.test_same_releases
"""

import hashlib
import json
import sys
import tempfile
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from setveil import __version__
from setveil.cli import app
from setveil.core import registry

FOLDER = Path(__file__).parent / "same_releases"
HASHES = FOLDER / "hashes.json"
SEED = 7
"""Of what is drawn at random."""

FREQUENT = "--rho 0.8 --no-prior --min-support 12 --sensitive FREQUENT"
"""A setting under which rules remain to be weakened: few items, and common ones are sensitive."""
VISITS = "--rho 0.7 --min-support 15 --sensitive VISITS"
"""One under which rules of one to three known items are broken and sensitive items stay."""

SETTINGS = {
    "anatomy": ["--l 3", "--l 2"],
    "apriori-km": ["--k 5 --m 2", "--k 3 --m 1", "--k 4 --m 3"],
    "cahd": ["--p 3", "--p 2 --alpha 1"],
    "clump": ["", "--k 3 --r none --objective increment", "--k 4 --distinct"],
    "coat": ["--k 5 --constrained 1", "--k 3 --privacy PRIVACY --utility UTILITY --s 0.5",
             "--k 4 --constrained 1/2 --objective ul"],
    "coherence": ["--h 0.6 --k 3 --p 2", "--h 0.8 --k 5 --p 1"],
    "direct-km": ["--k 5 --m 2", "--k 3 --m 1"],
    "disassociate": ["--k 5 --m 2", "--k 3 --m 3 --no-refine", "--k 3 --max-cluster-size 12"],
    "gather": ["", "--k 3 --effort fast"],
    "hghs": ["--k 5 --m 2", "--k 3 --m 1"],
    "lra": ["--k 5 --m 2", "--k 3 --m 2 --parts 3"],
    "optimal-km": ["--k 5 --m 2 --min-support 20", "--k 9 --m 1 --min-support 15"],
    "partition": ["", "--k 3"],
    "pcta": ["--k 5 --constrained 1", "--k 3 --privacy PRIVACY --utility UTILITY",
             "--k 4 --constrained 1/20 --objective ul_gaining"],
    "permutation": ["--p 3", "--p 2 --alpha 1"],
    "rho-family": ["--rho 0.5", "--rho 0.3 --no-prior", FREQUENT, VISITS],
    "safe-disassociate": ["--k 5 --m 2", "--k 3 --m 3 --no-refine --max-share 0.7",
                          "--k 3 --max-cluster-size 12"],
    "secret-sharing": ["--secret-file SECRET", "--k 3 --secret-file SECRET"],
    "select-a-size": ["", "--beta 0.3"],
    "simple-suppression": ["--rho 0.5", "--rho 0.3 --no-prior", FREQUENT, VISITS],
    "split-personality": ["", "--topics 3 --k 2"],
    "suppress-control": ["--rho 0.5", "--rho 0.3 --no-prior", FREQUENT, VISITS],
    "td-control": ["--rho 0.5", "--rho 0.3 --no-prior", FREQUENT, VISITS],
    "token-hashing": ["--secret-file SECRET"],
    "vpa-km": ["--k 5 --m 2", "--k 3 --m 2 --parts 3"],
}  # fmt: skip
"""Options under which each method publishes; a name in capitals is a file of the folder."""

FILES = {
    "PRIVACY": "privacy.txt",
    "UTILITY": "utility.txt",
    "SECRET": "secret.txt",
    "FREQUENT": "frequent.txt",
    "VISITS": "visits.txt",
}
ENTRIES = registry.entries("anonymizer")
CASES = [(entry.name, options) for entry in ENTRIES for options in SETTINGS.get(entry.name, [""])]


def run(*args):
    """Run a command in this process; it must succeed."""
    done = CliRunner().invoke(app, [str(arg) for arg in args])
    assert done.exit_code == 0, done.output
    return done


def sha256(content):
    return hashlib.sha256(content).hexdigest()


def hash_folder(folder):
    """Return a hash of the names and contents of its files; the version of setveil may differ."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    lines = []
    for path in files:
        content = path.read_bytes().replace(f"setveil {__version__}".encode(), b"setveil")
        lines.append(f"{path.relative_to(folder)} {sha256(content)}\n")
    return sha256("".join(lines).encode())


def hash_key(path):
    """Return a hash of what a key says: of its arrays, but for where its release lies."""
    with np.load(path, allow_pickle=False) as arrays:
        lines = [
            f"{name} {array.dtype.str} {array.shape} {sha256(array.tobytes())}\n"
            for name, array in sorted(arrays.items())
            if name != "place"
        ]
    return sha256("".join(lines).encode())


def hashes_of(method, options, folder):
    """Publish the patients by a method and return the hashes of all that was written."""
    requires = registry.find("anonymizer", method).target.requires
    more = []
    if "taxonomy" in requires:
        more += ["--taxonomy", FOLDER / "tree.csv"]
    if "sensitive" in requires:
        more += ["--sensitive", FOLDER / "sensitive.txt", "--sensitive-in-tree", "take-out"]
    more += [FOLDER / FILES[word] if word in FILES else word for word in options.split()]
    found = {}
    for kind in ("jsonl", "csv"):
        release, key = folder / kind, folder / f"{kind}.key"
        run(
            "anonymize", method, FOLDER / "patients.jsonl", "-o", release, "--key", key,
            "--release-format", kind, "--seed", SEED, "--quiet", *more,
        )  # fmt: skip
        found[kind] = hash_folder(release)
        found[f"{kind} key"] = hash_key(key)
    run("export", folder / "jsonl", "-o", folder / "tables", "--format", "csv", "--quiet")
    found["export"] = hash_folder(folder / "tables")
    return found


def test_every_anonymizer_has_settings():
    assert {
        entry.name for entry in ENTRIES if entry.target.__module__.startswith("setveil.")
    } == set(SETTINGS)


@pytest.mark.parametrize(("method", "options"), CASES, ids=[" ".join(case) for case in CASES])
def test_releases_are_those_of_before(method, options, tmp_path):
    before = json.loads(HASHES.read_text(encoding="utf-8"))
    assert hashes_of(method, options, tmp_path) == before[f"{method} {options}".strip()]


def write_patients():
    """Write the invented patients and what belongs to them, unless they are there."""
    from setveil.synthetic import clinic

    if (FOLDER / "patients.jsonl").exists():
        return
    data = clinic(n=120, seed=3)
    tree = data.taxonomy
    items = sorted({item for row in data.table for item in row})
    ordinary = [item for item in items if item not in data.sensitive]
    for name, lines in {
        "patients.jsonl": [json.dumps(row) for row in data.table],
        "tree.csv": [
            f"{tree.ids[v]},{tree.ids[tree.parents[v]]}"
            for v in range(len(tree))
            if tree.parents[v] >= 0 and not tree.pseudo[v]
        ],
        "sensitive.txt": data.sensitive,
        "privacy.txt": [
            *ordinary[::2],
            *(f"{a}+{b}" for a, b in zip(ordinary[::5], ordinary[1::5], strict=False)),
        ],
        "utility.txt": ["+".join(ordinary[at : at + 6]) for at in range(0, len(ordinary), 6)],
        "frequent.txt": ["depression", "high cholesterol", "hypertension"],
        "visits.txt": ["headache", "routine check-up", "vaccination"],
        "secret.txt": ["only for this test: no secret at all"],
    }.items():
        (FOLDER / name).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def write_hashes():
    """Write the hashes of the releases that the setveil on the path makes."""
    found = {}
    for method, options in CASES:
        with tempfile.TemporaryDirectory() as folder:
            found[f"{method} {options}".strip()] = hashes_of(method, options, Path(folder))
        sys.stderr.write(f"{method} {options}\n")
    HASHES.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    write_patients()
    write_hashes()
