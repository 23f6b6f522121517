"""The noun ClosedForm: a job's time on one fabric as it is estimated, and where it goes."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ClosedForm:
    """A fabric's time: of the best configuration, if everything is relayed, and where it goes.

    Attributes
    ----------
    parts_s : mapping
        By what is done; they add up to the iteration time.
    configuration : str
        How the model is split, in a few words.
    """

    iteration_time_s: float
    most_time_s: float
    parts_s: Mapping[str, float]
    configuration: str
