"""``topoopt serving``: which deployment on which network answers users in time, for the least money."""

from collections.abc import Mapping
from typing import Annotated, Any, TypedDict

from typer import Argument, Context, Option

import topoopt
from topoopt.base.errors import Infeasible, InvalidInput
from topoopt.frontends.cli.output import check_writable, progress, show
from topoopt.frontends.cli.word_flags import spread
from topoopt.schema.words import ServingWords, ShapeWords, Word, panel

SHAPES = set(ShapeWords.__annotations__)


@panel("Measured runs")
class ServedRunsFiles(TypedDict, total=False):
    """Tables of measured runs, instead of a model."""

    runs: Annotated[str, Word("FILE.csv")]
    """Predict every run of a table instead, and compare with its measured figures."""
    calibrate: Annotated[str, Word("FILE.csv")]
    """Fit a calibration to measured runs of your own stack instead, and report the errors before and after."""
    calibration: Annotated[str, Word("FILE.json")]
    """Calibration from --calibrate, for --runs (default: the shipped constants)."""
    out: Annotated[str, Word("OUT.json")]
    """Write the calibration of --calibrate; for a model, write topoopt's cables, routes and traffic as a plan for
    all verbs."""


@spread
def serving(
    context: Context,
    words: ServingWords,
    files: ServedRunsFiles,
    model: Annotated[
        str | None,
        Argument(
            metavar="MODEL", help="A transformer (topoopt models) or its config.json.", show_default=False
        ),
    ] = None,
    as_json: Annotated[bool, Option("--json", rich_help_panel="Output", help="Print JSON.")] = False,
) -> None:
    """Find the cheapest deployment and network that meet the serving objectives.

    All splits, modes and shares of prefill are evaluated in closed form; the most promising are simulated request by
    request. With several servers, every fabric gets its best deployment, with its wiring and the pairing of replicas.
    """
    # words of a job or a preset stand above defaults
    sources = {word: context.get_parameter_source(word) for word in words}
    asked: Mapping[str, Any] = {
        word: value for word, value in words.items() if getattr(sources[word], "name", "") != "DEFAULT"
    }
    if files.keys() - {"out"}:
        given = ["MODEL"] if model is not None else []
        given += [f"--{word.replace('_', '-')}" for word in asked]
        _measured_runs(files, given, as_json)
        return
    if model is None and not asked.keys() & SHAPES:
        raise InvalidInput("MODEL: missing; name a transformer (topoopt models), or give --runs FILE.csv")
    out = files.get("out")
    check_writable(out, "--out", model)
    with progress("screening deployments") as tell:
        answer = topoopt.serving(model, on_progress=tell, **asked)
    unwired = _write_plan(out, answer)
    show(answer, as_json, (), (None if unwired else out,))
    if unwired:
        raise unwired


def _write_plan(out: str | None, answer: topoopt.ServingAnswer) -> Infeasible | None:
    """Write the plan; without traffic there is none, which is noted below the answer."""
    if out is None:
        return None
    try:
        topoopt.write_plan(out, topoopt.serving_plan(answer))
    except Infeasible as nothing:
        return nothing
    return None


def _measured_runs(files: Mapping[str, Any], given: list[str], as_json: bool) -> None:
    """Answer for a table of measured runs, whose rows replace the flags about a model."""
    runs, calibrate, out = files.get("runs"), files.get("calibrate"), files.get("out")
    if given:
        raise InvalidInput(f"{given[0]}: with a table of runs, every row says its own; leave it out")
    if runs is not None and calibrate is not None:
        raise InvalidInput("--runs, --calibrate: give one of them")
    if runs is not None:
        if out is not None:
            raise InvalidInput("--out: writes the calibration of --calibrate; leave it out")
        with progress("predicting runs"):
            predicted = topoopt.serving_runs(runs, calibration=files.get("calibration"))
        show(predicted, as_json)
        return
    if calibrate is None:
        raise InvalidInput("--runs, --calibrate: give one of them, a table of measured runs")
    if files.get("calibration") is not None:
        raise InvalidInput("--calibration: is for --runs; --calibrate starts at the shipped constants")
    check_writable(out, "--out", calibrate)
    with progress("fitting"):
        fit = topoopt.calibrate_serving(calibrate)
    if out is not None:
        topoopt.write_serving_calibration(out, fit.calibration)
    show(fit, as_json, written=(out,))
