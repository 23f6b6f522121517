"""``topoopt llm``: transformers on accelerators: time and memory, traffic, the best split, and calibration."""

from collections.abc import Sequence
from itertools import chain
from typing import Annotated, Any, TypedDict

from typer import Argument, Option

import topoopt
from topoopt.base.errors import InvalidInput
from topoopt.frontends.cli.output import check_table, check_writable, progress, show
from topoopt.frontends.cli.verbs import group, lines_of
from topoopt.frontends.cli.word_flags import TRANSFORMER, refuse_beside_runs, spread
from topoopt.schema.files import write_table
from topoopt.schema.words import (
    ConfigurationSearchWords,
    EstimateWords,
    File,
    RankTrafficWords,
    Switch,
    Word,
    defaults,
    panel,
)


@panel("Fit")
class FitWords(TypedDict, total=False):
    """Runs to fit, and the start of the fit."""

    accelerator: Annotated[str, Word("NAME[,NAME]")]
    """Accelerators whose runs are used; the calibration is for the first (default: the one with most runs)."""
    start: Annotated[str, Word("neutral|NAME|FILE")]
    """Calibration from which the fit starts, and towards which it is regularized (default: the accelerator's
    own)."""
    attention: Annotated[str, Word("auto|fused|eager")]
    """Attention of runs that do not state it: FlashAttention (fused), scores in memory (eager), or by ZeRO stage
    (auto) (default: that of the start)."""
    weight: Annotated[Sequence[str], Word("DATASET=X", repeated=True)]
    """Weight of a data set (default 1); can be repeated."""
    strength: Annotated[float, Word("X")]
    """Strength of the regularization (default: chosen by cross-validation)."""
    collectives: Annotated[str, Word("FILE.csv")]
    """Measured collectives (nccl-tests) that are fitted together with the runs."""
    seed: Annotated[int, Word("N", 0)]
    """Random seed of the held-out folds."""


@panel("Output")
class FitFiles(TypedDict, total=False):
    """Output files."""

    out: File
    """Write the calibration as TOML."""


TransformerArgument = Annotated[str | None, TRANSFORMER]
OF_ONE = ("--estimator", "--uneven-stages", "--latency")
"""Flags without a column in a table of runs."""


@panel("Table of runs")
class RunsFiles(TypedDict, total=False):
    """The runs, and output files."""

    runs: Annotated[str, Word("FILE.csv")]
    """Estimate every run of a table instead, and compare with its measured times."""
    out: Annotated[str, Word("OUT.csv")]
    """Write the table of --runs with predictions."""


@panel("Output")
class ListWords(TypedDict, total=False):
    """Number of rows shown, and output files."""

    top: Annotated[int, Word("K", 10)]
    """Number of configurations to show."""
    variants: Switch
    """Also show configurations that differ from a faster one in recomputation, ZeRO or sequence parallelism
    only."""
    csv_file: Annotated[str, Word("FILE", names=("csv",))]
    """Write all configurations that fit into memory, the fastest first."""


@panel("Output")
class MatrixWords(TypedDict, total=False):
    """Kind of matrix, and output files."""

    by: Annotated[str, Word("server|rank|kind", "server")]
    """Matrix of servers, without traffic inside them; of ranks; or of servers for each kind of traffic."""
    csv_file: Annotated[str, Word("FILE", names=("csv",))]
    """Write the matrix as topoopt plan FILE.csv reads it; by kind, as rows of kind,src,dst,bytes."""
    heat_map: File
    """Draw the matrix: .png, .svg, .pdf, or .html with tables."""


@spread
def traffic(
    words: RankTrafficWords,
    matrix: MatrixWords,
    source: TransformerArgument = None,
    as_json: Annotated[bool, Option("--json", rich_help_panel="Output", help="Print JSON.")] = False,
) -> None:
    """Show the exact traffic of one iteration by kind, rank and pair of servers.

    Tensor, context, expert, pipeline and data parallel messages, their sizes and counts.
    """
    csv_file, heat_map = matrix.get("csv_file"), matrix.get("heat_map")
    slots: Any = words.get("slots")  # of a flag, a file
    check_writable(csv_file, "--csv", source, words.get("loads"), slots)
    if heat_map is not None:
        check_writable(heat_map, "--heat-map")
        topoopt.llm.picture_format(heat_map)
    with progress("counting"):
        answer = topoopt.llm.traffic(source, by=matrix["by"], **words)
    pictures = () if heat_map is None else topoopt.llm.draw_rank_traffic(heat_map, answer)
    if csv_file is not None:
        answer.write_csv(csv_file)
    show(answer, as_json, written=(csv_file, *pictures))


@spread
def search(
    words: ConfigurationSearchWords,
    shown: ListWords,
    source: TransformerArgument = None,
    as_json: Annotated[bool, Option("--json", rich_help_panel="Output", help="Print JSON.")] = False,
) -> None:
    """Find the fastest parallelism for a transformer: degrees, micro-batch, recomputation, ZeRO.

    Every valid configuration is considered; those that do not fit into memory are omitted, the others are ranked by
    estimated time.
    """
    csv_file = shown.get("csv_file")
    check_table(csv_file, "--csv")
    with progress("searching configurations"):
        answer = topoopt.llm.search(source, top=shown["top"], variants=shown["variants"], **words)
    if csv_file is not None:
        rows = answer.rows()
        first = next(rows)
        write_table(csv_file, list(first), (list(row.values()) for row in chain([first], rows)))
    show(answer, as_json, written=(csv_file,))


@spread
def estimate(
    words: EstimateWords,
    files: RunsFiles,
    source: TransformerArgument = None,
    as_json: Annotated[bool, Option("--json", rich_help_panel="Output", help="Print JSON.")] = False,
) -> None:
    """Estimate the time of one training iteration by cause, and the memory that it needs."""
    runs, out = files.get("runs"), files.get("out")
    if runs is not None:
        usual = {"calibration": words.get("calibration"), **defaults(EstimateWords)}
        refuse_beside_runs(source, words, usual, OF_ONE)
        _estimate_runs(runs, words.get("calibration"), out, as_json)
        return
    if out is not None:
        raise InvalidInput("--out: writes the table of --runs; give --runs FILE.csv, or leave it out")
    show(topoopt.llm.estimate(source, **words), as_json)


def _estimate_runs(runs_file: str, calibration_file: Any, out: str | None, as_json: bool) -> None:
    check_table(out, "--out")
    check_writable(out, "--out", runs_file, calibration_file)
    with progress("estimating runs"):
        answer = topoopt.llm.estimate_runs(runs_file, calibration_file)
    if out is not None:
        write_table(out, answer.columns, (list(row.values()) for row in answer.rows()))
    show(answer, as_json, written=(out,))


@spread
def calibrate(
    runs_file: Annotated[
        str, Argument(metavar="RUNS.csv", show_default=False, help="Table of measured runs, one row each.")
    ],
    words: FitWords,
    files: FitFiles,
    as_json: Annotated[bool, Option("--json", rich_help_panel="Output", help="Print JSON.")] = False,
) -> None:
    """Fit a calibration to measured step times, and report its error on held-out runs.

    A handful of runs is enough: parameters that they do not constrain stay at their start.
    """
    out = files.get("out")
    check_writable(out, "--out", runs_file)
    weights = {}
    for pair in words.get("weight", ()):
        name, _, number = pair.partition("=")
        try:
            weights[name] = float(number)
        except ValueError:
            raise InvalidInput(f'--weight: expected DATASET=X with a positive number, got "{pair}"') from None
    settings: dict[str, Any] = {**words, "weight": weights}
    with progress("fitting"):
        fit = topoopt.llm.calibrate(runs_file, **settings)
    if out is not None:
        topoopt.llm.write_calibration(out, fit.calibration)
    show(fit, as_json, written=(out,))


LLM_VERBS = lines_of(estimate, traffic, search, calibrate)
"""Verbs of the group."""
llm = group(
    "topoopt.frontends.cli.llm:",
    LLM_VERBS,
    "Transformers on accelerators: step time, memory, traffic and the best parallelism.",
)
