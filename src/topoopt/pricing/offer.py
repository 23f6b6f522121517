"""Offer for each fabric: its bill, its realization, and its cost over years."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from topoopt.base.answers import fields_of
from topoopt.base.errors import InvalidInput
from topoopt.catalog import NETWORKS, OWN, ClusterSpec, Table, check_networks, compare
from topoopt.pricing.bill import Bill, bill_of_materials
from topoopt.pricing.fabric_options import Accounting, FabricOptions
from topoopt.pricing.fabric_price import check_fits_a_panel, realize
from topoopt.pricing.feasibility import Realization
from topoopt.pricing.ownership import (
    Iteration,
    Ownership,
    OwnershipTerms,
    beside,
    in_samples,
    network_price,
    ownership,
)
from topoopt.pricing.part_counts import Cabling, ports_needed
from topoopt.pricing.price_lists import BASIC_ITEMS, PartTable
from topoopt.pricing.pricing import cheaper_share, price_range_usd


@dataclass(frozen=True, slots=True)
class PricedNetwork:
    """The servers that are joined, and the wiring that forwarding is measured on.

    Attributes
    ----------
    average_hops : float
        Links of a route over that wiring; infinite where there are no routes.
    wiring : str
        Description of the wiring.
    interfaces_per_device : int or None
        Interfaces per server that the wiring needs on one panel or switch; None where no wiring is given.
    largest_pair_bytes : float or None
        Most bytes that one server transfers to another in an iteration; None where no job is given.
    iterations : mapping
        Iteration of the job by fabric with these ports, where known.
    assumed : tuple of str
        Words of the network that were not given and have their default.
    """

    cluster: ClusterSpec
    average_hops: float
    wiring: str
    interfaces_per_device: int | None = None
    largest_pair_bytes: float | None = None
    iterations: Mapping[str, Iteration] = field(default_factory=dict)
    assumed: tuple[str, ...] = ()

    @property
    def size(self) -> tuple[int, int, float]:
        """Servers, degree and bits per second of a link."""
        return self.cluster.servers, self.cluster.degree, self.cluster.link_bandwidth_bps


@dataclass(frozen=True, slots=True)
class Purchase:
    """Purchase of a fabric: accounting, price tables and options.

    Attributes
    ----------
    shards : int
        Parts of the cluster with optical devices of their own.
    technology : str or None
        Optical technology in place of the default one.
    terms : OwnershipTerms or None
        Terms of the cost of ownership; None where only the network is priced.
    """

    accounting: Accounting
    prices: PartTable
    power: PartTable
    options: FabricOptions
    shards: int = 1
    technology: str | None = None
    terms: OwnershipTerms | None = None

    def device_ports(self, network: PricedNetwork) -> int:
        """Return the duplex ports that one optical device needs for the wiring."""
        servers = network.cluster.servers
        cabling = Cabling(
            network.cluster.links, self.shards, interfaces_per_device=network.interfaces_per_device
        )
        return ports_needed(servers, self.shards, cabling.sharing(servers))


@dataclass(frozen=True, slots=True)
class Offer:
    """A fabric with its bill, its realization and, on request, its cost of ownership."""

    bill: Bill
    realization: Realization
    ownership: Ownership | None = None

    def to_json(self, own: Bill | None) -> dict[str, Any]:
        """Return the offer as a mapping, with its price over that of topoopt, and how often it is the lower one."""
        bill, owned = self.bill, self.ownership
        low_usd, high_usd = price_range_usd(bill)
        return {
            **fields_of(bill, "fabric", "cost_usd", "cost_per_server_usd"),
            "cost_low_usd": low_usd,
            "cost_high_usd": high_usd,
            "over_topoopt": None if own is None else over(bill.cost_usd, own.cost_usd),
            "cheaper_share": None if own is None or own == bill else cheaper_share(bill, own),
            "known_usd": bill.known_usd,
            "price_missing": list(bill.price_missing),
            **fields_of(bill, "spare_ports", "fiber_length_m", "power_w", "known_power_w"),
            "power_missing": list(bill.power_missing),
            "accounting": bill.accounting.name,
            "bill": [asdict(line) for line in bill.lines],
            "note": bill.note,
            "realization": self.realization.to_json(),
            **({} if owned is None else {"ownership": asdict(owned)}),
        }


def over(usd: float | None, own_usd: float | None) -> float | None:
    """Return a price relative to another one, None where one of them is unknown."""
    return None if usd is None or not own_usd else usd / own_usd


def make_offers(
    network: PricedNetwork, purchase: Purchase, fabrics: Iterable[str] | None = None
) -> Table[Offer]:
    """Return an offer for each fabric; fabrics are skipped only if ``fabrics`` is None, which means all.

    Raises
    ------
    InvalidInput
        For an unknown name, or if no bill can be added up: a bill that leaves a part open is one beside others only.
    Infeasible
        If the optical devices of a fabric are too small.
    """
    names = NETWORKS.that(lambda one: one.closed_form) if fabrics is None else _known(fabrics)
    for item in BASIC_ITEMS:
        if purchase.prices.rows_behind(item, 0.0):  # a list of one's own need not have every part
            purchase.prices.price_usd(item, network.cluster.link_bandwidth_bps)
    for name in names:
        check_fits_a_panel(name, network.cluster.servers, purchase.shards, network.cluster.links)
    offers, skipped = compare(
        names, lambda name: make_offer(name, network, purchase), required=fabrics is not None
    )
    if not offers:
        raise InvalidInput(skipped[0][1])
    open_lines = [line for offer in offers for line in offer.bill.lines if line.unit_usd is None]
    if all(offer.bill.cost_usd is None for offer in offers):
        raise InvalidInput(purchase.prices.why_unknown(open_lines[0].part))
    return Table(tuple(_beside_own(offers, network)), skipped)


def make_offer(fabric: str, network: PricedNetwork, purchase: Purchase) -> Offer:
    """Return the offer of one fabric."""
    rule = purchase.accounting
    options = replace(purchase.options, technology=purchase.technology)
    bill = bill_of_materials(fabric, *network.size, purchase.prices, rule, options, purchase.power)
    built = realize(
        fabric,
        *network.size,
        Cabling(
            network.cluster.links,
            purchase.shards,
            purchase.technology,
            rule.look_ahead,
            network.interfaces_per_device if NETWORKS[fabric].carried_as == OWN else None,
        ),
        tiers=rule.tiers,
        options=options,
        planes=bill.planes,
    )
    return Offer(bill, built, _owned(bill, network, purchase.terms))


def _owned(bill: Bill, network: PricedNetwork, terms: OwnershipTerms | None) -> Ownership | None:
    """Return the cost of ownership; a run given in hours is that on topoopt."""
    if terms is None:
        return None
    own = network.iterations.get(OWN)
    if own is not None:
        terms = replace(terms, run=in_samples(terms.run, own))
    return ownership(terms, bill.servers, network_price(bill), network.iterations.get(bill.fabric))


def _beside_own(offers: Iterable[Offer], network: PricedNetwork) -> Iterator[Offer]:
    """Yield the offers, with savings and losses against topoopt where the iterations of both are known."""
    offers = tuple(offers)
    own = next((offer.ownership for offer in offers if offer.bill.fabric == OWN), None)
    for offer in offers:
        one, two = network.iterations.get(OWN), network.iterations.get(offer.bill.fabric)
        if offer.bill.fabric == OWN or not (own and offer.ownership and one and two):
            yield offer
        else:
            yield replace(offer, ownership=beside(own, one.time_s, offer.ownership, two.time_s))


def _known(fabrics: Iterable[str]) -> tuple[str, ...]:
    names = tuple(fabrics)
    check_networks("fabrics", names, "cost")
    if not names:
        raise InvalidInput("fabrics: none leaves nothing to price; name one or more")
    return names
