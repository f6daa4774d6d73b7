"""An audit as Markdown: for a pull request, a ticket, a mail to a colleague who is cleared."""

from __future__ import annotations

import html
import re
from typing import TYPE_CHECKING

from setveil.audit.results import DONE
from setveil.report.audit_page import figures_for, nearest, verdict_of
from setveil.report.audit_runs import called, state, value_words
from setveil.words import lost, sentence, visible, won

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
    """Return the verdict, every run and the attacks on the recommended one as Markdown.

    >>> from setveil.audit import AuditResult
    >>> print(markdown_audit(AuditResult(title="Visits", target=0.1, runs=())).splitlines()[0])
    # Visits
    """
    focus = result.chosen or nearest(result)
    lines = [*_head(result, focus), *_runs(result)]
    if focus is not None:
        lines += _attacks(focus)
    if result.notes:
        lines += ["", "## Notes", "", *(f"- {escaped(note)}" for note in result.notes)]
    if result.settings:
        rows = [[name, value_words(value)] for name, value in result.settings.items()]
        lines += ["", "## Settings", "", *_table(["setting", "value"], rows)]
    return "\n".join(lines) + "\n"


def _head(result: AuditResult, focus: RunRecord | None) -> Iterator[str]:
    verdict = verdict_of(result)
    yield f"# {escaped(result.title)}"
    yield ""
    yield "**For the owner of the data: do not publish this text.**"
    if result.description:
        yield from ["", escaped(" ".join(result.description.split()))]
    yield from ["", f"**{escaped(verdict['lead'])}** {escaped(verdict['counts'])}", ""]
    yield from (f"- {escaped(text)}" for text in (*verdict["reasons"], *verdict["warnings"]))
    yield ""
    for figure in figures_for(result, focus):
        yield f"- **{figure['value']}** {escaped(figure['what'])}. {escaped(figure['how'])}"


def _runs(result: AuditResult) -> Iterator[str]:
    yield from ["", "## All releases", ""]
    rows = [
        [
            run.title + (" ★" if run.id == result.recommended else ""),
            state(run),
            lost(run.risk),
            lost(run.loss),
            ("" if run.worst is None else called(run.worst))
            if run.state == DONE
            else sentence(run.error),
        ]
        for run in result.runs
    ]
    yield from _table(["release", "promise", "risk", "loss", "worst attack"], rows)
    yield ""
    yield (
        "Risk: upper end of what the worst attack gets of what guessing misses, rounded up; loss: "
        "average relative error of count queries, rounded up."
    )


def _attacks(run: RunRecord) -> Iterator[str]:
    yield from ["", f"## Attacks on {escaped(run.title)}", ""]
    rows = [
        [called(each), won(each.rate), won(each.baseline), won(each.control), won(each.gain)]
        if each.rate is not None
        else [called(each), sentence(each.note) or "not measured", "", "", ""]
        for each in run.adversaries
    ]
    yield from _table(["attack", "right", "guessing", "control", "gain"], rows)


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    yield f"| {' | '.join(head)} |"
    yield f"|{'---|' * len(head)}"
    yield from (f"| {' | '.join(map(escaped, row))} |" for row in rows)
