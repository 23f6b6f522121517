"""Accounts: what the connections between two servers hand on, and what MLTCP is told of an iteration."""

import numpy as np

from topoopt.base.arrays import Floats, Ints
from topoopt.simulation.csr import entries_between
from topoopt.simulation.first_come import compute_finish_s
from topoopt.simulation.packet.edges import Edges
from topoopt.simulation.packet.kernel import layout
from topoopt.simulation.packet.link_rows import PS
from topoopt.simulation.packet.options import PacketOptions
from topoopt.simulation.packet.streams import Streams
from topoopt.simulation.packet.transports import TRANSPORTS
from topoopt.simulation.task_graph import COMPUTE, TaskGraph


def make_accounts(graph: TaskGraph, streams: Streams, edges: Edges, options: PacketOptions) -> Floats:
    """Return an account for each pair, shape (pairs, ``KEPT_FIELDS``), or none where nothing is kept."""
    pairs = len(edges.src) if options.kept else 0
    rows = np.zeros((pairs, layout.KEPT_FIELDS))
    rows[:, layout.Account.HEARD_AT] = -1.0
    counter = np.arange(pairs)
    if options.weights is None or not len(streams.task):
        return rows
    edge, of_edge = entries_between(streams.edge_first, streams.edge_first + streams.edges)
    pair, task = edges.row[edge], streams.task[of_edge]
    if options.progress_of == "job":
        job, first = np.zeros(pairs, np.int64), np.full(int(graph.job.max()) + 1, pairs)
        job[pair] = graph.job[task]
        np.minimum.at(first, job[pair], pair)
        counter = first[job]
    rows[:, layout.Account.COUNTER] = layout.ACCOUNTS + layout.KEPT_FIELDS * counter
    if options.totals == "given":
        packets = (streams.packets * streams.rounds)[of_edge]
        rows[:, layout.Account.TOTAL] = _packets_an_iteration(graph, task, counter[pair], packets, pairs)
        silence_s = _silence_s(graph, task, counter[pair], pairs)
        gap_ps = silence_s * TRANSPORTS[options.transport].gap_share * PS
        rows[:, layout.Account.GAP] = np.where(silence_s > 0, gap_ps, layout.NEVER)  # else nothing would tell
    return rows


def _packets_an_iteration(
    graph: TaskGraph, task: Ints, counter: Ints, packets: Ints, counters: int
) -> Floats:
    """Return what each counter's connections send in an iteration of their job, shape (counters,)."""
    iterations = np.zeros(int(graph.job.max()) + 1, np.int64)
    np.maximum.at(iterations, graph.job, graph.iteration + 1)
    total: Floats = np.bincount(counter, packets / iterations[graph.job[task]], minlength=counters).astype(
        np.float64
    )
    return total


def _silence_s(graph: TaskGraph, task: Ints, counter: Ints, counters: int) -> Floats:
    """Return how long each counter would be silent at most in the last iteration, if what it sends took no time.

    The iteration is a circle: what lies behind the last time at which something is ready to be sent goes on before
    the first. So it is the computing time of a job that computes and then sends.
    """
    finish_s = compute_finish_s(graph)
    start_s = finish_s - np.where(graph.kind == COMPUTE, graph.duration_s, 0.0)
    last = np.zeros(int(graph.job.max()) + 1, np.int64)
    np.maximum.at(last, graph.job, graph.iteration)
    in_last = graph.iteration == last[graph.job]
    begins_s, ends_s = np.full(len(last), np.inf), np.zeros(len(last))
    np.minimum.at(begins_s, graph.job[in_last], start_s[in_last])
    np.maximum.at(ends_s, graph.job[in_last], finish_s[in_last])
    silence_s = np.zeros(counters)
    here = in_last[task]
    ready = np.stack([counter[here].astype(np.float64), finish_s[task[here]], graph.job[task[here]]], axis=1)
    ready = ready[np.lexsort((ready[:, 1], ready[:, 0]))]
    for rows in np.split(ready, np.flatnonzero(np.diff(ready[:, 0])) + 1):
        number, job = int(rows[0, 0]), int(rows[0, 2])
        around_s = rows[0, 1] - rows[-1, 1] + ends_s[job] - begins_s[job]
        silence_s[number] = max(around_s, np.diff(rows[:, 1]).max(initial=0.0))
    return silence_s
