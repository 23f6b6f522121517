"""The words of a price: which network, what is bought, what is counted."""

import os
from collections.abc import Sequence
from typing import Annotated, TypedDict

from topoopt.schema.words.arguments import Amount, Rate, Time, Word, panel


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
class RunningWords(TypedDict, total=False):
    """Network, servers and what running them takes over years."""

    years: Annotated[float, Word("N")]
    """Over which everything is paid for; 5."""
    electricity_price: Annotated[float, Word("USD")]
    """Of a kilowatt-hour; 0.0872, US industry in 2025."""
    power_usage_effectiveness: Annotated[float, Word("RATIO", names=("pue",))]
    """Watts of the building for a watt of the parts; 1.58, the average of 2023."""
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
    server_power: Annotated[float, Word("WATTS")]
    """That a server draws while it trains; 82 % of its rating."""


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
    """Optical technology of the fabrics that have one (topoopt hardware optical-switches)."""


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
