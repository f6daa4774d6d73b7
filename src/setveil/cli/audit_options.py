"""The options of an audit, and how they come together with those of a file."""

from pathlib import Path
from typing import Annotated, Any

import typer

from setveil.cli.inputs import MISSING_HELP
from setveil.cli.sensitive import VARIANTS_HELP
from setveil.core.errors import ParameterError

MOST_WORKERS = 1000
"""More processes than any machine has use for."""

OutOption = Annotated[
    Path,
    typer.Option(
        "--out", "-o", metavar="DIR", help="Where releases, keys and the report are written."
    ),
]
MissingItemsOption = Annotated[
    str | None,
    typer.Option(
        "--missing",
        metavar="<error|drop|nearest|attach-to-root>",
        help=MISSING_HELP,
    ),
]
SeveralParentsOption = Annotated[
    str | None,
    typer.Option(
        "--parents",
        metavar="<error|first>",
        help="What to do with a node that has several parents.",
    ),
]
NearSensitiveOption = Annotated[
    str | None,
    typer.Option("--variants", metavar="<error|include|distinct>", help=VARIANTS_HELP),
]
TargetOption = Annotated[
    str | None,
    typer.Option(
        "--target",
        metavar="SHARE",
        help="Largest gain of an attack that is acceptable: 0 is guessing, 1 everything; 0.1 by "
        "default. One risk can have its own, as in 0.1,inference=0.05.",
    ),
]
MaxLossOption = Annotated[
    float | None,
    typer.Option(
        "--max-loss",
        metavar="SHARE",
        help="Largest average error of counts for the answer 'publish'; above it the answer is "
        "'publish with care'; 0.25 by default.",
    ),
]
MinKOption = Annotated[
    int | None,
    typer.Option(
        "--min-k",
        metavar="K",
        min=1,
        help="Number of people among whom each one must be hidden; 5 by default. Smaller groups "
        "are tried only where --methods names them.",
    ),
]
MethodsOption = Annotated[
    str | None,
    typer.Option(
        "--methods",
        metavar="LIST",
        help="Methods to try, separated by commas; with parameters as in gather:k=5 when "
        "separated by semicolons; all for every one that applies.",
    ),
]
AttacksOption = Annotated[
    str | None,
    typer.Option(
        "--attacks",
        metavar="LIST",
        help="Attacks to try, separated by commas, or all; by default the strongest of each kind.",
    ),
]
RelatednessOption = Annotated[
    list[str] | None,
    typer.Option(
        "--relatedness",
        metavar="SPEC",
        help="What adversaries know of how words are related, as for `setveil attack`; may be "
        "given several times.",
    ),
]
WorkloadOption = Annotated[
    str | None,
    typer.Option(
        "--workload",
        metavar="FILE",
        help="Sets of items that recipients will count, one per line: the report says how far off "
        "each count is.",
    ),
]
KnownOption = Annotated[
    str | None,
    typer.Option(
        "--known",
        metavar="LIST",
        help="How many items of a person adversaries know who look for that person; 1,2,3 by "
        "default.",
    ),
]
BudgetOption = Annotated[
    str | None,
    typer.Option(
        "--budget", metavar="TIME", help="Time for everything, report included: 90s, 30m, 2h."
    ),
]
MemoryOption = Annotated[
    str | None,
    typer.Option("--memory", metavar="SIZE", help="Memory for all processes together: 500M, 2G."),
]
WorkersOption = Annotated[
    int | None,
    typer.Option(
        "--workers",
        metavar="N",
        min=0,
        max=MOST_WORKERS,
        help="Processes; 0 for none beside this one, unless --budget or --memory need one that "
        "can be stopped.",
    ),
]
RunsOption = Annotated[
    str | None,
    typer.Option(
        "--engine",
        metavar="ENGINE",
        help="What makes the runs: local (processes of this machine), spark or spark://host:port.",
    ),
]
HardenedOption = Annotated[
    str | None,
    typer.Option(
        "--methods",
        metavar="LIST",
        help="Methods to make stronger, separated by commas; with parameters that stay as they "
        "are, as in disassociate:m=2, when separated by semicolons.",
    ),
]
TitleOption = Annotated[
    str | None, typer.Option("--title", metavar="TEXT", help="What the report calls the data.")
]
DescriptionOption = Annotated[
    str | None,
    typer.Option("--description", metavar="TEXT", help="A sentence about it, for the report."),
]


def given_settings(data: str, **options: Any) -> dict[str, Any]:
    """Return all settings: those of a file, and over them those of the command line.

    >>> given_settings("visits.csv", budget="90s", methods="gather;coat:k=5", target=None)
    {'data': 'visits.csv', 'budget': 90.0, 'methods': ['gather', 'coat:k=5']}
    """
    from setveil.audit.config import parse_limits, read_config

    found = read_config(data) if Path(data).suffix == ".toml" else {"data": data}
    said = {name: value for name, value in options.items() if value is not None}
    said = parse_limits(said, prefix="--")
    for name in ("methods", "attacks"):
        if name in said:
            said[name] = _listed(said[name])
            if not said[name]:
                raise ParameterError(f"--{name} names nothing", fix=f"name some {name}")
    if "known" in said:
        said["known"] = _numbers(said["known"])
    if "target" in said:
        said["target"] = parse_target(said["target"])
    if "sensitive" in said:
        found.pop("sensitive_share", None)
    if "sensitive_share" in said and "sensitive" not in said:
        found.pop("sensitive", None)
    return found | said


def _listed(text: str) -> list[str]:
    """Return the parts of a list; where one has parameters of its own, semicolons part them.

    >>> _listed("gather, coat"), _listed("gather:k=5,effort=fast; coat"), _listed("gather:k=5")
    (['gather', 'coat'], ['gather:k=5,effort=fast', 'coat'], ['gather:k=5'])
    """
    sign = ";" if ";" in text or ":" in text else ","
    return [part.strip() for part in text.split(sign) if part.strip()]


def parse_target(text: str) -> float | dict[str, float]:
    """Return the target of all risks, or of each.

    >>> parse_target("0.1"), parse_target("0.1,inference=0.05")
    (0.1, {'all': 0.1, 'inference': 0.05})
    """
    found: dict[str, float] = {}
    for part in text.split(","):
        name, sign, share = part.rpartition("=")
        try:
            found[name.strip().replace("-", "_") if sign else "all"] = float(share)
        except ValueError:
            raise ParameterError(
                f"--target is {text!r}", fix="write it as in --target 0.1,inference=0.05"
            ) from None
    return found["all"] if list(found) == ["all"] else found


def _numbers(text: str) -> list[int]:
    try:
        return [int(part) for part in text.split(",")]
    except ValueError:
        raise ParameterError(f"--known is {text!r}", fix="write it as in --known 1,2,3") from None
