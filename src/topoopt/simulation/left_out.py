"""The noun LeftOut: what a simulation of fewer micro-batches leaves out of an iteration."""

from dataclasses import dataclass

from topoopt.simulation.task_graph import TaskGraph


@dataclass(frozen=True, eq=False, slots=True)
class LeftOut:
    """Rounds of micro-batches that repeat those that were simulated.

    Attributes
    ----------
    micro_batches : int
        Of each replica, that were not simulated.
    rounds : float
        As many times the difference between the graph that was simulated and ``shorter``.
    shorter : TaskGraph
        The graph of a round less.
    iteration_s, compute_s, busy_s : float
        What they add to the iteration, to that with free communication, and to the work of the busiest device.
    drift : float
        Share by which the last two rounds that were simulated differ; 0 but for rounding where a pipeline is in step.
    """

    micro_batches: int
    rounds: float
    shorter: TaskGraph
    iteration_s: float
    compute_s: float
    busy_s: float
    drift: float
