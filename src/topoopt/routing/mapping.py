"""Routes to and from plain mappings for a plan file: how they were made where that says it all, else paths."""

import itertools
from collections.abc import Mapping
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import ConfigDict, Field, TypeAdapter, ValidationError

from topoopt.errors import InvalidInput
from topoopt.files import Strict
from topoopt.routing.balanced import BalancedRoutes
from topoopt.routing.coin_routes import CoinChangeRoutes
from topoopt.routing.ecmp import EcmpRoutes
from topoopt.routing.explicit import ExplicitRoutes, explicit_routes
from topoopt.routing.k_shortest import KShortestRoutes
from topoopt.routing.methods import ROUTING, make_routes
from topoopt.routing.routes import Path, Routes
from topoopt.topology import Topology


class _Typed(Strict):
    model_config = ConfigDict(strict=True)


class _CoinChange(_Typed):
    method: Literal["coin-change"]
    balance: bool = True
    alternatives: int = Field(4, ge=1)
    seed: int = Field(0, ge=0)
    coins: list[int] = Field(default=[])

    def routes(self, topology: Topology) -> Routes:
        return CoinChangeRoutes(topology, self.balance, self.alternatives, self.seed, tuple(self.coins))


class _KShortest(_Typed):
    method: Literal["k-shortest"]
    k: int = Field(4, ge=1)
    slack: int = Field(0, ge=0)
    weighting: Literal["equal", "inverse-length"] = "equal"
    seed: int = Field(0, ge=0)

    def routes(self, topology: Topology) -> Routes:
        return KShortestRoutes(topology, self.k, self.slack, self.weighting, self.seed)


class _Ecmp(_Typed):
    method: Literal["ecmp"]
    limit: int = Field(64, ge=1)
    seed: int = Field(0, ge=0)

    def routes(self, topology: Topology) -> Routes:
        return EcmpRoutes(topology, self.limit, self.seed)


_BY_NAME = tuple(name for name in ROUTING if name not in ("coin-change", "k-shortest", "ecmp"))
"""Routings that their name and a seed make again."""


class _ByName(_Typed):
    method: Literal[_BY_NAME]  # type: ignore[valid-type] # the table is known when this is read
    seed: int = Field(0, ge=0)

    def routes(self, topology: Topology) -> Routes:
        return make_routes(self.method, topology, self.seed)


class _Balanced(_Typed):
    method: Literal["balanced"]
    candidates: "_AnyDerived"
    src: list[int]
    dst: list[int]
    weights: list[list[Annotated[float, Field(ge=0, le=1)]]]

    def routes(self, topology: Topology) -> Routes:
        if not len(self.src) == len(self.dst) == len(self.weights):
            raise InvalidInput(
                f"routes: balanced: src, dst and weights must be of one length, "
                f"got {len(self.src)}, {len(self.dst)} and {len(self.weights)}"
            )
        for a, b, weights in zip(self.src, self.dst, self.weights, strict=True):
            if not (0 <= a < topology.servers and 0 <= b < topology.servers):
                raise InvalidInput(f"routes: balanced: pair {a}->{b}: servers are 0..{topology.servers - 1}")
            if abs(sum(weights) - 1) > 1e-5:
                raise InvalidInput(f"routes: balanced: pair {a}->{b}: weights must sum to 1, got {weights}")
        first = np.concatenate(([0], np.cumsum([len(weights) for weights in self.weights])))
        return BalancedRoutes(
            topology,
            self.candidates.routes(topology),
            np.array(self.src, np.int64),
            np.array(self.dst, np.int64),
            first.astype(np.int64),
            np.array([weight for weights in self.weights for weight in weights], np.float64),
        )


class _Path(_Typed):
    nodes: list[int]
    weight: float = 1.0


class _Explicit(_Typed):
    method: Literal["explicit"]
    paths: list[_Path]

    def routes(self, topology: Topology) -> Routes:
        return explicit_routes(topology, (Path(tuple(path.nodes), path.weight) for path in self.paths))


_AnyDerived = Annotated[_CoinChange | _KShortest | _Ecmp | _ByName, Field(discriminator="method")]
_Any = Annotated[
    _CoinChange | _KShortest | _Ecmp | _ByName | _Balanced | _Explicit, Field(discriminator="method")
]
_READER: TypeAdapter[Any] = TypeAdapter(_Any)


def routes_to_mapping(routes: Routes) -> dict[str, Any]:
    """Return routes as a mapping of plain values: method and parameters, paths only where nothing implies them.

    Raises
    ------
    InvalidInput
        If the routes are of a kind that no plan file can hold.
    """
    match routes:
        case CoinChangeRoutes():
            found = _CoinChange(
                method="coin-change",
                balance=routes.balance,
                alternatives=routes.alternatives,
                seed=routes.seed,
                coins=list(routes.coins),
            )
            return found.model_dump(exclude=None if routes.coins else {"coins"})
        case KShortestRoutes(k=k, slack=slack, weighting=weighting, seed=seed):
            return {"method": "k-shortest", "k": k, "slack": slack, "weighting": weighting, "seed": seed}
        case EcmpRoutes():
            drawn = {"seed": routes.seed} if routes.seed else {}
            return {"method": "ecmp", "limit": routes.limit, **drawn}
        case BalancedRoutes():
            return _balanced_mapping(routes)
        case ExplicitRoutes():
            flat = [path for paths in routes.table.values() for path in paths]
            paths = [{"nodes": list(path.nodes), "weight": path.weight} for path in flat]
            return {"method": "explicit", "paths": paths}
        case _ if routes.method in _BY_NAME:
            seed = getattr(routes, "seed", 0)
            return {"method": routes.method} | ({"seed": seed} if seed else {})
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
    routes: Routes = described.routes(topology)
    return routes


def _balanced_mapping(routes: BalancedRoutes) -> dict[str, Any]:
    ends = routes.weight_first.tolist()
    weight = routes.weight.tolist()
    return {
        "method": "balanced",
        "candidates": routes_to_mapping(routes.candidates),
        "src": routes.src.tolist(),
        "dst": routes.dst.tolist(),
        "weights": [weight[a:b] for a, b in itertools.pairwise(ends)],
    }
