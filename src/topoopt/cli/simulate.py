"""``topoopt simulate``: a plan once more, at another fidelity."""

import csv
import io
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from topoopt.plan import Plan
    from topoopt.simulate import SimResult

STEADY_ITERATIONS = 4
SIMULATOR_HELP = "analytic: first come, first served on each link, quick. flow: fair shares over time."


def simulate(
    path: Annotated[
        str, typer.Argument(metavar="PLAN", show_default=False, help="A file of topoopt plan --out.")
    ],
    simulator: Annotated[str, typer.Option(metavar="analytic|flow", help=SIMULATOR_HELP)] = "analytic",
    steady_state: Annotated[
        bool,
        typer.Option(
            "--steady-state",
            help=f"Of {STEADY_ITERATIONS} iterations that overlap, the mean of those in the middle.",
        ),
    ] = False,
    collective: Annotated[
        str,
        typer.Option(
            metavar="stepped|bulk",
            help="Rings in rounds that wait for each other, or one flow for all rounds (FlexNet's way).",
        ),
    ] = "stepped",
    timeline: Annotated[
        str | None, typer.Option(metavar="FILE", help="Write who did what when, as CSV.")
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print JSON, with the bytes of every link.")
    ] = False,
) -> None:
    """Simulate a plan. Bytes are those of one iteration, also in the steady state."""
    from topoopt.cli.output_file import check_writable
    from topoopt.cli.progress import progress
    from topoopt.cli.render import print_json
    from topoopt.files import write_atomically
    from topoopt.plan import read_plan
    from topoopt.search import simulated
    from topoopt.simulate import SimulationOptions

    check_writable(timeline, "--timeline")
    options = SimulationOptions(ring_model=collective)
    plan = read_plan(path)
    iterations = STEADY_ITERATIONS if steady_state else 1
    with progress("simulating") as report:
        report(f"simulating: {simulator}", 0, 0)
        result = simulated(plan.job, plan.strategy, plan.fabric, simulator, options, iterations)
    if timeline is not None:
        write_atomically(timeline, _timeline(result))
    if as_json:
        print_json(_document(plan, result, iterations))
    else:
        _print(plan, result, iterations)


def _document(plan: "Plan", result: "SimResult", iterations: int) -> dict[str, Any]:
    topology = plan.fabric.topology
    hops = range(1, len(result.hop_pairs))
    return {
        "model": plan.job.graph.name,
        "servers": plan.job.cluster.servers,
        "fabric": plan.fabric.name,
        **result.summary(),
        "link_bytes_max": result.link_bytes_max / iterations,
        "collective": result.options.ring_model,
        "iterations": iterations,
        "planned_iteration_time_s": plan.outcome.iteration_time_s,
        "demanded_bytes": result.demanded_bytes / iterations,
        "hop_bytes": {str(hop): float(result.hop_bytes[hop]) / iterations for hop in hops},
        "hop_pairs": {str(hop): float(result.hop_pairs[hop]) for hop in hops},
        "links": [
            {"src": link.src, "dst": link.dst, "bandwidth_bps": link.bandwidth_bps, "bytes": float(size)}
            for link, size in zip(topology, result.link_bytes / iterations, strict=True)
        ],
    }


def _timeline(result: "SimResult") -> str:
    from topoopt.simulate import TimelineRow, timeline

    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(TimelineRow._fields)
    writer.writerows(timeline(result))
    return text.getvalue()


def _print(plan: "Plan", result: "SimResult", iterations: int) -> None:
    from topoopt.cli.render import print_facts, print_title, terminal
    from topoopt.units import format_bytes, format_time

    console = terminal()
    cold = "one iteration" if iterations == 1 else f"steady state of {iterations} iterations"
    print_title(console, f"{plan.job.graph.name} on {plan.fabric.name}", f"{result.simulator}, {cold}")
    planned = plan.outcome
    change = result.iteration_time_s / planned.iteration_time_s - 1
    pairs, total = [], float(result.hop_pairs.sum())
    for hop in range(1, len(result.hop_pairs)):
        if result.hop_pairs[hop]:
            pairs.append(f"{hop}: {result.hop_pairs[hop] / total:.1%}")
    print_facts(
        console,
        [
            ("iteration", format_time(result.iteration_time_s)),
            ("compute", format_time(result.compute_time_s)),
            (
                "exposed",
                f"{format_time(result.exposed_communication_s)} of communication that compute cannot hide",
            ),
            ("busiest link", format_bytes(result.link_bytes_max / iterations)),
            ("bandwidth tax", f"{result.bandwidth_tax:.3f}"),
            ("hops of transfers", ", ".join(pairs)),
            (
                "the plan says",
                f"{format_time(planned.iteration_time_s)} ({planned.simulator}); this is {change:+.1%}",
            ),
        ],
    )
