"""Commands that write files, killed at every file event; what must hold afterwards."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

import setveil

PART = re.compile(r"\.[0-9a-f]{16}\.part$")
TIMED = re.compile(r"private/(audit\.json|report\.html|runs/.*)")
"""Files of an audit that tell how long things took: never the same twice."""
TIMEOUT = 300

VISITS = [
    ["flu", "cough"], ["flu", "fever"], ["cold", "cough"], ["cold"], ["asthma", "cough", "flu"],
    ["asthma", "fever"], ["flu"], ["cold", "fever", "cough"],
] * 3  # fmt: skip
TREE = {
    "flu": "infection", "cold": "infection", "asthma": "chronic", "infection": "condition",
    "chronic": "condition", "cough": "symptom", "fever": "symptom", "condition": "finding",
    "symptom": "finding",
}  # fmt: skip
PEOPLE = "Age,Town,Illness\n" + "".join(
    f"{20 + n % 7},{'NS'[n % 2]},{['flu', 'gout', 'cold'][n % 3]}\n" for n in range(18)
)


@dataclass(frozen=True)
class Scenario:
    """A command, what is there before it runs, and what it writes.

    Parameters
    ----------
    name
        What a failed test is called.
    command
        The command that is killed; ``{shm}`` stands for a folder on another file system.
    before
        Commands that run first.
    release, key, audit
        Where it writes a release, its key, an audit.
    step
        Of how many events one is tried, where all would take too long.
    """

    name: str
    command: str
    before: tuple[str, ...] = ()
    release: str = ""
    key: str = ""
    audit: str = ""
    step: int = 1


GATHER = "anonymize gather visits.jsonl --taxonomy tree.csv --force -o release"
AUDIT = (
    "audit visits.jsonl --methods gather:k=2 --methods disassociate:k=2,m=1 --taxonomy tree.csv "
    "--attacks linkage --known 1 --target 0.9 --workers 0 --seed 1 --quiet -o out"
)
LINKAGE = "attack linkage release --targets visits.jsonl --seed 1 -o guess.json --force --quiet"
QUASI = "people.csv --quasi Age --quasi Town --force"


def released(name, options, key="visits.key", before=()):
    return Scenario(
        f"anonymize {name}",
        f"{GATHER} --k 2 --key {key} {options}",
        before=before,
        release="release",
        key=key,
    )


SCENARIOS = (
    released("for the first time", ""),
    *(
        released(f"again as {kind}", f"--release-format {kind}",
                 before=(f"{GATHER} --k 4 --key visits.key",))
        for kind in ("parquet", "jsonl", "csv")
    ),
    released("the same again", "", before=(f"{GATHER} --k 2 --key visits.key",)),
    released("with a key elsewhere", "", key="{shm}/visits.key",
             before=(f"{GATHER} --k 4 --key {{shm}}/visits.key",)),
    Scenario("anonymize without a key", f"{GATHER} --k 2", release="release"),
    Scenario("anonymize in chunks",
             "anonymize disassociate visits.jsonl --k 2 --force -o release --key visits.key",
             before=(f"{GATHER} --k 4 --key visits.key",), release="release", key="visits.key"),
    Scenario("audit", AUDIT, audit="out"),
    Scenario("audit, more methods", f"{AUDIT} --methods disassociate:k=3,m=1", before=(AUDIT,),
             audit="out"),
    Scenario("audit in a worker", AUDIT.replace("--workers 0", "--workers 1"), audit="out", step=4),
    Scenario("harden", "harden visits.jsonl --methods disassociate:k=2|3,m=1 --attacks linkage "
             "--known 1 --target 0.9 --workers 0 --seed 1 --quiet -o out", audit="out"),
    Scenario("demo, data only", "demo --out out --records 40 --data-only --quiet"),
    Scenario("report", "report out --quiet", before=(AUDIT,)),
    Scenario("report as Markdown", "report out --format md -o report.md --force --quiet",
             before=(AUDIT, "report out --format md -o report.md --quiet")),
    Scenario("report with figures", "report out --figures figures --quiet", before=(AUDIT,)),
    Scenario("extract", "extract notes -o items.csv --force --quiet"),
    Scenario("index", "index notes -o notes.index --force --quiet",
             before=("index notes/0.txt -o notes.index --quiet",)),
    Scenario("taxonomy build", "taxonomy build visits.jsonl --fanout 2 -o new.csv --force --quiet",
             before=("taxonomy build visits.jsonl --fanout 3 -o new.csv --quiet",)),
    Scenario("taxonomy export", "taxonomy export tree.csv -o arx.csv --force --quiet"),
    *(
        Scenario(f"select as {kind}",
                 f"select visits.jsonl --size 9 --seed 1 -o chosen.{kind} --force --quiet",
                 before=(f"select visits.jsonl --size 5 --seed 2 -o chosen.{kind} --quiet",))
        for kind in ("csv", "parquet", "jsonl.gz")
    ),
    Scenario("topics", "topics visits.jsonl -n 2 --topic 1 --seed 1 -o chosen.jsonl --force -q"),
    Scenario("inspect", "inspect visits.jsonl --save-layout layout.toml --force --quiet"),
    Scenario("attack", f"{LINKAGE} --m 2", before=(f"{GATHER} --k 2", f"{LINKAGE} --m 1")),
    Scenario("table subtree", f"table subtree {QUASI} --hierarchy Age=5,10 --k 2 -o table.csv -q"),
    Scenario("table as Parquet", f"table mondrian {QUASI} --k 2 -o table.parquet -q"),
    Scenario("table anatomize", "table anatomize people.csv --force --sensitive Illness --seed 1 "
             "-o table.csv --sensitive-out illness.csv -q"),
    Scenario("table swap", "table swap people.csv --column Age --seed 1 -o table.csv --force -q"),
)  # fmt: skip


@dataclass
class Server:
    """A process with setveil in it that forks for each command (see ``server.py``)."""

    folder: Path
    shm: Path
    kills: int = 0
    _process: subprocess.Popen = field(init=False)

    def __post_init__(self):
        sources = Path(setveil.__file__).parents[1]
        server = Path(__file__).with_name("server.py")
        self._process = subprocess.Popen(
            [sys.executable, "-P", str(server), str(sources)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self._process.stdout.readline() == "ready\n"

    def run(self, command, *, at=0, number=signal.SIGKILL):
        """Run a command in the folder; a signal comes before its event of this number."""
        output = self.folder.with_suffix(".output")
        request = {
            "cwd": str(self.folder),
            "argv": command.format(shm=self.shm).split(),
            "folders": [str(self.folder), str(self.shm)],
            "at": at,
            "signal": int(number),
            "timeout": TIMEOUT,
            "output": str(output),
        }
        self._process.stdin.write(json.dumps(request) + "\n")
        self._process.stdin.flush()
        found = json.loads(self._process.stdout.readline())
        found["output"] = output.read_text()
        assert not found["hung"], f"{command} hangs: {found['output']}"
        self.kills += bool(at) and found.get("events", at) >= at
        return found

    def close(self):
        self._process.stdin.close()
        self._process.stdout.close()
        self._process.wait(timeout=60)


class Place:
    """The folder in which a scenario runs, again and again from the same start."""

    def __init__(self, server, scenario, spare):
        self.server, self.scenario, self.spare = server, scenario, spare
        self.clear()
        write_inputs(server.folder)
        for command in scenario.before:
            done = server.run(command)
            assert done["code"] in {0, 1}, done["output"]
        self.inputs = self.state()
        for folder in self.folders:
            shutil.copytree(folder, spare / folder.name)
        done = server.run(scenario.command)
        assert done["code"] in {0, 1}, done["output"]
        self.code, self.events, self.log = done["code"], done["events"], done["log"]
        self.finished = self.state()
        assert not leftovers(self.finished)
        assert self.events

    @property
    def folders(self):
        return (self.server.folder, self.server.shm)

    def clear(self):
        for folder in self.folders:
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir()

    def restore(self):
        for folder in self.folders:
            shutil.rmtree(folder)
            shutil.copytree(self.spare / folder.name, folder)

    def state(self):
        """Return all files, and directories as None."""
        return {
            f"{folder.name}/{path.relative_to(folder)}": path.read_bytes()
            if path.is_file()
            else None
            for folder in self.folders
            for path in sorted(folder.rglob("*"))
        }

    def below(self, state, folder):
        start = f"{self.server.folder.name}/{folder}/"
        return {name: content for name, content in state.items() if name.startswith(start)}

    def key_of(self, state):
        key = self.scenario.key
        name = f"{self.server.shm.name}/{key[6:]}" if key.startswith("{shm}") else None
        return state.get(name or f"{self.server.folder.name}/{key}")


def write_inputs(folder):
    """Write the files that commands read."""
    lines = "".join(json.dumps(visit) + "\n" for visit in VISITS)
    (folder / "visits.jsonl").write_text(lines)
    (folder / "tree.csv").write_text("".join(f"{a},{b}\n" for a, b in TREE.items()))
    (folder / "people.csv").write_text(PEOPLE)
    (folder / "notes").mkdir()
    for number, visit in enumerate(VISITS[:8]):
        (folder / "notes" / f"{number}.txt").write_text(f"The patient has {' and '.join(visit)}.")


def leftovers(state):
    return [name for name in state if any(PART.search(part) for part in name.split("/"))]


def check_files(place, state):
    """Every file is as before, or as it should become; nothing is half-written."""
    before, after = place.inputs, place.finished
    for name, content in state.items():
        if leftovers([name]):
            continue
        if TIMED.search(name):
            if name.endswith(".json"):
                json.loads(content)
            assert content
            continue
        either = [known[name] for known in (before, after) if name in known]
        assert content in either or _is_uncommitted(place, name), name
    for name in before:
        assert name in state or name not in after or place.scenario.release, f"{name} is gone"


def _is_uncommitted(place, name):
    """A data file may be there before its manifest is, and until the next command."""
    releases = place.scenario.release or place.scenario.audit
    return bool(releases) and bool(re.search(r"/release-[0-9a-f]{16}\.\w+$", name))


def check_release(place, state):
    """The release is the old one or the new one as a whole, and has the key it was made with.

    That is so after the next command that reads them: it clears what the kill left.
    """
    scenario, server = place.scenario, place.server
    manifest = f"{server.folder.name}/{scenario.release}/manifest.json"
    if manifest not in state:
        assert manifest not in place.inputs
        return
    done = server.run(f"verify {scenario.release}")
    assert done["code"] == 0, done["output"]
    which = [known for known in (place.inputs, place.finished)
             if state[manifest] == known.get(manifest)]  # fmt: skip
    assert which
    if not scenario.key:
        return
    done = server.run(f"measure {scenario.release} --original visits.jsonl --key {scenario.key} -q")
    assert done["code"] == 0, done["output"]
    now = place.state()
    assert not leftovers(now)
    assert any(
        place.below(now, scenario.release) == place.below(known, scenario.release)
        and place.key_of(now) == place.key_of(known)
        for known in which
    )


def check_again(place):
    """The same command again ends as if nothing had been, and leaves nothing behind."""
    done = place.server.run(place.scenario.command)
    assert done["code"] == place.code, done["output"]
    state = place.state()
    assert not leftovers(state)
    assert state.keys() == place.finished.keys()
    for name, content in place.finished.items():
        if not TIMED.search(name):
            assert state[name] == content, name
    if place.scenario.audit:
        audits = [name for name in state if name.endswith("private/audit.json")]
        assert [timeless(state[name]) for name in audits] == [
            timeless(place.finished[name]) for name in audits
        ]


def timeless(audit):
    """Return what an audit found, without how long it took."""

    def strip(value):
        if isinstance(value, dict):
            return {name: strip(inner) for name, inner in value.items() if name != "seconds"}
        return [strip(inner) for inner in value] if isinstance(value, list) else value

    return strip(json.loads(audit))


def look(state):
    """Return a state without the parts of names that are drawn at random."""
    return frozenset(
        (PART.sub("", name), content) for name, content in state.items() if not TIMED.search(name)
    )


def kill_everywhere(server, scenario, spare, *, step=None):
    """Kill a command before each of its file events, and check what is left; return how often."""
    place = Place(server, scenario, spare)
    seen = set()
    points = range(1, place.events + 1, step or scenario.step)
    for at in points:
        place.restore()
        done = server.run(scenario.command, at=at)
        assert done["status"] == -signal.SIGKILL, (at, done)
        state = place.state()
        try:
            check_files(place, state)
            if look(state) in seen:  # the same files were checked before
                continue
            seen.add(look(state))
            if scenario.release:
                check_release(place, state)
            check_again(place)
        except AssertionError as error:
            raise AssertionError(f"{scenario.name}, before {place.log[at - 1]}: {error}") from error
    return len(points)


def stop_everywhere(server, scenario, spare, number, *, step):
    """Send a signal that can be handled before some file events: nothing half-done is left."""
    place = Place(server, scenario, spare)
    points = range(1, place.events + 1, step)
    for at in points:
        place.restore()
        done = server.run(scenario.command, at=at, number=number)
        where = (scenario.name, place.log[at - 1], done)
        assert done["status"] in {128 + number, place.code}, where
        state = place.state()
        assert not leftovers(state), where
        check_files(place, state)
        if scenario.release:
            ends = [look(place.below(known, scenario.release)) for known in
                    (place.inputs, place.finished)]  # fmt: skip
            assert look(place.below(state, scenario.release)) in ends, where
        check_again(place)
    return len(points)


def other_file_system(fallback):
    """Return a folder on another file system than the tests', where there is one."""
    shm = Path("/dev/shm")
    usable = shm.is_dir() and os.access(shm, os.W_OK)
    return Path(f"{shm}/setveil-kill-{os.getpid()}") if usable else fallback
