"""``topoopt traffic``: who sends how much to whom, by pair of servers and by link."""

import csv
import io
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from topoopt.cli.job_arguments import JobArguments
from topoopt.cli.search_arguments import FinderArguments
from topoopt.cli.spread import spread
from topoopt.cli.training_arguments import TrainingArguments
from topoopt.cli.words import words

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from topoopt.cli.progress import Progress
    from topoopt.routing import Fabric
    from topoopt.traffic import Traffic

SHOWN = 10


@dataclass(frozen=True, eq=False)
class _Moved:
    """What one iteration moves on a fabric; matrices have shape (servers, servers), loads (links,)."""

    name: str
    strategy: str
    traffic: "Traffic"
    fabric: "Fabric"
    mp_bytes: "NDArray[np.float64]"
    allreduce_bytes: "NDArray[np.float64]"
    link_bytes: "NDArray[np.float64]"


@spread
def traffic(
    job: JobArguments,
    training: TrainingArguments,
    finder: FinderArguments,
    csv_file: Annotated[
        str | None, typer.Option("--csv", metavar="FILE", help="Write every pair and every link as CSV.")
    ] = None,
    matrix: Annotated[
        str | None,
        typer.Option(
            metavar="FILE", help="Write the bytes of all pairs as a square CSV, such as this reads."
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Show what one iteration moves: by pair of servers and by link.

    A plan has its own strategy and network. A model is data parallel, with embedding tables round-robin, on
    the network that is found for that; a transformer has the configuration that is the fastest in closed form.
    """
    from topoopt.cli.output_file import check_writable
    from topoopt.cli.progress import progress
    from topoopt.cli.render import print_json
    from topoopt.files import write_atomically

    check_writable(csv_file, "--csv")
    check_writable(matrix, "--matrix")
    with progress("finding the topology") as report:
        moved = _moved(job, training, finder, report)
    document = _document(moved)
    if csv_file is not None:
        write_atomically(csv_file, _csv(document))
    if matrix is not None:
        rows = (moved.mp_bytes + moved.allreduce_bytes).round().astype("int64").tolist()
        write_atomically(matrix, "".join(",".join(map(str, row)) + "\n" for row in rows))
    if as_json:
        print_json(document)
    else:
        _print(moved, document)


def _moved(
    job: JobArguments, training: TrainingArguments, finder: FinderArguments, report: "Progress"
) -> _Moved:
    from topoopt.job import job_traffic
    from topoopt.search import job_of
    from topoopt.verbs import job_request, plan_from_file, search_options

    given = words(job, training, finder)
    found = plan_from_file(job.source, given)
    if found is not None:
        plan, _ = found
        return _on(plan.job.name, "the plan's", plan.traffic(), plan.fabric)
    options, request = search_options(job_request(job.source, given), given)
    wanted = job_of(request, report)
    strategy = wanted.work.plain_strategy(wanted.cluster.servers)
    demand = job_traffic(wanted, strategy)
    return _on(wanted.name, wanted.work.plain_words, demand, _find(demand, wanted.cluster, options))


def _find(demand: "Traffic", cluster: Any, options: Any) -> "Fabric":
    from topoopt.finder import find_topology

    return find_topology(
        demand,
        degree=cluster.degree,
        bandwidth_bps=cluster.link_bandwidth_bps,
        latency_s=cluster.link_latency_s,
        links=cluster.links,
        rules=options.rules,
        seed=options.seed,
    )


def _on(name: str, strategy: str, demand: "Traffic", fabric: "Fabric") -> _Moved:
    """Lay the demand on the fabric: transfers on routes, AllReduce on the walks of its rings."""
    import numpy as np

    from topoopt.routing import link_loads

    mp_bytes = demand.mp_matrix()
    logical = np.zeros_like(mp_bytes)
    on_links = link_loads(fabric.topology, fabric.routes, mp_bytes)
    for group in demand.allreduce:
        rings = fabric.rings[group.members]
        share = group.wire_bytes / len(group.members) / len(rings)
        for ring in rings:
            members = np.asarray(ring.members)
            np.add.at(logical, (members, np.roll(members, -1)), share)
            np.add.at(on_links, fabric.topology.link_ids(*ring.edges()), share)
    return _Moved(name, strategy, demand, fabric, mp_bytes, logical, on_links)


def _document(moved: _Moved) -> dict[str, Any]:
    import numpy as np

    src, dst = np.nonzero(moved.mp_bytes + moved.allreduce_bytes)
    return {
        "model": moved.name,
        "servers": moved.traffic.servers,
        "strategy": moved.strategy,
        "allreduce_bytes": moved.traffic.allreduce_bytes,
        "allreduce_wire_bytes": moved.traffic.allreduce_wire_bytes,
        "mp_bytes": moved.traffic.mp_bytes,
        "allreduce_groups": [
            {"members": list(group.members), "bytes": group.size_bytes} for group in moved.traffic.allreduce
        ],
        "link_bytes_max": float(moved.link_bytes.max(initial=0.0)),
        "pairs": [
            {
                "src": i,
                "dst": j,
                "allreduce_bytes": float(moved.allreduce_bytes[i, j]),
                "mp_bytes": float(moved.mp_bytes[i, j]),
            }
            for i, j in zip(src.tolist(), dst.tolist(), strict=True)
        ],
        "links": [
            {"src": link.src, "dst": link.dst, "bandwidth_bps": link.bandwidth_bps, "bytes": size}
            for link, size in zip(moved.fabric.topology, moved.link_bytes.tolist(), strict=True)
        ],
    }


def _csv(document: dict[str, Any]) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(("kind", "src", "dst", "allreduce_bytes", "mp_bytes", "bytes"))
    for row in document["pairs"]:
        sizes = (row["allreduce_bytes"], row["mp_bytes"])
        writer.writerow(("pair", row["src"], row["dst"], *sizes, sum(sizes)))
    for row in document["links"]:
        writer.writerow(("link", row["src"], row["dst"], "", "", row["bytes"]))
    return text.getvalue()


def _print(moved: _Moved, document: dict[str, Any]) -> None:
    from topoopt.cli.render import counted, print_facts, print_table, print_title, terminal
    from topoopt.units import format_bytes

    console, demand = terminal(), moved.traffic
    print_title(console, moved.name, f"on {demand.servers} servers: what one iteration moves")
    transfers = [pair for pair in document["pairs"] if pair["mp_bytes"]]
    print_facts(
        console,
        [
            ("strategy", moved.strategy),
            (
                "AllReduce",
                f"{format_bytes(demand.allreduce_bytes)} in {counted(len(demand.allreduce), 'group')}, "
                f"{format_bytes(demand.allreduce_wire_bytes)} on the wire",
            ),
            ("model parallel", f"{format_bytes(demand.mp_bytes)} between {len(transfers)} ordered pairs"),
        ],
    )
    for title, rows in (("pairs", document["pairs"]), ("links", document["links"])):
        sizes = [row.get("bytes", row.get("allreduce_bytes", 0) + row.get("mp_bytes", 0)) for row in rows]
        order = sorted(range(len(rows)), key=lambda index: -sizes[index])[:SHOWN]
        mean = sum(sizes) / len(sizes) if sizes else 0.0
        print_title(console, f"Busiest {title}", f"of {len(rows)}; mean {format_bytes(mean)}")
        print_table(
            console,
            ("from", "to", "bytes"),
            [(str(rows[i]["src"]), str(rows[i]["dst"]), format_bytes(sizes[i])) for i in order],
            numbers=("from", "to", "bytes"),
        )
