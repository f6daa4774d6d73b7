"""A Spark cluster on this machine from the pip package: a master and workers, each killable."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import time
from contextlib import suppress
from pathlib import Path

STARTED = re.compile(r"Starting Spark master at (spark://[\w.]+:\d+)")
PATIENCE = 120.0
"""Seconds that a process may take to start on a busy machine."""


class Member:
    """A process of the cluster with all that it starts: a session of its own."""

    def __init__(self, command, folder, environment, name):
        self.log = folder / f"{name}.log"
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                [str(part) for part in command],
                stdout=log,
                stderr=subprocess.STDOUT,
                cwd=folder,
                env=environment,
                start_new_session=True,
            )

    def text(self):
        return self.log.read_text(errors="replace")

    def await_text(self, pattern, number=1):
        """Return the matches of a pattern in the log once there are so many."""
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            found = re.findall(pattern, self.text())
            if len(found) >= number:
                return found
            if self.process.poll() is not None:
                break
            time.sleep(0.1)
        raise AssertionError(f"{self.log.name} does not say {pattern!r}:\n{self.text()[-2000:]}")

    def kill(self):
        """End the process and all that it started, at once and without a farewell."""
        # One that was just forked may be missed, so until there is none.
        while members := self.living():
            for each in members:
                with suppress(ProcessLookupError):
                    os.kill(each, signal.SIGKILL)
            self.process.poll()
        self.process.wait()

    def living(self):
        """Return the processes of the session that are no zombies."""
        found = []
        for stat in Path("/proc").glob("[0-9]*/stat"):
            try:
                fields = stat.read_text().rpartition(") ")[2].split()
            except (FileNotFoundError, ProcessLookupError):
                continue
            if fields[0] != "Z" and int(fields[3]) == self.process.pid:
                found.append(int(stat.parent.name))
        return found


class Cluster:
    """A master and workers of one core each; nothing of them is left after the ``with`` block."""

    def __init__(self, folder, workers=2, settings=None):
        import pyspark

        self.folder = folder
        self.home = Path(pyspark.__file__).parent
        for name in ("conf", "temporary", "local", "work"):
            (folder / name).mkdir()
        lines = [f"{name} {value}" for name, value in (settings or {}).items()]
        (folder / "conf" / "spark-defaults.conf").write_text("\n".join(lines) + "\n")
        self.environment = {
            **os.environ,
            "SPARK_HOME": str(self.home),
            "SPARK_CONF_DIR": str(folder / "conf"),
            "SPARK_LOCAL_DIRS": str(folder / "local"),
            "SPARK_LOCAL_IP": "127.0.0.1",
            "TMPDIR": str(folder / "temporary"),
            # Libraries that Java unpacks, and its statistics, would stay in /tmp.
            "JAVA_TOOL_OPTIONS": f"-Djava.io.tmpdir={folder / 'temporary'} -XX:-UsePerfData",
        }
        self.number = workers
        self.members = []

    def __enter__(self):
        try:
            here = ("--host", "127.0.0.1", "--webui-port", 0)
            master = self.start("master", "master.Master", *here, "--port", 0)
            (self.master,) = set(master.await_text(STARTED.pattern))
            size = ("--cores", 1, "--memory", "1g", "--work-dir", self.folder / "work")
            self.workers = [
                self.start(f"worker-{number}", "worker.Worker", self.master, *here, *size)
                for number in range(self.number)
            ]
            master.await_text("Registering worker", self.number)
        except BaseException:
            self.end()
            raise
        return self

    def __exit__(self, *_):
        self.end()

    def start(self, name, kind, *arguments):
        command = [self.home / "bin" / "spark-class", f"org.apache.spark.deploy.{kind}"]
        return self.run(name, [*command, *arguments])

    def run(self, name, command):
        """Run a command beside the cluster; it ends with it."""
        member = Member(command, self.folder, self.environment, name)
        self.members.append(member)
        return member

    def end(self):
        for member in self.members[::-1]:
            member.kill()
