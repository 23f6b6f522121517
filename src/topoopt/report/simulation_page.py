"""A simulation as a page: what it took, what happened on the network, and which links were busiest."""

from topoopt.report.page import Block, Facts, Notes, Page, Section, Table, Tile
from topoopt.report.words import counted
from topoopt.routing import RegionalReconfiguration
from topoopt.simulate import Simulation
from topoopt.units import format_bandwidth, format_bytes, format_time

BUSIEST = 5
LEAST_SHOWN = 1e-3
"""Less of the computing time than this is no row."""
_RANKS = ((50, "median"), (99, "99 %"), (100, "slowest"))

Rows = list[tuple[str, str]]


def simulation_page(run: Simulation) -> Page:
    """Return times, fabric, traffic, packets and effort; several jobs and the busiest links as tables."""
    cold = "one iteration" if run.iterations == 1 else f"steady state of {run.iterations} iterations"
    facts = (*_times(run), *_fabric(run), *_traffic(run), *_collectives(run), *_packets(run), *_effort(run))
    blocks: list[Block] = [Facts("", facts)]
    if run.expected_error is not None and run.expected_error.caution:
        blocks.append(Notes((run.expected_error.caution,), warn=True))
    if run.together is not None:
        blocks.append(_jobs(run))
    if run.result.packet is not None:
        blocks.append(_links(run))
    time, exposed = digits(run.iteration_time_s), format_time(run.result.exposed_communication_s)
    return Page(
        "simulation",
        f"{run.name} on {run.fabric.name}",
        f"An iteration takes {time} by the {run.result.simulator} simulator; {exposed} of it is communication that "
        "compute cannot hide.",
        (
            Tile("Iteration time", time, f"{run.result.simulator} simulator"),
            Tile("Exposed communication", exposed),
            Tile("Bandwidth tax", f"{run.result.bandwidth_tax:.3f}"),
        ),
        (),
        (Section("simulation", "Simulation", "", tuple(blocks)),),
        {
            "iteration_time_s": run.iteration_time_s,
            "exposed_communication_s": run.result.exposed_communication_s,
            "bandwidth_tax": run.result.bandwidth_tax,
        },
        remark=f"{_how(run)}, {cold}",
    )


def digits(time_s: float) -> str:
    """Return a time with six digits, so that runs can be compared: ``210.418 ms``."""
    for unit, scale in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if abs(time_s) >= scale:
            return f"{time_s / scale:.6g} {unit}"
    return format_time(time_s)


def _how(run: Simulation) -> str:
    options = run.result.options.packet
    transport = "" if run.result.packet is None else f", {options.transport}"
    compat = "" if options.compat == "none" else f", as {options.compat}"
    return f"{run.result.simulator}{transport}{compat}"


def _times(run: Simulation) -> Rows:
    result, error = run.result, run.expected_error
    facts = [("simulator", f"{result.simulator}: {run.reason}" if run.reason else "")]
    if run.together is None:
        hidden = f"{format_time(result.exposed_communication_s)} of communication that compute cannot hide"
        facts.append(("iteration", digits(result.iteration_time_s)))
        if result.bubble_s > LEAST_SHOWN * result.compute_time_s:
            computing = format_time(result.compute_time_s - result.bubble_s)
            facts.append(("compute", f"{computing} on the busiest accelerator"))
            facts.append(("bubble", f"{format_time(result.bubble_s)} in which it waits for others"))
        else:
            facts.append(("compute", format_time(result.compute_time_s)))
        facts.append(("exposed", hidden))
    plan = run.jobs[0].plan
    if plan is not None and run.together is None:
        change = result.iteration_time_s / plan.outcome.iteration_time_s - 1
        there = plan.outcome.simulator
        if run.fabric is not plan.fabric:
            there += f" on {plan.fabric.name}, its own"
        what = f"{format_time(plan.outcome.iteration_time_s)} ({there}); this is {change:+.1%}"
        facts.append(("the plan says", what))
    if error is not None:
        measured = f"{error.median:.1%} median, {error.p90:.1%} in 9 of 10, {error.largest:.1%} at most"
        if not error.runs:
            measured = "none"
        facts.append(("error expected", f"{measured} against packets ({error.traffic})"))
    return facts


def _fabric(run: Simulation) -> Rows:
    """Return what a server has, and how a built fabric is laid out."""
    topology, rule = run.fabric.topology, run.fabric.reconfiguration
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
    spare = topology.servers - sum(job.graph.servers for job in run.jobs)
    if spare:
        what += f"; {topology.servers} servers, {spare} of them spare"
    if run.fabric.name == "fat-tree" and run.jobs[0].plan is not None:
        what += " (not divided by 3.2, as topoopt compare does)"
    return [("a server has", what)]


def _electrical_and_optical(rule: RegionalReconfiguration) -> str:
    return (
        f"{format_bandwidth(rule.electrical_bps)} on a fat-tree, {counted(rule.degree, 'circuit')} of "
        f"{format_bandwidth(rule.bandwidth_bps)} in regions of {rule.region_servers} servers, changed in "
        f"{format_time(rule.delay_s)}"
    )


def _traffic(run: Simulation) -> Rows:
    result = run.result
    pairs, total = [], float(result.hop_pairs.sum())
    for hop in range(1, len(result.hop_pairs)):
        if result.hop_pairs[hop]:
            pairs.append(f"{hop}: {result.hop_pairs[hop] / total:.1%}")
    return [
        ("busiest link", format_bytes(result.link_bytes_max / run.iterations)),
        ("bandwidth tax", f"{result.bandwidth_tax:.3f}"),
        ("hops of transfers", ", ".join(pairs)),
    ]


def _collectives(run: Simulation) -> Rows:
    """Return by which algorithm the collectives went, and of what sizes these were."""
    sizes: dict[str, list[int]] = {}
    for row in run.result.algorithms:
        sizes.setdefault(row.algorithm, []).extend([row.size_bytes] * row.count)
    parts = [
        f"{len(each)} by {name} ({format_bytes(min(each))} to {format_bytes(max(each))})"
        for name, each in sorted(sizes.items())
    ]
    return [("collectives", ", ".join(parts))] if parts else []


def _packets(run: Simulation) -> Rows:
    packet, times = run.result.packet, run.completion_times()
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


def _effort(run: Simulation) -> Rows:
    packet = run.result.packet
    speed = ""
    if packet is not None and run.cpu_s > 0:
        speed = f", {packet.packet_hops / run.cpu_s / 1e6:.1f} million packet-hops a second"
    return [("this took", f"{run.cpu_s:.2f} CPU-s{speed}, {format_bytes(run.peak_memory_bytes)} of memory")]


def _jobs(run: Simulation) -> Table:
    together = run.together
    assert together is not None
    numbers = ("servers", "first iteration", "mean", "iterations")
    rows = zip(run.jobs, together.first_s, together.mean_s, together.iterations, strict=True)
    cells = tuple(
        (job.name, str(job.graph.servers), digits(first_s), digits(mean_s), str(count))
        for job, first_s, mean_s, count in rows
    )
    return Table("Jobs", ("job", *numbers), cells, numbers)


def _links(run: Simulation) -> Table:
    rows = sorted(run.links(), key=lambda row: (-row.utilization, row.src, row.dst))[:BUSIEST]
    numbers = ("bandwidth", "bytes", "in use", "packets", "marked", "lost", "longest queue")
    cells = tuple(
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
    )
    return Table("Busiest links", ("busiest links", *numbers), cells, numbers)
