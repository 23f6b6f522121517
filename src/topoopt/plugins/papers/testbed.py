"""Figures 18 to 21: the paper's testbed, measured in network namespaces of this machine; nothing of it is computed."""

import secrets
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from topoopt.base.answers import Progress, fields_of
from topoopt.pages import Series
from topoopt.plugins.papers.figure import Comparison, Figure, Row, StudySettings, description
from topoopt.plugins.testbeds import (
    MEASURED_BESIDE,
    PAPER_CLUSTER,
    REFERENCE,
    TestbedRun,
    TrainingSettings,
    capable_scale,
    emulated,
    job_of_plan,
    paper_fabric,
    paper_plan,
    plan_on_links,
    testbed_scale,
    train_on_fabrics,
)

TEXT = description("testbed")
JOBS = {"candle": "CANDLE", "transformer": "BERT", "dlrm": "DLRM", "vgg": "VGG", "resnet": "ResNet50"}
FABRICS = {"topoopt": "TopoOpt 4 × 25 Gb/s", "ideal-switch": "Switch 100 Gb/s", "switch": "Switch 25 Gb/s"}
FORWARDING = ("dlrm",)
"""Jobs whose transfers pass through servers, for which the paper gives no number at this batch."""


@dataclass(frozen=True, slots=True)
class TestbedGrid:
    """Settings of the measurement.

    Attributes
    ----------
    slower : float
        Divisor of the links' bandwidth.
    wanted_s : float
        Target duration of an iteration on TopoOpt's links.
    """

    __test__ = False

    jobs: tuple[str, ...] = tuple(JOBS)
    simulators: tuple[str, ...] = MEASURED_BESIDE
    iterations: int = 5
    slower: float = 1000.0
    wanted_s: float = 3.0


def testbed(settings: StudySettings, on_progress: Progress) -> Figure:
    """Return the jobs of the testbed on three fabrics, measured.

    Raises
    ------
    InvalidInput
        If this machine cannot have a testbed: not Linux, no root, no PyTorch.
    """
    return measured_on(TestbedGrid(iterations=2 if settings.quick else 5), settings, on_progress)


def measured_on(grid: TestbedGrid, settings: StudySettings, on_progress: Progress) -> Figure:
    """Return the figure of some jobs."""
    capable_scale(plan_on_links(PAPER_CLUSTER, paper_fabric()).layout, grid.slower, given=True)
    runs = {}
    for number, name in enumerate(grid.jobs):
        on_progress(f"testbed: {JOBS[name]}", number, len(grid.jobs))
        runs[name] = _measured(name, grid)
    return figure_of(runs)


def figure_of(runs: dict[str, TestbedRun]) -> Figure:
    """Return the figure of the measured jobs."""
    rows = [row for name, run in runs.items() for row in _rows(name, run)]
    far = [abs(row[f"over_{REFERENCE}"]) for row in rows]
    return TEXT.figure(
        rows,
        [comparison for name in runs for comparison in _compared(name, rows)],
        [TEXT.chart("time", rows), TEXT.chart("simulated", (), *_simulated(rows))],
        farthest=max(far),
        bytes=max(abs(row["largest_link_excess"]) for row in rows),
        gradient=max(row["gradient_error"] for row in rows),
        scale=next(iter(runs.values())).scale.bandwidth,
    )


def _measured(name: str, grid: TestbedGrid) -> TestbedRun:
    plan = paper_plan(name)
    cluster, job = plan.job.cluster, job_of_plan(plan)
    own = plan_on_links(cluster, plan.fabric)
    fabrics = [own if fabric == "topoopt" else emulated(fabric, cluster, plan.fabric) for fabric in FABRICS]
    scale = testbed_scale(job, own, cluster, grid.slower, grid.wanted_s)
    settings = TrainingSettings(scale, grid.iterations, simulators=grid.simulators)
    return train_on_fabrics(job, fabrics, cluster, f"figure-{secrets.token_hex(4)}", settings)


def _rows(name: str, run: TestbedRun) -> Iterator[Row]:
    """Yield a row for each fabric; times are those of the plan, the testbed's over its scale."""
    for item in run.fabrics:
        predicted = item.prediction.iteration_times_s
        yield {
            "job": JOBS[name],
            "fabric": FABRICS[item.fabric],
            "server_bandwidth_bps": item.server_bandwidth_bps * run.scale.bandwidth,
            "iteration_time_s": run.planned_time_s(item),
            **{f"{simulator}_time_s": time_s / run.scale.time for simulator, time_s in predicted.items()},
            f"over_{REFERENCE}": item.excess,
            "time_scale": run.scale.time,
            **fields_of(item, "largest_link_excess", "gradient_error", "dropped_packets"),
            "cpu_s": item.iterations.cpu_s,
        }


def _compared(name: str, rows: Sequence[Row]) -> Iterator[Comparison]:
    time_s = {row["fabric"]: row["iteration_time_s"] for row in rows if row["job"] == JOBS[name]}
    own, all_ports, one_port = (time_s[fabric] for fabric in FABRICS.values())
    case = "forwarding" if name in FORWARDING else "rings"
    yield TEXT.comparison("same", all_ports / own, case, job=JOBS[name])
    yield TEXT.comparison("faster", one_port / own, job=JOBS[name])


def _simulated(rows: Sequence[Row]) -> Iterator[Series]:
    for fabric in FABRICS.values():
        mine = [row for row in rows if row["fabric"] == fabric]
        yield Series(
            fabric, tuple(row["job"] for row in mine), tuple(1 + row[f"over_{REFERENCE}"] for row in mine)
        )
