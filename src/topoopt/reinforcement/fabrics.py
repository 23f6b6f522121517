"""A step on other networks: waits of each phase, cost of the network, and cost per step."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from topoopt.base.answers import fields_of
from topoopt.base.errors import Infeasible, InvalidInput
from topoopt.catalog import NetworkRow, check_networks, optical_switches, reference_interfaces
from topoopt.finder import FabricRequest, FinderRules, build_fabric, find_topology, layout_splits
from topoopt.reinforcement.phase_traffic import among, is_silent, parts_of, scaled, together
from topoopt.routing import Fabric, lay_traffic, max_load_s
from topoopt.transformers import System
from topoopt.workloads import Traffic

FAVORED = 0.02
"""Share at which the others count where a wiring favors one phase."""


@dataclass(frozen=True, slots=True, eq=False)
class Turn:
    """Phases that run side by side between two possible changes of circuits.

    Attributes
    ----------
    phases : mapping from a phase to Traffic
    time_s : float
        Duration of the turn, including traffic.
    hidden_s : mapping from a phase to float
        Network seconds that make a step no longer: those of the ideal switch, which the phase's time has already, and
        for weights those in which software takes them in. None where a phase is not here.
    others : mapping from a phase to tuple of Traffic
        Alternative traffic of a phase; wirings are made for the one in ``phases``, and each uses the fastest.
    """

    phases: dict[str, Traffic]
    time_s: float
    hidden_s: Mapping[str, float] = field(default_factory=dict)
    others: Mapping[str, tuple[Traffic, ...]] = field(default_factory=dict)

    @property
    def is_silent(self) -> bool:
        """Whether nothing is sent between servers."""
        return all(is_silent(one) for one in self.phases.values())


@dataclass(frozen=True, slots=True)
class Technology:
    """Gain of changing circuits with one optical technology.

    Attributes
    ----------
    delay_s : float
        Duration of one change.
    waited_s : float
        Waiting time of all changes of a step, without changes while nothing is sent.
    saved_s : float
        Time saved per step: negative where changing costs more than it gains.
    """

    name: str
    delay_s: float
    waited_s: float
    saved_s: float

    @property
    def pays(self) -> bool:
        """Whether a step is shorter."""
        return self.saved_s > 0


@dataclass(frozen=True, slots=True, eq=False)
class Rewiring:
    """Best single wiring compared with one wiring per turn.

    Attributes
    ----------
    static_s, per_turn_s : float
        Network seconds of all turns, each with the best wiring found.
    static_wait_s, per_turn_wait_s : float
        Increase of the step time; traffic that is hidden, for example behind the software of weights, is excluded.
    changes : int
        Changes of circuits per step.
    break_even_s : float
        Delay of a change below which changing pays; 0 where it never does.
    technologies : tuple of Technology
    phases_s : mapping from a phase to float
        Network seconds of each phase, with a wiring for each turn.
    static : Fabric
        The best single wiring.
    """

    static_s: float
    per_turn_s: float
    static_wait_s: float
    per_turn_wait_s: float
    changes: int
    break_even_s: float
    technologies: tuple[Technology, ...]
    phases_s: Mapping[str, float]
    static: Fabric = field(repr=False)

    @property
    def gain_s(self) -> float:
        """Seconds per step that changes save, before their own cost."""
        return self.static_wait_s - self.per_turn_wait_s

    def to_json(self) -> dict[str, Any]:
        """Return a JSON-compatible mapping, without the wiring."""
        names = ("name", "delay_s", "waited_s", "saved_s", "pays")
        return {
            "static_network_s": self.static_s,
            "per_turn_network_s": self.per_turn_s,
            **fields_of(self, "static_wait_s", "per_turn_wait_s", "gain_s", "changes", "break_even_s"),
            "technologies": [fields_of(one, *names) for one in self.technologies],
        }


@dataclass(frozen=True, slots=True)
class Ports:
    """Interfaces of a server, and each one's bandwidth."""

    degree: int
    bandwidth_bps: float
    latency_s: float


def network_s(traffic: Traffic, fabric: Fabric) -> float:
    """Return the time of the fullest link for a phase's bytes, on the fabric's routes and rings."""
    if is_silent(traffic):
        return 0.0
    return max_load_s(fabric.topology, lay_traffic("", "", traffic, fabric).link_bytes)


TOPOOPT_OCS = "topoopt-ocs"
"""Circuits of optical switches, that change where it pays."""
OPTICAL_SWITCH = "3d-mems"
"""Technology of the second wiring."""


@dataclass(frozen=True, slots=True)
class FabricRow(NetworkRow):
    """A step on one network.

    Attributes
    ----------
    network_s : mapping from a phase to float
        Time of the fullest link for the bytes of each phase.
    step_s : float
        Step time: each phase that takes longer than on the ideal switch waits for the difference.
    usd_per_step : float or None
        Servers, network and electricity.
    way : str
        Method of weight transfer; by default, the one whose fullest link is done first.
    unknown : tuple of str
        Items without any known figure, so that the price is None.
    """

    network_s: Mapping[str, float]
    step_s: float
    usd_per_step: float | None
    way: str
    unknown: tuple[str, ...] = ()


def ports_of(system: System) -> Ports:
    """Return a server's interfaces."""
    each, bandwidth_bps = system.accelerators_per_server, system.network_bandwidth_bps
    return Ports(*reference_interfaces(each, bandwidth_bps), system.network_latency_s)


def fixed_fabric(name: str, servers: int, ports: Ports, traffics: Sequence[Traffic], seed: int) -> Fabric:
    """Return a fabric that no job wires, with rings for all groups.

    Raises
    ------
    InvalidInput
        For an unknown name, or if it does not fit servers and ports.
    """
    check_networks("fabric", (name,), "rl")
    groups = tuple(dict.fromkeys(group.members for one in traffics for group in one.allreduce))
    request = FabricRequest(
        servers,
        ports.degree,
        ports.bandwidth_bps,
        groups,
        ports.latency_s,
        server_bandwidth_bps=ports.degree * ports.bandwidth_bps,
        seed=seed,
    )
    return build_fabric(name, request)


def phase_seconds(phases: Mapping[str, Traffic], fabric: Fabric) -> dict[str, float]:
    """Return the network time of each phase on a fabric."""
    return {name: network_s(traffic, fabric) for name, traffic in phases.items()}


def turn_s(turn: Turn, fabric: Fabric) -> float:
    """Return the network seconds of a turn: of the phase that needs longest."""
    return max(network_s(one, fabric) for one in turn.phases.values())


def wait_s(turn: Turn, seconds: Mapping[str, float]) -> float:
    """Return the increase of a turn by the network times of its phases."""
    return max(max(0.0, value - turn.hidden_s.get(name, 0.0)) for name, value in seconds.items())


def _seconds(turn: Turn, fabric: Fabric) -> dict[str, float]:
    return {
        name: min(network_s(way, fabric) for way in (one, *turn.others.get(name, ())))
        for name, one in turn.phases.items()
    }


def static_or_changed(turns: Sequence[Turn], ports: Ports, seed: int = 0) -> Rewiring | None:
    """Return the best single wiring against one for each turn; None where fewer than two servers send anything.

    Wirings are found by TopologyFinder, by each of its degree splits: for the sum of all turns, and for sums in which
    one turn counts most.
    """
    speaking = [turn for turn in turns if not turn.is_silent]
    if not speaking:
        return None
    static, together_s, static_s = min(
        (
            (fabric, *_waits(speaking, [_seconds(turn, fabric) for turn in speaking]))
            for one in _mixtures(speaking)
            for fabric in _wired(one, ports, seed)
        ),
        key=lambda found: found[1:],
    )
    own = [_own_seconds(turn, static, ports, seed) for turn in speaking]
    own_wait_s, own_s = _waits(speaking, own)
    changes = len(speaking) if len(speaking) > 1 else 0
    quiet = _silences(turns)
    technologies = []
    for one in sorted(optical_switches(), key=lambda row: -row.reconfiguration_s):
        waited_s = sum(max(0.0, one.reconfiguration_s - silence) for silence in quiet) if changes else 0.0
        saved_s = together_s - own_wait_s - waited_s
        technologies.append(Technology(one.name, one.reconfiguration_s, waited_s, saved_s))
    return Rewiring(
        static_s,
        own_s,
        together_s,
        own_wait_s,
        changes,
        _break_even_s(together_s - own_wait_s, quiet),
        tuple(technologies),
        {name: value for seconds in own for name, value in seconds.items()},
        static,
    )


def _waits(turns: Sequence[Turn], seconds: Sequence[Mapping[str, float]]) -> tuple[float, float]:
    """Return the increase of a step by network times, and their sum."""
    waits = sum(wait_s(turn, each) for turn, each in zip(turns, seconds, strict=True))
    return waits, sum(max(each.values()) for each in seconds)


def _mixtures(turns: Sequence[Turn]) -> list[Traffic]:
    """Return the sum of all turns, and sums in which one counts most; every group has its rings in each."""
    each = [together(list(turn.phases.values())) for turn in turns]
    if len(each) == 1:
        return each
    favoring = [
        together([one if place == favored else scaled(one, FAVORED) for place, one in enumerate(each)])
        for favored in range(len(each))
    ]
    return [together(each), *favoring]


def _own_seconds(turn: Turn, static: Fabric, ports: Ports, seed: int) -> dict[str, float]:
    """Return the network times of a turn's phases with a dedicated wiring, or the single one where that is no worse.

    Servers that exchange nothing with each other, not even through others, need not be joined.
    """
    seconds = dict.fromkeys(turn.phases, 0.0)
    for members in parts_of(together(list(turn.phases.values()))):
        phases = {name: among(one, members) for name, one in turn.phases.items()}
        alone = Turn(phases, turn.time_s)
        wired = _wired(together(list(phases.values())), ports, seed)
        best = min(wired, key=lambda fabric: turn_s(alone, fabric))
        seconds = {name: max(seconds[name], network_s(one, best)) for name, one in phases.items()}
    whole = _seconds(turn, static)
    if (wait_s(turn, seconds), max(seconds.values())) < (wait_s(turn, whole), max(whole.values())):
        return seconds
    return whole


def _wired(traffic: Traffic, ports: Ports, seed: int) -> list[Fabric]:
    """Return the wirings that TopologyFinder has for a traffic: of fewer servers than ports, over parallel links."""
    found, failure = [], None
    for split in layout_splits(traffic, ports.degree):
        try:
            found.append(
                find_topology(
                    traffic,
                    **fields_of(ports, "degree", "bandwidth_bps", "latency_s"),
                    rules=FinderRules(degree_split=split),
                    seed=seed,
                )
            )
        except (Infeasible, InvalidInput) as error:
            failure = error
    if not found:
        assert failure is not None
        raise failure
    return found


def _silences(turns: Sequence[Turn]) -> list[float]:
    """Return, before each turn that sends, how long nothing was sent: circuits change there unnoticed."""
    speaking = [place for place, turn in enumerate(turns) if not turn.is_silent]
    before = []
    for place in speaking:
        silence, back = 0.0, 1
        while back < len(turns) and turns[place - back].is_silent:
            silence += turns[place - back].time_s
            back += 1
        before.append(silence)
    return before


def _break_even_s(gain_s: float, quiet: Sequence[float]) -> float:
    """Return the delay at which the waits for changes cancel the gain."""
    if gain_s <= 0 or len(quiet) < 2:
        return 0.0
    waited, silences = 0.0, sorted(quiet)
    for place, silence in enumerate(silences):
        following = silences[place + 1] if place + 1 < len(silences) else float("inf")
        if waited + (place + 1) * (following - silence) >= gain_s:
            return silence + (gain_s - waited) / (place + 1)
        waited += (place + 1) * (following - silence)
    raise AssertionError("the last span is endless")
