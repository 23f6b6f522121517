"""The program ``topoopt``: its verbs, ``--version``, and the exit of every failure.

Ctrl-C that waits until numba's own glue code is left.

Compiled code calls back into Python to make its errors and results. A ``KeyboardInterrupt`` that is raised right
there comes out as a ``SystemError``, or ends the process with a segmentation fault. So it is raised a moment later.
"""

import os
import signal
import sys
from collections.abc import Mapping, Sequence
from pathlib import PurePath
from types import FrameType, MappingProxyType
from typing import Annotated

import typer

from topoopt.base.answers import __version__
from topoopt.frontends.cli.exit_code import INTERRUPTED, exit_code_of
from topoopt.frontends.cli.verbs import PROGRAM, check_words, completed, group
from topoopt.schema.words import IGNORED_SETTINGS, SETTINGS_VARIABLE

GLUE = PurePath("numba", "core", "serialize.py").parts
AGAIN_S = 0.01
ACKNOWLEDGED = (
    b"\r\x1b[Kstopping with the best so far; Ctrl-C again to discard it\n"  # over the line of progress
)
DISCARDED = b"\r\x1b[Kstopped at once: what was not yet written is discarded\n"
OWN_VERBS: Mapping[str, str] = MappingProxyType(
    {
        "plan": "Optimize parallelization strategy, topology and routing together, and compare with other networks.",
        "topology": "Find the best wiring, or AllReduce rings along strides, and show its properties.",
        "collective": "Time a collective on a wiring or on accelerators, by every algorithm, and find the fastest.",
        "traffic": "Show the traffic of one iteration by pair of servers and by link.",
        "llm": "Transformers on accelerators: step time, memory, traffic and the best parallelism.",
        "rl": "Estimate the time of a reinforcement learning step by phase, and its bottleneck.",
        "finetune": "Estimate fine-tuning with LoRA, QLoRA or all weights: parallelism, memory, hours, cost.",
        "serving": "Find the cheapest deployment and network that meet the serving objectives.",
        "compare": "Compare networks for one job, each with a parallelization strategy searched for it.",
        "cost": "Price every network: bill of materials, power, switches and optical technologies.",
        "choose": "Choose the network to buy for a mix of jobs: every degree, bandwidth and fabric, cost against time.",
        "simulate": "Simulate a plan or a task graph. Bytes are per iteration, also in the steady state.",
        "mltcp": "MLTCP: congestion control with which jobs that share a link interleave by themselves.",
        "cluster": "Many jobs over time: arrivals, queueing, placement and wiring, on TopoOpt and on shared networks.",
        "fail": "Fail a link, server or panel of a plan: iteration time before, during and after repair, and moves.",
        "rewire": "List the fiber moves, in order, from one plan or wiring to the next.",
        "phases": "Extract the communication phases of a job on a link, from a simulation or from measured counters.",
        "interleave": "Find time shifts for jobs that share a link, so that they send at different times (CASSINI).",
        "verify": "Verify a plan or a wiring before it is cabled; exit code 2 if a check fails.",
        "sweep": "Plan every combination of models, clusters, networks and seeds in a file, and store the results.",
        "results": "Show, query, export and plot the results of a sweep, also while it runs.",
        "studio": "Open an interactive page that compares networks, times and costs as settings change.",
        "report": "Write an interactive HTML page that works offline.",
        "models": "List the built-in models with their variants, hyperparameters and transformer shapes.",
        "hardware": "List accelerators, servers, network parts and efficiencies with their sources.",
        "doctor": "Show versions, extras, kernels, browser, testbed and Ray, and remedies where one is missing.",
    }
)
"""Every verb and group of the package, in the order in which one uses them, with its line in the list."""
VERBS, COMMANDS = completed(OWN_VERBS)
app = group(
    PROGRAM,
    VERBS,
    "Which network, and which parallelism over it, gives the fastest training of this job for the money?",
    COMMANDS,
)


def _print_version(version: bool) -> None:
    if version:
        print(f"topoopt {__version__}")
        raise typer.Exit


@app.callback()
def _options_of_all_verbs(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
    settings: Annotated[bool, typer.Option(help="Use the settings file, where there is one.")] = True,
) -> None:
    if not settings:
        os.environ[SETTINGS_VARIABLE] = IGNORED_SETTINGS


def run(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code.

    0: done. 1: a mistake of ours, with a traceback. 2: a mistake of the user's, one line on standard error.
    130: interrupted with Ctrl-C.
    """
    words = list(sys.argv[1:] if arguments is None else arguments)
    try:
        check_words(words)
        code = app(words, prog_name="topoopt", standalone_mode=False)
        sys.stdout.flush()  # a reader that has left is met here, not by the interpreter at its exit
    except (Exception, KeyboardInterrupt) as error:
        return exit_code_of(error)
    return code if isinstance(code, int) else 0


def interrupt_when_safe() -> None:
    """Handle Ctrl-C where it still has Python's own meaning; a program that uses topoopt may have another.

    A scheduler's SIGTERM, and the SIGHUP of a terminal that closes, then mean the same: keep the best so far, and leave
    no temporary file.
    """
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGALRM, _interrupt)
        signal.signal(signal.SIGINT, _interrupt)
        for ending in (signal.SIGTERM, signal.SIGHUP):
            if signal.getsignal(ending) is signal.SIG_DFL:
                signal.signal(ending, _interrupt)
        sys.unraisablehook = _raise_again


def _interrupt(number: int, frame: FrameType | None) -> None:
    """Raise the interrupt, acknowledged on a terminal, where a second Ctrl-C discards the answer."""
    if number == signal.SIGINT and sys.stderr.isatty():
        os.write(sys.stderr.fileno(), ACKNOWLEDGED)
        signal.signal(signal.SIGINT, _discard)
    _raise_outside_glue(KeyboardInterrupt(), frame)


def _discard(number: int, frame: FrameType | None) -> None:
    if number == signal.SIGINT:
        os.write(sys.stderr.fileno(), DISCARDED)
        signal.signal(signal.SIGALRM, _discard)
    _raise_outside_glue(SystemExit(INTERRUPTED), frame)


def _raise_outside_glue(error: BaseException, frame: FrameType | None) -> None:
    if frame is not None and PurePath(frame.f_code.co_filename).parts[-len(GLUE) :] == GLUE:
        signal.setitimer(signal.ITIMER_REAL, AGAIN_S)
    else:
        raise error


def _raise_again(lost: "sys.UnraisableHookArgs") -> None:
    """Re-raise an interrupt that could not propagate, such as during the deletion of an object."""
    if issubclass(lost.exc_type, KeyboardInterrupt | SystemExit):
        signal.setitimer(signal.ITIMER_REAL, AGAIN_S)
    else:
        sys.__unraisablehook__(lost)
