"""The program ``topoopt``: its verbs, ``--version``, and one way out for every failure.

Verbs import the rooms that they need inside the function that runs, so that ``--help`` stays quick.
"""

import sys
from collections.abc import Sequence
from typing import Annotated

import typer

from topoopt import __version__
from topoopt.cli.cluster import cluster
from topoopt.cli.compare import compare
from topoopt.cli.cost import cost
from topoopt.cli.fail import fail
from topoopt.cli.failure import exit_code_of
from topoopt.cli.hardware import hardware
from topoopt.cli.llm import llm
from topoopt.cli.models import models
from topoopt.cli.plan import plan
from topoopt.cli.profile import profile
from topoopt.cli.report import report
from topoopt.cli.reproduce import reproduce
from topoopt.cli.results import results
from topoopt.cli.rewire import rewire
from topoopt.cli.simulate import simulate
from topoopt.cli.sweep import sweep
from topoopt.cli.topology import topology
from topoopt.cli.traffic import traffic
from topoopt.cli.verbs import Verb, Verbs, help_of

VERBS = (
    plan,
    topology,
    traffic,
    compare,
    cost,
    simulate,
    fail,
    rewire,
    sweep,
    results,
    report,
    reproduce,
    profile,
    models,
    hardware,
)

app = typer.Typer(
    cls=Verbs,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Which network, and which way of splitting the model over it, trains this job fastest for the money?",
)
for verb in VERBS:
    app.command(cls=Verb, help=help_of(verb))(verb)
app.add_typer(cluster, name="cluster")
app.add_typer(llm, name="llm")


def _print_version(asked: bool) -> None:
    if asked:
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
        code = app(words, prog_name="topoopt", standalone_mode=False)
    except (Exception, KeyboardInterrupt) as error:
        return exit_code_of(error)
    return code if isinstance(code, int) else 0
