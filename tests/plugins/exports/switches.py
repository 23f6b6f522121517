"""Models of optical switches that understand what exports tell them; light is a set of ways from port to port."""

import json
import re
from collections.abc import Mapping
from typing import Any

Path = tuple[int, int]


class Polatis:
    """N inputs 1..N, N outputs N+1..2N; a port that is in use is no port to be joined."""

    def __init__(self, size: int, joined: set[Path]) -> None:
        self.size = size
        self.pairs = {a: size + b for a, b in joined}

    @property
    def joined(self) -> set[Path]:
        return {(a, b - self.size) for a, b in self.pairs.items()}

    def scpi(self, line: str) -> None:
        """Take one line of SCPI."""
        if line in (":oxc:swit:size?", ":syst:err:all?", ":oxc:swit:conn:stat?"):
            return
        found = re.fullmatch(r":oxc:swit:conn:(add|sub) \(@([\d,]+)\),\(@([\d,]+)\)", line)
        assert found, line
        inputs, outputs = ([int(port) for port in found[side].split(",")] for side in (2, 3))
        for a, b in zip(inputs, outputs, strict=True):
            self._join(a, b) if found[1] == "add" else self._part(a, b)

    def tl1(self, line: str) -> None:
        """Take one TL1 command."""
        if line == "RTRV-PATCH:::123:;":
            return
        if found := re.fullmatch(r"ENT-PATCH::(\d+),(\d+):123:;", line):
            self._join(int(found[1]), int(found[2]))
        else:
            found = re.fullmatch(r"DLT-PATCH::(\d+):123:;", line)
            assert found, line
            del self.pairs[int(found[1])]

    def restconf(self, body: str) -> None:
        """Take a PUT of the whole collection."""
        self.pairs = {}
        for pair in json.loads(body)["optical-switch:cross-connects"]["pair"]:
            self._join(pair["ingress"], pair["egress"])

    def _join(self, a: int, b: int) -> None:
        assert 1 <= a <= self.size < b <= 2 * self.size, f"no input {a}, or no output {b}"
        assert a not in self.pairs, f"input {a} is in use"
        assert b not in self.pairs.values(), f"output {b} is in use"
        self.pairs[a] = b

    def _part(self, a: int, b: int) -> None:
        assert self.pairs.get(a) == b, f"{a} does not lead to {b}"
        del self.pairs[a]


class Calient:
    """Connections by name; ports by their three numbers."""

    def __init__(self, joined: Mapping[str, list[Path]], number: Mapping[str, int]) -> None:
        self.connections = dict(joined)
        self.number = number

    @property
    def joined(self) -> set[Path]:
        return {path for some in self.connections.values() for path in some}

    def delete(self, body: str) -> None:
        for entry in json.loads(body):
            assert set(entry) == {"conn"}
            del self.connections[entry["conn"]]

    def add(self, body: str) -> None:
        for entry in json.loads(body):
            a, b = self.number[entry["in"]], self.number[entry["out"]]
            both = {"bi": True, "uni": False}[entry["dir"]]
            come = [(a, b), (b, a)] if both else [(a, b)]
            for x, y in come:
                assert x not in {p for p, _ in self.joined}, f"in {x} is in use"
                assert y not in {p for _, p in self.joined}, f"out {y} is in use"
            self.connections[f"{entry['in']}{'-' if both else '>'}{entry['out']}"] = come


def patched(document: dict[str, Any], operations: list[dict[str, Any]]) -> dict[str, Any]:
    """Carry out a JSON patch of adds and removes (RFC 6902), in order; a missing key cannot be removed."""
    document = json.loads(json.dumps(document))
    for one in operations:
        *way, key = [step.replace("~1", "/").replace("~0", "~") for step in one["path"].split("/")[1:]]
        place = document
        for step in way:
            place = place[step]
        if one["op"] == "remove":
            del place[key]
        else:
            assert one["op"] == "add"
            place[key] = one["value"]
    return document


def ways(table: Mapping[str, Mapping[str, str]]) -> set[Path]:
    """The ways of light of a table OCS_CROSS_CONNECT; no side of a port is used twice."""
    joined = set()
    for key, sides in table.items():
        assert key == f"{sides['a_side']}-{sides['b_side']}"
        a, b = re.fullmatch(r"(\d+)A", sides["a_side"]), re.fullmatch(r"(\d+)B", sides["b_side"])
        assert a
        assert b
        joined.add((int(a[1]), int(b[1])))
    assert len({a for a, _ in joined}) == len({b for _, b in joined}) == len(joined)
    return joined
