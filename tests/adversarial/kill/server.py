"""A process that has imported setveil and forks once for each command, which it can kill.

Run as ``python -P server.py SOURCES``. It reads a request per line, runs it in a child and answers
with a line, both as JSON. In the child each file event below the given folders is counted: opening
for writing, each half of a write, fsync, rename, remove, mkdir, rmdir, chmod. Right before the
event whose number was asked for, the child sends itself a signal. This process computes nothing
with polars, whose threads would not live on in a fork.
"""

import importlib
import io
import json
import os
import signal
import sys
import time
import traceback
from pathlib import Path

WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
CHANGES = {
    "os.rename": 2, "os.remove": 1, "os.mkdir": 1, "os.rmdir": 1, "os.chmod": 1,
    "os.truncate": 1, "os.link": 2, "os.symlink": 2,
}  # fmt: skip
"""Audit events that change what is on the disk, with how many of their arguments are paths."""
PRELOADED = (
    "numpy", "numba", "polars", "scipy.sparse", "setveil.cli", "setveil.anonymize",
    "setveil.attack", "setveil.audit", "setveil.guarantee", "setveil.measure", "setveil.report",
    "setveil.tabular", "setveil.text", "setveil.relatedness", "setveil.relatedness.index",
    "setveil.io.readers",
)  # fmt: skip


class Events:
    """Counts file events and sends this process a signal before one of them."""

    def __init__(self, folders, at, number):
        self.folders = [os.path.realpath(folder) for folder in folders]
        self.at = at
        self.signal = number
        self.count = 0
        self.log = []

    def happen(self, what):
        self.count += 1
        self.log.append(what)
        if self.count == self.at:
            os.kill(os.getpid(), self.signal)

    def is_ours(self, path):
        if not isinstance(path, str | bytes | os.PathLike):
            return False
        whole = os.path.abspath(os.fsdecode(path))  # noqa: PTH100  (no event of its own)
        return any(whole.startswith(folder) for folder in self.folders)

    def hear(self, event, arguments):
        """Be called by Python before it does something to a file."""
        if event == "open":
            path, mode, flags = arguments
            writing = flags & WRITING if isinstance(flags, int) else set(mode or "") & set("wax+")
            if writing and self.is_ours(path):
                self.happen(f"open {path}")
        elif event in CHANGES and any(map(self.is_ours, arguments[: CHANGES[event]])):
            self.happen(f"{event} {arguments}")

    def install(self):
        """Listen from here on."""
        sys.addaudithook(self.hear)
        events, real_open, real_fsync = self, os.fdopen, os.fsync

        class Raw(io.FileIO):
            def write(self, data):
                view = memoryview(data).cast("B")
                half = len(view) // 2
                events.happen("write, first half")
                done = super().write(view[:half]) if half else 0
                events.happen("write, second half")
                return done + super().write(view[half:])

        def fdopen(handle, mode="r", *rest, **options):
            if mode != "wb":
                return real_open(handle, mode, *rest, **options)
            return io.BufferedWriter(Raw(handle, "wb"))

        def fsync(handle):
            events.happen("fsync")
            real_fsync(handle)

        os.fdopen, os.fsync = fdopen, fsync


def run_child(request, report):
    """Run a command of setveil as its own process would, and report how many events there were."""
    os.chdir(request["cwd"])
    streams = os.open(request["output"], os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(streams, 1)
    os.dup2(streams, 2)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    events = Events(request["folders"], request["at"], request["signal"])
    events.install()
    code = 99
    try:
        from setveil.cli import main

        sys.argv = ["setveil", *request["argv"]]
        main()
        code = 0
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else int(bool(end.code))
    except BaseException:  # noqa: BLE001  (what main lets through is what a test must see)
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os.write(report, json.dumps([code, events.count, events.log]).encode())
        os._exit(code & 0xFF)


def serve(request):
    """Fork, wait within the time that is given, and say how it ended."""
    out, into = os.pipe()
    child = os.fork()
    if not child:
        os.close(out)
        run_child(request, into)
    os.close(into)
    started = time.monotonic()
    ended, status = 0, 0
    with os.fdopen(out, "rb") as pipe:
        os.set_blocking(out, False)
        said = b""
        while not ended:
            ended, status = os.waitpid(child, os.WNOHANG)
            said += pipe.read() or b""
            if not ended and time.monotonic() - started > request["timeout"]:
                os.kill(child, signal.SIGKILL)
                os.waitpid(child, 0)
                return {"hung": True}
            if not ended:
                time.sleep(0.002)
        said += pipe.read() or b""
    found = {"hung": False, "status": os.waitstatus_to_exitcode(status)}
    if said:
        found["code"], found["events"], found["log"] = json.loads(said)
    return found


def warm_up():
    """Load what children need: modules, and kernels that take long."""
    for name in PRELOADED:
        importlib.import_module(name)
    folder = Path(sys.modules["setveil.cli"].__file__).parent
    for module in sorted(folder.glob("*.py")):
        if module.stem not in {"__init__", "__main__"}:
            importlib.import_module(f"setveil.cli.{module.stem}")
    from setveil import Taxonomy, TransactionTable
    from setveil.anonymize import Disassociate, Gather

    table = TransactionTable.from_rows([["a"], ["a", "b"], ["b"]] * 2)
    made = Gather(k=2).anonymize(table, taxonomy=Taxonomy.balanced(["a", "b"]))
    made.promise.check(made.release)
    Disassociate(k=2, m=1).anonymize(table)


if __name__ == "__main__":
    sys.path.insert(0, sys.argv[1])
    warm_up()
    print("ready", flush=True)  # noqa: T201
    for line in sys.stdin:
        print(json.dumps(serve(json.loads(line))), flush=True)  # noqa: T201
