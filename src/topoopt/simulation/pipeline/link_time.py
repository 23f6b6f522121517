"""How long communications take that begin at once, each alone on its links or behind others on them."""

from dataclasses import dataclass

import numpy as np

from topoopt.base.arrays import Floats, Ints
from topoopt.routing import Fabric
from topoopt.simulation.csr import entries_of
from topoopt.simulation.flows import Flows, make_flows
from topoopt.simulation.options import SimulationOptions
from topoopt.simulation.task_graph import TaskGraph


@dataclass(frozen=True, eq=False)
class LinkTime:
    """The communications of a task graph on the links of a fabric; dependencies are not looked at."""

    flows: Flows
    capacity_bytes_per_s: Floats

    def together(self, tasks: Ints) -> Floats:
        """Return the seconds of each task if all begin at once, shape (tasks,); what goes before them is left out.

        A task ends when the busiest of its links has carried the bytes of all of them.
        """
        flow, owner, entry, row = self._entries(tasks)
        busy_s = self._busy_s(flow, entry, row)
        link = self.flows.class_link[entry]
        fixed_s = self.flows.before_s[flow] + self.flows.after_s[flow]
        end_s = np.zeros(len(flow))
        np.maximum.at(end_s, row, busy_s[link])
        taken_s = np.zeros(len(tasks))
        np.maximum.at(taken_s, owner, end_s + fixed_s)
        return taken_s

    def busy_s(self, tasks: Ints) -> Floats:
        """Return for how long the tasks keep each link busy, shape (links,)."""
        flow, _, entry, row = self._entries(tasks)
        return self._busy_s(flow, entry, row)

    def fixed_s(self, tasks: Ints) -> float:
        """Return the longest part of a task that keeps no link busy: latencies, and barriers between rounds."""
        flow = self._entries(tasks)[0]
        return float((self.flows.before_s[flow] + self.flows.after_s[flow]).max(initial=0.0))

    def _entries(self, tasks: Ints) -> tuple[Ints, Ints, Ints, Ints]:
        """Return the tasks' flows, the place of each flow's task, and the entries of each flow's class with its row."""
        flow, owner = entries_of(self.flows.task_flow, tasks)
        entry, row = entries_of(self.flows.class_first, self.flows.flow_class[flow])
        return flow, owner, entry, row

    def _busy_s(self, flow: Ints, entry: Ints, row: Ints) -> Floats:
        link = self.flows.class_link[entry]
        carried = self.flows.occupied_bytes[flow][row] * self.flows.class_coefficient[entry]
        links = len(self.capacity_bytes_per_s)
        return np.bincount(link, carried, minlength=links) / self.capacity_bytes_per_s


def link_time(graph: TaskGraph, fabric: Fabric, options: SimulationOptions) -> LinkTime:
    """Return the communications of a graph on a fabric.

    Raises
    ------
    NoRoute, InvalidInput
        If a pair cannot be reached or a ring uses a link that is not there.
    """
    flows = make_flows(graph, fabric, options)
    return LinkTime(flows, fabric.topology.bandwidth_bps / 8.0)
