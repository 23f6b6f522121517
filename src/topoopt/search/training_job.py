"""From a request to a job: operators and traffic as they are, a transformer with the layouts worth wiring."""

from collections.abc import Callable
from dataclasses import asdict

from topoopt.job import Job, training_job
from topoopt.job_file import JobRequest, requested_job
from topoopt.llm import (
    Calibration,
    Configuration,
    ConfigurationSearch,
    SearchRequest,
    System,
    make_pipelined_step,
    named_calibration,
    search_configurations,
    system_of,
)
from topoopt.search.training_request import TrainingRequest, is_transformer, training_request
from topoopt.training import ORDER, Layout, Training
from topoopt.transformer import count_parameters

OTHER_ORDER = "tp-cp-ep-pp-dp"
"""Stages next to each other rather than replicas: another placement where a server holds several workers."""

DIVERSE = ("tp", "pp", "dp", "cp", "ep")
"""Configurations that agree in these would be wired alike; the fastest of them stands for all."""

Progress = Callable[[str, int, int], None]


def job_of(request: JobRequest, on_progress: Progress = lambda stage, done, total: None) -> Job:
    """Return the job that a request means.

    Of a transformer all configurations are ranked in closed form, and the best ones that differ in their degrees
    become the layouts of the job.

    Raises
    ------
    InvalidInput
        If anything in the request is unknown, out of range, or does not go together.
    Infeasible
        If no configuration of a transformer fits in memory.
    """
    if not is_transformer(request):
        return requested_job(request)
    on_progress("ranking configurations", 0, 0)
    asked = training_request(request)
    system, calibration = system_of(asked.cluster), _calibration(asked)
    found = search_configurations(
        SearchRequest(
            asked.model,
            asked.cluster.total_accelerators,
            system,
            asked.global_batch,
            asked.model.sequence,
            asked.fixed,
            precision=asked.precision,
        ),
        calibration,
    )
    places = diverse(found, asked.candidates)
    layouts: list[Layout] = []
    for index, place in enumerate(places):
        on_progress("laying out configurations", index, len(places))
        layouts += _layouts(asked, system, calibration, found, place)
    return training_job(
        Training(
            asked.model,
            tuple(layouts),
            asked.global_batch,
            asked.model.sequence,
            float(found.times.model_flops[0]) * asked.cluster.total_accelerators,
            calibration.name,
            found.feasible,
            count_parameters(asked.model).total,
            found.memory.capacity_bytes,
        ),
        asked.cluster,
        asked.precision,
    )


def diverse(found: ConfigurationSearch, most: int) -> list[int]:
    """Return the places of the fastest configurations that differ in a degree, at most so many."""
    seen: dict[tuple[int, ...], int] = {}
    for place in range(len(found.table)):
        key = tuple(int(getattr(found.table, name)[place]) for name in DIVERSE)
        seen.setdefault(key, place)
        if len(seen) == most:
            break
    return list(seen.values())


def _layouts(
    asked: TrainingRequest,
    system: System,
    calibration: Calibration,
    found: ConfigurationSearch,
    place: int,
) -> list[Layout]:
    """Return a configuration with its ranks in the usual order, and in another where that places them otherwise."""
    one = found.table.row(place)
    memory_bytes = found.memory.row(place)
    return [
        Layout(
            asdict(one),
            order,
            float(found.times.iteration_time_s[place]),
            {cause: size for cause, size in memory_bytes.items() if cause != "total"},
            make_pipelined_step(asked.model, one, system, calibration, order=order),
        )
        for order in _orders(one, system)
    ]


def _orders(one: Configuration, system: System) -> tuple[str, ...]:
    """Return the orders of ranks that give different servers: one where workers are whole servers."""
    alone = one.tp * one.cp % system.accelerators_per_server == 0
    return (ORDER,) if alone or 1 in (one.pp, one.dp) else (ORDER, OTHER_ORDER)


def _calibration(asked: TrainingRequest) -> Calibration:
    return named_calibration(asked.calibration or None, asked.cluster.accelerator)
