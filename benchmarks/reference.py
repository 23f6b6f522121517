"""Replay everything that is known of the authors' simulators and write ``docs/simulators.md``: ``make reference``.

``python -m benchmarks.reference --check`` writes nothing and fails if a row is off by more than is allowed.
"""

import sys
from collections.abc import Iterator
from pathlib import Path

from benchmarks import reference_page as page
from benchmarks.reference_fluid import fluid_ms
from benchmarks.reference_micro import CASES
from benchmarks.reference_noise import band, noisy_rows
from benchmarks.reference_replay import COMPATIBLE, Replayed, replay_flows, replay_packets
from benchmarks.reference_rows import MicroRow, ReplayRow, fluid_rows, micro_rows, replay_rows
from benchmarks.reference_text import PAGE
from topoopt.simulation import PacketOptions, SimulationOptions, simulate

DOCUMENT = Path(__file__).parents[1] / "docs" / "simulators.md"
MODELS = ("vgg", "dlrm", "candle")


def main(arguments: list[str]) -> int:
    if arguments not in ([], ["--check"]):
        print("usage: python -m benchmarks.reference [--check]", file=sys.stderr)
        return 2
    text = written()
    if not arguments:
        DOCUMENT.write_text(text, encoding="utf-8")
        print(f"wrote {DOCUMENT}")
    missed = [line for line in text.splitlines() if f"| {page.ok(False)} |" in line]
    print(f"{len(missed)} rows are off by more than is allowed", *missed, sep="\n")
    return 1 if missed else 0


def written() -> str:
    """Return the page, everything measured anew."""
    warm_up()
    flows = [(row, _said(row, replay_flows(row))) for row in replay_rows()]
    return PAGE.format(
        micro=page.table(page.MICRO_TITLES, map(micro_line, micro_rows())),
        packet=page.table(page.PACKET_TITLES, map(packet_line, replay_rows())),
        flow=page.table(page.FLOW_TITLES, (page.flow_cells(row, found) for row, found in flows)),
        classes=page.table(page.CLASS_TITLES, (page.class_cells(model, flows) for model in MODELS)),
        fluid=page.table(page.FLUID_TITLES, (page.fluid_cells(row, fluid_ms(row)) for row in fluid_rows())),
        noise=page.table(page.NOISE_TITLES, _noise()),
    )


def warm_up() -> None:
    """Compile the kernels, which is no part of any row's time."""
    micro_line(micro_rows()[0])


def packet_line(row: ReplayRow) -> list[str]:
    """Return a row of the first table, replayed with the peer's shortcuts and without."""
    return page.packet_cells(row, _said(row, replay_packets(row)), replay_packets(row, PacketOptions()))


def micro_line(row: MicroRow) -> list[str]:
    """Return a row of the table of closed forms."""
    graph, fabric = CASES[row.case]()
    compatible = SimulationOptions(packet=COMPATIBLE)
    runs = (
        simulate("packet", graph, fabric),
        simulate("packet", graph, fabric, compatible),
        simulate("flow", graph, fabric),
    )
    return page.micro_cells(row, *(run.iteration_time_s * 1e3 for run in runs))


def _noise() -> Iterator[list[str]]:
    for row in noisy_rows():
        found = band(row)
        print(f"{row.key:<42} {len(found.times_ms)} seeds", flush=True)
        yield page.noise_cells(found)


def _said(row: ReplayRow, found: Replayed) -> Replayed:
    print(
        f"{row.key:<42} {row.peer_ms:>10.4f} {found.time_ms:>10.4f} ms {found.cpu_s:>6.2f} CPU s", flush=True
    )
    return found


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
