"""NCCL's logs become what servers send each other: bytes worked out by hand from the counts in the lines."""

import random
import re
from pathlib import Path

import pytest

from tests.workloads.recorded.logs import WORLD, called, made, split, world
from topoopt.base.errors import InvalidInput
from topoopt.workloads.recorded import read_recording, recorded_files, recorded_traffic
from topoopt.workloads.recorded.nccl_log import is_nccl_log, nccl_lines
from topoopt.workloads.traffic import AllReduceGroup, Traffic

EXAMPLE = Path(__file__).parents[3] / "examples" / "recorded" / "nccl.log"


def traffic_of(
    lines: list[str], tmp_path: Path, per_server: int | None = None, iterations: int | None = None
) -> Traffic:
    path = tmp_path / "nccl.log"
    path.write_text("step 1 loss 3.2\n" + "\n".join(lines) + "\n")
    return recorded_traffic(read_recording(str(path)), per_server, iterations)


def test_the_example_says_what_two_hosts_send() -> None:
    traffic = recorded_traffic(read_recording(str(EXAMPLE)), iterations=2)
    # four columns AllReduce 2^20 bfloat16, and an all-gather of 8 x 65,536 floats counts as half an AllReduce of them
    assert traffic.allreduce == (AllReduceGroup((0, 1), 4 * 2**20 * 2 + 8 * 65_536 * 4 // 2),)
    assert [(t.src, t.dst, t.size_bytes) for t in traffic.transfers] == [(0, 1, 4 * 250_000 * 4)]


@pytest.mark.parametrize(
    ("operation", "size_bytes"),
    [
        ("AllReduce", 8000),
        ("AllGather", 4 * 8 * 8000 // 8),
        ("ReduceScatter", 32_000),
        ("Broadcast", 4000),
        ("Reduce", 4000),
    ],
)
def test_a_collective_of_all_is_one_of_the_servers(operation: str, size_bytes: int, tmp_path: Path) -> None:
    lines = [*world(8), *(called(rank, operation, 1000, 8, datatype=8) for rank in range(8))]
    assert traffic_of(lines, tmp_path).allreduce == (AllReduceGroup((0, 1), size_bytes),)


def test_what_stays_in_a_server_is_left_out(tmp_path: Path) -> None:
    inner = [made(rank, f"0xb{rank // 4}", rank % 4, 4) for rank in range(8)]
    calls = [called(rank, "AllReduce", 10**6, 4, f"0xb{rank // 4}") for rank in range(8)]
    outer = [called(rank, "AllReduce", 10, 8) for rank in range(8)]
    assert traffic_of([*world(8), *inner, *calls, *outer], tmp_path).allreduce == (
        AllReduceGroup((0, 1), 40),
    )


def test_all_to_all_gather_and_scatter_are_transfers(tmp_path: Path) -> None:
    lines = [*world(8)]
    lines += [called(rank, "AlltoAll", 100, 8) for rank in range(8)]
    lines += [called(rank, "Gather", 30, 8, root=5) for rank in range(8)]
    moved = traffic_of(lines, tmp_path).mp_matrix()
    assert moved.tolist() == [[0, 16 * 400 + 4 * 120], [16 * 400, 0]]


def test_communicators_that_were_split_are_known_by_parent_split_and_color(tmp_path: Path) -> None:
    """PyTorch's groups since NCCL 2.23: no commId, and the same pointers of the parent in no two processes."""
    halves = [line for rank in range(8) for line in split(rank, f"0xc{rank % 4}", rank % 4, rank // 4, 2)]
    calls = [called(rank, "AllReduce", 10**6, 2, f"0xc{rank % 4}") for rank in range(8)]
    assert traffic_of([*world(8), *halves, *calls], tmp_path).allreduce == (
        AllReduceGroup((0, 1), 4 * 4 * 10**6),
    )


def test_the_words_that_rccl_adds_are_passed_over(tmp_path: Path) -> None:
    lines = [*world(8), *(called(rank, "AllReduce", 1000, 8) for rank in range(8))]
    plain = traffic_of(lines, tmp_path)
    more = [
        line.replace(" - Init", " localSize 0 used 32768 bytes on core 7 - Init")
        .replace(" count ", " acc (nil) count ")
        .replace("] NCCL", "] 1558545003174220 NCCL")
        + " task 0 globalrank 3"
        for line in lines
    ]
    assert traffic_of(more, tmp_path) == plain


def test_messages_count_once_and_their_root_is_a_rank_of_the_communicator(tmp_path: Path) -> None:
    pair = [made(6, "0xc0", 0, 2), made(1, "0xc0", 1, 2)]
    calls = [called(6, "Send", 500, 2, "0xc0", root=1), called(1, "Recv", 500, 2, "0xc0", root=0)]
    assert traffic_of([*world(8), *pair, *calls], tmp_path).mp_matrix().tolist() == [[0, 0], [2000, 0]]


def test_lines_in_any_order_of_processes_say_the_same(tmp_path: Path) -> None:
    text = EXAMPLE.read_text().splitlines()
    by_process: dict[str, list[str]] = {line.split("[")[0]: [] for line in text}
    for line in text:
        by_process[line.split("[")[0]].append(line)
    names = list(by_process)
    random.Random(3).shuffle(names)
    mixed = [line for name in names for line in by_process[name]]
    assert traffic_of(mixed, tmp_path, iterations=2) == recorded_traffic(
        read_recording(str(EXAMPLE)), iterations=2
    )


def test_a_folder_of_logs_is_one_recording(tmp_path: Path) -> None:
    for line in EXAMPLE.read_text().splitlines():
        name = line.split(" ")[0].replace(":", ".")
        with (tmp_path / f"{name}.log").open("a") as file:
            file.write(line + "\n")
    assert len(recorded_files(str(tmp_path))) == 8
    whole = read_recording(str(EXAMPLE))
    assert recorded_traffic(read_recording(str(tmp_path))) == recorded_traffic(whole)


def test_without_lines_of_communicators_one_of_all_is_known_by_its_size(tmp_path: Path) -> None:
    calls = [called(rank, "AllReduce", 1000, 16, per_host=8) for rank in range(16)]
    assert traffic_of(calls, tmp_path).allreduce == (AllReduceGroup((0, 1), 4000),)


@pytest.mark.parametrize("iterations", [0, -1, "many", 1.5])
def test_iterations_are_a_whole_number(iterations: int, tmp_path: Path) -> None:
    lines = [*world(8), *(called(rank, "AllReduce", 1000, 8) for rank in range(8))]
    with pytest.raises(InvalidInput, match="iterations: expected an integer >= 1"):
        traffic_of(lines, tmp_path, iterations=iterations)


def test_accelerators_are_put_on_servers_as_asked(tmp_path: Path) -> None:
    calls = [*world(8), *(called(rank, "AllReduce", 1000, 8) for rank in range(8))]
    assert traffic_of(calls, tmp_path, per_server=2).allreduce == (AllReduceGroup((0, 1, 2, 3), 4000),)


@pytest.mark.parametrize(
    ("lines", "per_server", "words"),
    [
        (world(8), None, "holds no collectives; write it with NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=INIT,COLL"),
        (
            [called(rank, "AllReduce", 1, 4) for rank in range(8)],
            None,
            "a communicator of 4 ranks among 8 processes",
        ),
        (
            [made(0, WORLD, 0, 8), called(0, "AllReduce", 1, 8)],
            None,
            "1 of 8 ranks are in the log, rank 1 is not",
        ),
        ([*world(8), called(0, "AllFlip", 1, 8)], None, "AllFlip: no call that is known"),
        ([*world(8), called(0, "AllReduce", 1, 8, datatype=99)], None, "datatype 99 is not known"),
        (
            [*world(8), called(0, "AllReduce", 1, 8).replace("count 1 ", "count 1e6 ")],
            None,
            'line 10: AllReduce: count: expected an integer >= 0 of at most 16 digits, got "1e6"',
        ),
        (
            [*world(8), called(0, "AllReduce", 1000, 8), called(1, "AllReduce", 2000, 8)],
            None,
            "line 11: AllReduce: opCount 1f: count 2000, and 1000 of another rank in line 10",
        ),
        ([*world(4), called(0, "AllReduce", 1, 4)], None, "all 4 accelerators are in one server"),
        ([*world(8), called(0, "Send", 1, 8, root=8)], None, "Send: root 8, of a communicator of 8 ranks"),
        ([*world(8), called(0, "AllReduce", 1, 8)], 3, "do not fill servers of accelerators_per_server=3"),
    ],
)
def test_what_a_log_does_not_say_is_one_line(
    lines: list[str], per_server: int | None, words: str, tmp_path: Path
) -> None:
    with pytest.raises(InvalidInput) as raised:
        traffic_of(lines, tmp_path, per_server)
    assert words in str(raised.value)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    "text",
    [
        *("1" * 200_000, "a" * 200_000, " " * 200_000, "host:1:" * 30_000, "a:" + "1" * 200_000 + ":"),
        *("host:1:1 [0] " * 20_000, "host:1:1 [0] NCCL INFO comm 0x1 rank 0 nranks 2 " * 5_000 + "- Init X"),
    ],
)
def test_a_long_text_that_is_almost_a_log_is_read_once(text: str) -> None:
    assert not list(nccl_lines([text], "log"))
    assert is_nccl_log(text) == ("INFO" in text)


def test_a_communicator_of_more_ranks_than_there_can_be_is_refused(tmp_path: Path) -> None:
    text = EXAMPLE.read_text(encoding="utf-8")
    path = tmp_path / "nccl.log"
    path.write_text(re.sub(r"nranks=\d+", "nranks=999999999999", text), encoding="utf-8")
    with pytest.raises(InvalidInput, match="nranks 999999999999, at most 100000 are read"):
        read_recording(str(path))
