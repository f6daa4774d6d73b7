"""Directories and files from strangers never hang, fill the memory or end the process.

Each hostile thing is given to each command that reads such a thing. It must be refused with exit
code 2 and a sentence, in 10 seconds of computing time and 1 GB of memory.
"""

import hashlib
import io
import json
import os
import re
import resource
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import zipfile
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zstandard
from typer.testing import CliRunner

from setveil import TransactionTable
from setveil.cli import app
from setveil.core import untrusted
from setveil.release import publish_suppressed
from setveil.release.store import load_release, save, save_key

SECONDS = 10
MEMORY = 1 << 30


# --- running a command within bounds -------------------------------------------------------------


def run_apart(*arguments, stdin=b"", environment=None):
    """Run a command in a process of its own; return code, stderr, seconds of computing, peak."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as errors:
        process = subprocess.Popen(
            [sys.executable, "-P", "-m", "setveil", *map(str, arguments)],
            stdin=subprocess.PIPE,
            stdout=out,
            stderr=errors,
            env={**os.environ, **(environment or {})},
        )
        peak = Peak(process.pid)
        signal.signal(signal.SIGALRM, lambda *_: process.kill())
        signal.alarm(120)  # of a clock, on a machine that may be busy
        try:
            process.stdin.write(stdin)
            process.stdin.close()
            _, status, usage = os.wait4(process.pid, 0)
        finally:
            signal.alarm(0)
            peak.join()
        process.returncode = os.waitstatus_to_exitcode(status)
        errors.seek(0)
        said = errors.read().decode()
    return process.returncode, said, usage.ru_utime + usage.ru_stime, peak.bytes


class Peak(threading.Thread):
    """Watches the memory of a process, as long as there is one.

    What the system tells of a process that has ended counts that of whoever started it, too.
    """

    def __init__(self, process):
        super().__init__(daemon=True)
        self.status = Path(f"/proc/{process}/status")
        self.bytes = 0
        self.start()

    def run(self):
        while found := self._look():
            self.bytes = max(self.bytes, found)
            time.sleep(0.002)

    def _look(self):
        try:
            held = re.search(r"VmHWM:\s*(\d+) kB", self.status.read_text())
        except OSError:
            return 0
        return int(held[1]) * 1024 if held else 0  # without one it has ended


def refused_apart(*arguments, **extra):
    """Check that a command refuses what it is given, within the bounds; return what it says."""
    code, said, seconds, peak = run_apart(*arguments, **extra)
    assert code == 2, said
    assert "Traceback" not in said
    assert "panicked" not in said
    assert any(line.startswith("setveil: ") for line in said.splitlines())
    assert seconds <= SECONDS
    assert peak <= MEMORY
    return said


class TooSlowError(Exception):
    """The time is used up."""


@contextmanager
def in_time(seconds=SECONDS):
    def late(*_):
        raise TooSlowError

    signal.signal(signal.SIGALRM, late)
    before = resource.getrusage(resource.RUSAGE_SELF)
    signal.alarm(120)
    try:
        yield
    finally:
        signal.alarm(0)
    after = resource.getrusage(resource.RUSAGE_SELF)
    spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    assert spent <= seconds


def refused(*arguments):
    """Check that a command refuses what it is given; return what it says."""
    with in_time():
        done = CliRunner().invoke(app, [str(each) for each in arguments])
    assert done.exit_code == 2, (done.output, done.exception)
    assert any(line.startswith("setveil: ") for line in done.stderr.splitlines())
    return done.stderr


# --- a release, and what can be put in the place of a file ----------------------------------------


@pytest.fixture
def folder(tmp_path):
    """Return a folder with data, a release of it and its key."""
    rows = [["flu", "gout"], ["flu"], ["gout", "cough"], ["flu", "cough"]]
    (tmp_path / "visits.csv").write_text("".join(",".join(row) + "\n" for row in rows))
    table = TransactionTable.from_rows(rows)
    release, key = publish_suppressed(table, [True, True, True])
    save(release, tmp_path / "release", method="none", params={}, promise=None)
    save_key(key, tmp_path / "visits.key")
    return tmp_path


def replace_data(release, data, ending=None, **counts):
    """Put other content behind a manifest that is right about it."""
    file = release / "manifest.json"
    raw = json.loads(file.read_text())
    digest = hashlib.sha256(data).hexdigest()
    ending = ending or raw["data"]["format"]
    name = f"release-{digest[:16]}.{ending}"
    raw["data"].update(file=name, sha256=digest, format=ending)
    raw["counts"].update(counts)
    file.write_text(json.dumps(raw))
    (release / name).write_bytes(data)
    return release / name


def put_fifo(path):
    os.mkfifo(path)


def put_link_to_zero(path):
    path.symlink_to("/dev/zero")


def put_link_out(path):
    secret = path.parent.parent / "private.txt"
    secret.write_text("secret")
    path.symlink_to(secret)


def put_socket(path):
    here = Path.cwd()
    os.chdir(path.parent)  # the name of a socket must be short
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(path.name)
    os.chdir(here)


def put_large(path):
    """Put a file of 50 GB that takes no place on the disk."""
    with path.open("wb") as file:
        file.truncate(50 << 30)


IRREGULAR = [put_fifo, put_link_to_zero, put_socket, put_large]


def release_commands(folder):
    """Return the commands that read a release from a stranger."""
    release, data = folder / "release", folder / "visits.csv"
    return {
        "verify": ["verify", release, "-g", "km:k=2,m=1"],
        "measure": ["measure", release, "--original", data],
        "attack": ["attack", "linkage", release, "--targets", data, "-o", folder / "guess.json"],
    }


COMMANDS = ["verify", "measure", "attack"]


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("hostile", [*IRREGULAR, put_link_out])
def test_a_manifest_that_is_no_file(folder, command, hostile):
    (folder / "release" / "manifest.json").unlink()
    hostile(folder / "release" / "manifest.json")
    refused(*release_commands(folder)[command])


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("hostile", [*IRREGULAR, put_link_out])
def test_a_data_file_that_is_no_file(folder, command, hostile):
    (data,) = (folder / "release").glob("release-*")
    data.unlink()
    hostile(data)
    refused(*release_commands(folder)[command])


@pytest.mark.parametrize("command", COMMANDS)
def test_the_commands_work_when_nothing_is_hostile(folder, command):
    done = CliRunner().invoke(app, [str(each) for each in release_commands(folder)[command]])
    assert done.exit_code in {0, 1}, done.output


# --- directories of parts -------------------------------------------------------------------------


@pytest.fixture
def parts(folder):
    """Return the directory of parts of a release whose manifest is right about it."""
    release = folder / "release"
    sink = io.BytesIO()
    pl.DataFrame({"items": load_release(release).to_rows()}).write_parquet(sink)
    part = sink.getvalue()
    content = b"setveil parts\n" + len(part).to_bytes(8, "big") + part
    place = replace_data(release, content)
    place.unlink()
    place.mkdir()
    (place / "part-00000.parquet").write_bytes(part)
    assert len(load_release(release)) == 4
    return place


def put_folder(path):
    path.mkdir()


@pytest.mark.parametrize("hostile", [*IRREGULAR, put_folder])
def test_a_part_that_is_no_file(folder, parts, hostile):
    hostile(parts / "part-00001.parquet")
    refused(*release_commands(folder)["verify"])


def test_parts_that_are_a_link(folder, parts):
    parts.rename(folder / "elsewhere")
    parts.symlink_to(folder / "elsewhere")
    assert "link" in refused(*release_commands(folder)["verify"])


def test_too_many_parts(folder, parts, monkeypatch):
    monkeypatch.setattr(untrusted, "FOLDER_LIMIT", 3)
    for number in range(1, 5):
        (parts / f"part-0000{number}.parquet").write_bytes(b"")
    assert "more than 3 files" in refused(*release_commands(folder)["verify"])


# --- small files that become large ----------------------------------------------------------------


def equal_rows(rows):
    """Return a Parquet file of equal rows: a few bytes for millions of them."""
    sink = io.BytesIO()
    schema = pa.schema([("record", pa.int64()), ("item", pa.string())])
    block = pa.table(
        [
            pa.array(np.zeros(10**7, np.int64)),
            pa.array(["flu"]).take(pa.array(np.zeros(10**7, np.int8))),
        ],
        schema,
    )
    with pq.ParquetWriter(sink, schema, compression="zstd") as writer:
        for _ in range(rows // 10**7):
            writer.write_table(block)
    return sink.getvalue()


@pytest.fixture(scope="module")
def parquet_bomb():
    """Return a file of 3 kB and 20 million rows; pages of the same kind make 300 million."""
    return equal_rows(2 * 10**7)


def test_equal_rows(folder, parquet_bomb):
    replace_data(folder / "release", parquet_bomb, records=1, occurrences=2 * 10**7)
    assert len(parquet_bomb) < 10**6
    said = refused(*release_commands(folder)["verify"])
    assert "more than the limit of 250 MB" in said
    assert "--input-limit 1G" in said


@pytest.mark.slow
def test_three_hundred_million_equal_rows(folder):
    data = equal_rows(3 * 10**8)
    assert len(data) < 3 * 10**6
    replace_data(folder / "release", data, records=1, occurrences=3 * 10**8)
    for command in release_commands(folder).values():
        assert "7.2 GB" in refused_apart(*command)
    (folder / "table.parquet").write_bytes(data)
    assert "7.2 GB" in refused_apart("inspect", folder / "table.parquet")
    check = ["table", "check", "k-anonymity", folder / "table.parquet"]
    assert "7.2 GB" in refused_apart(*check, "--quasi", "item", "--k", "2")


def test_the_limit_can_be_raised_and_lowered(folder):
    (folder / "release" / "manifest.json").write_text("[" + "1," * 200_000 + "1]")
    assert "does not describe a release" in refused(*release_commands(folder)["verify"])
    command = ["--input-limit", "1M", *release_commands(folder)["verify"]]
    assert "more than the limit of 1 MB" in refused(*command)
    done = CliRunner().invoke(app, ["--input-limit", "much", "verify", "release"])
    assert done.exit_code == 2


@pytest.fixture(autouse=True)
def _limits_as_they_are(monkeypatch):
    """Forget the limit that a command set for the processes that it starts."""
    monkeypatch.setenv(untrusted.VARIABLE, "")


def zip_of(**members):
    sink = io.BytesIO()
    with zipfile.ZipFile(sink, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for name, content in members.items():
            with archive.open(f"{name}.npy", "w", force_zip64=True) as file:
                for block in content:
                    file.write(block)
    return sink.getvalue()


def npy(shape, dtype="<i8"):
    sink = io.BytesIO()
    np.lib.format.write_array_header_1_0(
        sink, {"shape": shape, "fortran_order": False, "descr": dtype}
    )
    return sink.getvalue()


def zip_bomb():
    """Return a key of 3 MB with 600 MB of records."""
    return zip_of(records=[npy((75 << 20,)), *[bytes(1 << 20)] * 600])


KEYS = {
    "bomb": zip_bomb,
    "shape": lambda: zip_of(records=[npy((1 << 50,))]),
    "objects": lambda: zip_of(records=[npy((1,), "|O"), b"x"]),
    "entries": lambda: zip_of(**{f"a{i}": [] for i in range(10_001)}),
    "nested names": lambda: zip_of(records=[npy((0,))], names=[npy((10**6,), "|u1"), b"[" * 10**6]),
    "no zip": lambda: b"PK\x03\x04" * 1000,
}


@pytest.mark.parametrize("name", KEYS)
def test_keys(folder, name):
    (folder / "visits.key").write_bytes(KEYS[name]())
    command = [*release_commands(folder)["measure"], "--key", folder / "visits.key"]
    refused(*command)


# --- everything else that is named by the user but made by others ---------------------------------


def large_json():
    """Return JSON that takes twenty times its 30 MB."""
    return b"[" + b"[]," * 10**7 + b"0]"


def deep_json():
    return b'{"setveil": "guess", "version": 2, "kind": "x", "a": ' + b"[" * 10**5


def many_digits():
    return b'{"setveil": "guess", "version": ' + b"9" * 5000 + b"}"


def deep_toml():
    return b"a = " + b"[" * 3000


def dotted_toml():
    return b"a." * 20_000 + b"a = 1\n"


def long_toml():
    return b"# \n" * 10**6


def endless_list():
    return b"ab\n" * 10**7


HURT = "HURT"  # what stands in a command for the path of the hostile thing


def named_files(folder):
    """Return for each kind of file the command that reads it, and contents made to hurt."""
    data, release = folder / "visits.csv", folder / "release"
    out = ["-o", folder / "out"]
    measure = ["measure", release, "--original", data]
    attack = ["attack", "semantic-prior", folder / "chunks", *out, "--relatedness"]
    jsons, settings = [large_json, deep_json, many_digits], [deep_toml, dotted_toml, long_toml]
    promise = f"rho-uncertainty:rho=0.5,sensitive=@{HURT}"
    suppress = ["anonymize", "simple-suppression", data, *out, "--rho", "0.5", "--sensitive", HURT]
    return {
        "guess": ([*measure, "--key", folder / "visits.key", "--guess", HURT], jsons),
        "key": ([*measure, "--key", HURT], [large_json]),
        "audit": (["report", folder / "hurt"], jsons),
        "audit.toml": (["audit", HURT, *out], settings),
        "layout": (["inspect", data, "--layout", HURT], settings),
        "sensitive": (suppress, [endless_list]),
        "taxonomy": (["taxonomy", "check", HURT], []),
        "secret": (["anonymize", "token-hashing", data, *out, "--secret-file", HURT], []),
        "guarantee": (["verify", release, "-g", promise], [endless_list]),
        "web": ([*attack, f"web:{HURT}"], settings),
        "index": ([*attack, f"corpus:{HURT}"], [large_json]),
        "vectors": ([*attack, f"glove:{HURT}"], [KEYS["bomb"], KEYS["shape"]]),
    }


NAMES = {"audit": "private/audit.json", "audit.toml": "audit.toml", "vectors": "a.npz"}


@pytest.fixture(scope="module")
def chunks(tmp_path_factory):
    """Return a disassociated release: attacks on such a one take sources of relatedness."""
    here = tmp_path_factory.mktemp("chunks")
    (here / "visits.csv").write_text("flu,gout\nflu,gout\nflu,cough\nflu,cough\n")
    command = ["anonymize", "disassociate", here / "visits.csv", "--format", "basket", "--k", "2"]
    done = CliRunner().invoke(app, [*map(str, command), "-o", str(here / "chunks")])
    assert done.exit_code == 0, done.output
    return here / "chunks"


def hostile_runs(folder, chunks, kind):
    """Put one hostile thing after the other in the place of a file; yield the command and where."""
    shutil.copytree(chunks, folder / "chunks")
    command, contents = named_files(folder)[kind]
    hurt = folder / "hurt" / NAMES.get(kind, "a.txt")
    hurt.parent.mkdir(parents=True)
    command = [str(each).replace(HURT, str(hurt)) for each in command]
    for put in (*IRREGULAR, *contents):
        if put in IRREGULAR:
            put(hurt)
        else:
            hurt.write_bytes(put())
        yield command, str(hurt)
        hurt.unlink()
    assert not (folder / "out").exists()


@pytest.mark.parametrize("kind", list(named_files(Path())))
def test_files_that_are_named(folder, chunks, kind):
    for command, place in hostile_runs(folder, chunks, kind):
        assert place in refused(*command)


# --- the same in processes of their own, of which time and memory are measured --------------------


def test_time_and_memory(folder, parquet_bomb):
    key = folder / "visits.key"
    key.write_bytes(zip_bomb())
    refused_apart(*release_commands(folder)["measure"], "--key", key)
    replace_data(folder / "release", parquet_bomb, records=1, occurrences=2 * 10**7)
    refused_apart(*release_commands(folder)["verify"])
    (folder / "release" / "manifest.json").unlink()
    os.mkfifo(folder / "release" / "manifest.json")
    refused_apart(*release_commands(folder)["verify"])


@pytest.mark.slow
@pytest.mark.parametrize("kind", list(named_files(Path())))
def test_time_and_memory_for_files_that_are_named(folder, chunks, kind):
    for command, place in hostile_runs(folder, chunks, kind):
        assert place in refused_apart(*command)


@pytest.mark.slow
@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("name", ["manifest.json", "release-*"])
def test_time_and_memory_for_releases(folder, command, name):
    (place,) = (folder / "release").glob(name)
    place.unlink()
    for put in (*IRREGULAR, put_link_out):
        put(place)
        refused_apart(*release_commands(folder)[command])
        place.unlink()


# --- data that the user names ---------------------------------------------------------------------


def test_pipes_go_on_working(folder):
    """The shell's <(command) and the standard input are read, also for lists and secrets."""
    words = (
        f"{sys.executable} -P -m setveil anonymize token-hashing <(cat visits.csv) --format basket "
        f"--secret-file <(head -c 40 /dev/zero | tr '\\0' x) -o out --quiet && cat visits.csv | "
        f"{sys.executable} -P -m setveil inspect /dev/stdin --format basket --quiet"
    )
    done = subprocess.run(["bash", "-c", words], cwd=folder, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("form", ["fimi", "basket", "jsonl"])
def test_one_long_line_in_a_small_file(folder, form):
    """Of 192 kB came one line of 60 MB, and of that millions of texts."""
    path = folder / "line.zst"
    path.write_bytes(zstandard.compress(b"a " * (30 << 20)))
    assert path.stat().st_size < 192_000
    said = refused("inspect", path, "--format", form)
    assert "a line of it holds at least" in said
