"""``topoopt rewire``: from the wiring of one plan to that of another with the fewest moved fibers."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from topoopt.errors import InvalidInput

if TYPE_CHECKING:
    from topoopt.plan import Plan
    from topoopt.rewiring import MoveOrder, Patch, Rewiring, RewiringTime, Wiring
    from topoopt.topology import Topology

SHOWN = 12
"""Moves that are printed; all of them are in the file of ``--out``."""
COLUMNS = ("step", "action", "panel", "from_server", "from_interface", "to_server", "to_interface")


def rewire(
    old: Annotated[str, typer.Argument(metavar="OLD", help="The plan that is wired now.")],
    new: Annotated[str, typer.Argument(metavar="NEW", help="The plan that comes.")],
    keep_running: Annotated[
        bool,
        typer.Option("--keep-running", help="The job runs on meanwhile: never cut it, rename no server."),
    ] = False,
    no_relabel: Annotated[
        bool, typer.Option("--no-relabel", help="Rank r of the new plan stays on server r.")
    ] = False,
    interfaces_per_panel: Annotated[
        int | None,
        typer.Option(
            metavar="N", help="Interfaces of a server on one panel. The fewest that do if not given."
        ),
    ] = None,
    out: Annotated[
        str | None, typer.Option(metavar="FILE", help="Write every move, in order, as CSV or Parquet.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Say which fibers to move, in which order, to get from one plan to the next."""
    from topoopt.cli.progress import progress
    from topoopt.cli.render import print_json, terminal
    from topoopt.cli.table_file import check_table, write_table
    from topoopt.plan import read_plan
    from topoopt.rewiring import order_moves, rewiring_times
    from topoopt.rewiring import rewire as rewired

    check_table(out, "--out")
    plans = read_plan(old), read_plan(new)
    with progress("looking for the fewest moves"):
        before, after, room = _wired((old, new), plans, keep_running, interfaces_per_panel)
        found = rewired(before, after, relabel=not (keep_running or no_relabel))
        order = order_moves(found, keep_running)
    times = rewiring_times(order, found.old, room)
    if out is not None:
        write_table(out, COLUMNS, move_rows(found.old, order))
    if as_json:
        print_json(_document(found, order, times, (old, new)))
    else:
        _print(terminal(), found, order, times, (old, new), out, not (keep_running or no_relabel))


def move_rows(wiring: "Wiring", order: "MoveOrder") -> list[tuple[Any, ...]]:
    """Return the moves as rows of :data:`COLUMNS`: of each step first what is unplugged, then what is plugged in."""
    return [
        (
            number,
            action,
            wiring.panel_of(patch),
            patch.src,
            patch.src_interface,
            patch.dst,
            patch.dst_interface,
        )
        for number, step in enumerate(order.steps, 1)
        for action, patches in (("unplug", step.unplug), ("plug", step.plug))
        for patch in patches
    ]


def patch_row(wiring: "Wiring", patch: "Patch") -> dict[str, int]:
    """Return a patch as the JSON document has it."""
    return {
        "panel": wiring.panel_of(patch),
        "from_server": patch.src,
        "from_interface": patch.src_interface,
        "to_server": patch.dst,
        "to_interface": patch.dst_interface,
    }


def _wired(
    names: tuple[str, str], plans: "tuple[Plan, Plan]", keep_running: bool, width: int | None
) -> "tuple[Wiring, Topology, int]":
    """Return the wiring of the old plan, the topology of the new one in the same room, and the room's servers."""
    from dataclasses import replace

    from topoopt.rewiring import wire

    old, new = (plan.job.cluster for plan in plans)
    for name, plan in zip(names, plans, strict=True):
        if plan.fabric.topology.nodes > plan.fabric.topology.servers:
            raise InvalidInput(
                f"{name}: the servers of a {plan.fabric.name} hang on switches; nothing to rewire"
            )
    if old.links != new.links:
        raise InvalidInput(
            f"{names[1]}: links are {new.links}, those of {names[0]} {old.links}; plan with --links"
        )
    if keep_running and old.servers != new.servers:
        raise InvalidInput(
            f"--keep-running: {names[0]} has {old.servers} servers, {names[1]} {new.servers}; a job that runs on "
            "keeps its servers"
        )
    room, degree = max(old.servers, new.servers), max(old.degree, new.degree)
    before, after = (_in_room(plan.fabric.topology, room) for plan in plans)
    if width is not None and not 1 <= width <= degree:
        raise InvalidInput(f"--interfaces-per-panel: must be in 1..{degree}, got {width}")
    shared = max(
        wire(one, cluster.degree, old.links, interfaces_per_panel=width).interfaces_per_panel
        for one, cluster in ((before, old), (after, new))
    )
    # What is wired now takes only the interfaces that the old plan has, of however many the new one brings.
    wired = wire(before, old.degree, old.links, interfaces_per_panel=shared)
    return replace(wired, degree=degree, interfaces_per_panel=shared), after, room


def _in_room(topology: "Topology", servers: int) -> "Topology":
    """Return the same links in a room of more servers."""
    from topoopt.topology import topology_from_links

    if topology.servers == servers:
        return topology
    links = [
        link for link, ports in zip(topology, topology.ports.tolist(), strict=True) for _ in range(ports)
    ]
    return topology_from_links(topology.family, servers, links)


def _document(
    found: "Rewiring", order: "MoveOrder", times: "tuple[RewiringTime, ...]", names: tuple[str, str]
) -> dict[str, Any]:
    wiring = found.old
    return {
        "old": names[0],
        "new": names[1],
        "servers": len(found.servers),
        "degree": wiring.degree,
        "links": wiring.links,
        "panels": wiring.panels,
        "interfaces_per_panel": wiring.interfaces_per_panel,
        "fibers_before": len(wiring.patches),
        "fibers_after": len(found.new.patches),
        "kept_fibers": len(wiring.patches) - len(found.removed),
        "moved_fibers": found.moved_fibers,
        "lower_bound": found.lower_bound,
        "gap": found.gap,
        "relabeled": found.relabeled,
        "server_of_rank": list(found.servers),
        "keep_running": order.keep_running,
        "steps_that_cut": order.cuts,
        "steps": [
            {
                "unplug": [patch_row(wiring, patch) for patch in step.unplug],
                "plug": [patch_row(wiring, patch) for patch in step.plug],
                "reached_share": step.reached,
            }
            for step in order.steps
        ],
        "time": [
            {"technology": row.technology.name, "ports": row.ports, "fits": row.fits, "time_s": row.time_s}
            for row in times
        ],
    }


def _print(
    console: Any,
    found: "Rewiring",
    order: "MoveOrder",
    times: "tuple[RewiringTime, ...]",
    names: tuple[str, str],
    out: str | None,
    relabel: bool,
) -> None:
    from topoopt.cli.render import counted, print_facts, print_table, print_title, print_warning
    from topoopt.units import format_time

    wiring, width = found.old, found.old.interfaces_per_panel
    thing = "cable" if wiring.links == "duplex" else "fiber"
    size = f"{len(found.servers)} servers, {counted(wiring.panels, 'panel')}"
    print_title(console, f"{names[0]} to {names[1]}", size)
    proof = "at least so many must move"
    if not found.gap:
        proof = f"no other {'order of servers and ' if relabel else ''}choice of ports needs fewer"
    print_facts(
        console,
        [
            (
                "wired now",
                f"{counted(len(wiring.patches), thing)}, {counted(width, 'interface')} of a server on each panel",
            ),
            ("wired then", counted(len(found.new.patches), thing)),
            ("stay", f"{len(wiring.patches) - len(found.removed)}"),
            ("move", counted(found.moved_fibers, thing)),
            ("lower bound", f"{found.lower_bound}: {proof}"),
            ("servers", _renamed(found)),
            ("steps", _steps(order)),
        ],
    )
    rows = move_rows(wiring, order)
    if not rows:
        return
    print_title(console, "Moves")
    print_table(
        console,
        ("step", "action", "panel", "from", "to"),
        [
            (str(step), action, str(panel), f"server {a}, port {i}", f"server {b}, port {j}")
            for step, action, panel, a, i, b, j in rows[:SHOWN]
        ],
        numbers=("step", "panel"),
    )
    if len(rows) > SHOWN:
        console.print(
            f"  and {len(rows) - SHOWN} more; {f'all are in {out}' if out else 'all of them: --out moves.csv'}"
        )
    if order.cuts:
        print_warning(
            console,
            f"{order.cuts} of {len(order.steps)} steps cut the job: for a moment only "
            f"{min(step.reached for step in order.steps):.0%} of the pairs of servers reach each other. "
            "Stop the job for these, or give it more interfaces.",
        )
    print_title(
        console, "Time", "an optical switch makes a step at once, a patch panel one fiber after the other"
    )
    print_table(
        console,
        ("technology", "time", "ports needed", "has", "fits"),
        [
            (
                row.technology.name,
                format_time(row.time_s),
                str(row.ports),
                str(row.technology.ports),
                "yes" if row.fits else "no",
            )
            for row in times
        ],
        numbers=("time", "ports needed", "has"),
    )


def _renamed(found: "Rewiring") -> str:
    if not found.relabeled:
        return "rank r of the new plan is server r"
    shown = ", ".join(str(server) for server in found.servers[:16])
    return f"rank 0, 1, … of the new plan is server {shown}{', …' if len(found.servers) > 16 else ''}"


def _steps(order: "MoveOrder") -> str:
    count = len(order.steps)
    if not count:
        return "none"
    if not order.keep_running:
        return f"{count}: the old job has ended, so all may be done at once"
    return (
        f"{count}, {'none of which cuts the job' if not order.cuts else f'of which {order.cuts} cut the job'}"
    )
