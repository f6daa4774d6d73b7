"""``setveil demo``: the audit of an invented clinic, with the settings of any other file."""

from pathlib import Path
from typing import TYPE_CHECKING

from setveil.cli.audit import report_result, show_progress
from setveil.cli.options import expand_options, option
from setveil.cli.output import (
    JsonOption,
    Progress,
    QuietOption,
    announce_compiling,
    say,
)

if TYPE_CHECKING:
    from setveil.synthetic import Synthetic

SEED = 1


@expand_options
def demo(
    *,
    out: Path = option(
        Path("setveil-demo"), "Where everything is written.", "--out", "-o", metavar="DIR"
    ),
    records: int = option(2000, "How many patients to invent.", metavar="N", min=20, max=1_000_000),
    data_only: bool = option(False, "Write the invented records, and stop."),
    quiet: QuietOption = False,
    json: JsonOption = False,
) -> None:
    """Audit an invented clinic as you would your own data.

    DIR/publish holds the release to publish, DIR/private the invented records and the report,
    which is for the owner alone. A second run gives the same files.

    Example: setveil demo --out setveil-demo
    """
    from setveil.audit import audit
    from setveil.audit.store import Store
    from setveil.core.words import sentence
    from setveil.synthetic import clinic

    store = Store.open(out)
    data = clinic(n=records, seed=SEED)
    say(f"{data.description}; {len(data.table.items):,} items in all", quiet=quiet)
    _write_data(data, store.private)
    if data_only:
        return
    with Progress(quiet=quiet) as progress, announce_compiling(quiet=quiet):
        progress("trying methods")
        result = audit(
            data.table,
            out=out,
            taxonomy=data.taxonomy,
            sensitive=data.sensitive,
            seed=SEED,
            title="An invented clinic",
            description=sentence(data.description),
            tell=lambda search: show_progress(progress, search, quiet=quiet),
        )
    report_result(result, out, seed=None, json=json, demo=True)


def _write_data(data: "Synthetic", private: Path) -> None:
    from setveil.core.files import write_whole
    from setveil.io.writers import write

    write(data.table, private / "clinic.jsonl")
    data.taxonomy.write_arx(private / "taxonomy.csv")
    write_whole(private / "sensitive.txt", "".join(f"{item}\n" for item in data.sensitive))
