"""``setveil harden``: make methods stronger until no attack gets further than the target."""

from typing import Annotated

import typer

from setveil.cli.audit_case import run_audit
from setveil.cli.audit_options import (
    AttacksOption,
    BudgetOption,
    DescriptionOption,
    HardenedOption,
    KnownOption,
    MaxLossOption,
    MemoryOption,
    MinKOption,
    MissingItemsOption,
    NearSensitiveOption,
    OutOption,
    RelatednessOption,
    RunsOption,
    SeveralParentsOption,
    TargetOption,
    TitleOption,
    WorkersOption,
    WorkloadOption,
    given_settings,
)
from setveil.cli.audit_result import tell
from setveil.cli.inputs import (
    SeedOption,
    TaxonomyOption,
)
from setveil.cli.output import JsonOption, QuietOption
from setveil.cli.reading import AllowOption, Reading, reads_records
from setveil.cli.sensitive import SensitiveOption, ShareOption

BUDGET = 30 * 60.0
"""Seconds, where no budget is given: a search can go on for long."""


@reads_records
def harden(  # one parameter per option of the command line
    *,
    data: Annotated[
        str,
        typer.Argument(
            metavar="DATA", help="Records to publish (- reads stdin), or a file audit.toml."
        ),
    ],
    out: OutOption,
    taxonomy: TaxonomyOption = None,
    missing: MissingItemsOption = None,
    parents: SeveralParentsOption = None,
    sensitive: SensitiveOption = None,
    sensitive_share: ShareOption = None,
    variants: NearSensitiveOption = None,
    target: TargetOption = None,
    max_loss: MaxLossOption = None,
    min_k: MinKOption = None,
    methods: HardenedOption = None,
    each: Annotated[
        bool,
        typer.Option(
            "--each", help="Search every method to its end, even where another already loses less."
        ),
    ] = False,
    attacks: AttacksOption = None,
    relatedness: RelatednessOption = None,
    known: KnownOption = None,
    workload: WorkloadOption = None,
    budget: BudgetOption = None,
    memory: MemoryOption = None,
    workers: WorkersOption = None,
    engine: RunsOption = None,
    title: TitleOption = None,
    description: DescriptionOption = None,
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
    given = {"budget": BUDGET} | given_settings(
        data,
        taxonomy=taxonomy,
        missing=missing,
        parents=parents,
        sensitive=sensitive,
        sensitive_share=sensitive_share,
        variants=variants,
        target=target,
        max_loss=max_loss,
        min_k=min_k,
        methods=methods,
        attacks=attacks,
        relatedness=relatedness,
        known=known,
        workload=workload,
        budget=budget,
        memory=memory,
        workers=workers,
        engine=engine,
        title=title,
        description=description,
        seed=seed,
        **reading.asked,
    )
    from setveil.audit import harden as hardened

    result = run_audit(
        hardened,
        given,
        out,
        stage="trying settings",
        allowed=allow_identifiers,
        quiet=quiet,
        each=each,
    )
    tell(result, out, seed=given.get("seed"), json=json)
