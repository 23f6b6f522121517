"""The table of programs that ranks can be told to run."""

import time
from collections.abc import Callable, Mapping
from typing import Any

from topoopt.plugins.testbeds.training.real_training import train
from topoopt.plugins.testbeds.training.run_script import rehearse, run_script
from topoopt.plugins.testbeds.training.script import ServerScript
from topoopt.plugins.testbeds.training.worker import Worker

Program = Callable[..., Any]


def cpu(worker: Worker) -> float:
    """Return the seconds of processor time that this member has taken."""
    return time.process_time()


def load(worker: Worker, script: ServerScript) -> None:
    """Get ready for a script, in the place of the one before."""
    if "script" in worker.kept:
        worker.kept.pop("script").close()
    worker.kept["script"] = rehearse(script)


def iterate(worker: Worker, begin_s: float) -> float:
    """Run the script once, beginning at a time of the monotonic clock, and return when it was done."""
    return run_script(worker, worker.kept["script"], begin_s)


PROGRAMS: Mapping[str, Program] = {"cpu": cpu, "load": load, "iterate": iterate, "train": train}
"""Each takes the worker and words."""
