"""A calibration by the word that a person gives: an accelerator, a TOML file, or a measured profile."""

from pathlib import Path

from topoopt.llm.calibration import Calibration
from topoopt.llm.calibration_file import find_calibration, read_calibration
from topoopt.llm.profiled_calibration import profiled_calibration
from topoopt.workload import read_device_profile


def named_calibration(word: str, accelerator: str) -> Calibration:
    """Return the calibration that a word means; the accelerator's own where the word is empty.

    A JSON file is a profile of a transformer from ``topoopt profile``: its kernels are taken, and everything else of
    the accelerator's own calibration.

    Raises
    ------
    InvalidInput
        If there is no such name or file, or a profile is of another accelerator.
    """
    if not word:
        return find_calibration(accelerator)
    if Path(word).suffix.lower() == ".json":
        return profiled_calibration(
            read_device_profile(word), find_calibration(accelerator), word
        ).calibration
    return read_calibration(word) if Path(word).suffix or "/" in word else find_calibration(word)
