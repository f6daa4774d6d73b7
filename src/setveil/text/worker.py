"""One process that extracts items: ``python -m setveil.text.worker``.

It reads lines of JSON: first what to extract, then batches of texts. It answers each with a line
of JSON. JSON and not pickles, so that nothing but data goes over the pipes; a process of its own
and not a fork, so that threads of the parent and its main module do not matter.
"""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any, TextIO

from setveil.core.errors import SetveilError
from setveil.text.extractor import Extractor

if TYPE_CHECKING:
    from collections.abc import Iterable


def batch_of(extractor: Extractor, texts: Iterable[str]) -> dict[str, Any]:
    """Return the items of each text and the number of words in all of them.

    >>> batch_of(Extractor(), ["High fever.", ""])
    {'rows': [['high fever'], []], 'words': 2}
    """
    rows, words = [], 0
    for text in texts:
        rows.append(extractor(text))
        words += len(text.split())
    return {"rows": rows, "words": words}


def serve(source: TextIO, target: TextIO) -> None:
    """Answer requests until there are no more.

    >>> import io
    >>> answers = io.StringIO()
    >>> serve(io.StringIO('{"method": "nouns"}' + chr(10) + '["A fever."]'), answers)
    >>> print(answers.getvalue(), end="")
    {"ready": true}
    {"rows": [["fever"]], "words": 2}
    """

    def answer(value: dict[str, Any]) -> None:
        target.write(json.dumps(value) + "\n")
        target.flush()

    settings = json.loads(source.readline())
    try:
        extractor = Extractor(**{**settings, "stop_words": tuple(settings.get("stop_words", ()))})
        extractor.load()
    except SetveilError as error:
        answer({"what": error.what, "fix": error.fix})
        return
    answer({"ready": True})
    for line in source:
        answer(batch_of(extractor, json.loads(line)))


if __name__ == "__main__":
    try:
        serve(sys.stdin, sys.stdout)
    except BrokenPipeError:  # whoever asked is gone
        sys.exit(1)
