"""``setveil table METHOD``: schemes for tables of columns, and the check of what they promise."""

import importlib
from typing import Any

import typer
from typer.core import TyperGroup

from setveil.core.errors import ParameterError

ANONYMITY = "setveil.cli.table_anonymity"
APART = "setveil.cli.table_apart"

COMMANDS = {
    "full-domain": (ANONYMITY, "Generalize all values of a column to the same level."),
    "subtree": (ANONYMITY, "Generalize along a cut: all children of a node are told, or none."),
    "sibling": (ANONYMITY, "Generalize some children of a node; it stands for the others."),
    "cell": (ANONYMITY, "Generalize a value in some rows and tell it in others."),
    "mondrian": (ANONYMITY, "Cut the rows into classes; each shows the ranges of its values."),
    "suppress-records": (ANONYMITY, "Leave out the rows that too few rows are like."),
    "suppress-values": (ANONYMITY, "Suppress values wherever they occur."),
    "suppress-cells": (ANONYMITY, "Suppress single cells."),
    "anatomize": (APART, "Publish a sensitive column apart, joined by groups only."),
    "permute": (APART, "Shuffle a sensitive column within groups."),
    "noise": (APART, "Add random numbers to columns; promises nothing."),
    "swap": (APART, "Exchange values of a column between rows; promises nothing."),
    "relational-transaction": (
        "setveil.cli.table_relational",
        "Anonymize a table with a set-valued column: one promise for both parts.",
    ),
    "check": (
        "setveil.cli.table_check",
        "Check whether a table, or a mechanism, keeps a promise.",
    ),
}
"""The module of each command, and its line in the help."""


class Tables(TyperGroup):
    """One command per scheme; only the one that is called gets imported."""

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the schemes in the order of the documentation."""
        del ctx
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Import the command of a scheme; for an unknown one, say which there are."""
        del ctx
        if cmd_name not in COMMANDS:
            raise ParameterError(
                f"there is no scheme {cmd_name!r} for tables",
                fix=f"use one of {', '.join(COMMANDS)}",
            )
        module = importlib.import_module(COMMANDS[cmd_name][0])
        single = typer.Typer(
            rich_markup_mode=None, add_completion=False, pretty_exceptions_enable=False
        )
        single.command(cmd_name)(getattr(module, cmd_name.replace("-", "_")))
        return typer.main.get_command(single)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write each scheme with the line that describes it."""
        del ctx
        with formatter.section("Methods"):
            formatter.write_dl([(name, line) for name, (_, line) in COMMANDS.items()])


table_app = typer.Typer(
    cls=Tables,
    no_args_is_help=True,
    subcommand_metavar="METHOD DATA -o OUT [OPTIONS]",
    rich_markup_mode=None,
    add_completion=False,
    epilog="`setveil table METHOD --help` shows a method's own options.",
)


@table_app.callback()
def table() -> None:
    """Anonymize or check a table of columns."""
