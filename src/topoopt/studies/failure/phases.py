"""A failure on the clock: until it happens, until it is repaired, and from then on."""

from dataclasses import dataclass

from topoopt.base.errors import InvalidInput
from topoopt.catalog import find_optical_switch
from topoopt.finder.rewiring import Step, step_time_s
from topoopt.studies.failure.predict import Prediction
from topoopt.studies.failure.repair import Repair


@dataclass(frozen=True, slots=True)
class Phase:
    """A stretch of time in which iterations take equally long.

    Attributes
    ----------
    end_s : float or None
        None of the last one.
    iteration_time_s : float or None
        None while the job stands still.
    """

    name: str
    start_s: float
    end_s: float | None
    iteration_time_s: float | None


def move_time_s(repair: Repair | None, optics: str) -> float:
    """Return how long the moves of a repair take on a technology of the catalogue, in seconds; 0 without a repair.

    Raises
    ------
    InvalidInput
        If there is no such technology.
    """
    technology = find_optical_switch(optics)
    if repair is None or not repair.moved_fibers:
        return 0.0
    return step_time_s(Step(repair.removed, repair.made, 0.0), repair.wiring, technology)


def phases(
    prediction: Prediction, at_s: float, optics: str, restart_s: float, checkpoint_s: float
) -> tuple[tuple[Phase, ...], float]:
    """Return the phases around a failure at ``at_s``, and the seconds of work that it undoes.

    Where the repair moves fibers, the job goes on meanwhile as fast as it can without; where it has to start again,
    it stands still until the moves are made and it has started.

    Parameters
    ----------
    restart_s : float
        From the last checkpoint to the first iteration.
    checkpoint_s : float
        Time between two checkpoints; the first is the start.
    """
    if at_s < 0 or restart_s < 0 or checkpoint_s <= 0:
        raise InvalidInput(
            "fail: times must not be negative and that between checkpoints positive, got "
            f"{at_s}, {restart_s} and {checkpoint_s} s"
        )
    chosen = prediction.chosen
    assert chosen.repair is not None, "a chosen repair is possible"
    again = chosen.repair.restart
    repair_s = move_time_s(chosen.repair, optics) + (restart_s if again else 0.0)
    meanwhile = None if again else prediction.meanwhile.iteration_time_s
    course = [Phase("before", 0.0, at_s, prediction.before.iteration_time_s)]
    if repair_s:
        course.append(Phase("during", at_s, at_s + repair_s, meanwhile))
    course.append(Phase("repaired", at_s + repair_s, None, chosen.iteration_time_s))
    return tuple(course), at_s % checkpoint_s if again or (meanwhile is None and repair_s) else 0.0
