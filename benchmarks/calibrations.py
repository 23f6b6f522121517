"""The calibrations that are shipped, fitted again: ``make calibrations``, or ``python -m benchmarks.calibrations``.

Each starts where its ``--start`` says, so the order matters: the A100 and GB200 begin at the H100's, others at the
GB200's. Only rows of train_runs.csv are read; what judges is in published_runs.csv.
"""

import subprocess
import sys
from pathlib import Path

from topoopt.catalog import find_accelerator

ROOT = Path(__file__).parents[1]
RUNS = ROOT / "benchmarks" / "data" / "train_runs.csv"
FOLDER = ROOT / "src" / "topoopt" / "llm" / "data" / "calibrations"

FITS: tuple[tuple[str, ...], ...] = (
    ("h100", "--start", "neutral", "--attention", "fused"),
    (
        *("a100-80gb,a100-40gb,a800", "--start", "h100", "--attention", "auto"),
        *("--weight", "vtrain_single=8", "--weight", "vtrain_multi=4"),
    ),
    ("gb200", "--start", "h100"),
    ("gb300", "--start", "gb200"),
    ("b200", "--start", "gb200"),
    ("b300", "--start", "gb200"),
)
"""Accelerators whose runs are taken, the first naming the file; and how. The A100 begins at the H100's, whose runs with
ZeRO-3 are newer: what hides is a matter of software. All data sets count alike, but vTrain's, which have the most uses
of tensor and pipeline parallelism, count more."""


def main() -> int:
    """Fit them one after the other, in a process each: it begins at what the ones before it have written."""
    for accelerators, *words in FITS:
        name = find_accelerator(accelerators.split(",")[0]).name.lower()
        fit = ["llm", "calibrate", str(RUNS), "--accelerator", accelerators, *words, "--strength", "1"]
        command = [sys.executable, "-m", "topoopt", *fit, "--out", str(FOLDER / f"{name}.toml")]
        code = subprocess.run(command, check=False).returncode
        if code:
            return code
    return 0


if __name__ == "__main__":
    sys.exit(main())
