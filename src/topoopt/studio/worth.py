"""What a fabric costs, and what network, servers and electricity come to an hour, a token or a sample."""

from dataclasses import dataclass, replace

from topoopt.cost import (
    Iteration,
    NetworkPrice,
    OwnershipTerms,
    Pricing,
    Running,
    network_bill,
    network_price,
    ownership,
    server_price,
    usual_figures,
)
from topoopt.errors import TopoOptError
from topoopt.hardware import ClusterSpec
from topoopt.studio.estimate import FabricEstimate
from topoopt.studio.fabric_rules import FabricRule
from topoopt.studio.question import Question


@dataclass(frozen=True, slots=True)
class Worth:
    """What prices a fabric: machines, price list and accounting, terms, and what an iteration trains."""

    cluster: ClusterSpec
    pricing: Pricing
    terms: OwnershipTerms
    samples: float
    tokens: float | None = None

    def of(self, row: FabricEstimate, rule: FabricRule) -> FabricEstimate:
        """Return a row with its price; what nobody's figure says stays unknown, and the row says what."""
        size = self.cluster.servers, rule.interfaces, rule.bandwidth_bps
        try:
            bill = network_bill(rule.fabric, *size, self.pricing)
        except TopoOptError as error:
            network, note = NetworkPrice(None, None, (str(error),)), ""
        else:
            network, note = network_price(bill), bill.note
        iteration = Iteration(row.iteration_time_s, self.samples, self.tokens)
        owned = ownership(self.terms, self.cluster.servers, network, iteration)
        missing = f"unknown: {', '.join(owned.unknown)}" if owned.unknown else ""
        return replace(
            row,
            network_usd=network.usd,
            power_w=network.power_w,
            owned_usd=owned.total_usd,
            usd_per_hour=owned.usd_per_hour,
            usd_per_unit=owned.usd_per_token if self.tokens else owned.usd_per_sample,
            note="; ".join(filter(None, (note, missing))),
        )


def terms_of(question: Question, cluster: ClusterSpec) -> OwnershipTerms:
    """Return how the cluster is run and what its servers cost; what the question does not say is usual.

    Raises
    ------
    InvalidInput
        If a number is out of range.
    """
    given = {
        "years": question.years,
        "utilization": question.utilization,
        "electricity_usd_per_kwh": question.electricity_price,
    }
    said = {name: value for name, value in given.items() if value is not None}
    usual = {name: usual_figures()[name].usual for name in (*given, "power_usage_effectiveness")}
    server = server_price(cluster.accelerator, cluster.accelerators_per_server, price=question.server_price)
    return OwnershipTerms(Running(**{**usual, **said}), server)


def terms_words(terms: OwnershipTerms) -> str:
    """Return the terms in a few words."""
    running, server = terms.running, terms.server
    price = "an unknown price" if server.usd is None else f"{server.usd / 1e3:,.0f} k$"
    return (
        f"{server.name} at {price}, {running.years:g} years, {running.utilization:.0%} in use, "
        f"{running.electricity_usd_per_kwh:g} $ a kWh"
    )
