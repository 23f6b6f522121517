"""A network priced on every fabric: offers, the fat-tree of the same price, optical technologies."""

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from math import inf
from typing import Any

from topoopt.base.answers import Frame, fields_of, frame, shows_itself
from topoopt.base.errors import TopoOptError
from topoopt.base.units import finite_or_none
from topoopt.catalog import (
    OWN,
    PUBLISHED_IDEAL_OVER_TOPOOPT,
    OpticalChoice,
    break_even_bytes,
    break_even_interval_s,
    choose_optics,
)
from topoopt.pricing.bill import Bill, bill_of_materials, price_range
from topoopt.pricing.cost_equivalence import (
    PUBLISHED_OCS_OVER_PANEL,
    CostRatios,
    EquivalentFatTree,
    accounting_sweep,
    equivalent_fat_tree,
    published_equivalent_bandwidth,
)
from topoopt.pricing.offer import Offer, PricedNetwork, Purchase, make_offers
from topoopt.pricing.part_counts import PORT_OF_TECHNOLOGY, is_panel, light_left_db, transceiver_for
from topoopt.pricing.price_lists import Part, PartTable
from topoopt.pricing.running_costs import usual_figures


@dataclass(frozen=True, slots=True)
class TechnologyRow:
    """An optical technology judged for one job.

    Attributes
    ----------
    choice : OpticalChoice
        Whether it fits and suits, its duty, the interval from which on rewiring is within the allowed overhead.
    cost_usd : float or None
        A port for every interface of every server; None where no list prices such ports.
    break_even_bytes : float
        Messages from this size on gain by waiting for a circuit, smaller ones by being forwarded.
    pays_from_s : float
        Rewiring at every change beats forwarding over the wiring that is there where changes are at least this
        far apart.
    margin_db : float or None
        Light that a transceiver has left after the worst connection; None where a figure is not known.
    """

    choice: OpticalChoice
    cost_usd: float | None
    break_even_bytes: float
    pays_from_s: float
    margin_db: float | None

    @property
    def suits(self) -> bool:
        """Whether it holds the fibers, is quick enough and, as far as is known, loses little enough light."""
        return self.choice.suits and (self.margin_db is None or self.margin_db >= 0)

    def to_json(self) -> dict[str, Any]:
        """Return the row as a mapping; infinities are None."""
        part = self.choice.technology
        return {
            "technology": part.name,
            "suits": self.suits,
            "fits": self.choice.fits,
            **fields_of(part, "ports", "reconfiguration_s"),
            "insertion_loss_db": None if part.insertion_loss_db is None else list(part.insertion_loss_db),
            "margin_db": self.margin_db,
            "duty": self.choice.duty,
            "suits_from_s": self.choice.break_even_s,
            "pays_from_s": finite_or_none(self.pays_from_s),
            "break_even_bytes": finite_or_none(self.break_even_bytes),
            "cost_usd": self.cost_usd,
        }


PLAIN_COLUMNS = (
    *("fabric", "cost_usd", "cost_low_usd", "cost_high_usd", "cost_per_server_usd", "over_topoopt"),
    *("cheaper_share", "power_w", "note"),
)


@shows_itself
@dataclass(frozen=True, slots=True)
class CostComparison:
    """Cost and power of a network on every fabric, and the optical technologies that suit it.

    Attributes
    ----------
    skipped : tuple of (fabric, reason)
    technologies : tuple of TechnologyRow
        Suitable technologies first.
    own : Bill or None
        Bill of topoopt, the reference; None where the list has no panels.
    equivalent : EquivalentFatTree or None
        The fat-tree that this price buys.
    published_equivalent_usd : float or None
        Price of the fat-tree by the published ratio; None where the list has no interface so fast.
    ratios : tuple of CostRatios
        The two published ratios under every accounting, nearest first; empty where not requested.
    change_interval_s : float
        Seconds for which traffic stays the same; infinite for fixed traffic.
    overhead : float
        Fraction of the time that may go into rewiring.
    """

    network: PricedNetwork
    purchase: Purchase
    offers: tuple[Offer, ...]
    skipped: tuple[tuple[str, str], ...]
    technologies: tuple[TechnologyRow, ...]
    own: Bill | None
    equivalent: EquivalentFatTree | None
    published_equivalent_usd: float | None
    ratios: tuple[CostRatios, ...] = ()
    change_interval_s: float = inf
    overhead: float = 0.1

    @property
    def worth_a_circuit_of(self) -> tuple[str, ...]:
        """Technologies for which the largest transfer gains by waiting for a circuit of its own."""
        largest = self.network.largest_pair_bytes
        return tuple(
            row.choice.technology.name
            for row in self.technologies
            if largest is not None and row.break_even_bytes <= largest
        )

    @property
    def warnings(self) -> tuple[str, ...]:
        """Caveats about the prices."""
        panel = next(row for row in self.technologies if row.choice.technology.name == "patch-panel")
        if self.change_interval_s >= panel.choice.break_even_s:
            return ()
        return (
            "The wiring of topoopt is made for one traffic that every iteration repeats. Traffic that changes so "
            "often, as that of experts or graphs does, wants circuits that follow it: ocs-reconfig, sip-ml.",
        )

    def sources(self) -> list[dict[str, Any]]:
        """Return every row of the tables that a bill was made of, with how sure it is."""
        parts = dict.fromkeys(line.part for offer in self.offers for line in offer.bill.lines)
        return self.purchase.prices.sources(parts) + self.purchase.power.sources(parts)

    def bill_rows(self) -> list[dict[str, Any]]:
        """Return every line of every bill, with its fabric."""
        return [
            {"fabric": offer.bill.fabric, **asdict(line)}
            for offer in self.offers
            for line in offer.bill.lines
        ]

    def to_frame(self) -> Frame:
        """Return a row for each fabric, as pandas has it."""
        rows = [offer.to_json(self.own) for offer in self.offers]
        return frame({key: row[key] for key in PLAIN_COLUMNS} for row in rows)

    def to_json(self) -> dict[str, Any]:
        """Return everything as one mapping; infinities are None."""
        cluster, purchase, options = self.network.cluster, self.purchase, self.purchase.options
        document = {
            **fields_of(cluster, "servers", "degree"),
            "bandwidth_bps": cluster.link_bandwidth_bps,
            "links": cluster.links,
            "prices": purchase.prices.name,
            "power": purchase.power.name,
            "accounting": {**asdict(purchase.accounting), "words": purchase.accounting.words},
            "link_technology": options.link_technology,
            "options": {**asdict(options), "shards": purchase.shards, "technology": purchase.technology},
            "sources": self.sources(),
            "terms": None if purchase.terms is None else asdict(purchase.terms),
            "usual_figures": [asdict(figure) for figure in usual_figures().values()],
            "fabrics": [offer.to_json(self.own) for offer in self.offers],
            "skipped_fabrics": [list(row) for row in self.skipped],
            "cost_equivalent_fat_tree": self._equivalent(),
            "change_interval_s": finite_or_none(self.change_interval_s),
            "overhead": self.overhead,
            "average_hops": finite_or_none(self.network.average_hops),
            "wiring": self.network.wiring,
            "assumed": list(self.network.assumed),
            "optical_technologies": [row.to_json() for row in self.technologies],
            "transfers": self._transfers(),
            "warnings": list(self.warnings),
        }
        return {**document, "ratios": self._ratios()} if self.ratios else document

    def _equivalent(self) -> dict[str, Any] | None:
        tree, cluster = self.equivalent, self.network.cluster
        if tree is None:
            return None
        return {
            **fields_of(tree, "server_bandwidth_bps", "interfaces", "interface_bandwidth_bps"),
            "cost_usd": tree.cost_per_server_usd * cluster.servers,
            "ratio": cluster.server_bandwidth_bps / tree.server_bandwidth_bps,
            "note": tree.note,
            "published": {
                "server_bandwidth_bps": published_equivalent_bandwidth(
                    cluster.degree, cluster.link_bandwidth_bps
                ),
                "ratio": PUBLISHED_IDEAL_OVER_TOPOOPT,
                "cost_usd": self.published_equivalent_usd,
            },
        }

    def _transfers(self) -> dict[str, Any] | None:
        largest = self.network.largest_pair_bytes
        if largest is None:
            return None
        return {"largest_pair_bytes": largest, "worth_a_circuit_of": list(self.worth_a_circuit_of)}

    def _ratios(self) -> dict[str, Any]:
        published = {
            "ocs_over_panel": PUBLISHED_OCS_OVER_PANEL,
            "ideal_over_topoopt": PUBLISHED_IDEAL_OVER_TOPOOPT,
        }
        return {"published": published, "rows": [row.to_json() for row in self.ratios]}


def compare_costs(
    network: PricedNetwork,
    purchase: Purchase,
    fabrics: Iterable[str] | None = None,
    *,
    change_interval_s: float = inf,
    overhead: float = 0.1,
    ratios: bool = False,
) -> CostComparison:
    """Price a network on fabrics, all that can be built where ``fabrics`` is None.

    Raises
    ------
    InvalidInput
        For an unknown fabric, a number out of range, or a part that the price list does not have.
    Infeasible
        If the optical devices of a fabric are too small.
    """
    offers, skipped = make_offers(network, purchase, fabrics)
    technologies = technology_rows(
        *network.size,
        purchase.prices,
        change_interval_s=change_interval_s,
        average_hops=network.average_hops,
        overhead=overhead,
        ports=purchase.device_ports(network),
    )
    return CostComparison(
        network,
        purchase,
        offers,
        skipped,
        technologies,
        *_yardsticks(network, purchase),
        ratios=accounting_sweep(purchase.prices) if ratios else (),
        change_interval_s=change_interval_s,
        overhead=overhead,
    )


def _yardsticks(
    network: PricedNetwork, purchase: Purchase
) -> tuple[Bill | None, EquivalentFatTree | None, float | None]:
    """Return the bill of topoopt, the fat-tree that it buys, and the price of the published one."""
    prices, rule, options = purchase.prices, purchase.accounting, purchase.options
    servers, degree, bandwidth_bps = network.size
    try:
        own = bill_of_materials(OWN, *network.size, prices, rule, options, purchase.power)
        tree = equivalent_fat_tree(*network.size, prices, rule, options)
    except TopoOptError:
        return None, None, None  # a list of one's own need not have panels
    published_bps = published_equivalent_bandwidth(degree, bandwidth_bps)
    try:
        as_published = bill_of_materials("fat-tree", servers, 1, published_bps, prices, rule, options)
        return own, tree, as_published.cost_usd
    except TopoOptError:
        return own, tree, None  # one interface so fast is not in the list


def technology_rows(
    servers: int,
    degree: int,
    bandwidth_bps: float,
    prices: PartTable,
    *,
    change_interval_s: float = float("inf"),
    average_hops: float,
    overhead: float = 0.1,
    ports: int | None = None,
) -> tuple[TechnologyRow, ...]:
    """Return every technology of the catalogue, suitable ones first, from the slowest and cheapest.

    Parameters
    ----------
    change_interval_s
        Seconds for which the job's traffic stays the same; infinite where every iteration moves the same
        bytes.
    average_hops
        Links of a route over the wiring that is there, the alternative to rewiring.
    overhead
        Fraction of the time that may go into rewiring.
    ports
        Ports that one device needs; one for every server by default.

    Raises
    ------
    InvalidInput
        If a number is out of range.

    Examples
    --------
    >>> from topoopt.pricing import find_prices
    >>> rows = technology_rows(128, 4, 100e9, find_prices("2022"), change_interval_s=1.0, average_hops=5.354)
    >>> rows[0].choice.technology.name, rows[0].cost_usd, round(rows[0].break_even_bytes / 1e6)
    ('piezo', 266240.0, 72)
    """
    module = transceiver_for(bandwidth_bps)
    rows = []
    for choice in choose_optics(servers if ports is None else ports, change_interval_s, overhead):
        delay_s, port_usd = choice.technology.outage_s, _port_usd(choice.technology.name, prices)
        rows.append(
            TechnologyRow(
                choice,
                None if port_usd is None else servers * degree * port_usd,
                break_even_bytes(delay_s, bandwidth_bps, average_hops),
                break_even_interval_s(delay_s, average_hops),
                light_left_db(choice.technology.insertion_loss_db, module),
            )
        )
    return tuple(sorted(rows, key=lambda row: not row.suits))


def _port_usd(technology: str, prices: PartTable) -> float | None:
    """Return the price of a port; a list that does not distinguish circuit switches has one price for all of them."""
    item = PORT_OF_TECHNOLOGY.get(technology)
    if item is None:
        return None
    port_usd = prices.known_value(item)
    return prices.known_value("ocs_port") if port_usd is None and not is_panel(technology) else port_usd


def port_prices_usd(prices: PartTable) -> dict[str, tuple[float, float, float]]:
    """Return low, listed and high price of a port by technology of an optical switch, as far as they are listed."""
    found = {}
    for technology, item in PORT_OF_TECHNOLOGY.items():
        port_usd = _port_usd(technology, prices)
        if port_usd is not None:
            low, high = price_range(prices, Part(item))
            found[technology] = (low * port_usd, port_usd, high * port_usd)
    return found
