"""Nothing that no verb reaches: every definition is used by the program, or by an oracle that is listed here."""

import re
from pathlib import Path

from tests.house.reachability import Place, modules, reached, reached_from, resolve
from tests.house.source_tree import ROOT

ORACLES = {
    "collectives.transfer_time_s": "the law of one transfer, which simulators are compared with",
    "finder.best_regional_circuits": "the optimum that the guide compares MixNet's rule with",
    "reinforcement.shards.in_place_bytes": "the published closed form that shards are compared with",
    "base.kernel.disk.dispatcher": "imported by name, when a kernel is first called",
    "search.compile_ahead.compile_ahead": "run by name, in a process of its own",
    "simulation.pipelined_time": "the closed form that the guide compares simulators with",
    "plugins.testbeds.collectives.all_to_all": "for programs of torch.distributed",
    "plugins.testbeds.collectives.multi_ring_all_reduce": "for programs of torch.distributed",
    "plugins.testbeds.collectives.multi_ring_hook": "for programs of torch.distributed",
    "plugins.testbeds.collectives.rings_of_plan": "for programs of torch.distributed",
    "finder.described_network.described_network": "found by name where a fabric is no name of the registry",
    "routing.expected_fullest_bin": "the closed form that hashes of connections are compared with",
    "routing.no_conflict_share": "the published probability that none of a few connections meets another",
    "plugins.testbeds.collectives.rings_of_strides": "for programs of torch.distributed",
    "plugins.testbeds.sharing.worker.main": "run by its file, in a process of its own",
    "plugins.testbeds.training.forking.main": "run by name, in a process of its own",
}
"""What no verb runs, and who needs it."""


def place_of(name: str) -> Place | None:
    room, _, last = f"topoopt.{name}".rpartition(".")
    return resolve(room, last)


def test_every_definition_is_reached_by_a_verb_or_is_an_oracle() -> None:
    kept = [place_of(name) for name in ORACLES]
    in_use = reached() | reached_from([place for place in kept if place is not None])
    dead = [
        f"{module.name}: {name}"
        for module in modules().values()
        for name in module.uses
        if name and not name.startswith("__") and (module.name, name) not in in_use
    ]
    assert not dead, "no verb, and no oracle, comes to " + ", ".join(dead)


def test_every_name_that_a_room_hands_on_exists() -> None:
    for module in modules().values():
        for name in module.imports if module.package else ():
            assert resolve(module.name, name) is not None, f"{module.name} hands on {name}"


def test_an_oracle_is_used_where_no_verb_goes() -> None:
    others = [*ROOT.glob("tests/**/test_*.py"), *ROOT.glob("examples/*.py")]
    words = set().union(*(re.findall(r"\w+", path.read_text()) for path in others if path != Path(__file__)))
    for name in ORACLES:
        place = place_of(name)
        assert place is not None, name
        assert place not in reached(), f"{name} is reached by a verb: it needs no place in the list"
        assert name.rpartition(".")[2] in words, name
