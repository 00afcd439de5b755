"""Spark for tests: one Java process, on whatever master a test asks for, and a small cluster."""

import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from longsynth.engines.spark import spark_session

TESTS = Path(__file__).parent
SOURCES = os.pathsep.join([str(TESTS), str(TESTS.parent / "src")])
LEAN = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"  # short runs: compile little
SETTINGS = {
    "spark.driver.extraJavaOptions": LEAN,
    "spark.executor.extraJavaOptions": LEAN,
    "spark.executorEnv.PYTHONPATH": SOURCES,
    "spark.sql.shuffle.partitions": "2",
}


def why_not() -> str:
    """Why Spark cannot run here, or nothing."""
    if find_spec("pyspark") is None:
        return "pyspark is not installed: pip install 'longsynth[spark]'"
    if not (shutil.which("java") or os.environ.get("JAVA_HOME")):
        return "Java is not installed: Spark needs 17 or newer"
    return ""


class Sessions:
    """At most one session at a time; the same one as long as the master stays the same."""

    def __init__(self, scratch: Path) -> None:
        self._stack, self._master, self._session = ExitStack(), "", None
        self._settings = SETTINGS | {"spark.local.dir": str(scratch)}  # Java keeps to the first

    def on(self, master: str = "local[2]", settings: Mapping[str, str] | None = None) -> Any:
        from pyspark import SparkContext

        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # of the executors
        if self._master != master or SparkContext._active_spark_context is None:
            self.stop()
            session = spark_session(master, self._settings | dict(settings or {}))
            self._session = self._stack.enter_context(session)
            self._master = master
        return self._session

    def stop(self) -> None:
        self._stack.close()
        self._master = ""


@dataclass(frozen=True, slots=True)
class Cluster:
    """A standalone master with two workers on loopback, each of one core."""

    master: str
    work: Path  # what the workers write: jars, logs of executors
    workers: dict[str, subprocess.Popen[bytes]]

    def kill(self, worker: str) -> None:
        """A machine that is gone: the worker and its executor at once."""
        os.killpg(self.workers[worker].pid, signal.SIGKILL)
        self.workers[worker].wait()


@contextmanager
def cluster(work: Path) -> Iterator[Cluster]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    address = f"spark://127.0.0.1:{port}"
    names = ("worker-1", "worker-2")
    master = _start("master.Master", "--port", port, log=work / "master.log")
    started = [master]
    try:
        _until(lambda: _listens(port), master)
        workers = {}
        for name in names:
            options = ("--cores", 1, "--memory", "1g", "--work-dir", work / name, address)
            workers[name] = _start("worker.Worker", *options, log=work / f"{name}.log")
            started.append(workers[name])
        yield Cluster(address, work, workers)
    finally:
        for process in started:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()


def _start(what: str, *options: object, log: Path) -> subprocess.Popen[bytes]:
    import pyspark

    home = Path(pyspark.__file__).parent
    command = [home / "bin/spark-class", f"org.apache.spark.deploy.{what}", "--host", "127.0.0.1"]
    command += ["--webui-port", "0", *options]
    environment = os.environ | {
        "SPARK_HOME": str(home),
        "SPARK_DAEMON_JAVA_OPTS": LEAN,
        "SPARK_DAEMON_MEMORY": "256m",
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_LOCAL_DIRS": str(log.parent),
        "PYSPARK_PYTHON": sys.executable,
        "PYTHONPATH": SOURCES,
    }
    with log.open("wb") as said:
        return subprocess.Popen(
            [str(part) for part in command],
            env=environment,
            stdout=said,
            stderr=said,
            start_new_session=True,
        )


def _listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def _until(holds: Any, process: subprocess.Popen[bytes]) -> None:
    while not holds():
        assert process.poll() is None, "the master did not start"
        time.sleep(0.1)
