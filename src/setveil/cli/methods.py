"""``setveil methods``: what there is, with parameters and papers."""

from typing import TYPE_CHECKING, Any

from setveil.cli.options import expand_options, option
from setveil.cli.output import JsonOption, echo, emit
from setveil.core.errors import ParameterError
from setveil.core.params import in_json, params_of

if TYPE_CHECKING:
    from setveil.core.registry import Entry


NEEDS = {"taxonomy": "a taxonomy", "sensitive": "sensitive items"}


@expand_options
def methods(
    *,
    json: JsonOption = False,
    bibtex: bool = option(False, "Print the papers as BibTeX entries."),
) -> None:
    """List the methods and guarantees with parameters and papers.

    Example: setveil methods --bibtex > methods.bib
    """
    from setveil.core.registry import KINDS, entries

    if json and bibtex:
        raise ParameterError(
            "--json and --bibtex exclude each other", fix="the JSON holds the BibTeX entries too"
        )
    found = [entry for kind in KINDS for entry in entries(kind)]
    if json:
        emit({"methods": [_as_json(entry) for entry in found], "tables": _for_tables()})
    elif bibtex:
        for line in "\n\n".join(_papers(found)).split("\n"):
            echo(line)
    else:
        for i, entry in enumerate(found):
            if i == 0 or found[i - 1].kind != entry.kind:
                if i:
                    echo()
                echo(f"{entry.kind}s")
            _print(entry)
        echo()
        echo("for tables of columns: setveil table METHOD")
        for scheme in _for_tables():
            echo(f"  {scheme['name']}")
            echo(f"    {scheme['summary']}")


def _for_tables() -> list[dict[str, str]]:
    """Return the schemes for tables of columns, and the checks of what they promise."""
    from setveil.cli.table import COMMANDS, summary
    from setveil.tabular import CHECKS

    schemes = [
        {"name": name, "summary": summary(command)}
        for name, command in COMMANDS.items()
        if name != "check"
    ]
    checks = [
        {"name": f"check {name}", "summary": (check.__doc__ or "").splitlines()[0]}
        for name, check in CHECKS.items()
    ]
    return schemes + checks


def _papers(found: "list[Entry]") -> list[str]:
    """Return the BibTeX entries, each key once: one paper may stand behind several methods."""
    import re

    papers: dict[str, str] = {}
    for entry in found:
        for paper in re.split(r"^(?=@)", entry.bibtex, flags=re.MULTILINE):
            if paper.strip():
                papers.setdefault(paper.partition(",")[0], paper.strip())
    return list(papers.values())


def distributed(entry: "Entry") -> bool | None:
    """Tell whether a method or a guarantee works on distributed records; None of other kinds."""
    if entry.kind == "guarantee":
        return bool(getattr(entry.target, "in_parts", False))
    return hasattr(entry.target, "distributed") if entry.kind == "anonymizer" else None


def _as_json(entry: "Entry") -> dict[str, Any]:
    return {
        "kind": entry.kind,
        "name": entry.name,
        "summary": entry.summary,
        "paper": entry.paper,
        "bibtex": entry.bibtex,
        "requires": sorted(getattr(entry.target, "requires", ())),
        "distributed": distributed(entry),
        "params": [
            {
                "name": param.name,
                "required": param.required,
                "default": None if param.required else in_json(param.default),
                "choices": list(param.choices),
                **param.rule.bounds,
                "doc": param.doc,
            }
            for param in params_of(entry.target)
        ],
    }


def _print(entry: "Entry") -> None:
    echo(f"  {entry.name}  ({entry.paper})")
    echo(f"    {entry.summary}")
    needs = sorted(getattr(entry.target, "requires", ()), reverse=True)
    if needs:
        echo(f"    needs {' and '.join(NEEDS.get(need, need) for need in needs)}")
    if distributed(entry) and entry.kind == "anonymizer":
        echo("    works on distributed records (--engine spark)")
    elif distributed(entry) is False and entry.kind == "guarantee":
        echo("    needs all records in one place: not checked with --engine spark")
    for param in params_of(entry.target):
        value = "required" if param.required else f"default {_as_typed(param.default)}"
        choices = f"; one of {', '.join(param.choices)}" if param.choices else ""
        echo(f"    --{param.name.replace('_', '-')}  {param.doc} ({value}{choices})")


def _as_typed(default: Any) -> str:
    """Return a default as it would be typed."""
    value = in_json(default)
    return "none" if value == () else str(value).lower()
