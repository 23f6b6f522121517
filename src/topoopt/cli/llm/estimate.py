"""``topoopt llm estimate``: step time and memory of one way of training, or of every run in a table."""

from dataclasses import dataclass, fields
from typing import Annotated, Any

import typer

import topoopt
from topoopt.cli.llm.arguments import ConfigurationArguments, SystemArguments, TransformerArguments
from topoopt.cli.output_file import check_writable
from topoopt.cli.progress import progress
from topoopt.cli.render import print_json, show
from topoopt.cli.spread import spread
from topoopt.cli.table_file import check_table, write_table
from topoopt.cli.words import ARGUMENT, words
from topoopt.errors import InvalidInput

LAW, TABLE, OUTPUT = "Estimator and memory", "Table of runs", "Output"


@dataclass(frozen=True, slots=True)
class EstimatorArguments:
    """Which formula, and how attention and memory are counted."""

    estimator: Annotated[
        str,
        typer.Option(
            metavar="calibrated|apnet24",
            rich_help_panel=LAW,
            help="Fitted to measured runs, or the published formula.",
        ),
    ] = "calibrated"
    calibration: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            rich_help_panel=LAW,
            help="From topoopt llm calibrate, or a transformer's profile (topoopt profile); the accelerator's own.",
        ),
    ] = None
    attention: Annotated[
        str | None,
        typer.Option(
            metavar="fused|eager",
            rich_help_panel=LAW,
            help="FlashAttention, or scores in memory; fused unless the calibration is eager.",
        ),
    ] = None
    framework: Annotated[
        str | None,
        typer.Option(
            metavar="megatron|deepspeed|half-gradients|fsdp",
            rich_help_panel=LAW,
            help="Bytes per parameter, and what is taken beside tensors; megatron.",
        ),
    ] = None


@spread
def estimate(
    transformer: TransformerArguments,
    split: ConfigurationArguments,
    machines: SystemArguments,
    law: EstimatorArguments,
    runs: Annotated[
        str | None,
        typer.Option(
            metavar="FILE.csv",
            rich_help_panel=TABLE,
            help="Estimate every run of a table instead, and compare with the times in it.",
        ),
    ] = None,
    out: Annotated[
        str | None,
        typer.Option(metavar="OUT.csv", rich_help_panel=TABLE, help="The table of --runs with predictions."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", rich_help_panel=OUTPUT, help="Print JSON.")] = False,
) -> None:
    """Estimate the time of one training iteration, where it goes, and the memory that it needs."""
    if runs is not None:
        _refuse_beside_runs(transformer, split, machines, law)
        _estimate_runs(runs, law.calibration, out, as_json)
        return
    if out is not None:
        raise InvalidInput("--out: writes the table of --runs; give --runs FILE.csv, or leave it out")
    answer = topoopt.llm.estimate(transformer.source, **words(transformer, split, machines, law))
    if as_json:
        print_json(answer.to_json())
    else:
        show(answer)


def _refuse_beside_runs(*groups: Any) -> None:
    """Refuse flags that the table of runs answers row by row."""
    kept = ("calibration",)
    for group in groups:
        usual = type(group)()
        for column in fields(group):
            if column.name not in kept and getattr(group, column.name) != getattr(usual, column.name):
                flag = "MODEL" if column.name == ARGUMENT else f"--{column.name.replace('_', '-')}"
                raise InvalidInput(f"{flag}: with --runs, every row of the table says its own; leave it out")


def _estimate_runs(runs_file: str, calibration_file: str | None, out: str | None, as_json: bool) -> None:
    check_table(out, "--out")
    check_writable(out, "--out", runs_file, calibration_file)
    with progress("estimating runs"):
        answer = topoopt.llm.estimate_runs(runs_file, calibration_file)
    if out is not None:
        write_table(out, answer.columns, (list(row.values()) for row in answer.rows()))
    if as_json:
        print_json(answer.to_json())
    else:
        show(answer, written=(out,))
