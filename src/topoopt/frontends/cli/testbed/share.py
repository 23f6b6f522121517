"""``topoopt testbed share``: training jobs share a link of this machine, under congestion controls of its kernel."""

from typing import Annotated

from typer import Option

import topoopt
from topoopt.frontends.cli.output import progress, show
from topoopt.frontends.cli.word_flags import spread
from topoopt.schema.words import TestbedShareWords


@spread
def share(
    words: TestbedShareWords,
    jobs: Annotated[
        str,
        Option(
            metavar="LIST",
            help="With commas, two to four: job files, or for which part of its iteration a job sends at full rate.",
        ),
    ] = "0.4,0.4",
    as_json: Annotated[bool, Option("--json", help="Print JSON, with every iteration.")] = False,
) -> None:
    """Let training jobs share a link of this machine under reno, cubic and MLTCP in the kernel, timed.

    All is real: processes in network namespaces, TCP, a queue that drops. MLTCP is compiled here and unregistered at
    the end, however it comes. Needs root; MLTCP clang, bpftool and a kernel with BTF, too.
    """
    with progress("reading") as report:
        answer = topoopt.testbed.share(
            [job.strip() for job in jobs.split(",") if job.strip()], on_progress=report, **words
        )
    show(answer, as_json)
