"""Numbers beyond all bounds: refused in a sentence, or harmless; never a traceback or a wait."""

import os
import resource
import signal
import typing
from contextlib import contextmanager
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from setveil import Taxonomy
from setveil.anonymize import Clump
from setveil.cli import app
from setveil.core.errors import ParameterError
from setveil.core.params import params_of
from setveil.core.registry import entries
from setveil.engine.worker import limit_memory, resident

LIMITS = ("9" * 400, "9" * 5000, "nan", "inf", "-5", "1e400", "5 parsecs", "0", "", "٣s")
"""Not a time, not a size, or more of it than there is."""


@pytest.fixture
def data(tmp_path):
    """Return a small file of records."""
    file = tmp_path / "visits.csv"
    file.write_text("flu,gout\nflu,rash\nflu\ngout,rash\n" * 3)
    return file


def invoke(*arguments):
    return CliRunner().invoke(app, [str(each) for each in arguments])


@pytest.mark.parametrize("value", LIMITS)
@pytest.mark.parametrize("option", ["--budget", "--memory"])
@pytest.mark.parametrize("command", ["audit", "harden"])
def test_limits_of_audits(command, option, value, data, tmp_path):
    found = invoke(command, data, "--format", "basket", f"{option}={value}", "-o", tmp_path / "out")
    assert found.exit_code == 2, found.output
    assert f"{option} is {value[:60]!r}" in found.output
    assert len(found.output) < 400
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("value", LIMITS)
def test_limits_of_methods(value, data, tmp_path):
    method = ("anonymize", "suppress-control", data, "--format", "basket", "--sensitive-share", 0.5)
    found = invoke(*method, f"--budget={value}", "-o", tmp_path / "out")
    assert found.exit_code == 2, found.output
    assert "is not a duration" in found.output
    assert len(found.output) < 600


@pytest.mark.parametrize("value", ['"' + "9" * 400 + '"', "9" * 400, "inf", "nan", "-5"])
def test_limits_in_a_file(value, tmp_path):
    file = tmp_path / "audit.toml"
    file.write_text(f'data = "visits.csv"\nbudget = {value}\n')
    found = invoke("audit", file, "-o", tmp_path / "out")
    assert found.exit_code == 2, found.output
    assert "budget is" in found.output or "more than 128 bits" in found.output
    assert len(found.output) < 600


# --- every whole number of every method, attack, guarantee and command ----------------------------

BEYOND = (2**31, 2**63, 10**30)
SECONDS = 60
"""How long a command on a dozen records may take on a busy machine, compiling included."""
SOURCE = "corpus:words.index"
RELEASES = {
    "disassociate": ("--k", 2),
    "coat": ("--k", 2, "--constrained", 1),
    "gather": ("--k", 2, "--taxonomy", "tree.csv"),
    "token-hashing": (),
    "select-a-size": (),
}
ATTACKED = {
    **dict.fromkeys(("aba", "mra", "rga", "vpa", "semantic-prior"), ("disassociate", SOURCE)),
    **dict.fromkeys(("prior", "random"), ("disassociate", None)),
    **dict.fromkeys(("gba", "mda", "rba", "tba", "wba", "shadow"), ("coat", SOURCE)),
    "linkage": ("gather", None, "--targets", "visits.csv", "--taxonomy", "tree.csv"),
    "inference": (
        "gather", None, "--targets", "visits.csv", "--taxonomy", "tree.csv", "--sensitive",
        "sensitive.txt",
    ),
    "intersection": (
        "gather", None, "--targets", "visits.csv", "--taxonomy", "tree.csv", "--second", "coat",
    ),
    "noise-filter": ("select-a-size", None),
    "public-records": ("select-a-size", None, "--candidates", "visits.csv"),
    "token-frequency": ("token-hashing", None, "--reference", "visits.csv"),
}  # fmt: skip
"""For each attack with a number: a release, a source of relatedness, and what else it needs."""


def whole_numbers(kind):
    """Return name and parameter of everything of a kind that takes a whole number."""
    return [
        (entry, param)
        for entry in entries(kind)
        for param in params_of(entry.target)
        if param.type is int or int in typing.get_args(param.type)
    ]


def named(found):
    return [pytest.param(*each, id=f"{each[0].name}-{each[1].name}") for each in found]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Return a folder with records, a tree, sensitive items, an index and releases."""
    here = tmp_path_factory.mktemp("huge")
    before = Path.cwd()
    os.chdir(here)
    rows = "flu,gout\nflu,rash\nflu\ngout,rash\n" * 6 + "HIV,flu\nHIV,gout\n"
    (here / "visits.csv").write_text(rows)
    (here / "tree.csv").write_text("child,parent\n" + "".join(
        f"{item},illness\n" for item in ("flu", "gout", "rash", "HIV")
    ))  # fmt: skip
    (here / "sensitive.txt").write_text("HIV\n")
    (here / "notes").mkdir()
    for number in range(6):
        (here / "notes" / f"{number}.txt").write_text("flu gout HIV rash, flu and gout. Rash, HIV.")
    ended(0, "index", "notes", "-o", "words.index")
    for name, options in RELEASES.items():
        command = ("anonymize", name, "visits.csv", "--format", "basket", "-o", name)
        ended(0, *command, "--key", f"{name}.key", *options)
    yield here
    os.chdir(before)


@contextmanager
def little_memory():
    """Let the system refuse this process much more memory than it has."""
    _, hard = resource.getrlimit(resource.RLIMIT_DATA)
    limit_memory(resident(os.getpid()) + 2 * 10**9)
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_DATA, (hard, hard))


class TooSlowError(BaseException):
    """The time of a command is over; nothing catches this."""


def ended(codes, *arguments):
    """Run a command; it ends in time, with one of these codes, and never with a traceback."""

    def stop(*_):
        raise TooSlowError

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(SECONDS)
    try:
        with little_memory():
            found = invoke(*arguments)
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)
    assert found.exit_code in ({codes} if isinstance(codes, int) else codes), found.output
    assert "Traceback" not in found.output
    assert "memory" not in found.output
    return found


def needs(target):
    """Return the options of a method's inputs."""
    there = {"taxonomy": ("--taxonomy", "tree.csv"), "sensitive": ("--sensitive", "sensitive.txt")}
    return [word for name in sorted(target.requires) for word in there[name]]


@pytest.mark.parametrize(("entry", "param"), named(whole_numbers("anonymizer")))
def test_numbers_of_methods(entry, param, folder):
    flag = f"--{param.name.replace('_', '-')}"
    command = ("anonymize", entry.name, folder / "visits.csv", "--format", "basket", "--force")
    command = (*command, "-o", f"made-{entry.name}", *needs(entry.target))
    for value in BEYOND:
        found = ended(2, *command, flag, value)
        assert f"{param.name} is" in found.output
        assert f"use at most {param.most:,}" in found.output
    # As many as there may be: refused for what the data has, or without effect.
    found = ended(
        {0, 2}, *command, flag, param.most, *(("--p", 2) if param.name == "alpha" else ())
    )
    assert "memory" not in found.output


@pytest.mark.parametrize(("entry", "param"), named(whole_numbers("attack")))
def test_numbers_of_attacks(entry, param, folder):
    release, source, *more = ATTACKED[entry.name]
    flag = f"--{param.name.replace('_', '-')}"
    command = ("attack", entry.name, folder / release, "--force", "-o", "guess", *more)
    if source:
        command = (*command, "--relatedness", source)
    if "visits.csv" in more:
        command = (*command, "--format", "basket")
    for value in BEYOND:
        found = ended(2, *command, flag, value)
        assert f"use at most {param.most:,}" in found.output
    ended({0, 2}, *command, flag, param.most)


@pytest.mark.parametrize(("entry", "param"), named(whole_numbers("guarantee")))
def test_numbers_of_guarantees(entry, param, folder):
    more = ",itemsets=flu+gout" if entry.name == "support-constraints" else ""
    command = ("verify", folder / "gather", "-g")
    for value in (*BEYOND, 10**4000):
        if value > param.most:
            found = ended(2, *command, f"{entry.name}:{param.name}={value}{more}")
            assert f"use at most {param.most:,}" in found.output
            assert len(found.output) < 1000
    ended({0, 1, 2, 3}, *command, f"{entry.name}:{param.name}={param.most}{more}")


def test_numbers_of_several_parameters_at_once(folder):
    for spec in (f"km:k={2**31 - 1},m={2**31 - 1}", f"coherence:k={2**31 - 1},p={2**31 - 1}"):
        ended({1, 2, 3}, "verify", folder / "gather", "-g", spec)


def test_a_program_is_told_the_same():
    with pytest.raises(ParameterError, match="k is a number of more than 18 digits"):
        Clump(k=10**30)
    with pytest.raises(ParameterError, match=r"k is -3,000,000,000\. To fix: use at most 2,147"):
        Clump(k=-3_000_000_000)


VISITS = ("visits.csv", "--format", "basket")
PEOPLE = ("people.csv", "--quasi", "age", "-o", "made.csv", "--force")
VALUES = ("people.csv", "--sensitive", "visits", "-o", "made.csv", "--force")
COMMANDS = {
    "demo": ("--out", "demo"),
    "inspect": VISITS,
    "extract": ("notes", "-o", "made.jsonl", "--force"),
    "topics": VISITS,
    "select": (*VISITS, "-o", "made.jsonl", "--force", "--size", 3),
    "taxonomy build": (*VISITS, "-o", "made-tree.csv", "--force"),
    "anonymize disassociate": (*VISITS, "--k", 2, "-o", "made", "--force"),
    "attack linkage": ("coat", "--targets", *VISITS, "-o", "guess", "--force"),
    "measure": ("coat", "--original", *VISITS),
    "audit": (*VISITS, "--methods", "disassociate:k=2", "--budget", "0.001", "-o", "audit"),
    "harden": (*VISITS, "--methods", "disassociate:m=2", "--budget", "0.001", "-o", "harden"),
    "table anatomize": (*VALUES, "--sensitive-out", "values.csv"),
    "table permute": VALUES,
    "table noise": ("people.csv", "--column", "age", "-o", "made.csv", "--force"),
    "table swap": ("people.csv", "--column", "age", "-o", "made.csv", "--force"),
    "table relational-transaction": (*PEOPLE, "--items", "visits", "--taxonomy", "tree.csv"),
    "table check": ("k-anonymity", "people.csv", "--quasi", "age"),
}
"""Arguments with which a command has little to do; those of a table like each other."""
LONG = {("demo", "--records"), ("audit", "--workers"), ("harden", "--workers"),
        ("extract", "--workers")}  # fmt: skip
"""As much as these allow takes long, and is what was asked for."""


def numbers_of_commands():
    """Return each command with each of its whole numbers, and the most that it may be."""

    def walk(command, path):
        if hasattr(command, "list_commands"):
            for name in command.list_commands(context):
                yield from walk(command.get_command(context, name), (*path, name))
        else:
            yield path, command

    root = typer.main.get_command(app)
    context = typer.Context(root)
    own = {"anonymize": "disassociate", "attack": "linkage"}  # all others have the same
    registered = {
        param.name for kind in ("anonymizer", "attack") for _, param in whole_numbers(kind)
    }
    for path, command in walk(root, ()):
        if path[0] in own and path[1] != own[path[0]]:
            continue
        for param in command.params:
            kind = param.type_descriptor.annotation
            if kind is not int and int not in typing.get_args(kind):
                continue
            if path[0] not in own or param.name not in registered:
                name = " ".join(path)
                yield pytest.param(
                    name, param.opts[0], getattr(param, "max", None), id=f"{name} {param.opts[0]}"
                )


@pytest.mark.parametrize(("command", "option", "most"), list(numbers_of_commands()))
def test_numbers_of_commands(command, option, most, folder):
    assert folder == Path.cwd()
    people = "".join(f"{20 + number % 3},flu|gout\n" for number in range(12))
    Path("people.csv").write_text("age,visits\n" + people)
    arguments = COMMANDS.get(command, PEOPLE)
    for value in (*BEYOND, 10**4000):
        found = ended({0, 1, 2, 3}, *command.split(), *arguments, option, value)
        if most is not None:
            assert found.exit_code == 2
    if (command, option) not in LONG:
        found = ended({0, 1, 2, 3}, *command.split(), *arguments, option, most or 2**31 - 1)
        assert "Usage:" not in found.output


# --- nothing, or too much, between the parts of a line --------------------------------------------


@pytest.mark.parametrize(
    "command",
    [
        ("inspect", "visits.csv", "--separator="),
        ("inspect", "visits.csv", "--delimiter="),
        ("anonymize", "disassociate", "visits.csv", "-o", "none", "--separator="),
        ("audit", "visits.csv", "-o", "none", "--separator="),
        ("table", "mondrian", "people.csv", "--quasi", "age", "-o", "none", "--delimiter="),
        ("table", "mondrian", "people.csv", "--quasi", "age", "-o", "none", "--delimiter=||"),
        ("table", "check", "k-anonymity", "people.csv", "--quasi", "age", "--delimiter=||"),
    ],
)
def test_separators_that_separate_nothing(command, folder):
    Path("people.csv").write_text("age,visits\n20,flu\n20,gout\n")
    found = ended(2, *command)
    assert "separator" in found.output or "delimiter" in found.output
    assert not (folder / "none").exists()


def test_an_empty_separator_of_a_tree(folder):
    with pytest.raises(ParameterError, match="separator is empty"):
        Taxonomy.read(folder / "tree.csv", separator="")
