"""``topoopt llm estimate``: step time and memory of one way of training, or of every run in a table."""

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Annotated, Any

import typer

from topoopt.cli.spread import spread
from topoopt.cli.transformer_arguments import ConfigurationArguments, SystemArguments, TransformerArguments
from topoopt.errors import InvalidInput, unknown_name

if TYPE_CHECKING:
    from topoopt.llm import Calibration

ESTIMATORS = ("calibrated", "apnet24")
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
    said: TransformerArguments,
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
    from topoopt.cli.llm_estimate_report import estimate_document, print_estimate
    from topoopt.cli.render import print_json, terminal

    _check_law(law)
    if runs is not None:
        _refuse_beside_runs(said, split, machines, law)
        _estimate_runs(runs, law.calibration, out, as_json)
        return
    if out is not None:
        raise InvalidInput("--out: writes the table of --runs; give --runs FILE.csv, or leave it out")
    document = estimate_document(_asked(said, split, machines, law))
    if as_json:
        print_json(document)
    else:
        print_estimate(terminal(), document)


def _asked(
    said: TransformerArguments,
    split: ConfigurationArguments,
    machines: SystemArguments,
    law: EstimatorArguments,
) -> Any:
    from topoopt.cli.llm_estimate_report import Asked
    from topoopt.cli.transformer_arguments import requested_configuration, requested_model, requested_system

    model, system = requested_model(said), requested_system(machines)
    configuration = requested_configuration(model, split, machines.accelerators, machines.accelerator)
    calibration = None if law.estimator == "apnet24" else _calibration(law, system.accelerator)
    return Asked(
        model,
        configuration,
        system,
        calibration,
        law.attention,
        "megatron" if law.framework is None else law.framework,
    )


def _calibration(law: EstimatorArguments, accelerator: str) -> "Calibration":
    from topoopt.llm import named_calibration

    return named_calibration(law.calibration, accelerator).with_one_attention(law.attention)


def _check_law(law: EstimatorArguments) -> None:
    if law.estimator not in ESTIMATORS:
        raise unknown_name("--estimator", law.estimator, ESTIMATORS)
    if law.attention not in (None, "fused", "eager"):
        raise unknown_name("--attention", str(law.attention), ("fused", "eager"))
    if law.estimator == "apnet24" and law.calibration is not None:
        raise InvalidInput("--calibration: the published formula apnet24 takes none; leave it out")


def _refuse_beside_runs(*groups: Any) -> None:
    """Refuse flags that the table of runs answers row by row."""
    kept = ("calibration",)
    for group in groups:
        usual = type(group)()
        for column in fields(group):
            if column.name not in kept and getattr(group, column.name) != getattr(usual, column.name):
                flag = "MODEL" if column.name == "model" else f"--{column.name.replace('_', '-')}"
                raise InvalidInput(f"{flag}: with --runs, every row of the table says its own; leave it out")


def _estimate_runs(runs_file: str, calibration_file: str | None, out: str | None, as_json: bool) -> None:
    from topoopt.cli.llm_runs_report import print_runs, runs_document, write_runs
    from topoopt.cli.output_file import check_writable
    from topoopt.cli.progress import progress
    from topoopt.cli.render import print_json, terminal
    from topoopt.cli.table_file import check_table
    from topoopt.llm import named_calibration, predict_runs, read_runs

    check_table(out, "--out")
    check_writable(out, "--out", runs_file, calibration_file)
    calibration = None if calibration_file is None else named_calibration(calibration_file)
    with progress("estimating runs"):
        predicted = predict_runs(read_runs(runs_file), calibration)
    document = runs_document(runs_file, predicted)
    if out is not None:
        write_runs(out, predicted)
    if as_json:
        print_json(document)
    else:
        print_runs(terminal(), document, out)
