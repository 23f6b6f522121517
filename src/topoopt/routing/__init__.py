"""Routing: routes, forwarding, link loads and lower bounds on them."""

from typing import TYPE_CHECKING

from topoopt.base.lazy_face import hand_on_lazily

if TYPE_CHECKING:
    from topoopt.routing.balanced import BalancedRoutes as BalancedRoutes
    from topoopt.routing.balanced import balanced_routes as balanced_routes
    from topoopt.routing.coin_change import CoinTable as CoinTable
    from topoopt.routing.coin_change import bandwidth_tax as bandwidth_tax
    from topoopt.routing.coin_change import coin_change_mod as coin_change_mod
    from topoopt.routing.coin_change import coin_length_distribution as coin_length_distribution
    from topoopt.routing.coin_routes import CoinChangeRoutes as CoinChangeRoutes
    from topoopt.routing.ecmp import EcmpRoutes as EcmpRoutes
    from topoopt.routing.fabric import CIRCUIT_CHOICES as CIRCUIT_CHOICES
    from topoopt.routing.fabric import SATURATED as SATURATED
    from topoopt.routing.fabric import Fabric as Fabric
    from topoopt.routing.fabric import Reconfiguration as Reconfiguration
    from topoopt.routing.fabric import RegionalReconfiguration as RegionalReconfiguration
    from topoopt.routing.fabric import beat as beat
    from topoopt.routing.hash_conflicts import Conflicts as Conflicts
    from topoopt.routing.hash_conflicts import conflicts_on as conflicts_on
    from topoopt.routing.hash_conflicts import expected_fullest_bin as expected_fullest_bin
    from topoopt.routing.hash_conflicts import no_conflict_share as no_conflict_share
    from topoopt.routing.k_shortest import KShortestRoutes as KShortestRoutes
    from topoopt.routing.k_shortest import SingleShortestRoutes as SingleShortestRoutes
    from topoopt.routing.k_shortest import next_links as next_links
    from topoopt.routing.link_loads import LaidTraffic as LaidTraffic
    from topoopt.routing.link_loads import all_pair_links as all_pair_links
    from topoopt.routing.link_loads import lay_traffic as lay_traffic
    from topoopt.routing.link_loads import link_loads as link_loads
    from topoopt.routing.link_loads import link_rows as link_rows
    from topoopt.routing.link_loads import pair_links as pair_links
    from topoopt.routing.mapping import ROUTING as ROUTING
    from topoopt.routing.mapping import DirectRoutes as DirectRoutes
    from topoopt.routing.mapping import ExplicitRoutes as ExplicitRoutes
    from topoopt.routing.mapping import explicit_routes as explicit_routes
    from topoopt.routing.mapping import make_routes as make_routes
    from topoopt.routing.mapping import routes_from_mapping as routes_from_mapping
    from topoopt.routing.mapping import routes_to_mapping as routes_to_mapping
    from topoopt.routing.optimal_load import LoadOptimum as LoadOptimum
    from topoopt.routing.optimal_load import circulant_max_load as circulant_max_load
    from topoopt.routing.optimal_load import exact_max_load as exact_max_load
    from topoopt.routing.optimal_load import max_load_s as max_load_s
    from topoopt.routing.optimal_load import optimal_max_load as optimal_max_load
    from topoopt.routing.pair_links import LinkRows as LinkRows
    from topoopt.routing.pair_links import PairLinks as PairLinks
    from topoopt.routing.pair_links import PathTable as PathTable
    from topoopt.routing.pair_links import TurnedRoutes as TurnedRoutes
    from topoopt.routing.pair_links import own_rows as own_rows
    from topoopt.routing.pair_links import path_table as path_table
    from topoopt.routing.pair_links import turned_routes as turned_routes
    from topoopt.routing.routes import Path as Path
    from topoopt.routing.routes import PathArrays as PathArrays
    from topoopt.routing.routes import Routes as Routes
    from topoopt.routing.routes import chosen_paths as chosen_paths
    from topoopt.routing.routes import connection_uniform as connection_uniform
    from topoopt.routing.routes import cumulative_weights as cumulative_weights
    from topoopt.routing.routes import path_arrays as path_arrays
    from topoopt.routing.routes import used_paths as used_paths

__all__ = hand_on_lazily(__name__)  # noqa: PLE0605 - the names above
