"""Routes to and from plain mappings for a plan file: their rule if that determines them, else paths."""

import dataclasses
import itertools
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal, Union, get_type_hints

import numpy as np
from pydantic import ConfigDict, Field, TypeAdapter, ValidationError, create_model

from topoopt.base.arrays import Ints
from topoopt.base.errors import InvalidInput, NoRoute, check_known
from topoopt.routing.balanced import BalancedRoutes
from topoopt.routing.coin_routes import CoinChangeRoutes
from topoopt.routing.ecmp import EcmpRoutes
from topoopt.routing.k_shortest import KShortestRoutes, SingleShortestRoutes
from topoopt.routing.pair_links import TurnedRoutes
from topoopt.routing.routes import Path, PathArrays, Routes, paths_of_pair
from topoopt.schema.files import Count, Strict
from topoopt.topologies import Topology


@dataclass(frozen=True, eq=False)
class DirectRoutes:
    """The link of each pair that has one."""

    topology: Topology
    method: ClassVar[str] = "direct"

    paths = paths_of_pair

    def path_arrays(self, src: Ints, dst: Ints) -> PathArrays:
        """Return the paths of many pairs; a pair of a server with itself has none."""
        away = src != dst
        a, b = src[away], dst[away]
        lost = np.flatnonzero(self.topology.link_ids(a, b) < 0)
        if len(lost):
            raise NoRoute(
                f"no route {a[lost[0]]}->{b[lost[0]]}: no link joins them and servers do not forward; "
                "let servers forward or give the pair a link"
            )
        nodes = np.stack([a, b], axis=1).ravel().astype(np.int32)
        path_first = np.concatenate(([0], np.cumsum(away))).astype(np.int64)
        return PathArrays(path_first, np.arange(0, len(nodes) + 1, 2), nodes, np.ones(len(a)))


@dataclass(frozen=True, eq=False)
class ExplicitRoutes:
    """A table of paths; make one with :func:`explicit_routes`."""

    topology: Topology
    table: Mapping[tuple[int, int], tuple[Path, ...]]
    method: ClassVar[str] = "explicit"

    def paths(self, src: int, dst: int) -> tuple[Path, ...]:
        """Return the paths of a pair; see :class:`topoopt.routing.Routes`."""
        if (src, dst) not in self.table:
            raise NoRoute(f"no route {src}->{dst}: the table of explicit routes has none; add one")
        return self.table[src, dst]


ROUTING: Mapping[str, Callable[[Topology, int], Routes]] = {
    "coin-change": lambda topology, seed: CoinChangeRoutes(topology, seed=seed),
    "k-shortest": lambda topology, seed: KShortestRoutes(topology, seed=seed),
    "ecmp": lambda topology, seed: EcmpRoutes(topology, seed=seed),
    "single-shortest": lambda topology, seed: SingleShortestRoutes(topology),
}
"""Routing methods by name, each from a topology and a seed to routes."""
_BY_SETTINGS: Mapping[str, type[CoinChangeRoutes | KShortestRoutes | EcmpRoutes]] = {
    routes.method: routes for routes in (CoinChangeRoutes, KShortestRoutes, EcmpRoutes)
}
"""Routings that their settings make again: all fields but the topology."""
_LEFT_OUT: Mapping[str, Mapping[str, Any]] = {"coin-change": {"coins": ()}, "ecmp": {"seed": 0}}
"""Settings that are not written where they have this value."""
_BY_NAME = tuple(name for name in ROUTING if name not in _BY_SETTINGS)
"""Routings that their name and a seed make again."""
_SAME = 1e-5
"""Tolerance of the sum of a pair's weights around 1."""


class _Typed(Strict):
    model_config = ConfigDict(strict=True)


class _ByName(_Typed):
    method: Literal[_BY_NAME]  # type: ignore[valid-type] # the table is known when this is read
    seed: Count = 0


def _model(routes: type[Any]) -> type[_Typed]:
    hints = get_type_hints(routes, include_extras=True)
    known: dict[str, Any] = {"method": (Literal[routes.method], ...)}
    known |= {one.name: (hints[one.name], one.default) for one in _settings(routes)}
    return create_model(routes.__name__, __base__=_Typed, **known)


def _settings(routes: Any) -> list["dataclasses.Field[Any]"]:
    return [one for one in dataclasses.fields(routes) if one.name != "topology"]


_Derived: Any = Annotated[
    Union[(*map(_model, _BY_SETTINGS.values()), _ByName)], Field(discriminator="method")
]


class _Balanced(_Typed):
    method: Literal["balanced"]
    candidates: _Derived
    src: list[int]
    dst: list[int]
    weights: list[list[Annotated[float, Field(ge=0, le=1)]]]


class _Turned(_Typed):
    method: Literal["turned"]
    step: int
    routes: Annotated[_Derived | _Balanced, Field(discriminator="method")]


class _Path(_Typed):
    nodes: list[int]
    weight: float = 1.0


class _Explicit(_Typed):
    method: Literal["explicit"]
    paths: list[_Path]


_READER: TypeAdapter[Any] = TypeAdapter(
    Annotated[_Derived | _Balanced | _Turned | _Explicit, Field(discriminator="method")]
)


def routes_to_mapping(routes: Routes) -> dict[str, Any]:
    """Return routes as a mapping of plain values: method and parameters, paths only where nothing implies them.

    Raises
    ------
    InvalidInput
        If the routes are of a kind that no plan file can hold.
    """
    made = {"method": routes.method}
    match routes:
        case TurnedRoutes(routes=first, step=step):
            return {"method": "turned", "step": step, "routes": routes_to_mapping(first)}
        case BalancedRoutes(candidates=candidates, src=src, dst=dst):
            weight, ends = routes.weight.tolist(), itertools.pairwise(routes.weight_first.tolist())
            pairs = {"src": src.tolist(), "dst": dst.tolist(), "weights": [weight[a:b] for a, b in ends]}
            return made | {"candidates": routes_to_mapping(candidates)} | pairs
        case ExplicitRoutes(table=table):
            paths = itertools.chain.from_iterable(table.values())
            return made | {"paths": [{"nodes": list(one.nodes), "weight": one.weight} for one in paths]}
        case _ if routes.method in _BY_SETTINGS:
            settings = {one.name: getattr(routes, one.name) for one in _settings(routes)}
            left_out = _LEFT_OUT.get(routes.method, {}).items()
            return made | dict(setting for setting in settings.items() if setting not in left_out)
        case _ if routes.method in _BY_NAME:
            seed = getattr(routes, "seed", 0)
            return made | ({"seed": seed} if seed else {})
        case _:
            raise InvalidInput(f"routes: method {routes.method} cannot be written to a plan file")


def routes_from_mapping(mapping: Mapping[str, Any], topology: Topology) -> Routes:
    """Return the routes that a mapping describes, on a topology.

    Raises
    ------
    InvalidInput
        If a key is unknown, a value is out of range, or a route steps where the topology has no link; the
        message names the place.
    NoRoute
        If coins do not connect the servers.
    """
    try:
        described = _READER.validate_python(dict(mapping))
    except ValidationError as error:
        first = error.errors()[0]
        place = ": ".join(str(part) for part in first["loc"])
        raise InvalidInput(f"routes: {place + ': ' if place else ''}{first['msg']}") from None
    return _routes(described, topology)


def _routes(described: Any, topology: Topology) -> Routes:
    match described:
        case _Balanced():
            src, dst, weights = described.src, described.dst, described.weights
            if not len(src) == len(dst) == len(weights):
                raise InvalidInput(
                    f"routes: balanced: src, dst and weights must be of one length, "
                    f"got {len(src)}, {len(dst)} and {len(weights)}"
                )
            sizes = np.fromiter(map(len, weights), np.int64, len(weights))
            flat = np.fromiter(itertools.chain.from_iterable(weights), np.float64, int(sizes.sum()))
            ends = np.array([src, dst], np.int64)
            outside = np.asarray(((ends < 0) | (ends >= topology.servers)).any(axis=0))
            total = np.bincount(np.repeat(np.arange(len(sizes)), sizes), flat, minlength=len(sizes))
            for pair in np.flatnonzero(outside | ~(np.abs(total - 1) <= _SAME))[:1].tolist():
                name = f"routes: balanced: pair {src[pair]}->{dst[pair]}"
                if outside[pair]:
                    raise InvalidInput(f"{name}: servers are 0..{topology.servers - 1}")
                raise InvalidInput(f"{name}: weights must sum to 1, got {weights[pair]}")
            return BalancedRoutes(
                topology,
                _routes(described.candidates, topology),
                ends[0],
                ends[1],
                np.concatenate(([0], np.cumsum(sizes))),
                flat,
            )
        case _Turned():
            return TurnedRoutes(topology, _routes(described.routes, topology), described.step)
        case _Explicit():
            return explicit_routes(topology, (Path(tuple(one.nodes), one.weight) for one in described.paths))
        case _ByName():
            return make_routes(described.method, topology, described.seed)
        case _:
            return _BY_SETTINGS[described.method](topology, **described.model_dump(exclude={"method"}))


def make_routes(name: str, topology: Topology, seed: int = 0) -> Routes:
    """Return the routes of a topology by the name of the method.

    Raises
    ------
    InvalidInput
        If the name is unknown, or the method does not suit the topology.
    """
    check_known("routing", name, ROUTING)
    return ROUTING[name](topology, seed)


def explicit_routes(topology: Topology, paths: Iterable[Path]) -> ExplicitRoutes:
    """Return routes from paths in any order; the paths of a pair share its bytes by weight.

    Raises
    ------
    InvalidInput
        If a path is shorter than two nodes, visits a node twice, has no positive weight, or steps where the
        topology has no link; or the weights of a pair do not sum to 1.
    """
    table: dict[tuple[int, int], tuple[Path, ...]] = {}
    for path in paths:
        shown = "->".join(str(node) for node in path.nodes)
        if len(path.nodes) < 2 or len(set(path.nodes)) < len(path.nodes):
            raise InvalidInput(f"routes: path {shown or '(empty)'}: expected two or more nodes, each once")
        if not path.weight > 0:
            raise InvalidInput(f"routes: path {shown}: weight must be positive, got {path.weight}")
        for end in (path.nodes[0], path.nodes[-1]):
            if not 0 <= end < topology.servers:
                raise InvalidInput(
                    f"routes: path {shown}: must join servers 0..{topology.servers - 1}, got {end}"
                )
        for a, b in zip(path.nodes, path.nodes[1:], strict=False):
            if not 0 <= b < topology.nodes or topology.link_id(a, b) < 0:
                raise InvalidInput(
                    f"routes: path {shown}: the topology has no link {a}->{b}; wire it or route around it"
                )
        pair = (path.nodes[0], path.nodes[-1])
        table[pair] = (*table.get(pair, ()), path)
    for (src, dst), alike in table.items():
        total = sum(path.weight for path in alike)
        if abs(total - 1) > 1e-6:
            raise InvalidInput(f"routes: pair {src}->{dst}: weights must sum to 1, got {total:g}")
    return ExplicitRoutes(topology, table)
