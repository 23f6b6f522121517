"""Ask SimGrid when flows end: cases as JSON on standard input, finish times as JSON on standard output.

Runs under the Python that has SimGrid, apart from the tests: ``[{"capacity_bytes_s": [...], "flows": [{"links":
[...], "size_bytes": ..., "start_s": ...}]}]`` gives ``[[finish_s, ...], ...]``. The network model is plain max-min
sharing: no TCP window, no round-trip times, no traffic the other way.
"""

import json
import sys

from simgrid import Actor, Comm, Engine, LinkInRoute, NetZone, this_actor

CONFIG = (
    "network/model:CM02",
    "network/bandwidth-factor:1",
    "network/latency-factor:1",
    "network/weight-S:0",
    "network/TCP-gamma:0",
    "network/crosstraffic:0",
    "surf/precision:1e-12",
)


def main() -> None:
    cases = json.load(sys.stdin)
    engine = Engine(["flows", *(f"--cfg={setting}" for setting in CONFIG), "--log=root.thresh:error"])
    zone = NetZone.create_full_zone("all")
    finish_s: list[list[float]] = [[-1.0] * len(case["flows"]) for case in cases]
    for number, case in enumerate(cases):
        links = [
            zone.create_link(f"link {number} {m}", capacity).seal()
            for m, capacity in enumerate(case["capacity_bytes_s"])
        ]
        for f, flow in enumerate(case["flows"]):
            # a pair of hosts for each flow, because a pair has one route
            ends = [zone.create_host(f"{end} {number} {f}", 1e9).seal() for end in ("from", "to")]
            route = [LinkInRoute(links[m]) for m in flow["links"]]
            zone.add_route(ends[0].netpoint, ends[1].netpoint, None, None, route, False)
            Actor.create(f"flow {number} {f}", ends[0], send, *ends, flow, finish_s[number], f)
    zone.seal()
    engine.run()
    json.dump(finish_s, sys.stdout)


def send(src: object, dst: object, flow: dict[str, float], finish_s: list[float], f: int) -> None:
    this_actor.sleep_until(flow["start_s"])
    Comm.sendto(src, dst, flow["size_bytes"])
    finish_s[f] = Engine.clock


if __name__ == "__main__":
    main()
