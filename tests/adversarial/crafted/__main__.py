"""Print what was crafted and judged: ``python -m tests.adversarial.crafted [--share 0.01]``."""

# ruff: noqa: T201  (it prints a table)
import argparse
import sys

from tests.adversarial.crafted.forms import FORMS

COLUMNS = (
    "form", "verdicts compared with", "crafted releases", "refused when loaded", "verdicts",
    "holds", "violated", "left open", "not applicable", "wrong verdicts",
)  # fmt: skip


def main():
    parser = argparse.ArgumentParser(
        prog="python -m tests.adversarial.crafted", description=__doc__
    )
    parser.add_argument("--share", type=float, default=1.0, help="run this part of it")
    parser.add_argument("--form", help="craft releases of one form only")
    asked = parser.parse_args()
    print(f"| {' | '.join(COLUMNS)} |\n|---|---|{'---:|' * (len(COLUMNS) - 2)}", flush=True)
    found, skipped = [], 0
    for each in FORMS:
        if asked.form in {None, each.form}:
            tally = each.run(asked.share)
            print(line(each, tally), flush=True)
            found += tally.disagreements
            skipped += tally.skipped
    print(f"\n{skipped:,} more could not be judged: they allow too many originals.")
    for each in found[:100]:
        print(each, file=sys.stderr)
    return bool(found)


def line(each, tally):
    figures = [tally.crafted, tally.refused, tally.verdicts, tally.held, tally.broken, tally.open]
    figures += [tally.inapplicable, len(tally.disagreements)]
    return f"| {each.form} | {each.compared} | {' | '.join(f'{n:,}' for n in figures)} |"


if __name__ == "__main__":
    sys.exit(main())
