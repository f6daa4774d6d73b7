"""The options that name what a command reads, and the reading itself."""

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from setveil.cli.output import say
from setveil.core.errors import InputError, ParameterError, ReleaseError

if TYPE_CHECKING:
    from setveil.core.missing_items import MissingReport
    from setveil.core.taxonomy import Taxonomy

STDIN = "-"
MISSING_HELP = (
    "Items that are not in the tree: refuse them, drop them from the records, put each beside the "
    "most similar item, or attach them to the root."
)

DelimiterOption = Annotated[
    str | None,
    typer.Option("--delimiter", metavar="TEXT", help="What separates fields; also tab or space."),
]
TaxonomyOption = Annotated[
    str | None, typer.Option("--taxonomy", metavar="FILE", help="Tree of the items.")
]
MissingOption = Annotated[
    Literal["error", "drop", "nearest", "attach-to-root"],
    typer.Option("--missing", help=MISSING_HELP),
]
ParentsOption = Annotated[
    Literal["error", "first"],
    typer.Option("--parents", help="What to do with a node that has several parents."),
]
SeedOption = Annotated[
    int | None,
    typer.Option("--seed", metavar="N", min=0, help="Seed of what is drawn at random."),
]


def read_taxonomy(
    file: str, *, parents: Literal["error", "first"] = "error", quiet: bool = False
) -> "Taxonomy":
    """Read a tree and say on stderr what was guessed, added and dropped."""
    from setveil.io import taxonomy_files

    tree, report = taxonomy_files.read_taxonomy(file, parents=parents)
    for sentence in report.sentences():
        say(sentence, quiet=quiet)
    return tree


def only_one_stdin(*files: str | None) -> None:
    """Refuse to read two things from the one standard input."""
    if sum(file == STDIN for file in files) > 1:
        raise ParameterError("only one input can be -, the standard input", fix="name a file")


def must_be_free(
    path: Path,
    *,
    force: bool,
    inputs: Iterable[str | Path | None] = (),
) -> None:
    """Refuse, before any work, to write over something that is there or where nothing can be.

    `inputs` are the files and folders that the command reads: no file of theirs is replaced,
    whatever `force` says, and neither is a private key.

    >>> must_be_free(Path("nowhere/out"), force=False)
    Traceback (most recent call last):
    setveil.core.errors.ReleaseError: nowhere: there is no such directory. To fix: make it first.
    """
    where = str(path)
    must_have_directory(path)
    if not path.exists():
        return
    if path.is_dir():
        raise ReleaseError(
            "this is a directory, but a file will be written", where=where, fix="name another"
        )
    must_not_be_read(path, inputs)
    if not force:
        raise ReleaseError(
            "it exists already",
            where=where,
            fix="choose another name, or replace it with --force",
        )
    from setveil.release.store import is_key

    if is_key(path):
        raise ReleaseError(
            "this is a private key, without which nobody can measure its release",
            where=where,
            fix="name another file",
        )


def must_have_directory(path: Path) -> None:
    """Refuse a place in a directory that is not there."""
    if not path.parent.is_dir():
        raise ReleaseError(
            "there is no such directory", where=str(path.parent), fix="make it first"
        )


def must_not_be_read(path: Path, inputs: Iterable[str | Path | None]) -> None:
    """Refuse to replace a file that the command reads, alone or as one of a folder."""
    if any(_holds(given, path) for given in inputs):
        raise ReleaseError(
            "it would replace a file that this command reads",
            where=str(path),
            fix="name another file",
        )


def _holds(given: str | Path | None, path: Path) -> bool:
    """Tell whether an input is this file, or a folder that it lies in."""
    if given is None or str(given) == STDIN:
        return False
    place = path.resolve()
    return Path(given).resolve() in {place, *place.parents}


def release_directory(release: str) -> Path:
    """Return the directory of a release, or say what it should have been.

    Of a folder for recipients it is the one inside.
    """
    from setveil.release.public_folder import find_release

    path = Path(release)
    if not path.is_dir():
        what = "it is no directory" if path.exists() else "there is no such directory"
        raise InputError(
            what, where=release, fix="name the directory that `setveil anonymize -o` wrote"
        )
    return find_release(path)


def tell_missing(report: "MissingReport", *, k: int | None = None, quiet: bool) -> None:
    """Say what was done with items outside the tree, before a release is made with it."""
    for sentence in report.sentences():
        say(sentence, quiet=quiet)
    if warning := report.warning(k=k):
        say(warning)  # with --quiet too: it is a warning


def recall_missing(report: "MissingReport", *, quiet: bool) -> None:
    """Say in short what was done with items outside the tree of a release that was made before."""
    for sentence in report.sentences(limit=0):
        say(sentence, quiet=quiet)
    if report.choice == "drop" and report.items:
        say("All figures are about the records without these items.", quiet=quiet)


def note_added_leaves(given: "Taxonomy", used: "Taxonomy", *, quiet: bool) -> None:
    """Say what the leaf counts of a release tell, where items are no leaves of the given tree."""
    added = used.n_leaves - given.n_leaves
    if added > 0:
        say(
            f"Items that are categories of the tree, or not in it: the leaf counts of the release "
            f"grow by {added:,}, which tells those who have the tree that such items occur.",
            quiet=quiet,
        )
