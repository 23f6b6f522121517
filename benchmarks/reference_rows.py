"""The reference figures: what the authors' simulators give, and how far ours may be away; read from ``data/``."""

import csv
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

DATA = Path(__file__).parent / "data"


@dataclass(frozen=True, slots=True)
class ReplayRow:
    """A task graph on a fabric in FlexNetPacket; ``timeouts`` says that its timer fired without a loss."""

    graph: str
    fabric: str
    gbps: float
    peer_ms_text: str
    timeouts: bool
    packet_percent: float
    flow_percent: float

    @property
    def peer_ms(self) -> float:
        """Iteration time of the original; ``peer_ms_text`` has all its digits."""
        return float(self.peer_ms_text)

    @property
    def key(self) -> str:
        """Name of the row, as tests and documents have it."""
        return f"{self.graph} {self.fabric} {self.gbps:g}G"

    @property
    def model(self) -> str:
        """Name of the model; the testbed's graph is DLRM, too."""
        return next((model for model in ("vgg", "candle") if model in self.graph), "dlrm")

    @property
    def draws_paths(self) -> bool:
        """Whether connections draw one of several paths, so that seeds differ by more than the order of starts."""
        return self.fabric == "fat-tree"


@dataclass(frozen=True, slots=True)
class MicroRow:
    """A small case that has a closed form."""

    case: str
    peer_ms: float


@dataclass(frozen=True, slots=True)
class FluidRow:
    """A data-parallel job in FlexNet's own fluid model."""

    model: str
    servers: int
    fabric: str
    degree: int
    gbps: float
    peer_ms: float
    percent: float


def replay_rows() -> tuple[ReplayRow, ...]:
    """Return the rows of FlexNetPacket on the authors' task graphs."""
    return tuple(
        ReplayRow(
            row["graph"],
            row["fabric"],
            float(row["gbps"]),
            row["peer_ms"],
            row["timeouts"] == "yes",
            float(row["packet_percent"]),
            float(row["flow_percent"]),
        )
        for row in _read("flexnetpacket.csv")
    )


def micro_rows() -> tuple[MicroRow, ...]:
    """Return the small cases in FlexNetPacket."""
    return tuple(MicroRow(row["case"], float(row["peer_ms"])) for row in _read("flexnetpacket_micro.csv"))


def fluid_rows() -> tuple[FluidRow, ...]:
    """Return the rows of FlexNet's fluid model."""
    return tuple(
        FluidRow(
            row["model"],
            int(row["servers"]),
            row["fabric"],
            int(row["degree"]),
            float(row["gbps"]),
            float(row["peer_ms"]),
            float(row["percent"]),
        )
        for row in _read("flexnet_fluid.csv")
    )


def percent_off(found: float, expected: float) -> float:
    """Return how much the found figure is above the expected one, in percent."""
    return 100.0 * (found / expected - 1.0)


def within(off_percent: float, tolerance_percent: float) -> bool:
    """Return whether a difference, in the digits in which the tolerance is given, is within it."""
    digits = len(f"{tolerance_percent:g}".partition(".")[2])
    return abs(round(off_percent, max(digits, 1))) <= tolerance_percent


def _read(name: str) -> Iterator[dict[str, str]]:
    with (DATA / name).open(encoding="utf-8") as file:
        yield from csv.DictReader(line for line in file if not line.startswith("#"))
