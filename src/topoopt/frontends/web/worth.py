"""What a fabric costs, and what everything comes to an hour, a token or a sample."""

from dataclasses import dataclass, replace

from topoopt.base.errors import TopoOptError
from topoopt.catalog import ClusterSpec
from topoopt.frontends.web.estimate import FabricEstimate
from topoopt.frontends.web.fabric_rules import FabricRule
from topoopt.frontends.web.question import RUNNING, Question
from topoopt.pricing import (
    Iteration,
    NetworkPrice,
    OwnershipTerms,
    Pricing,
    Running,
    network_bill,
    network_price,
    ownership,
    server_price,
    usual_running,
)


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
            network_usd_per_hour=owned.network_usd_per_hour,
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
    given = {field: getattr(question, word) for word, field in RUNNING.items()}
    said = {field: value for field, value in given.items() if value is not None}
    server = server_price(cluster.accelerator, cluster.accelerators_per_server, price=question.server_price)
    return OwnershipTerms(usual_running(said), server)


def terms_words(terms: OwnershipTerms) -> str:
    """Return the terms in a few words."""
    running, server = terms.running, terms.server
    price = "an unknown price" if server.usd is None else f"{server.usd / 1e3:,.0f} k$"
    return (
        f"{server.name} at {price}, {running.years:g} years, {running.utilization:.0%} in use, "
        f"{running.electricity_usd_per_kwh:g} $ a kWh{_capital(running)}"
    )


def _capital(running: Running) -> str:
    """Return interest, building and maintenance in a few words, and what is left out."""
    said = {
        "{:.3g} % interest": running.interest_rate and 100 * running.interest_rate,
        "{:.4g} $ a kW and month": running.colocation_usd_per_kw_month,
        "{:.3g} % maintenance a year": running.maintenance_rate and 100 * running.maintenance_rate,
        "staff at {:,.0f} $ a year": running.staff_usd_per_year,
        "storage of {:,.0f} $": running.storage_usd,
    }
    words = [form.format(value) for form, value in said.items() if value]
    if running.left_out:
        words.append(f"without {' and '.join(running.left_out)}")
    return "".join(f", {one}" for one in words)
