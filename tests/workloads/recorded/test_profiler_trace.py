"""Traces of torch.profiler become what servers send each other; ranks that are silent do as the others."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from tests.workloads.recorded.logs import event, trace
from topoopt.base.errors import InvalidInput
from topoopt.workloads.recorded import read_recording, recorded_traffic
from topoopt.workloads.traffic import AllReduceGroup, Traffic

ALL = {"0": range(8)}
EXAMPLE = Path(__file__).parents[3] / "examples" / "recorded" / "rank0.trace.json"


def traffic_of(traces: list[dict[str, Any]], tmp_path: Path, per_server: int = 4) -> Traffic:
    for number, one in enumerate(traces):
        (tmp_path / f"rank{number}.json").write_text(json.dumps(one))
    return recorded_traffic(read_recording(str(tmp_path)), per_server)


def test_the_example_of_one_rank_says_what_all_do() -> None:
    traffic = recorded_traffic(read_recording(str(EXAMPLE)), 4)
    assert traffic.servers == 4
    # a step has a reduce-scatter and an all-gather of 16 shards, half an AllReduce each
    assert traffic.allreduce == (AllReduceGroup((0, 1, 2, 3), 16 * 131_072),)
    assert not len(traffic.transfers)


def test_groups_of_silent_ranks_lie_as_those_that_are_recorded(tmp_path: Path) -> None:
    groups = {"0": range(8), "1": (0, 4), "2": (0, 1, 2, 3)}
    events = [event("allreduce", "1", nelems=1000), event("allreduce", "2", nelems=77)]
    traffic = traffic_of([trace(0, 8, groups, events)], tmp_path)
    assert traffic.allreduce == (AllReduceGroup((0, 1), 4 * 4000),)


def test_steps_of_the_profiler_are_iterations(tmp_path: Path) -> None:
    events = [event("allreduce", "0", nelems=1000, dtype="BFloat16")] * 6
    traffic = traffic_of([trace(0, 8, ALL, events, steps=3)], tmp_path)
    assert traffic.allreduce == (AllReduceGroup((0, 1), 2 * 2000),)


def test_an_uneven_all_to_all_is_its_splits(tmp_path: Path) -> None:
    split = [0, 0, 0, 0, 3, 1, 0, 0]
    events = [event("all_to_allv", "0", nelems=400, more={"In split size": str(split)})]
    silent = [trace(rank, 8, ALL, []) for rank in range(1, 8)]
    moved = traffic_of([trace(0, 8, ALL, events), *silent], tmp_path).mp_matrix()
    assert moved.tolist() == [[0, 1600], [0, 0]]


def test_an_even_all_to_all_of_one_rank_is_that_of_all(tmp_path: Path) -> None:
    events = [event("all_to_all", "0", nelems=800)]
    moved = traffic_of([trace(0, 8, ALL, events)], tmp_path).mp_matrix()
    assert moved.tolist() == [[0, 16 * 400], [16 * 400, 0]]


def test_messages_need_all_ranks(tmp_path: Path) -> None:
    events = [event("send", "0", nelems=100, more={"Dst Rank": 5})]
    with pytest.raises(InvalidInput, match="rank 1 of 8 is not recorded; give the recordings of all ranks"):
        traffic_of([trace(0, 8, ALL, events)], tmp_path)
    everyone = [trace(rank, 8, ALL, events if rank == 0 else []) for rank in range(8)]
    assert traffic_of(everyone, tmp_path).mp_matrix()[0, 1] == 400


def test_notes_of_the_host_and_of_the_kernels_count_once(tmp_path: Path) -> None:
    note = event("allreduce", "0", nelems=1000)
    kernel = {**note, "cat": "kernel", "name": "ncclDevKernel_AllReduce_Sum_f32_RING_LL"}
    both = traffic_of([trace(0, 8, ALL, [note, kernel])], tmp_path)
    assert both == traffic_of([trace(0, 8, ALL, [kernel])], tmp_path)


def test_a_group_by_its_first_rank_and_stride(tmp_path: Path) -> None:
    more = {
        "Global rank start": 0,
        "Global rank stride": 4,
        "Group size": 2,
        "Process Group Ranks": "[0, ...]",
    }
    events = [event("allreduce", "9", nelems=10, more=more)]
    assert traffic_of([trace(0, 8, {}, events)], tmp_path).allreduce == (AllReduceGroup((0, 1), 4 * 40),)


@pytest.mark.parametrize("change", [{"Group size": 2**40}, {"Process Group Ranks": "[" + "1" * 5000 + "]"}])
def test_a_group_of_more_ranks_than_there_can_be_is_one_line(change: dict[str, Any], tmp_path: Path) -> None:
    more = {"Global rank start": 0, "Global rank stride": 1, **change}
    with pytest.raises(InvalidInput):
        traffic_of([trace(0, 8, {}, [event("allreduce", "9", nelems=10, more=more)])], tmp_path)


def test_a_packed_trace_is_unpacked(tmp_path: Path) -> None:
    path = tmp_path / "rank0.json.gz"
    path.write_bytes(gzip.compress(EXAMPLE.read_bytes()))
    whole = read_recording(str(EXAMPLE))
    assert recorded_traffic(read_recording(str(path)), 4) == recorded_traffic(whole, 4)
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(InvalidInput, match="cannot be unpacked with gzip: Compressed file ended"):
        read_recording(str(path))


@pytest.mark.parametrize(
    ("traces", "words"),
    [
        ([trace(0, 8, ALL, [])], "no collectives: no event has a"),
        ([trace(0, 8, ALL, [event("allflip", "0", nelems=1)])], '"allflip": is not known'),
        (
            [trace(0, 8, ALL, [event("allreduce", "0", nelems=1, dtype="Quarter")])],
            'dtype "Quarter" is not known',
        ),
        ([trace(0, 8, ALL, [event("allreduce", "0", nelems=-1)])], "In msg nelems: expected a whole number"),
        ([trace(0, 8, {}, [event("allreduce", "7", nelems=1)])], 'process group "7": its ranks are not said'),
        ([trace(0, 8, ALL, [])] * 2, "is of rank 0, as "),
        (
            [trace(rank, 8, ALL, [event("allreduce", "0", nelems=1)], steps=1 + rank) for rank in (0, 1)],
            "the traces are of 1 to 2 steps",
        ),
        (
            [trace(0, 8, {"1": (0, 3)}, [event("allreduce", "1", nelems=1)])],
            "allreduce among ranks [0, 3]: what the other ranks do does not follow",
        ),
        (
            [trace(0, 10**12, ALL, [event("allreduce", "0", nelems=1)])],
            "1000000000000 ranks, at most 100000 are read",
        ),
        (
            [trace(0, 8, {"1": (0, 0)}, [event("allreduce", "1", nelems=1)])],
            "among [0, 0]: a rank stands twice",
        ),
        ([trace(0, 8, ALL, [event("allreduce", "0", nelems=2**53)])], "can be counted"),
        ([{"traceEvents": 3}], "expected a trace of torch.profiler, with a list traceEvents"),
    ],
)
def test_what_traces_do_not_say_is_one_line(traces: list[dict[str, Any]], words: str, tmp_path: Path) -> None:
    with pytest.raises(InvalidInput) as raised:
        traffic_of(traces, tmp_path)
    assert words in str(raised.value)
    assert "\n" not in str(raised.value)


def test_what_pytorch_before_2_2_writes_has_no_sizes(tmp_path: Path) -> None:
    """As a trace of HolisticTraceAnalysis has it, cut."""
    said = {"External id": 1137, "Input Dims": [[6144], [], []], "Input type": ["float", "Scalar", ""]}
    events = [{"ph": "X", "cat": "cpu_op", "name": "record_param_comms", "ts": 1, "dur": 79, "args": said}]
    about = {"backend": "nccl", "rank": 0, "world_size": 8}
    (tmp_path / "rank0.json").write_text(json.dumps({"distributedInfo": about, "traceEvents": events}))
    with pytest.raises(
        InvalidInput, match=r"have no sizes, which PyTorch writes since 2\.2; record again .* NCCL's log"
    ):
        read_recording(str(tmp_path))


def test_one_accelerator_sends_nothing(tmp_path: Path) -> None:
    recorded = trace(0, 1, {"0": range(1)}, [event("allreduce", "0", nelems=10)])
    (tmp_path / "rank0.json").write_text(json.dumps(recorded))
    with pytest.raises(
        InvalidInput, match="is of one accelerator, which sends nothing; record a run of several"
    ):
        recorded_traffic(read_recording(str(tmp_path)), 1)
