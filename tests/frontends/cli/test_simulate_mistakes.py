"""Every mistake in ``topoopt simulate`` is one line and exit code 2, and leaves no file."""

import inspect
import lzma
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
import typer

from tests.frontends.cli.conftest import EXAMPLES, Topoopt
from tests.frontends.cli.test_mistakes import assert_one_line
from tests.studies.sweep.conftest import pretending
from topoopt.base.plugins import EntryPoint
from topoopt.frontends.cli.program import COMMANDS, VERBS
from topoopt.frontends.cli.verbs import MODULES
from topoopt.studies.sweep import read_sweep, run_sweep

GRAPH = str(EXAMPLES / "taskgraphs" / "100dlrm_16.fbuf.xz")
HUGE = "1" + 25 * "0"

MISTAKES = [
    (("--transport", "dctpc"), 'transport: unknown name "dctpc"; did you mean dctcp'),
    (("--compat", "flexnet"), 'compatibility: unknown name "flexnet"; did you mean flexnetpacket?'),
    (("--acks", "none"), 'unknown name "none"; Known: free, reverse'),
    (("--path-choice", "flow"), 'path choice: unknown name "flow"'),
    (("--simulator", "pakcet"), 'simulator: unknown name "pakcet"; did you mean packet?'),
    (("--simulator", "flow", "--transport", "dctcp"), "--transport: only the packet simulator knows it"),
    (("--simulator", "auto", "--mark", "20"), "--mark: only the packet simulator knows it"),
    (
        ("--simulator", "analytic", "--fail-link", "0-16@1ms"),
        "--fail-link: only the packet simulator knows it",
    ),
    (("--tolerance", "0"), "--tolerance: is for the flow simulator, and packet is none"),
    (("--simulator", "flow", "--tolerance", "1"), "tolerance: must be in 0 <= tolerance < 1, got 1"),
    (("--connections", "old"), 'connections: unknown name "old"'),
    (("--totals", "learned"), "totals: dctcp weighs no connections; take mltcp-reno or another mltcp"),
    (("--transport", "mltcp-reno", "--connections", "new"), "mltcp-reno keeps them over iterations"),
    (("--aggressiveness", "steep"), "aggressiveness: expected a slope and an intercept, such as 1.75,0.25"),
    (("--transport", "mltcp-reno", "--aggressiveness=-2,1"), "F has to be positive where nothing is sent"),
    (("--iterations", "20"), "--iterations: is for several jobs; one job runs alone"),
    (("--begin", "0s"), "--begin: is for several jobs; one job runs alone"),
    (("--memory-limit", "1MB"), "this run would need 1."),
    (("--memory-limit", "1"), "--memory-limit: unknown or missing unit"),
    (("--buffer", "0"), "--buffer: expected an integer >= 1, got 0"),
    (("--buffer", HUGE), "--buffer: expected an integer <= 1000000000, got 1000000"),
    (("--seed", HUGE), "--seed: expected an integer <= 9007199254740992, got 1000000"),
    (("--fabric", "torus", "--servers", HUGE), "--servers: expected an integer <= 1000000, got 1000000"),
    (("--fabric", "torus", "--degree", HUGE), "--degree: expected an integer <= 1000, got 1000000"),
    (("--strides", HUGE), '--strides: expected numbers of 1..15, got "1000000'),
    (("--strides", "1,17"), '--strides: expected numbers of 1..15, got "1,17"'),
    (("--latency", "1e300s"), '--latency: expected a time of at most 1000 s, got "1e300s"'),
    (("--fabric", "torus", "--latency", "1e300s"), "--latency: expected a time of at most 1000 s"),
    (("--fabric", "sip-ml", "--reconfiguration-delay", "1e300s"), "--reconfiguration-delay: expected a time"),
    (("--timeout-min", "1e300s"), "--timeout-min: expected a time of at most 1000 s"),
    (("--fail-link", "0-16@1e300s"), "--fail-link: expected a time of at most 1000000 s"),
    (("--fail-link", "0-16@1ms:1e300s"), "--fail-link: expected a time of at most 1000000 s"),
    (("--bandwidth", "1e-300bps"), '--bandwidth: expected at least 1 bps, got "1e-300bps"'),
    (("--fabric", "torus", "--bandwidth", "0.5bps"), '--bandwidth: expected at least 1 bps, got "0.5bps"'),
    (("--mark", "-1"), "--mark: expected a number of packets >= 0, got -1"),
    (("--mark", "nan"), "--mark: expected a finite number, got nan"),
    (("--pfc", "-1"), "--pfc: expected a number of packets >= 0, got -1"),
    (("--timeout-min", "0s"), '--timeout-min: must be positive, got "0s"'),
    (("--recovery", "goback"), 'recovery: unknown name "goback"'),
    (("--fail-link", "0-1"), '--fail-link: expected A-B@TIME or A-B@TIME:TIME, such as 0-5@1ms, got "0-1"'),
    (("--fail-link", "0-1@1ms"), "--fail-link: no cable joins 0 and 1; nodes are 0..16, servers first"),
    (("--fail-link", "0-17@1ms"), "--fail-link: no cable joins 0 and 17"),
    (("--fail-link", "0-16@1"), '--fail-link: unknown or missing unit in "1"'),
    (("--fail-link", "0-16@2ms:1ms"), "--fail-link: the repair must come after the failure"),
    (("--fail-link", "0-16@1ms"), "a link that it needs is never repaired"),
    (("--fabric", "fat-tre"), 'fabric: unknown name "fat-tre"; did you mean fat-tree'),
    (("--fabric", "fat-tree", "--servers", "8"), "8 servers are too few for a job of 16; use 16 or more"),
    (("--fabric", "fat-tree", "--servers", "0"), "0 servers are too few for a job of 16"),
    (("--fabric", "torus", "--degree", "0"), "--degree: expected an integer >= 1, got 0"),
    (("--fabric", "torus", "--routing", "emcp"), 'routing: unknown name "emcp"; did you mean ecmp?'),
    (("--fabric", "sip-ml", "--routing", "ecmp"), "--routing: not for the fabric sip-ml"),
    (("--servers", "32"), "would run on its own fabric; name one with --fabric"),
    (("--degree", "4"), "would run on its own fabric; name one with --fabric"),
    (("--strides", "0"), '--strides: expected different numbers >= 1, got "0"'),
    (("--strides", "1,1"), '--strides: expected different numbers >= 1, got "1,1"'),
    (("--strides", "1,x"), '--strides: expected numbers with commas, such as 1,5, got "1,x"'),
    (("--strides", "2,4"), "distance 1 of 16 cannot be paid"),
    (("--strides", "1,5", "--degree", "2"), "1,5 take 4 interfaces of 16 servers, got degree 2"),
    (("--fabric", "torus", "--strides", "1,5"), "--strides: not for the fabric torus; it is for topoopt"),
    (("--fabric", "torus", "--reconfiguration-delay", "1ms"), "it is for sip-ml, ocs-reconfig and mixnet"),
    (("--fabric", "torus", "--no-host-forwarding"), "--host-forwarding: not for the fabric torus"),
    (("--fabric", "sip-ml", "--simulator", "analytic"), "the analytic simulator knows no circuits"),
    (("--fabric", "mixnet", "--simulator", "analytic"), "the analytic simulator knows no circuits"),
    (("--fabric", "mixnet", "--simulator", "packet"), "use --simulator flow"),
    (("--fabric", "fat-tree", "--hiding", "none"), "--hiding: not for the fabric fat-tree; it is for mixnet"),
    (("--fabric", "mixnet", "--circuits", "best"), "Known: break, improved, skip"),
    (("--fabric", "mixnet", "--degree", "1"), "a server needs 2 ports or more"),
    (("--fabric", "mixnet", "--degree", "4", "--electrical-ports", "4"), "must be 1..3 of 4 ports, got 4"),
    (("--fabric", "mixnet", "--region-servers", "0"), "--region-servers must be at least 2, got 0"),
    (("--fabric", "sip-ml", "--fail-link", "0-1@1ms"), "not on sip-ml, whose circuits change"),
    (("--bandwidth", "100"), '--bandwidth: missing unit in "100"'),
    (("--latency", "1"), '--latency: unknown or missing unit in "1"'),
    (("--seed", "-1"), "seed: must be >= 0, got -1"),
    (("--collective", "bulky"), 'unknown name "bulky"; did you mean bulk?'),
    (("--placement", "strided"), "--placement: is for several jobs"),
    ((GRAPH,), "2 jobs share one fabric; name a fabric with --fabric NAME: topoopt"),
    ((GRAPH, "--fabric", "torus", "--servers", "20"), "2 jobs need 32 servers, the fabric has 20"),
    (
        (GRAPH, "--fabric", "torus", "--placement", "stridden"),
        'unknown name "stridden"; did you mean strided?',
    ),
    ((GRAPH, "--fabric", "torus", "--write-fbuf", "a.fbuf"), "--write-fbuf: a .fbuf holds one job"),
    (("--steady-state",), "holds one iteration; it is for plans"),
    (("--flows", "a.txt"), "--flows: a.txt: expected a file name that ends in .csv or .parquet"),
    (("--flows", "."), "--flows: . is a folder, expected a file name"),
    (("--trace", "no/t.json"), "--trace: no/t.json: the folder no does not exist"),
    (("--flows", "a.csv", "--links", "./a.csv"), "--links: ./a.csv is the file of --flows already"),
    (("--write-fbuf", "a.xz"), "--write-fbuf: a.xz: expected a file name that ends in .fbuf or .fbuf.xz"),
    (("--fabric", "ocs-reconfig", "--write-fbuf", "a.fbuf"), ".fbuf holds fixed connections"),
]


@pytest.mark.parametrize(("words", "said"), MISTAKES, ids=lambda value: " ".join(value)[-40:])
def test_a_mistake_in_the_words(topoopt: Topoopt, tmp_path: Path, words: tuple[str, ...], said: str) -> None:
    files = () if any(word in ("--links", "--write-fbuf") for word in words) else ("--links", "out.csv")
    assert_one_line(topoopt("simulate", GRAPH, *words, *files), said)
    assert not list(tmp_path.iterdir())


def test_what_is_simulated_is_not_written_over(topoopt: Topoopt, tmp_path: Path) -> None:
    source = tmp_path / "graph.fbuf"
    source.write_bytes(before := lzma.decompress(Path(GRAPH).read_bytes()))
    for flag in ("--write-fbuf", "--trace"):
        ran = topoopt("simulate", "graph.fbuf", flag, "./graph.fbuf")
        assert_one_line(ran, f"{flag}: ./graph.fbuf is what is simulated; name another file")
    assert source.read_bytes() == before


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (
            ("simulate", "plan.json", "--bandwidth", "10Gbps"),
            "--bandwidth: plan.json would run on its own fabric",
        ),
        (("simulate", "plan.json", "--servers", "20"), "--servers: plan.json would run on its own fabric"),
        (("compare", "plan.json", "--simulators", "flow"), "expected two or more different ones"),
        (("compare", "plan.json", "--simulators", "flow,flow"), '--simulators: "flow" stands twice'),
        (("compare", "plan.json", "--simulators", "flow,pakcet"), "did you mean packet?"),
        (
            ("compare", "plan.json", "--simulators", "flow,packet", "--simulator", "flow"),
            "--simulator: the first of simulators is meant",
        ),
        (("compare", "plan.json", "--strides", "nearst"), 'strides: unknown name "nearst"'),
        (("plan", "dlrm", "--fabrics", ","), '--fabrics: expected names with commas, or none, got ","'),
    ],
)
def test_a_mistake_with_a_plan(topoopt: Topoopt, plan_file: str, words: tuple[str, ...], said: str) -> None:
    assert_one_line(topoopt(*words), said)


def test_files_that_are_cut_short_or_foreign(topoopt: Topoopt, tmp_path: Path) -> None:
    packed = Path(GRAPH).read_bytes()
    whole = lzma.decompress(packed)
    for name, content, said in (
        ("cut.fbuf.xz", packed[:3000], "cut.fbuf.xz: cannot be unpacked with xz: Compressed file ended"),
        ("cut.fbuf", whole[: len(whole) // 2], "not a FlexNet task graph, or damaged"),
        ("foreign.fbuf", b"hello, world", "not a FlexNet task graph, or damaged"),
        ("foreign.fbuf.xz", b"hello, world", "foreign.fbuf.xz"),
        ("empty.fbuf", b"", "empty.fbuf: is empty"),
        ("plan.txt", b"hello", "plan.txt: line 1: not JSON"),
    ):
        (tmp_path / name).write_bytes(content)
        assert_one_line(topoopt("simulate", name, "--links", "out.csv"), said)
        assert not (tmp_path / "out.csv").exists()
    for word in ("nowhere.fbuf", "nowhere.json", "dlrm"):
        assert_one_line(topoopt("simulate", word), f"{word}: no such file")
    assert_one_line(topoopt("simulate", "."), ".: is a directory")
    assert_one_line(topoopt("simulate"), "PLAN|GRAPH.fbuf")


START = {
    "plan": ("plan", "dlrm", "--servers", "8", "--budget", "5", "--fabrics", "none"),
    "topology": ("topology", "--servers", "12", "--degree", "4"),
    "collective": ("collective", "--servers", "12", "--degree", "4"),
    "traffic": ("traffic", "dlrm", "--servers", "8"),
    "compare": ("compare", "plan.json", "--baseline-budget", "5"),
    "cost": ("cost", "--servers", "8"),
    "simulate": ("simulate", "plan.json"),
    "fail": ("fail", "plan.json", "--server", "0"),
    "verify": ("verify", "plan.json"),
    "export": ("export", "plan.json", "--format", "patch-list"),
    "rewire": ("rewire", "plan.json", "plan.json"),
    "phases": ("phases", str(EXAMPLES / "vgg16-job.yaml")),
    "interleave": ("interleave", str(EXAMPLES / "vgg16-job.yaml"), "--capacity", "50Gbps"),
    "finetune": ("finetune", "llama3-8b", "--accelerators", "8"),
    "rl": ("rl", "qwen3-8b", "--accelerators", "8"),
    "serving": ("serving", "llama3-8b", "--accelerators", "2", "--rate", "1", "--isl", "100", "--osl", "10"),
    "sweep": ("sweep", "sweep.yaml", "--dry-run"),
    "choose": ("choose", "vgg16", "--servers", "8", "--degrees", "2", "--proposals", "5"),
    "studio": ("studio", "--port", "0", "--seconds", "1"),
    "results": ("results", "sweep.duckdb"),
    "report": ("report", "plan.json"),
    "reproduce": ("reproduce", "table1", "--quick"),
    "profile": ("profile", "ncf", "--dry-run"),
    "models": ("models",),
    "hardware": ("hardware",),
}


def verb_called(name: str) -> Any:
    place = COMMANDS.get(name)
    if isinstance(place, EntryPoint):
        return place.load()
    word = name.replace("-", "_")
    own = f"topoopt.frontends.cli.{word}"
    return getattr(import_module(MODULES.get(own, own)), word)


ALONE = [name for name in VERBS if not isinstance(verb_called(name), typer.Typer)]


def worded(verb: Any) -> list[tuple[str, ...]]:
    """An empty word for every argument and flag of a verb that takes text."""
    found: list[tuple[str, ...]] = []
    called = verb.__name__.replace("_", "-")
    for name, parameter in inspect.signature(verb).parameters.items():
        if parameter.annotation is typer.Context or "str" not in str(parameter.annotation):
            continue
        option = parameter.annotation.__metadata__[0]
        if type(option).__name__ == "ArgumentInfo":
            found.append((called, ""))
            continue
        # typer keeps the name that an option is given as its default until it reads it
        named = (option.default, *(option.param_decls or ()), f"--{name.replace('_', '-')}")
        flag = next(word for word in named if str(word).startswith("--"))
        found.append((*START[called], flag, ""))
    return found


@pytest.mark.parametrize("verb", ALONE)
def test_an_empty_word_is_a_mistake_everywhere(topoopt: Topoopt, plan_file: str, verb: str) -> None:
    if verb in ("sweep", "results"):
        Path("sweep.yaml").write_text("models: dlrm-16\nservers: 8\nbudget: 0\nfabrics: topoopt\n")
    if verb == "results":
        run_sweep(read_sweep("sweep.yaml"), "sweep.duckdb", pretending()[0])
        assert topoopt(*START["results"]).code == 0
    for words in worded(verb_called(verb)):
        ran = topoopt(*words)
        assert (ran.code, ran.out, len(ran.err.splitlines())) == (2, "", 1), words
        assert "no such option" not in ran.err
