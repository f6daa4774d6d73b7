"""``setveil harden``: make methods stronger until no attack gets further than the target."""

from dataclasses import replace
from typing import Annotated

import typer

from setveil.cli.audit import AuditSettings, OutOption, merge_settings, run_audit
from setveil.cli.audit_result import tell
from setveil.cli.options import SeedOption, expand_options, option
from setveil.cli.output import JsonOption, QuietOption
from setveil.cli.reading import AllowOption, Reading

BUDGET = 30 * 60.0
"""Seconds, where no budget is given: a search can go on for long."""


@expand_options
def harden(
    *,
    data: Annotated[
        str,
        typer.Argument(
            metavar="DATA", help="Records to publish (- reads stdin), or a file audit.toml."
        ),
    ],
    out: OutOption,
    methods: Annotated[
        str | None,
        option(
            "--methods",
            "LIST",
            "Methods to make stronger, separated by commas; with parameters that stay as they "
            "are, as in disassociate:m=2, when separated by semicolons.",
        ),
    ] = None,
    each: Annotated[
        bool,
        typer.Option(
            "--each", help="Search every method to its end, even where another already loses less."
        ),
    ] = False,
    settings: AuditSettings,
    reading: Reading,
    allow_identifiers: AllowOption = False,
    seed: SeedOption = None,
    quiet: QuietOption = False,
    json: JsonOption = False,
) -> None:
    """Make methods stronger until every attack stays below the target.

    setveil changes every parameter that affects the risk: k, m, the size of clusters, what may be
    joined, what is left out. It starts with the weakest setting. It then takes the step that
    lowers the risk most for the least loss. This is the search of `setveil audit` with more
    freedom: DIR, report, verdict and exit codes are the same, and finished trials are kept. It
    ends after 30 minutes unless --budget says otherwise.

    Exit codes: 0 publish, 4 publish with care, 1 do not publish, 3 not decided.

    Example: setveil harden visits.csv --methods disassociate --target 0.05 -o hardened
    """
    from setveil.audit import harden as run

    settings = replace(settings, methods=methods)
    given = {"budget": BUDGET} | merge_settings(
        data, vars(settings) | reading.given | {"seed": seed}
    )
    result = run_audit(
        run,
        given,
        out,
        stage="trying settings",
        allowed=allow_identifiers,
        quiet=quiet,
        each=each,
    )
    tell(result, out, seed=given.get("seed"), json=json)
