"""Beyond strides: what other wirings of the same ports give, in hops, in an all-to-all, in iterations of jobs."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from topoopt.plugins.papers.figure import Figure, Progress, Row, StudySettings
from topoopt.plugins.papers.published_jobs import MODEL_TITLES
from topoopt.plugins.papers.wirings_exchange import exchange_row, record_row, wiring_row
from topoopt.plugins.papers.wirings_fabrics import DIRECT, WIRED, Size, wired
from topoopt.plugins.papers.wirings_figure import TEXT, WiringTimes, wirings_figure
from topoopt.plugins.papers.wirings_jobs import EXPERT_TITLES, PLANS, TITLES, plan_row, wired_rows
from topoopt.search import SearchOptions


@dataclass(frozen=True, slots=True, kw_only=True)
class WiringsGrid:
    """Where the study is evaluated.

    Attributes
    ----------
    servers, degrees, bandwidth_bps
        Of the wirings, and of the six models.
    batch : int
        Of an accelerator in the all-to-all study, which is of 128 servers; 0 leaves it out.
    models, experts : tuple of str
        Searched on every wiring at each of ``job_degrees``.
    expert_servers, expert_bps
        Of the mixtures of experts.
    planned_degrees : tuple of int
        At which the jobs are planned as well, which takes longer than all else.
    budget : int
        Proposals on each wiring.
    search_s : float
        Of search for each lifted wiring; 0 chooses.
    records : tuple of (servers, degree)
        Where others have published the hops of their graphs.
    """

    servers: int
    degrees: tuple[int, ...]
    bandwidth_bps: float
    batch: int
    models: tuple[str, ...]
    experts: tuple[str, ...]
    expert_servers: int
    expert_bps: float
    job_degrees: tuple[int, ...]
    planned_degrees: tuple[int, ...]
    budget: int
    search_s: float = 0.0
    records: tuple[tuple[int, int], ...] = ()

    @property
    def jobs(self) -> tuple[tuple[tuple[str, ...], int, float], ...]:
        """Models, servers and bandwidth of an interface of each kind."""
        return (
            (self.models, self.servers, self.bandwidth_bps),
            (self.experts, self.expert_servers, self.expert_bps),
        )


DEGREES = (3, 4, 6, 8)
FULL = WiringsGrid(
    servers=128,
    degrees=DEGREES,
    bandwidth_bps=100e9,
    batch=2048,
    models=tuple(MODEL_TITLES),
    experts=tuple(EXPERT_TITLES),
    expert_servers=64,
    expert_bps=400e9,
    job_degrees=DEGREES,
    planned_degrees=DEGREES,
    budget=1000,
    records=tuple((row["servers"], row["degree"]) for row in TEXT.tables["records"]),
)
QUICK = replace(FULL, job_degrees=(4, 8), planned_degrees=(4,))


def wirings(settings: StudySettings, on_progress: Progress) -> Figure:
    """Return hops, the all-to-all study, six models and two mixtures of experts on each wiring, and their plans."""
    return wirings_on(QUICK if settings.quick else FULL, settings, on_progress)


def wirings_on(grid: WiringsGrid, settings: StudySettings, on_progress: Progress) -> Figure:
    """Return the figure over any grid."""
    steps = len(grid.degrees) + len(grid.job_degrees) * (len(grid.models) + len(grid.experts))
    done = 0

    def step(what: str) -> None:
        nonlocal done
        on_progress(f"wirings: {what}", done, steps)
        done += 1

    rows: list[Row] = []
    for degree in grid.degrees:
        size = Size(grid.servers, degree, grid.bandwidth_bps, grid.search_s)
        step(f"{size.servers} servers, d={degree}")
        rows += _wiring_rows(size, grid.batch, settings.seed)
    rows += (record_row(servers, degree, settings.seed) for servers, degree in grid.records)
    for degree in grid.job_degrees:
        for models, servers, bandwidth_bps in grid.jobs:
            size = Size(servers, degree, bandwidth_bps, grid.search_s)
            for model in models:
                step(f"{TITLES[model]}, d={degree}")
                rows += _job_rows(model, size, grid, settings.seed)
    return wirings_figure(WiringTimes(tuple(rows)), grid.servers, grid.batch, quick=settings.quick)


def _wiring_rows(size: Size, batch: int, seed: int) -> Iterator[Row]:
    for name in WIRED:
        fabric = wired(name, size, seed)
        if name in DIRECT:
            yield wiring_row(name, fabric, size)
        if batch:
            yield exchange_row(name, fabric, size, batch)


def _job_rows(model: str, size: Size, grid: WiringsGrid, seed: int) -> Iterator[Row]:
    options = SearchOptions(budget=grid.budget, chains=1, seed=seed, processes=1)
    yield from wired_rows(model, size, options)
    if size.degree in grid.planned_degrees:
        yield from (plan_row(model, name, size, seed) for name in PLANS)
