"""Which anonymizers can be imported from their package, for type checkers and API pages.

``python -m website.method_names`` writes the stub of the package; a test compares the two.
"""

from __future__ import annotations

from pathlib import Path

import setveil
from setveil.core import registry

STUB = Path(setveil.__file__).parent / "anonymize" / "__init__.pyi"
PACKAGE = "setveil.anonymize"


def stub() -> str:
    """Return the names of the package, each with the module that defines it."""
    homes = {
        entry.target.__name__: entry.target.__module__
        for entry in registry.entries("anonymizer")
        if entry.target.__module__.startswith(f"{PACKAGE}.")
    }
    homes["Anonymizer"] = f"{PACKAGE}.base"
    modules = sorted(set(homes.values()))
    lines = ["# Written by `python -m website.method_names`.", ""]
    for module in modules:
        names = sorted(name for name, home in homes.items() if home == module)
        lines.append(f"from {module} import {', '.join(names)}")
    lines += ["", "__all__ = ["]
    # As ruff sorts them: constants in capitals first.
    ordered = sorted(homes, key=lambda name: (not name.isupper(), name))
    return "\n".join([*lines, *(f'    "{name}",' for name in ordered), "]", ""])


if __name__ == "__main__":
    STUB.write_text(stub(), encoding="utf-8")
