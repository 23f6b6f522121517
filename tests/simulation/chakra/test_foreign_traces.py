"""Traces of others, written by the protobuf library: ASTRA-sim's conventions, and what is wrong in one line."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import topoopt
from tests.simulation.chakra.messages import Node, attribute, file_bytes
from topoopt.simulation import TaskGraph, job_of_chakra
from topoopt.simulation.task_graph import COLLECTIVES, TRANSFER

COMP, SEND, RECV, COLL = 4, 5, 6, 7
MB = 1_000_000


def comp(number: int, micros: int, *waits: int, cpu: bool = False, **more: Any) -> Any:
    attributes = [attribute("is_cpu_op", bool_val=cpu)]
    return Node(id=number, type=COMP, duration_micros=micros, data_deps=waits, attr=attributes, **more)


def collective(number: int, kind: int, size: int, *waits: int, group: str = "") -> Any:
    said = [attribute("comm_type", int64_val=kind), attribute("comm_size", uint64_val=size)]
    named = [attribute("pg_name", string_val=group)] if group else []
    return Node(id=number, type=COLL, data_deps=waits, attr=[*said, *named])


def sent(number: int, kind: int, peer: int, size: int, *waits: int, tag: int = 0) -> Any:
    end = attribute("comm_dst" if kind == SEND else "comm_src", int32_val=peer)
    rest = [attribute("comm_size", int64_val=size), attribute("comm_tag", int32_val=tag)]
    return Node(id=number, type=kind, data_deps=waits, attr=[end, *rest])


def put(folder: Path, *ranks: list[Any], prefix: str = "job") -> Path:
    for rank, nodes in enumerate(ranks):
        (folder / f"{prefix}.{rank}.et").write_bytes(file_bytes(*nodes))
    return folder


def graph_of(folder: Path, *ranks: list[Any]) -> TaskGraph:
    return job_of_chakra(str(put(folder, *ranks))).graph


def test_only_collectives_as_astra_sim_makes_them(tmp_path: Path) -> None:
    put(tmp_path, *[[collective(0, 0, 8 * MB)]] * 4, prefix="AllReduce_8MB")
    run = topoopt.simulate(
        tmp_path / "AllReduce_8MB",
        fabric="ideal-switch",
        bandwidth="80Gbps",
        latency=0.0,
        simulator="analytic",
    )
    assert run.name == "AllReduce_8MB"
    # a ring of 4 at 10 GB/s: 2·3 rounds of 2 MB in 0.2 ms each
    assert run.iteration_time_s == pytest.approx(6 * 0.2e-3, rel=0.02)


@pytest.mark.parametrize(
    ("kind", "ours", "buffer"),
    [(2, "all-gather", 4 * MB), (6, "all-to-all", MB), (7, "reduce-scatter", MB), (8, "reduce-scatter", MB)],
)
def test_sizes_are_astra_sims(tmp_path: Path, kind: int, ours: str, buffer: int) -> None:
    graph = graph_of(tmp_path, *[[collective(0, kind, MB)]] * 4)
    assert COLLECTIVES[graph.collective[0]] == ours
    assert graph.size_bytes[0] == buffer


def test_everyone_may_send_before_anyone_receives(tmp_path: Path) -> None:
    """Each rank receives after it has sent, so that the two transfers must not wait for each other."""
    pair = [
        [sent(0, SEND, 1 - rank, 100 * MB), sent(1, RECV, 1 - rank, 100 * MB, 0), comp(2, 5, 1)]
        for rank in (0, 1)
    ]
    graph = graph_of(tmp_path, *pair)
    moved = np.flatnonzero((graph.kind == TRANSFER) & (graph.size_bytes > 0))
    assert graph.predecessors[moved].tolist() == [0, 0]
    run = topoopt.simulate(tmp_path, fabric="ideal-switch", bandwidth="8Gbps", latency=0.0, simulator="flow")
    assert run.iteration_time_s == pytest.approx(0.1 + 5e-6, rel=0.02)


def test_tags_tell_transfers_of_a_pair_apart(tmp_path: Path) -> None:
    sends = [sent(0, SEND, 1, 10, tag=7), sent(1, SEND, 1, 20, tag=8)]
    takes = [sent(0, RECV, 0, 20, tag=8), sent(1, RECV, 0, 10, tag=7), comp(2, 1, 0)]
    graph = graph_of(tmp_path, sends, takes)
    waited = graph.waited_for[graph.successor == np.flatnonzero(graph.kind == 0)[0]]
    assert graph.size_bytes[waited].tolist() == [20]


def test_groups_are_those_of_the_file_or_those_who_take_part(tmp_path: Path) -> None:
    ranks = [[collective(0, 0, MB, group="3")] if rank in (1, 3) else [comp(0, 1)] for rank in range(4)]
    assert graph_of(tmp_path, *ranks).groups == ((1, 3),)
    (tmp_path / "comm_group.json").write_text('{"3": [3, 1]}')
    graph = job_of_chakra(str(tmp_path)).graph
    assert graph.members(int(graph.collectives[0])) == (3, 1)


def test_control_dependencies_and_cpus(tmp_path: Path) -> None:
    first, cpu = comp(5, 10), comp(6, 30, cpu=True)
    after = comp(9, 20)
    after.ctrl_deps.append(5)
    graph = graph_of(tmp_path, [first, cpu, after])
    assert graph.predecessors.tolist() == [0, 0, 1]
    run = topoopt.simulate(
        tmp_path, fabric="ideal-switch", bandwidth="8Gbps", servers=2, simulator="analytic"
    )
    assert run.iteration_time_s == pytest.approx(30e-6)  # the CPU beside the accelerator


def test_a_delay_is_left_out_only_where_its_communication_says_it(tmp_path: Path) -> None:
    delay = comp(2, 10, 0, cpu=True)
    delay.attr.append(attribute("topoopt_delay_of", uint64_val=1))
    assert graph_of(tmp_path, [comp(0, 10), collective(1, 0, MB, 2), delay]).duration_s.tolist() == [
        1e-5,
        0,
        1e-5,
    ]
    said = collective(1, 0, MB, 2)
    said.attr.append(attribute("topoopt_duration_s", double_val=3e-6))
    graph = graph_of(tmp_path, [comp(0, 10), said, delay])
    assert (graph.duration_s.tolist(), graph.predecessors.tolist()) == ([1e-5, 3e-6], [0, 1])


def test_metadata_takes_no_time_and_hands_on_what_it_waits_for(tmp_path: Path) -> None:
    meta = Node(id=1, type=1, data_deps=[0], attr=[attribute("double_list")])
    graph = graph_of(tmp_path, [comp(0, 10), meta, comp(2, 10, 1)])
    assert graph.predecessors.tolist() == [0, 1, 1]


MISTAKES: dict[str, tuple[list[list[Any]], str]] = {
    "dangling": (
        [[comp(0, 1, 4)]],
        r"job\.0\.et: node 0 \(COMP\): waits for node 4, which the file does not hold",
    ),
    "circle": (
        [[comp(0, 1, 1), comp(1, 1, 0)]],
        r"job\.0\.et: node 0: waits in a circle for .*job\.0\.et node 1",
    ),
    "itself": ([[comp(3, 1, 3)]], r"job\.0\.et: node 3: waits in a circle for itself"),
    "circle across ranks": (
        [[sent(0, SEND, 1, 9, 1), sent(1, RECV, 1, 9)], [sent(0, SEND, 0, 9, 1), sent(1, RECV, 0, 9)]],
        r"job\.0\.et: node 0: waits in a circle for .*job\.1\.et node 0",
    ),
    "twice": ([[comp(2, 1), comp(2, 1)]], r"node 2 \(COMP\): its number is there twice"),
    "collective": (
        [[collective(0, 5, 1)]] * 2,
        r"node 0 \(COMM_COLL\): comm_type BROADCAST is not simulated; expected ALL_REDUCE",
    ),
    "no such collective": ([[collective(0, 77, 1)]], r"comm_type 77 is not simulated"),
    "missing member": (
        [[collective(4, 0, 1)], [comp(0, 1)]],
        r"job\.0\.et: node 4 .*job\.1\.et has no such collective of all ranks",
    ),
    "sizes": (
        [[collective(0, 0, 1)], [collective(0, 0, 2)]],
        r"job\.1\.et: node 0 .*allreduce of 2 bytes, where .*job\.0\.et node 0 is allreduce of 1",
    ),
    "no receive": (
        [[sent(0, SEND, 1, 9, tag=5)], [comp(0, 1)]],
        r"sends to rank 1 with comm_tag 5, for which .*job\.1\.et has no receive",
    ),
    "no send": (
        [[comp(0, 1)], [sent(8, RECV, 0, 9)]],
        r"job\.1\.et: node 8 .*receives from rank 0 .*job\.0\.et has no send",
    ),
    "taken": (
        [[sent(0, SEND, 1, 9)], [sent(0, RECV, 0, 8)]],
        r"job\.1\.et: node 0 .*takes 8 bytes, where .*job\.0\.et node 0 sends 9",
    ),
    "nobody": ([[sent(0, SEND, 6, 9)]], r"comm_dst 6 has no trace, there are 1 ranks"),
    "to itself": ([[sent(0, SEND, 0, 9)]], r"its two ends are the same rank"),
    "no size": (
        [[Node(id=0, type=COLL, attr=[attribute("comm_type", int64_val=0)])]],
        r"comm_size: expected a whole number of 0\.\.\d+, got nothing",
    ),
    "roofline": (
        [[Node(id=0, type=COMP, attr=[attribute("num_ops", int64_val=9)])]],
        r"has num_ops and no duration_micros",
    ),
    "memory": ([[Node(id=0, type=2)]], r"node 0 \(MEM_LOAD\): loads memory and has no duration_micros"),
    "kind": ([[Node(id=0, type=12)]], r"node 0 \(12\): type: expected 0\.\.7"),
    "dims": (
        [[Node(id=0, type=COLL, attr=[attribute("involved_dim", bool_list={"values": [True, False]})])]],
        r"involved_dim names a part of the dimensions",
    ),
    "nothing": ([[]], r"the traces hold no nodes"),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_one_line_with_file_and_node(tmp_path: Path, mistake: str) -> None:
    ranks, expected = MISTAKES[mistake]
    with pytest.raises(topoopt.InvalidInput, match=expected) as error:
        graph_of(tmp_path, *ranks)
    assert "\n" not in str(error.value)


def test_a_missing_rank_is_named(tmp_path: Path) -> None:
    put(tmp_path, *[[comp(0, 1)]] * 3)
    (tmp_path / "job.1.et").unlink()
    with pytest.raises(topoopt.InvalidInput, match="rank 1 is missing, there are 2 files up to rank 2"):
        job_of_chakra(str(tmp_path / "job"))


def test_two_sets_in_a_folder_are_named(tmp_path: Path) -> None:
    put(tmp_path, [comp(0, 1)], prefix="a")
    put(tmp_path, [comp(0, 1)], prefix="b")
    with pytest.raises(topoopt.InvalidInput, match=r"holds 2 sets of traces; name one of them: .*/a, .*/b"):
        job_of_chakra(str(tmp_path))
    assert len(job_of_chakra(str(tmp_path / "b")).graph) == 1


def test_a_group_names_ranks_that_are_there(tmp_path: Path) -> None:
    put(tmp_path, [collective(0, 0, 1, group="1")])
    for content, expected in (
        ('{"1": [0, 4]}', "group 1: rank 4 has no trace"),
        ("[]", "expected process groups"),
        ('{"1": [0, 0]}', "expected different ranks"),
    ):
        (tmp_path / "comm_group.json").write_text(content)
        with pytest.raises(topoopt.InvalidInput, match=expected):
            job_of_chakra(str(tmp_path))
    (tmp_path / "comm_group.json").write_text('{"1": [0]}')
    put(tmp_path, [collective(0, 0, 1, group="1")], [collective(0, 0, 1, group="1")])
    with pytest.raises(topoopt.InvalidInput, match="pg_name 1: rank 1 is not in that group"):
        job_of_chakra(str(tmp_path))


def refusal(folder: Path) -> str:
    """Return why traces are refused, or nothing."""
    try:
        job_of_chakra(str(folder))
    except topoopt.InvalidInput as error:
        return str(error)
    return ""


@pytest.mark.parametrize("cut", range(1, 40, 3))
def test_a_file_that_ends_within_a_node_is_named(tmp_path: Path, cut: int) -> None:
    put(tmp_path, [comp(0, 1), collective(1, 0, 5, 0), comp(300, 9, 1)])
    path = tmp_path / "job.0.et"
    whole = path.read_bytes()
    path.write_bytes(whole[:-cut])
    last = len(file_bytes(comp(300, 9, 1))) - len(file_bytes())
    reason = refusal(tmp_path)
    assert reason.startswith(f"{path}: no Chakra trace: ") if cut != last else not reason


def test_spoiled_bytes_end_in_one_line_or_in_a_graph(tmp_path: Path) -> None:
    put(tmp_path, [comp(0, 1), collective(1, 0, 5, 0), comp(2, 9, 1)])
    path = tmp_path / "job.0.et"
    whole, chance, reasons = path.read_bytes(), np.random.default_rng(1), []
    for _ in range(300):
        spoiled = bytearray(whole)
        spoiled[chance.integers(len(whole))] = chance.integers(256)
        path.write_bytes(bytes(spoiled))
        reasons.append(refusal(tmp_path))
    assert not any("\n" in reason for reason in reasons)
    assert sum(map(bool, reasons)) > 50


def test_the_network_of_a_plan_is_for_one_job_and_says_all_of_itself(tmp_path: Path) -> None:
    plan = topoopt.plan("vgg16", servers=4, degree=2, fabrics=(), budget=0)
    topoopt.write_plan(str(tmp_path / "plan.json"), plan)
    (tmp_path / "traces").mkdir()
    put(tmp_path / "traces", *[[collective(0, 0, MB)]] * 5)
    where = str(tmp_path / "plan.json")
    with pytest.raises(topoopt.InvalidInput, match=r"has 5 servers, .*plan\.json has 4"):
        topoopt.simulate(tmp_path / "traces", fabric=where)
    with pytest.raises(topoopt.InvalidInput, match=r"degree: .*plan\.json says what its network is"):
        topoopt.simulate(tmp_path / "traces", degree=2, fabric=where)
    with pytest.raises(topoopt.InvalidInput, match="is for one job"):
        topoopt.simulate([plan, plan], fabric=where)
