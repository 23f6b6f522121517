"""The program as its user meets it: start-up, and the default plan cold and warm."""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.figure import Figure, children_cpu_seconds, wall_seconds

TOPOOPT = Path(sys.executable).with_name("topoopt")
DEMO = ("plan", "dlrm", "--servers", "128", "--degree", "4", "--bandwidth", "100Gbps")


def topoopt(*arguments: str, cache: str | None = None) -> str:
    """Run a command and return what it prints; ``cache`` is a folder for compiled kernels."""
    environment = dict(os.environ) if cache is None else {**os.environ, "NUMBA_CACHE_DIR": cache}
    command = [str(TOPOOPT), *arguments]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout


def plan(*arguments: str) -> dict[str, Any]:
    """Run ``topoopt plan --json`` and return the answer."""
    answer: dict[str, Any] = json.loads(topoopt("plan", *arguments, "--json"))
    return answer


def figures() -> Iterator[Figure]:
    topoopt("--help")
    used = min(children_cpu_seconds(lambda: topoopt("--help")) for _ in range(3))
    yield Figure("topoopt --help", used, "CPU s", limit=0.4)
    with tempfile.TemporaryDirectory() as cache:
        yield Figure(
            "plan dlrm, 128 servers, cold", wall_seconds(lambda: topoopt(*DEMO, cache=cache)), "s", 30
        )
        yield Figure(
            "plan dlrm, 128 servers, warm", wall_seconds(lambda: topoopt(*DEMO, cache=cache)), "s", 15
        )
