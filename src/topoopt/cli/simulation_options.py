"""Which simulator, and what it is asked for: from words to options."""

import re
from dataclasses import fields, replace
from typing import TYPE_CHECKING

from topoopt.cli.simulation_arguments import PacketArguments
from topoopt.cli.simulation_limits import MOST_DELAY_S, MOST_MOMENT_S
from topoopt.errors import InvalidInput, unknown_name
from topoopt.limits import whole
from topoopt.units import parse_bytes, parse_time

if TYPE_CHECKING:
    from topoopt.simulate import LinkFailure, PacketOptions, SimulationOptions
    from topoopt.topology import Topology

DEFAULT_MEMORY_BYTES = 8_000_000_000
FOR_ALL = ("path_choice", "compat")
"""Flags of packets that mean something to the other simulators, too."""
SPLIT_OF = {"connection": "one", "paths": "paths", "packet": "spread"}
"""What the flow and the analytic simulator call a path choice."""


def chosen_simulator(asked: str | None, packets: PacketArguments, all_graphs: bool) -> str:
    """Return the simulator: as asked; packets for task graphs and where packets are spoken of; else auto.

    Raises
    ------
    InvalidInput
        If there is no such simulator, or a flag is for packets and another simulator is asked for.
    """
    from topoopt.simulate import AUTO, SIMULATORS

    if asked is not None and asked not in (AUTO, *SIMULATORS):
        raise unknown_name("simulator", asked, [AUTO, *SIMULATORS])
    given = [item.name for item in fields(packets) if getattr(packets, item.name) not in (None, [])]
    alone = [name for name in given if name not in FOR_ALL]
    if asked is None:
        return "packet" if all_graphs or alone or "compat" in given else AUTO
    if asked != "packet" and alone:
        flag = "--" + alone[0].replace("_", "-")
        raise InvalidInput(f"{flag}: only the packet simulator knows it; use --simulator packet")
    return asked


def simulation_options(
    simulator: str, packets: PacketArguments, collective: str, seed: int, log_flows: bool
) -> "SimulationOptions":
    """Return the options without failures, which need a fabric; see :func:`with_failures`."""
    from topoopt.simulate import collective_options

    packet = packet_options(packets, log_flows)
    split = "spread"
    if simulator != "packet" and packets.path_choice is not None:
        split = SPLIT_OF[packet.path_choice]
    return replace(collective_options(collective), split=split, seed=seed, packet=packet)


def packet_options(packets: PacketArguments, log_flows: bool) -> "PacketOptions":
    """Return what the flags say about packets."""
    from topoopt.simulate import PacketOptions

    said = {
        name: getattr(packets, name)
        for name in ("transport", "compat", "acks", "path_choice", "recovery")
        if getattr(packets, name) is not None
    }
    memory = DEFAULT_MEMORY_BYTES
    if packets.memory_limit is not None:
        memory = round(parse_bytes(packets.memory_limit, "--memory-limit"))
    if packets.mark is not None and not packets.mark >= 0:
        raise InvalidInput(f"--mark: expected a number of packets >= 0, got {packets.mark:g}")
    if packets.pfc is not None and not packets.pfc >= 0:
        raise InvalidInput(f"--pfc: expected a number of packets >= 0, got {packets.pfc:g}")
    timeout_s = (
        None
        if packets.timeout_min is None
        else parse_time(packets.timeout_min, "--timeout-min", MOST_DELAY_S)
    )
    if timeout_s == 0:
        raise InvalidInput(f'--timeout-min: must be positive, got "{packets.timeout_min}"')
    if packets.buffer is not None:
        whole("--buffer", packets.buffer, 1)
    return PacketOptions(
        **said,
        mark_packets=packets.mark,
        pfc_packets=packets.pfc,
        timeout_min_s=timeout_s,
        buffer_packets=packets.buffer,
        log_flows=log_flows,
        memory_limit_bytes=memory,
    )


def link_failures(words: list[str] | None, topology: "Topology") -> "tuple[LinkFailure, ...]":
    """Return the failures of cables: both directions of each, where there are two.

    Raises
    ------
    InvalidInput
        For a word of another form, or a cable that is not there.
    """
    from topoopt.simulate import LinkFailure

    failures = []
    for word in words or ():
        match = re.fullmatch(r"\s*(\d{1,9})-(\d{1,9})@([^:@]+)(?::([^:@]+))?", word)
        if match is None:
            raise InvalidInput(
                f'--fail-link: expected A-B@TIME or A-B@TIME:TIME, such as 0-5@1ms, got "{word}"'
            )
        src, dst = int(match[1]), int(match[2])
        fail_s = parse_time(match[3], "--fail-link", MOST_MOMENT_S)
        repair_s = float("inf")
        if match[4] is not None:
            repair_s = parse_time(match[4], "--fail-link", MOST_MOMENT_S)
        if not fail_s < repair_s:
            raise InvalidInput(f'--fail-link: the repair must come after the failure, got "{word}"')
        ends = [(a, b) for a, b in ((src, dst), (dst, src)) if _has_link(topology, a, b)]
        if not ends:
            raise InvalidInput(
                f"--fail-link: no cable joins {src} and {dst}; nodes are 0..{topology.nodes - 1}, servers first"
            )
        failures += [LinkFailure(a, b, fail_s, repair_s) for a, b in ends]
    return tuple(failures)


def _has_link(topology: "Topology", src: int, dst: int) -> bool:
    return max(src, dst) < topology.nodes and topology.link_id(src, dst) >= 0
