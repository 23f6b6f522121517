"""Every mistake of a user's is one line on standard error and exit code 2, and leaves no file."""

import os
from importlib import import_module
from pathlib import Path

import pytest

from tests.frontends.cli.conftest import Ran, Topoopt

PLAN = ("plan", "dlrm", "--servers", "16", "--budget", "10", "--fabrics", "none", "--out", "out.json")

MISTAKES = [
    # what was typed, what the line says
    ((*PLAN, "--degree", "0"), "degree: expected an integer >= 1, got 0"),
    ((*PLAN, "--degree", "73"), "degree: a server has at most 72 interfaces"),
    ((*PLAN, "--degree", "1"), "use 2 or more, or directed links"),
    ((*PLAN, "--degree", "four"), '--degree: expected an integer, got "four"'),
    ((*PLAN, "--degree", "4", "--degree", "8"), "--degree: is given twice; give it once"),
    ((*PLAN, "--fabrics", "rail"), "--fabrics: is given twice; give it once"),
    (("cost", "--pue", "0.5"), "error: --pue: expected a number >= 1, got 0.5"),
    (("cost", "--fiber-length", "-5"), "error: --fiber-length: expected meters >= 0, got -5.0"),
    (
        ("compare", "dlrm", "--fabrics", "idealswitch"),
        'error: --fabrics: unknown name "idealswitch"; did you mean ideal-switch?',
    ),
    (("choose", "vgg16:nan"), 'vgg16:nan: expected a share above 0, such as 0.6, got "nan"'),
    ((*PLAN, "--alpha", "warm"), '--alpha: expected a number, got "warm"'),
    ((*PLAN, "--cluster", ""), "--cluster: expected a name, got nothing"),
    (("plan", "dlrm", "--servers", "1", "--out", "out.json"), "servers: expected an integer >= 2, got 1"),
    (("plan", "dlmr", "--out", "out.json"), 'model: unknown name "dlmr"; did you mean dlrm'),
    (("plam", "dlrm", "--out", "out.json"), 'verb: unknown name "plam"; did you mean plan?'),
    (
        (*PLAN, "--bandwith", "100Gbps"),
        "--bandwith: no such option; did you mean --bandwidth or --candidates",
    ),
    ((*PLAN, "--bandwidth", "100"), '--bandwidth: missing unit in "100"; write for example 100Gbps'),
    ((*PLAN, "--bandwidth", "100Gbit"), '--bandwidth: unknown unit "Gbit"'),
    ((*PLAN, "--latency", "1"), '--latency: unknown or missing unit in "1"'),
    ((*PLAN, "--accelerator", "a1000"), 'accelerator: unknown name "a1000"; did you mean a100'),
    ((*PLAN, "--variant", "17"), 'variant of dlrm: unknown name "17"'),
    ((*PLAN, "--set", "tabels=3"), "tabels: unknown hyper-parameter; did you mean tables?"),
    ((*PLAN, "--set", "tables"), '--set: expected KEY=VALUE such as tables=32, got "tables"'),
    ((*PLAN, "--set", "tables=8", "--set", "tables=9"), "--set: tables is given twice, 8 and 9"),
    ((*PLAN, "--set", "tables=many"), 'tables: expected an integer, got "many"'),
    ((*PLAN, "--batch-per-accelerator", "0"), "--batch-per-accelerator: expected an integer >= 1, got 0"),
    ((*PLAN, "--preset", "papr"), 'preset: unknown name "papr"; did you mean paper?'),
    ((*PLAN, "--strides", "nearst"), 'strides: unknown name "nearst"; did you mean nearest'),
    ((*PLAN, "--degree-split", "equal"), 'degree split: unknown name "equal"'),
    ((*PLAN, "--routing", "emcp"), 'routing: unknown name "emcp"; did you mean ecmp'),
    ((*PLAN, "--links", "dupplex"), 'links: unknown name "dupplex"; did you mean duplex?'),
    ((*PLAN, "--compute", "profle"), 'compute: unknown name "profle"; did you mean profile'),
    ((*PLAN, "--precision", "fp8"), "precision: A100-SXM4-40GB has no fp8; it has fp32, tf32, bf16, fp16"),
    ((*PLAN, "--memory-check", "on"), 'memory-check: unknown name "on"'),
    ((*PLAN, "--embedding-factor", "3"), "embedding_bytes_factor: allowed are 1 and 2, got 3"),
    ((*PLAN, "--seed", "-1"), "seed: expected an integer >= 0, got -1"),
    ((*PLAN, "--chains", "0"), "chains: must be >= 1, got 0"),
    ((*PLAN, "--prices", "2023"), 'prices: unknown name "2023"'),
    (
        ("plan", "dlrm", "--servers", "16", "--fabrics", "fat-tre", "--out", "out.json"),
        "did you mean fat-tree",
    ),
    ((*PLAN, "--memory-check", "enforce", "--set", "rows=10000000000"), "memory: even split over 16 servers"),
    (
        ("plan", "dlrm", "--out", "no/such/out.json"),
        "--out: no/such/out.json: the folder no/such does not exist",
    ),
    (("plan", "dlrm", "--out", ""), "--out: expected a file name, got nothing"),
    (("plan", "dlrm", "--out", "."), "--out: . is a folder, expected a file name"),
    (("plan", "nowhere.yaml", "--out", "out.json"), "nowhere.yaml: no such file"),
    (("plan", "notes.txt", "--out", "out.json"), "notes.txt: what kind of file is this?"),
    (("plan", "--out", "out.json"), "MODEL|FILE"),
    (("simulate", "nowhere.json"), "nowhere.json: no such file"),
    (("topology", "--servers", "1", "--degree", "2"), "servers: expected an integer >= 2, got 1"),
    (("topology", "--servers", "12"), "--degree: missing"),
    (("topology",), "--servers: missing"),
    (("topology", "--servers", "12", "--degree", "4", "--wirings", "all"), '--wirings: unknown name "all"'),
    (
        ("topology", "--servers", "12", "--degree", "4", "--wirings", "strides", "--seed", "1"),
        "--seed: has no meaning",
    ),
    (
        ("topology", "--servers", "12", "--degree", "7", "--family", "slim-fly"),
        "--family slim-fly: there is none",
    ),
    (("topology", "--servers", "12", "--strides", "1,x"), "--strides: expected a rule or numbers"),
    (("topology", "--servers", "12", "--strides", "0,1"), "--strides: a stride must be >= 1, got 0"),
    (("topology", "--servers", "12", "--strides", "2,4"), "distance 1 of 12 cannot be paid"),
    (("topology", "--servers", "12", "--degree", "2", "--strides", "1,5"), "1,5 take 4 duplex ports"),
    (("models", "resnet"), 'model: unknown name "resnet"; did you mean resnet50'),
    (("hardware", "nic"), 'table or part: unknown name "nic"; did you mean nics?'),
]

FILES = [
    (
        "job.yaml",
        "model: dlrm\ncluster: {servers: 16, degre: 4}\n",
        'cluster: unknown key "degre"; did you mean degree',
    ),
    ("job.yaml", "model: dlrm\nservers: 16\n", "is the description of a cluster, not a job"),
    ("job.yaml", "model: dlrm\nmemory: off\n", 'unknown key "memory"; did you mean memory_check?'),
    ("job.yaml", "model: dlrm\ncluster: {link_bandwidth: 100}\n", "cluster: link_bandwidth: missing unit"),
    (
        "job.yaml",
        "model: dlrm\ncluster: {degree: 0}\n",
        "job.yaml: cluster.degree: expected an integer >= 1, got 0",
    ),
    ("job.yaml", "model: dlrm\nprecision: fp64\n", 'job.yaml: precision: unknown name "fp64"'),
    (
        "job.yaml",
        "model: dlrm\nsearch: {bugdet: 3}\n",
        'search: key: unknown name "bugdet"; did you mean budget',
    ),
    ("job.yaml", "model: dlrm\nsearch: {budget: many}\n", 'search.budget: expected an integer, got "many"'),
    ("job.yaml", "model: dlrm\nsearch: {budget: -5}\n", "search.budget: must be >= 0, got -5"),
    ("job.yaml", "model: dlrm\nsearch: {mode: best}\n", 'search.mode: unknown name "best"'),
    ("job.yaml", "model: dlrm\nsearch: {routing: shortest}\n", 'search.routing: unknown name "shortest"'),
    ("job.yaml", "model: dlrm\nsearch: {preset: papr}\n", 'search.preset: unknown name "papr"'),
    ("job.yaml", "model: dlrm\ntraffic: t.csv\n", "give one of model, config, operators, profile"),
    ("job.yaml", "compute: profile\n", "give one of model, config, operators, profile"),
    ("job.yaml", "model: dlrm\nmodel: bert\n", 'line 2: key "model" stands twice'),
    ("job.yaml", "model: [dlrm\n", "not valid YAML"),
    ("job.yaml", "model: dlrm\ncluster: hall.yaml\n", "hall.yaml: no such file"),
    ("job.yaml", "", "expected a mapping of keys to values, got an empty file"),
    ("t.csv", "0,1,2\n1,0,2\n", "t.csv: expected a square matrix of at least 2×2, got 2×3"),
    ("t.csv", "0,1\n-1,0\n", "row 1, column 0: bytes must be >= 0 and finite, got -1"),
    ("t.csv", "0,one\n1,0\n", 'row 0, column 1: expected bytes, got "one"'),
    ("t.csv", "0,0\n0,0\n", "no server sends another one anything"),
    ("t.npy", "no array", "t.npy: not a NumPy array file"),
    ("ops.csv", "name,inputs,activation_byts,forward_ms\n", 'unknown name "activation_byts"; did you mean'),
    (
        "ops.csv",
        "name,inputs,activation_bytes,forward_flops\na,,4,1\n",
        "write it there or give --batch-per-accelerator",
    ),
    ("ops.yaml", "operators: [{name: a}]\n", "ops.yaml: operators[0]: missing key"),
    ("p.json", '{"schema": "topoopt-plan/1", "strategy"', "p.json: line 1: not a whole JSON file"),
    ("p.json", "[1, 2]", "p.json: expected a mapping of keys to values, got a list"),
    ("measure_x.json", '{"measurements": [', "measure_x.json: line 1: not a whole JSON file"),
    ("measure_x.json", '{"measurements": []}', "measure_x.json: missing key"),
]


def assert_one_line(ran: Ran, said: str) -> None:
    assert (ran.code, ran.out) == (2, "")
    (line,) = ran.err.splitlines()
    assert line.startswith("error: ")
    assert said in line


@pytest.mark.parametrize(
    ("words", "said"), MISTAKES, ids=lambda value: value if isinstance(value, str) else ""
)
def test_a_mistake_in_the_words(topoopt: Topoopt, tmp_path: Path, words: tuple[str, ...], said: str) -> None:
    (tmp_path / "notes.txt").write_text("hello")
    before = set(tmp_path.iterdir())
    assert_one_line(topoopt(*words), said)
    assert set(tmp_path.iterdir()) == before


@pytest.mark.parametrize(("name", "text", "said"), FILES)
def test_a_mistake_in_a_file(topoopt: Topoopt, tmp_path: Path, name: str, text: str, said: str) -> None:
    (tmp_path / name).write_text(text)
    assert_one_line(topoopt("plan", name, "--out", "out.json"), said)
    assert [path.name for path in tmp_path.iterdir()] == [name]


@pytest.mark.parametrize("verb", ["simulate", "traffic", "compare"])
def test_a_plan_file_cut_short(topoopt: Topoopt, plan_file: str, tmp_path: Path, verb: str) -> None:
    text = (tmp_path / plan_file).read_text()
    for kept in (0, 1, len(text) // 2, len(text) - 3):
        (tmp_path / "cut.json").write_text(text[:kept])
        assert_one_line(topoopt(verb, "cut.json"), "cut.json: line")


def test_a_plan_file_with_a_key_that_does_not_exist(topoopt: Topoopt, plan_file: str, tmp_path: Path) -> None:
    text = (tmp_path / plan_file).read_text()
    (tmp_path / "odd.json").write_text(text.replace('"bandwidth_bps"', '"bandwith_bps"', 1))
    assert_one_line(topoopt("simulate", "odd.json"), "bandwith_bps")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (
            ("simulate", "plan.json", "--simulator", "flwo"),
            'simulator: unknown name "flwo"; did you mean flow?',
        ),
        (("simulate", "plan.json", "--collective", "bulky"), 'unknown name "bulky"; did you mean bulk?'),
        (
            ("simulate", "plan.json", "--timeline", "no/t.csv"),
            "--timeline: no/t.csv: the folder no does not exist",
        ),
        (
            ("compare", "plan.json", "--fabrics", "fat-tre"),
            'fabrics: unknown name "fat-tre"; did you mean fat-tree',
        ),
        (
            ("compare", "plan.json", "--simulator", "flwo"),
            'simulator: unknown name "flwo"; did you mean flow?',
        ),
        (("compare", "plan.json", "--servers", "32"), "--servers: plan.json is a plan, whose job is fixed"),
        (("traffic", "plan.json", "--set", "tables=3"), "--set: plan.json is a plan, whose job is fixed"),
        (("traffic", "plan.json", "--csv", "no/t.csv"), "--csv: no/t.csv: the folder no does not exist"),
        (("plan", "plan.json"), "plan.json: is a plan; topoopt compare, traffic"),
    ],
)
def test_a_mistake_with_a_plan(topoopt: Topoopt, plan_file: str, words: tuple[str, ...], said: str) -> None:
    assert_one_line(topoopt(*words), said)


def test_words_that_a_traffic_matrix_has_no_use_for(topoopt: Topoopt, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("0,1\n1,0\n")
    for flag, value in (
        ("--precision", "bf16"),
        ("--servers", "3"),
        ("--batch-per-accelerator", "8"),
        ("--set", "a=1"),
    ):
        assert_one_line(topoopt("plan", "t.csv", flag, value), "t.csv")


def test_a_file_never_takes_the_place_of_a_device_or_pipe(topoopt: Topoopt, tmp_path: Path) -> None:
    """As root, replacing /dev/null would succeed."""
    os.mkfifo(tmp_path / "pipe")
    for words in (("plan", "dlrm", "--out"), ("traffic", "dlrm", "--csv"), ("traffic", "dlrm", "--matrix")):
        assert_one_line(topoopt(*words, "pipe"), f"{words[-1]}: pipe is a device or a pipe")
    assert (tmp_path / "pipe").is_fifo()


def test_a_folder_that_may_not_be_written_is_refused_before_the_search(
    topoopt: Topoopt, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    assert_one_line(topoopt("plan", "dlrm", "--out", "plan.json"), "the folder . may not be written")


def test_an_error_of_our_own_is_a_traceback(topoopt: Topoopt, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*words: object) -> None:
        raise AssertionError("ours")

    monkeypatch.setattr(import_module("topoopt.jobs.job_source"), "resolve_variant", broken)
    with pytest.raises(AssertionError, match="ours"):
        topoopt("models", "dlrm")


EXAMPLES = Path(__file__).parents[3] / "examples"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("fail", "PLAN", "--server", "3", "--runs", "10"), "--runs: is for availability"),
        (("fail", "PLAN", "--server", "3", "--days", "3"), "--days: is for availability"),
        (("phases", "PLAN", "--iteration-time", "3ms"), "--iteration-time: is for counters"),
        (
            ("phases", str(EXAMPLES / "counters.csv"), "--simulator", "packet"),
            "--simulator: counters are measured and not simulated",
        ),
        (
            ("finetune", "llama3-8b", "--accelerators", "8", "--full", "--alone", "--lora-rank", "8"),
            "--lora-rank: full trains all weights",
        ),
        (
            ("topology", "--servers", "16", "--strides", "17"),
            "circulant: stride 17 for 16 servers; use 1..15",
        ),
    ],
)
def test_words_that_would_have_no_effect(
    topoopt: Topoopt, plan_file: str, words: tuple[str, ...], said: str
) -> None:
    assert_one_line(topoopt(*(plan_file if word == "PLAN" else word for word in words)), said)
