"""``python -m fuzz.run``: thousands of spoiled files and flags; each must end in an answer or in one line.

A case is made from a seed and a number alone: ``--replay 7:123`` runs one again and leaves its folder. The exit code is
1 if anything was found: a traceback, a hang, a message of several lines, a number that is none, a file left behind.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import IO, Any

from fuzz.case import LIMIT_S
from fuzz.subjects import make_files, read_files
from fuzz.worker import run_case

ROOT = Path(__file__).parents[1]
PATIENCE = 9
"""After so many limits a worker in compiled code, which hears no signal, is ended."""


def run(
    cases: int, seed: int, jobs: int, folder: Path, limit_s: float = LIMIT_S, *, compiled: bool = True
) -> list[dict[str, Any]]:
    """Run cases on some processes, with all that they need compiled before, and return what they found."""
    whole = folder / "whole"
    whole.mkdir()
    os.environ |= {"COLUMNS": "100", "TOPOOPT_SETTINGS": "none"}
    here = Path.cwd()
    os.chdir(whole)
    try:
        make_files(whole)
        if compiled:
            read_files(whole)
    finally:
        os.chdir(here)
    findings: list[dict[str, Any]] = []
    crews = [
        threading.Thread(
            target=_crew, args=(whole, folder / f"work{job}", seed, job, jobs, cases, findings, limit_s)
        )
        for job in range(jobs)
    ]
    for crew in crews:
        crew.start()
    for crew in crews:
        crew.join()
    return sorted(findings, key=lambda one: one["number"])


def _crew(
    whole: Path,
    folder: Path,
    seed: int,
    first: int,
    step: int,
    last: int,
    findings: list[dict[str, Any]],
    limit_s: float,
) -> None:
    """Run the cases of one job; where a worker dies or hangs, go on behind that case with another worker."""
    begun = first
    while begun < last:
        words = [
            sys.executable,
            "-m",
            "fuzz.worker",
            str(whole),
            str(folder),
            *map(str, (seed, begun, step, last, limit_s)),
        ]
        with tempfile.TemporaryFile() as complaints:
            begun = _watched(words, complaints, begun, findings, PATIENCE * limit_s)
            if begun >= 0:
                complaints.seek(0)
                found = f"the process ended:\n{complaints.read()[-500:].decode(errors='replace')}"
                findings.append({"number": begun, "words": [], "file": "", "found": found})
        begun = last if begun < 0 else begun + step


def _watched(
    words: list[str], complaints: IO[bytes], first: int, findings: list[dict[str, Any]], longest_s: float
) -> int:
    """Run a worker to its end; return the case during which it ended too early, or -1."""
    path = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
    begun: list[Any] = [first, time.monotonic()]
    with subprocess.Popen(
        words, stdout=subprocess.PIPE, stderr=complaints, text=True, env={**os.environ, "PYTHONPATH": path}
    ) as worker:
        threading.Thread(target=_end_when_hung, args=(worker, begun, longest_s), daemon=True).start()
        assert worker.stdout is not None
        for line in worker.stdout:
            answer = json.loads(line)
            if "begun" in answer:
                begun[:] = [answer["begun"], time.monotonic()]
            elif "found" in answer:
                findings.append(answer)
            else:
                begun[0] = -1
    return int(begun[0])


def _end_when_hung(worker: "subprocess.Popen[str]", begun: list[Any], longest_s: float) -> None:
    while worker.poll() is None:
        time.sleep(0.5)
        if time.monotonic() - begun[1] > longest_s:
            worker.kill()


def main() -> int:
    """Run the campaign, or one case again."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--cases", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--replay", metavar="SEED:NUMBER")
    asked = parser.parse_args()
    began = time.monotonic()
    if asked.replay:
        return _replay(*map(int, asked.replay.split(":")))
    with tempfile.TemporaryDirectory(prefix="fuzz-") as folder:
        findings = run(asked.cases, asked.seed, asked.jobs, Path(folder))
    for one in findings:
        print(
            f"{asked.seed}:{one['number']}  {' '.join(one['words'])!a:.150}  {one['file']}\n    {one['found']}"
        )
    print(f"{asked.cases} cases in {time.monotonic() - began:.0f} s, {len(findings)} findings")
    if findings:
        print(f"again: python -m fuzz.run --replay {asked.seed}:{findings[0]['number']}")
    return 1 if findings else 0


def _replay(seed: int, number: int) -> int:
    folder = Path(tempfile.mkdtemp(prefix="fuzz-"))
    whole = folder / "whole"
    whole.mkdir()
    os.chdir(whole)
    make_files(whole)
    read_files(whole)
    case, found = run_case(whole, folder / "work", seed, number, LIMIT_S)
    print(
        f"cd {folder / 'work'}; topoopt {' '.join(case.words)!a}  {case.spoiled}\n{found or 'nothing found'}"
    )
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
