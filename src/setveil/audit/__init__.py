"""The main job: many methods and settings, each verified, attacked, measured; then advice.

>>> from setveil.audit import applicable
>>> [entry.name for entry in applicable(taxonomy=False, sensitive=True)][:3]
['anatomy', 'cahd', 'coat']
"""

from setveil.audit.request import audit, harden, suggest_sensitive
from setveil.audit.results import ANSWERS, Adversary, AuditResult, Criteria, RunRecord
from setveil.audit.run import (
    Run,
    Setting,
    applicable,
    build,
    run_method,
    save_run,
    tree_over,
)
from setveil.audit.store import load_audit

__all__ = [
    "ANSWERS",
    "Adversary",
    "AuditResult",
    "Criteria",
    "Run",
    "RunRecord",
    "Setting",
    "applicable",
    "audit",
    "build",
    "harden",
    "load_audit",
    "run_method",
    "save_run",
    "suggest_sensitive",
    "tree_over",
]
