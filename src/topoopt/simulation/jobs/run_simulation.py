"""One simulation with its progress and its CPU time: of a job, or of several that share a fabric."""

import time
from collections.abc import Callable, Sequence

import numpy as np

from topoopt.base.answers import Progress
from topoopt.base.kernel import on_compilation
from topoopt.base.limits import peak_bytes
from topoopt.finder import FabricRequest, build_fabric
from topoopt.routing import Fabric
from topoopt.simulation.jobs.merged_jobs import Placement
from topoopt.simulation.jobs.simulated_job import SimulatedJob
from topoopt.simulation.jobs.slowdown import simulate_together
from topoopt.simulation.options import SimulationOptions
from topoopt.simulation.simulation import Simulation
from topoopt.simulation.simulators import AUTO, ExpectedError, choose_and_simulate, expected_error, simulate
from topoopt.simulation.task_graph import TRANSFER, TaskRows, task_graph_from_edges

STEPS = 1000
"""Resolution of the progress bar."""


def simulate_job(
    job: SimulatedJob,
    fabric: Fabric,
    simulator: str,
    options: SimulationOptions,
    iterations: int,
    on_progress: Progress,
) -> Simulation:
    """Simulate one job."""
    warm_up(simulator, on_progress)
    report = _share_of(simulator, on_progress)
    start = time.process_time()
    error: ExpectedError | None
    if simulator == AUTO:
        choice = choose_and_simulate(job.graph, fabric, options, report)
        result, reason, error = choice.result, choice.reason, choice.expected_error
    else:
        result, reason = simulate(simulator, job.graph, fabric, options, report), ""
        error = expected_error(result) if simulator == "flow" else None
    cpu_s = time.process_time() - start
    return Simulation((job,), fabric, result, iterations, cpu_s, peak_bytes(), reason, error)


def simulate_jobs(
    jobs: Sequence[SimulatedJob],
    fabric: Fabric,
    placement: Placement,
    simulator: str,
    options: SimulationOptions,
    on_progress: Progress,
    iterations: int | None = None,
    begin_s: Sequence[float] = (),
) -> Simulation:
    """Simulate several jobs at once; the fidelity chooser takes fair shares, since they are there to contend."""
    used = "flow" if simulator == AUTO else simulator
    warm_up(used, on_progress)
    start = time.process_time()
    graphs = [job.graph for job in jobs]
    report = _share_of(used, on_progress)
    together = simulate_together(used, graphs, fabric, placement, options, report, iterations, begin_s)
    cpu_s = time.process_time() - start
    reason = "jobs share a fabric" if simulator == AUTO else ""
    fair = options.aggressiveness is None  # how far packets are from other shares was not measured
    error = expected_error(together.result) if used == "flow" and fair else None
    return Simulation(tuple(jobs), fabric, together.result, 1, cpu_s, peak_bytes(), reason, error, together)


def warm_up(simulator: str, on_progress: Progress) -> None:
    """Load the simulator's kernels, or compile them the first time, so that CPU times are of simulation alone."""
    packets = simulator == "packet"
    engine = "the packet engine" if packets else "the simulator"
    lasts = "half a minute" if packets else "some seconds"
    on_progress(f"loading {engine}", 0, 0)
    nothing = np.zeros(0, np.int64)
    graph = task_graph_from_edges(2, [TaskRows(TRANSFER, 1, src=0, dst=1, size_bytes=1)], nothing, nothing)
    used = "flow" if simulator == AUTO else simulator
    with on_compilation(lambda: on_progress(f"compiling {engine}, once: {lasts}", 0, 0)):
        simulate(used, graph, build_fabric("ideal-switch", FabricRequest(2, 1, 1e9)))


def _share_of(simulator: str, on_progress: Progress) -> Callable[[float], None]:
    on_progress(f"simulating: {simulator}", 0, 0)
    return lambda share: on_progress(f"simulating: {simulator}", round(share * STEPS), STEPS)
