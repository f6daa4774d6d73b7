"""The command line: one file per command, imported when the command is called."""

import importlib
import os
import time
from typing import Annotated, Any, NamedTuple

import typer

from setveil import __version__
from setveil.cli.options import PLAIN, CommandGroup, single_command
from setveil.cli.output import echo, handle_interrupts, report_errors


class Lazy(NamedTuple):
    """Where a command stands, and its line in ``setveil --help``, known without importing it."""

    module: str
    name: str
    help: str


BEGAN = time.monotonic()
"""About when the process began: budgets of time count from here."""

COMMANDS = {
    "demo": Lazy(
        "setveil.cli.demo", "demo", "Audit an invented clinic as you would your own data."
    ),
    "inspect": Lazy(
        "setveil.cli.inspect",
        "inspect",
        "Show how a data file is read and how easily its records are recognised.",
    ),
    "extract": Lazy(
        "setveil.cli.extract", "extract", "Turn documents or a query log into records of items."
    ),
    "topics": Lazy(
        "setveil.cli.select",
        "topics",
        "Find what the records are about, and choose records by topic.",
    ),
    "select": Lazy(
        "setveil.cli.select",
        "select",
        "Sample records at random, or to reach a given density or type-token ratio.",
    ),
    "taxonomy": Lazy(
        "setveil.cli.taxonomy", "taxonomy_app", "Build, check or convert a tree of items."
    ),
    "index": Lazy(
        "setveil.cli.index", "index", "Count the words of a corpus, so that terms can be compared."
    ),
    "anonymize": Lazy(
        "setveil.cli.anonymize",
        "anonymize_app",
        "Turn a data file into a release that may be published.",
    ),
    "verify": Lazy(
        "setveil.cli.verify",
        "verify",
        "Check what a release promises, from nothing but the release.",
    ),
    "attack": Lazy(
        "setveil.cli.attack", "attack_app", "Try to learn from a release what it should not tell."
    ),
    "measure": Lazy(
        "setveil.cli.measure", "measure", "Measure what a release lost against the original data."
    ),
    "audit": Lazy(
        "setveil.cli.audit",
        "audit",
        "Say whether DATA can be published: try many ways, attack each, recommend one.",
    ),
    "harden": Lazy(
        "setveil.cli.audit",
        "harden",
        "Make methods stronger until every attack stays below the target.",
    ),
    "report": Lazy("setveil.cli.publish", "report", "Write the report of an audit."),
    "publish": Lazy(
        "setveil.cli.publish",
        "publish",
        "Write what recipients get: the data of one run, explained, with a certificate.",
    ),
    "export": Lazy(
        "setveil.cli.publish", "export", "Write a release as plain tables with a data dictionary."
    ),
    "table": Lazy("setveil.cli.table", "table_app", "Anonymize or check a table of columns."),
    "methods": Lazy(
        "setveil.cli.methods",
        "methods",
        "List the methods and guarantees with parameters and papers.",
    ),
}


class Commands(CommandGroup):
    """The commands by name; only the one that is called gets imported."""

    def summaries(self) -> dict[str, str]:
        """Return the commands in the order in which data goes through them."""
        return {name: lazy.help for name, lazy in COMMANDS.items()}

    def build(self, name: str) -> Any:
        """Import a command; None where there is none of this name."""
        lazy = COMMANDS.get(name)
        if lazy is None:
            return None
        target = getattr(importlib.import_module(lazy.module), lazy.name)
        if isinstance(target, typer.Typer):
            group = typer.main.get_group(target)
            group.name = name
            return group
        return single_command(name, target)

    def make_context(self, *args: Any, **extra: Any) -> Any:
        """Read the command line; Ctrl-C is told as it is later on."""
        with report_errors():
            return super().make_context(*args, **extra)

    def invoke(self, ctx: Any) -> Any:
        """Run a command; an error of the user's becomes one message and an exit code."""
        with report_errors():
            return super().invoke(ctx)


app = typer.Typer(
    name="setveil",
    cls=Commands,
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Exit codes: 0 done, or publish; 1 a promise is broken, or do not publish; 2 wrong use "
    "or bad input; 3 not decided; 4 publish with care; 70 an error of setveil itself; 130 stopped "
    "with Ctrl-C.",
    **PLAIN,
)


def _version(wanted: bool) -> None:
    if wanted:
        echo(f"setveil {__version__}")
        raise typer.Exit


def _input_limit(size: str | None) -> None:
    """Put the limit where the processes that a command starts find it too."""
    if size is not None:
        from setveil.core.untrusted import VARIABLE
        from setveil.core.words import SIZE_FORMS, parse_size

        if parse_size(size) is None:
            raise typer.BadParameter(f"write {SIZE_FORMS}")
        os.environ[VARIABLE] = size


@app.callback()
def _root(
    _version_wanted: Annotated[
        bool,
        typer.Option(
            "--version", callback=_version, is_eager=True, help="Print the version and stop."
        ),
    ] = False,
    _limit: Annotated[
        str | None,
        typer.Option(
            "--input-limit",
            metavar="SIZE",
            callback=_input_limit,
            help="Most memory that a file may take, such as 2G, in place of the limits for "
            "files from strangers.",
        ),
    ] = None,
) -> None:
    """Find out whether your records can be published, and in which form."""


def main() -> None:
    """Run the command line."""
    with handle_interrupts(BEGAN):
        app(prog_name="setveil")
