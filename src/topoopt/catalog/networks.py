"""The registry of networks: one record per fabric, each declared in a file of its own.

Files of :mod:`topoopt.networks` and entry points of the group ``topoopt.networks`` declare the records. They are found
when a name is first looked up, so that the packages below a fabric's parts (wirings, routes, prices) can use the table.
"""

import importlib
import pkgutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from topoopt.base.errors import InvalidInput, check_known, refuse_repeated
from topoopt.base.plugins import NETWORKS as GROUP
from topoopt.base.plugins import with_added
from topoopt.schema.words import TEXT_LISTS

OWN = "topoopt"
"""The network whose wiring is found for a job."""
IDEAL_SWITCH = "ideal-switch"
"""One switch with a port for every interface: the least time that a network of switches can take."""
PUBLISHED_IDEAL_OVER_TOPOOPT = 3.2
"""TopoOpt's bandwidth over that of a fat-tree of equal cost (NSDI 2023, Fig. 10: Ideal / TopoOpt)."""
DESCRIBED = "topoopt.finder.described_network"
"""Module of the networks that are not in the registry; it imports packages above this one."""
DEFAULT_LATENCY_S = 1e-6
"""Latency of one link."""


def every_port(cluster: Any, pricing: Any) -> tuple[int, float]:
    """Return the ports of a server and the bandwidth of one, as in the cluster that is compared with."""
    return cluster.degree, cluster.link_bandwidth_bps


@dataclass(frozen=True, slots=True)
class Sizing:
    """Ports per server and their bandwidth on a fabric that a job is compared on.

    Attributes
    ----------
    fabric : str
        Name of the network.
    description : str
        The fabric and where its bandwidth comes from.
    interfaces : function of (ClusterSpec, Pricing) to (ports per server, bandwidth of one in bits per second)
    variant : str
        Label that distinguishes one sizing of a fabric from another.
    suffix : str
        Suffix of :attr:`key`; empty for the first sizing of a fabric.
    published : bool
        Whether a paper's figure sizes it, for which no server with a NIC for each accelerator can be bought.
    shared_evenly : function as ``interfaces``, optional
        Replacement where each accelerator has a NIC, or an equal share of one.
    """

    fabric: str
    description: str
    interfaces: Callable[[Any, Any], tuple[int, float]] = every_port
    variant: str = ""
    suffix: str = ""
    published: bool = False
    shared_evenly: Callable[[Any, Any], tuple[int, float]] | None = None

    @property
    def key(self) -> str:
        """Name of the sizing: that of the fabric, for all but the first with the suffix."""
        return f"{self.fabric}-{self.suffix}" if self.suffix else self.fabric

    @property
    def label(self) -> str:
        """The fabric, with the variant in parentheses."""
        return labeled(self.fabric, self.variant)


def is_described(name: str) -> bool:
    """Return whether the name of a fabric is that of a graph file, or a fabric with settings: ``torus:twisted=1``."""
    return "/" in name or "." in name or "=" in name


def labeled(fabric: str, variant: str) -> str:
    """Return the name of a fabric, with its variant in parentheses if it has one.

    Examples
    --------
    >>> labeled("fat-tree", "priced"), labeled("torus", "")
    ('fat-tree (priced)', 'torus')
    """
    return f"{fabric} ({variant})" if variant else fabric


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Network:
    """A fabric: how it is built, priced, drawn and compared.

    Attributes
    ----------
    name : str
        The name that users type.
    label : str
        A word or two for charts.
    description : str
        One-line description of the fabric and the ports of a server.
    price : function to topoopt.pricing.FabricPrice
        Rules for its parts and its feasibility.
    wire : function of (servers, ports, bandwidth_bps, latency_s, seed) and settings to Topology, optional
        The links of a fabric whose links stay; routes are shortest paths and rings are found on them.
    build : function of FabricRequest to Fabric, optional
        Links, routes and rings together, in place of ``wire``. None of both where ``timed_as`` names the fabric that
        carries a job as this one does.
    share : float
        Share of a server's bandwidth d·B by default.
    settings : frozenset of str
        Fields of :class:`topoopt.finder.FabricShape` that apply to it.
    timed_as : str
        Name of the fabric with the same links; empty for a fabric of its own.
    switched, cabled : bool
        Whether it has packet switches, and whether it is nothing but cables from server to server.
    relays : bool
        Whether servers forward the traffic of others over links that stay.
    changes : bool
        Whether circuits change while a job runs.
    trunks : bool
        Whether a server has one link of all its bandwidth, and parallel switches are merged into trunks.
    mean_hops : function of (servers, ports, link model) to float, optional
        Links of a mean route, for closed forms; None where there is no closed form.
    oversubscription : float
        Bandwidth into the first switch over bandwidth out of it.
    sizes : tuple of Sizing
        Sizings that a plan is compared with; by default one with every port of the cluster.
    compared : bool
        Whether verbs that accept the fabric compare it by default.
    panels : bool
        Whether ports are behind patch panels, which people rewire.
    own_ports : bool
        Whether it takes ports of a number of its own, whatever the cluster has.
    closed_form : bool
        Whether closed forms hold on it, which know its bandwidth per server, hops and oversubscription only.
    color : int
        Index of its color in charts.
    order : int
        Place in lists; fabrics of equal order are sorted by name.
    """

    name: str
    label: str
    description: str
    price: Callable[[], Any]
    wire: Any = None
    build: Callable[[Any], Any] | None = None
    share: float = 1.0
    settings: frozenset[str] = frozenset()
    timed_as: str = ""
    switched: bool = False
    cabled: bool = False
    relays: bool = False
    changes: bool = False
    trunks: bool = False
    mean_hops: Callable[[int, int, str], float] | None = None
    oversubscription: float = 1.0
    sizes: tuple[Sizing, ...] = ()
    compared: bool = False
    panels: bool = False
    own_ports: bool = False
    closed_form: bool = True
    color: int | None = None
    order: int = 1000

    @property
    def is_built(self) -> bool:
        """Whether it can be simulated by its name."""
        return self.wire is not None or self.build is not None

    @property
    def is_baseline(self) -> bool:
        """Whether a plan can be compared with the job on it."""
        return self.is_built and self.name != OWN

    @property
    def switches_circuits(self) -> bool:
        """Whether it is TopoOpt with optical circuit switches alone, which can rewire between phases and jobs."""
        return self.timed_as == OWN and not self.panels and not self.cabled

    @property
    def carried_as(self) -> str:
        """Name of the fabric on which a job is timed."""
        return self.timed_as or self.name

    @property
    def sizings(self) -> tuple[Sizing, ...]:
        """Sizings that a plan is compared with."""
        return self.sizes or (Sizing(self.name, self.description),)

    @property
    def all_bandwidth(self) -> bool:
        """Whether a server has every port of the cluster, and not as many as a price buys."""
        return all(size.interfaces is every_port for size in self.sizings)


class Networks(Mapping[str, Network]):
    """The registry: networks by name, in their order, found at the first look."""

    def __init__(self) -> None:
        self._found: dict[str, Network] = {}

    def _all(self) -> dict[str, Network]:
        if not self._found:
            folder = importlib.import_module(GROUP)
            modules = [
                importlib.import_module(f"{GROUP}.{one.name}")
                for one in pkgutil.iter_modules(folder.__path__)
            ]
            found: dict[str, Network] = {module.NETWORK.name: module.NETWORK for module in modules}
            every, errors = with_added(found, GROUP, Network)
            for error in errors.values():
                raise error
            self._found = dict(sorted(every.items(), key=lambda item: (item[1].order, item[0])))
        return self._found

    def __getitem__(self, name: str) -> Network:
        if name not in self._all() and is_described(name):
            found: Network = importlib.import_module(DESCRIBED).described_network(name)
            return found
        return self._all()[name]

    def __contains__(self, name: object) -> bool:
        return name in self._all() or is_described(str(name))

    def __iter__(self) -> Iterator[str]:
        return iter(self._all())

    def __len__(self) -> int:
        return len(self._all())

    def that(self, condition: Callable[[Network], bool]) -> tuple[str, ...]:
        """Return the names of the networks that meet a condition."""
        return tuple(one.name for one in self.values() if condition(one))

    def sizings(self) -> dict[str, Sizing]:
        """Return the sizings of all networks that a job is compared on, by key."""
        return {size.key: size for one in self.values() if one.is_baseline for size in one.sizings}


NETWORKS = Networks()
"""Every fabric by name."""


@dataclass(frozen=True, slots=True)
class Rule:
    """Networks that a verb accepts, and which of the networks compared by default it compares."""

    accepts: Callable[[Network], bool]
    compares: Callable[[Network], bool] = lambda one: True


RULES: Mapping[str, Rule] = {
    "simulate": Rule(lambda one: one.is_built),
    "cost": Rule(lambda one: True),
    # a full mesh takes other ports than the plan's, and stands beside it only where it is named
    "plan": Rule(lambda one: one.is_baseline or one.cabled, lambda one: not one.own_ports),
    # a fabric that is sized by a price is no point of a grid, and no network of servers with all of their bandwidth
    "choose": Rule(lambda one: one.all_bandwidth, lambda one: not one.own_ports),
    "rl": Rule(
        lambda one: not one.changes and (one.is_built or one.switches_circuits),
        lambda one: one.all_bandwidth and not one.own_ports,
    ),
    "serving": Rule(lambda one: one.is_built and not one.changes, lambda one: one.all_bandwidth),
    # jobs have shards of TopoOpt or share packet switches; other shared links are compared where they are named
    "cluster": Rule(
        lambda one: one.is_built or one.switches_circuits, lambda one: one.switched or one.name == OWN
    ),
    "studio": Rule(
        lambda one: (
            (one.is_built or one.cabled)
            and one.all_bandwidth
            and one.closed_form
            and not (one.relays and one.mean_hops is None)
        ),
        lambda one: not one.own_ports,
    ),
}
"""Rules by verb."""


def networks_of(verb: str) -> tuple[str, ...]:
    """Return the names of the networks that a verb accepts."""
    return tuple(one.name for one in NETWORKS.values() if RULES[verb].accepts(one))


def check_networks(kind: str, names: Sequence[str], verb: str, *more: str) -> None:
    """Refuse names of which one is no network of the verb, no graph file and no fabric with settings.

    Raises
    ------
    InvalidInput
        With the nearest names, the mistake in a file or a setting, or the name that is given twice.
    """
    refuse_repeated(kind, names)
    for name in names:
        if not is_described(name):
            check_known(kind, name, (*more, *networks_of(verb)))
        elif not RULES[verb].accepts(NETWORKS[name]):
            known = ", ".join(networks_of(verb))
            raise InvalidInput(f"{kind}: {verb} cannot use {name}; known here: {known}")


def compared_by(verb: str) -> tuple[str, ...]:
    """Return the names of the networks that a verb compares by default."""
    rule = RULES[verb]
    every = [one for one in NETWORKS.values() if one.compared and rule.accepts(one)]
    return tuple(one.name for one in every if rule.compares(one))


def sizings_of(names: Iterable[str], own_nics: bool = False) -> tuple[Sizing, ...]:
    """Return the sizings of several networks, in the order of their names; with ``own_nics`` those of accelerators."""
    sizes = tuple(size for name in names for size in NETWORKS[name].sizings)
    if not own_nics:
        return sizes
    fit = (size for size in sizes if not size.published)
    return tuple(replace(size, interfaces=size.shared_evenly or size.interfaces) for size in fit)


def _accepted(verb: str) -> tuple[str, ...]:
    file = () if verb in ("choose", "studio") else ("a graph file",)
    return (*networks_of(verb), *file, "or a name with settings such as leaf-spine:oversubscription=2")


for _verb in RULES:
    TEXT_LISTS[f"networks of {_verb}"] = partial(_accepted, _verb)
    TEXT_LISTS[f"compared by {_verb}"] = partial(compared_by, _verb)
