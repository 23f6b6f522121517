"""How far equal questions differ: iteration times of several seeds, packet by packet."""

from dataclasses import dataclass
from statistics import median

from benchmarks.reference_replay import COMPATIBLE, run_row
from benchmarks.reference_rows import ReplayRow, replay_rows
from topoopt.simulation import SimulationOptions

SEEDS = range(10)


@dataclass(frozen=True, slots=True)
class Band:
    """Iteration times of one row with one seed each."""

    row: ReplayRow
    times_ms: tuple[float, ...]

    @property
    def median_ms(self) -> float:
        return median(self.times_ms)

    @property
    def width_percent(self) -> float:
        """The slowest over the fastest."""
        return 100.0 * (max(self.times_ms) / min(self.times_ms) - 1.0)


def noisy_rows() -> tuple[ReplayRow, ...]:
    """Return the rows with many transfers at once: of CANDLE and DLRM, on 16 servers."""
    return tuple(row for row in replay_rows() if "candle_16" in row.graph or "dlrm_16" in row.graph)


def band(row: ReplayRow, seeds: range = SEEDS) -> Band:
    """Replay a row once with each seed."""
    results = (run_row(row, "packet", SimulationOptions(seed=seed, packet=COMPATIBLE)) for seed in seeds)
    return Band(row, tuple(result.iteration_time_s * 1e3 for result in results))
