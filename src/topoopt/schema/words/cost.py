"""The words of prices and studies: what is bought and counted, choices, failures and sweeps."""

import os
from collections.abc import Sequence
from typing import Annotated, TypedDict

from topoopt.schema.words.arguments import Amount, Rate, Switch, Time, Word, panel


@panel("Prices")
class PriceListWords(TypedDict, total=False):
    """By which list networks are priced, and what is counted."""

    prices: Annotated[str, Word("2026|2025|2022|FILE", "2026")]
    """Price list: 2026, or the papers' 2025 (MixNet) and 2022 (TopoOpt). A file overrides rows of the list to its
    left, as in 2025,mine.csv; alone it overrides 2026; behind none it stands alone."""
    accounting: Annotated[str, Word("NAME", "complete")]
    """complete: whole switches that can be bought, in the fewest tiers that reach all servers. paper: switch ports
    of a three-tier fat-tree. no-look-ahead, fat-tree-fiber: as paper, with less counted."""
    tiers: Annotated[int, Word("1|2|3")]
    """Tiers of switches (default: the fewest that reach all servers; 3 where ports are counted)."""
    fiber_length: Annotated[float, Word("METERS")]
    """Mean fiber length per link in meters (default: derived from the floor plan; 500 with ``accounting``
    paper)."""


@panel("Prices")
class PricingWords(PriceListWords, total=False):
    """The same, and what links are made of."""

    link_technology: Annotated[str, Word("KIND", "pluggable")]
    """Link technology: pluggable, linear (modules without a signal processor), co-packaged (optics in the switch)
    or copper (between servers and switches, where it reaches)."""


@panel("Cost of ownership and training")
class YearsWords(TypedDict, total=False):
    """Terms of ownership over years."""

    years: Annotated[float, Word("N")]
    """Depreciation period in years (default 5)."""
    electricity_price: Annotated[float, Word("USD")]
    """Electricity price in $/kWh (default 0.0872, US industry in 2025)."""
    utilization: Annotated[float, Word("SHARE")]
    """Share of hours in which the cluster trains (default 0.8, assumed)."""
    interest: Annotated[float, Word("SHARE")]
    """Cost of capital per year (default 0.1, the lower end of loans against accelerators); 0 for none."""
    colocation: Annotated[float, Word("USD")]
    """Colocation price in $ per kW and month, without electricity (default 184, CBRE's average of 2025); 0 for
    none."""
    maintenance: Annotated[float, Word("SHARE")]
    """Repairs and support per year, as a share of all prices (default 0.048); 0 for none."""
    staff: Annotated[float, Word("USD")]
    """Cost of operating staff per year (default: not counted)."""
    storage: Annotated[float, Word("USD")]
    """Price of the storage (default: not counted)."""
    server_price: Annotated[Amount, Word("USD|low|typical|high")]
    """Price per server with its accelerators, without the network (default: typical, from topoopt hardware
    servers)."""


@panel("Cost of ownership and training")
class RunningWords(YearsWords, total=False):
    """The same, and what the machines draw."""

    power_usage_effectiveness: Annotated[float, Word("RATIO", names=("pue",))]
    """Power usage effectiveness of the building (default 1.58, the average of 2023)."""
    server_power: Annotated[float, Word("WATTS")]
    """Power draw per server while training, in watts (default: 82% of its rating)."""


@panel("Cost of ownership and training")
class OwnershipWords(RunningWords, total=False):
    """The same, and the training that is priced."""

    samples: Annotated[float, Word("N")]
    """Length of a training run in samples; its cost is reported."""
    tokens: Annotated[float, Word("N")]
    """Length of a transformer's training run in tokens, instead of ``samples``."""
    run_hours: Annotated[float, Word("HOURS")]
    """Length of a training run in hours on the first network shown, instead of ``samples``."""


@panel("Network")
class NetworkWords(TypedDict, total=False):
    """Whose network it is."""

    servers: int
    """Number of servers (default 128)."""
    degree: int
    """Training ports per server (default 4)."""
    bandwidth: Rate
    """Bandwidth per port (default 100Gbps)."""
    links: Annotated[str, Word("duplex|directed")]
    """duplex: a port is a fiber pair to one neighbor; directed: it sends to one and receives from another (default
    duplex)."""
    accelerator: Annotated[str, Word("NAME")]
    """Accelerator of the servers, which determines their price (default a100); see topoopt hardware."""
    accelerators_per_server: int
    """Accelerators per server (default 4)."""
    wiring: Annotated[str | os.PathLike[str], Word("FILE")]
    """Wiring file, or a graph (GraphML, DOT, node-link JSON, list of links); it provides servers, ports, links,
    and bandwidths where its links have them."""


@panel("Networks and parts")
class PurchaseWords(TypedDict, total=False):
    """Fabrics, and where their prices and watts come from."""

    fabrics: Annotated[Sequence[str], Word("LIST")]
    """Networks to price, with commas: {networks of cost}. Default: all but graphs of
    switches, such as dragonfly, which are priced where they are named."""
    power: Annotated[str, Word("typical|FILE", "typical")]
    """Power draw of parts: the makers' typical figures, or a file that overrides them."""
    oversubscription: Annotated[float, Word("RATIO", 2.0)]
    """Oversubscription ratio of oversub-fat-tree at its first switch."""
    ocs_interfaces: int
    """Ports per server that topoopt-hybrid connects to optical circuit switches (default: half)."""
    electrical_interfaces: int
    """Ports per server that mixnet connects to its electrical fat-tree (default: a quarter)."""
    shards: Annotated[int, Word("N", 1)]
    """Number of parts of the cluster with separate optical devices; servers of different parts cannot be
    connected."""
    technology: Annotated[str, Word("NAME")]
    """Optical switch technology or product, for fabrics that have one; see topoopt hardware optical-switches."""


@panel("Accounting")
class AccountingWords(TypedDict, total=False):
    """Choices of the accounting; and how the network is run."""

    nics: bool
    """Whether network cards are counted."""
    look_ahead: bool
    """Whether a second panel behind 1×2 switches is counted, on which the next job is wired while this one
    runs."""
    look_ahead_fiber: bool
    """Whether separate fibers for the second panel are counted."""
    fiber_on: Annotated[str, Word("WHICH")]
    """Networks for which fiber is counted: every-fabric, fat-trees or none."""


@panel("Optical technologies")
class OpticsWords(TypedDict, total=False):
    """How often the traffic changes, and what rewiring may take."""

    change_every: Time
    """Interval at which the traffic changes, such as 1s (default: once per job)."""
    overhead: Annotated[float, Word("FRACTION", 0.1)]
    """Maximum share of the time that reconfiguration may take."""


class CostWords(
    NetworkWords, PurchaseWords, PricingWords, AccountingWords, OwnershipWords, OpticsWords, total=False
):
    """All words that :func:`topoopt.cost` takes."""


@panel("Question")
class ResultsWords(TypedDict, total=False):
    """All words that :func:`topoopt.results` takes."""

    columns: Annotated[str | Sequence[str], Word("LIST")]
    """Columns to show, with commas (default: the settings that differ and the main figures)."""
    where: Annotated[str, Word("SQL")]
    """SQL condition, such as "model = 'dlrm'"."""
    order: Annotated[str, Word("SQL")]
    """SQL sort order, such as "cost_usd desc" (default: by settings)."""
    limit: int
    """Maximum number of rows; 0 for all (default: 20 in the terminal, all in files and JSON)."""
    best: Annotated[str, Word("fastest|cheapest|front|SQL")]
    """Keep the best network per job by time, price or an SQL expression; front: the Pareto front of price and
    time."""
    per: Annotated[str | Sequence[str], Word("LIST")]
    """Settings within which ``best`` compares (default: all that differ but the fabric)."""
    sql: Annotated[str, Word("QUERY")]
    """SQL query on the tables points, runs and attempts."""


@panel("One failure")
class FailureWords(TypedDict, total=False):
    """One failure."""

    link: Annotated[str | tuple[int, int], Word("A-B")]
    """Fail the cable between servers A and B."""
    cable: Annotated[str, Word("ID")]
    """Fail the cable with this label, from a server to a panel."""
    server: Annotated[int | str, Word("N|NAME")]
    """Fail this server, by number or name."""
    panel: Annotated[int | str, Word("K|NAME")]
    """Fail this panel (optical switch), by number or name, with all links on it."""
    at: Time
    """Time of the failure, such as 3h; the answer then shows the course of the job."""
    inventory: Annotated[str | os.PathLike[str], Word("FILE")]
    """Inventory file (YAML, TOML, JSON) of servers, interfaces, panels, ports and cables; missing names are
    generated."""
    without: Annotated[Sequence[str], Word("LIST")]
    """Repairs to exclude, such as spare,look-ahead."""


@panel("Availability")
class AvailabilityWords(TypedDict, total=False):
    """A period of random failures."""

    availability: Switch
    """Simulate random failures and repairs over a period."""
    rates: Annotated[str | os.PathLike[str], Word("FILE")]
    """File with failure rates, repair times, spares and restart times (YAML)."""
    repaired_by: Annotated[str, Word("WHO")]
    """Who repairs, unless ``rates`` gives repair times: robot (at the panels), on-site or remote-hands (default
    on-site)."""
    spares: int
    """Spare servers (default: one per 64, or as ``rates`` says)."""
    days: Annotated[float, Word("N", 30.0)]
    """Length of the simulated period in days."""
    runs: Annotated[int, Word("N", 1000)]
    """Number of simulated periods."""
    seed: Annotated[int, Word("N", 0)]
    """Random seed."""


class FailWords(FailureWords, AvailabilityWords, total=False):
    """All words that :func:`topoopt.fail` takes."""

    optics: Annotated[str, Word("NAME")]
    """Technology of the panels, which determines the time to move a fiber (default patch-panel)."""
    look_ahead: Switch
    """Assume look-ahead panels even where the plan's price does not count them."""
    simulator: Annotated[str, Word("analytic|flow|packet", "analytic")]
    """analytic: first come, first served on each link, fast; flow: max-min fair rates; packet: every packet
    through every queue."""


@panel("Servers")
class BoughtServersWords(TypedDict, total=False):
    """The servers that are bought, alike for all jobs."""

    servers: int
    """Number of servers (default 64)."""
    accelerators: int
    """Number of accelerators, instead of ``servers``."""
    accelerator: Annotated[str, Word("NAME")]
    """Accelerator, as topoopt hardware lists it (default: h100; a100 if all jobs are graphs of operators)."""
    accelerators_per_server: int
    """Accelerators per server (default: the catalogue's; 4 if all jobs are graphs of operators)."""
    intra_server_bandwidth: Rate
    """Scale-up bandwidth per accelerator (default: the catalogue's; 200Gbps if all jobs are graphs of
    operators)."""


@panel("Networks to choose from")
class GridWords(TypedDict, total=False):
    """Every combination of these is a network."""

    degrees: Annotated[str | Sequence[int], Word("LIST", "1,2,4,8")]
    """Ports per server to consider."""
    bandwidths: Annotated[str | Sequence[Amount], Word("LIST", "100Gbps,200Gbps,400Gbps,800Gbps")]
    """Bandwidths per port to consider."""
    fabrics: Annotated[Sequence[str], Word("LIST")]
    """Networks to consider, with commas: {networks of choose}. Default: {compared by choose}."""
    link_technologies: Annotated[Sequence[str], Word("LIST")]
    """Link technologies to consider: pluggable, linear, co-packaged, copper; see topoopt cost (default
    pluggable)."""


@panel("Limits")
class LimitWords(TypedDict, total=False):
    """A limit; without one the network on which a year of work costs least is chosen."""

    budget_usd: Annotated[float, Word("USD")]
    """Maximum total cost over all years, servers and electricity included; the fastest network within it is
    chosen."""
    deadline: Time
    """Maximum time, such as 9000h, for the work that the reference network does in a year of 8760h, or for the run
    that ``samples``, ``tokens`` or ``run_hours`` describes; the cheapest network that meets it is chosen."""
    weights: Annotated[str | Sequence[float], Word("LIST")]
    """Weights of the jobs in their order, instead of those after their names."""
    network_only: Switch
    """Count the price of the network only, without servers and electricity."""


@panel("Search effort")
class EffortWords(TypedDict, total=False):
    """How much is planned, and by whom."""

    exact: Switch
    """Plan every network that has a price, instead of skipping some by estimates."""
    proposals: int
    """Strategies to try per plan of a graph of operators (default 4000)."""
    seed: Annotated[int, Word("N", 0)]
    """Random seed."""
    processes: Annotated[int, Word("N", 0)]
    """Plans to make at a time; 0 for one per core."""
    ray: Annotated[str, Word("ADDRESS")]
    """Address of a Ray cluster to plan on: auto, local, ray://host:port (needs topoopt[ray])."""
    mix_versions: Switch
    """Reuse plans that another version of topoopt made."""


class ChooseWords(
    BoughtServersWords, GridWords, LimitWords, PriceListWords, OwnershipWords, EffortWords, total=False
):
    """All words that :func:`topoopt.choose` takes."""
