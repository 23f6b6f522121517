"""Measured runs that belong together: pairs of one job and the change between them, models of a size, stacks.

A pair is one job on two networks, on more accelerators or in another split. Runs are a family if their cells in the
column ``pair`` are equal, or where these are empty, if they differ only in the number of replicas. The run on the
fewest accelerators, the first of these in the table, is compared with each of the others: without a label, with those
on more accelerators that span servers.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from topoopt.base.answers import fields_of
from topoopt.base.arrays import Floats, Ints, grouped
from topoopt.measurements.run_table import text
from topoopt.measurements.training.run import Run
from topoopt.transformers import Bools

LEAST_CHANGE = 0.03
"""Measured changes that are less are noise: errors of pairs are about the others."""


@dataclass(frozen=True, slots=True)
class PairErrors:
    """Errors of predicted changes.

    Attributes
    ----------
    pairs : int
        Pairs with a measured change of :data:`LEAST_CHANGE` at least.
    right_sign, within_two : int
        Pairs predicted in the same direction, and within a factor of two of the measured change.
    measured_percent, predicted_percent : float
        Mean change.
    """

    pairs: int
    right_sign: int
    within_two: int
    measured_percent: float
    predicted_percent: float

    def to_json(self) -> dict[str, Any]:
        """Return a JSON-compatible mapping."""
        return {
            **fields_of(self, "pairs", "right_sign"),
            "within_factor_two": self.within_two,
            "mean_measured_change_percent": self.measured_percent,
            "mean_predicted_change_percent": self.predicted_percent,
        }


def families(runs: Sequence[Run]) -> Ints:
    """Return the number of the family of each run; runs that have no other of theirs are in one alone."""
    numbers: dict[Any, int] = {}
    return np.array([numbers.setdefault(_family(run), len(numbers)) for run in runs], np.int64)


def _family(run: Run) -> Any:
    label, job = text(run.row.cells, "pair"), run.configuration
    if label:
        return run.row.dataset, label
    alone = replace(job, dp=1, global_batch=1)
    per_replica = job.global_batch / job.dp, run.system.network_bandwidth_bps, run.attention, run.unfused
    return run.row.dataset, run.model, run.system.accelerator, alone, per_replica


def is_labelled(runs: Sequence[Run]) -> Bools:
    """Return which runs name the group of their pairs."""
    return np.array([bool(text(run.row.cells, "pair")) for run in runs], bool)


def paired_rows(family: Ints, accelerators: Ints, labelled: Bools, per_server: Floats) -> tuple[Ints, Ints]:
    """Return the rows of first and second runs of all pairs.

    Parameters
    ----------
    family, accelerators, labelled, per_server : array, shape (runs,)
        See :func:`families` and :func:`is_labelled`; accelerators of the job, and of a server.
    """
    members = grouped((number, row) for row, number in enumerate(family.tolist()))
    pairs = [
        (first, other)
        for rows in members.values()
        for first in [min(rows, key=lambda row: int(accelerators[row]))]
        for other in rows
        if other != first
        and (labelled[other] or accelerators[other] > max(accelerators[first], per_server[other]))
    ]
    first, second = np.array(pairs, np.int64).reshape(-1, 2).T
    return first, second


def pair_kind(first: Run, second: Run) -> str:
    """Return the difference within a pair: accelerators, network, precision, split, or only the scale."""
    jobs = [
        replace(run.configuration, dp=1, global_batch=1, micro_batch=1, precision="bf16")
        for run in (first, second)
    ]
    if first.system.accelerator != second.system.accelerator:
        return "accelerator"
    if first.system.network_bandwidth_bps != second.system.network_bandwidth_bps:
        return "network"
    if first.configuration.precision != second.configuration.precision:
        return "precision"
    if jobs[0] != jobs[1]:
        return "split"
    return "scale, hybrid shards" if jobs[0].shard else "scale"


def pair_errors(runs: Sequence[Run], predicted_s: Sequence[float]) -> dict[str, PairErrors]:
    """Return the errors of the changes of all pairs by kind, and of ``all``; nothing where there are none."""
    accelerators = np.array([run.configuration.accelerators for run in runs], np.int64)
    changes: dict[str, list[tuple[float, float]]] = defaultdict(list)
    per_server = np.array([run.system.accelerators_per_server for run in runs], np.float64)
    rows = paired_rows(families(runs), accelerators, is_labelled(runs), per_server)
    for one, other in zip(*rows, strict=True):
        first, second = runs[one], runs[other]
        scale = _accelerator_s_per_token(second) / _accelerator_s_per_token(first)
        measured = second.measured_s / first.measured_s * scale - 1
        if abs(measured) >= LEAST_CHANGE:
            predicted = predicted_s[other] / predicted_s[one] * scale - 1
            for kind in (pair_kind(first, second), "all"):
                changes[kind].append((measured, predicted))
    return {kind: _errors(changes[kind]) for kind in sorted(changes, key=lambda kind: (kind == "all", kind))}


def _accelerator_s_per_token(run: Run) -> float:
    job = run.configuration
    return job.accelerators / (job.global_batch * job.sequence)


def _errors(changes: Iterable[tuple[float, float]]) -> PairErrors:
    measured, predicted = np.array(list(changes)).T
    ratio = predicted / measured
    return PairErrors(
        len(measured),
        int(np.sum(ratio > 0)),
        int(np.sum((ratio >= 0.5) & (ratio <= 2))),
        100 * float(measured.mean()),
        100 * float(predicted.mean()),
    )


def size_classes(parameters: Floats) -> Ints:
    """Return a size class per model, equal for parameters within a factor of 2**0.5."""
    return np.unique(np.round(2 * np.log2(parameters)), return_inverse=True)[1]


def stack_parts(runs: Sequence[Run], sizes: Ints) -> Ints:
    """Return parts, numbered, of runs of one data set, accelerator, and model of a name and about a size."""
    names = [
        f"{run.row.dataset} {run.system.accelerator} {run.model.name} {size}"
        for run, size in zip(runs, sizes.tolist(), strict=True)
    ]
    return np.unique(names, return_inverse=True)[1]


@dataclass(frozen=True, slots=True)
class Weights:
    """Weights of the data sets, independent of their number of runs.

    Attributes
    ----------
    of : mapping from a data set to a factor
        1 for those not named.
    """

    of: Mapping[str, float]

    def rows(self, datasets: Iterable[str]) -> Floats:
        """Return the weight of each run's squared error; they sum to the number of runs."""
        names = list(datasets)
        counts = Counter(names)
        share = {name: self.of.get(name, 1.0) / count for name, count in counts.items()}
        weights = np.array([share[name] for name in names], np.float64)
        scale = len(weights) / float(weights.sum())
        return weights * scale
