"""One simulation with its progress and its CPU time: of a job, or of several that share a fabric."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from topoopt.cli.progress import Progress
from topoopt.cli.simulation_source import Source

if TYPE_CHECKING:
    from topoopt.routing import Fabric
    from topoopt.simulate import ExpectedError, JobsTogether, Placement, SimResult, SimulationOptions

STEPS = 1000
"""Of the progress bar."""


@dataclass(frozen=True, eq=False)
class Ran:
    """A simulation that has run.

    Attributes
    ----------
    reason : str
        Why the fidelity chooser took this simulator; empty where it was not asked.
    expected_error : ExpectedError, optional
        How far the time may be from that of packets, where that is known.
    together : JobsTogether, optional
        Of several jobs; ``result`` is then of all of them.
    """

    sources: tuple[Source, ...]
    fabric: "Fabric"
    result: "SimResult"
    iterations: int
    cpu_s: float
    reason: str = ""
    expected_error: "ExpectedError | None" = None
    together: "JobsTogether | None" = None

    @property
    def iteration_time_s(self) -> float:
        """Of the job; of several, the first iteration of the slowest."""
        return self.result.iteration_time_s if self.together is None else max(self.together.first_s)


def run_job(
    source: Source,
    fabric: "Fabric",
    simulator: str,
    options: "SimulationOptions",
    iterations: int,
    report: Progress,
) -> Ran:
    """Simulate one job."""
    from topoopt.simulate import AUTO, choose_and_simulate, expected_error, simulate

    warm_up(simulator, report)
    told = _told(simulator, report)
    start = time.process_time()
    error: ExpectedError | None
    if simulator == AUTO:
        choice = choose_and_simulate(source.graph, fabric, options, told)
        result, reason, error = choice.result, choice.reason, choice.expected_error
    else:
        result, reason = simulate(simulator, source.graph, fabric, options, told), ""
        error = expected_error(result) if simulator == "flow" else None
    cpu_s = time.process_time() - start
    return Ran((source,), fabric, result, iterations, cpu_s, reason, error)


def run_jobs(
    sources: Sequence[Source],
    fabric: "Fabric",
    placement: "Placement",
    simulator: str,
    options: "SimulationOptions",
    report: Progress,
) -> Ran:
    """Simulate several jobs at once; the fidelity chooser takes fair shares, since they are there to contend."""
    from topoopt.simulate import AUTO, expected_error, simulate_together

    used = "flow" if simulator == AUTO else simulator
    warm_up(used, report)
    start = time.process_time()
    jobs = [source.graph for source in sources]
    together = simulate_together(used, jobs, fabric, placement, options, _told(used, report))
    cpu_s = time.process_time() - start
    reason = "jobs share a fabric" if simulator == AUTO else ""
    error = expected_error(together.result) if used == "flow" else None
    return Ran(tuple(sources), fabric, together.result, 1, cpu_s, reason, error, together)


def warm_up(simulator: str, report: Progress) -> None:
    """Load the simulator's kernels, or compile them the first time, so that CPU times are of simulation alone."""
    import numpy as np

    from topoopt.finder import FabricRequest, build_fabric
    from topoopt.kernel import on_compilation
    from topoopt.simulate import AUTO, TRANSFER, TaskRows, simulate, task_graph_from_edges

    packets = simulator == "packet"
    engine = "the packet engine" if packets else "the simulator"
    lasts = "half a minute" if packets else "some seconds"
    report(f"loading {engine}", 0, 0)
    nothing = np.zeros(0, np.int64)
    graph = task_graph_from_edges(2, [TaskRows(TRANSFER, 1, src=0, dst=1, size_bytes=1)], nothing, nothing)
    used = "flow" if simulator == AUTO else simulator
    with on_compilation(lambda: report(f"compiling {engine}, once: {lasts}", 0, 0)):
        simulate(used, graph, build_fabric("ideal-switch", FabricRequest(2, 1, 1e9)))


def _told(simulator: str, report: Progress) -> Callable[[float], None]:
    report(f"simulating: {simulator}", 0, 0)
    return lambda share: report(f"simulating: {simulator}", round(share * STEPS), STEPS)
