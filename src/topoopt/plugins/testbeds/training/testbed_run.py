"""A job on several fabrics of a testbed at one scale: each is built, ranks train, kernels count, all is removed."""

import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, replace
from statistics import median
from typing import Any

from topoopt.base.answers import Frame, Progress, fields_of, frame, shows_itself, silent
from topoopt.base.errors import InvalidInput
from topoopt.catalog import ClusterSpec
from topoopt.plugins.testbeds.emulated_fabrics import Emulated
from topoopt.plugins.testbeds.network import CounterReading, PortBytes, Testbed, build, counting, identity
from topoopt.plugins.testbeds.standing_testbeds import check_paths
from topoopt.plugins.testbeds.training.fabric_run import (
    REFERENCE,
    CutLink,
    FabricRun,
    LinkBytes,
    Prediction,
    predict_iteration,
)
from topoopt.plugins.testbeds.training.job import Scale, TestbedJob, scale_for
from topoopt.plugins.testbeds.training.ranks import (
    Iterations,
    Ranks,
    load_scripts,
    need_pytorch,
    one_iteration,
    run_iterations,
)
from topoopt.plugins.testbeds.training.script import Place, ServerScript
from topoopt.plugins.testbeds.training.write_script import write_scripts

REAL_STEPS = 3
"""Steps of the small model before the measurement."""
REAL_LIMIT_S = 60.0
CUT_AFTER = 0.3
"""Fraction of the iteration that is over when the link is cut."""
READINGS = 200
"""Counter readings per iteration."""
NOTICE_S = 0.2
"""Time from a cut until servers forward differently: the failure must be noticed."""


@dataclass(frozen=True, slots=True)
class TrainingSettings:
    """Settings of a training run.

    Attributes
    ----------
    iterations, warm_up : int
        Measured iterations, and those before them.
    simulators : tuple of str
        Simulators whose times are compared with the measured ones.
    counted : bool
        Whether counters of all links are read over time.
    """

    scale: Scale
    iterations: int = 3
    warm_up: int = 1
    simulators: tuple[str, ...] = (REFERENCE,)
    counted: bool = False


@dataclass(frozen=True, eq=False)
class PlannedCut:
    """A link to cut in an iteration, and the plan's repair.

    Attributes
    ----------
    repaired : Emulated
        The fabric after the repair, with its cables.
    """

    src: int
    dst: int
    iteration: int
    repair: str
    repaired: Emulated


@shows_itself
@dataclass(frozen=True, eq=False, repr=False)
class TestbedRun:
    """A job as it ran on fabrics of this machine.

    Attributes
    ----------
    job : str
    servers : int
    link_bandwidth_bps : float
        Bandwidth of one link of the plan, not scaled.
    scale : Scale
    fabrics : tuple of FabricRun
        Runs in the testbed's seconds and bytes; the first one is the reference.
    """

    __test__ = False

    job: str
    servers: int
    link_bandwidth_bps: float
    scale: Scale
    fabrics: tuple[FabricRun, ...]

    def planned_time_s(self, run: FabricRun) -> float:
        """Return the measured time of an iteration in seconds of the plan."""
        return run.iteration_time_s / self.scale.time

    def to_json(self) -> dict[str, Any]:
        """Return all figures; those of fabrics are the testbed's."""
        return {
            **fields_of(self, "job", "servers", "link_bandwidth_bps"),
            "scale": {**asdict(self.scale), "time": self.scale.time},
            "fabrics": [
                {**run.to_json(), "planned_time_s": self.planned_time_s(run)} for run in self.fabrics
            ],
        }

    def to_frame(self) -> Frame:
        """Return a row for each fabric, as pandas has it."""
        rows = []
        for run in self.fabrics:
            figures = dict(run.to_json())
            rows.append(
                {key: value for key, value in figures.items() if isinstance(value, int | float | str)}
            )
        return frame(rows)


def testbed_scale(
    job: TestbedJob, fabric: Emulated, cluster: ClusterSpec, slower: float, wanted_s: float
) -> Scale:
    """Return the scale at which links are so much slower, and an iteration on a fabric takes so long.

    Parameters
    ----------
    slower : float
        Bandwidth of the plan's links over that of the testbed's.
    wanted_s : float
        Seconds of an iteration by the simulator that is compared with.
    """
    alone_s = predict_iteration(job.graph, fabric.fabric, Scale(1.0, 1.0)).iteration_time_s
    bandwidth_bps = cluster.link_bandwidth_bps
    return scale_for(alone_s, bandwidth_bps, bandwidth_bps / slower, wanted_s)


def train_on_fabrics(
    job: TestbedJob,
    fabrics: Sequence[Emulated],
    cluster: ClusterSpec,
    name: str,
    settings: TrainingSettings,
    cut: PlannedCut | None = None,
    on_progress: Progress = silent,
) -> TestbedRun:
    """Train on each fabric in turn.

    Parameters
    ----------
    name : str
        Prefix of the testbeds' names.
    cut : PlannedCut, optional
        Cut of a link of the plan's own fabric; the other fabrics have none.

    Raises
    ------
    InvalidInput
        If this machine cannot have a testbed, PyTorch is missing, or a cut is of no fabric that is run.
    Infeasible
        If the job cannot be run so, or a process fails.
    """
    need_pytorch()
    if cut is not None and not any(fabric.wiring is not None for fabric in fabrics):
        raise InvalidInput("cut: only links of topoopt can be cut; name it among fabrics")
    runs = []
    for number, fabric in enumerate(fabrics):
        its_cut = cut if fabric.wiring is not None else None
        its_settings = replace(settings, counted=settings.counted and number == 0)
        runs.append(train_on_fabric(job, fabric, f"{name}-{number}", its_settings, its_cut, on_progress))
    return TestbedRun(job.name, cluster.servers, cluster.link_bandwidth_bps, settings.scale, tuple(runs))


def train_on_fabric(
    job: TestbedJob,
    fabric: Emulated,
    name: str,
    settings: TrainingSettings,
    cut: PlannedCut | None = None,
    on_progress: Progress = silent,
) -> FabricRun:
    """Build a fabric, train on it, and remove it.

    Parameters
    ----------
    name : str
        Unique name of the testbed.
    cut : PlannedCut, optional
        Cut of a link during training.

    Raises
    ------
    InvalidInput
        If this machine cannot have a testbed, or the cut is of an iteration that is not run.
    Infeasible
        If the job cannot be run so, or a process fails.
    """
    if cut is not None and not 0 < cut.iteration < settings.iterations - 1:
        raise InvalidInput(
            f"cut: iteration {cut.iteration} must have one before and one after it among 0..{settings.iterations - 1}"
        )
    scale = settings.scale
    on_progress(f"{fabric.name}: simulating", 0, 0)
    prediction = predict_iteration(job.graph, fabric.fabric, scale, settings.simulators)
    scripts = write_scripts(job.graph, fabric.fabric, scale, prediction.ready_s)
    on_progress(f"{fabric.name}: building {fabric.layout.servers} servers", 0, 0)
    began_s = time.monotonic()
    with build(fabric.layout, name, scale.bandwidth) as testbed:
        check_paths(testbed, fabric)
        built_s = time.monotonic()
        on_progress(f"{fabric.name}: starting PyTorch on {fabric.layout.servers} servers", 0, 0)
        with Ranks(places_of(testbed)) as ranks:
            start_s = time.monotonic()
            error = _train_for_real(ranks, job, fabric)
            on_progress(f"{fabric.name}: training", 0, settings.iterations)
            before: list[tuple[PortBytes, ...]] = []
            readings: tuple[CounterReading, ...] = ()
            if cut is None:
                iterations, readings = _measure(ranks, testbed, scripts, prediction, settings, before)
                done = None
                counted = testbed.counters()
            else:
                iterations, done, counted = _with_a_cut(
                    ranks, testbed, job, fabric, settings, prediction, cut, before
                )
                error = max(error, _train_for_real(ranks, job, cut.repaired))
    measured = settings.iterations if cut is None else cut.iteration
    links, dropped = _links(before[0], counted, prediction.link_bytes, measured)
    return FabricRun(
        fabric.name,
        fabric.server_bandwidth_bps / scale.bandwidth,
        fabric.layout.forwarding,
        prediction,
        iterations,
        links,
        dropped,
        error,
        built_s - began_s,
        start_s - built_s,
        done,
        readings,
    )


def _measure(
    ranks: Ranks,
    testbed: Testbed,
    scripts: Sequence[ServerScript],
    prediction: Prediction,
    settings: TrainingSettings,
    before: list[tuple[PortBytes, ...]],
) -> tuple[Iterations, tuple[CounterReading, ...]]:
    """Run the iterations; read counters before the measured ones and, if requested, while they run."""
    expected_s, readings = prediction.iteration_time_s, list[CounterReading]()
    with ExitStack() as stack:

        def begin() -> None:
            nonlocal readings
            before.append(testbed.counters())
            if settings.counted:
                readings = stack.enter_context(counting(testbed, expected_s / READINGS))

        iterations = run_iterations(
            ranks, scripts, expected_s, settings.iterations, settings.warm_up, between=begin
        )
    return iterations, tuple(readings)


def places_of(testbed: Testbed) -> list[Place]:
    """Return the places of the ranks: one in the namespace of each server, at its identity."""
    servers = range(testbed.layout.servers)
    return [Place(identity(server), str(testbed.namespace_file(server))) for server in servers]


def _train_for_real(ranks: Ranks, job: TestbedJob, fabric: Emulated) -> float:
    """Train the small model along the fabric's rings, and return the largest relative error of a gradient."""
    members = tuple(range(fabric.layout.servers))
    rings = tuple(ring.members for ring in fabric.fabric.rings.get(members, ())) or (members,)
    checks = ranks.run(
        "train", REAL_LIMIT_S, model=job.model, rings=rings, steps=REAL_STEPS, placement=job.placement
    )
    return float(max(check.gradient_error for check in checks))


def _with_a_cut(
    ranks: Ranks,
    testbed: Testbed,
    job: TestbedJob,
    fabric: Emulated,
    settings: TrainingSettings,
    prediction: Prediction,
    cut: PlannedCut,
    before: list[tuple[PortBytes, ...]],
) -> tuple[Iterations, CutLink, tuple[PortBytes, ...]]:
    """Train, cut a link in the middle of an iteration, repair, and continue with the rings of the repaired fabric."""
    scripts = write_scripts(job.graph, fabric.fabric, settings.scale, prediction.ready_s)
    head = run_iterations(
        ranks,
        scripts,
        prediction.iteration_time_s,
        cut.iteration,
        settings.warm_up,
        between=lambda: before.append(testbed.counters()),
    )
    counted = testbed.counters()

    def break_and_repair(begin_s: float) -> None:
        at_s = begin_s + CUT_AFTER * prediction.iteration_time_s
        time.sleep(max(0.0, at_s - time.monotonic()))
        testbed.cut(cut.src, cut.dst)
        time.sleep(NOTICE_S)
        testbed.reroute(cut.repaired.layout)
        check_paths(testbed, cut.repaired)

    during_s = one_iteration(ranks, prediction.iteration_time_s, break_and_repair)
    later = predict_iteration(job.graph, cut.repaired.fabric, settings.scale)
    load_scripts(ranks, write_scripts(job.graph, cut.repaired.fabric, settings.scale, later.ready_s))
    left = settings.iterations - cut.iteration - 1
    tail_s = [one_iteration(ranks, later.iteration_time_s) for _ in range(left)]
    whole = replace(head, measured_s=(*head.measured_s, during_s, *tail_s))
    done = CutLink(
        cut.src,
        cut.dst,
        cut.iteration,
        cut.repair,
        head.median_s,
        during_s,
        median(tail_s),
        later.iteration_time_s,
    )
    return whole, done, counted


def _links(
    before: Sequence[PortBytes],
    after: Sequence[PortBytes],
    predicted: Mapping[tuple[int, int], float],
    iterations: int,
) -> tuple[tuple[LinkBytes, ...], int]:
    """Return the bytes of each link per iteration, parallel ones together, and the number of dropped packets."""
    sent: dict[tuple[int, int], float] = {}
    dropped = 0
    for old, new in zip(before, after, strict=True):
        assert (old.src, old.name) == (new.src, new.name), "no port came or went while they counted"
        ends = (new.src, new.dst)
        sent[ends] = sent.get(ends, 0.0) + (new.sent_bytes - old.sent_bytes) / iterations
        dropped += new.dropped_packets - old.dropped_packets
    return tuple(LinkBytes(*ends, sent[ends], predicted.get(ends, 0.0)) for ends in sorted(sent)), dropped
