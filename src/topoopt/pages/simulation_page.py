"""A simulation as a page: times, events on the network, and the busiest links."""

from functools import partial

from topoopt.base.answers import fields_of
from topoopt.base.units import format_bandwidth, format_bytes, format_time
from topoopt.pages.page import Block, Notes, Page, Section, Table, Tile
from topoopt.pages.tables import counted, facts, joined, number, table, text
from topoopt.routing import RegionalReconfiguration
from topoopt.simulation import Simulation

BUSIEST = 5
LEAST_SHOWN = 1e-3
"""Less of the computing time than this is no row."""
_RANKS = ((50, "median"), (99, "99%"), (100, "slowest"))

DIGITS = 6
"""Digits of a time, so that runs can be compared: ``210.418 ms``."""

_SPLITS = {"spread": "", "paths": ", a flow for each path", "one": ", each transfer on one path"}
Entries = dict[str, str]


def simulation_page(run: Simulation) -> Page:
    """Return times, fabric, traffic, packets and effort; several jobs and the busiest links as tables."""
    cold = "one iteration" if run.iterations == 1 else f"steady state of {run.iterations} iterations"
    packet, times = run.result.packet, run.completion_times()
    if packet is None:
        packets = {}
    else:
        entries = {
            "connections": f"{packet.connections:,}, {packet.packets:,} packets, {packet.packet_hops:,} hops",
            "lost": f"{counted(packet.drops, 'drop')}, {counted(packet.timeouts, 'timeout')}, "
            f"{packet.resent:,} sent again; {packet.marks:,} marked",
        }
        if times is not None:
            ended = [f"{format_time(times[f'p{rank}_s'])} ({name})" for rank, name in _RANKS]
            slower = [f"{times[f'p{rank}_slowdown']:.3g}× ({name})" for rank, name in _RANKS]
            entries |= {"flow completion": ", ".join(ended), "against alone": ", ".join(slower)}
        packets = entries
    answer = _times(run) | _fabric(run) | _traffic(run) | packets | _effort(run)
    blocks: list[Block] = [facts(answer)]
    if run.expected_error is not None and run.expected_error.caution:
        blocks.append(Notes((run.expected_error.caution,), warn=True))
    if run.together is not None:
        blocks.append(_jobs(run))
    if run.result.packet is not None:
        blocks.append(_links(run))
    time, exposed = format_time(run.iteration_time_s, DIGITS), format_time(run.result.exposed_communication_s)
    return Page(
        "simulation",
        f"{run.name} on {run.fabric.name}",
        f"An iteration takes {time} by the {run.result.simulator} simulator{_paths(run)}; {exposed} of it is "
        "communication that compute cannot hide.",
        (
            Tile("Iteration time", time, f"{run.result.simulator} simulator{_paths(run)}"),
            Tile("Exposed communication", exposed),
            Tile("Bandwidth tax", f"{run.result.bandwidth_tax:.3f}"),
        ),
        sections=(Section("simulation", "Simulation", "", tuple(blocks)),),
        key_numbers={
            "iteration_time_s": run.iteration_time_s,
            **fields_of(run.result, "exposed_communication_s", "bandwidth_tax"),
        },
        remark=f"{_how(run)}, {cold}",
    )


def _how(run: Simulation) -> str:
    options = run.result.options.packet
    transport = "" if run.result.packet is None else f", {options.transport}"
    if run.result.options.aggressiveness is not None:
        transport = ", shared as by MLTCP"
    compat = "" if options.compat == "none" else f", as {options.compat}"
    return f"{run.result.simulator}{_paths(run)}{transport}{compat}"


def _paths(run: Simulation) -> str:
    """Return how transfers use their paths, where a simulator of flows does not spread them over all."""
    return "" if run.result.packet is not None else _SPLITS[run.result.options.split]


def _times(run: Simulation) -> Entries:
    result, error = run.result, run.expected_error
    entries = {"simulator": f"{result.simulator}: {run.reason}" if run.reason else ""}
    if run.together is None:
        exposed = format_time(result.exposed_communication_s)
        if result.bubble_s <= LEAST_SHOWN * result.compute_time_s:
            compute = {"compute": format_time(result.compute_time_s)}
        else:
            computing = format_time(result.compute_time_s - result.bubble_s)
            compute = {
                "compute": f"{computing} on the busiest accelerator",
                "bubble": f"{format_time(result.bubble_s)} in which it waits for others",
            }
        plan = run.jobs[0].plan
        if plan is None:
            against_plan = ""
        else:
            change = run.result.iteration_time_s / plan.iteration_time_s - 1
            there = plan.outcome.simulator
            if run.fabric is not plan.fabric:
                there += f" on {plan.fabric.name}, its own"
            against_plan = f"{format_time(plan.iteration_time_s)} ({there}); this is {change:+z.1%}"
        entries |= {
            "iteration": format_time(result.iteration_time_s, DIGITS),
            **compute,
            "exposed": f"{exposed} of communication that compute cannot hide",
            "the plan says": against_plan,
        }
    if error is not None:
        measured = f"{error.median:.1%} median, {error.p90:.1%} in 9 of 10, {error.largest:.1%} at most"
        entries["error expected"] = f"{measured if error.runs else 'none'} against packets ({error.traffic})"
    return entries


def _fabric(run: Simulation) -> Entries:
    """Return the interfaces of a server, and the layout of a built fabric."""
    topology, rule = run.fabric.topology, run.fabric.reconfiguration
    mine = topology.src == 0
    ports, together_bps = int(topology.ports[mine].sum()), float(topology.bandwidth_bps[mine].sum())
    if isinstance(rule, RegionalReconfiguration):
        electrical_and_optical = (
            f"{format_bandwidth(rule.electrical_bps)} on a fat-tree, {counted(rule.degree, 'circuit')} of "
            f"{format_bandwidth(rule.bandwidth_bps)} in regions of {rule.region_servers} servers, changed in "
            f"{format_time(rule.delay_s)}"
        )
        return {"a server has": electrical_and_optical}
    if rule is not None:
        ports, together_bps = rule.degree, rule.degree * rule.bandwidth_bps
    what = format_bandwidth(together_bps)
    if ports > 1:
        what += f" over {counted(ports, 'interface')}"
    if topology.offsets:
        strides = sorted({min(offset, topology.servers - offset) for offset in topology.offsets})
        what += f", strides {', '.join(map(str, strides))}"
    spare = topology.servers - sum(job.graph.servers for job in run.jobs)
    if spare:
        what += f"; {topology.servers} servers, {spare} of them spare"
    if run.fabric.name == "fat-tree" and run.jobs[0].plan is not None:
        what += " (not divided by 3.2, as topoopt compare does)"
    return {"a server has": what}


def _traffic(run: Simulation) -> Entries:
    """Return the traffic of links, and the algorithms and sizes of collectives."""
    result = run.result
    total = float(result.hop_pairs.sum())
    hops = [f"{hop}: {pairs / total:.1%}" for hop, pairs in enumerate(result.hop_pairs) if hop and pairs]
    sizes: dict[str, list[int]] = {}
    for row in result.algorithms:
        sizes.setdefault(row.algorithm, []).extend([row.size_bytes] * row.count)
    collectives = [
        f"{len(each)} by {name} ({format_bytes(min(each))} to {format_bytes(max(each))})"
        for name, each in sorted(sizes.items())
    ]
    return {
        "busiest link": format_bytes(result.link_bytes_max / run.iterations),
        "bandwidth tax": f"{result.bandwidth_tax:.3f}",
        "hops of transfers": ", ".join(hops),
        "collectives": ", ".join(collectives),
    }


def _effort(run: Simulation) -> Entries:
    packet, speed = run.result.packet, ""
    if packet is not None and run.cpu_s > 0:
        speed = f", {packet.packet_hops / run.cpu_s / 1e6:.1f} million packet-hops a second"
    return {"this took": f"{run.cpu_s:.2f} CPU-s{speed}, {format_bytes(run.peak_memory_bytes)} of memory"}


def _jobs(run: Simulation) -> Table:
    together, in_full = run.together, partial(format_time, digits=DIGITS)
    assert together is not None
    repeated = max(together.iterations) > 1
    return table(
        "Jobs",
        joined(
            job=run.jobs,
            first_s=together.first_s,
            mean_s=together.mean_s,
            last_s=[times_s[-1] for times_s in together.iteration_times_s],
            iterations=together.iterations,
            marks=together.marks or (0,) * len(run.jobs),
        ),
        text("job", "job.name"),
        number("servers", "job.graph.servers"),
        number("first iteration", "first_s", in_full),
        number("mean", "mean_s", in_full),
        *((number("last", "last_s", in_full),) if repeated else ()),
        number("iterations"),
        *((number("marked", "marks", ","),) if repeated and together.marks else ()),
    )


def _links(run: Simulation) -> Table:
    return table(
        "Busiest links",
        sorted(run.links(), key=lambda row: (-row.utilization, row.src, row.dst))[:BUSIEST],
        text("busiest links", lambda row: f"{row.src}->{row.dst}"),
        number("bandwidth", "bandwidth_bps"),
        number("bytes", "bytes", format_bytes),
        number("in use", "utilization", ".1%"),
        number("packets", "packets", ","),
        number("marked", "marks", ","),
        number("lost", "drops", ","),
        number("longest queue", lambda row: format_bytes(row.queue_peak_bytes or 0)),
    )
