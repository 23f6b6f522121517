"""``topoopt rl`` and ``topoopt finetune``: a step of reinforcement learning, and methods of fine-tuning."""

from typing import Annotated, TypedDict

from typer import Option

import topoopt
from topoopt.base.errors import InvalidInput
from topoopt.frontends.cli.output import check_table, check_writable, progress, show
from topoopt.frontends.cli.word_flags import TRANSFORMER, refuse_beside_runs, spread
from topoopt.schema.files import write_table
from topoopt.schema.words import FineTuneWords, RlWords, Word, defaults, panel


@panel("Table of runs")
class RlRunsFiles(TypedDict, total=False):
    """The runs, and output files."""

    runs: Annotated[str, Word("FILE.csv")]
    """Predict every measured step of a table instead, and compare with its measured times."""
    out: Annotated[str, Word("OUT.csv")]
    """Write the predictions of --runs, one row each."""


@spread
def rl(
    words: RlWords,
    files: RlRunsFiles,
    model: Annotated[str | None, TRANSFORMER] = None,
    as_json: Annotated[bool, Option("--json", rich_help_panel="Output", help="Print JSON.")] = False,
) -> None:
    """Estimate the time of a reinforcement learning step by phase, and its bottleneck."""
    runs, out = files.get("runs"), files.get("out")
    if runs is not None:
        refuse_beside_runs(model, words, defaults(RlWords))
        _predict_runs(runs, out, as_json)
        return
    if out is not None:
        raise InvalidInput("--out: writes the predictions of --runs; give --runs FILE.csv, or leave it out")
    if model is None:
        raise InvalidInput("MODEL: say which transformer (topoopt models), or give --runs FILE.csv")
    with progress("planning the step"):
        answer = topoopt.rl(model, **words)
    show(answer, as_json)


def _predict_runs(runs_file: str, out: str | None, as_json: bool) -> None:
    check_table(out, "--out")
    check_writable(out, "--out", runs_file)
    with progress("predicting runs"):
        answer = topoopt.rl_runs(runs_file)
    if out is not None:
        rows = answer.rows()
        write_table(out, list(rows[0]) if rows else ["id"], (list(row.values()) for row in rows))
    show(answer, as_json, written=(out,))


@spread
def finetune(
    words: FineTuneWords,
    model: Annotated[str, TRANSFORMER],
    out: Annotated[
        str | None,
        Option(
            "--out",
            metavar="PLAN.json",
            rich_help_panel="Output",
            help="Write the plan of the requested method.",
        ),
    ] = None,
    as_json: Annotated[bool, Option("--json", rich_help_panel="Output", help="Print JSON.")] = False,
) -> None:
    """Estimate fine-tuning with LoRA, QLoRA or all weights: parallelism, memory, hours, cost."""
    check_writable(out, "--out")
    with progress("planning the fine-tuning") as report:
        answer = topoopt.finetune(model, on_progress=report, **words)
    plan = answer.asked.plan
    if out is not None and plan is not None:
        topoopt.write_plan(out, plan)
    show(answer, as_json, written=(out if plan else None,))
    if out is not None and plan is None:
        raise InvalidInput("--out: one server needs no network, so there is no plan of one; leave it out")
