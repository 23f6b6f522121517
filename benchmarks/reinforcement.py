"""The constants of steps of reinforcement learning, fitted again: ``python -m benchmarks.reinforcement``.

Reads ``data/rl_runs.csv``, published steps and synchronizations of weights, and prints the constants that
``topoopt/reinforcement/data`` has, with their error on the rows that they are fitted to and on each row, configuration
and model left out. What a step's rollout takes is linear in what an engine adds, so rows are played once.
"""

import math
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from scipy.optimize import least_squares

from topoopt.base.arrays import Floats
from topoopt.base.errors import InvalidInput
from topoopt.catalog import DEFAULT_ACCELERATOR, find_accelerator
from topoopt.measurements import Constant, TableRow, fit_constants, held_out, percent_off, read_run_table
from topoopt.reinforcement.job import Constants, shipped_constants
from topoopt.reinforcement.runs import COLUMNS, measured_request
from topoopt.reinforcement.step_plan import plan_step
from topoopt.reinforcement.sync_measurements import run_transport, sent_bytes
from topoopt.reinforcement.weight_sync import transport_for
from topoopt.transformers import Bounds

RUNS = Path(__file__).parent / "data" / "rl_runs.csv"

CHECKED = ("published_moves",)
"""Data sets that nothing is fitted to."""

START = {
    "rollout_layer_s": 5e-5,
    "rollout_answer_s": 5e-5,
    "rollout_network_layer_s": 1e-4,
    "training_factor": 1.5,
}
"""Where fits begin: round numbers, taken after a first look at these rows."""

NOISE = 0.133
"""Spread of predicted around measured steps, in logarithms."""
HELD = Bounds(1e-9, 1e3, NOISE / 0.3, "")
"""The logarithm of each constant is held at its start with a weight of 0.3, of 0.02 to 0.3 the one with the least error
on models that are left out: a few dozen rows have little to say of some constants."""

NOTHING = Constants(0.0, 0.0, 0.0, 1.0, 0.0, 0.9, 0.6)


@dataclass(frozen=True)
class Played:
    """What a measured step consists of, before constants."""

    name: str
    model: str
    setting: str
    disjoint: bool
    measured_s: float
    rollout_s: float
    layer_steps: float
    doubled_layer_steps: float
    answer_steps: float
    training_s: float
    sync_s: float


def played(spread: float) -> list[Played]:
    """Return all rows of steps whose inputs are stated."""
    constants = replace(
        NOTHING, length_spread=spread, colocated_memory_share=shipped_constants().colocated_memory_share
    )
    return list(read_run_table(RUNS, COLUMNS).read(lambda row: _played(row, constants)).runs)


def _played(table_row: TableRow, constants: Constants) -> Played:
    row = table_row.cells
    if row["kind"] != "rl_step":
        raise InvalidInput("kind: is no step")
    request = measured_request(row, constants)
    step = plan_step(request)
    servers = -(-step.rollout.parallelism.stage_accelerators // request.job.system.accelerators_per_server)
    layer_steps = request.job.model.layers * step.rollout.played.steps
    return Played(
        table_row.name,
        row["model"],
        "|".join(row[name] for name in ("model", "policy", "accelerator", "n_acc", "precision")),
        request.job.disjoint,
        float(row["step_s"]),
        step.rollout.time_s,
        layer_steps,
        layer_steps * math.log2(servers),
        step.rollout.played.tokens,
        step.training.time_s,
        step.sync_s,
    )


def predicted_s(one: Played, values: Mapping[str, float]) -> float:
    """Return the seconds of a step."""
    rollout_s = one.rollout_s + values["rollout_layer_s"] * one.layer_steps
    rollout_s += values["rollout_network_layer_s"] * one.doubled_layer_steps
    rollout_s += values["rollout_answer_s"] * one.answer_steps
    training_s = values["training_factor"] * one.training_s
    if one.disjoint:
        return max(rollout_s, training_s) + one.sync_s
    return rollout_s + training_s + one.sync_s


def fitted(rows: Sequence[Played]) -> dict[str, float]:
    """Return the constants that fit rows best, by the logarithm of predicted over measured."""

    def misses(values: Mapping[str, float]) -> Floats:
        return np.array([math.log(predicted_s(one, values) / one.measured_s) / NOISE for one in rows])

    return fit_constants([Constant(name, HELD, one, one) for name, one in START.items()], misses, guess=START)


def percents_off(rows: Sequence[Played], values: Mapping[str, float]) -> Floats:
    """Return the error of each row in percent."""
    return np.array([percent_off(predicted_s(one, values), one.measured_s) for one in rows])


def left_out(rows: Sequence[Played], key: Callable[[Played], str]) -> float:
    """Return the mean absolute error on rows that share a key with none of those that were fitted."""
    errors = held_out(
        np.unique([key(one) for one in rows], return_inverse=True)[1],
        lambda others: fitted([rows[place] for place in others]),
        lambda values, own: percents_off([rows[place] for place in own], values),
    )
    return float(np.abs(errors).mean())


def weight_rows() -> list[tuple[str, float, float]]:
    """Return transport, bytes and seconds of every measured synchronization."""
    rows = [
        row.cells
        for row in read_run_table(RUNS, COLUMNS).rows
        if row.cells["kind"] == "weight_sync" and row.dataset not in CHECKED
    ]
    found = [(run_transport(row), sent_bytes(row), float(row["weight_sync_s"])) for row in rows]
    usable_bytes = find_accelerator(DEFAULT_ACCELERATOR).usable_memory_bytes
    return [(transport_for(name, size, usable_bytes).name, size, seconds) for name, size, seconds in found]


def law_of_transport(sizes: np.ndarray, seconds: np.ndarray) -> tuple[float, float]:
    """Return seconds, and seconds a byte, by relative errors; through nothing where there is one row."""
    if len(sizes) == 1:
        return 0.0, float(seconds[0] / sizes[0])
    design = np.stack([1 / seconds, sizes / seconds], axis=1)

    def misfit(law: np.ndarray) -> np.ndarray:
        return np.asarray(design @ law - 1)

    scale = [1.0, 1e-10]
    found = least_squares(
        misfit, [0.1, 1e-10], bounds=(0, np.inf), x_scale=scale, loss="soft_l1", f_scale=0.1
    )
    return float(found.x[0]), float(found.x[1])


def main() -> int:
    """Print everything."""
    for name in dict.fromkeys(transport for transport, _, _ in weight_rows()):
        sizes, seconds = np.array([row[1:] for row in weight_rows() if row[0] == name]).T
        fixed, each = law_of_transport(sizes, seconds)
        print(f"transport {name}: {fixed:.3g} s + bytes / {1 / each:.3g} a second, {len(sizes)} rows")
    for spread in (0.5, 0.7, 0.9, 1.1):
        rows = played(spread)
        values = fitted(rows)
        own = np.abs(percents_off(rows, values)).mean()
        print(
            f"length_spread {spread}: {len(rows)} rows, MAPE {own:.1f} %, left out by row "
            f"{left_out(rows, lambda one: one.name):.1f}, by configuration "
            f"{left_out(rows, lambda one: one.setting):.1f}, by model {left_out(rows, lambda one: one.model):.1f}"
        )
        print("   ", ", ".join(f"{name} {value:.3g}" for name, value in values.items()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
