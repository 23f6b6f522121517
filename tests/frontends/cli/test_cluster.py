"""``topoopt cluster run``: what it prints and writes, and every mistake as one line."""

import json
import re
from pathlib import Path

import pytest

from tests.frontends.cli.conftest import EXAMPLES, Topoopt
from topoopt.clusters import read_trace, result_from_mapping

QUICK = ("--servers", "32", "--degree", "4", "--budget", "0")
TWO = "id,model,servers,arrival_s,iterations\na,vgg16,16,0,100\nb,dlrm,16,5,1000\n"


@pytest.fixture
def trace(tmp_path: Path) -> str:
    (tmp_path / "two.csv").write_text(TWO)
    return "two.csv"


def test_a_trace_on_two_fabrics_is_a_table(topoopt: Topoopt, trace: str) -> None:
    done = topoopt("cluster", "run", trace, *QUICK, "--fabric", "topoopt,ideal-switch")
    assert done.code == 0, done.err
    for words in (
        "2 jobs on 32 servers of 4 × a100, 4 × 100 Gb/s",
        "topoopt",
        "ideal-switch",
        "rewiring",
        "vgg16",
        "30 s a fiber",
    ):
        assert words in done.out
    assert max(map(len, done.out.splitlines())) <= 110


def test_times_by_model_have_their_units(topoopt: Topoopt, trace: str) -> None:
    Path("two.csv").write_text(TWO.replace("vgg16,16", "llama3-70b,16"))
    done = topoopt("cluster", "run", trace, "--servers", "32", "--budget", "0", "--fabric", "ideal-switch")
    assert done.code == 0, done.err
    _, _, below = done.out.partition("iteration by model")
    row = next(line for line in below.splitlines() if line.startswith(" ideal-switch"))
    assert re.fullmatch(r" ideal-switch +[\d.]+ ms +[\d.]+ s", row.rstrip())


def test_json_and_file_are_one_document(topoopt: Topoopt, trace: str) -> None:
    done = topoopt(
        "cluster", "run", trace, *QUICK, "--fabric", "topoopt-ocs", "--json", "--out", "cluster.json"
    )
    assert done.code == 0, done.err
    document = json.loads(done.out)
    assert document == json.loads(Path("cluster.json").read_text())
    assert result_from_mapping(document).fabrics[0].fabric == "topoopt-ocs"
    assert (document["format"], document["version"], document["trace"]) == ("topoopt-cluster", 1, trace)
    assert document["provenance"]["inputs"][trace].startswith("sha256:")
    (fabric,) = document["fabrics"]
    assert set(fabric["iteration_time_s"]) == {"mean", "p50", "p99", "max"}
    assert [job["id"] for job in fabric["jobs"]] == ["a", "b"]


def test_equal_seeds_give_equal_bytes_and_a_drawn_trace_can_be_kept(topoopt: Topoopt) -> None:
    words = ("--generate", "--jobs", "3", "--load", "0.9", "--seed", "7", "--mix", "dlrm=1,vgg16=1")
    first, second = (
        topoopt(
            "cluster", "run", *words, *QUICK, "--fabric", "topoopt", "--json", "--save-trace", "drawn.csv"
        )
        for _ in range(2)
    )
    assert first.code == 0, first.err
    assert first.out == second.out
    drawn = read_trace("drawn.csv")
    assert len(drawn.jobs) == 3
    again = topoopt("cluster", "run", "drawn.csv", *QUICK, "--fabric", "topoopt", "--json", "--seed", "7")
    assert json.loads(again.out)["fabrics"] == json.loads(first.out)["fabrics"]


def test_a_fabric_that_cannot_be_built_is_left_out_with_the_reason(topoopt: Topoopt, trace: str) -> None:
    done = topoopt("cluster", "run", trace, *QUICK, "--fabric", "topoopt,sip-ml")
    assert done.code == 0, done.err
    assert "without sip-ml: " in done.out


MISTAKES = [
    (("run",), "TRACE.csv: give the file of a trace, generate to draw one, or trace_preset"),
    (("rum",), 'verb: unknown name "rum"; did you mean run?'),
    (("run", "nowhere.csv"), "nowhere.csv: no such file"),
    (("run", "bad.csv"), 'bad.csv: line 3: id: "a" is the id of line 2, too; give each job its own'),
    (
        ("run", "negative.csv"),
        'negative.csv: line 2: arrival_s: expected a number >= 0 and <= 1e+12, got "-5"',
    ),
    (
        ("run", "two.csv", "--servers", "8"),
        "two.csv: job a: needs 16 servers, the cluster has 8; use --servers 16",
    ),
    (("run", "two.csv", "--generate"), "two.csv is a trace already; give a file or generate, not both"),
    (("run", "two.csv", "--load", "0.5"), "--load: is for generate; the jobs of two.csv are what they are"),
    (("run", "two.csv", "--fabric", "fat-tre"), 'fabric: unknown name "fat-tre"; did you mean fat-tree'),
    (("run", "two.csv", "--fabric", "sip-ml"), "sip-ml changes its circuits to suit one job"),
    (("run", "two.csv", "--queue", "filo"), 'queue: unknown name "filo"; did you mean fifo'),
    (("run", "two.csv", "--placement", "near"), 'placement: unknown name "near"'),
    (("run", "two.csv", "--ocs", "piezzo"), 'optical switch: unknown name "piezzo"; did you mean piezo'),
    (
        ("run", "two.csv", "--logical-servers", "3"),
        "--logical-servers: degree 8 cannot be divided evenly by 3",
    ),
    (("run", "two.csv", "--move-time", "30"), '--move-time: unknown or missing unit in "30"'),
    (("run", "two.csv", "--hands", "-1"), "hands: expected an integer >= 1, got -1"),
    (("run", "two.csv", "--out", "no/such.json"), "--out: no/such.json: the folder no does not exist"),
    (("run", "two.csv", "--bandwith", "10Gbps"), "--bandwith: no such option; did you mean --bandwidth?"),
    (("run", "--generate", "--at-once"), "--at-once: say with jobs how many come at once"),
    (
        ("run", "--generate", "--at-once", "--jobs", "2", "--load", "1"),
        "--load: has no meaning with --at-once",
    ),
    (("run", "--generate", "--jobs", "2", "--horizon", "1h"), "--horizon: with jobs, jobs come until"),
    (("run", "--generate", "--jobs", "0"), "--jobs: expected an integer >= 1, got 0"),
    (("run", "--generate", "--load", "-1"), "--load: expected a number > 0, such as 0.8, got -1"),
    (("run", "--generate", "--mix", "relased"), '--mix: unknown name "relased"; did you mean released'),
    (("run", "--generate", "--durations", "log"), 'durations: unknown name "log"'),
]


@pytest.mark.parametrize(
    ("words", "line"), MISTAKES, ids=lambda value: " ".join(value) if isinstance(value, tuple) else ""
)
def test_a_mistake_is_one_line(words: tuple[str, ...], line: str, topoopt: Topoopt, trace: str) -> None:
    Path("bad.csv").write_text(TWO.replace("b,dlrm", "a,dlrm"))
    Path("negative.csv").write_text(TWO.replace(",0,100", ",-5,100"))
    before = set(Path().iterdir())
    done = topoopt("cluster", *words)
    assert done.code == 2
    assert line in done.err
    assert done.err.count("\n") == 1
    assert set(Path().iterdir()) == before


@pytest.mark.long
def test_the_example_is_read_and_runs(topoopt: Topoopt) -> None:
    words = ("--servers", "64", "--budget", "0", "--fabric", "topoopt-ocs", "--json")
    done = topoopt("cluster", "run", str(EXAMPLES / "trace.csv"), *words)
    assert done.code == 0, done.err
    (fabric,) = json.loads(done.out)["fabrics"]
    assert any(job["resizes"] for job in fabric["jobs"]), "elastic jobs of the example change their size"
