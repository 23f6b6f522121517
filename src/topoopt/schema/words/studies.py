"""The words of a choice: which networks may be bought, for what money, and how long the work may take."""

import os
from collections.abc import Sequence
from typing import Annotated, TypedDict

from topoopt.schema.words.arguments import Amount, Rate, Switch, Time, Word, panel
from topoopt.schema.words.cost import OwnershipWords, PriceListWords


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
