"""The words of prices and studies: what is bought and counted, choices, failures and sweeps."""

import os
from collections.abc import Sequence
from typing import Annotated, TypedDict

from topoopt.schema.words.arguments import Amount, Rate, Switch, Time, Word, panel


@panel("Prices")
class PriceListWords(TypedDict, total=False):
    """By which list networks are priced, and what is counted."""

    prices: Annotated[str, Word("2026|2025|2022|FILE", "2026")]
    """Price list: 2026, or those of papers, 2025 (MixNet) and 2022 (TopoOpt); a file lays its rows over the list to
    its left: 2025,mine.csv; alone over 2026, behind none over nothing."""
    accounting: Annotated[str, Word("NAME", "complete")]
    """complete: whole switches that can be bought, in the fewest tiers that reach. paper: the ports of a fat-tree of
    three tiers. no-look-ahead, fat-tree-fiber: as paper, with less counted."""
    tiers: Annotated[int, Word("1|2|3")]
    """Layers of switches; the fewest that reach, 3 where ports are counted."""
    fiber_length: Annotated[float, Word("METERS")]
    """Mean length of a link; by where servers stand in the room, 500 with ``accounting`` paper."""


@panel("Prices")
class PricingWords(PriceListWords, total=False):
    """The same, and what links are made of."""

    link_technology: Annotated[str, Word("KIND", "pluggable")]
    """pluggable, linear (modules without a signal processor), co-packaged (optics in the switch) or copper (where it
    reaches, servers to switches)."""


@panel("What it costs to own and to train")
class YearsWords(TypedDict, total=False):
    """Terms of ownership over years."""

    years: Annotated[float, Word("N")]
    """Over which everything is paid for; 5."""
    electricity_price: Annotated[float, Word("USD")]
    """Of a kilowatt-hour; 0.0872, US industry in 2025."""
    utilization: Annotated[float, Word("SHARE")]
    """Of the hours in which the cluster trains; 0.8, assumed."""
    interest: Annotated[float, Word("SHARE")]
    """Cost of capital a year; 0.1, where loans against accelerators begin. 0 for none."""
    colocation: Annotated[float, Word("USD")]
    """Of the building for a kilowatt and month, without electricity; 184, CBRE's average of 2025. 0 for none."""
    maintenance: Annotated[float, Word("SHARE")]
    """Repairs and support a year, of all prices; 0.048. 0 for none."""
    staff: Annotated[float, Word("USD")]
    """Of those who run it, a year; left out if not given."""
    storage: Annotated[float, Word("USD")]
    """Price of the storage that goes with it; left out if not given."""
    server_price: Annotated[Amount, Word("USD|low|typical|high")]
    """Of a server with its accelerators, without the network; typical of the catalogue (topoopt hardware servers)."""


@panel("What it costs to own and to train")
class RunningWords(YearsWords, total=False):
    """The same, and what the machines draw."""

    power_usage_effectiveness: Annotated[float, Word("RATIO", names=("pue",))]
    """Watts of the building for a watt of the parts; 1.58, the average of 2023."""
    server_power: Annotated[float, Word("WATTS")]
    """That a server draws while it trains; 82% of its rating."""


@panel("What it costs to own and to train")
class OwnershipWords(RunningWords, total=False):
    """The same, and the training that is priced."""

    samples: Annotated[float, Word("N")]
    """Samples of a training run, which is then priced, too."""
    tokens: Annotated[float, Word("N")]
    """Or its tokens, of a transformer."""
    run_hours: Annotated[float, Word("HOURS")]
    """Or how long it takes on the first network shown."""


@panel("Network")
class NetworkWords(TypedDict, total=False):
    """Whose network it is."""

    servers: int
    """Servers; 128."""
    degree: int
    """Training ports of a server; 4."""
    bandwidth: Rate
    """Of one port; 100Gbps."""
    links: Annotated[str, Word("duplex|directed")]
    """A port is a fiber pair to one neighbor, or sends to one and hears another; duplex."""
    accelerator: Annotated[str, Word("NAME")]
    """Of the servers, for their price (topoopt hardware); a100."""
    accelerators_per_server: int
    """Accelerators of a server; 4."""
    wiring: Annotated[str | os.PathLike[str], Word("FILE")]
    """A wiring file, or a graph of others (GraphML, DOT, node-link JSON, a list of links), which says servers,
    ports, links, and the bandwidth where its links have one."""


@panel("What is bought")
class PurchaseWords(TypedDict, total=False):
    """Fabrics, and where their prices and watts come from."""

    fabrics: Annotated[Sequence[str], Word("LIST")]
    """Networks, with commas: {networks of cost}. Default: all."""
    power: Annotated[str, Word("typical|FILE", "typical")]
    """Watts of parts: makers' typical figures, or a file whose rows are laid over them."""
    oversubscription: Annotated[float, Word("RATIO", 2.0)]
    """Of the oversub-fat-tree, at its first switch."""
    ocs_interfaces: int
    """Ports of a server that topoopt-hybrid has behind optical circuit switches; half of them."""
    electrical_interfaces: int
    """Ports of a server that mixnet has on its electrical fat-tree; a quarter of them."""
    shards: Annotated[int, Word("N", 1)]
    """Parts of the cluster with optical devices of their own; servers of two parts cannot be joined."""
    technology: Annotated[str, Word("NAME")]
    """Optical technology or product of the fabrics that have one (topoopt hardware optical-switches)."""


@panel("What is counted")
class AccountingWords(TypedDict, total=False):
    """Choices of the accounting; and how the network is run."""

    nics: bool
    """Network cards."""
    look_ahead: bool
    """A second panel behind 1×2 switches, on which the next job is wired while this one runs."""
    look_ahead_fiber: bool
    """Fibers of its own for the second panel."""
    fiber_on: Annotated[str, Word("WHICH")]
    """Who pays for fiber: every-fabric, fat-trees or none."""


@panel("Optical technologies")
class OpticsWords(TypedDict, total=False):
    """How often the traffic changes, and what rewiring may take."""

    change_every: Time
    """How long the traffic stays the same, such as 1s; as long as the job if not given."""
    overhead: Annotated[float, Word("FRACTION", 0.1)]
    """Of the time, for rewiring at most."""


class CostWords(
    NetworkWords, PurchaseWords, PricingWords, AccountingWords, OwnershipWords, OpticsWords, total=False
):
    """All words that :func:`topoopt.cost` takes."""


@panel("Question")
class ResultsWords(TypedDict, total=False):
    """All words that :func:`topoopt.results` takes."""

    columns: Annotated[str | Sequence[str], Word("LIST")]
    """With commas; what differs and the main figures if not given."""
    where: Annotated[str, Word("SQL")]
    """A condition, such as "model = 'dlrm'"."""
    order: Annotated[str, Word("SQL")]
    """Such as "cost_usd desc"; by settings if not given."""
    limit: int
    """Most rows; 20 in the terminal, all in files and JSON. 0: all."""
    best: Annotated[str, Word("fastest|cheapest|front|SQL")]
    """The fabric that has least of it, for each job; front: all fabrics that none beats in both price and time."""
    per: Annotated[str | Sequence[str], Word("LIST")]
    """With ``best``: for each of these; all that differs but fabric."""
    sql: Annotated[str, Word("QUERY")]
    """Any question to points, runs and attempts."""


@panel("One failure")
class FailureWords(TypedDict, total=False):
    """One failure."""

    link: Annotated[str | tuple[int, int], Word("A-B")]
    """The cable between servers A and B fails."""
    cable: Annotated[str, Word("ID")]
    """The cable of this label, from a server to a panel, fails."""
    server: Annotated[int | str, Word("N|NAME")]
    """Server N fails, or the one of this name."""
    panel: Annotated[int | str, Word("K|NAME")]
    """Panel (optical switch) K fails, or the one of this name: all links on it."""
    at: Time
    """When, such as 3h: shows the course of the job."""
    inventory: Annotated[str | os.PathLike[str], Word("FILE")]
    """Which server, interface, panel, port and cable is which (YAML, TOML, JSON). What it leaves out is made up."""
    without: Annotated[Sequence[str], Word("LIST")]
    """Repairs to leave out, such as spare,look-ahead."""


@panel("A month of failures")
class AvailabilityWords(TypedDict, total=False):
    """A month of failures."""

    availability: Switch
    """Let parts fail and be repaired by chance."""
    rates: Annotated[str | os.PathLike[str], Word("FILE")]
    """How often parts fail, how long repairs take, spares, restart (YAML)."""
    repaired_by: Annotated[str, Word("WHO")]
    """Who repairs, where no ``rates`` say how long that takes: robot (at the panels), on-site or remote-hands;
    on-site."""
    spares: int
    """Servers that stand by; one for every 64, or as ``rates`` say."""
    days: Annotated[float, Word("N", 30.0)]
    """How long."""
    runs: Annotated[int, Word("N", 1000)]
    """How many months."""
    seed: Annotated[int, Word("N", 0)]
    """Of all chance."""


class FailWords(FailureWords, AvailabilityWords, total=False):
    """All words that :func:`topoopt.fail` takes."""

    optics: Annotated[str, Word("NAME")]
    """What panels are, for the time of moves; patch-panel if not given."""
    look_ahead: Switch
    """Every panel has a look-ahead panel, also where the plan's price counts none."""
    simulator: Annotated[str, Word("analytic|flow|packet", "analytic")]
    """analytic: first come, first served on each link, quick. flow: fair shares over time. packet: every
    packet through every queue."""


@panel("Servers")
class BoughtServersWords(TypedDict, total=False):
    """The servers that are bought, alike for all jobs."""

    servers: int
    """Servers; 64."""
    accelerators: int
    """Accelerators, instead of ``servers``."""
    accelerator: Annotated[str, Word("NAME")]
    """See topoopt hardware; h100, a100 if all jobs are graphs of operators."""
    accelerators_per_server: int
    """Accelerators of a server; as many as the catalogue says, 4 if all jobs are graphs of operators."""
    intra_server_bandwidth: Rate
    """Scale-up bandwidth of an accelerator; the catalogue's, 200Gbps if all jobs are graphs of operators."""


@panel("Networks to choose from")
class GridWords(TypedDict, total=False):
    """Every combination of these is a network."""

    degrees: Annotated[str | Sequence[int], Word("LIST", "1,2,4,8")]
    """Ports of a server."""
    bandwidths: Annotated[str | Sequence[Amount], Word("LIST", "100Gbps,200Gbps,400Gbps,800Gbps")]
    """Of one port."""
    fabrics: Annotated[Sequence[str], Word("LIST")]
    """Networks, with commas: {networks of choose}. Default: {compared by choose}."""
    link_technologies: Annotated[Sequence[str], Word("LIST")]
    """What links are made of: pluggable, linear, co-packaged, copper, as topoopt cost has them; pluggable if not
    given."""


@panel("What is chosen")
class LimitWords(TypedDict, total=False):
    """A limit; without one the network on which a year of work costs least is chosen."""

    budget_usd: Annotated[float, Word("USD")]
    """Over all years, servers and electricity included: the fastest that it pays."""
    deadline: Time
    """For the work that the reference network does in a year of 8760h, such as 9000h, or for the run where ``samples``,
    ``tokens`` or ``run_hours`` say one: the cheapest that meets it."""
    weights: Annotated[str | Sequence[float], Word("LIST")]
    """Shares of the jobs in their order, instead of those behind their names."""
    network_only: Switch
    """Money is the price of the network alone, without servers and electricity."""


@panel("How it is found")
class EffortWords(TypedDict, total=False):
    """How much is planned, and by whom."""

    exact: Switch
    """Plan every network that has a price, and spare none by estimates."""
    budget: Annotated[int, Word("N", 400)]
    """Strategies to try for a plan of a model of operators."""
    seed: Annotated[int, Word("N", 0)]
    """Of all chance."""
    processes: Annotated[int, Word("N", 0)]
    """Plans made at a time; 0 for one on each core."""
    ray: Annotated[str, Word("ADDRESS")]
    """Plan on a Ray cluster: auto, local, ray://host:port (needs topoopt[ray])."""
    mix_versions: Switch
    """Go on with plans of another version of topoopt."""


class ChooseWords(
    BoughtServersWords, GridWords, LimitWords, PriceListWords, OwnershipWords, EffortWords, total=False
):
    """All words that :func:`topoopt.choose` takes."""
