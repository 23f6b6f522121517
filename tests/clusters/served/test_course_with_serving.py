"""Served models and training on one cluster."""

from pathlib import Path

import pytest

import topoopt
from topoopt.base.errors import InvalidInput

HEADER = "id,model,servers,arrival_s,iterations,duration_s,serving\n"
CHAT = "chat,llama3-8b,4,0,,600,rate=30 isl=8000 osl=300 prefill_servers=2\n"
TRAIN = "train,vgg16,4,0,2000,,\n"


def run(tmp_path: Path, rows: str, **words: object) -> topoopt.ClusterResult:
    trace = tmp_path / "trace.csv"
    trace.write_text(HEADER + rows)
    return topoopt.cluster.run(trace, **{"servers": 8, "degree": 2, "bandwidth": "100Gbps", **words})  # type: ignore[arg-type]


def test_serving_goes_on_for_its_duration_and_counts_in_no_iteration_time(tmp_path: Path) -> None:
    result = run(tmp_path, CHAT + TRAIN, fabrics=["topoopt", "fat-tree", "ideal-switch"], accelerator="h100")
    for fabric in result.fabrics:
        (chat,), (train,) = fabric.served, fabric.trained
        assert chat.end_s - chat.start_s == pytest.approx(600, rel=1e-3)
        assert fabric.iteration_time_s.mean == pytest.approx(train.iteration_time_s.mean)
        assert chat.served is not None
        assert chat.served.slowdown >= 1 - 1e-6
    dedicated, tree, *_, switch = (fabric.served[0].served for fabric in result.fabrics)
    assert dedicated is not None
    assert tree is not None
    assert switch is not None
    assert dedicated.slowdown == 1.0
    assert switch.kept_up
    # 30 prompts a second of 8,000 tokens from two servers, 126 Gb/s each, where a server has 62.5
    over = 30 / 2 * 8000 * 131_072 * 8 / 62.5e9
    assert (
        0.9 * over < tree.load < 2.5 * over
    )  # more where two connections take one link above the first switch
    assert not tree.kept_up


def test_training_beside_it_slows_what_it_sends_where_links_are_few(tmp_path: Path) -> None:
    rows = CHAT + "train,vgg16,4,0,20000,,\n"
    words = {"fabrics": ["oversub-fat-tree"], "placement": "random", "accelerator": "h100"}
    fabric = run(tmp_path, rows, **words).fabrics[0]
    served = fabric.served[0].served
    assert served is not None
    assert served.slowdown > 1.0


def test_a_scheduler_never_shifts_it(tmp_path: Path) -> None:
    rows = "chat,llama3-8b,4,0,,60,rate=4 isl=2000 osl=300 prefill_servers=2 tensor=1\n"
    rows += "a,vgg16,8,1,100,,\nb,vgg16,8,2,100,,\n"
    trace = tmp_path / "trace.csv"
    trace.write_text(HEADER + rows)
    result = topoopt.cluster.run(trace, scheduler=["themis+cassini"], accelerator="a100")
    (chat,) = result.fabrics[0].served
    assert chat.served is not None
    assert chat.served.slowdown == pytest.approx(1.0, abs=0.05)
    assert len(result.fabrics[0].trained) == 2


@pytest.mark.parametrize(
    ("row", "message"),
    [
        (CHAT, "all its jobs are served models"),
        ("c,llama3-8b,4,0,10,,rate=1 isl=10 osl=10\n" + TRAIN, "duration_s: say how long"),
        ("c,vgg16,4,0,,10,rate=1 isl=10 osl=10\n" + TRAIN, "vgg16 is a graph of operators"),
        ("c,llama3-8b,4,0,,10,rate=1 isl=10\n" + TRAIN, "line 2: serving: .*osl"),
    ],
)
def test_a_wrong_row_is_one_line(tmp_path: Path, row: str, message: str) -> None:
    with pytest.raises(InvalidInput, match=message) as error:
        run(tmp_path, row)
    assert "\n" not in str(error.value)
