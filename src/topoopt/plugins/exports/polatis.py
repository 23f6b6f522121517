"""Polatis optical switches: cross-connects by RESTCONF, SCPI and TL1.

An N × N switch has N inputs, numbered 1 to N, and N outputs, numbered N+1 to 2N: a port k of the inventory is input k
and output N+k, and a cable is two paths. The messages are those that public clients of these switches send.
"""

import json
from collections.abc import Iterable

from topoopt.plans.inventory import Circuit, Panel
from topoopt.plugins.exports.deployment import Deployment
from topoopt.plugins.exports.format import Contents
from topoopt.plugins.exports.panel_steps import PanelSteps, paths, steps_of_kind

LARGEST = 576  # Polatis 7000: 576 × 576
_README = """\
Cross-connects for Polatis optical switches
===========================================

A panel of N ports is a switch of N x N: port k of the inventory is input k and output N+k. So the panel's "ports" in
the inventory must be the switch's own size; ask it with  :oxc:swit:size?  A duplex link is two paths, there and back.

PANEL.restconf.json   all cross-connects of the switch, in one message:
    curl -u USER:PASSWORD -X PUT -H 'Content-Type: application/yang-data+json' \\
      --data @PANEL.restconf.json http://ADDRESS:8008/api/data/optical-switch:cross-connects
  PUT replaces everything that is on the switch, circuits of others, too. One lab reports that entries which were
  POSTed in place of PUT vanish after about five seconds.

PANEL.scpi            only what changes, step by step: conn:sub takes away, conn:add joins. Send it line by line over
                      TCP or serial, and go on after each question only if its answer is without an error.

PANEL.tl1             the same changes for TL1, port 3082, after a login such as  ACT-USER::USER:1::PASSWORD;

Changes begin with what --present said is joined now. Without it the switch is taken to be empty:
check with  :oxc:swit:conn:stat?  or  RTRV-PATCH:::123:;
These messages come from public client programs, and were not tried on a switch by topoopt.
"""


def polatis(deployment: Deployment) -> Contents:
    """Return RESTCONF, SCPI and TL1 for every Polatis switch.

    Raises
    ------
    Infeasible
        If no panel is one, or has more ports than the largest.
    """
    files: dict[str, str | bytes] = {"README.txt": _README}
    for one in steps_of_kind(deployment, "polatis", LARGEST):
        name = one.panel.name
        files[f"{name}.restconf.json"] = _restconf(one)
        files[f"{name}.scpi"] = "".join(f"{line}\n" for line in _scpi(one))
        files[f"{name}.tl1"] = "".join(f"{line}\n" for line in _tl1(one))
    return files


def _restconf(one: PanelSteps) -> str:
    pairs = [{"ingress": a, "egress": b} for a, b in _pairs(one.panel, one.circuits)]
    return json.dumps({"optical-switch:cross-connects": {"pair": pairs}}, indent=1) + "\n"


def _scpi(one: PanelSteps) -> Iterable[str]:
    yield ":oxc:swit:size?"
    for step in one.steps:
        for verb, some in (("sub", step.gone), ("add", step.come)):
            if some:
                inputs, outputs = zip(*_pairs(one.panel, some), strict=True)
                ports = ",".join(f"(@{','.join(map(str, side))})" for side in (inputs, outputs))
                yield f":oxc:swit:conn:{verb} {ports}"
                yield ":syst:err:all?"
    yield ":oxc:swit:conn:stat?"


def _tl1(one: PanelSteps) -> Iterable[str]:
    for step in one.steps:
        yield from (f"DLT-PATCH::{a}:123:;" for a, _ in _pairs(one.panel, step.gone))
        yield from (f"ENT-PATCH::{a},{b}:123:;" for a, b in _pairs(one.panel, step.come))
    yield "RTRV-PATCH:::123:;"


def _pairs(panel: Panel, some: tuple[Circuit, ...]) -> list[tuple[int, int]]:
    """Return input and output of every path, by input."""
    return sorted((a, panel.ports + b) for a, b in paths(some))
