"""The schedulers, by name."""

from collections.abc import Mapping
from types import MappingProxyType

from topoopt.clusters.schedulers.in_order import at_once, in_order
from topoopt.clusters.schedulers.pollux import pollux
from topoopt.clusters.schedulers.scheduler import Scheduler
from topoopt.clusters.schedulers.themis import themis

SCHEDULERS: Mapping[str, Scheduler] = MappingProxyType(
    {
        "themis": Scheduler("finish-time fairness by partial auctions", themis, leases=True),
        "pollux": Scheduler("goodput: throughput times statistical efficiency", pollux, leases=True),
        "proximity": Scheduler("in order of arrival, workers near to each other", in_order),
        "random": Scheduler("in order of arrival, workers anywhere", in_order, near=False),
        "ideal": Scheduler("a cluster of its own for every job", at_once, dedicated=True),
    }
)
"""``themis`` and ``pollux`` resize elastic jobs; with the others every job has the workers that it asks for."""
