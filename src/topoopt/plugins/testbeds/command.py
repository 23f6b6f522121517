"""``topoopt testbed``: the verbs about a plan on real Linux."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Annotated

from typer import Argument, Option

import topoopt
from topoopt.base.errors import InvalidInput
from topoopt.frontends.cli import group, progress, show, spread
from topoopt.plugins.testbeds.words import TestbedRunWords, TestbedShareWords, TestbedWords
from topoopt.plugins.verbs import TESTBED

TESTBED_VERBS: Mapping[str, str] = MappingProxyType(
    {
        "up": "Create a plan's network on this machine: a namespace per server, a veth pair per link, and its routes.",
        "run": "Train with PyTorch on a plan's network and switches on this machine, and compare with simulators.",
        "share": "Measure training jobs that share a link of this machine under reno, cubic and MLTCP in the kernel.",
        "status": "List the testbeds of this machine: kept, in use, or left over.",
        "down": "Remove testbeds: namespaces with all links and routes, processes inside, and nothing else.",
    }
)
"""Verbs of the group."""
testbed = group("topoopt.plugins.testbeds.command:", TESTBED_VERBS, TESTBED.text)


@spread
def up(
    words: TestbedWords,
    plan: Annotated[
        str | None,
        Argument(metavar="PLAN", show_default=False, help="Plan file (default: the paper's 12 servers)."),
    ] = None,
    as_json: Annotated[bool, Option("--json", help="Print JSON.")] = False,
) -> None:
    """Create a plan's network on this machine: a namespace per server, a veth pair per link, and its routes.

    It stays until topoopt testbed down.
    """
    with progress("reading") as report:
        answer = topoopt.testbed.up(plan, on_progress=report, **words)
    show(answer, as_json, (f"topoopt testbed down {answer.testbeds[0].name}",))


@spread
def run(
    words: TestbedRunWords,
    plan: Annotated[
        str | None,
        Argument(
            metavar="PLAN",
            show_default=False,
            help="Plan file (default: a job of the paper on its 12 servers).",
        ),
    ] = None,
    as_json: Annotated[bool, Option("--json", help="Print JSON, with every link.")] = False,
) -> None:
    """Train with PyTorch on a plan's network and switches on this machine, and compare with simulators.

    All is measured. A server is a network namespace, a link a veth pair of scaled bandwidth; computing is a timed
    sleep, and all messages are sent. Needs root and PyTorch.
    """
    with progress("planning") as report:
        answer = topoopt.testbed.run(plan, on_progress=report, **words)
    show(answer, as_json)


@spread
def share(
    words: TestbedShareWords,
    jobs: Annotated[
        str,
        Option(
            metavar="LIST",
            help="Two to four jobs, with commas: job files, or parts of an iteration in which jobs send at full rate.",
        ),
    ] = "0.4,0.4",
    as_json: Annotated[bool, Option("--json", help="Print JSON, with every iteration.")] = False,
) -> None:
    """Measure training jobs that share a link of this machine under reno, cubic and MLTCP in the kernel.

    All is real: processes in network namespaces, TCP, a queue that drops. MLTCP is compiled here and unregistered at
    the end in all cases. Needs root; MLTCP clang, bpftool and a kernel with BTF, too.
    """
    with progress("reading") as report:
        answer = topoopt.testbed.share(
            [job.strip() for job in jobs.split(",") if job.strip()], on_progress=report, **words
        )
    show(answer, as_json)


def status(as_json: Annotated[bool, Option("--json", help="Print JSON.")] = False) -> None:
    """List the testbeds of this machine: kept, in use, or left over."""
    show(topoopt.testbed.status(), as_json)


def down(
    name: Annotated[
        str | None,
        Argument(
            metavar="NAME",
            show_default=False,
            help="Name of a testbed, or of a run for all its testbeds, in use or not.",
        ),
    ] = None,
    every: Annotated[
        bool, Option("--all", help="All testbeds except those in which a run is going on.")
    ] = False,
    as_json: Annotated[bool, Option("--json", help="Print JSON.")] = False,
) -> None:
    """Remove testbeds: namespaces with all links and routes, processes inside, and nothing else."""
    if (name is None) != every:
        raise InvalidInput("NAME: give the name of a testbed, or --all; topoopt testbed status lists them")
    show(topoopt.testbed.down(name, every=every), as_json)
