"""``setveil verify``: check a promise from nothing but the release."""

from collections import Counter
from typing import TYPE_CHECKING, Any

import typer

from setveil.cli.options import (
    PlaceOption,
    argument,
    check_place,
    expand_options,
    find_spark,
    option,
    release_directory,
)
from setveil.cli.output import (
    UNDECIDED,
    VIOLATED,
    JsonOption,
    Progress,
    QuietOption,
    announce_compiling,
    echo,
    emit,
    say,
)
from setveil.cli.reading import warn_of_variants
from setveil.core.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from setveil.guarantee.base import Guarantee, Verdict

UNFIT = 2
"""Exit code where the promise holds, but more than the release is in its directory."""

LISTED = 3
"""How many entries of a list of items are printed."""

SHOWN = 5
"""How many witnesses are printed; all of a verdict's are in its JSON."""


@expand_options
def verify(
    *,
    release: str = argument("RELEASE", "Directory that `setveil anonymize` or `publish` wrote."),
    guarantee: list[str] | None = option(
        None,
        "What to check, such as k-anonymity:k=5 or "
        "rho-uncertainty:rho=0.5,sensitive=@FILE; may be repeated. "
        "Without it: what the release promises.",
        "--guarantee",
        "-g",
        metavar="SPEC",
    ),
    engine: PlaceOption = "local",
    quiet: QuietOption = False,
    json: JsonOption = False,
) -> None:
    """Check what a release promises, from nothing but the release.

    Exit code 0: it holds; 1: it is violated, and the witnesses are printed; 2: wrong use, or the
    directory holds more than the release and is not fit to publish, or a published folder differs
    from its certificate; 3: not decided exactly.

    Example: setveil verify release --guarantee k-anonymity:k=10
    """
    from setveil.guarantee.base import written
    from setveil.release.public_folder import fitness_of
    from setveil.release.store import load_release, remove_leftovers

    check_place(engine)
    directory = release_directory(release)
    spark = find_spark(engine)
    with Progress(quiet=quiet) as progress, announce_compiling(quiet=quiet):
        progress("loading")
        asked = _guarantees_to_check(directory, guarantee)
        for name in remove_leftovers(directory):
            say(f"removed what an interrupted run left: {name}", quiet=quiet)
        fitness = fitness_of(release)
        if spark is not None:
            from setveil.spark import DistributedRelease, check

            opened = DistributedRelease.open(directory, spark)
            progress("checking")
            verdicts = [(each, check(each, opened)) for each in asked]
            content = opened.content()
            near = _variants(asked, _published_names(directory, opened.sample))
        else:
            published = load_release(directory)
            progress("checking")
            verdicts = [(each, each.check(published)) for each in asked]
            content = published.content()
            near = _variants(asked, _published_names(directory, published))
    warn_of_variants(near, "published name")
    verdict_code = exit_code([verdict for _, verdict in verdicts])
    code = verdict_code or (0 if fitness.fit else UNFIT)
    if json:
        emit(
            {
                "release": release,
                "holds": verdict_code == 0,
                "exact": all(verdict.exact for _, verdict in verdicts),
                "checks": [_as_json(each, verdict) for each, verdict in verdicts],
                "content": content.as_dict(),
                "variants": [{"name": name, "like": item} for name, item in near.items()],
                "fit_to_publish": fitness.fit,
                "foreign_files": list(fitness.foreign_files),
                "unknown_fields": list(fitness.unknown_fields),
                "changed_files": list(fitness.changed_files),
            }
        )
    elif not quiet or code != 0:
        for each, verdict in verdicts:
            print_verdict(written(each, shown=LISTED), verdict)
        if content.sentence:
            echo(content.sentence)
        for sentence in fitness.sentences():
            echo(sentence)
    if code:
        raise typer.Exit(code)


def _published_names(directory: "Path", published: Any) -> "Iterator[str]":
    """Return all names that a release shows: of items, of members of sets, of its tree."""
    from setveil.release.generalized import GeneralizedRelease
    from setveil.release.set_generalized import SetGeneralizedRelease, members_of
    from setveil.release.store import load_manifest

    manifest = load_manifest(directory)
    vocabulary = getattr(published, "vocabulary", None)
    for label in () if vocabulary is None else vocabulary.names:
        yield from members_of(label) if manifest.form == SetGeneralizedRelease.form else [label]
    if manifest.form == GeneralizedRelease.form:  # of other forms nobody has checked such a field
        for node in manifest.structure["nodes"]:
            yield from (node["id"], node["name"])


def _variants(asked: "list[Guarantee]", names: "Iterable[str]") -> dict[str, str]:
    """Return the published names that are written almost like a sensitive item."""
    from setveil.core.spelling import variants

    sensitive = dict.fromkeys(item for each in asked for item in getattr(each, "sensitive", ()))
    return variants(list(sensitive), names) if sensitive else {}


def _guarantees_to_check(directory: "Path", specs: list[str] | None) -> list["Guarantee"]:
    from setveil.guarantee import from_manifest, parse
    from setveil.release.store import load_manifest

    if specs:
        return [parse(spec) for spec in specs]
    promise = load_manifest(directory).promise
    if promise is None:
        raise ParameterError(
            "this release promises nothing, so there is nothing to check",
            where=str(directory),
            fix="say what to check, for example --guarantee k-anonymity:k=5",
        )
    return [from_manifest(promise["name"], promise["params"])]


def exit_code(verdicts: "Sequence[Verdict]") -> int:
    """Return 1 if anything is certainly violated, else 3 if anything is open, else 0."""
    if any(verdict.exact and not verdict.holds for verdict in verdicts):
        return VIOLATED
    return 0 if all(verdict.exact for verdict in verdicts) else UNDECIDED


def _as_json(guarantee: "Guarantee", verdict: "Verdict") -> dict[str, Any]:
    from setveil.core.registry import name_of

    named = {"guarantee": name_of(type(guarantee)), "params": guarantee.params()}
    return named | verdict_json(verdict)


def verdict_json(verdict: "Verdict") -> dict[str, Any]:
    """Return a verdict with its witnesses as JSON."""
    return {
        "holds": verdict.holds,
        "exact": verdict.exact,
        "reason": verdict.reason,
        "checked": verdict.checked,
        "witnesses": [
            {
                "items": list(w.items),
                "support": w.support,
                "required": w.required,
                "consequent": w.consequent,
                "confidence": None if w.confidence is None else float(w.confidence),
            }
            for w in verdict.witnesses
        ],
    }


def print_verdict(name: str, verdict: "Verdict", *, rows: bool = False) -> None:
    """Print the answer and the first witnesses: bags of items, or rows of a table."""
    state = "holds" if verdict.holds else "VIOLATED"
    if not verdict.exact:
        state = "not decided exactly"
    echo(f"{name}  {state}: {verdict.reason}")
    for witness in verdict.witnesses[:SHOWN]:
        counts = [(item, 1) for item in witness.items] if rows else Counter(witness.items).items()
        items = ", ".join(f"{count}× {item}" if count > 1 else item for item, count in counts)
        follows = "" if witness.consequent is None else f" → {witness.consequent}"
        support = "" if rows and not witness.support else f"{witness.support:,}, "
        echo(f"  {{{items or 'no items'}}}{follows}: {support}required {witness.required}")
    if len(verdict.witnesses) > SHOWN:
        echo(f"  ... {len(verdict.witnesses) - SHOWN} more with --json")
