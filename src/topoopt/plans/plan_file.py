"""A plan to a JSON document and back."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from topoopt.base.answers import Provenance, fields_of
from topoopt.base.errors import InvalidInput
from topoopt.base.limits import LARGEST
from topoopt.finder import STRIDES, FinderRules
from topoopt.jobs import Job, Work
from topoopt.plans import file_model as model
from topoopt.plans.comparison import compared_fabrics, recommended_label, standings_of
from topoopt.plans.plan import Baseline, Outcome, Plan, RoutingGap, SearchRecord
from topoopt.plans.work_parts import (
    operators_from_file,
    operators_to_mapping,
    traffic_from_file,
    traffic_to_mapping,
    transformer_from_file,
    transformer_to_mapping,
)
from topoopt.routing import Fabric, routes_from_mapping, routes_to_mapping
from topoopt.schema.files import noun_from, read_json, validated, write_atomically
from topoopt.schema.words import checked_arguments
from topoopt.topologies import Ring, Topology, hop_metrics
from topoopt.workloads import OperatorSplit, ParallelStrategy

EMPTY: Mapping[str, Any] = {
    "strategy": [],
    "profiles": [],
    "device_profiles": [],
    "fixed_traffic": [],
    "fixed_allreduce": [],
    "fixed_compute_s": 0.0,
    "fixed_hidden_share": 0.0,
    "training": None,
}
"""Keys of a plan file that are of one kind of work, where it is another."""


@dataclass(frozen=True, slots=True)
class WorkPart:
    """Conversion of a plan's work to keys of its file and back."""

    to_mapping: Callable[[Plan], Mapping[str, Any]]
    from_file: Callable[[model.PlanFile], Work]


WORK_PARTS: Mapping[str, WorkPart] = {
    "operators": WorkPart(operators_to_mapping, operators_from_file),
    "traffic": WorkPart(traffic_to_mapping, traffic_from_file),
    "transformer": WorkPart(transformer_to_mapping, transformer_from_file),
}


def plan_to_mapping(plan: Plan) -> dict[str, Any]:
    """Return the plan as the JSON document of ``topoopt plan --json`` and of a plan file.

    Raises
    ------
    InvalidInput
        For more bytes in an iteration than can be counted.
    """
    job, fabric, traffic = plan.job, plan.fabric, plan.traffic()
    most = max(traffic.allreduce_bytes, traffic.mp_bytes)
    if most > LARGEST:
        raise InvalidInput(
            f"{job.name}: sends {most:.4g} bytes an iteration, at most {LARGEST} are counted; make it smaller"
        )
    hops = hop_metrics(fabric.topology)
    beside = compared_fabrics(plan)
    own, *others = (row.ownership for row in beside)
    groups = sorted(fabric.rings, key=lambda members: (-len(members), members))
    standing, *standings = standings_of(beside)
    document = {
        "schema": model.SCHEMA,
        "fabric": fabric.name,
        "model": job.name,
        **fields_of(job.cluster, "servers", "degree"),
        "bandwidth_bps": job.cluster.link_bandwidth_bps,
        **fields_of(plan, "strides", "wiring"),
        "rings": [
            _ring(index, ring) for index, members in enumerate(groups) for ring in fabric.rings[members]
        ],
        "groups": groups,
        **fields_of(hops, "diameter", "average_hops"),
        "hop_histogram": {distance: int(count) for distance, count in enumerate(hops.histogram) if count},
        **plan.outcome.to_json(),
        "data_parallel": plan.data_parallel,
        **fields_of(traffic, "allreduce_bytes", "mp_bytes"),
        "lower_bound_s": plan.bounds.lower_bound_s,
        **fields_of(plan, "gap", "bounds", "gap_parts"),
        "routing": plan.routing_gap,
        **fields_of(plan.search, "proposals", "proposals_per_s", "stopped_because"),
        "search": {
            "options": plan.options,
            "rules": asdict(plan.rules),
            **fields_of(plan.search, "seed_times_s", "convergence", "cpu_s", "left_out"),
        },
        "baselines": [
            {**_baseline_to_mapping(row, plan.iteration_time_s), **asdict(its), "ownership": owned}
            for row, its, owned in zip(plan.baselines, standings, others, strict=True)
        ],
        "skipped_fabrics": plan.skipped_fabrics,
        "recommended": recommended_label(beside),
        "cost_usd": plan.price.get("cost_usd"),
        **asdict(standing),
        **fields_of(plan, "price", "terms", "served"),
        "ownership": own,
        "gradients": plan.gradients,
        **fields_of(job, "cluster", "settings"),
        **work_to_mapping(plan),
        "topology": _topology(fabric.topology),
        "routes": routes_to_mapping(fabric.routes),
        "provenance": plan.provenance,
    }
    return model.PlanFile.model_validate(document, from_attributes=True).model_dump(
        by_alias=True, mode="json"
    )


def _baseline_to_mapping(row: Baseline, plan_time_s: float) -> dict[str, Any]:
    mapping = {
        **vars(row),
        "label": row.label,
        **row.outcome.to_json(),
        "relative_time": row.outcome.iteration_time_s / plan_time_s,
        "strategy": [(s.batch_degree, s.start, s.channel_degree, s.channel_dim) for s in row.strategy.splits],
        "layout": row.strategy.layout,
    }
    del mapping["outcome"]
    return mapping


@checked_arguments
def write_plan(path: str | Path, plan: Plan) -> None:
    """Write a plan file, whole or not at all."""
    write_atomically(path, json.dumps(plan_to_mapping(plan), indent=1) + "\n")


@checked_arguments
def read_plan(path: str | Path) -> Plan:
    """Return the plan of a file.

    Raises
    ------
    InvalidInput
        In one line, if the file is not JSON, truncated, or not a plan.
    """
    return plan_from_mapping(read_json(path, "expected a plan file"), str(path))


def plan_from_mapping(document: Any, place: str = "plan") -> Plan:
    """Return the plan that a JSON document describes; errors as :func:`read_plan`."""
    if isinstance(document, dict) and document.get("schema") != model.SCHEMA:
        got = document.get("schema", "no schema")
        raise InvalidInput(f"{place}: expected a plan file with schema {model.SCHEMA}, got {got}")
    try:
        return _plan(validated(model.PlanFile, document, place))
    except InvalidInput as error:
        reason = str(error).removeprefix(f"{place}: ")
        raise InvalidInput(f"{place}: {reason}") from None


def _plan(file: model.PlanFile) -> Plan:
    for name, short, full in (
        ("model", file.model, file.graph.name),
        ("servers", file.servers, file.cluster.servers),
        ("degree", file.degree, file.cluster.degree),
        ("bandwidth_bps", file.bandwidth_bps, file.cluster.link_bandwidth_bps),
        ("topology: servers", file.topology.servers, file.cluster.servers),
        ("cost_usd", file.cost_usd, file.price.cost_usd),
    ):
        if short != full:
            raise InvalidInput(f"{name}: {short} here, {full} elsewhere in the file")
    job = Job(work_from_file(file), file.cluster, file.settings)
    splits = [noun_from(OperatorSplit, row) for row in file.strategy]
    topology = _topology_of(file.topology)
    rings = _rings(file, topology)
    if file.wiring is not None and file.wiring.family != STRIDES:
        topology = replace(topology, rings=rings.get(tuple(range(topology.servers)), ()))
    fabric = Fabric(file.fabric, topology, routes_from_mapping(file.routes, topology), rings)
    found = {"proposals": file.proposals, "stopped_because": file.stopped_because}
    plan = noun_from(
        Plan,
        file,
        job=job,
        strategy=_strategy(job, splits, 0 if file.training is None else file.training.chosen),
        fabric=fabric,
        outcome=noun_from(Outcome, file),
        routing_gap=noun_from(RoutingGap, file.routing),
        search=noun_from(SearchRecord, file.search, **found),
        provenance=noun_from(Provenance, file.provenance),
        options=file.search.options,
        baselines=tuple(_baseline(row, job) for row in file.baselines),
        price=file.price.model_dump(exclude_unset=True),
        rules=_finder_rules(file.search.options if file.search.rules is None else file.search.rules),
    )
    for group in plan.traffic().allreduce:
        if not plan.fabric.rings.get(group.members):
            raise InvalidInput(f"rings: none joins the group of {len(group.members)} servers {group.members}")
    return plan


def _finder_rules(options: Mapping[str, Any]) -> FinderRules:
    """Return the finder rules among the options; the defaults where none are given."""
    names = {rule.name: options[rule.name] for rule in fields(FinderRules) if options.get(rule.name)}
    for key, name in names.items():
        if not isinstance(name, str):
            raise InvalidInput(f"search: options: {key}: expected a name, got {str(name)[:80]}")
    return FinderRules(**names)


def _strategy(job: Job, splits: Sequence[OperatorSplit], layout: int) -> ParallelStrategy:
    servers = job.cluster.servers
    expected = len(job.work.plain_strategy(servers).splits)
    if len(splits) != expected:
        raise InvalidInput(f"strategy: expected a row for each of {expected} operators, got {len(splits)}")
    return ParallelStrategy(servers, tuple(splits), layout)


def _baseline(row: model.BaselinePart, job: Job) -> Baseline:
    layouts = max(len(job.work.choices(job.cluster.servers)), 1)
    if row.layout >= layouts:
        raise InvalidInput(f"baselines: {row.fabric}: layouts are 0..{layouts - 1}, got {row.layout}")
    splits = [OperatorSplit(*split) for split in row.strategy]
    return noun_from(
        Baseline, row, outcome=noun_from(Outcome, row), strategy=_strategy(job, splits, row.layout)
    )


def _ring(group: int, ring: Ring) -> dict[str, Any]:
    walk = None if ring.walk == ring.members else list(ring.walk)
    return {"group": group, "stride": ring.stride, "members": list(ring.members), "walk": walk}


def _rings(file: model.PlanFile, topology: Topology) -> dict[tuple[int, ...], tuple[Ring, ...]]:
    rings: dict[tuple[int, ...], tuple[Ring, ...]] = {tuple(members): () for members in file.groups}
    for index, row in enumerate(file.rings):
        ring = Ring(row.stride, tuple(row.walk or row.members), tuple(row.members))
        nodes = [*ring.walk, *ring.members]
        if not nodes or not 0 <= min(nodes) <= max(nodes) < topology.nodes:
            raise InvalidInput(f"rings[{index}]: nodes must be in 0..{topology.nodes - 1}")
        src, dst = ring.edges()
        missing = np.flatnonzero(topology.link_ids(src, dst) < 0)
        if len(missing):
            raise InvalidInput(
                f"rings[{index}]: no link {src[missing[0]]}->{dst[missing[0]]} in the topology"
            )
        if not 0 <= row.group < len(file.groups):
            raise InvalidInput(f"rings[{index}]: group must be in 0..{len(file.groups) - 1}, got {row.group}")
        key = tuple(file.groups[row.group])
        rings[key] = (*rings[key], ring)
    return rings


def _topology(topology: Topology) -> dict[str, Any]:
    return {
        **fields_of(topology, "family", "servers", "nodes"),
        "offsets": list(topology.offsets),
        "links": {
            "src": topology.src.tolist(),
            "dst": topology.dst.tolist(),
            "ports": topology.ports.tolist(),
            "bandwidth_bps": _column(topology.bandwidth_bps),
            "latency_s": _column(topology.latency_s),
        },
    }


def _topology_of(part: model.TopologyPart) -> Topology:
    links = part.links
    count = len(links.src)
    if not len(links.dst) == len(links.ports) == count:
        raise InvalidInput("topology: links: src, dst and ports must be of one length")
    for name in ("bandwidth_bps", "latency_s"):
        column = getattr(links, name)
        if isinstance(column, list) and len(column) != count:
            raise InvalidInput(f"topology: links: {name}: expected {count} values, got {len(column)}")
    if max([*links.src, *links.dst], default=0) >= part.nodes or part.nodes < part.servers:
        raise InvalidInput(f"topology: links: nodes must be in 0..{part.nodes - 1}, servers first")
    ends = list(zip(links.src, links.dst, strict=True))
    if ends != sorted(set(ends)) or any(src == dst for src, dst in ends):
        raise InvalidInput(
            "topology: links: must be in order of src and dst, each once, none from a node to itself"
        )
    topology = Topology(
        part.family,
        part.servers,
        part.nodes,
        np.array(links.src, np.int32),
        np.array(links.dst, np.int32),
        np.array(links.ports, np.int32),
        np.broadcast_to(np.array(links.bandwidth_bps, np.float64), (count,)).copy(),
        np.broadcast_to(np.array(links.latency_s, np.float64), (count,)).copy(),
        tuple(part.offsets),
    )
    server = np.repeat(np.arange(part.servers), len(part.offsets))
    ahead = (server + np.tile(np.array(part.offsets, np.int64), part.servers)) % part.servers
    if part.offsets and (count != len(server) or (topology.link_ids(server, ahead) < 0).any()):
        raise InvalidInput("topology: offsets: every server must have a link along each, and no other")
    return topology


def _column(values: NDArray[np.float64]) -> float | list[float]:
    return float(values[0]) if len(values) and (values == values[0]).all() else values.tolist()


def work_to_mapping(plan: Plan) -> dict[str, Any]:
    """Return the keys of a plan file for the work and its memory."""
    return {**EMPTY, **WORK_PARTS[plan.job.work.kind].to_mapping(plan)}


def work_from_file(file: model.PlanFile) -> Work:
    """Return the work that a plan file describes."""
    kind = "traffic" if file.fixed_traffic or file.fixed_allreduce else "operators"
    kind = kind if file.training is None else "transformer"
    return WORK_PARTS[kind].from_file(file)
