"""``topoopt llm calibrate``: fit the model of step times to measured ones."""

from collections.abc import Sequence
from typing import Annotated

import typer

import topoopt
from topoopt.cli.output_file import check_writable
from topoopt.cli.progress import progress
from topoopt.cli.render import print_json, show
from topoopt.errors import InvalidInput

FIT, OUTPUT = "Fit", "Output"


def calibrate(
    runs_file: Annotated[
        str, typer.Argument(metavar="RUNS.csv", show_default=False, help="Measured runs, a row each.")
    ],
    accelerator: Annotated[
        str | None,
        typer.Option(
            metavar="NAME[,NAME]",
            rich_help_panel=FIT,
            help="Whose runs are taken, the calibration being for the first; those with most runs.",
        ),
    ] = None,
    start: Annotated[
        str | None,
        typer.Option(
            metavar="neutral|NAME|FILE",
            rich_help_panel=FIT,
            help="Where the fit starts, and what it is held back to; the accelerator's own calibration.",
        ),
    ] = None,
    attention: Annotated[
        str | None,
        typer.Option(
            metavar="auto|fused|eager",
            rich_help_panel=FIT,
            help="FlashAttention, scores in memory, or by ZeRO stage; as the start has it.",
        ),
    ] = None,
    weight: Annotated[
        list[str] | None,
        typer.Option(
            metavar="DATASET=X", rich_help_panel=FIT, help="How much a data set counts; 1. May be repeated."
        ),
    ] = None,
    strength: Annotated[
        float | None,
        typer.Option(
            metavar="X", rich_help_panel=FIT, help="Of the start; chosen by cross-validation if not given."
        ),
    ] = None,
    seed: Annotated[int, typer.Option(metavar="N", rich_help_panel=FIT, help="Of the held-out parts.")] = 0,
    out: Annotated[
        str | None, typer.Option(metavar="FILE", rich_help_panel=OUTPUT, help="Write the calibration, TOML.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", rich_help_panel=OUTPUT, help="Print JSON.")] = False,
) -> None:
    """Fit a calibration to measured step times, and say how far it is off on runs that it has not seen.

    A handful of runs is enough: what they have no say in stays as it starts.
    """
    check_writable(out, "--out", runs_file)
    with progress("fitting"):
        fit = topoopt.llm.calibrate(
            runs_file,
            accelerator=accelerator or (),
            start=start,
            attention=attention,
            weight=_weights(weight or []),
            strength=strength,
            seed=seed,
        )
    if out is not None:
        topoopt.llm.write_calibration(out, fit.calibration)
    if as_json:
        print_json(fit.to_json())
    else:
        show(fit, written=(out,))


def _weights(pairs: Sequence[str]) -> dict[str, float]:
    weights = {}
    for pair in pairs:
        name, _, number = pair.partition("=")
        try:
            weights[name] = float(number)
        except ValueError:
            raise InvalidInput(f'--weight: expected DATASET=X with a positive number, got "{pair}"') from None
    return weights
