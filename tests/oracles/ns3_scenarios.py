"""Run scenarios in ns-3: scenarios as JSON on standard input, their figures as JSON on standard output.

Runs under the Python that has ns-3 (``pip install ns3``), in a process of its own: loading its headers takes about
eight seconds and all libraries of the process. TCP without timestamps, an acknowledgment for every packet, NewReno
recovery with SACK, CUBIC without HyStart; DCTCP over a RED queue that marks by its instantaneous length, when a packet
comes in.
"""

import json
import sys
from pathlib import Path
from typing import Any

import cppyy
from ns import ns  # noqa: F401 (loads ns-3 into cppyy)

TRANSPORTS = {"reno": "TcpNewReno", "cubic": "TcpCubic", "dctcp": "TcpDctcp"}


def main() -> None:
    scenarios = json.load(sys.stdin)
    cppyy.cppdef(Path(__file__).with_name("ns3_dumbbell.cc").read_text())
    json.dump({name: figures(scenario) for name, scenario in scenarios.items()}, sys.stdout)


def figures(scenario: dict[str, Any]) -> dict[str, object]:
    """Run one scenario; see ``scenarios.py`` for what goes in and comes out."""
    bandwidth_bps, (from_s, until_s) = scenario["bandwidth_bps"], scenario["measure_s"]
    seen = cppyy.gbl.dumbbell.Run(
        TRANSPORTS[scenario["transport"]],
        bandwidth_bps,
        scenario["bottleneck_s"],
        bandwidth_bps * scenario["access_factor"],
        scenario["access_s"],
        scenario["packet_bytes"],
        scenario["header_bytes"],
        scenario["buffer_packets"],
        scenario["mark_packets"],
        scenario["first_window_packets"],
        scenario["timeout_min_s"],
        [float(size) for size in scenario["size_packets"]],
        scenario["start_s"],
        from_s,
        until_s,
        scenario["stop_s"],
    )
    received = list(seen.received_bytes)
    cuts = [list(times) for times in seen.cuts_s]
    return {
        "finish_s": list(seen.finish_s),
        "share": [amount / max(sum(received), 1.0) for amount in received],
        "utilization": seen.sent_bytes * 8 / bandwidth_bps / (until_s - from_s),
        "queue_mean": seen.queue_area / (until_s - from_s),
        "queue_min": min(seen.queue_min, seen.queue_max),
        "queue_max": seen.queue_max,
        "drops": int(seen.drops),
        "marks": int(seen.marks),
        "period_s": [(t[-1] - t[0]) / (len(t) - 1) if len(t) > 1 else 0.0 for t in cuts],
        "peak_packets": [sum(p) / len(p) if len(p) else 0.0 for p in map(list, seen.peaks)],
    }


if __name__ == "__main__":
    main()
