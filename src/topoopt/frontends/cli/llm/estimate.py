"""``topoopt llm estimate``: step time and memory of one way of training, or of every run in a table."""

from collections.abc import Mapping
from typing import Annotated, Any, TypedDict

from typer import Argument, Option

import topoopt
from topoopt.base.errors import InvalidInput
from topoopt.frontends.cli.output import check_table, check_writable, progress, show
from topoopt.frontends.cli.word_flags import spread
from topoopt.schema.files import write_table
from topoopt.schema.words import EstimateWords, Word, defaults, panel

TransformerArgument = Annotated[
    str | None,
    Argument(
        metavar="MODEL|config.json",
        show_default=False,
        help="A transformer (topoopt models), or the config.json of Hugging Face.",
    ),
]


OF_ONE = ("--estimator", "--uneven-stages", "--latency")
"""Flags that no column of a table of runs stands for."""


@panel("Table of runs")
class RunsFiles(TypedDict, total=False):
    """The runs, and what is written."""

    runs: Annotated[str, Word("FILE.csv")]
    """Estimate every run of a table instead, and compare with the times in it."""
    out: Annotated[str, Word("OUT.csv")]
    """The table of --runs with predictions."""


@spread
def estimate(
    words: EstimateWords,
    files: RunsFiles,
    source: TransformerArgument = None,
    as_json: Annotated[bool, Option("--json", rich_help_panel="Output", help="Print JSON.")] = False,
) -> None:
    """Estimate the time of one training iteration, where it goes, and the memory that it needs."""
    runs, out = files.get("runs"), files.get("out")
    if runs is not None:
        _refuse_beside_runs(source, words)
        _estimate_runs(runs, words.get("calibration"), out, as_json)
        return
    if out is not None:
        raise InvalidInput("--out: writes the table of --runs; give --runs FILE.csv, or leave it out")
    show(topoopt.llm.estimate(source, **words), as_json)


def _refuse_beside_runs(source: str | None, words: Mapping[str, Any]) -> None:
    """Refuse flags that the table of runs answers row by row."""
    usual = {"calibration": words.get("calibration"), **defaults(EstimateWords)}
    flags = ["MODEL"] if source is not None else []
    flags += [f"--{word.replace('_', '-')}" for word, value in words.items() if value != usual.get(word)]
    if flags and flags[0] in OF_ONE:
        raise InvalidInput(f"{flags[0]}: is for one way of training, not for a table of runs; leave it out")
    if flags:
        raise InvalidInput(f"{flags[0]}: with --runs, every row of the table says its own; leave it out")


def _estimate_runs(runs_file: str, calibration_file: Any, out: str | None, as_json: bool) -> None:
    check_table(out, "--out")
    check_writable(out, "--out", runs_file, calibration_file)
    with progress("estimating runs"):
        answer = topoopt.llm.estimate_runs(runs_file, calibration_file)
    if out is not None:
        write_table(out, answer.columns, (list(row.values()) for row in answer.rows()))
    show(answer, as_json, written=(out,))
