"""A row of a table of measured steps as a question: job, pools and splits, as far as the row says them."""

from topoopt.base.errors import InvalidInput
from topoopt.inference import Parallelism
from topoopt.reinforcement.constants import Constants
from topoopt.reinforcement.job import RlJob
from topoopt.reinforcement.lengths import lognormal_lengths
from topoopt.reinforcement.plan import RlRequest
from topoopt.reinforcement.run_words import Row, needed, run_model, run_policy, whole
from topoopt.transformers import named_calibration, usual_precision, usual_system

PROMPT_TOKENS = 110
"""Of rows that do not say it: tokens a second of the published steps, less the answers, leave 98 to 136."""

GROUP = 16
"""Answers to a prompt of rows that do not say it."""


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
