"""The calibrations that are shipped, fitted again: ``make calibrations``, or ``python -m benchmarks.calibrations``.

Each starts where its ``--start`` says, so the order matters: the A100 and GB200 begin at the H100's, others at the
GB200's. Only rows of train_runs.csv and collectives.csv are fitted; what judges is in published_runs.csv. The errors
are written into ``docs/training-accuracy.md``; with ``--page`` nothing is fitted, and the page is written again.
"""

import argparse
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from functools import partial
from multiprocessing import get_context
from pathlib import Path

from topoopt.measurements import EVERYTHING, Errors, errors_by, percent_off
from topoopt.measurements.collectives import collective_times, read_collectives
from topoopt.measurements.run_table import table_rows
from topoopt.measurements.training import FitRules, Runs, fit_to_runs, predict_runs, read_runs, run_memory
from topoopt.measurements.training.run import run_of
from topoopt.transformers import find_calibration, write_calibration

ROOT = Path(__file__).parents[1]
DATA = ROOT / "benchmarks" / "data"
RUNS, PUBLISHED, COLLECTIVES = (
    DATA / f"{name}.csv" for name in ("train_runs", "published_runs", "collectives")
)
FOLDER = ROOT / "src" / "topoopt" / "transformers" / "data" / "calibrations"
PAGE = ROOT / "docs" / "training-accuracy.md"

OF_THE_NETWORK = (
    *("network_efficiency", "exchange_efficiency", "straggling", "slow_straggling"),
    *("replica_straggling", "replica_overlap", "gather_overlap"),
)
"""Constants of network interfaces, switches and collective library, which Blackwell has from Hopper's runs: the same
interfaces, and fewer than three pairs of its own. The A100 has the rate that collectives reach from there, too: its
own runs say 0.68 or 0.88 with the same error, and the latter meets published runs of ZeRO-3 that nothing is fitted to.
"""
FITS: tuple[FitRules, ...] = (
    FitRules(("h100",), "neutral", "fused"),
    FitRules(
        ("a100-80gb", "a100-40gb", "a800"),
        "h100",
        "auto",
        weights={"vtrain_single": 8, "vtrain_multi": 4},
        hold=("network_efficiency",),
    ),
    FitRules(("gb200",), "h100", hold=OF_THE_NETWORK),
    FitRules(("gb300",), "gb200", hold=OF_THE_NETWORK),
    FitRules(("b200",), "gb200", hold=OF_THE_NETWORK),
    FitRules(("b300",), "gb200", hold=OF_THE_NETWORK),
    FitRules(("tpuv5e",), "h100"),
    FitRules(("tpuv5p",), "h100"),
    FitRules(("tpuv6e",), "h100"),
    FitRules(("tpuv7",), "h100"),
)
"""Accelerators whose runs are taken, the first naming the file; and how. The A100 begins at the H100's, whose runs with
ZeRO-3 are newer: what hides is a matter of software. All data sets count alike, but vTrain's, which have the most uses
of tensor and pipeline parallelism, count more."""
WITH_COLLECTIVES = ("h100", "a100-80gb", "gb200", "b200")
"""Accelerators of which collectives.csv has rows."""
HOW_STORED = (
    "weights",
    "gradients",
    "moments",
    "activation_inputs",
    "dispatch",
    "overlap_experts",
    "recompute_layers",
)
"""Columns that tables of results seldom have, from recipes and logs: without them a row is as people type it."""
LEAST_BYTES = 2**26


def main() -> None:
    """Fit them one after the other, each in a process of its own, which reads what the ones before have written."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--page", action="store_true", help="write the page of errors alone")
    fits = () if parser.parse_args().page else FITS
    steps: list[Callable[[], str]] = [*(partial(fit_one, rules) for rules in fits), write_page]
    for step in steps:
        with ProcessPoolExecutor(1, get_context("spawn")) as pool:
            print(pool.submit(step).result(), flush=True)


def fit_one(rules: FitRules) -> str:
    """Fit a calibration, write it, and return what it is and how far it is off."""
    collectives = str(COLLECTIVES) if rules.accelerators[0] in WITH_COLLECTIVES else ""
    found = fit_to_runs(str(RUNS), replace(rules, strength=1.0, collectives=collectives))
    write_calibration(FOLDER / f"{found.calibration.name}.toml", found.calibration)
    return f"{found.calibration.name}: {found.errors['in_sample'][EVERYTHING].mape_percent:.1f}%"


def write_page() -> str:
    """Write the page of errors, and return where."""
    PAGE.write_text("\n".join(page()) + "\n", encoding="utf-8")
    return str(PAGE)


def page() -> Iterator[str]:
    """Yield the lines of the page of errors."""
    fitted, published = read_runs(RUNS), read_runs(PUBLISHED)
    yield from (
        "# Accuracy of training estimates",
        "",
        "This page is written by `make calibrations`, which also measures its numbers. Errors are in percent of the",
        "measured value; *bias* is the mean signed error.",
        "",
        "## Calibrations",
        "",
        "Mean absolute error of the iteration time over `benchmarks/data/train_runs.csv`. *Fitted* rows were used to",
        "fit the calibration. The other columns are cross-validation: random rows, all models of one size, or all rows",
        "of one stack (model, accelerator and software) were held out of the fit.",
        "",
        "| calibration | runs | fitted | held out | size held out | stack held out |",
        "|---|---|---|---|---|---|",
    )
    for rules in FITS:
        law = find_calibration(rules.accelerators[0])
        kinds = ("", "_held_out", "_size_held_out", "_stack_held_out")
        cells = [law.provenance.get(f"mape_percent{kind}", "").rpartition("all ")[2] or "–" for kind in kinds]
        runs = sum(int(part.split()[1]) for part in law.provenance["runs"].split(", "))
        yield f"| {law.accelerator} | {runs:,} | {' | '.join(cells)} |"
    yield from (
        "",
        "## Published results that no calibration was fitted to",
        "",
        "The rows of `benchmarks/data/published_runs.csv` are not part of any fit, but they were known when the",
        "formulas were written. *As typed* excludes columns that recipes state and published tables usually do not:",
        f"{', '.join(f'`{name}`' for name in HOW_STORED)}.",
        "",
        "| data set | runs | as typed | full words | bias, full words |",
        "|---|---|---|---|---|",
    )
    plain = as_typed(published)
    typed, full = predict_runs(plain).errors, predict_runs(published).errors
    for name, error in full.items():
        errors = f"{typed[name].mape_percent:.1f} | {error.mape_percent:.1f} | {error.bias_percent:+.1f}"
        yield f"| {name} | {error.runs} | {errors} |"
    yield from (
        "",
        "## Differences between runs of one job",
        "",
        "A pair is two runs of one job that differ in the number of accelerators, the precision or the split, and by",
        "at least 3% in the accelerator time per token. Most of these rows were used to fit the calibrations; runs",
        "with adapters were not.",
        "",
        "| differ in | pairs | right sign | within a factor of 2 | measured change, mean | predicted |",
        "|---|---|---|---|---|---|",
    )
    for kind, one in predict_runs(fitted).pair_errors.items():
        changes = f"{one.measured_percent:+.1f}% | {one.predicted_percent:+.1f}%"
        yield f"| {kind} | {one.pairs} | {one.right_sign} | {one.within_two} | {changes} |"
    yield from (
        "",
        "## Memory",
        "",
        "A run that ran should be predicted to fit into memory, and a run that was out of memory should not. If a row",
        "does not state the recomputation, the least one with which the run fits is assumed.",
        "",
        "| table | runs that ran | predicted to fit | runs out of memory | predicted not to fit |",
        "|---|---|---|---|---|",
        *map(
            _memory_row,
            ("train_runs", "published_runs", "published_runs, as typed"),
            (fitted, published, plain),
        ),
        "",
        "## Collectives: nccl-tests",
        "",
        f"Rows of `benchmarks/data/collectives.csv` from {LEAST_BYTES // 2**20} MiB. The calibrations were fitted to",
        "all of them except those of H20 and H200. `nvls` is an AllReduce that NVSwitches reduce (NVLink SHARP).",
        "",
        "| data set | accelerator | ranks | algorithm | rows | mean absolute error | bias |",
        "|---|---|---|---|---|---|---|",
    )
    for name, error in _collective_errors().items():
        yield f"| {name} | {error.runs} | {error.mape_percent:.1f} | {error.bias_percent:+.1f} |"


def _memory_row(name: str, runs: Runs) -> str:
    """Return how many of the runs that ran fit, and how many of those out of memory do not."""
    ran, oom = ([run for run in runs.runs if run.out_of_memory == out] for out in (False, True))
    fit = sum(bool(run_memory(run).fits[0]) for run in ran)
    refused = sum(not run_memory(run).fits[0] for run in oom)
    return f"| {name} | {len(ran):,} | {fit:,} ({fit / len(ran):.1%}) | {len(oom)} | {refused} |"


def as_typed(runs: Runs) -> Runs:
    """Return the runs of a table without what people do not type."""
    rows = [
        {key: "" if key in HOW_STORED else cell for key, cell in row.cells.items()} for row in runs.table.rows
    ]
    return replace(runs.table, rows=table_rows(rows)).read(run_of)


def _collective_errors() -> Errors:
    large = [one for one in read_collectives(COLLECTIVES).runs if one.size_bytes >= LEAST_BYTES]
    off = []
    for name in sorted({one.system.accelerator for one in large}):
        own = [one for one in large if one.system.accelerator == name]
        for one, predicted_s in zip(own, collective_times(own, find_calibration(name)), strict=True):
            what = f"{one.row.cells['algorithm'] or 'any'} {one.collective}"
            group = f"{one.row.dataset} | {name} | {one.ranks} | {what}"
            off.append((group, percent_off(float(predicted_s), one.measured_s)))
    return errors_by(off)


if __name__ == "__main__":
    main()
