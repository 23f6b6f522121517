"""The help names what the tables of the library hold, and its defaults are the real ones."""

import inspect
import re
import subprocess
import sys
from dataclasses import fields
from importlib import import_module
from typing import Any, get_type_hints

import pytest

from tests.cli.conftest import Topoopt
from topoopt import __version__
from topoopt.cli.cluster import CLUSTER_VERBS
from topoopt.cli.job_arguments import JobArguments
from topoopt.cli.llm import LLM_VERBS
from topoopt.cli.program import VERBS
from topoopt.cli.search_arguments import FinderArguments, SearchArguments
from topoopt.cli.simulate.arguments import FabricArguments, PacketArguments
from topoopt.cli.verbs import Entry, load
from topoopt.collectives import COLLECTIVE_NAMES
from topoopt.finder import DAMPING, DEGREE_SPLITS, FABRICS, STRIDE_RULES
from topoopt.hardware import LINK_MODES, PRECISIONS, ClusterSpec
from topoopt.job import DEFAULT_CLUSTER, MEMORY_CHECKS, JobSettings
from topoopt.routing import ROUTING
from topoopt.search import BASELINES, MODES, PRESETS, SearchOptions
from topoopt.simulate import (
    ACKS,
    COMPATIBILITIES,
    PATH_CHOICES,
    PLACEMENTS,
    RECOVERIES,
    SIMULATORS,
    TRANSPORTS,
)
from topoopt.strategy import OPTIMIZER_BYTES_PER_PARAMETER_BYTE
from topoopt.units import format_bandwidth
from topoopt.workload import COMPUTE_MODES


def all_entries() -> list[tuple[str, Entry]]:
    return [*VERBS.items(), *LLM_VERBS.items(), *CLUSTER_VERBS.items()]


def words_about(group: Any, name: str) -> str:
    """What the help says of a field: the form of its value, and the sentence."""
    hints = get_type_hints(group, include_extras=True)
    option = hints[name].__metadata__[0]
    return f"{option.metavar} {option.help}"


def verb_called(name: str) -> Any:
    return getattr(import_module(VERBS[name].module), name)


@pytest.mark.parametrize(("name", "entry"), all_entries())
def test_the_list_of_verbs_says_what_each_verb_says_first(name: str, entry: Entry) -> None:
    command = load(name, entry)
    assert command.help.split("\n\n")[0] == entry.line


def words_of_verb(verb: Any, name: str) -> str:
    parameter = inspect.signature(verb).parameters[name]
    option = parameter.annotation.__metadata__[0]
    return f"{option.metavar} {option.help}"


TABLES = [
    (JobArguments, "links", LINK_MODES),
    (JobArguments, "compute", COMPUTE_MODES),
    (JobArguments, "precision", PRECISIONS),
    (JobArguments, "optimizer", OPTIMIZER_BYTES_PER_PARAMETER_BYTE),
    (JobArguments, "memory_check", MEMORY_CHECKS),
    (FinderArguments, "preset", PRESETS),
    (FinderArguments, "degree_split", DEGREE_SPLITS),
    (FinderArguments, "strides", STRIDE_RULES),
    (FinderArguments, "damping", DAMPING),
    (FinderArguments, "routing", ROUTING),
    (SearchArguments, "search", MODES),
    (FabricArguments, "fabric", FABRICS),
    (FabricArguments, "routing", ROUTING),
    (FabricArguments, "placement", PLACEMENTS),
    (PacketArguments, "transport", TRANSPORTS),
    (PacketArguments, "compat", COMPATIBILITIES),
    (PacketArguments, "acks", ACKS),
    (PacketArguments, "path_choice", PATH_CHOICES),
    (PacketArguments, "recovery", RECOVERIES),
]


@pytest.mark.parametrize(
    ("group", "name", "table"), TABLES, ids=lambda value: value if isinstance(value, str) else ""
)
def test_a_flag_names_its_table(group: Any, name: str, table: Any) -> None:
    assert set(table) <= set(re.split(r"[ |,.:;]+", words_about(group, name)))


def test_verbs_name_simulators_fabrics_and_collectives() -> None:
    verbs = {name: verb_called(name) for name in ("plan", "compare", "simulate")}
    for verb in ("compare", "simulate"):
        assert set(SIMULATORS) <= set(re.split(r"[ |,.:;]+", words_of_verb(verbs[verb], "simulator")))
    assert set(COLLECTIVE_NAMES) == set(words_of_verb(verbs["simulate"], "collective").split()[0].split("|"))
    for verb in ("plan", "compare"):
        assert set(BASELINES) <= set(re.split(r"[ |,.:;]+", words_of_verb(verbs[verb], "fabrics")))


def test_defaults_in_the_help_are_the_real_ones() -> None:
    renamed = {"search": "mode", "alpha": "alpha_per_ms"}
    options, settings = SearchOptions(), JobSettings()
    for group in (FinderArguments, SearchArguments):
        for item in fields(group):
            default = getattr(options, renamed.get(item.name, item.name), None)
            if item.name not in ("preset", "processes"):
                assert re.search(
                    rf"; {default:g}\." if isinstance(default, float) else rf"; {default}\.",
                    words_about(group, item.name),
                )
    for name in ("compute", "precision", "optimizer", "memory_check"):
        assert words_about(JobArguments, name).endswith(f"; {getattr(settings, name)}.")
    cluster = ClusterSpec(**DEFAULT_CLUSTER)
    for name in ("degree", "accelerators_per_server", "accelerator", "links"):
        assert words_about(JobArguments, name).endswith(f"; {getattr(cluster, name)}.")
    assert words_about(JobArguments, "bandwidth").endswith(f"; {compact(cluster.link_bandwidth_bps)}.")
    assert words_about(JobArguments, "intra_server_bandwidth").endswith(
        f"; {compact(cluster.intra_server_bandwidth_bps)}."
    )


def compact(bandwidth_bps: float) -> str:
    return format_bandwidth(bandwidth_bps).replace(" ", "").replace("b/s", "bps")


def every_verb() -> list[str]:
    """The words of each verb that does something, those of groups among them."""
    alone = [name for name in VERBS if name not in ("llm", "cluster")]
    return [*alone, *(f"llm {name}" for name in LLM_VERBS), *(f"cluster {name}" for name in CLUSTER_VERBS)]


@pytest.mark.parametrize("verb", every_verb())
def test_every_verb_has_help_and_json(topoopt: Topoopt, verb: str) -> None:
    ran = topoopt(*verb.split(), "--help")
    assert ran.code == 0
    assert "--json" in ran.out


def test_help_lists_the_verbs_in_order(topoopt: Topoopt) -> None:
    out = topoopt("--help").out
    places = [out.index(f"│ {verb} ") for verb in VERBS]
    assert places == sorted(places)


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
    command = f"{sys.executable} -m topoopt topology --servers 4096 --degree 8 --json | head -1"
    done = subprocess.run(command, shell=True, capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("{\n", "")
