"""The help names what the tables of the library hold, and its defaults are the real ones."""

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import topoopt as topoopt_library
from tests.frontends.cli.conftest import Topoopt
from topoopt import __version__
from topoopt.base.units import format_bandwidth
from topoopt.catalog import LINK_MODES, PRECISIONS, ClusterSpec, networks_of
from topoopt.clusters import SCHEDULERS
from topoopt.clusters.interleave import SHARING_WAYS, SHARINGS, SOLVERS
from topoopt.clusters.interleave.solvers import AUTO
from topoopt.collectives import COLLECTIVE_NAMES
from topoopt.collectives.frontier import SCHEDULES, WIRED_DIRECTLY
from topoopt.finder import DAMPING, DEGREE_SPLITS, STRIDE_RULES
from topoopt.frontends.cli.cluster import CLUSTER_VERBS
from topoopt.frontends.cli.help_topics import EXAMPLES, FEW
from topoopt.frontends.cli.help_topics import GROUPS as HELP_GROUPS
from topoopt.frontends.cli.llm import LLM_VERBS
from topoopt.frontends.cli.mltcp import MLTCP_VERBS
from topoopt.frontends.cli.plan import BesideWords, ComparisonWords
from topoopt.frontends.cli.program import COMMANDS, VERBS
from topoopt.frontends.cli.simulate import FidelityWords
from topoopt.frontends.cli.verbs import load
from topoopt.jobs import DEFAULT_CLUSTER, MEMORY_CHECKS, JobSettings
from topoopt.plugins.testbeds.command import TESTBED_VERBS
from topoopt.routing import ROUTING
from topoopt.schema.words import (
    COLLECTIVE_FORM,
    CollectiveWords,
    FinderWords,
    InterleaveWords,
    JobWords,
    MltcpWords,
    ScheduleWords,
    SearchWords,
    SimulationWords,
    described,
)
from topoopt.schema.words.transformer import SplitWords
from topoopt.search import MODES, PRESETS, SearchOptions
from topoopt.simulation import (
    ACKS,
    COMPATIBILITIES,
    CONNECTIONS,
    FORMS,
    PATH_CHOICES,
    PLACEMENTS,
    PROGRESS_OF,
    RECOVERIES,
    SIMULATORS,
    TOTALS,
    TRANSPORTS,
)
from topoopt.transformers import RECOMPUTATIONS
from topoopt.workloads import COMPUTE_MODES
from topoopt.workloads.strategy import OPTIMIZER_BYTES_PER_PARAMETER_BYTE

GROUPS = {
    "": ("topoopt.frontends.cli", VERBS),
    "llm": ("topoopt.frontends.cli.llm:", LLM_VERBS),
    "cluster": ("topoopt.frontends.cli.cluster:", CLUSTER_VERBS),
    "mltcp": ("topoopt.frontends.cli.mltcp:", MLTCP_VERBS),
    "testbed": ("topoopt.plugins.testbeds.command:", TESTBED_VERBS),
}


def words_about(vocabulary: Any, name: str) -> str:
    """What the help says of a word: the form of its value, and the sentence."""
    [word] = [word for word in described(vocabulary) if word.name == name]
    return f"{word.word.form} {word.text}"


def called(group: str, name: str) -> Any:
    """Return a verb or a group, those of plug-ins among them."""
    return load(GROUPS[group][0], name, None if group else COMMANDS)


@pytest.mark.parametrize("group", GROUPS)
def test_the_list_of_verbs_says_what_each_verb_says_first(group: str) -> None:
    for name, line in GROUPS[group][1].items():
        assert called(group, name).help.split("\n\n")[0] == line


TABLES = [
    (JobWords, "links", LINK_MODES),
    (JobWords, "compute", COMPUTE_MODES),
    (JobWords, "precision", PRECISIONS),
    (JobWords, "optimizer", OPTIMIZER_BYTES_PER_PARAMETER_BYTE),
    (JobWords, "memory_check", MEMORY_CHECKS),
    (FinderWords, "preset", PRESETS),
    (FinderWords, "degree_split", DEGREE_SPLITS),
    (FinderWords, "strides", STRIDE_RULES),
    (FinderWords, "damping", DAMPING),
    (FinderWords, "routing", ROUTING),
    (SearchWords, "search", MODES),
    (SimulationWords, "fabric", networks_of("simulate")),
    (SimulationWords, "routing", ROUTING),
    (SimulationWords, "placement", PLACEMENTS),
    (SimulationWords, "transport", TRANSPORTS),
    (SimulationWords, "compat", COMPATIBILITIES),
    (SimulationWords, "acks", ACKS),
    (SimulationWords, "path_choice", PATH_CHOICES),
    (SimulationWords, "recovery", RECOVERIES),
    (SimulationWords, "connections", CONNECTIONS),
    (SimulationWords, "totals", TOTALS),
    (SimulationWords, "progress_of", PROGRESS_OF),
    (SimulationWords, "aggressiveness", FORMS),
    (SplitWords, "recompute", RECOMPUTATIONS),
    (MltcpWords, "form", FORMS),
    (MltcpWords, "ways", SHARING_WAYS),
    (ComparisonWords, "simulator", SIMULATORS),
    (FidelityWords, "simulator", SIMULATORS),
    (ComparisonWords, "fabrics", networks_of("plan")),
    (BesideWords, "fabrics", networks_of("plan")),
    (ScheduleWords, "scheduler", SCHEDULERS),
    (ScheduleWords, "sharing", SHARINGS),
    (InterleaveWords, "solver", (AUTO, *SOLVERS)),
    (CollectiveWords, "links", LINK_MODES),
    (CollectiveWords, "wiring", WIRED_DIRECTLY),
    *((CollectiveWords, "schedule", schedules) for schedules in SCHEDULES.values()),
]


@pytest.mark.parametrize(
    ("group", "name", "table"), TABLES, ids=lambda value: value if isinstance(value, str) else ""
)
def test_a_flag_names_its_table(group: Any, name: str, table: Any) -> None:
    assert set(table) <= set(re.split(r"[ |,.:;]+", words_about(group, name)))


def test_collectives_are_named() -> None:
    assert set(COLLECTIVE_FORM.split("|")) == set(COLLECTIVE_NAMES)


def test_precisions_of_a_transformer_are_known() -> None:
    assert set(words_about(SplitWords, "precision").split()[0].split("|")) <= set(PRECISIONS)


def test_defaults_in_the_help_are_the_real_ones() -> None:
    renamed = {"search": "mode", "alpha": "alpha_per_ms"}
    options, settings = SearchOptions(), JobSettings()
    for group in (FinderWords, SearchWords):
        for item in described(group):
            default = getattr(options, renamed.get(item.name, item.name), None)
            if item.name not in ("preset", "processes", "wiring"):
                shown = f"{default:g}" if isinstance(default, float) else default
                assert f"(default {shown})" in words_about(group, item.name)
    for name in ("compute", "precision", "optimizer", "memory_check"):
        assert f"(default {getattr(settings, name)})" in words_about(JobWords, name)
    cluster = ClusterSpec(**DEFAULT_CLUSTER)
    for name in ("degree", "accelerators_per_server", "accelerator", "links"):
        assert re.search(rf"\(default {getattr(cluster, name)}[;)]", words_about(JobWords, name))
    for name, bandwidth_bps in (
        ("bandwidth", cluster.link_bandwidth_bps),
        ("intra_server_bandwidth", cluster.intra_server_bandwidth_bps),
    ):
        assert f"(default {compact(bandwidth_bps)};" in words_about(JobWords, name)


def compact(bandwidth_bps: float) -> str:
    return format_bandwidth(bandwidth_bps).replace(" ", "").replace("b/s", "bps")


def every_verb() -> list[str]:
    """The words of each verb that does something, those of groups among them."""
    return [
        f"{group} {name}".strip()
        for group, (_, verbs) in GROUPS.items()
        for name in verbs
        if group or name not in GROUPS
    ]


@pytest.mark.parametrize("width", [50, 80])
@pytest.mark.parametrize("verb", every_verb())
def test_every_verb_has_help_and_json_and_no_flag_or_choice_is_cut(
    topoopt: Topoopt, monkeypatch: pytest.MonkeyPatch, verb: str, width: int
) -> None:
    """Flags of 26 letters stood as "--accelerators-per-serv…" in 80 columns beside a long list of choices."""
    monkeypatch.setenv("COLUMNS", str(width))
    ran = topoopt(*verb.split(), "--help-all")
    out = ran.out
    assert ran.code == 0
    assert "--json" in out
    assert not re.search(r"--[\w-]*…", out)
    assert max(map(len, out.splitlines())) <= width
    *group, name = verb.split()
    command = called("".join(group), name)
    shown = set(re.findall(r"--[\w\[\]-]+", out))
    for parameter in command.params:
        flags = {flag for flag in (*parameter.opts, *parameter.secondary_opts) if flag.startswith("--")}
        both = {f"--[no-]{flag.removeprefix('--')}" for flag in parameter.opts}
        assert flags <= shown or both <= shown, parameter.name
        for choice in (parameter.metavar or "").split("|"):
            assert choice in out, f"{parameter.name}: {choice}"


def test_help_lists_the_verbs_in_order(topoopt: Topoopt) -> None:
    out = topoopt("--help").out
    for title, verbs in HELP_GROUPS.items():
        box = out.partition(f"╭─ {title} ─")[2].partition("╰─")[0]
        assert set(re.findall(r"^│ (\w+) ", box, flags=re.MULTILINE)) == set(verbs.split())
    assert sorted(" ".join(HELP_GROUPS.values()).split()) == sorted(VERBS)


@pytest.mark.parametrize("verb", every_verb())
def test_the_short_help_has_twenty_flags_at_most_and_an_example(topoopt: Topoopt, verb: str) -> None:
    out, _, examples = topoopt(*verb.split(), "--help").out.partition("─ Examples ─")
    flags = re.findall(r"^│ (--[\w\[\]-]+)", out.replace("[no-]", ""), flags=re.MULTILINE)
    assert len(flags) <= FEW
    assert {"--help", "--json"} & set(flags)
    assert f"topoopt {EXAMPLES[verb][0]}"[:60] in examples
    hidden = int(more[1]) if (more := re.search(r"(\d+) more options: topoopt", examples)) else 0
    *group, name = verb.split()
    options = [one for one in called("".join(group), name).params if one.param_type_name == "option"]
    assert sum(bool(set(one.opts) & set(flags)) for one in options) + hidden == len(options)


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the examples read: two plans, a trace, a sweep with its results, and the profile of a job."""
    folder = tmp_path_factory.mktemp("examples")
    words: dict[str, Any] = {"servers": 4, "fabrics": (), "budget": 10}
    for name, degree in (("plan.json", 2), ("other.json", 3)):
        topoopt_library.write_plan(folder / name, topoopt_library.plan("vgg16", degree=degree, **words))
    (folder / "trace.csv").write_text("id,model,servers,arrival_s,iterations\na,vgg16,4,0,5\n")
    (folder / "sweep.yaml").write_text("models: vgg16\nservers: 4\nfabrics: [topoopt, rail]\nbudget: 10\n")
    topoopt_library.sweep(folder / "sweep.yaml", out=folder / "results.duckdb", processes=1)
    profile = topoopt_library.phases(folder / "plan.json").profile
    topoopt_library.write_profile(folder / "vgg16.json", profile)
    return folder


ELSEWHERE = (
    "llm calibrate",
    "studio",
    "testbed up",
    "testbed run",
    "testbed share",
    "testbed status",
    "testbed down",
)
"""A table of 8 runs or more, a server that goes on, and namespaces: tests of their own have these."""


@pytest.mark.parametrize(
    "line", [line for verb, lines in EXAMPLES.items() if verb not in ELSEWHERE for line in lines]
)
def test_the_examples_run(topoopt: Topoopt, files: Path, monkeypatch: pytest.MonkeyPatch, line: str) -> None:
    monkeypatch.chdir(files)
    ran = topoopt(*line.split())
    assert (ran.code, ran.err) == (0, "")
    assert ran.out


def test_the_examples_elsewhere_have_flags_that_exist() -> None:
    for verb in ELSEWHERE:
        *group, name = verb.split()
        known = {flag for one in called("".join(group), name).params for flag in one.opts}
        for line in EXAMPLES[verb]:
            assert {word for word in line.split() if word.startswith("--")} <= known


@pytest.mark.parametrize(
    ("line", "completed"),
    [
        ("topoopt pl", "plan"),
        ("topoopt llm est", "estimate"),
        ("topoopt plan dl", "dlrm"),
        ("topoopt llm search llama3-8", "llama3-8b"),
        ("topoopt simulate plan.json --simul", "--simulator"),
        ("topoopt simulate plan.json --simulator pa", "packet"),
    ],
)
def test_a_shell_completes_verbs_models_flags_and_their_values(
    topoopt: Topoopt,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    line: str,
    completed: str,
) -> None:
    monkeypatch.setenv("_TOPOOPT_COMPLETE", "complete_bash")
    monkeypatch.setenv("COMP_WORDS", line)
    monkeypatch.setenv("COMP_CWORD", str(len(line.split()) - 1))
    with pytest.raises(SystemExit):
        topoopt()
    assert completed in capsys.readouterr().out.splitlines()


def test_version(topoopt: Topoopt) -> None:
    ran = topoopt("--version")
    assert (ran.code, ran.out) == (0, f"topoopt {__version__}\n")


def test_without_a_verb_the_help_is_shown(topoopt: Topoopt) -> None:
    ran = topoopt()
    assert ran.code == 2
    assert "Usage: topoopt" in ran.out + ran.err
    assert "error" not in ran.err


def test_the_module_is_the_command() -> None:
    command = [sys.executable, "-m", "topoopt", "topology", "--servers", "12", "--degree", "0"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "error: --degree: expected an integer >= 1, got 0\n"


def test_a_reader_that_leaves_early_is_no_error() -> None:
    command = f"{sys.executable} -m topoopt models --json | head -1"
    done = subprocess.run(command, shell=True, capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("{\n", "")
