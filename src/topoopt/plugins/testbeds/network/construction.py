"""Making and removing a network, step by step; each step visits every namespace once."""

import os
import signal
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from typing import Any

from topoopt.plugins.testbeds.congestion.registration import unregister
from topoopt.plugins.testbeds.namespaces import create_namespace, processes_inside, remove_namespace
from topoopt.plugins.testbeds.network.layout import Cable, Layout
from topoopt.plugins.testbeds.network.netlink import (
    add_cables,
    hang_on_switch,
    make_switch,
    set_routes,
    set_up_node,
    set_up_ports,
    speaking,
    unplug,
)
from topoopt.plugins.testbeds.network.state import TestbedState, forget

_MOST_TRIES = 100  # to end processes: they may start others meanwhile


def make_network(state: TestbedState, layout: Layout) -> None:
    """Make the namespaces of a testbed and all that is in them."""
    for name in state.namespaces:
        create_namespace(name)
    _in_each(state, range(layout.nodes), lambda kernel, node: set_up_node(kernel, node, layout))
    change_cables(state, replace(layout, cables=(), routes=()), layout)
    if layout.switch:
        _in_each(state, range(layout.servers), lambda kernel, server: hang_on_switch(kernel, layout, server))
        _in_each(
            state,
            [layout.servers],
            lambda kernel, node: make_switch(kernel, layout.ports_of[node], layout.shaping.mtu_bytes),
        )
    else:
        route_servers(state, layout)


def change_cables(state: TestbedState, old: Layout, new: Layout) -> None:
    """Pull the cables that a new layout does not have, and plug in those that it has more."""
    gone, comes = set(old.cables) - set(new.cables), [one for one in new.cables if one not in set(old.cables)]
    for server in sorted({cable.a.node for cable in gone}):
        names = [cable.a.name for cable in gone if cable.a.node == server]
        speaking(state.namespaces[server], unplug, names)
    by_server: dict[int, list[tuple[Cable, str]]] = {}
    ports: dict[int, list[Any]] = {}
    for cable in comes:
        by_server.setdefault(cable.a.node, []).append((cable, state.namespaces[cable.b.node]))
        for near, far in cable.ends:
            ports.setdefault(near.node, []).append((near, far))
    _in_each(
        state, by_server, lambda kernel, server: add_cables(kernel, by_server[server], new.shaping.mtu_bytes)
    )
    _in_each(state, ports, lambda kernel, node: set_up_ports(kernel, ports[node], state.scale, new.shaping))


def route_servers(state: TestbedState, layout: Layout) -> None:
    """Let every server forward as the layout says."""
    by_server: dict[int, list[Any]] = {server: [] for server in range(layout.servers)}
    for route in layout.routes:
        by_server[route.server].append(route)
    _in_each(state, by_server, lambda kernel, server: set_routes(kernel, server, by_server[server]))


def remove(state: TestbedState) -> None:
    """Remove a testbed: processes inside its namespaces, these and all in them, congestion controls, its note."""
    for _ in range(_MOST_TRIES):
        inside = [process for process in processes_inside(state.namespaces) if process != os.getpid()]
        for process in inside:
            with suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
        if not inside:
            break
        time.sleep(0.01)
    for name in state.namespaces:
        remove_namespace(name)
    for algorithm in state.congestion:
        unregister(algorithm)
    forget(state.name)


def _in_each(state: TestbedState, nodes: Any, step: Callable[[Any, int], None]) -> None:
    for node in nodes:
        speaking(state.namespaces[node], step, node)
