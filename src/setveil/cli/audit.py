"""``setveil audit``: the main job, from a data file to a recommendation and a report.

``setveil harden`` has the same options and runs the same way.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from setveil.cli.options import (
    MISSING_HELP,
    MOST_WORKERS,
    SeedOption,
    TaxonomyOption,
    argument,
    check_place,
    expand_options,
    find_spark,
    only_one_stdin,
    option,
    option_group,
    read_taxonomy,
    tell_missing,
    warn_of_published_formulas,
)
from setveil.cli.output import (
    JsonOption,
    Progress,
    QuietOption,
    announce_compiling,
    command_start,
    echo,
    emit,
    limit_time,
    say,
)
from setveil.cli.reading import (
    STOP,
    VARIANTS_HELP,
    AllowOption,
    Reading,
    SensitiveOption,
    ShareOption,
    draw_sensitive,
    read_sensitive,
    refuse_identifiers,
    settle_sensitive,
)
from setveil.core.errors import ParameterError
from setveil.core.words import format_duration, lost, plural, spell_duration

if TYPE_CHECKING:
    from setveil.audit import AuditResult, RunRecord
    from setveil.audit.trials import Progress as SearchProgress
    from setveil.core.table import TransactionTable
    from setveil.core.taxonomy import Taxonomy


OutOption = Annotated[
    Path,
    typer.Option(
        "--out", "-o", metavar="DIR", help="Where releases, keys and the report are written."
    ),
]


@option_group
class AuditSettings:
    """The options of `audit` and `harden`, in the order of the help; None where not given."""

    taxonomy: TaxonomyOption = None
    missing: str | None = option(None, MISSING_HELP, metavar="<error|drop|nearest|attach-to-root>")
    parents: str | None = option(
        None, "What to do with a node that has several parents.", metavar="<error|first>"
    )
    sensitive: SensitiveOption = None
    sensitive_share: ShareOption = None
    variants: str | None = option(None, VARIANTS_HELP, metavar="<error|include|distinct>")
    target: str | None = option(
        None,
        "Largest gain of an attack that is acceptable: 0 is guessing, 1 everything; 0.1 by "
        "default. One risk can have its own, as in 0.1,inference=0.05.",
        metavar="SHARE",
    )
    max_loss: float | None = option(
        None,
        "Largest average error of counts for the answer 'publish'; above it the answer is "
        "'publish with care'; 0.25 by default.",
        metavar="SHARE",
    )
    min_k: int | None = option(
        None,
        "Number of people among whom each one must be hidden; 5 by default. Smaller groups are "
        "tried only where --methods names them.",
        metavar="K",
        min=1,
    )
    methods: str | None = option(
        None,
        "Methods to try, separated by commas; with parameters as in gather:k=5 when separated by "
        "semicolons; all for every one that applies.",
        metavar="LIST",
    )
    attacks: str | None = option(
        None,
        "Attacks to try, separated by commas, or all; by default the strongest of each kind.",
        metavar="LIST",
    )
    relatedness: list[str] | None = option(
        None,
        "What adversaries know of how words are related, as for `setveil attack`; may be given "
        "several times.",
        metavar="SPEC",
    )
    known: str | None = option(
        None,
        "How many items of a person adversaries know who look for that person; 1,2,3 by default.",
        metavar="LIST",
    )
    workload: str | None = option(
        None,
        "Sets of items that recipients will count, one per line: the report says how far off each "
        "count is.",
        metavar="FILE",
    )
    budget: str | None = option(
        None, "Time for everything, report included: 90s, 30m, 2h.", metavar="TIME"
    )
    memory: str | None = option(
        None, "Memory for all processes together: 500M, 2G.", metavar="SIZE"
    )
    workers: int | None = option(
        None,
        "Processes; 0 for none beside this one, unless --budget or --memory need one that can be "
        "stopped.",
        metavar="N",
        min=0,
        max=MOST_WORKERS,
    )
    engine: str | None = option(
        None,
        "What makes the runs: local (processes of this machine), spark or spark://host:port.",
        metavar="ENGINE",
    )
    title: str | None = option(None, "What the report calls the data.", metavar="TEXT")
    description: str | None = option(None, "A sentence about it, for the report.", metavar="TEXT")


@expand_options
def audit(
    *,
    data: str = argument("DATA", "Records to audit (- reads stdin), or a file audit.toml."),
    out: OutOption,
    settings: AuditSettings,
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
    from setveil.audit import audit as run

    given = merge_settings(data, vars(settings) | reading.given | {"seed": seed})
    result = run_audit(
        run, given, out, stage="trying methods", allowed=allow_identifiers, quiet=quiet
    )
    report_result(result, out, seed=given.get("seed"), json=json)


# --- settings -----------------------------------------------------------------------------------


def merge_settings(data: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """Return all settings: those of a file, and over them those of the command line.

    >>> merge_settings("visits.csv", {"budget": "90s", "methods": "gather;coat:k=5", "seed": None})
    {'data': 'visits.csv', 'budget': 90.0, 'methods': ['gather', 'coat:k=5']}
    """
    from setveil.audit.request import parse_limits, read_config

    stored = read_config(data) if Path(data).suffix == ".toml" else {"data": data}
    given = {name: value for name, value in options.items() if value is not None}
    given = parse_limits(given, prefix="--")
    for name in ("methods", "attacks"):
        if name in given:
            given[name] = _split_list(given[name])
            if not given[name]:
                raise ParameterError(f"--{name} names nothing", fix=f"name some {name}")
    if "known" in given:
        given["known"] = _numbers(given["known"])
    if "target" in given:
        given["target"] = parse_target(given["target"])
    if "sensitive" in given:
        stored.pop("sensitive_share", None)
    if "sensitive_share" in given and "sensitive" not in given:
        stored.pop("sensitive", None)
    return stored | given


def _split_list(text: str) -> list[str]:
    """Return the parts of a list; where one has parameters of its own, semicolons part them.

    >>> _split_list("gather, coat"), _split_list("gather:k=5,effort=fast; coat")
    (['gather', 'coat'], ['gather:k=5,effort=fast', 'coat'])
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


# --- the run ------------------------------------------------------------------------------------

PASSED = (
    "target",
    "max_loss",
    "min_k",
    "methods",
    "attacks",
    "relatedness",
    "known",
    "budget",
    "memory",
    "workers",
)
"""Settings that go on as they are."""
SHOWN = 5
"""How many rare items are named as a first idea of what may be sensitive."""


class AuditInput(NamedTuple):
    """What was read."""

    table: "TransactionTable"
    taxonomy: "Taxonomy | None"
    sensitive: tuple[str, ...]
    note: str = ""
    """What a reader of the report must know of the records."""


def _read_input(given: Mapping[str, Any], out: Path, *, allowed: bool, quiet: bool) -> AuditInput:
    """Read what the settings name, once it is certain that the audit can be written."""
    from setveil.audit.store import Store

    check_place(given.get("engine", "local"))
    only_one_stdin(given["data"], given.get("taxonomy"))
    _must_not_hold(out, given)
    Store.check_place(out)
    table = Reading.of(given).read(given["data"], quiet=quiet)
    refuse_identifiers(table, allowed=allowed, where=given["data"], quiet=quiet)
    secret = _sensitive(given, table, quiet=quiet)
    if given.get("taxonomy") is None:
        return AuditInput(table, None, secret)
    return _with_tree(given, table, secret, quiet=quiet)


def run_audit(
    work: "Callable[..., AuditResult]",
    given: Mapping[str, Any],
    out: Path,
    *,
    stage: str,
    allowed: bool,
    quiet: bool,
    **more: Any,
) -> "AuditResult":
    """Read what the settings name, audit or harden it, and tell every run that ends.

    The time of a budget counts from the start of the command, and ends all of this.
    """
    budget = given.get("budget")
    why = (
        ""
        if budget is None
        else (
            f"The time limit of {format_duration(budget)} ended before the first trial, so there "
            f"is no verdict. Allow more time, as in --budget {spell_duration(4 * budget)}"
        )
    )
    earlier = (out / "publish").exists()
    with limit_time(budget, why):
        read = _read_input(given, out, allowed=allowed, quiet=quiet)
        with Progress(quiet=quiet) as progress, announce_compiling(quiet=quiet):
            progress(stage)
            try:
                result = work(
                    read.table,
                    out=out,
                    taxonomy=read.taxonomy,
                    sensitive=read.sensitive,
                    workload=_workload(given, read.table),
                    seed=given.get("seed"),
                    title=given.get("title") or Path(given["data"]).stem,
                    description=" ".join(filter(None, (given.get("description"), read.note))),
                    tell=lambda search: show_progress(progress, search, quiet=quiet),
                    since=command_start(),
                    engine=find_spark(given.get("engine", "local")),
                    **{name: given[name] for name in PASSED if given.get(name) is not None},
                    **more,
                )
            except KeyboardInterrupt:
                say("Trials that have finished are kept: run the same command again to go on.")
                raise
    if earlier and result.chosen is None:
        say(f"{out / 'publish'} from an earlier run was removed: no release passes this time.")
    return result


def _workload(given: Mapping[str, Any], table: "TransactionTable") -> tuple[tuple[str, ...], ...]:
    """Read the count queries that recipients will ask; none where no file is named."""
    if given.get("workload") is None:
        return ()
    from setveil.measure.workload import read_workload

    return read_workload(given["workload"], table)


def _must_not_hold(out: Path, given: Mapping[str, Any]) -> None:
    """Refuse a directory in which the inputs lie: it is written to, and part of it published."""
    publish = (out / "publish").resolve()
    for name in ("data", "taxonomy", "sensitive", "workload"):
        place = given.get(name)
        if isinstance(place, str) and publish in Path(place).resolve().parents:
            raise ParameterError(
                f"{name} lies among what may be published", where=place, fix="move it elsewhere"
            )


def _sensitive(
    given: Mapping[str, Any], table: "TransactionTable", *, quiet: bool
) -> tuple[str, ...]:
    """Return the sensitive items; where there are none, give an idea of how to find some."""
    from setveil.audit import suggest_sensitive

    named, share = given.get("sensitive"), given.get("sensitive_share")
    near = given.get("variants", STOP)
    if named is not None and share is not None:
        raise ParameterError(
            "sensitive items are named and drawn", fix="give --sensitive or --sensitive-share"
        )
    if isinstance(named, str):
        return read_sensitive(named, table, variants=near, quiet=quiet)
    if named is not None:
        return settle_sensitive(tuple(dict.fromkeys(named)), table, variants=near, quiet=quiet)
    if share is not None:
        if not 0 < share <= 1:
            raise ParameterError(
                f"the share of sensitive items is {share:g}",
                fix="use a number above 0 and at most 1",
            )
        # Without a seed the draw must not change on the next call, or no run could be kept.
        return draw_sensitive(share, table, given.get("seed", 0))
    rare = [f"{item} ({records:,})" for item, records in suggest_sensitive(table, most=SHOWN)]
    if rare:
        say(
            "No sensitive items are named, so methods that protect them are not tried. These rare "
            f"items may be sensitive: {', '.join(rare)}. If nobody should learn that a person has "
            "an item, write it into a file, one item per line, and add --sensitive FILE.",
            quiet=quiet,
        )
    return ()


def _with_tree(
    given: Mapping[str, Any],
    table: "TransactionTable",
    sensitive: tuple[str, ...],
    *,
    quiet: bool,
) -> AuditInput:
    """Read the tree, and bring it and the records together."""
    from setveil.core.missing_items import CHOICES, DROP, ERROR, NEAREST, ROOT, cover

    for name, known in (("missing", CHOICES), ("parents", ("error", "first"))):
        if given.get(name, "error") not in known:
            raise ParameterError(f"{name} is {given[name]!r}", fix=f"use {' or '.join(known)}")
    missing = given.get("missing", ERROR)
    tree = read_taxonomy(given["taxonomy"], parents=given.get("parents", "error"), quiet=quiet)
    covered = cover(tree, table, missing=missing, apart=set(sensitive))
    tell_missing(covered.report, quiet=quiet)
    note = ""
    if missing == DROP and covered.report.items:
        note = (
            f"{' '.join(covered.report.sentences())} All figures are about the records without "
            "these items."
        )
    # Methods that protect all items alike generalize the sensitive ones, too: none is dropped.
    whole = cover(covered.tree, covered.table, missing=NEAREST if missing == NEAREST else ROOT)
    tell_missing(whole.report, quiet=quiet)
    return AuditInput(covered.table, whole.tree, sensitive, note)


# --- `setveil harden` -----------------------------------------------------------------------------


BUDGET = 30 * 60.0
"""Seconds, where no budget is given: a search can go on for long."""


@expand_options
def harden(
    *,
    data: str = argument("DATA", "Records to publish (- reads stdin), or a file audit.toml."),
    out: OutOption,
    methods: str | None = option(
        None,
        "Methods to make stronger, separated by commas; with parameters that stay as they "
        "are, as in disassociate:m=2, when separated by semicolons.",
        metavar="LIST",
    ),
    each: bool = option(
        False, "Search every method to its end, even where another already loses less."
    ),
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
    report_result(result, out, seed=given.get("seed"), json=json)


# --- what a user is told: the report, the answer, how far the search is ---------------------------


def report_result(
    result: "AuditResult", out: Path, *, seed: int | None, json: bool, demo: bool = False
) -> None:
    """Write the report, print the answer, and end with its exit code; a demo just ends."""
    from setveil.audit.results import ANSWERS
    from setveil.audit.store import Store
    from setveil.report.publication import publish_recommended

    report = write_report(result, out)
    with Store(out).lock() as store:
        published = publish_recommended(store, result)
    if published is not None:
        warn_of_published_formulas(published)
    _warn_of_seed(result, seed)
    if json:
        content = result.to_json()
        content["runs"] = [without_records(run) for run in content["runs"]]
        places = {"report": str(report), "publish": None if published is None else str(published)}
        emit({**content, "recommendation": _recommendation(result), **places})
    else:
        print_result(result, report, published)
    code = 0 if demo else ANSWERS[result.answer]
    if code:
        raise typer.Exit(code)


def without_records(run: dict[str, Any]) -> dict[str, Any]:
    """Return a run as JSON without single records, which are shown on request only.

    >>> without_records({"adversaries": [{"attack": "aba", "examples": []}], "figures": {}})
    {'adversaries': [{'attack': 'aba'}], 'figures': {}}
    """
    tried = [
        {name: value for name, value in each.items() if name != "examples"}
        for each in run["adversaries"]
    ]
    figures = {name: value for name, value in run["figures"].items() if name != "story"}
    return {**run, "adversaries": tried, "figures": figures}


def _recommendation(result: "AuditResult") -> dict[str, object] | None:
    """Return the recommended run in short; None where there is none."""
    chosen = result.chosen
    if chosen is None:
        return None
    return {
        "id": chosen.id,
        "name": chosen.name,
        "method": chosen.method,
        "params": chosen.params,
        "promise": chosen.promise,
        "loss": chosen.loss,
        "risk": chosen.to_json()["risk"],
        "cares": list(result.cares),
    }


def write_report(result: "AuditResult", out: Path) -> Path:
    """Write the page that is for the owner alone; return where."""
    from setveil.core.files import write_whole
    from setveil.report import render_audit

    report = out / "private" / "report.html"
    write_whole(report, render_audit(result, out), mode=0o600)
    return report


def print_result(result: "AuditResult", report: Path, published: Path | None) -> None:
    """Print the first screen: the answer, the risks before and after, the loss, what to do."""
    from setveil.report.summary import first_screen

    screen = first_screen(result)
    echo()
    echo(f"{screen.answer}   {screen.about}")
    if screen.headline:
        echo(screen.headline)
    if screen.risks:
        echo()
        head = ("What could an attacker still do?", "original data", "this release", "guessing")
        rows = [(row.label, row.original, row.release, row.guessing) for row in screen.risks]
        widths = [max(map(len, column)) for column in zip(head, *rows, strict=True)]
        for row in (head, *rows):
            cells = [
                text.ljust(width) if place == 0 else text.rjust(width)
                for place, (text, width) in enumerate(zip(row, widths, strict=True))
            ]
            echo("  " + "   ".join(cells).rstrip())
    for title, sentences in screen.paragraphs:
        echo()
        echo(f"{title}: {sentences[0]}")
        for sentence in sentences[1:]:
            echo(f"  {sentence}")
    echo()
    if published is not None:
        echo(f"To publish: {published}")
    echo(f"Report, for you alone: {report}")


def show_progress(progress: Progress, search: "SearchProgress", *, quiet: bool) -> None:
    """Show how far a search is: a bar on a terminal, a line per trial elsewhere."""
    left = f", {_about(search.seconds_left)} left"
    now = f", now {' and '.join(search.running)}" if search.running else ""
    progress(
        f"{search.done} of about {plural(search.expected, 'trial')}{left}{now}",
        search.done,
        search.expected,
    )
    if search.begins:
        for warning in search.foreseen:
            say(f"warning: {warning}", quiet=quiet)
        if search.ended is None:
            say(
                f"Estimated time: {_about(search.seconds_left)}. You can stop with Ctrl-C; "
                "finished trials are kept.",
                quiet=quiet,
            )
    if search.ended is None:
        return
    say(_line(search.ended, search.done, search.expected), quiet=quiet)
    best = search.best
    if best is not None and best.id == search.ended.id:
        say(
            f"  best so far: {best.title}, {_figures(best)}",
            quiet=quiet,
        )


def _about(seconds: float) -> str:
    return f"about {format_duration(max(round(seconds), 1))}"


def _line(record: "RunRecord", done: int, total: int) -> str:
    """Return what is told of a run as soon as it ends."""
    head = f"[{done}/{total}] {record.title}: "
    if record.state != "done":
        return f"{head}{record.state}: {record.error}"
    promise = "promise checked" if record.verified else "promise not certain"
    said = record.figures.get("content", {}).get("sentence")
    only = f". {said}" if said else ""
    return f"{head}{promise}, {_figures(record)}{only}"


def _figures(record: "RunRecord") -> str:
    return f"worst attack gains at most {lost(record.risk)}, loss {lost(record.loss)}"


def _warn_of_seed(result: "AuditResult", seed: int | None) -> None:
    """Say which releases would give away what was drawn; with --quiet too: it is a warning."""
    from setveil.core.registry import find

    drawn = sorted(
        run.name
        for run in result.runs
        if run.release
        and {"rng"} & getattr(find("anonymizer", run.method).target, "accepts", frozenset())
    )
    if seed is not None and drawn:
        say(
            f"{', '.join(drawn)}: drawn from the seed {seed}. Whoever finds it can repeat what "
            "was drawn: do not publish them, or audit without --seed."
        )
