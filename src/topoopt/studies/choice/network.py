"""The grid of networks that one may buy, by degree, bandwidth, fabric and link technology, and the cost of each."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from math import prod
from typing import Any

from topoopt.base.answers import fields_of
from topoopt.base.errors import Infeasible, InvalidInput, TopoOptError, refuse_repeated
from topoopt.base.units import format_bandwidth
from topoopt.catalog import MOST_INTERFACES, NETWORKS, check_networks, compared_by, networks_of
from topoopt.pricing import (
    Iteration,
    NetworkPrice,
    Ownership,
    OwnershipTerms,
    Pricing,
    network_bill,
    network_price,
    ownership,
)

USUAL_LINKS = "pluggable"
"""Link technology where names have none."""


@dataclass(frozen=True, slots=True, order=True)
class Network:
    """One point of the grid.

    Attributes
    ----------
    fabric : str
        A name of ``topoopt.catalog.networks_of("choose")``.
    degree : int
        Ports of a server.
    bandwidth_bps : float
        Bandwidth per port.
    """

    fabric: str
    degree: int
    bandwidth_bps: float
    links: str = USUAL_LINKS

    @property
    def server_bandwidth_bps(self) -> float:
        """Total bandwidth of the ports of a server, per direction: d·B."""
        return self.degree * self.bandwidth_bps

    @property
    def timed(self) -> "Network":
        """Return the network without circuit and link technology, which the iteration time does not need."""
        return Network(NETWORKS[self.fabric].carried_as, self.degree, self.bandwidth_bps)

    @property
    def name(self) -> str:
        """Display name.

        Examples
        --------
        >>> Network("topoopt", 4, 400e9).name, Network("rail", 8, 800e9, "linear").name
        ('topoopt 4 × 400 Gb/s', 'rail 8 × 800 Gb/s, linear')
        """
        links = "" if self.links == USUAL_LINKS else f", {self.links}"
        return f"{self.fabric} {self.degree} × {format_bandwidth(self.bandwidth_bps)}{links}"


USUAL_DEGREES = (1, 2, 4, 8)
USUAL_BANDWIDTHS_BPS = (100e9, 200e9, 400e9, 800e9)
MOST_NETWORKS = 10_000
"""More count as a mistake."""
PRICES = ("servers", "storage")
"""Items besides the network that bear interest and are maintained, as the network is."""
OTHERS = ("servers", "electricity", "interest", "colocation", "maintenance", "staff", "storage")
"""Cost items besides the network."""
_ON_PRICES = ("interest", "maintenance")


@dataclass(frozen=True, slots=True)
class Money:
    """Costs of a network and a cluster.

    Attributes
    ----------
    network_usd : mapping
        Price of the network, by kind of part.
    other_usd : mapping
        Other costs over the years: ``servers``, ``electricity``, ``interest`` … (:data:`OTHERS`).
    years : float
        Years of ownership.
    unknown : tuple of str
        Items without a known price; then there is no total.
    capital_factor : float
        Total cost over the years per dollar of price, including interest and maintenance.
    ranges_usd : mapping
        Low, listed and high price of the network by kind of part; empty where it is certain.
    """

    network_usd: Mapping[str, float]
    other_usd: Mapping[str, float]
    years: float
    unknown: tuple[str, ...] = ()
    network_power_w: float | None = None
    capital_factor: float = 1.0
    ranges_usd: Mapping[str, tuple[float, float, float]] = field(default_factory=dict)

    @property
    def network(self) -> NetworkPrice:
        """Price of the network, with its range."""
        return NetworkPrice(self.price_usd, self.network_power_w, cost_parts_usd=self.ranges_usd)

    @property
    def whole(self) -> NetworkPrice:
        """Everything together, of which only prices of the network are drawn: servers are the same for all."""
        factor = self.capital_factor
        parts = {
            part: (factor * low, factor * usd, factor * high)
            for part, (low, usd, high) in self.ranges_usd.items()
        }
        rest_usd = (self.total_usd or 0.0) - sum(listed for _, listed, _ in parts.values())
        return NetworkPrice(
            self.total_usd, None, cost_parts_usd={**parts, "rest": (rest_usd, rest_usd, rest_usd)}
        )

    @property
    def price_usd(self) -> float | None:
        """Price of the network; None where that of a part is not known."""
        return None if self.unknown else sum(self.network_usd.values())

    @property
    def total_usd(self) -> float | None:
        """Everything together; None where something is not known."""
        return None if self.unknown else sum((*self.network_usd.values(), *self.other_usd.values()))

    def by_part(self) -> dict[str, float]:
        """Return the total by item: interest and maintenance are included in the prices that they belong to."""
        prices = {
            **self.network_usd,
            **{name: self.other_usd[name] for name in PRICES if name in self.other_usd},
        }
        rest = {name: usd for name, usd in self.other_usd.items() if name not in (*PRICES, *_ON_PRICES)}
        return {**{name: self.capital_factor * usd for name, usd in prices.items()}, **rest}


@dataclass(frozen=True, slots=True)
class Owner:
    """Owner of the cluster: pricing and terms of ownership.

    Attributes
    ----------
    servers : int
    pricing : Pricing
        Price list and accounting.
    terms : OwnershipTerms
        Running costs and the price of servers.
    with_servers : bool
        Whether servers and electricity count; else the price of the network alone does.
    """

    servers: int
    pricing: Pricing
    terms: OwnershipTerms
    with_servers: bool = True

    def owned(
        self, money: Money, iteration: Iteration | None = None, servers: int | None = None
    ) -> Ownership:
        """Return the cost of ownership of servers with their share of the network; optionally of a training."""
        share = 1.0 if servers is None else servers / self.servers
        usd, power_w = money.price_usd, money.network_power_w
        network = NetworkPrice(
            None if usd is None else share * usd, None if power_w is None else share * power_w
        )
        return ownership(self.terms, servers or self.servers, network, iteration)

    def facts(self) -> dict[str, Any]:
        """Return the basis of the costs, by name."""
        running, server, pricing = self.terms.running, self.terms.server, self.pricing
        how = {
            "prices": pricing.name,
            "power": pricing.power.name,
            "accounting": pricing.accounting.words,
            "years": running.years,
        }
        if not self.with_servers:
            return how
        energy = ("electricity_usd_per_kwh", "power_usage_effectiveness", "utilization", "interest_rate")
        others = ("colocation_usd_per_kw_month", "maintenance_rate", "staff_usd_per_year", "storage_usd")
        return how | {
            **fields_of(running, *energy, *others),
            "left_out": list(running.left_out),
            "server": server.basis,
            "server_usd": server.usd,
            "server_power_w": server.power_w,
        }


def priced(networks: Iterable[Network], owner: Owner) -> dict[Network, Money | str]:
    """Return the cost of each network, or the reason why it has no price."""
    found: dict[Network, Money | str] = {}
    for network in networks:
        try:
            found[network] = money_of(network, owner)
        except TopoOptError as error:
            found[network] = str(error)
    return found


def money_of(network: Network, owner: Owner) -> Money:
    """Return the cost of a network and its servers over the years.

    Raises
    ------
    InvalidInput
        If the price list has no parts so fast.
    Infeasible
        If it cannot be built of its ports.
    """
    if NETWORKS[network.fabric].relays and network.degree == 1 and owner.servers > 2:
        raise Infeasible(f"{network.fabric}: 1 port joins servers in pairs; use 2 or more")
    options = replace(owner.pricing.options, link_technology=network.links)
    bill = network_bill(
        network.fabric,
        owner.servers,
        network.degree,
        network.bandwidth_bps,
        replace(owner.pricing, options=options),
    )
    parts: dict[str, float] = {}
    for line in bill.lines:
        parts[line.item] = parts.get(line.item, 0.0) + (line.total_usd or 0.0)
    missing = tuple(f"price of {part}" for part in bill.price_missing)
    if not owner.with_servers:
        years = owner.terms.running.years
        return Money(parts, {}, years, missing, bill.power_w, ranges_usd=bill.cost_parts_usd)
    owned = ownership(owner.terms, owner.servers, network_price(bill))
    other: Mapping[str, float | None] = {name: getattr(owned, f"{name}_usd") for name in OTHERS}
    known = {name: usd for name, usd in other.items() if usd is not None}
    running = owner.terms.running
    unknown, factor = missing or owned.unknown, running.capital_factor
    return Money(parts, known, running.years, unknown, bill.power_w, factor, bill.cost_parts_usd)


def network_grid(
    servers: int,
    degrees: Sequence[int] = USUAL_DEGREES,
    bandwidths_bps: Sequence[float] = USUAL_BANDWIDTHS_BPS,
    fabrics: Sequence[str] | None = None,
    links: Sequence[str] = (USUAL_LINKS,),
) -> tuple[Network, ...]:
    """Return every combination, by fabric, degree and bandwidth.

    Raises
    ------
    InvalidInput
        For an axis without values, a value twice, an unknown fabric, a degree that no server has, or no bandwidth.
    """
    fabrics = compared_by("choose") if fabrics is None else fabrics
    axes: Mapping[str, Sequence[object]] = {
        "degrees": degrees,
        "bandwidths": bandwidths_bps,
        "fabrics": fabrics,
        "link_technologies": links,
    }
    for word, values in axes.items():
        if not values:
            raise InvalidInput(f"{word}: none leaves nothing to choose from; give one or more")
        refuse_repeated(word, values)
    for fabric in fabrics:
        if fabric in NETWORKS.sizings() and fabric not in networks_of("choose"):
            raise InvalidInput(
                f"fabrics: {fabric} has the bandwidth that the price of topoopt buys, and is no point of a grid; "
                "a fat-tree without blocking is ideal-switch, one with 2:1 oversub-fat-tree"
            )
        check_networks("fabrics", (fabric,), "choose")
    for degree in degrees:
        if not 1 <= degree <= MOST_INTERFACES:
            raise InvalidInput(f"degrees: a server has 1..{MOST_INTERFACES} ports, got {degree}")
    for bandwidth_bps in bandwidths_bps:
        if not 0 < bandwidth_bps < float("inf"):
            raise InvalidInput(f"bandwidths: expected bits per second above 0, got {bandwidth_bps}")
    count = prod(map(len, axes.values()))
    if count > MOST_NETWORKS:
        raise InvalidInput(
            f"degrees × bandwidths × fabrics × link_technologies: {count:,} networks, allowed are "
            f"{MOST_NETWORKS:,}; take values out"
        )
    return tuple(
        Network(fabric, degree, float(bandwidth_bps), one)
        for fabric, degree, bandwidth_bps, one in product(fabrics, degrees, bandwidths_bps, links)
    )
