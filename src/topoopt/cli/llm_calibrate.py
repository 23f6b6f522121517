"""``topoopt llm calibrate``: fit the model of step times to measured ones."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from topoopt.errors import InvalidInput, unknown_name

if TYPE_CHECKING:
    from topoopt.llm import Run, Runs

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
    from topoopt.cli.llm_calibrate_report import calibrate_document, print_calibrate, with_provenance
    from topoopt.cli.output_file import check_writable
    from topoopt.cli.progress import progress
    from topoopt.cli.render import print_json, terminal
    from topoopt.llm import (
        ATTENTIONS,
        Weights,
        calibrate,
        dataset_errors,
        read_runs,
        starting_calibration,
        timed_runs,
        write_calibration,
    )

    check_writable(out, "--out", runs_file)
    if attention is not None and attention not in ATTENTIONS:
        raise unknown_name("--attention", attention, ATTENTIONS)
    if strength is not None and not 0 < strength < float("inf"):
        raise InvalidInput(f"--strength: must be positive, got {strength:g}")
    if seed < 0:
        raise InvalidInput(f"--seed: expected an integer >= 0, got {seed}")
    if start == "":
        raise InvalidInput("--start: expected neutral, a name or a file, got nothing")
    runs = read_runs(runs_file)
    name, chosen = _chosen(runs, accelerator, runs_file)
    weights = Weights(_weights(weight or [], chosen))
    begun = starting_calibration(start or name, name, attention)
    table = timed_runs(chosen)
    with progress("fitting"):
        fitted = calibrate(table, begun, weights, seed, strength)
    before = dataset_errors(table, table.times(begun).iteration_time_s)
    final = with_provenance(fitted, runs_file, accelerator, start, weight or [])
    document = calibrate_document(runs_file, runs, chosen, begun, final, before)
    if out is not None:
        write_calibration(out, final.calibration)
    if as_json:
        print_json(document)
    else:
        print_calibrate(terminal(), document, out)


def _chosen(runs: "Runs", accelerator: str | None, place: str) -> "tuple[str, tuple[Run, ...]]":
    """Return the accelerator that is calibrated, and its timed runs."""
    from collections import Counter

    from topoopt.hardware import find_accelerator
    from topoopt.llm import are_alike

    met = sorted({run.system.accelerator for run in runs.timed})
    if not met:
        why = f"; the first is not modelled: {runs.not_modelled[0].reason}" if runs.not_modelled else ""
        raise InvalidInput(f"{place}: no run with a time{why}")
    if accelerator is None:
        counts = Counter(run.system.accelerator for run in runs.timed)
        most = max(met, key=lambda name: counts[name])
        return most, tuple(run for run in runs.timed if are_alike(run.system.accelerator, most))
    wanted = [find_accelerator(word).name for word in accelerator.split(",")]
    found = tuple(run for run in runs.timed if run.system.accelerator in wanted)
    if not found:
        raise InvalidInput(
            f"--accelerator: no timed run of {', '.join(wanted)} in {place}; it has {', '.join(met)}"
        )
    return wanted[0], found


def _weights(said: Sequence[str], chosen: "Sequence[Run]") -> dict[str, float]:
    known = {run.dataset for run in chosen}
    weights = {}
    for word in said:
        name, _, number = word.partition("=")
        if name not in known:
            raise unknown_name("--weight", name, known)
        try:
            weights[name] = float(number)
        except ValueError:
            weights[name] = -1.0
        if not 0 < weights[name] < float("inf"):
            raise InvalidInput(f'--weight: expected DATASET=X with a positive number, got "{word}"')
    return weights
