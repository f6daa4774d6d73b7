"""An audit becomes one self-contained HTML page for the owner of the data, or Markdown.

>>> from setveil.audit import AuditResult, RunRecord
>>> lone = RunRecord(id="1", name="clump-k5", title="clump, k = 5", method="clump",
...                  params={"k": 5}, state="failed", error="no memory was left")
>>> "clump, k = 5" in markdown_audit(AuditResult(title="Visits", runs=(lone,)))
True
"""

from setveil.audit.figures import frontier, save_figures
from setveil.report.page import render_audit
from setveil.report.summary import markdown_audit

__all__ = ["frontier", "markdown_audit", "render_audit", "save_figures"]
