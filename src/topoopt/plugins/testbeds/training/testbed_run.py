"""A job on several fabrics of a testbed, one after the other, at one scale; and the noun of what came of it."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from topoopt.base.answers import Frame, frame, shows_itself
from topoopt.base.errors import InvalidInput
from topoopt.base.progress import Progress, silent
from topoopt.catalog import ClusterSpec
from topoopt.plugins.testbeds.emulated_fabrics import Emulated
from topoopt.plugins.testbeds.training.fabric_run import FabricRun, predict_iteration
from topoopt.plugins.testbeds.training.job import Scale, TestbedJob, scale_for
from topoopt.plugins.testbeds.training.ranks import need_pytorch
from topoopt.plugins.testbeds.training.train_on_fabric import PlannedCut, TrainingSettings, train_on_fabric


@shows_itself
@dataclass(frozen=True, eq=False, repr=False)
class TestbedRun:
    """A job as it ran on fabrics of this machine.

    Attributes
    ----------
    job : str
    servers : int
    link_bandwidth_bps : float
        Of one link of the plan, not scaled.
    scale : Scale
    fabrics : tuple of FabricRun
        In the testbed's seconds and bytes, the first one to be compared with.
    """

    __test__ = False

    job: str
    servers: int
    link_bandwidth_bps: float
    scale: Scale
    fabrics: tuple[FabricRun, ...]

    def planned_time_s(self, run: FabricRun) -> float:
        """Return the measured time of an iteration in seconds of the plan."""
        return run.iteration_time_s / self.scale.time

    def to_json(self) -> dict[str, Any]:
        """Return all figures; those of fabrics are the testbed's."""
        return {
            "job": self.job,
            "servers": self.servers,
            "link_bandwidth_bps": self.link_bandwidth_bps,
            "scale": {**asdict(self.scale), "time": self.scale.time},
            "fabrics": [
                {**run.to_json(), "planned_time_s": self.planned_time_s(run)} for run in self.fabrics
            ],
        }

    def to_frame(self) -> Frame:
        """Return a row for each fabric, as pandas has it."""
        rows = []
        for run in self.fabrics:
            figures = dict(run.to_json())
            rows.append(
                {key: value for key, value in figures.items() if isinstance(value, int | float | str)}
            )
        return frame(rows)


def testbed_scale(
    job: TestbedJob, fabric: Emulated, cluster: ClusterSpec, slower: float, wanted_s: float
) -> Scale:
    """Return the scale at which links are so much slower, and an iteration on a fabric takes so long.

    Parameters
    ----------
    slower : float
        Bandwidth of the plan's links over that of the testbed's.
    wanted_s : float
        Seconds of an iteration by the simulator that is compared with.
    """
    alone_s = predict_iteration(job.graph, fabric.fabric, Scale(1.0, 1.0)).iteration_time_s
    bandwidth_bps = cluster.link_bandwidth_bps
    return scale_for(alone_s, bandwidth_bps, bandwidth_bps / slower, wanted_s)


def train_on_fabrics(
    job: TestbedJob,
    fabrics: Sequence[Emulated],
    cluster: ClusterSpec,
    name: str,
    settings: TrainingSettings,
    cut: PlannedCut | None = None,
    on_progress: Progress = silent,
) -> TestbedRun:
    """Train on each fabric in turn.

    Parameters
    ----------
    name : str
        What their testbeds' names begin with.
    cut : PlannedCut, optional
        Of a link of the plan's own; the other fabrics have none.

    Raises
    ------
    InvalidInput
        If this machine cannot have a testbed, PyTorch is missing, or a cut is of no fabric that is run.
    Infeasible
        If the job cannot be run so, or a process fails.
    """
    need_pytorch()
    if cut is not None and not any(fabric.wiring is not None for fabric in fabrics):
        raise InvalidInput("cut: only links of topoopt can be cut; name it among fabrics")
    runs = []
    for number, fabric in enumerate(fabrics):
        its_cut = cut if fabric.wiring is not None else None
        its_settings = replace(settings, counted=settings.counted and number == 0)
        runs.append(train_on_fabric(job, fabric, f"{name}-{number}", its_settings, its_cut, on_progress))
    return TestbedRun(job.name, cluster.servers, cluster.link_bandwidth_bps, settings.scale, tuple(runs))
