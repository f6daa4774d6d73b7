"""Which tests `make test` leaves to `make test-ci`: those that take long, by measured durations.

``long_tests.txt`` lists them: a whole file (``tests/cli/test_demo.py``), a test of a file, or one
case of a test (``…::test_name[case]``). pytest marks them ``long``. A test that is not listed runs
everywhere. To measure again, and to keep the lines that name whole files:

    .venv/bin/python -m pytest -n 2 -m "not slow" --hypothesis-profile quick --junitxml times.xml
    .venv/bin/python -m tests.tiers times.xml

A test that takes LEAST seconds or more is left to CI. Of a test with many cases the fastest one
stays, if it takes less than MOST seconds: each thing that is tested has a representative.
"""

import sys
from collections import defaultdict
from pathlib import Path
from xml.etree import ElementTree as ET

ROOT = Path(__file__).parents[1]
LIST = Path(__file__).with_name("long_tests.txt")
LEAST = 2.0
MOST = 3.0


def listed() -> list[str]:
    """Return the lines of the list."""
    return LIST.read_text(encoding="utf-8").splitlines()


def is_long(nodeid: str, lines: set[str]) -> bool:
    """Tell whether a test, its other cases or its whole file are listed."""
    return bool(lines & {nodeid, nodeid.partition("[")[0], nodeid.partition("::")[0]})


def durations(report: Path) -> dict[str, float]:
    """Return how many seconds each test took, by its id, from a report in JUnit's format."""
    found = {}
    for case in ET.parse(report).iter("testcase"):
        path = case.get("classname", "").replace(".", "/")
        found[f"{path}.py::{case.get('name')}"] = float(case.get("time", 0))
    return found


def choose(times: dict[str, float], files: set[str]) -> list[str]:
    """Return the lines of the list: whole files as given, and every test that takes long."""
    cases = defaultdict(dict)
    for nodeid, seconds in times.items():
        if nodeid.partition("::")[0] not in files:
            cases[nodeid.partition("[")[0]][nodeid] = seconds
    lines = set(files)
    for test, of in cases.items():
        long = {nodeid for nodeid, seconds in of.items() if seconds >= LEAST}
        fastest = min(of, key=of.__getitem__)
        if len(of) > 1 and of[fastest] < MOST:
            lines |= long - {fastest}
        elif long:
            lines.add(test)
    return sorted(lines)


def main() -> None:
    """Write the list from a report."""
    times = durations(Path(sys.argv[1]))
    files = {line for line in listed() if "::" not in line} if LIST.exists() else set()
    lines = choose(times, files)
    LIST.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    kept = [seconds for nodeid, seconds in times.items() if not is_long(nodeid, set(lines))]
    sys.stderr.write(f"{len(kept)} of {len(times)} tests stay, which took {sum(kept):.0f} s\n")


if __name__ == "__main__":
    main()
