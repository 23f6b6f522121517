"""``topoopt llm calibrate``: fit the model of step times to measured ones."""

from collections.abc import Sequence
from typing import Annotated, Any, TypedDict

from typer import Argument, Option

import topoopt
from topoopt.base.errors import InvalidInput
from topoopt.frontends.cli.output import check_writable, progress, show
from topoopt.frontends.cli.word_flags import spread
from topoopt.schema.words import File, Word, panel


@panel("Fit")
class FitWords(TypedDict, total=False):
    """Of which runs, and from where."""

    accelerator: Annotated[str, Word("NAME[,NAME]")]
    """Whose runs are taken, the calibration being for the first; those with most runs."""
    start: Annotated[str, Word("neutral|NAME|FILE")]
    """Where the fit starts, and what it is held back to; the accelerator's own calibration."""
    attention: Annotated[str, Word("auto|fused|eager")]
    """Of runs that do not say: FlashAttention, scores in memory, or by ZeRO stage; as the start has it."""
    weight: Annotated[Sequence[str], Word("DATASET=X", repeated=True)]
    """How much a data set counts; 1. May be repeated."""
    strength: Annotated[float, Word("X")]
    """Of the start; chosen by cross-validation if not given."""
    seed: Annotated[int, Word("N", 0)]
    """Of the held-out parts."""


@panel("Output")
class FitFiles(TypedDict, total=False):
    """What is written."""

    out: File
    """Write the calibration, TOML."""


@spread
def calibrate(
    runs_file: Annotated[
        str, Argument(metavar="RUNS.csv", show_default=False, help="Measured runs, a row each.")
    ],
    words: FitWords,
    files: FitFiles,
    as_json: Annotated[bool, Option("--json", rich_help_panel="Output", help="Print JSON.")] = False,
) -> None:
    """Fit a calibration to measured step times, and say how far it is off on runs that it has not seen.

    A handful of runs is enough: what they have no say in stays as it starts.
    """
    out = files.get("out")
    check_writable(out, "--out", runs_file)
    settings: dict[str, Any] = {**words, "weight": _weights(words.get("weight", ()))}
    with progress("fitting"):
        fit = topoopt.llm.calibrate(runs_file, **settings)
    if out is not None:
        topoopt.llm.write_calibration(out, fit.calibration)
    show(fit, as_json, written=(out,))


def _weights(pairs: Sequence[str]) -> dict[str, float]:
    weights = {}
    for pair in pairs:
        name, _, number = pair.partition("=")
        try:
            weights[name] = float(number)
        except ValueError:
            raise InvalidInput(f'--weight: expected DATASET=X with a positive number, got "{pair}"') from None
    return weights
