"""Predictions for every row of a table of measured steps, and how far they are off, by data set."""

import os
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from statistics import mean, median
from typing import Any

from topoopt.base.answers import Frame, frame, shows_itself
from topoopt.base.errors import InvalidInput, TopoOptError
from topoopt.inference import Parallelism
from topoopt.reinforcement.job import Constants, RlJob, shipped_constants
from topoopt.reinforcement.response_lengths import lognormal_lengths
from topoopt.reinforcement.step import RlStep
from topoopt.reinforcement.step_plan import RlRequest, plan_step
from topoopt.reinforcement.sync_measurements import (
    Row,
    needed,
    number,
    run_model,
    run_policy,
    sync_time,
    whole,
)
from topoopt.schema.files import csv_lines, read_text
from topoopt.transformers import (
    Configuration,
    estimate_configuration,
    named_calibration,
    usual_precision,
    usual_system,
)

PROMPT_TOKENS = 110
"""Of rows that do not say it: tokens a second of the published steps, less the answers, leave 98 to 136."""
GROUP = 16
"""Answers to a prompt of rows that do not say it."""
USUAL_RANK = 16
"""Of adapters, of rows that do not say it; what they add to a step is small whatever the rank."""
FRAMEWORK = "torchtitan-eager-loss"
"""PyTorch's own tensor parallelism and loss, as libraries for fine-tuning have them."""
MEASURED_PHASES = {
    "gen_s": "rollout",
    "logprob_s": "old log-probs",
    "ref_s": "reference",
    "train_s": "training",
}
"""Columns of measured phases, and what they are called here."""


@dataclass(frozen=True, slots=True)
class Predicted:
    """A row and what is predicted of it.

    Attributes
    ----------
    kind : str
        ``step``, ``weight_sync`` or ``fine_tuning``.
    predicted_s, measured_s : float
    phases_s : mapping from a phase to (predicted, measured)
        Of a step, where they were measured.
    network_s : float or None
        Of weights on their way: the least on any network; None where a row does not say who sends to whom.
    """

    id: str
    dataset: str
    kind: str
    predicted_s: float
    measured_s: float
    phases_s: Mapping[str, tuple[float, float]]
    network_s: float | None = None

    @property
    def error_percent(self) -> float:
        """By how much it is off."""
        return 100 * (self.predicted_s / self.measured_s - 1)


@dataclass(frozen=True, slots=True)
class NotScored:
    """A row that nothing is predicted of, and why."""

    id: str
    dataset: str
    reason: str


@dataclass(frozen=True, slots=True)
class RunsError:
    """Mean and median absolute error, and bias, in percent."""

    runs: int
    mape: float
    median: float
    bias: float


@shows_itself
@dataclass(frozen=True)
class RlRuns:
    """A table of measured steps with predictions."""

    runs_file: str
    predictions: tuple[Predicted, ...]
    not_scored: tuple[NotScored, ...]

    def errors(self, kind: str) -> RunsError | None:
        """Return how far predictions of a kind are off; None where there are none."""
        return runs_error(one.error_percent for one in self.predictions if one.kind == kind)

    def errors_by(self, kind: str) -> dict[str, RunsError]:
        """Return the same by data set."""
        groups: dict[str, list[float]] = defaultdict(list)
        for one in self.predictions:
            if one.kind == kind:
                groups[one.dataset].append(one.error_percent)
        found = {name: runs_error(errors) for name, errors in groups.items()}
        return {name: error for name, error in found.items() if error is not None}

    def phase_errors(self) -> dict[str, RunsError]:
        """Return how far phases are off, where they were measured."""
        groups: dict[str, list[float]] = defaultdict(list)
        for one in self.predictions:
            for phase, (predicted, measured) in one.phases_s.items():
                groups[phase].append(100 * (predicted / measured - 1))
        found = {name: runs_error(errors) for name, errors in groups.items()}
        return {name: error for name, error in found.items() if error is not None}

    @property
    def kinds(self) -> tuple[str, ...]:
        """Kinds of rows that something is predicted of."""
        return tuple(dict.fromkeys(one.kind for one in self.predictions))

    def rows(self) -> list[dict[str, Any]]:
        """Return a row for each prediction."""
        names = ("id", "dataset", "kind", "predicted_s", "measured_s", "error_percent", "network_s")
        return [{name: getattr(one, name) for name in names} for one in self.predictions]

    def to_frame(self) -> Frame:
        """Return the predictions as a pandas table.

        Raises
        ------
        InvalidInput
            If pandas is not installed.
        """
        return frame(self.rows())

    def to_json(self) -> dict[str, Any]:
        """Return the answer as plain values."""
        scores = {}
        for kind in self.kinds:
            error = self.errors(kind)
            assert error is not None
            by = {name: asdict(one) for name, one in self.errors_by(kind).items()}
            scores[kind] = {**asdict(error), "by": by}
        return {
            "runs_file": self.runs_file,
            **scores,
            "phases": {name: asdict(one) for name, one in self.phase_errors().items()},
            "predictions": self.rows(),
            "not_scored": [asdict(one) for one in self.not_scored],
        }


def runs_error(errors: Iterable[float]) -> RunsError | None:
    """Return the mean, the median and the bias of errors in percent; None of none."""
    given = list(errors)
    if not given:
        return None
    sizes = [abs(one) for one in given]
    return RunsError(len(given), mean(sizes), median(sizes), mean(given))


def predict_rl_runs(path: str | os.PathLike[str], constants: Constants | None = None) -> RlRuns:
    """Return predictions for a table of measured steps.

    Columns: ``id``, ``dataset``, ``kind`` (``rl_step``, ``weight_sync`` or ``lora``), ``algorithm``, ``policy``,
    ``model``, ``accelerator``, ``n_acc``, ``n_rollout``, ``gen_tp``, ``gen_pp``, ``train_tp``, ``train_cp``,
    ``train_ep``, ``train_pp``, ``precision``, ``max_len``, ``mean_len`` (tokens), ``samples_per_step``, ``train_gbs``,
    ``step_s``, ``gen_s``, ``logprob_s``, ``ref_s``, ``train_s``, ``weight_sync_s``; others are passed over. What is
    measured is only compared with.

    Raises
    ------
    InvalidInput
        If the file cannot be read, or is no such table.
    """
    place = os.fspath(path)
    lines = csv_lines(read_text(place), place)
    if not lines:
        raise InvalidInput(f"{place}: is empty; expected a row of column names, and a run in each other row")
    columns = [cell.strip() for cell in lines[0][1]]
    check_columns(columns, place)
    law = constants or shipped_constants()
    predictions, others = [], []
    for line, cells in lines[1:]:
        if not any(cells):
            continue
        row = dict(zip(columns, cells, strict=False))
        name, dataset = row.get("id") or f"line {line}", row.get("dataset", "")
        try:
            predictions.append(_predicted(name, dataset, row, law))
        except TopoOptError as error:
            others.append(NotScored(name, dataset, str(error)))
    return RlRuns(place, tuple(predictions), tuple(others))


def _predicted(name: str, dataset: str, row: Row, constants: Constants) -> Predicted:
    kind = row["kind"].strip()
    if kind == "weight_sync":
        found = sync_time(row)
        measured_s = _measured(row, "weight_sync_s")
        return Predicted(name, dataset, "weight_sync", found.predicted_s, measured_s, {}, found.network_s)
    if kind == "lora":
        return Predicted(name, dataset, "fine_tuning", fine_tuning_s(row), _measured(row, "step_s"), {})
    if kind != "rl_step":
        raise InvalidInput(f'kind: expected rl_step, weight_sync or lora, got "{kind}"')
    measured_s = _measured(row, "step_s")
    step = plan_step(measured_request(row, constants))
    return Predicted(name, dataset, "step", step.step_s, measured_s, _phases(row, step))


def _measured(row: Row, column: str) -> float:
    value = number(row, column)
    if value is None:
        raise InvalidInput(f"{column}: was not measured")
    return value


def _phases(row: Row, step: RlStep) -> dict[str, tuple[float, float]]:
    """Return predicted and measured phases; of disjoint pools a row's gen_s is a wait and says nothing of rollout."""
    found = {}
    for column, phase in MEASURED_PHASES.items():
        measured = number(row, column)
        if measured is not None and phase in step.phases_s and not (step.job.disjoint and column == "gen_s"):
            found[phase] = step.phases_s[phase], measured
    return found


def fine_tuning_s(row: Row) -> float:
    """Return the seconds of a step; all layers are recomputed where it does not fit otherwise.

    Raises
    ------
    InvalidInput
        If something that decides the time is not stated, or nothing known.
    """
    model, accelerators = run_model(row), needed(row, "n_acc")
    tp, pp = whole(row, "train_tp") or 1, whole(row, "train_pp") or 1
    one = Configuration(
        tp=tp,
        pp=pp,
        dp=max(1, accelerators // (tp * pp)),
        global_batch=needed(row, "train_gbs"),
        sequence=needed(row, "max_len"),
        vpp=model.layers // pp // 2 if pp > 1 and model.layers % (2 * pp) == 0 else 1,
        precision=(row.get("precision") or "bf16").lower(),
        adapter_rank=USUAL_RANK,
    )
    calibration = named_calibration(None, row["accelerator"]).with_one_attention(None)
    system = usual_system(row["accelerator"], accelerators=accelerators)
    found = estimate_configuration(model, one, system, calibration, framework=FRAMEWORK)
    if not found.fits:
        whole_layers = replace(one, recompute="full")
        found = estimate_configuration(model, whole_layers, system, calibration, framework=FRAMEWORK)
    return found.iteration_time_s


def measured_request(row: Row, constants: Constants) -> RlRequest:
    """Return the question that a row has measured the answer of.

    Pools that are not stated are halves. Degrees that are not stated are searched.

    Raises
    ------
    InvalidInput
        If something that decides the time is not stated, or nothing known.
    """
    model, (policy, staleness) = run_model(row), run_policy(row)
    accelerators, answers = needed(row, "n_acc"), needed(row, "samples_per_step")
    most, mean = needed(row, "max_len"), needed(row, "mean_len")
    system = usual_system(row["accelerator"], accelerators=accelerators)
    group = GROUP if answers % GROUP == 0 else 1
    batch = whole(row, "train_gbs") or answers
    precision = (row.get("precision") or "").lower()
    prompt = min(PROMPT_TOKENS, max(1, most // 2))
    algorithm = (row.get("algorithm") or "").lower()
    job = RlJob(
        model,
        accelerators,
        system,
        "ppo" if algorithm == "ppo" else "grpo",
        policy,
        answers // group,
        group,
        prompt,
        lognormal_lengths(answers, mean, max(most - prompt, mean), constants.length_spread),
        most,
        updates=max(1, answers // batch),
        reward="model" if algorithm == "ppo" else "rule",
        reference=algorithm != "dapo",
        staleness=staleness,
        precision=precision or usual_precision(system.accelerator),
        rollout_precision=precision if precision in ("fp8", "bf16") else "bf16",
    )
    return RlRequest(
        job,
        named_calibration(None, system.accelerator).with_one_attention(None),
        constants,
        (whole(row, "n_rollout") or accelerators // 2) if job.disjoint else None,
        _rollout(row),
        _training(row),
    )


def _rollout(row: Row) -> Parallelism | None:
    tensor, pipeline = whole(row, "gen_tp"), whole(row, "gen_pp")
    return Parallelism(tensor or 1, pipeline or 1) if tensor or pipeline else None


def _training(row: Row) -> dict[str, int]:
    columns = {"train_tp": "tp", "train_cp": "cp", "train_ep": "ep", "train_pp": "pp"}
    given = {field: whole(row, column) for column, field in columns.items()}
    return {field: value for field, value in given.items() if value is not None}


def check_columns(columns: list[str], place: str) -> None:
    """Refuse a table without the columns that every prediction needs.

    Raises
    ------
    InvalidInput
        Naming what is missing.
    """
    missing = [name for name in ("model", "policy", "accelerator", "n_acc", "kind") if name not in columns]
    if missing:
        raise InvalidInput(f"{place}: has no column {', '.join(missing)}")
