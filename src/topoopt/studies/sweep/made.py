"""Jobs and plans that a process has made lately, so that points of one plan share it, also those of later tasks."""

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, replace
from typing import TypeVar

from topoopt.base.errors import TopoOptError
from topoopt.jobs import Job, JobRequest, training_of_text
from topoopt.plans import Plan
from topoopt.search import is_transformer, job_of, make_plan
from topoopt.studies.sweep.defaults import request_of
from topoopt.studies.sweep.point import Point

DIRECT = ("expander", "torus")
"""Other wirings of a plan's own ports: a plan is never slower than one of them."""

MOST_KEPT = 48
"""Jobs, and as many plans, of few servers; of many the last one."""
FEW_SERVERS = 64

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Made:
    """What was made, by what it is known by: the settings of a plan, and the folder of its files."""

    jobs: OrderedDict[tuple[str, str], Job | TopoOptError] = field(default_factory=OrderedDict)
    plans: OrderedDict[tuple[str, str], Plan | TopoOptError] = field(default_factory=OrderedDict)

    def job(self, point: Point, folder: str) -> Job:
        """Return the point's job.

        Raises
        ------
        TopoOptError
            If it cannot be, also where that was found before.
        """
        return _once(self.jobs, point, folder, lambda: _job(point, folder))

    def plan(self, point: Point, folder: str) -> Plan:
        """Return the point's plan, beside the other wirings of its ports.

        Raises
        ------
        TopoOptError
            As :meth:`job`.
        """

        def make() -> Plan:
            options = point.options()
            beside = DIRECT if options.any_wiring else ()
            return make_plan(self.job(point, folder), options, fabrics=beside, weigh_routes=False)

        return _once(self.plans, point, folder, make)

    def known_plan(self, point: Point, folder: str) -> Plan | None:
        """Return the point's plan if it was made."""
        found = self.plans.get((point.plan_digest, folder))
        return None if isinstance(found, TopoOptError) else found


def _once(
    kept: OrderedDict[tuple[str, str], T | TopoOptError], point: Point, folder: str, make: Callable[[], T]
) -> T:
    key = point.plan_digest, folder
    if key not in kept:
        while len(kept) >= (MOST_KEPT if point.servers <= FEW_SERVERS else 1):
            kept.popitem(last=False)
        try:
            kept[key] = make()
        except TopoOptError as error:
            kept[key] = error
    found = kept[key]
    if isinstance(found, TopoOptError):
        raise found
    return found


def _job(point: Point, folder: str) -> Job:
    """Return the point's job; of a traffic matrix, only the cluster is said: bytes are bytes."""
    request = request_of(point.model, folder)
    of_point = JobRequest(cluster=asdict(point.cluster()))
    if is_transformer(request):
        training = training_of_text(point.training, "training")
        of_point = replace(of_point, training=training, settings={"precision": point.precision})
        kept = {word: value for word, value in request.training.items() if word != "accelerators"}
        return job_of(replace(request, search={}, training=kept).overlaid(of_point))
    if not request.traffic:
        settings = asdict(point.settings())
        of_point = replace(of_point, settings=settings, batch_per_accelerator=point.batch_per_accelerator)
    return job_of(replace(request, search={}).overlaid(of_point))
