"""A whole audit on little data: what is written where, kept, made again, and said."""

import json
import re
import stat
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from setveil import Taxonomy, TransactionTable, load_release
from setveil.audit import (
    AuditResult,
    Criteria,
    RunRecord,
    audit,
    load_audit,
    suggest_sensitive,
    trials,
)
from setveil.audit.adversaries import NEEDLESS, attack_release, attackers
from setveil.audit.request import read_config
from setveil.audit.run import run_method
from setveil.audit.store import Store
from setveil.core.errors import InputError, ParameterError, ReleaseError
from setveil.core.registry import find
from setveil.measure import draw_targets, score

TREE = Taxonomy.from_parents(
    {"flu": "virus", "HIV": "virus", "gout": "joints", "virus": "illness", "joints": "illness"}
)
ROWS = [["flu", "gout"], ["flu", "HIV"], ["gout"], ["flu"], ["gout", "flu"], ["flu", "gout", "HIV"]]
TABLE = TransactionTable.from_rows(ROWS * 6)
METHODS = ["gather:k=3", "disassociate:k=3,m=2", "cahd:p=2"]


def audited(out, **rest):
    said = {
        "taxonomy": TREE,
        "sensitive": ["HIV"],
        "methods": METHODS,
        "workers": 0,
        "seed": 1,
        "title": "Clinic",
    }
    return audit(TABLE, out=out, **{**said, **rest})


def timeless(result):
    """Return an audit without its timings."""

    def without(value):
        if isinstance(value, dict):
            return {name: without(inner) for name, inner in value.items() if name != "seconds"}
        return [without(inner) for inner in value] if isinstance(value, list | tuple) else value

    return without(result.to_json())


@pytest.fixture(scope="module")
def done(tmp_path_factory):
    out = tmp_path_factory.mktemp("audit") / "out"
    return out, audited(out)


def test_every_run_is_verified_attacked_and_measured(done):
    _, result = done
    assert [run.name for run in result.runs] == ["gather-k3", "disassociate-k3-m2", "cahd-p2"]
    for run in result.runs:
        assert run.state == "done", run.error
        assert run.verified
        assert run.loss == run.measures["are"]
        # 1 to 3 items, random or the rarest, each with who is named and who is singled out.
        for name, number in (("linkage", 12), ("inference", 6)):
            assert sum(each.attack == name and each.decides for each in run.adversaries) == number
        assert run.missing == ()
        assert all(not each.note.startswith("failed") for each in run.adversaries)
        assert 0 <= run.risk <= 1
        assert set(run.seconds) == {"anonymize", "verify", "measure", "attack"}
        assert set(run.figures) >= {"items", "terms", "steps"}
    assert result.title == "Clinic"
    assert result.profile["records"] == len(TABLE)


def test_what_may_be_published_holds_no_secrets_and_the_rest_is_private(done):
    out, result = done
    assert sorted(path.name for path in (out / "private" / "candidates").iterdir()) == sorted(
        run.name for run in result.runs
    )
    for run in result.runs:
        files = {path.name for path in (out / run.release).iterdir()}
        assert all(re.fullmatch(r"manifest\.json|release-\w+\.parquet", name) for name in files)
        assert len(load_release(out / run.release)) == len(TABLE)
    assert stat.S_IMODE((out / "private").stat().st_mode) == 0o700
    for file in (out / "private").rglob("*"):
        mode = stat.S_IMODE(file.stat().st_mode)
        if "candidates" not in file.parts:  # as they would be published
            assert mode == (0o700 if file.is_dir() else 0o600), file.name
    public = b"".join(path.read_bytes() for path in (out / "private").rglob("manifest.json"))
    assert public
    assert b"seed" not in public


def test_what_was_found_is_read_again(done):
    out, result = done
    assert load_audit(out) == load_audit(out / "private" / "audit.json") == result


def test_a_second_call_makes_nothing_again(done, monkeypatch):
    out, result = done

    def never(*_):
        raise AssertionError

    monkeypatch.setattr(trials, "run_trial", never)
    assert audited(out) == result


def test_another_place_gives_the_same_but_for_timings(done, tmp_path):
    _, result = done
    assert timeless(audited(tmp_path / "other", workers=2)) == timeless(result)


def test_the_seed_of_the_first_call_is_kept(tmp_path):
    first = audited(tmp_path, seed=None, methods=METHODS[:1])
    again = audited(tmp_path, seed=None, methods=METHODS[:1])
    assert first == again
    assert first.settings["seed"] > 2**64
    assert audited(tmp_path, seed=2, methods=METHODS[:1]).runs[0].id != first.runs[0].id


@pytest.mark.parametrize("damage", ["release", "key", "record", "garbage"])
def test_a_run_that_lost_a_part_is_made_again(done, tmp_path, damage):
    _, result = done
    first = audited(tmp_path, methods=METHODS[:1])
    run = first.runs[0]
    note = tmp_path / "private" / "runs" / f"{run.id}.json"
    if damage == "release":
        (tmp_path / run.release / "manifest.json").unlink()
    elif damage == "key":
        (tmp_path / "private" / "keys" / f"{run.name}.key").unlink()
    elif damage == "record":
        note.write_text(json.dumps({**json.loads(note.read_text()), "run": {"id": run.id}}))
    else:
        note.write_text("{")
    assert Store(tmp_path).finished(run.id, run.name) is None
    assert timeless(audited(tmp_path, methods=METHODS[:1])) == timeless(first)
    assert Store(tmp_path).finished(run.id, run.name) is not None
    assert result.runs[0].name == run.name


def test_other_data_or_settings_are_other_runs(done, tmp_path):
    out, result = done
    ids = {run.id for run in result.runs}
    other = audit(
        TransactionTable.from_rows(ROWS * 5),
        out=tmp_path,
        taxonomy=TREE,
        sensitive=["HIV"],
        methods=METHODS,
        workers=0,
        seed=1,
    )
    assert not ids & {run.id for run in other.runs}
    few = audited(tmp_path / "few", attacks=["linkage"], known=[1])
    assert not ids & {run.id for run in few.runs}
    deciding = [[each.attack for each in run.adversaries if each.decides] for run in few.runs]
    assert deciding == [["linkage"] * 4] * 3  # random or the rarest, named or singled out
    assert [run.missing for run in few.runs] == [
        ("inference",), ("inference", "re-association"), ("inference",),
    ]  # fmt: skip
    assert (few.answer, few.recommended) == ("not-decided", None)
    del out


def test_one_run_that_cannot_be_made_loses_no_other(tmp_path):
    result = audited(tmp_path, methods=["cahd:p=30", "gather:k=3", "gather:k=100"])
    states = {run.name: run.state for run in result.runs}
    assert states == {
        "cahd-p30": "inapplicable", "gather-k3": "done", "gather-k100": "inapplicable",
    }  # fmt: skip
    assert all(run.error for run in result.runs if run.state == "inapplicable")
    assert "2 of 3 trials did not apply; each says why." in result.notes


def test_an_unforeseen_fault_loses_one_run_only(tmp_path, monkeypatch):
    true = trials.run_method

    def faulty(name, *args, **rest):
        if name == "cahd":
            raise RuntimeError("oh")
        return true(name, *args, **rest)

    monkeypatch.setattr(trials, "run_method", faulty)
    result = audited(tmp_path)
    assert [run.state for run in result.runs] == ["done", "done", "failed"]
    assert result.runs[2].error == "RuntimeError: oh"


@pytest.mark.parametrize("workers", [0, 1])
def test_what_does_not_fit_the_time_is_skipped_and_said(tmp_path, workers):
    result = audited(tmp_path, workers=workers, budget=0.001)
    assert {run.state for run in result.runs} == {"skipped"}
    assert "time budget of 0.001 s" in result.runs[0].error
    assert (result.answer, result.recommended) == ("not-decided", None)
    assert result.reasons == ("No trial finished, so there is no verdict yet.",)
    assert "--budget" in result.next_steps[0]
    assert "3 of 3 trials skipped; each says why." in result.notes


def test_a_memory_in_which_no_worker_fits_is_refused(tmp_path):
    with pytest.raises(ParameterError, match="1 MB of memory is too little"):
        audited(tmp_path, workers=1, memory=1_000_000, methods=METHODS[:1])


def test_the_recommendation_follows_the_target(done):
    out, _ = done
    strict, lax = audited(out, target=0.0), audited(out, target=1.0, max_loss=9, min_k=2)
    assert strict.recommended is None
    assert strict.answer in {"do-not-publish", "not-decided"}
    assert lax.answer == "publish"
    assert lax.chosen.loss == min(run.loss for run in lax.runs)
    assert lax.settings["seed"] == 1
    assert (lax.criteria.max_loss, lax.criteria.min_k) == (9, 2)
    careful = audited(out, target=1.0, max_loss=9, min_k=4)
    assert careful.answer == "publish-with-care"
    assert "you ask for at least 4" in careful.cares[0]


def test_who_is_told_hears_of_the_begin_and_the_end_of_each_trial(tmp_path):
    heard = []
    result = audited(tmp_path, tell=heard.append)
    ended = [progress for progress in heard if progress.ended is not None]
    assert [(progress.done, progress.expected) for progress in ended] == [(1, 3), (2, 3), (3, 3)]
    assert [progress.ended.name for progress in ended] == [run.name for run in result.runs]
    begun = [progress.running for progress in heard if progress.ended is None]
    assert begun == [(name,) for name in ("original", *(run.name for run in result.runs))]
    assert ended[-1].best == result.chosen


def test_the_same_attack_on_the_original_stands_beside_the_rate(done):
    _, result = done
    assert result.original.method == "original"
    assert result.original.release == ""
    rates = {each.family: each.rate for each in result.original.adversaries}
    for run in result.runs:
        for each in run.deciding:
            if each.attack in {"linkage", "inference"}:
                assert each.raw == rates[each.family]
            else:
                assert each.raw.value == 1.0  # the original shows every piece together


def test_a_release_that_is_opened_gets_no_dear_attacks_unless_they_are_named(tmp_path):
    strict = {"methods": ["disassociate:k=3,m=2"], "target": 0.0}
    (run,) = audited(tmp_path / "a", **strict).runs
    left = {each.attack for each in run.adversaries if each.note == NEEDLESS}
    assert left
    assert run.missing == ()
    (named,) = audited(tmp_path / "b", **strict, attacks=["linkage", *left]).runs
    assert not [each for each in named.adversaries if each.note == NEEDLESS]


def test_all_attacks_include_a_second_release_of_the_same_people(tmp_path):
    found = audited(tmp_path, methods=["gather:k=3"], attacks=["all"], target=1.0)
    second = [each for each in found.runs[0].adversaries if each.attack == "intersection"]
    assert second
    for each in second:
        assert not each.note.startswith("failed"), each.note
    assert any(each.rate is not None and each.tested for each in second)
    assert not any("second release" in said for said in found.untested)
    usual = audited(tmp_path, methods=["gather:k=3"], target=1.0)
    assert any("second release" in said for said in usual.untested)


@pytest.mark.parametrize(
    ("wrong", "error"),
    [
        ({"target": 2}, ParameterError),
        ({"workers": -1}, ParameterError),
        ({"sensitive": ["zinc"]}, InputError),
        ({"attacks": ["gossip"]}, ParameterError),
        ({"known": []}, ParameterError),
        ({"taxonomy": Taxonomy.from_parents({"flu": "virus"})}, InputError),
        ({"relatedness": ["corpsu:x"]}, ParameterError),
        ({"relatedness": ["corpus:nowhere.index"]}, InputError),
    ],
)
def test_wrong_use_is_refused_before_anything_is_written(tmp_path, wrong, error):
    with pytest.raises(error):
        audited(tmp_path / "out", **wrong)
    assert not (tmp_path / "out").exists()


def test_a_folder_with_other_things_is_refused(tmp_path):
    (tmp_path / "thesis.txt").write_text("mine")
    with pytest.raises(ReleaseError, match="something else"):
        audited(tmp_path)
    with pytest.raises(ReleaseError, match="this is a file"):
        audited(tmp_path / "thesis.txt")


def test_an_attack_is_what_it_says_and_scores_as_by_hand():
    run = run_method("gather", {"k": 3}, TABLE, TREE)
    attacker = next(
        one
        for one in attackers("generalized")
        if (one.params["m"], one.params["knowledge"]) == (2, "random")
    )
    singled, found = attack_release(attacker, run, TABLE, seed=1, number=2, criteria=Criteria())
    assert found.params["sample"] == 300
    method = find("attack", "linkage").target(**found.params)
    targets = draw_targets(TABLE, m=2, sample=300, rng=np.random.default_rng([1, 2]))
    guess = method.run(run.release, targets=targets, taxonomy=run.taxonomy)
    rates = score(guess, release=run.release, original=TABLE, key=run.key)
    assert found.rate.value == pytest.approx(rates["named"].value)
    assert found.baseline == rates["named_random"]
    assert singled.rate.value == pytest.approx(rates["singled"].value)
    assert (singled.risk, found.risk) == ("singling_out", "linkage")
    assert found.tested == len(TABLE)


def test_an_attack_that_fails_does_not_lose_the_run(monkeypatch):
    run = run_method("gather", {"k": 3}, TABLE, TREE)
    monkeypatch.setattr("setveil.attack.Linkage.run", lambda *_, **__: 1 / 0)
    first = attackers("generalized")[0]
    for found in attack_release(first, run, TABLE, seed=1, number=1, criteria=Criteria()):
        assert found.rate is None
        assert found.note == "failed: ZeroDivisionError: division by zero"


def test_methods_that_promise_nothing_are_attacked_but_not_recommended(tmp_path):
    result = audited(tmp_path, methods=["token-hashing", "select-a-size"], target=1.0)
    assert result.recommended is None
    tried = {run.method: {each.attack for each in run.adversaries} for run in result.runs}
    assert "token-frequency" in tried["token-hashing"]
    assert {"noise-filter", "public-records"} <= tried["select-a-size"]
    assert not [each for run in result.runs for each in run.adversaries if "failed" in each.note]


def test_a_result_shows_itself():
    evil = "<script>alert(1)</script>"
    run = RunRecord(id="1", name="x", title=evil, method="gather", params={}, loss=0.5)
    result = AuditResult(title=evil, runs=(run,), recommended="1", reasons=(evil,))
    assert "<script>" not in result._repr_html_()
    assert result.to_frame().row(0, named=True)["recommended"] is True
    drawn = replace(result, runs=()).plot()
    assert drawn.svg().startswith("<svg")
    assert replace(result, runs=()).to_frame().is_empty()


def test_rare_items_are_suggested_but_not_those_of_one_record():
    table = TransactionTable.from_rows([["a", "b"], ["a", "b"], ["a"], ["c"]])
    assert suggest_sensitive(table) == [("b", 2), ("a", 3)]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("target = 0.1", "names no data"),
        ('data = "x"\nsped = 1', "no setting 'sped'"),
        ('data = "x"\ntarget = "low"', "target is 'low'"),
        ('data = "x"\nmethods = [1]', "methods is"),
        ('data = "x"\nbudget = "soon"', "budget is 'soon'"),
        ('data = "x"\nknown = ["two"]', "list of numbers"),
        ("data = ", "no TOML"),
    ],
)
def test_a_wrong_file_of_settings_says_what_is_wrong(tmp_path, text, message):
    file = tmp_path / "audit.toml"
    file.write_text(text)
    with pytest.raises(InputError, match=message):
        read_config(file)


def test_files_are_looked_for_beside_the_settings(tmp_path):
    file = tmp_path / "audit.toml"
    file.write_text('data = "a.csv"\ntaxonomy = "/b.csv"\nsensitive = ["x"]\nmemory = "1.5G"\n')
    found = read_config(file)
    assert Path(found["data"]) == tmp_path / "a.csv"
    assert found["taxonomy"] == "/b.csv"
    assert found["sensitive"] == ["x"]
    assert found["memory"] == 1_500_000_000
    with pytest.raises(InputError, match="cannot be read"):
        read_config(tmp_path / "none.toml")


def test_two_audits_never_work_in_one_directory(tmp_path):
    with Store.open(tmp_path).lock():
        with pytest.raises(ReleaseError, match="another audit is at work here"):
            audited(tmp_path)
        assert not (tmp_path / "private" / "audit.json").exists()
    assert audited(tmp_path, methods=["gather:k=3"]).runs[0].verified


@pytest.mark.parametrize("damage", ["release", "key"])
def test_a_run_whose_files_changed_is_made_again(tmp_path, damage):
    first = audited(tmp_path, methods=["gather:k=3"])
    data = next((tmp_path / "private" / "candidates" / "gather-k3").glob("release-*"))
    file = data if damage == "release" else tmp_path / "private" / "keys" / "gather-k3.key"
    whole = file.read_bytes()
    file.write_bytes(whole[:-1])
    assert timeless(audited(tmp_path, methods=["gather:k=3"])) == timeless(first)
    assert len(load_release(tmp_path / "private" / "candidates" / "gather-k3")) == len(TABLE)
    file.unlink()
    audited(tmp_path, methods=["gather:k=3"])
    assert file.exists()


def test_a_directory_is_for_one_set_of_records(tmp_path):
    audited(tmp_path, methods=["gather:k=3"])
    other = TransactionTable.from_rows([*ROWS, ["flu"]] * 6)
    with pytest.raises(ReleaseError, match="the audit of other records"):
        audit(other, out=tmp_path, methods=["disassociate:k=3,m=2"], workers=0)
    left = tmp_path / "private" / "keys" / ".gather-k3.key.0123456789abcdef.part"
    left.write_bytes(b"half")
    audited(tmp_path, methods=["gather:k=3"])
    assert not left.exists()


def test_releases_do_not_depend_on_the_order_of_records(tmp_path):
    mixed = TABLE.take([*range(len(TABLE) - 1, -1, -1)])
    methods = ["select-a-size:beta=0.2", "anatomy:l=2", "permutation:p=2"]
    for name, table in (("a", TABLE), ("b", mixed)):
        audit(
            table, out=tmp_path / name, sensitive=["HIV"], methods=methods, workers=0, seed=1,
            attacks=["linkage"], known=[1],
        )  # fmt: skip
    files = sorted(
        path.relative_to(tmp_path / "a") for path in (tmp_path / "a").rglob("candidates/*/*")
    )
    assert files
    for file in files:
        assert (tmp_path / "a" / file).read_bytes() == (tmp_path / "b" / file).read_bytes()


def test_a_seed_below_zero_is_refused(tmp_path):
    with pytest.raises(ParameterError, match="the seed is -1"):
        audited(tmp_path, seed=-1)


def test_files_of_a_configuration_stand_beside_it(tmp_path):
    (tmp_path / "audit.toml").write_text(
        'data = "visits.csv"\nrelatedness = ["release", "corpus:notes.index"]'
    )
    found = read_config(tmp_path / "audit.toml")["relatedness"]
    assert found == ["release", f"corpus:{tmp_path / 'notes.index'}"]
