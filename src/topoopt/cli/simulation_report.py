"""A simulation for people: what it took, what happened on the network, and which links were busiest."""

from typing import TYPE_CHECKING

from topoopt.cli.render import counted, print_facts, print_table, print_title, print_warning, terminal
from topoopt.cli.simulation_document import completion_times, links_of_an_iteration, peak_memory_bytes
from topoopt.cli.simulation_run import Ran
from topoopt.units import format_bandwidth, format_bytes, format_time

if TYPE_CHECKING:
    from rich.console import Console

    from topoopt.routing import RegionalReconfiguration

BUSIEST = 5


def print_simulation(ran: Ran) -> None:
    """Print everything."""
    console = terminal()
    result = ran.result
    cold = "one iteration" if ran.iterations == 1 else f"steady state of {ran.iterations} iterations"
    names = " + ".join(source.name for source in ran.sources)
    print_title(console, f"{names} on {ran.fabric.name}", f"{_how(ran)}, {cold}")
    print_facts(
        console,
        [*_times(ran), *_fabric(ran), *_traffic(ran), *_collectives(ran), *_packets(ran), *_effort(ran)],
    )
    if ran.expected_error is not None and ran.expected_error.caution:
        print_warning(console, ran.expected_error.caution)
    if ran.together is not None:
        _print_jobs(console, ran)
    if result.packet is not None:
        _print_links(console, ran)


def digits(time_s: float) -> str:
    """Return a time with six digits, so that runs can be compared: ``210.418 ms``."""
    for unit, scale in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if abs(time_s) >= scale:
            return f"{time_s / scale:.6g} {unit}"
    return format_time(time_s)


def _how(ran: Ran) -> str:
    options = ran.result.options.packet
    transport = "" if ran.result.packet is None else f", {options.transport}"
    compat = "" if options.compat == "none" else f", as {options.compat}"
    return f"{ran.result.simulator}{transport}{compat}"


def _times(ran: Ran) -> list[tuple[str, str]]:
    result, error = ran.result, ran.expected_error
    facts = [("simulator", f"{result.simulator}: {ran.reason}" if ran.reason else "")]
    if ran.together is None:
        hidden = f"{format_time(result.exposed_communication_s)} of communication that compute cannot hide"
        facts += [
            ("iteration", digits(result.iteration_time_s)),
            ("compute", format_time(result.compute_time_s)),
            ("exposed", hidden),
        ]
    plan = ran.sources[0].plan
    if plan is not None and ran.together is None:
        change = result.iteration_time_s / plan.outcome.iteration_time_s - 1
        there = plan.outcome.simulator
        if ran.fabric is not plan.fabric:
            there += f" on {plan.fabric.name}, its own"
        what = f"{format_time(plan.outcome.iteration_time_s)} ({there}); this is {change:+.1%}"
        facts.append(("the plan says", what))
    if error is not None:
        measured = f"{error.median:.1%} median, {error.p90:.1%} in 9 of 10, {error.largest:.1%} at most"
        if not error.runs:
            measured = "none"
        facts.append(("error expected", f"{measured} against packets ({error.traffic})"))
    return facts


def _fabric(ran: Ran) -> list[tuple[str, str]]:
    """Return what a server has, and how a built fabric is laid out."""
    from topoopt.routing import RegionalReconfiguration

    topology, rule = ran.fabric.topology, ran.fabric.reconfiguration
    mine = topology.src == 0
    ports, together_bps = int(topology.ports[mine].sum()), float(topology.bandwidth_bps[mine].sum())
    if isinstance(rule, RegionalReconfiguration):
        return [("a server has", _electrical_and_optical(rule))]
    if rule is not None:
        ports, together_bps = rule.degree, rule.degree * rule.bandwidth_bps
    what = format_bandwidth(together_bps)
    if ports > 1:
        what += f" over {counted(ports, 'interface')}"
    if topology.offsets:
        n = topology.servers
        strides = sorted({min(offset, n - offset) for offset in topology.offsets})
        what += f", strides {', '.join(map(str, strides))}"
    spare = topology.servers - sum(source.graph.servers for source in ran.sources)
    if spare:
        what += f"; {topology.servers} servers, {spare} of them spare"
    if ran.fabric.name == "fat-tree" and ran.sources[0].plan is not None:
        what += " (not divided by 3.2, as topoopt compare does)"
    return [("a server has", what)]


def _electrical_and_optical(rule: "RegionalReconfiguration") -> str:
    return (
        f"{format_bandwidth(rule.electrical_bps)} on a fat-tree, {counted(rule.degree, 'circuit')} of "
        f"{format_bandwidth(rule.bandwidth_bps)} in regions of {rule.region_servers} servers, changed in "
        f"{format_time(rule.delay_s)}"
    )


def _traffic(ran: Ran) -> list[tuple[str, str]]:
    result = ran.result
    pairs, total = [], float(result.hop_pairs.sum())
    for hop in range(1, len(result.hop_pairs)):
        if result.hop_pairs[hop]:
            pairs.append(f"{hop}: {result.hop_pairs[hop] / total:.1%}")
    return [
        ("busiest link", format_bytes(result.link_bytes_max / ran.iterations)),
        ("bandwidth tax", f"{result.bandwidth_tax:.3f}"),
        ("hops of transfers", ", ".join(pairs)),
    ]


def _collectives(ran: Ran) -> list[tuple[str, str]]:
    """Return by which algorithm the collectives went, and of what sizes these were."""
    sizes: dict[str, list[int]] = {}
    for row in ran.result.algorithms:
        sizes.setdefault(row.algorithm, []).extend([row.size_bytes] * row.count)
    parts = [
        f"{len(each)} by {name} ({format_bytes(min(each))} to {format_bytes(max(each))})"
        for name, each in sorted(sizes.items())
    ]
    return [("collectives", ", ".join(parts))] if parts else []


def _packets(ran: Ran) -> list[tuple[str, str]]:
    packet, times = ran.result.packet, completion_times(ran.result)
    if packet is None:
        return []
    facts = [
        ("connections", f"{packet.connections:,}, {packet.packets:,} packets, {packet.packet_hops:,} hops"),
        (
            "lost",
            f"{counted(packet.drops, 'drop')}, {counted(packet.timeouts, 'timeout')}, "
            f"{packet.resent:,} sent again; {packet.marks:,} marked",
        ),
    ]
    if times is not None:
        parts = [f"{format_time(times[f'p{rank}_s'])} ({name})" for rank, name in _RANKS]
        facts.append(("flow completion", ", ".join(parts)))
        slow = [f"{times[f'p{rank}_slowdown']:.3g}× ({name})" for rank, name in _RANKS]
        facts.append(("against alone", ", ".join(slow)))
    return facts


_RANKS = ((50, "median"), (99, "99 %"), (100, "slowest"))


def _effort(ran: Ran) -> list[tuple[str, str]]:
    packet = ran.result.packet
    speed = ""
    if packet is not None and ran.cpu_s > 0:
        speed = f", {packet.packet_hops / ran.cpu_s / 1e6:.1f} million packet-hops a second"
    return [("this took", f"{ran.cpu_s:.2f} CPU-s{speed}, {format_bytes(peak_memory_bytes())} of memory")]


def _print_jobs(console: "Console", ran: Ran) -> None:
    together = ran.together
    assert together is not None
    console.print()
    numbers = ("servers", "first iteration", "mean", "iterations")
    rows = zip(ran.sources, together.first_s, together.mean_s, together.iterations, strict=True)
    print_table(
        console,
        ("job", *numbers),
        [
            (source.name, str(source.graph.servers), digits(first_s), digits(mean_s), str(count))
            for source, first_s, mean_s, count in rows
        ],
        numbers=numbers,
    )


def _print_links(console: "Console", ran: Ran) -> None:
    rows = sorted(links_of_an_iteration(ran), key=lambda row: (-row.utilization, row.src, row.dst))[:BUSIEST]
    console.print()
    numbers = ("bandwidth", "bytes", "in use", "packets", "marked", "lost", "longest queue")
    print_table(
        console,
        ("busiest links", *numbers),
        [
            (
                f"{row.src}->{row.dst}",
                format_bandwidth(row.bandwidth_bps),
                format_bytes(row.bytes),
                f"{row.utilization:.1%}",
                f"{row.packets:,}",
                f"{row.marks:,}",
                f"{row.drops:,}",
                format_bytes(row.queue_peak_bytes or 0),
            )
            for row in rows
        ],
        numbers=numbers,
    )
