"""An audit as Markdown: for a pull request, a ticket, a mail to a colleague who is cleared."""

from __future__ import annotations

import html
import re
from decimal import ROUND_FLOOR
from typing import TYPE_CHECKING

from setveil.core.words import people, sentence, visible, won
from setveil.report.summary import best_first, called, describe, first_screen, nearest, value_words

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from setveil.audit import AuditResult, RunRecord

SPECIAL = re.compile(r"([\\`*_\[\]|#~@$]|:(?=\S)|(?<=www)\.|^[-+=])", re.IGNORECASE)
"""What would begin markup, a link, a mention or a formula."""
NUMBERED = re.compile(r"^(\d+)([.)])(?=\s|$)")


def escaped(text: object) -> str:
    r"""Return a text so that Markdown shows it as it is, on one line, hidden characters too.

    >>> print(escaped("a|b <i>*c*\u202e www.d"))
    a\|b &lt;i&gt;\*c\*\\u202e www\.d
    """
    plain = html.escape(visible(str(text)), quote=False)
    return NUMBERED.sub(r"\1\\\2", SPECIAL.sub(r"\\\1", plain))


def markdown_audit(result: AuditResult) -> str:
    """Return the answer, every trial and the attacks on the recommended one as Markdown.

    >>> from setveil.audit import AuditResult
    >>> print(markdown_audit(AuditResult(title="Visits", runs=())).splitlines()[0])
    # NOT DECIDED: Visits
    """
    focus = result.chosen or nearest(result)
    lines = [*_first_screen(result), *_trials(result)]
    if focus is not None:
        lines += _attacks(focus)
    if result.notes:
        lines += ["", "## Notes", "", *(f"- {escaped(note)}" for note in result.notes)]
    if result.settings:
        rows = [
            [name, value_words(value)]
            for name, value in result.settings.items()
            if name != "reading"
        ]
        lines += ["", "## Settings", "", *_table(["setting", "value"], rows)]
    return "\n".join(lines) + "\n"


def _first_screen(result: AuditResult) -> Iterator[str]:
    screen = first_screen(result)
    yield f"# {screen.answer}: {escaped(screen.about)}"
    yield ""
    yield "**For the owner of the data: do not publish this text.**"
    if screen.headline:
        yield from ["", escaped(screen.headline)]
    if screen.risks:
        head = ["What could an attacker still do?", "original data", "this release", "guessing"]
        rows = [
            [row.label, row.original, row.release, row.guessing or "not measured"]
            for row in screen.risks
        ]
        yield from ["", *_table(head, rows), ""]
        yield from (f"- {escaped(row.label)}: {escaped(row.details)}." for row in screen.risks)
    for title, sentences in screen.paragraphs:
        yield from ["", f"**{escaped(title)}:**", ""]
        yield from (f"- {escaped(said)}" for said in sentences)


def _trials(result: AuditResult) -> Iterator[str]:
    yield from ["", "## Every trial, best first", ""]
    rows = []
    for run in best_first(result):
        said = describe(run, result)
        risks = [each["text"] for each in said["risks"]]
        star = " ★" if said["chosen"] else ""
        rows.append([run.title + star, said["verdict"], *risks, said["loss"], said["why"]])
    head = ["trial", "verdict", "singling out", "linkage", "inference", "loss", "why"]
    yield from _table(head, rows)
    yield ""
    yield (
        "Risks: the largest gain over guessing, at the upper end of its 95% interval. Loss: the "
        "average relative error of counts. Both are rounded up."
    )


def _attacks(run: RunRecord) -> Iterator[str]:
    yield from ["", f"## Attacks on {escaped(run.title)}", ""]
    rows = [
        [
            called(each),
            people(each.raw, rounding=ROUND_FLOOR),
            people(each.rate),
            people(each.baseline, rounding=ROUND_FLOOR),
            people(each.control),
            won(each.gain),
        ]
        if each.rate is not None
        else [called(each), "", sentence(each.note) or "not measured", "", "", ""]
        for each in run.adversaries
    ]
    head = ["attack", "original data", "this release", "guessing", "control", "gain"]
    yield from _table(head, rows)


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    yield f"| {' | '.join(head)} |"
    yield f"|{'---|' * len(head)}"
    yield from (f"| {' | '.join(map(escaped, row))} |" for row in rows)
