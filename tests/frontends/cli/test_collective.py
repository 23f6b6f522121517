"""``topoopt collective`` compares the schedules of a collective on a wiring, and writes the quickest."""

import json
from pathlib import Path

import pytest

from tests.frontends.cli.conftest import Topoopt
from topoopt.collectives import run_msccl

ASKED = ("collective", "--op", "allreduce", "--bytes", "1MB")
SHOWN = """
allreduce of 1 MB, 128 servers, 4 duplex ports each
  schedule      bfb, shards in 4 chunks
  time          55.69 µs: 16 steps and 1.9844 messages at the bandwidth of a server
  bound         47.69 µs: 8 steps and 1.9844 messages; this takes 16.8% more
                what 127 servers have must leave by 4 ports
  wiring        strides 1, 15, diameter 8, 5.354 hops on average
  a step        1 µs beside its bytes
  a server has  400 Gb/s over 4 ports
  played        33,280 transfers in 16 rounds; every shard arrives
"""


def test_what_is_shown(topoopt: Topoopt) -> None:
    ran = topoopt(*ASKED, "--servers", "128", "--strides", "1,15")
    assert ran.code == 0
    printed = [line.rstrip() for line in ran.out.splitlines()]
    assert printed[: len(SHOWN.splitlines())] == SHOWN.splitlines()


def test_json_has_the_stable_keys(topoopt: Topoopt) -> None:
    answer = json.loads(topoopt(*ASKED, "--servers", "128", "--degree", "4", "--json").out)
    assert list(answer) == [
        "op", "bytes", "alpha_s", "wiring", "schedule", "detail", "steps", "volume", "time_s", "bound", "schedules",
        "crossings", "played", "left_out",
    ]  # fmt: skip
    assert (answer["bytes"], answer["wiring"]["servers"], answer["wiring"]["degree"]) == (1e6, 128, 4)
    schedules = {"ring", "bfb", "spanning-trees", "tree", "halving-doubling"}
    assert {row["schedule"] for row in answer["schedules"]} == schedules
    assert answer["time_s"] == min(row["time_s"] for row in answer["schedules"])
    assert answer["played"]["missing"] == 0


def test_bandwidth_and_alpha_are_words(topoopt: Topoopt) -> None:
    words = ("--servers", "16", "--strides", "3,4", "--bandwidth", "200Gbps", "--alpha", "5us", "--json")
    answer = json.loads(topoopt(*ASKED, *words).out)
    assert answer["time_s"] == pytest.approx(6 * 5e-6 + 2 * 15 / 16 * 1e6 / 100e9)


def test_a_schedule_for_msccl_is_written_and_runs(topoopt: Topoopt, tmp_path: Path) -> None:
    out = tmp_path / "ring.xml"
    ran = topoopt(
        *ASKED,
        "--servers",
        "9",
        "--strides",
        "1,2",
        "--schedule",
        "ring",
        "--export",
        "msccl",
        "--out",
        str(out),
    )
    assert (ran.code, f"Written: {out}" in ran.out) == (0, True)
    assert run_msccl(out.read_text()).missing == 0
    assert 'coll="allreduce"' in out.read_text()


def test_a_wiring_from_a_file(topoopt: Topoopt, tmp_path: Path) -> None:
    path = tmp_path / "ring.txt"
    path.write_text("0 1\n1 2\n2 3\n3 0\n")
    answer = json.loads(topoopt(*ASKED, "--wiring", str(path), "--json").out)
    assert (answer["wiring"]["servers"], answer["wiring"]["degree"], answer["wiring"]["links"]) == (
        4,
        2,
        "duplex",
    )
    ran = topoopt(*ASKED, "--wiring", str(path), "--servers", "5")
    assert (ran.code, "joins 4, got 5; leave it out" in ran.err) == (2, True)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--servers", "12", "--schedule", "rings"), '--schedule: unknown name "rings"; did you mean ring'),
        ((), "--servers: missing; say how many"),
        (("--servers", "12", "--strides", "2,4"), "server 0 cannot reach server 1"),
        (
            ("--servers", "12", "--strides", "best"),
            "--strides: expected numbers with commas, such as 1,15, got best",
        ),
        (("--servers", "12", "--strides", "1,5", "--degree", "6"), "--strides: 1,5 take 4 duplex ports"),
        (("--servers", "12", "--strides", "1", "--wiring", "torus"), "--strides: are a wiring of their own"),
        (("--servers", "12", "--wiring", "fat-tree"), '--wiring: unknown name "fat-tree"'),
        (
            ("--servers", "12", "--wiring", "torus", "--links", "directed"),
            "there is none for 12 servers of 4 directed",
        ),
        (
            ("--servers", "9999", "--wiring", "expander"),
            "--servers: a collective is scheduled for at most 4096",
        ),
        (("--servers", "2000", "--wiring", "full-mesh"), "--degree: at most 200000 links are scheduled for"),
        (("--wiring", "none.txt"), "none.txt: no such file"),
        (("--servers", "12", "--alpha", "1"), "--alpha: unknown or missing unit"),
        (("--servers", "12", "--export", "msccl"), "--export: goes with --out"),
        (("--servers", "12", "--export", "nccl", "--out", "x.xml"), "--export: expected msccl, got nccl"),
    ],
)
def test_mistakes_are_one_line(
    topoopt: Topoopt, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...], said: str
) -> None:
    monkeypatch.chdir(tmp_path)
    ran = topoopt(*ASKED, *words)
    assert (ran.code, ran.err.count("\n"), said in ran.err) == (2, 1, True), ran.err


@pytest.mark.parametrize("size", ["1", "1MBit", "-1MB", "0 B"])
def test_bytes_have_a_unit(topoopt: Topoopt, size: str) -> None:
    ran = topoopt("collective", "--op", "allreduce", "--bytes", size, "--servers", "8")
    assert (ran.code, ran.err.startswith("error: --bytes")) == (2, True)


def test_operations_are_named(topoopt: Topoopt) -> None:
    ran = topoopt("collective", "--op", "broadcast", "--bytes", "1MB", "--servers", "8")
    assert (ran.code, "--op: unknown name" in ran.err) == (2, True)


def test_a_plan_is_a_wiring(topoopt: Topoopt, plan_file: str) -> None:
    plan = json.loads(Path(plan_file).read_text())
    answer = json.loads(topoopt(*ASKED, "--wiring", plan_file, "--json").out)
    assert answer["wiring"]["servers"] == plan["servers"]
    assert answer["wiring"]["server_bandwidth_bps"] == plan["degree"] * plan["bandwidth_bps"]
    ran = topoopt(*ASKED, "--wiring", plan_file, "--bandwidth", "1Gbps")
    assert (ran.code, "is a plan, which says it; leave it out" in ran.err) == (2, True)
