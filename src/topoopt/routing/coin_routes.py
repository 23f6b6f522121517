"""Coin-change routes: weighted shortest paths of every pair of a circulant, from one table of n entries."""

from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, ClassVar, NamedTuple

import numpy as np
from pydantic import Field

from topoopt.base.arrays import Floats, Ints, numbered
from topoopt.base.errors import InvalidInput
from topoopt.routing.coin_change import (
    CoinOptions,
    CoinTable,
    balanced_options,
    coin_change_mod,
    single_options,
)
from topoopt.routing.coin_routes_kernel import circulant_loads
from topoopt.routing.pair_links import LinkRows, merged_pair_links, turned_rows
from topoopt.routing.routes import PathArrays, paths_of_pair
from topoopt.schema.files import Count, Number
from topoopt.topologies import Topology, link_orbits, links_along


@dataclass(frozen=True, eq=False)
class CoinChangeRoutes:
    """Shortest coin sequences as routes; memory O(n · alternatives · coins), never n².

    Attributes
    ----------
    topology : Topology
        Topology with a link along every coin out of every server. Other links are not used.
    balance : bool
        Spread a distance over several sequences so that uniform all-to-all demand loads the coins as
        evenly as shortest paths allow (see ``routing/coin_change.py``); else one sequence each.
    alternatives : int
        Most paths of a pair.
    seed : int
        Decides which orders of a multiset are used.
    coins : tuple of int
        The steps to use; by default the offsets of the circulant.

    Raises
    ------
    InvalidInput
        If the topology is no circulant and no coins are given, or a link along a coin is missing.
    NoRoute
        If the coins do not reach every server.
    """

    topology: Topology
    balance: bool = True
    alternatives: Number = 4
    seed: Count = 0
    coins: Annotated[tuple[int, ...], Field(strict=False)] = ()  # a list in a plan file
    method: ClassVar[str] = "coin-change"

    def __post_init__(self) -> None:
        if not (self.coins or self.topology.offsets):
            raise InvalidInput(
                f"routing coin-change: needs a circulant, got {self.topology.family}; use k-shortest or ecmp"
            )
        if self.alternatives < 1:
            raise InvalidInput(f"routing: alternatives must be at least 1, got {self.alternatives}")
        _ = self.table.diameter, self.link_of

    @cached_property
    def table(self) -> CoinTable:
        """The coin table behind the routes."""
        return coin_change_mod(self.topology.servers, self.coins or self.topology.offsets)

    @cached_property
    def link_of(self) -> Ints:
        """Index of the link along each coin out of each server, shape (servers, coins)."""
        link = links_along(self.topology, self.table.coins)
        for row, column in np.argwhere(link < 0)[:1].tolist():
            coin = self.table.coins[column]
            raise InvalidInput(
                f"routing coin-change: coin {coin} needs a link {row}->{(row + coin) % len(link)}, "
                "which the topology does not have"
            )
        return link

    @cached_property
    def options(self) -> CoinOptions:
        """Weighted coin sequences of every distance."""
        if not self.balance:
            return single_options(self.table)
        # The slowest link of a coin speaks for its class.
        capacity = self.topology.bandwidth_bps[self.link_of].min(axis=0)
        return balanced_options(self.table, capacity / capacity.max(), self.alternatives, self.seed)

    paths = paths_of_pair

    @cached_property
    def links_alike(self) -> bool:
        """Whether all links along a coin are equal, so that results for server 0 hold for all."""
        return self.link_of.size == len(self.topology) and link_orbits(self.topology, 1) is not None

    def link_rows(self, src: Ints, dst: Ints) -> LinkRows:
        """Return the links of many pairs; those of a distance are found once and shifted."""
        n, coins = self.topology.servers, len(self.table.coins)
        distances, row = numbered((dst - src) % n, n)
        walks = self._walks(distances)
        of_step = np.repeat(np.repeat(np.arange(len(distances)), walks.paths), walks.hops)
        share = np.repeat(walks.weight, walks.hops)
        steps = merged_pair_links(len(distances), n * coins, of_step, walks.place * coins + walks.coin, share)
        return turned_rows(steps, row, src * coins, self.link_of.ravel().astype(np.int32))

    def path_arrays(self, src: Ints, dst: Ints) -> PathArrays:
        """Return the paths of many pairs."""
        n = self.topology.servers
        walks = self._walks((dst - src) % n)
        node_first = np.concatenate(([0], np.cumsum(walks.hops + 1)))
        last = np.zeros(int(node_first[-1]), bool)
        last[node_first[1:] - 1] = True
        nodes = np.empty(len(last), np.int32)
        nodes[last] = np.repeat(dst, walks.paths)
        nodes[~last] = (np.repeat(np.repeat(src, walks.paths), walks.hops) + walks.place) % n
        return PathArrays(np.concatenate(([0], np.cumsum(walks.paths))), node_first, nodes, walks.weight)

    def link_bytes(self, demand: Floats) -> Floats:
        """Return bytes on each link for a demand matrix (servers, servers), in O(n² · hops) at most."""
        options, coins = self.options, np.array(self.table.coins, np.int64)
        square = np.ascontiguousarray(demand, np.float64)
        load, jump, length = np.zeros((3, len(coins), len(square)))
        circulant_loads(
            square, coins, options.first, options.coin, options.count, options.weight,
            load, jump, length, np.zeros(len(square)),
        )  # fmt: skip
        on_links = np.zeros(len(self.topology))
        on_links[self.link_of] = load.T
        return on_links

    def _walks(self, distances: Ints) -> "_Walks":
        options = self.options
        chosen = options.of(distances)
        runs = options.count[chosen]
        hops = runs.sum(axis=1)
        coin = np.repeat(options.coin[chosen].ravel(), runs.ravel()).astype(np.int64)
        travelled = np.concatenate(([0], np.cumsum(np.array(self.table.coins, np.int64)[coin])))
        place = travelled[:-1] - np.repeat(travelled[np.cumsum(hops) - hops], hops)
        paths = options.first[distances + 1] - options.first[distances]
        return _Walks(paths, hops, options.weight[chosen], place % self.topology.servers, coin)


class _Walks(NamedTuple):
    """The coin sequences of some distances from server 0, one after the other."""

    paths: Ints  # of each distance
    hops: Ints  # of each path
    weight: Floats
    place: Ints  # where each step begins
    coin: Ints  # and along which coin it goes
