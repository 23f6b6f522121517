"""Traces of jobs that clusters have released: Philly's, Alibaba PAI's and Acme's; their models are drawn."""

import difflib
import os
from collections.abc import Iterable, Mapping
from datetime import datetime
from math import ceil, isnan
from pathlib import Path
from typing import Any

import numpy as np

from topoopt.base.errors import InvalidInput, shown
from topoopt.clusters.trace import LEAST_WHOLE, LEAST_WORK, Trace, TraceJob
from topoopt.clusters.trace_generator import MOST_JOBS, models_in_shares
from topoopt.schema.files import csv_lines, headed_rows, parse_json, read_text

_TASKS = (
    *("job_name", "task_name", "inst_num", "status", "start_time", "end_time", "plan_cpu", "plan_mem"),
    *("plan_gpu", "gpu_type"),
)
_COLUMNS: Mapping[str, tuple[str, ...]] = {
    "Acme": ("job_id", "gpu_num", "submit_time", "duration"),
    "Alibaba PAI": ("job_id", "num_gpu", "num_inst", "submit_time", "duration"),
    "Alibaba PAI's tasks": _TASKS,
}
"""Columns that are read, by whose they are; the tasks come without a header, with a share of an accelerator in %."""
_JOBS = ("job_name", "inst_id", "user", "status")
_STATUS = ("Terminated", "Failed", "Running", "Waiting")
_Asked = tuple[str, float, float, float]
"""Name, arrival, accelerators and duration; the last two are NaN or 0 of a job that never ran on accelerators."""


def public_kind(path: str | os.PathLike[str]) -> str:
    """Return whose trace of jobs a file is; nothing for another file.

    Raises
    ------
    InvalidInput
        For such a trace without a column that is needed, and for PAI's table of jobs, which has no accelerators.
    """
    try:
        text = read_text(os.fspath(path))
        if text.lstrip().startswith("["):
            return "Philly" if '"attempts"' in text[:100_000] and '"submitted_time"' in text[:100_000] else ""
        row = [cell.strip() for cell in _first_row(text, os.fspath(path))]
    except InvalidInput:
        return ""
    if set(_JOBS) <= set(row) or (len(row) == len(_JOBS) + 2 and row[3] in _STATUS):
        raise InvalidInput(
            f"{path}: Alibaba PAI's table of jobs has no accelerators; give its table of tasks"
        )
    lacks = {kind: [name for name in columns if name not in row] for kind, columns in _COLUMNS.items()}
    named = next((kind for kind, names in lacks.items() if not names), "")
    for kind, (missing, *more) in (
        [] if named else sorted(lacks.items(), key=lambda one: -len(_COLUMNS[one[0]]))
    ):
        near = difflib.get_close_matches(missing, set(row) - set(_COLUMNS[kind]), 1)
        if near and not more:
            raise InvalidInput(
                f'{path}: line 1: columns of {kind}, but "{missing}" is missing; did you mean it by "{near[0]}"?'
            )
    return named or ("Alibaba PAI's tasks" if _is_headless(row) else "")


def read_public_trace(
    path: str | Path, mix: Mapping[str, float], accelerators_per_server: int, seed: int = 0
) -> Trace:
    """Return the jobs of a public trace that need several servers and ran; its name says how many there were.

    A job has as many whole servers as its accelerators need, comes when it was submitted, and runs on an ideal switch
    as long as it ran. These traces do not say which model it trains: models are drawn in the shares of ``mix``.

    Raises
    ------
    InvalidInput
        With the line or job of a value that is none; without a job of several servers, or with too many.
    """
    kind, text, place = public_kind(path), read_text(path), str(path)
    asked = _philly(text, place) if kind == "Philly" else _tabled(kind, text, place)
    kept = sorted(
        (arrival_s, name, ceil(accelerators / accelerators_per_server), ran_s)
        for name, arrival_s, accelerators, ran_s in asked
        if ran_s >= LEAST_WORK
        and accelerators > (LEAST_WHOLE - 1) * accelerators_per_server
        and not isnan(arrival_s)
    )
    if not 0 < len(kept) <= MOST_JOBS:
        raise InvalidInput(
            f"{place}: {len(kept):,} of {len(asked):,} jobs ran on several servers of {accelerators_per_server} "
            f"accelerators; expected 1 to {MOST_JOBS:,}; cut the trace, or say other accelerators_per_server"
        )
    models = np.random.default_rng(seed).permutation(models_in_shares(mix, len(kept)))
    drawn = ", ".join(f"{model}={share:g}" for model, share in mix.items())
    counts = f"{len(kept):,} of {len(asked):,} jobs, of several servers"
    return Trace(
        f"{Path(path).name} ({kind}: {counts}; models drawn: {drawn})",
        tuple(
            TraceJob(name, str(model), servers, arrival_s - kept[0][0], duration_s=ran_s)
            for (arrival_s, name, servers, ran_s), model in zip(kept, models, strict=True)
        ),
    )


def _first_row(text: str, place: str) -> list[str]:
    return next(
        (row for _, row in csv_lines("\n".join(text[:10_000].splitlines()[:2]), place) if any(row)), []
    )


def _is_headless(row: list[str]) -> bool:
    return len(row) == len(_TASKS) and row[_TASKS.index("status")] in _STATUS


def _tabled(kind: str, text: str, place: str) -> list[_Asked]:
    row = _first_row(text, place)
    if _is_headless(row):
        text, row = f"{','.join(_TASKS)}\n{text}", list(_TASKS)
    columns = [name.strip() for name in row]
    _, rows = headed_rows(text, place, columns, "a header and a row for each job")
    found = [_row(kind, cells, here) for _, here, cells in rows]
    return _whole_jobs(found) if kind == "Alibaba PAI's tasks" else found


def _row(kind: str, cells: Mapping[str, str], here: str) -> _Asked:
    def number(name: str) -> float:
        return _number(cells[name], f"{here}: {name}")

    if kind == "Acme":
        comes_s, start_s, end_s = (
            _moment(cells.get(name), f"{here}: {name}") for name in ("submit_time", "start_time", "end_time")
        )
        if end_s < start_s:
            raise InvalidInput(f"{here}: end_time: expected a time after start_time, got {cells['end_time']}")
        accelerators, ran_s = number("gpu_num"), number("duration")
        if accelerators % 1 > 0:
            raise InvalidInput(f"{here}: gpu_num: expected an integer, got {shown(cells['gpu_num'])}")
        # that of Kalos counts from when a job was submitted, that of Seren from its start
        if ran_s < end_s - start_s - 1 or ran_s > end_s - min(comes_s, start_s) + 1:
            raise InvalidInput(
                f"{here}: duration: expected {end_s - start_s:.0f}, from start_time to end_time, "
                f"got {cells['duration']}"
            )
        waited_s = 0.0 if isnan(end_s - start_s) else max(0.0, ran_s - (end_s - start_s))
        return cells["job_id"], comes_s, accelerators, ran_s - waited_s
    if kind == "Alibaba PAI":
        accelerators = number("num_gpu") * number("num_inst")
        return cells["job_id"], number("submit_time"), accelerators, number("duration")
    accelerators = number("inst_num") * number("plan_gpu") / 100
    return cells["job_name"], number("start_time"), accelerators, number("end_time") - number("start_time")


def _whole_jobs(tasks: Iterable[_Asked]) -> list[_Asked]:
    """Return the jobs of tasks: all accelerators, from the begin of the first to the end of the last that has any."""
    jobs: dict[str, _Asked] = {}
    for name, begin_s, accelerators, ran_s in tasks:
        _, first_s, others, long_s = jobs.setdefault(name, (name, begin_s, 0.0, 0.0))
        if ran_s > 0 and accelerators > 0:
            comes_s = min(first_s, begin_s) if others else begin_s
            end_s = max(first_s + long_s, begin_s + ran_s) if others else begin_s + ran_s
            jobs[name] = (name, comes_s, others + accelerators, end_s - comes_s)
    return list(jobs.values())


def _philly(text: str, place: str) -> list[_Asked]:
    found = []
    for index, job in enumerate(parse_json(text, place, foreign=True)):
        here = f"{place}: [{index}]"
        try:
            attempts = [one for one in job["attempts"] if one["detail"]]
            ran_s = sum(
                _moment(one["end_time"], f"{here}: end_time")
                - _moment(one["start_time"], f"{here}: start_time")
                for one in attempts
            )
            accelerators = max((sum(len(on["gpus"]) for on in one["detail"]) for one in attempts), default=0)
            begin_s = _moment(job["submitted_time"], f"{here}: submitted_time")
            found.append((str(job["jobid"]), begin_s, float(accelerators), float(ran_s)))
        except (KeyError, TypeError):
            raise InvalidInput(
                f"{here}: expected a job with jobid, submitted_time and attempts, each with start_time, end_time and "
                "detail"
            ) from None
    return found


def _number(text: str, here: str) -> float:
    try:
        value = float(text or "nan")
    except ValueError:
        value = -1.0
    if not (isnan(value) or 0 <= value < 1e15):
        raise InvalidInput(f"{here}: expected a number >= 0, got {shown(text)}")
    return value


def _moment(text: Any, here: str) -> float:
    """Return the seconds of a date and time; NaN for none."""
    if text in (None, "", "None"):
        return float("nan")
    try:
        moment = datetime.fromisoformat(str(text).strip())
        return moment.timestamp() if moment.tzinfo else (moment - datetime(1970, 1, 1)).total_seconds()
    except (ValueError, OverflowError):
        raise InvalidInput(
            f"{here}: expected a date and time such as 2017-10-09 07:02:03, got {shown(text)}"
        ) from None
