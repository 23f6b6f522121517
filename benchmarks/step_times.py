"""Step times in closed form: configurations estimated in a CPU-second, and a fit of all runs of one accelerator.

The original is Calculon (Isaev et al., SC'23), which estimates about 100 configurations in a CPU-second in process.
"""

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from benchmarks.figure import Figure, best_cpu_seconds
from topoopt.measurements.training import Weights, fit, read_runs, timed, timed_runs
from topoopt.transformers import (
    RECOMPUTATIONS,
    Configuration,
    ConfigurationTable,
    System,
    configuration_table,
    estimate,
    find_calibration,
    memory,
    recomputation_bits,
    starting_calibration,
    table_of_columns,
)
from topoopt.workloads.transformer import find_transformer

ROWS = 200_000
RUNS = Path(__file__).parent / "data" / "train_runs.csv"


def figures() -> Iterator[Figure]:
    system, calibration = System("h100", 8, 3.6e12, 400e9), find_calibration("h100")
    table = _many(Configuration(tp=1, pp=1, dp=1, global_batch=2048, sequence=2048))
    for name in ("gpt3-175b", "deepseek-v3"):
        model = find_transformer(name)
        seconds = best_cpu_seconds(lambda model=model: estimate(model, table, system, calibration))  # type: ignore[misc]
        yield Figure(
            f"step times, {name}", ROWS / seconds, "1/CPU s", 300_000, more_is_better=True, original=100
        )
        held = best_cpu_seconds(lambda model=model: memory(model, table, "h100"))  # type: ignore[misc]
        both = ROWS / (seconds + held)
        yield Figure(f"step times and memory, {name}", both, "1/CPU s", 600_000, more_is_better=True)
    runs = timed_runs([run for run in timed(read_runs(RUNS)) if run.system.accelerator.startswith("A100")])
    start = starting_calibration("neutral", "a100-80gb")
    seconds = best_cpu_seconds(lambda: fit(runs, start, Weights({}), 1.0), repeats=1)
    yield Figure("calibration fitted to 1,092 runs", seconds, "CPU s", 10)


def _many(one: Configuration) -> ConfigurationTable:
    generator = np.random.default_rng(0)
    columns = {
        key: np.repeat(column, ROWS)
        for key, column in vars(configuration_table([one])).items()
        if np.ndim(column)
    }
    choices = {"tp": [1, 2, 4, 8], "pp": [1, 2, 4, 8, 16], "vpp": [1, 2, 4], "micro_batch": [1, 2, 4]}
    choices |= {
        "recompute": [recomputation_bits(word) for word in RECOMPUTATIONS],
        "zero": [0, 1, 2, 3],
        "sequence_parallel": [0, 1],
    }
    columns |= {key: generator.choice(np.array(values), ROWS) for key, values in choices.items()}
    columns["dp"] = 1024 // (columns["tp"] * columns["pp"])
    return table_of_columns(**columns)
