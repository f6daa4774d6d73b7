"""``setveil attack METHOD``: a command for each registered attack, with its own options."""

import sys
from collections.abc import Mapping
from contextlib import redirect_stdout
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from setveil.cli.options import (
    STDOUT,
    PlaceOption,
    SeedOption,
    argument,
    check_output,
    check_place,
    command_app,
    command_of,
    expand_options,
    find_spark,
    group_of,
    option,
    release_directory,
)
from setveil.cli.output import (
    JsonOption,
    Progress,
    QuietOption,
    announce_compiling,
    echo,
    emit,
    print_table,
    say,
)
from setveil.cli.reading import READING, Original, OriginalOptions, Reading
from setveil.core.errors import ParameterError, ReleaseError, SetveilError
from setveil.core.params import published_params

if TYPE_CHECKING:
    import numpy as np

    from setveil.core.registry import Entry
    from setveil.release.base import Release


TargetsOption = Annotated[
    str | None,
    typer.Option(
        "--targets",
        metavar="DATA",
        help="The original data: whom to look for, and what is known of them, is drawn from it; "
        "- reads stdin.",
    ),
]
SecondOption = Annotated[
    str | None,
    typer.Option("--second", metavar="RELEASE", help="Another release of the same people."),
]


EXAMPLE = "Example: setveil attack {name} release{inputs} -o guess.json"
INPUTS = {
    "reference": " --reference other.csv",
    "relatedness": " --relatedness corpus:notes.index",
    "candidates": " --candidates public.csv",
    "targets": " --targets visits.csv",
    "sensitive": " --sensitive sensitive.txt",
    "second": " --second another",
}
TREE = frozenset(each.name for each in fields(OriginalOptions))
"""Options that are about the tree of the items."""


def command_for(entry: "Entry") -> Any:
    """Return the command of one attack: its parameters, and what its adversary must know."""
    needed: frozenset[str] = getattr(entry.target, "requires", frozenset())
    inputs = "".join(text for name, text in INPUTS.items() if name in needed)
    accepted: frozenset[str] = getattr(entry.target, "accepts", frozenset())
    without = set() if needed & {"reference", "candidates", "targets"} else set(READING)
    without |= {"reference", "candidates", "relatedness", "targets", "second"} - needed
    without |= set() if "taxonomy" in accepted else TREE
    if not hasattr(entry.target, "explain"):
        without.add("explain")
    return command_of(
        entry,
        run,
        example=lambda _: EXAMPLE.format(name=entry.name, inputs=inputs),
        without=frozenset(without),
    )


attack_app = command_app(
    "attack",
    group_of("attack", "Attacks", command_for),
    text="Try to learn from a release what it should not tell.",
    usage="RELEASE -o GUESS",
    noun="an attack",
)


@expand_options
def run(  # one parameter per option of the command line
    entry: "Entry",
    params: Mapping[str, Any],
    *,
    release: str = argument("RELEASE", "Directory that `setveil anonymize` wrote."),
    out: Path = option(..., "File for the guess.", "--out", "-o", metavar="GUESS"),
    reference: str | None = option(
        None,
        "Records like the originals that the adversary can read; - reads stdin.",
        metavar="DATA",
    ),
    candidates: str | None = option(
        None, "Public records, some of which may be the originals; - reads stdin.", metavar="DATA"
    ),
    relatedness: str | None = option(
        None,
        "How far apart terms are: corpus:INDEX, glove:FILE, wordnet, web:CONFIG, "
        "or a weighted sum of these.",
        metavar="SPEC",
    ),
    targets: TargetsOption = None,
    second: SecondOption = None,
    original: OriginalOptions,
    explain: int | None = option(
        None,
        "Say for a record of the release, counted from 1, what spoke against each "
        "member that was eliminated from it.",
        metavar="RECORD",
    ),
    reading: Reading,
    seed: SeedOption = None,
    engine: PlaceOption = "local",
    force: bool = option(False, "Replace GUESS."),
    quiet: QuietOption = False,
    json: JsonOption = False,
) -> None:
    """Load what is attacked and what is known, attack, write the guess."""
    import numpy as np

    from setveil.attack import check_applies, save_guess
    from setveil.relatedness.base import named_places
    from setveil.release.store import load_release

    check_place(engine)
    directory = release_directory(release)
    sources = () if relatedness is None else named_places(relatedness)
    inputs = [directory, reference, *sources]
    check_output(str(out), "the guess", force=force, json=json, inputs=inputs)
    method = entry.target(**params)
    given = {"reference": reference, "candidates": candidates, "relatedness": relatedness}
    _check_knowledge(
        entry.name,
        method,
        given | {"targets": targets, "second": second, "sensitive": original.sensitive},
    )
    attacked = _runner(engine, method)
    with Progress(quiet=quiet) as progress, announce_compiling(quiet=quiet):
        progress("loading")
        published = load_release(directory)
        check_applies(entry.name, method.applies_to, published)
        if explain is not None and not 1 <= explain <= len(published):
            raise ParameterError(
                f"there is no record {explain}", fix=f"name one from 1 to {len(published)}"
            )
        knowledge: dict[str, Any] = {"rng": np.random.default_rng(seed)}
        knowledge |= _records(
            {"reference": reference, "candidates": candidates}, reading, quiet=quiet
        )
        if relatedness is not None:
            from setveil.relatedness import parse_relatedness

            knowledge["relatedness"] = parse_relatedness(relatedness, release=published)
        if targets is not None:
            known = original.read(targets, reading, quiet=quiet)
            knowledge |= _draw_people(method, known, knowledge["rng"])
        if second is not None:
            knowledge["second"] = load_release(release_directory(second))
        if "anonymizer" in method.requires:
            knowledge["anonymizer"] = anonymizer_of(directory)
        if "progress" in getattr(method, "accepts", ()):
            knowledge["progress"] = progress
        progress("attacking")
        guess = attacked(published, **knowledge)
        said = []
        if explain is not None:
            progress("explaining")
            source = knowledge["relatedness"]
            said = method.explain(guess, published, explain - 1, relatedness=source)
        progress("writing")
        save_guess(guess, out, release=published)
    result: dict[str, Any] = {
        "attack": entry.name,
        "params": published_params(method, params),
        "release": release,
        "guess": str(out),
        "notes": list(getattr(guess, "notes", ())),
    }
    if explain is not None:
        result |= {"record": explain, "reasons": [reason._asdict() for reason in said]}
    if json:
        emit(result)
    else:
        _print_result(result, quiet=quiet)


def _draw_people(method: Any, original: Original, rng: "np.random.Generator") -> dict[str, Any]:
    """Return whom an attack looks for, and the tree of the items."""
    from setveil.measure import draw_questions, draw_targets

    known: dict[str, Any] = {}
    if original.taxonomy is not None:
        known["taxonomy"] = original.taxonomy
    drawing = {"m": method.m, "knowledge": method.knowledge, "sample": method.sample, "rng": rng}
    if "sensitive" in method.requires:
        people = draw_questions(original.table, sensitive=original.sensitive, **drawing)
    else:
        people = draw_targets(original.table, **drawing)
    return known | {"targets": people}


def _runner(engine: str, method: Any) -> Any:
    """Return what runs an attack: the attack itself, or the attack on Spark, part by part."""
    spark = find_spark(engine)
    if spark is None:
        return method.run
    from setveil.attack.base import check_in_parts, run_in_parts
    from setveil.spark import DistributedRelease

    check_in_parts(method)

    def run_there(published: "Release", **known: Any) -> Any:
        known.pop("progress", None)  # workers cannot call it
        there = DistributedRelease.from_release(published, spark)
        return run_in_parts(method, there, **known)

    return run_there


def _records(given: Mapping[str, str | None], reading: Reading, *, quiet: bool) -> dict[str, Any]:
    """Read the records that an adversary knows."""
    known = {name: path for name, path in given.items() if path is not None}
    return {name: reading.read(path, quiet=quiet) for name, path in known.items()}


MISSING = {
    "reference": (
        "compares with records that can be read, and none are given",
        "give them with --reference DATA",
    ),
    "candidates": (
        "looks for the originals among public records, and none are given",
        "give them with --candidates DATA",
    ),
    "relatedness": (
        "asks how far apart terms are, and no source is named",
        "name one with --relatedness, such as corpus:INDEX or glove:FILE",
    ),
    "targets": (
        "looks for people, and none are given",
        "give the original data with --targets DATA: they are drawn from it",
    ),
    "sensitive": (
        "asks about sensitive items, and none are named",
        "name them in a file, one per line, with --sensitive FILE",
    ),
    "second": (
        "compares two releases, and one is given",
        "name another one of the same people with --second RELEASE",
    ),
}


def _check_knowledge(name: str, method: Any, given: Mapping[str, str | None]) -> None:
    """Refuse to start without what an attack cannot do without."""
    for knowledge, (what, fix) in MISSING.items():
        if knowledge in method.requires and given[knowledge] is None:
            raise ParameterError(f"{name} {what}", fix=fix)


def _print_result(result: Mapping[str, Any], *, quiet: bool) -> None:
    for note in result["notes"]:
        say(note, quiet=quiet)
    summary = f"{result['guess']}: what {result['attack']} makes of {result['release']}"
    if result["guess"] == STDOUT:  # where the guess stands alone
        say(summary, quiet=quiet)
        with redirect_stdout(sys.stderr):
            _print_reasons(result)
    else:
        echo(summary)
        _print_reasons(result)


def _print_reasons(result: Mapping[str, Any]) -> None:
    if result.get("reasons"):
        header = ["eliminated", "decided", "spoke against it", "its distance", "of those kept"]
        rows = [
            [
                reason["member"],
                reason["score"],
                _spoke(reason),
                reason["distance"],
                reason["others"],
            ]
            for reason in result["reasons"]
        ]
        print_table(header, rows)
    elif "record" in result:
        echo(f"nothing was eliminated from record {result['record']}")


def _spoke(reason: Mapping[str, Any]) -> str:
    if reason["context"] is not None:
        return str(reason["context"])
    return "(no single item)" if reason["known"] else "(unknown to the source: took its row's mean)"


def anonymizer_of(directory: str | Path) -> Any:
    """Return the anonymizer of a release, with the parameters it had.

    What was given besides parameters (privacy and utility constraints, a seed) is not public, and
    an adversary does without it: what only such inputs say is set as an audit sets it.

    >>> anonymizer_of("nowhere")
    Traceback (most recent call last):
    setveil.core.errors.ReleaseError: nowhere: no release is here: there is no manifest.json. ...
    """
    from setveil.core.params import usual_values
    from setveil.core.registry import find
    from setveil.release.store import load_manifest

    manifest = load_manifest(directory)
    try:
        target = find("anonymizer", manifest.method).target
        usual = usual_values(target)
        unsaid = {name: usual[name] for name in usual if manifest.params.get(name) is None}
        return target(**{**manifest.params, **unsaid})
    except (SetveilError, TypeError) as error:
        what = error.what if isinstance(error, SetveilError) else "its parameters are not ours"
        raise ReleaseError(
            f"the method {manifest.method!r} of this release cannot be run again: {what}",
            where=str(directory),
            fix="use an attack that needs no anonymizer, such as rba or ec",
        ) from None
