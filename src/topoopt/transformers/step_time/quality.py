"""How far a calibration is to be trusted, by what its provenance says of the runs that it was fitted to."""

import re
from dataclasses import dataclass

from topoopt.transformers.step_time.parameters import PARAMETERS, Calibration

GRADES = ("measured", "rough", "guess")
"""Of the quality of a calibration, the best first."""

ROUGH_PERCENT, GUESS_PERCENT = 10.0, 20.0
"""Error of runs of sizes that were held out from which a calibration is rough, and no more than a guess."""

FEW_RUNS = 2
"""With less than so many runs for a parameter a calibration is rough; with less than one it is a guess."""


@dataclass(frozen=True, slots=True)
class Quality:
    """What a calibration rests on.

    Attributes
    ----------
    runs : int
        Fitted; 0 for none of this accelerator.
    held_out_percent, sizes_held_out_percent : float or None
        Mean absolute error of runs that were held out at random, and of whole sizes that were; None where not known.
    grade : str
        One of :data:`GRADES`.
    others_from : str
        Of a profile: where all comes from that is not about kernels.
    """

    runs: int
    held_out_percent: float | None
    sizes_held_out_percent: float | None
    grade: str
    others_from: str = ""

    def __str__(self) -> str:
        """Return it in a line."""
        if self.others_from:
            return f"rough: kernels from a profile, all else from {self.others_from}"
        if not self.runs:
            return "a guess: no run of this accelerator was fitted"
        few = f", fewer than its {len(PARAMETERS)} parameters" if self.runs < len(PARAMETERS) else ""
        errors = [
            f"{percent:g} % off {where}"
            for percent, where in (
                (self.held_out_percent, "where runs are held out"),
                (self.sizes_held_out_percent, "where whole sizes are"),
            )
            if percent is not None
        ]
        what = f"fitted to {self.runs:,} runs{few}"
        grade = {"measured": "", "rough": "rough: ", "guess": "a guess: "}[self.grade]
        return grade + "; ".join([what, ", ".join(errors)] if errors else [what])


def calibration_quality(calibration: Calibration) -> Quality:
    """Return what a calibration rests on, and a grade.

    Fewer runs than parameters leave most of them where they started, which is a guess; so is an error of more than
    :data:`GUESS_PERCENT` on sizes that were held out. Less than :data:`FEW_RUNS` runs for a parameter, or more than
    :data:`ROUGH_PERCENT`, is rough.

    Examples
    --------
    >>> from topoopt.transformers import find_calibration
    >>> calibration_quality(find_calibration("h100")).grade, calibration_quality(find_calibration("b200")).grade
    ('measured', 'guess')
    """
    provenance = calibration.provenance
    if "others_from" in provenance:
        return Quality(0, None, None, "rough", provenance["others_from"])
    runs = sum(int(count) for count in re.findall(r"\w+ (\d+)", provenance.get("runs", "")))
    random, sizes = (
        _all(provenance.get(f"mape_percent_{name}", "")) for name in ("held_out", "size_held_out")
    )
    worst = max((percent for percent in (random, sizes) if percent is not None), default=0.0)
    grade = 0 + (worst > ROUGH_PERCENT or runs < FEW_RUNS * len(PARAMETERS))
    if runs < len(PARAMETERS) or worst > GUESS_PERCENT:
        grade = 2
    return Quality(runs, random, sizes, GRADES[grade])


def _all(errors: str) -> float | None:
    found = re.search(r"\ball ([\d.]+)", errors)
    return float(found[1]) if found else None
