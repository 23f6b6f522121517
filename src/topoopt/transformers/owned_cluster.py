"""The noun OwnedCluster: what the machines of a training cost an hour, for times in closed form."""

from dataclasses import dataclass

from topoopt.base.errors import TopoOptError
from topoopt.base.units import format_bandwidth
from topoopt.pricing import (
    Iteration,
    NetworkPrice,
    Ownership,
    OwnershipTerms,
    Pricing,
    in_samples,
    network_bill,
    network_price,
    ownership,
)
from topoopt.transformers.system import System

FABRIC = "rail"
"""Closed forms know a bandwidth and no network; on switches, a leaf for each accelerator of a server, it is had."""


@dataclass(frozen=True, slots=True)
class OwnedCluster:
    """Servers and a network that gives every accelerator its bandwidth; make it with :func:`owned_cluster`.

    Attributes
    ----------
    words : str
        What the network is.
    """

    terms: OwnershipTerms
    servers: int
    network: NetworkPrice
    words: str

    def training(self, time_s: float, sequences: int, sequence: int) -> Ownership:
        """Return what training costs at iterations of so many seconds, sequences, and tokens of each."""
        one = Iteration(time_s, sequences, sequences * sequence)
        terms = self.terms
        run = in_samples(terms.run, one)
        return ownership(OwnershipTerms(terms.running, terms.server, run), self.servers, self.network, one)


def owned_cluster(system: System, accelerators: int, terms: OwnershipTerms, prices: Pricing) -> OwnedCluster:
    """Return the cluster of so many accelerators, its network priced as rails; one server needs none."""
    per_server = min(system.accelerators_per_server, accelerators)
    servers = -(-accelerators // per_server)
    if servers == 1:
        return OwnedCluster(terms, 1, NetworkPrice(0.0, 0.0), "none: one server")
    speed_bps = system.network_bandwidth_bps
    words = f"rails, {per_server} x {format_bandwidth(speed_bps)} a server"
    try:
        bill = network_bill(FABRIC, servers, per_server, speed_bps, prices)
    except TopoOptError as error:
        return OwnedCluster(terms, servers, NetworkPrice(None, None, (str(error),)), words)
    return OwnedCluster(terms, servers, network_price(bill), f"{words}, prices of {bill.prices}")
