"""The program as its user meets it: start-up, and the default plan cold and warm."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.figure import Figure, children_cpu_seconds, wall_seconds

TOPOOPT = Path(sys.executable).with_name("topoopt")
CORES = 2
DEMO = ("plan", "dlrm", "--servers", "128", "--degree", "4", "--bandwidth", "100Gbps")


def topoopt(*arguments: str, cache: str | None = None) -> str:
    """Run a command and return what it prints; ``cache`` is a folder for compiled kernels."""
    environment = dict(os.environ) if cache is None else {**os.environ, "NUMBA_CACHE_DIR": cache}
    command = [*on_two_cores(), str(TOPOOPT), *arguments]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout


def on_two_cores() -> list[str]:
    """Return what to put before a command to keep it, and all that it starts, on two cores."""
    taskset = shutil.which("taskset")
    if taskset is None or len(os.sched_getaffinity(0)) <= CORES:
        return []
    cores = sorted(os.sched_getaffinity(0))[:CORES]
    return [taskset, "--cpu-list", ",".join(map(str, cores))]


def plan(*arguments: str) -> dict[str, Any]:
    """Run ``topoopt plan --json`` and return the answer."""
    answer: dict[str, Any] = json.loads(topoopt("plan", *arguments, "--json"))
    return answer


def figures() -> Iterator[Figure]:
    topoopt("--help")
    used = min(children_cpu_seconds(lambda: topoopt("--help")) for _ in range(3))
    yield Figure("topoopt --help", used, "CPU s", limit=0.15)
    with tempfile.TemporaryDirectory() as cache:
        first = wall_seconds(lambda: topoopt(*DEMO, cache=cache))
        yield Figure("first plan, nothing compiled: dlrm, 128 servers, 2 cores", first, "s", 12)
        topoopt(*DEMO, cache=cache)  # what the first one did not need, its second process may still compile
        again = min(wall_seconds(lambda: topoopt(*DEMO, cache=cache)) for _ in range(2))
        yield Figure("plan, all compiled: dlrm, 128 servers, 2 cores", again, "s", 7)
