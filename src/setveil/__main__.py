"""``setveil`` and ``python -m setveil``: the command line.

Python ends with 1 after an error that nobody caught, and for ``setveil verify`` 1 means that a
promise is broken. So nothing is imported before somebody catches.
"""

import os
import sys
import traceback

INTERNAL = 70
"""The exit code for an error of setveil itself (sysexits.h: EX_SOFTWARE)."""


def main() -> None:
    """Run the command line; where it cannot even be loaded, exit with 70."""
    try:
        from setveil.cli import main as run_command_line

        run_command_line()
    except SystemExit:
        raise
    except BaseException:  # noqa: BLE001
        try:
            traceback.print_exc()
            sys.stderr.flush()
        finally:
            os._exit(INTERNAL)


if __name__ == "__main__":
    main()
