"""Fuzz what setveil reads from strangers, and print what came of it as a Markdown table.

``python -m tests.adversarial.fuzz [--share 0.01] [--target releases] [--first 0] [--workers 2]``
runs a part of the campaign; ``--target NAME --again NUMBER`` shows what became of one input, which
stays in the folder ``fuzz-NAME-NUMBER``.
"""

# ruff: noqa: T201  (it prints a table)
import argparse
import random
import sys
import tempfile
from pathlib import Path

from tests.adversarial.fuzz import campaign
from tests.adversarial.fuzz.targets import TARGETS

HEAD = (
    "| target | inputs | accepted | refused | tracebacks | hangs | aborts | over 1 GB "
    "| worst CPU s | peak MB | CPU s |\n|---|" + "---:|" * 10
)


def main(arguments):
    if arguments[:1] == ["work"]:
        _, name, folder, *numbers = arguments
        campaign.work(TARGETS[name], range(*map(int, numbers)), Path(folder))
        return 0
    if arguments[:1] == ["use"]:
        _, name, files, folder = arguments
        campaign.use_files(TARGETS[name], Path(files), Path(folder))
        return 0
    parser = argparse.ArgumentParser(prog="python -m tests.adversarial.fuzz", description=__doc__)
    parser.add_argument("--share", type=float, default=1.0, help="run this part of it")
    parser.add_argument("--target", choices=TARGETS, help="fuzz this only")
    parser.add_argument("--first", type=int, default=0, help="number of the first input")
    parser.add_argument("--workers", type=int, default=2, help="processes")
    parser.add_argument("--enough", type=int, default=200, help="failures of a target")
    parser.add_argument("--again", type=int, metavar="NUMBER", help="show one input of a target")
    asked = parser.parse_args(arguments)
    if asked.again is not None:
        return show(TARGETS[asked.target], asked.again)
    print(HEAD, flush=True)
    every = []
    for target in TARGETS.values():
        if asked.target in {None, target.name}:
            with tempfile.TemporaryDirectory() as folder:
                figures = campaign.run(
                    target,
                    round(target.inputs * asked.share),
                    Path(folder),
                    first=asked.first,
                    workers=asked.workers,
                    enough=asked.enough,
                )
            every.append(figures)
            print(figures.line(), flush=True)
    for figures in every:
        for alike in figures.failures.values():
            print(*alike, sep="\n", file=sys.stderr)
    total = sum(figures.outcomes.total() for figures in every)
    print(f"\n{total:,} inputs, {sum(figures.cpu for figures in every) / 60:.0f} CPU minutes.")
    return any(figures.failed for figures in every)


def show(target, number):
    """Use one input in this process, and leave it in a folder."""
    folder = Path(f"fuzz-{target.name}-{number}")
    folder.mkdir()
    with tempfile.TemporaryDirectory() as name:
        known = target.seeds(Path(name))
    case = target.made(number, known)
    campaign.place(case, folder)
    print({name: content[:1000] for name, content in case.files.items()}, case.options)
    print(campaign.outcome_of(target, folder, case))
    return 0


if __name__ == "__main__":
    random.seed(0)
    sys.exit(main(sys.argv[1:]))
