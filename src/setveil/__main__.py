"""``python -m setveil`` is the command line."""

from setveil.cli import main

main()
