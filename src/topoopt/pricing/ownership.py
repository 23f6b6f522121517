"""Cost of owning a cluster and of training on it: network, servers and running costs over years.

Purchase with interest and maintenance, electricity, building and staff over all years are spread evenly over the
hours in which the cluster trains. With an iteration time this gives dollars per sample and per token; with a training
size, dollars per run. A cheaper network pays if it saves more than its slower iterations cost in server time:
:func:`beside` returns both.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from topoopt.base.answers import fields_of
from topoopt.base.errors import InvalidInput
from topoopt.pricing.bill import Bill
from topoopt.pricing.running_costs import HOURS_OF_A_YEAR, Running, ServerPrice


@dataclass(frozen=True, slots=True)
class TrainingRun:
    """Amount of training: samples, tokens or hours; at most one of them is given."""

    samples: float | None = None
    tokens: float | None = None
    hours: float | None = None

    def __post_init__(self) -> None:
        given = {name: value for name, value in asdict(self).items() if value is not None}
        words = [name if name != "hours" else "run_hours" for name in given]
        if len(words) > 1:
            raise InvalidInput(f"{words[1]}: a run has one size, and {words[0]} is given; leave one out")
        for word, value in zip(words, given.values(), strict=True):
            if not 0 < value < float("inf"):
                raise InvalidInput(f"{word}: expected a number above 0, got {value:g}")


@dataclass(frozen=True, slots=True)
class Iteration:
    """An iteration of training: how long, and how much of the run it is.

    Attributes
    ----------
    tokens : float or None
        None of a model that has none.
    """

    time_s: float
    samples: float
    tokens: float | None = None


@dataclass(frozen=True, slots=True)
class OwnershipTerms:
    """Terms of the cost of ownership: running costs, server price, and the training run that is priced."""

    running: Running
    server: ServerPrice
    run: TrainingRun = TrainingRun()


@dataclass(frozen=True, slots=True)
class NetworkPrice:
    """A network as far as ownership goes.

    ``missing`` are parts without known price or power; ``cost_parts_usd`` the low, listed and high dollars of all
    parts of a kind.
    """

    cost_usd: float | None
    power_w: float | None
    missing: tuple[str, ...] = ()
    note: str = ""
    cost_parts_usd: Mapping[str, tuple[float, float, float]] = field(default_factory=dict)

    @property
    def columns(self) -> dict[str, Any]:
        """Fields for a :class:`~topoopt.catalog.NetworkRow`."""
        return fields_of(self, "cost_usd", "power_w", "cost_parts_usd")


@dataclass(frozen=True, slots=True)
class Ownership:
    """Cost of a cluster over years, and per hour, run, sample and token; None is unknown, never zero.

    Attributes
    ----------
    years, utilization : float
        Years of depreciation; share of the hours in which the cluster trains.
    servers_usd, network_usd, electricity_usd, total_usd : float or None
        Costs over all years; the first two are prices alone.
    usd_per_hour : float or None
        Cost per training hour; ``low_usd_per_hour`` and ``high_usd_per_hour`` with servers at the ends of
        their range.
    servers_usd_per_hour, network_usd_per_hour : float or None
        Parts of that cost, each with its interest, maintenance, electricity and building; staff and storage
        are in neither.
    usd_per_run, usd_per_sample, usd_per_token : float or None
        None also where no run is given, or the model has no tokens.
    network_saved_usd, servers_lost_usd, net_usd : float or None
        Against the reference fabric, over all years: savings of the network, the cost of slower iterations
        lose of servers and network, and the first less the second; see :func:`beside`.
    unknown : tuple of str
        Cost items without any known figure, so that sums are None.
    interest_usd, colocation_usd, maintenance_usd, staff_usd, storage_usd : float or None
        Costs over all years, each in the total; None also for excluded items (:attr:`Running.left_out`).
    """

    years: float
    utilization: float
    servers_usd: float | None
    network_usd: float | None
    electricity_usd: float | None
    total_usd: float | None
    usd_per_hour: float | None
    low_usd_per_hour: float | None
    high_usd_per_hour: float | None
    servers_usd_per_hour: float | None
    network_usd_per_hour: float | None
    usd_per_run: float | None = None
    usd_per_sample: float | None = None
    usd_per_token: float | None = None
    run_hours: float | None = None
    network_saved_usd: float | None = None
    servers_lost_usd: float | None = None
    net_usd: float | None = None
    unknown: tuple[str, ...] = ()
    interest_usd: float | None = None
    colocation_usd: float | None = None
    maintenance_usd: float | None = None
    staff_usd: float | None = None
    storage_usd: float | None = None

    @property
    def training_hours(self) -> float:
        """Hours of all years in which it trains."""
        return self.years * HOURS_OF_A_YEAR * self.utilization

    def usd_for(self, seconds: float) -> float | None:
        """Return the cost of a training time; None where a price is unknown."""
        return None if self.usd_per_hour is None else self.usd_per_hour * seconds / 3600


def network_price(bill: Bill) -> NetworkPrice:
    """Return the price and the watts of a bill, and the parts left open."""
    missing = [f"price of {part}" for part in bill.price_missing]
    missing += [f"watts of {part}" for part in bill.power_missing]
    return NetworkPrice(bill.cost_usd, bill.power_w, tuple(missing), bill.note, bill.cost_parts_usd)


def ownership(
    terms: OwnershipTerms, servers: int, network: NetworkPrice, iteration: Iteration | None = None
) -> Ownership:
    """Return the cost of a cluster over years, with all parts always at typical power.

    Parameters
    ----------
    iteration
        Training iteration on this network; without one, an hour is priced but no run.

    Examples
    --------
    >>> from topoopt.pricing import server_price
    >>> terms = OwnershipTerms(Running(5, 0.10), server_price("h100", 8), TrainingRun(samples=1e9))
    >>> found = ownership(terms, 16, NetworkPrice(400e3, 10e3), Iteration(0.5, 1024))
    >>> round(found.usd_per_hour, 2), round(found.usd_per_run)  # 4.72 M$, and 10 + 16 × 8.364 kW, over 43,800 h
    (122.14, 16567)
    """
    running, one = terms.running, terms.server
    servers_usd, servers_power_w = _times(servers, one.usd), _times(servers, one.power_w)
    power_w = _sum(servers_power_w, network.power_w)
    prices_usd = _sum(servers_usd, network.cost_usd, running.storage_usd or 0.0)
    shared_usd = running.years * (running.staff_usd_per_year or 0.0)
    shared_usd += running.capital_factor * (running.storage_usd or 0.0)

    def over_years(price_usd: float | None, watts: float | None) -> float | None:
        drawn = None if watts is None else running.electricity_usd(watts) + running.colocation_usd(watts)
        return _sum(_times(running.capital_factor, price_usd), drawn)

    def hourly(*parts_usd: float | None) -> float | None:
        whole = _sum(*parts_usd)
        return None if whole is None else whole / running.training_hours

    def whole(server_usd: float | None) -> tuple[float | None, ...]:
        return over_years(_times(servers, server_usd), servers_power_w), of_network_usd, shared_usd

    of_network_usd = over_years(network.cost_usd, network.power_w)
    found = Ownership(
        running.years,
        running.utilization,
        servers_usd,
        network.cost_usd,
        None if power_w is None else running.electricity_usd(power_w),
        _sum(*whole(one.usd)),
        hourly(*whole(one.usd)),
        hourly(*whole(one.low_usd)),
        hourly(*whole(one.high_usd)),
        hourly(over_years(servers_usd, servers_power_w)),
        hourly(of_network_usd),
        unknown=_unknown(one, network),
        interest_usd=_if_said(running.interest_rate, _times(running.interest_share, prices_usd)),
        colocation_usd=_if_said(
            running.colocation_usd_per_kw_month, None if power_w is None else running.colocation_usd(power_w)
        ),
        maintenance_usd=_if_said(running.maintenance_rate, _times(running.maintenance_share, prices_usd)),
        staff_usd=None if running.staff_usd_per_year is None else running.years * running.staff_usd_per_year,
        storage_usd=running.storage_usd,
    )
    return found if iteration is None else _with_training(found, terms.run, iteration)


def beside(own: Ownership, own_time_s: float, other: Ownership, other_time_s: float) -> Ownership:
    """Return another fabric's figures with its network savings and its loss in server time, against the reference.

    Over all years the network saves (own network) - (other network), with electricity. If iterations are ``r``
    times as long, the training done by the reference fabric takes r - 1 of that time more, in which servers and
    the network are paid for again: (r - 1)·(servers + other network) are lost. Savings less losses are exactly the
    savings of the same training.

    Examples
    --------
    >>> from topoopt.pricing import server_price
    >>> terms = OwnershipTerms(Running(5, 0.10), server_price("h100", 8))
    >>> own, other = (ownership(terms, 16, NetworkPrice(usd, 0.0)) for usd in (400e3, 200e3))
    >>> slower = beside(own, 0.50, other, 0.51)
    >>> round(slower.network_saved_usd), round(slower.servers_lost_usd), round(slower.net_usd)
    (200000, 102123, 97877)
    """
    ratio, hours = other_time_s / own_time_s, other.training_hours
    saved_usd = lost_usd = None
    if own.network_usd_per_hour is not None and other.network_usd_per_hour is not None:
        saved_usd = hours * (own.network_usd_per_hour - other.network_usd_per_hour)
    if other.usd_per_hour is not None:
        lost_usd = hours * (ratio - 1) * other.usd_per_hour
    net_usd = None if saved_usd is None or lost_usd is None else saved_usd - lost_usd
    return replace(other, network_saved_usd=saved_usd, servers_lost_usd=lost_usd, net_usd=net_usd)


def in_samples(run: TrainingRun, iteration: Iteration) -> TrainingRun:
    """Return a run by its samples, however its size is given; hours are those on the fabric of this iteration.

    Raises
    ------
    InvalidInput
        For tokens of a model that has none.
    """
    if run.hours is not None:
        return TrainingRun(samples=run.hours * 3600 / iteration.time_s * iteration.samples)
    if run.tokens is None:
        return run
    if not iteration.tokens:
        raise InvalidInput("tokens: the model has samples and no tokens; give samples, or run_hours")
    return TrainingRun(samples=run.tokens / iteration.tokens * iteration.samples)


def _with_training(found: Ownership, run: TrainingRun, iteration: Iteration) -> Ownership:
    usd_per_iteration = _times(iteration.time_s / 3600, found.usd_per_hour)
    samples = in_samples(run, iteration).samples
    run_hours = None if samples is None else samples / iteration.samples * iteration.time_s / 3600
    return replace(
        found,
        usd_per_run=None if run_hours is None else _times(run_hours, found.usd_per_hour),
        usd_per_sample=_times(1 / iteration.samples, usd_per_iteration),
        usd_per_token=_times(1 / iteration.tokens, usd_per_iteration) if iteration.tokens else None,
        run_hours=run_hours,
    )


def _unknown(one: ServerPrice, network: NetworkPrice) -> tuple[str, ...]:
    parts = {
        f"price of a server ({one.basis})": one.usd,
        f"watts of a server ({one.basis})": one.power_w,
        "price of the network": network.cost_usd,
        "watts of the network": network.power_w,
    }
    missing = [what for what, value in parts.items() if value is None]
    return (*missing, *network.missing)


def _times(count: float, value: float | None) -> float | None:
    return None if value is None else count * value


def _sum(*values: float | None) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) if len(known) == len(values) else None


def _if_said(rate: float | None, usd: float | None) -> float | None:
    return None if rate is None else usd
