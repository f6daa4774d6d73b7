"""``setveil audit``: the main job, from a data file to a recommendation and a report."""

from typing import Annotated

import typer

from setveil.cli.audit_case import run_audit
from setveil.cli.audit_options import (
    AttacksOption,
    BudgetOption,
    DescriptionOption,
    KnownOption,
    MaxLossOption,
    MemoryOption,
    MethodsOption,
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


@reads_records
def audit(  # one parameter per option of the command line
    *,
    data: Annotated[
        str,
        typer.Argument(
            metavar="DATA", help="Records to audit (- reads stdin), or a file audit.toml."
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
    methods: MethodsOption = None,
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
    """Say whether DATA can be published: try many ways, attack each, recommend one.

    DIR/publish holds the one release to publish, if there is one. DIR/private holds the report, the
    candidates and their keys: it is for you alone. Run the same command again after an
    interruption: trials that have finished are kept.

    Exit codes: 0 publish, 4 publish with care, 1 do not publish, 3 not decided.

    Example: setveil audit visits.csv --taxonomy tree.csv --sensitive sensitive.txt -o audit
    """
    given = given_settings(
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
    from setveil.audit import audit as audited

    result = run_audit(
        audited, given, out, stage="trying methods", allowed=allow_identifiers, quiet=quiet
    )
    tell(result, out, seed=given.get("seed"), json=json)
