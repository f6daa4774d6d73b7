"""What recipients get, for every form: it verifies, loads, explains itself and leaks nothing."""

import hashlib
import io
import json
import re
import shutil
from contextlib import redirect_stdout
from dataclasses import replace

import polars as pl
import pytest
from tests.contract.cases import Case
from tests.published_forms import HIDDEN, releases
from typer.testing import CliRunner

from setveil import Taxonomy, TransactionTable
from setveil.audit import Adversary
from setveil.cli import app
from setveil.core import registry
from setveil.core.errors import ParameterError, ReleaseError
from setveil.core.interval import Rate
from setveil.guarantee import Disassociated, KAnonymity, PrivacyDegree
from setveil.release.data_file import content_blocks
from setveil.release.store import load_manifest, load_release, save
from setveil.report.publication import Certificate, write_publication

FORMS = releases()
WEAK = {
    "disassociated": Disassociated(k=1, m=1),
    "joint": Disassociated(k=1, m=1),
    "grouped": PrivacyDegree(p=1, sensitive=("bronchitis", "gout")),
    "grouped-parts": PrivacyDegree(p=1, sensitive=("bronchitis", "gout")),
    "dealt": PrivacyDegree(p=1, sensitive=("bronchitis", "gout")),
}
"""A promise that a small release keeps; others are 1-anonymous, randomized ones promise nothing."""
CERTIFICATE = Certificate(
    answer="publish-with-care",
    check="each of 5 distinct records occurs at least once",
    attacks=(
        Adversary(
            label="Link a person to their record",
            risk="singling_out",
            attack="linkage",
            knows="two items of a person",
            says="An attacker who knows two items of a person singles out 18 of 1,000 people.",
            rate=Rate(value=0.0171, low=0.0119, high=0.0261, exact=False),
            baseline=Rate.counted(0.00199),
            tested=1000,
        ),
        Adversary(
            label="Link a person to their record",
            risk="inference",
            attack="rba",
            knows="how words are related: corpus:/home/owner/secret-notes.index",
            says="",
            decides=False,
        ),
    ),
    untested=("No attacker with free text about the same people was tried.",),
    losses=(("are", "12.4%", "average relative error of counting"),),
    cares=("Counts are off by more than the owner wanted.",),
    targets={"singling_out": "at most 10%"},
    title="Visits <b>2026</b>",
)


def promise_of(name):
    if name in {"perturbed", "sized"}:
        return None
    return WEAK.get(name, KAnonymity(k=1))


def publish(name, folder, certificate=CERTIFICATE):
    params = {} if name in {"perturbed", "sized"} else {"k": 1}
    save(FORMS[name], folder / "made", method="by hand", params=params, promise=promise_of(name))
    return write_publication(folder / "made", folder / "publish", certificate=certificate)


@pytest.fixture(scope="module", params=FORMS)
def name(request):
    return request.param


@pytest.fixture(scope="module")
def out(name, tmp_path_factory):
    return publish(name, tmp_path_factory.mktemp(name))


def files_of(folder):
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


def run(*args):
    return CliRunner().invoke(app, [*map(str, args)])


def test_a_recipient_who_has_only_the_folder_can_verify_it(name, out, tmp_path):
    alone = tmp_path / "received"
    shutil.copytree(out, alone)
    options = ["-g", "k-anonymity:k=1"] if promise_of(name) is None else []
    result = run("verify", alone, *options)
    if promise_of(name) is None:  # nothing can be counted in randomized records
        assert result.exit_code == 2
        assert "randomized" in result.stderr
        return
    assert result.exit_code == 0, result.output
    assert "holds" in result.stdout
    (alone / "README.md").write_text("other")
    (alone / "visits.csv").write_text("private")
    result = run("verify", alone, *options, "--json")
    assert result.exit_code == 2
    told = json.loads(result.stdout)
    assert told["changed_files"] == ["README.md"]
    assert told["foreign_files"] == ["visits.csv"]
    assert told["holds"]
    assert not told["fit_to_publish"]


def test_the_release_inside_is_the_same(name, out):
    assert load_release(out / "release").to_frame().equals(FORMS[name].to_frame())
    first, second = files_of(out / "release"), files_of(out.parent / "made")
    assert first == second


def test_parquet_and_csv_say_the_same(out):
    for file in (out / "data").glob("*.parquet"):
        frame = pl.read_parquet(file)
        assert pl.read_csv(file.with_suffix(".csv"), schema=frame.schema).equals(frame)


def test_the_examples_of_the_readme_run(out, monkeypatch):
    text = (out / "README.md").read_text(encoding="utf-8")
    programs = re.findall(r"^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    assert len(programs) == 2
    monkeypatch.chdir(out)
    for code in programs:
        said = [
            line.rpartition("  # ")[2] for line in code.splitlines() if line.startswith("print(")
        ]
        printed = io.StringIO()
        with redirect_stdout(printed):
            exec(compile(code, "README.md", "exec"), {})
        assert printed.getvalue().splitlines() == said != []


def test_nothing_of_the_original_is_in_any_file(out):
    tables = [
        pl.read_parquet(out / name).write_csv().encode()
        for name in files_of(out)
        if name.endswith(".parquet")
    ]
    for content in [*files_of(out).values(), *tables]:
        for secret in (HIDDEN, "/home/", "secret-notes", str(out.parent), "seed"):
            assert secret.encode() not in content, secret


def test_the_certificate_names_every_file_with_its_hash(out):
    files = files_of(out)
    told = json.loads(files.pop("certificate.json"))
    assert told["files"] == {
        name: hashlib.sha256(content).hexdigest() for name, content in sorted(files.items())
    }
    page = files["certificate.html"].decode()
    assert all(told["files"][name] in page for name in files if name != "certificate.html")


def test_the_same_release_gives_the_same_bytes(name, out, tmp_path):
    again = publish(name, tmp_path)
    assert files_of(again) == files_of(out)
    write_publication(tmp_path / "made", again, certificate=CERTIFICATE)  # replaced, not mixed
    assert files_of(again) == files_of(out)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["made", "publish"]


def test_the_order_of_the_records_leaves_no_trace(tmp_path):
    import numpy as np
    from tests.published_forms import TABLE

    from setveil.release import publish_suppressed

    found = []
    for seed in range(3):
        order = np.random.default_rng(seed).permutation(len(TABLE))
        release, _ = publish_suppressed(TABLE.take(order), np.ones(TABLE.n_items, dtype=bool))
        folder = tmp_path / str(seed)
        save(release, folder / "made", method="by hand", params={}, promise=KAnonymity(k=1))
        found.append(
            files_of(write_publication(folder / "made", folder / "out", certificate=CERTIFICATE))
        )
    assert found[0] == found[1] == found[2]


def test_rates_are_never_rounded_in_favour_of_the_release(tmp_path):
    out = publish("suppressed", tmp_path)
    told = json.loads((out / "certificate.json").read_text())
    right, guessing = told["attacks"][0]["right"], told["attacks"][0]["guessing"]
    assert right == {"says": "18 of 1,000 (11 to 27)", "of_1000": 18, "low": 11, "high": 27}
    assert guessing["of_1000"] == 1
    page = (out / "certificate.html").read_text()
    assert "18 of 1,000 (11 to 27)" in page
    assert "guessing: 1 of 1,000" in page
    assert told["attacks"][1]["right"] is None
    assert told["attacks"][1]["knows"] == "how words are related"


def test_names_are_shown_as_text(tmp_path):
    out = publish("suppressed", tmp_path)
    assert "<b>2026" not in (out / "certificate.html").read_text()
    assert "<b>2026" not in (out / "README.md").read_text()


def test_what_is_not_fit_is_not_published(tmp_path):
    publish("suppressed", tmp_path)
    (tmp_path / "made" / "visits.csv").touch()
    with pytest.raises(ReleaseError, match=r"visits\.csv"):
        write_publication(tmp_path / "made", tmp_path / "new", certificate=CERTIFICATE)
    assert not (tmp_path / "new").exists()
    with pytest.raises(ParameterError, match="not published"):
        Certificate(answer="not-decided")


def test_a_folder_with_other_files_is_not_replaced(tmp_path):
    out = publish("suppressed", tmp_path)
    (out / "notes.txt").write_text("mine")
    with pytest.raises(ReleaseError, match=r"notes\.txt"):
        write_publication(tmp_path / "made", out, certificate=CERTIFICATE)
    assert (out / "notes.txt").read_text() == "mine"


# --- whatever a method suppresses stays suppressed ------------------------------------------------

MARKED = [f"ZQ{number:02}q" for number in range(12)]
"""Items whose names occur nowhere by chance; the later ones are rare."""
CASE = Case(
    table=TransactionTable.from_rows(
        [[item for place, item in enumerate(MARKED) if row % (place + 1) == 0] for row in range(48)]
    ),
    tree=Taxonomy.balanced(MARKED, fanout=3),
    k=4,
    sensitive=(MARKED[6], MARKED[9]),
)


@pytest.mark.parametrize("entry", registry.entries("anonymizer"), ids=lambda entry: entry.name)
def test_an_item_that_a_method_suppresses_is_in_no_file(entry, tmp_path):
    params = {"constrained": 1} if entry.name in {"coat", "pcta"} else {}
    made = CASE.method(entry.target, params).anonymize(CASE.table, **CASE.inputs(entry.target))
    save(made.release, tmp_path / "made", method=entry.name, params={}, promise=made.promise)
    out = write_publication(tmp_path / "made", tmp_path / "out", certificate=CERTIFICATE)
    shown = " ".join(item for row in made.release.to_rows() for item in row)
    hidden = [item for item in MARKED if item not in shown]
    parquet = [
        pl.read_parquet(out / name).write_csv().encode()
        for name in files_of(out)
        if name.endswith(".parquet")
    ]
    for item in hidden:
        for content in [*files_of(out).values(), *parquet]:
            assert item.encode() not in content, item
    if entry.name in {"gather", "suppress-control", "coherence"}:
        assert hidden  # otherwise nothing is tested here
    if made.promise is not None:
        assert run("verify", out).exit_code == 0


def test_a_release_in_parts_is_published_whole(tmp_path):
    """A data file may be a directory of parts, as a cluster of machines writes it."""
    made = tmp_path / "made"
    save(FORMS["recoded"], made, method="by hand", params={}, promise=KAnonymity(k=1))
    manifest = load_manifest(made)
    staged = tmp_path / "parts"
    staged.mkdir()
    rows = FORMS["recoded"].to_rows(ids=True)
    for number, some in enumerate((rows[:3], rows[3:])):
        frame = pl.DataFrame({"items": pl.Series(some, dtype=pl.List(pl.String))})
        frame.write_parquet(staged / f"part-{number:05}.parquet")
    digest = hashlib.sha256(b"".join(content_blocks(staged))).hexdigest()
    (made / manifest.file).unlink()
    name = f"release-{digest[:16]}.parquet"
    staged.rename(made / name)
    structure = {**manifest.structure, "parts": True}
    changed = replace(manifest, file=name, sha256=digest, structure=structure)
    (made / "manifest.json").write_text(changed.to_json())
    out = write_publication(made, tmp_path / "out", certificate=CERTIFICATE)
    assert run("verify", out).exit_code == 0
    assert files_of(out / "release") == files_of(made)
    assert len(files_of(made)) == 3
    whole = publish("recoded", tmp_path / "whole")
    assert files_of(out / "data") == files_of(whole / "data")
