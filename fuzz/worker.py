"""A process that runs cases one after the other, with little memory, and writes a line for each finding.

``python -m fuzz.worker WHOLE FOLDER SEED FIRST STEP LAST LIMIT_S`` says the number of each case before it runs, so that
its parent knows which one hung or ended it.
"""

import json
import os
import resource
import sys
from pathlib import Path

from fuzz.case import Case, finding_of, fresh_folder, make_case

MEMORY_BYTES = 6 << 30


def work(whole: Path, folder: Path, seed: int, first: int, step: int, last: int, limit_s: float) -> None:
    """Run the cases ``first``, ``first + step`` ... below ``last``."""
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    sys.modules["torch"] = None  # type: ignore[assignment]  # it would measure for minutes, and fill the memory
    for number in range(first, last, step):
        print(json.dumps({"begun": number}), file=answers)
        case, found = run_case(whole, folder, seed, number, limit_s)
        if found:
            print(
                json.dumps({"number": number, "words": case.words, "file": case.spoiled, "found": found}),
                file=answers,
            )
    print(json.dumps({"done": last}), file=answers)


def run_case(whole: Path, folder: Path, seed: int, number: int, limit_s: float) -> tuple[Case, str]:
    """Make and run one case in a fresh folder; return it and what is wrong with its end."""
    fresh_folder(whole, folder)
    os.chdir(folder)
    case = make_case(seed, number, folder)
    return case, finding_of(case, folder, limit_s)


if __name__ == "__main__":
    _, whole, folder, *numbers, limit_s = sys.argv
    seed, first, step, last = map(int, numbers)
    work(Path(whole), Path(folder), seed, first, step, last, float(limit_s))
