"""The program ``topoopt``: its verbs, ``--version``, and one way out for every failure.

Ctrl-C that waits until numba's own glue code is left.

Compiled code calls back into Python to make its errors and results. A ``KeyboardInterrupt`` that is raised right
there comes out as a ``SystemError``, or ends the process with a segmentation fault. So it is raised a moment later.
"""

import signal
import sys
from collections.abc import Mapping, Sequence
from pathlib import PurePath
from types import FrameType, MappingProxyType
from typing import Annotated

import typer

from topoopt.base.answers import __version__
from topoopt.frontends.cli.exit_code import exit_code_of
from topoopt.frontends.cli.verbs import check_words, completed, group

GLUE = PurePath("numba", "core", "serialize.py").parts
AGAIN_S = 0.01
OWN_VERBS: Mapping[str, str] = MappingProxyType(
    {
        "plan": "Find strategy, topology and routing together, and say what they are worth.",
        "topology": "Choose the best wiring, or AllReduce rings of all servers along strides, and show the network.",
        "collective": "Run a collective on a wiring: steps and bytes of every schedule, and the quickest for its size.",
        "traffic": "Show what one iteration moves: by pair of servers and by link.",
        "llm": "Transformers on accelerators: step time, memory, traffic and the best way of splitting them.",
        "rl": "Say how long a step of reinforcement learning takes, phase by phase, and what it waits for.",
        "finetune": "Say what fine-tuning takes, by adapters or of all weights: split, memory, hours, dollars.",
        "serving": "Say which deployment on which network answers users in time, for the least money.",
        "compare": "Put the same job on other fabrics, each with a strategy searched for it.",
        "cost": "Price the network on every fabric: bill of materials, watts, what it is built of, optical "
        "technologies.",
        "choose": "Say which network to buy for a mix of jobs: every degree, bandwidth and fabric, money against time.",
        "simulate": "Simulate a plan or a task graph. Bytes are those of one iteration, also in the steady state.",
        "mltcp": "Congestion control that lets jobs on one link find their interleaving by themselves.",
        "cluster": "Many jobs over time: arrivals, shards and their wiring, queueing; TopoOpt beside shared fabrics.",
        "fail": "Fail a link, a server or a panel of a plan: iteration time before, during and repaired, and the "
        "moves.",
        "rewire": "Say which fibers to move, in which order, to get from one plan or wiring to the next.",
        "phases": "Say what a job sends on a link in one iteration, and when: from a simulation, or from what was "
        "measured.",
        "interleave": "Say when each of several jobs that share a link begins, so that they send at different times.",
        "verify": "Prove a plan, or a wiring, before anyone plugs a fiber; say where it fails, with exit code 2.",
        "sweep": "Plan every combination of models, clusters, fabrics and seeds in a file, and store the results.",
        "results": "Show, query, export and plot what a sweep has stored; also while it runs.",
        "studio": "Open a live page: which network, how long, how much, and why, while one asks.",
        "report": "Write one interactive HTML page that needs no network.",
        "models": "List the models that come with topoopt: variants and hyper-parameters, shapes of transformers.",
        "hardware": "List accelerators, servers, network parts and efficiencies, each with its source.",
    }
)
"""Every verb and group of the package, in the order in which one uses them, with its line in the list."""
VERBS, COMMANDS = completed(OWN_VERBS)
app = group(
    "topoopt.frontends.cli",
    VERBS,
    "Which network, and which way of splitting the model over it, trains this job fastest for the money?",
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
) -> None:
    pass


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
    """Take over Ctrl-C where it still has Python's own meaning; a program that uses topoopt may have another."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGALRM, _interrupt)
        signal.signal(signal.SIGINT, _interrupt)
        sys.unraisablehook = _raise_again


def _interrupt(number: int, frame: FrameType | None) -> None:
    if frame is not None and PurePath(frame.f_code.co_filename).parts[-len(GLUE) :] == GLUE:
        signal.setitimer(signal.ITIMER_REAL, AGAIN_S)
    else:
        raise KeyboardInterrupt


def _raise_again(lost: "sys.UnraisableHookArgs") -> None:
    """Raise an interrupt again that came where nobody above hears of it, such as the deletion of an object."""
    if issubclass(lost.exc_type, KeyboardInterrupt):
        signal.setitimer(signal.ITIMER_REAL, AGAIN_S)
    else:
        sys.__unraisablehook__(lost)
