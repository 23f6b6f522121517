"""Predictions for every row of a table of measured steps, and how far they are off, by data set."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from topoopt.base.answers import fields_of, rows_to_frame, shows_itself
from topoopt.base.errors import InvalidInput
from topoopt.inference import Parallelism
from topoopt.measurements import (
    EVERYTHING,
    Error,
    Errors,
    MeasuredRuns,
    NotScored,
    Row,
    RunColumns,
    TableRow,
    errors_by,
    errors_json,
    number,
    percent_off,
    read_run_table,
    text,
    whole,
)
from topoopt.reinforcement.job import Constants, RlJob, lognormal_lengths, shipped_constants
from topoopt.reinforcement.step import RlStep
from topoopt.reinforcement.step_plan import RlRequest, plan_step
from topoopt.reinforcement.sync_measurements import run_model, run_policy, sync_time
from topoopt.transformers import (
    Configuration,
    estimate_configuration,
    named_calibration,
    usual_precision,
    usual_system,
)

COLUMNS = RunColumns("reinforcement", ("model", "policy", "accelerator", "n_acc", "kind"))
PROMPT_TOKENS = 110
"""Default prompt tokens for rows without them: the published tokens per second, less the answers, leave 98 to 136."""
GROUP = 16
"""Answers per prompt in rows without it."""
USUAL_RANK = 16
"""Default rank of adapters; their share of a step is small whatever the rank."""
FRAMEWORK = "torchtitan-eager-loss"
"""PyTorch's own tensor parallelism and loss, as libraries for fine-tuning have them."""
MEASURED_PHASES = {
    "gen_s": "rollout",
    "logprob_s": "old log-probs",
    "ref_s": "reference",
    "train_s": "training",
}
"""Columns of measured phases, and their names here."""


@dataclass(frozen=True, slots=True)
class Predicted:
    """A measured row with its prediction.

    Attributes
    ----------
    kind : str
        ``step``, ``weight_sync`` or ``fine_tuning``.
    predicted_s, measured_s : float
    phases_s : mapping from a phase to (predicted, measured)
        Phases of a step, where they were measured.
    network_s : float or None
        Time of a weight transfer: the least on any network; None where a row does not give senders and receivers.
    """

    row: TableRow
    kind: str
    predicted_s: float
    measured_s: float
    phases_s: Mapping[str, tuple[float, float]]
    network_s: float | None = None

    @property
    def error_percent(self) -> float:
        """Relative error, percent."""
        return percent_off(self.predicted_s, self.measured_s)

    def cells(self) -> dict[str, Any]:
        """Return the prediction as a row of a table."""
        names = ("kind", "predicted_s", "measured_s", "error_percent", "network_s")
        own = fields_of(self, *names)
        return {"id": self.row.name, "dataset": self.row.dataset, **own}


@shows_itself
@dataclass(frozen=True)
class RlRuns:
    """A table of measured steps with predictions."""

    runs: MeasuredRuns[Predicted]

    @property
    def predictions(self) -> tuple[Predicted, ...]:
        """The rows that something is predicted of."""
        return self.runs.runs

    @property
    def not_scored(self) -> tuple[NotScored, ...]:
        """The rows that nothing is predicted of."""
        return self.runs.not_scored

    @property
    def quantities(self) -> tuple[str, ...]:
        """Kinds of rows that something is predicted of."""
        return tuple(dict.fromkeys(one.kind for one in self.predictions))

    def error(self, kind: str) -> Error:
        """Return the error of the predictions of a kind."""
        return self.errors_by(kind)[EVERYTHING]

    def errors_by(self, kind: str) -> Errors:
        """Return the same by data set, and of ``all``."""
        rows = [one for one in self.predictions if one.kind == kind]
        return errors_by([(one.row.dataset, one.error_percent) for one in rows], total=True)

    @property
    def phase_errors(self) -> Errors:
        """Errors of phases, where they were measured."""
        return errors_by(
            (phase, percent_off(*pair)) for one in self.predictions for phase, pair in one.phases_s.items()
        )

    def rows(self) -> list[dict[str, Any]]:
        """Return a row for each prediction."""
        return [one.cells() for one in self.predictions]

    to_frame = rows_to_frame

    def to_json(self) -> dict[str, Any]:
        """Return a JSON-compatible mapping."""
        scores = {}
        for kind in self.quantities:
            by = errors_json(self.errors_by(kind))
            scores[kind] = {**by.pop(EVERYTHING), "by": by}
        return {
            "runs_file": self.runs.table.path,
            **scores,
            "phases": errors_json(self.phase_errors),
            "predictions": self.rows(),
            "unknown_columns": list(self.runs.table.unknown_columns),
            "not_scored": [row.to_json() for row in self.not_scored],
        }


def predict_rl_runs(path: str | os.PathLike[str], constants: Constants | None = None) -> RlRuns:
    """Return predictions for a table of measured steps.

    Columns: those of ``reinforcement/data/run_columns.csv``; ``kind`` is ``rl_step``, ``weight_sync`` or ``lora``. What
    is measured is only compared with.

    Raises
    ------
    InvalidInput
        If the file cannot be read, or is no such table.
    """
    law = constants or shipped_constants()
    return RlRuns(read_run_table(os.fspath(path), COLUMNS).read(lambda row: _predicted(row, law)))


def _predicted(table_row: TableRow, constants: Constants) -> Predicted:
    row = table_row.cells
    kind = text(row, "kind")
    if kind == "weight_sync":
        found = sync_time(row)
        measured_s = _measured(row, "weight_sync_s")
        return Predicted(table_row, "weight_sync", found.predicted_s, measured_s, {}, found.network_s)
    if kind == "lora":
        return Predicted(table_row, "fine_tuning", fine_tuning_s(row), _measured(row, "step_s"), {})
    if kind != "rl_step":
        raise InvalidInput(f'kind: expected rl_step, weight_sync or lora, got "{kind}"')
    measured_s = _measured(row, "step_s")
    step = plan_step(measured_request(row, constants))
    return Predicted(table_row, "step", step.step_s, measured_s, _phases(row, step))


def _measured(row: Row, column: str) -> float:
    value = number(row, column, 0.0, least=0.0)
    if not value:
        raise InvalidInput(f"{column}: was not measured")
    return value


def _phases(row: Row, step: RlStep) -> dict[str, tuple[float, float]]:
    """Return predicted and measured phases; for disjoint pools a row's gen_s is a wait, unrelated to rollout."""
    found = {}
    for column, phase in MEASURED_PHASES.items():
        measured = number(row, column, 0.0, least=0.0)
        if measured and phase in step.phases_s and not (step.job.disjoint and column == "gen_s"):
            found[phase] = step.phases_s[phase], measured
    return found


def fine_tuning_s(row: Row) -> float:
    """Return the seconds of a step; all layers are recomputed where it does not fit otherwise.

    Raises
    ------
    InvalidInput
        If something that decides the time is not stated, or nothing known.
    """
    model, accelerators = run_model(row), whole(row, "n_acc")
    tp, pp = whole(row, "train_tp", 1), whole(row, "train_pp", 1)
    one = Configuration(
        tp=tp,
        pp=pp,
        dp=max(1, accelerators // (tp * pp)),
        global_batch=whole(row, "train_gbs"),
        sequence=whole(row, "max_len"),
        vpp=model.layers // pp // 2 if pp > 1 and model.layers % (2 * pp) == 0 else 1,
        precision=text(row, "precision").lower() or "bf16",
        adapter_rank=USUAL_RANK,
    )
    calibration = named_calibration(None, text(row, "accelerator")).with_one_attention(None)
    system = usual_system(text(row, "accelerator"), accelerators=accelerators)
    found = estimate_configuration(model, one, system, calibration, framework=FRAMEWORK)
    if not found.fits:
        whole_layers = replace(one, recompute="full")
        found = estimate_configuration(model, whole_layers, system, calibration, framework=FRAMEWORK)
    return found.iteration_time_s


def measured_request(row: Row, constants: Constants) -> RlRequest:
    """Return the request that a measured row corresponds to.

    Pools that are not stated are halves. Degrees that are not stated are searched.

    Raises
    ------
    InvalidInput
        If something that decides the time is not stated, or nothing known.
    """
    model, (policy, staleness) = run_model(row), run_policy(row)
    accelerators, answers = whole(row, "n_acc"), whole(row, "samples_per_step")
    most, mean = whole(row, "max_len"), whole(row, "mean_len")
    system = usual_system(text(row, "accelerator"), accelerators=accelerators)
    group = GROUP if answers % GROUP == 0 else 1
    batch = whole(row, "train_gbs", answers)
    precision = text(row, "precision").lower()
    prompt = min(PROMPT_TOKENS, max(1, most // 2))
    algorithm = text(row, "algorithm").lower()
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
    stated = text(row, "gen_tp") or text(row, "gen_pp")
    rollout = Parallelism(whole(row, "gen_tp", 1), whole(row, "gen_pp", 1)) if stated else None
    columns = {"train_tp": "tp", "train_cp": "cp", "train_ep": "ep", "train_pp": "pp"}
    training = {field: whole(row, column) for column, field in columns.items() if text(row, column)}
    return RlRequest(
        job,
        named_calibration(None, system.accelerator).with_one_attention(None),
        constants,
        whole(row, "n_rollout", accelerators // 2) if job.disjoint else None,
        rollout,
        training,
    )
