"""A calibration by the word that a person gives: an accelerator, a TOML file, or a measured profile."""

from pathlib import Path

from topoopt.errors import InvalidInput
from topoopt.llm.calibration.file import find_calibration, read_calibration
from topoopt.llm.calibration.from_profile import check_profile, profiled_calibration
from topoopt.llm.calibration.parameters import Calibration
from topoopt.workload import read_device_profile


def named_calibration(word: str | None, accelerator: str = "") -> Calibration:
    """Return the calibration that a word means; the accelerator's own where there is none.

    A JSON file is a profile of a transformer from ``topoopt profile``: its kernels are taken, and everything else of
    the accelerator's own calibration. Without an ``accelerator``, a profile's is taken.

    Raises
    ------
    InvalidInput
        If there is no such name or file, or a profile is of another accelerator.
    """
    if word is None:
        return find_calibration(accelerator)
    if not word:
        raise InvalidInput("calibration: expected a name or a file, got nothing")
    if Path(word).suffix.lower() == ".json":
        profile = read_device_profile(word)
        check_profile(profile, word)
        own = find_calibration(accelerator or profile.device.accelerator)
        return profiled_calibration(profile, own, word).calibration
    return read_calibration(word) if Path(word).suffix or "/" in word else find_calibration(word)
