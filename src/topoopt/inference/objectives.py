"""The noun Objectives: how soon the first token and how fast the others have to come, for which share of requests."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

import numpy as np

from topoopt.base.arrays import Flags, Floats
from topoopt.base.errors import InvalidInput
from topoopt.schema.files import packaged_rows


@dataclass(frozen=True, slots=True)
class Objectives:
    """What users were promised.

    Attributes
    ----------
    ttft_s : float
        Seconds to the first token, at most.
    tpot_s : float
        Seconds for each token after it on average, at most.
    share : float
        Of the requests that have to meet both.
    """

    ttft_s: float
    tpot_s: float
    share: float = 0.9

    def __post_init__(self) -> None:
        for word, value in (("slo_ttft", self.ttft_s), ("slo_tpot", self.tpot_s)):
            if not value > 0:
                raise InvalidInput(f"{word}: expected a time above 0, got {value:g} s")
        if not 0 < self.share <= 1:
            raise InvalidInput(f"slo_share: expected a share above 0 and up to 1, got {self.share:g}")

    def met(self, ttft_s: Floats, tpot_s: Floats) -> Flags:
        """Return of each request whether it meets both; an answer of one token has no time between tokens."""
        return (ttft_s <= self.ttft_s) & ~(np.nan_to_num(tpot_s) > self.tpot_s)


@cache
def objective_presets() -> Mapping[str, Objectives]:
    """Return named objectives, ``serving/data/objectives.csv``: those of MLPerf Inference, with their sources."""
    return {
        row["name"]: Objectives(float(row["ttft_s"]), float(row["tpot_s"]), float(row["share"]))
        for row in packaged_rows("inference", "objectives")
    }
