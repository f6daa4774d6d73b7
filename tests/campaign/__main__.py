"""Print what was brute-forced, as a Markdown table: ``python -m tests.campaign [--share 0.01]``."""

# ruff: noqa: T201  (it prints a table)
import argparse
import sys

from tests.campaign.families import FAMILIES

COLUMNS = (
    "guarantee", "compared with", "releases of methods", "random releases", "of these violated",
    "verdicts left open", "further answers", "refused tables", "disagreements",
)  # fmt: skip


def main():
    parser = argparse.ArgumentParser(prog="python -m tests.campaign", description=__doc__)
    parser.add_argument("--share", type=float, default=1.0, help="run this part of it")
    parser.add_argument("--family", help="run one guarantee only")
    asked = parser.parse_args()
    print(f"| {' | '.join(COLUMNS)} |\n|---|---|{'---:|' * (len(COLUMNS) - 2)}", flush=True)
    tallies = []
    for family in FAMILIES:
        if asked.family in {None, family.guarantee}:
            tallies.append(tally := family.run(asked.share))
            print(line(family.guarantee, family.compared, tally), flush=True)
    total = sum(tally.releases for tally in tallies)
    skipped = sum(tally.skipped for tally in tallies)
    print(f"\n{total:,} releases in all; {skipped:,} more could not be judged by brute force.")
    found = [each for tally in tallies for each in tally.disagreements]
    for each in found:
        print(each, file=sys.stderr)
    return bool(found)


def line(guarantee, compared, tally):
    figures = [tally.methods, tally.random, tally.broken, tally.open]
    figures += [tally.answers, tally.refused, len(tally.disagreements)]
    return f"| {guarantee} | {compared} | {' | '.join(f'{n:,}' for n in figures)} |"


if __name__ == "__main__":
    sys.exit(main())
