"""A run of an audit on a machine that does not see the audit's directory: made there, kept here."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from setveil.audit.results import DONE
from setveil.audit.store import Store
from setveil.audit.trial import run_trial
from setveil.release import store as releases

if TYPE_CHECKING:
    from setveil.audit.results import RunRecord
    from setveil.audit.trial import Case, Job
    from setveil.release.base import Key
    from setveil.release.manifest import Manifest


@dataclass(frozen=True, kw_only=True, eq=False)
class Made:
    """What a run leaves behind, as values that can be sent."""

    record: RunRecord
    manifest: Manifest | None = None
    data: bytes = b""
    key: Key | None = None


def run_trial_apart(case: Case, job: Job) -> Made:
    """Make a run in a directory that is gone afterwards; what it wrote comes back as values."""
    with tempfile.TemporaryDirectory(prefix="setveil-run-") as folder:
        store = Store.opened(folder)
        record = run_trial(replace(case, store=store), job)
        if record.state != DONE or not record.release:
            return Made(record=record)
        directory = store.candidates / record.name
        manifest = releases.load_manifest(directory)
        return Made(
            record=record,
            manifest=manifest,
            data=(directory / manifest.file).read_bytes(),
            key=releases.load_key(store.key_file(record.name)),
        )


def keep(made: Made, store: Store) -> RunRecord:
    """Write what a run left behind into the audit's own directory; it counts as finished then."""
    record = made.record
    if made.manifest is not None:
        releases.write(
            store.candidates / record.name,
            made.manifest,
            made.data,
            force=True,
            key=made.key,
            key_file=store.key_file(record.name),
        )
    if record.state == DONE:
        store.keep(record)
    return record
