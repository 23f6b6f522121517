"""``python -m fuzz.kills``: verbs are ended at random moments; nothing may be lost, and nothing left behind.

A verb is started in a folder and ended by SIGKILL, SIGTERM or SIGINT, again and again. After each end its files are
whole, and stored results are not fewer. Then it runs once to its end: the answer is that of an undisturbed run, and
temporary files, processes and network namespaces are gone.
"""

import argparse
import contextlib
import hashlib
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from fuzz.subjects import make_files

ROOT = Path(__file__).parents[1]
VERBS: Mapping[str, str] = {
    "sweep": "sweep many.yaml --processes 2 --out made.duckdb",
    "choose": "choose mix.yaml --servers 4 --degrees 2 --bandwidths 100Gbps,200Gbps --fabrics rail --proposals 0 "
    "--processes 1 --out made",
    "cluster": "cluster run trace.csv --servers 8 --fabrics ideal-switch --out made.json",
    "export": "export plan.json --out made",
    "report": "report plan.json --out made.html",
    "studio": "studio --port 0 --json",
    "testbed": "testbed up plan.json --name killed",
}
SWEEP = "models: dlrm\nservers: [4, 6, 8]\ndegree: [2, 3]\nbandwidth: 25 Gbps\nfabrics: [topoopt, rail]\nbudget: 0\n"
MEASURED = re.compile(rb'"(cpu_s|proposals_per_s|memory_bytes|plan_s|wall_s)": [0-9.e+-]+')
PATIENCE_S = 60.0
"""Time for a process that is asked to end, and for the processes that it started."""


@dataclass(frozen=True, slots=True)
class Subject:
    """A verb in a folder of its own, with a folder for temporary files."""

    name: str
    folder: Path
    temporary: Path

    def started(self, line: str = "") -> "subprocess.Popen[str]":
        """Start the verb, or another command, as the leader of a session."""
        settings = {
            **os.environ,
            "TMPDIR": str(self.temporary),
            "PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{ROOT}",
        }
        words = [sys.executable, "-m", "topoopt", *(line or VERBS[self.name]).split()]
        return subprocess.Popen(
            words,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=self.folder,
            env=settings,
            text=True,
            start_new_session=True,
        )

    def finished(self) -> tuple[str, str]:
        """Return the answer of a whole run without measured times, empty if it fails, and its complaint."""
        with self.started() as process:
            if self.name == "studio":
                assert process.stdout is not None
                answer = process.stdout.readline() and "served"
                process.terminate()
                return answer, process.communicate(timeout=PATIENCE_S)[1]
            _, said = process.communicate()
        if process.returncode or self.name in ("sweep", "testbed"):
            done = self.taken_down() or "done" if self.name == "testbed" else str(self.points())
            return "" if process.returncode else done, said
        made = self.folder / next(word for word in VERBS[self.name].split() if word.startswith("made"))
        # the store of choose has the times of its runs; its points are in the other files
        files = sorted(
            path for path in (made, *made.rglob("*")) if path.is_file() and path.suffix != ".duckdb"
        )
        return str(
            [hashlib.sha256(MEASURED.sub(b"", path.read_bytes())).hexdigest()[:9] for path in files]
        ), said

    def ended(self, how: signal.Signals, wait_s: float) -> str:
        """Start the verb and end it; return what is wrong with its end."""
        with self.started() as process:
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(wait_s)
            process.send_signal(how)
            with contextlib.suppress(subprocess.TimeoutExpired):
                said = process.communicate(timeout=PATIENCE_S)[1]
                until_s = time.monotonic() + PATIENCE_S
                while time.monotonic() < until_s:
                    try:
                        os.killpg(process.pid, 0)
                    except ProcessLookupError:
                        return f"a traceback: {said[-300:]}" if "Traceback" in said else ""
                    time.sleep(0.1)
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
        return "a process goes on"

    def points(self) -> int:
        """Return how many points the store has, -1 where it cannot be read."""
        with self.started("results made.duckdb --json") as process:
            answer = process.communicate()[0]
        return -1 if process.returncode else len(json.loads(answer)["rows"])

    def taken_down(self) -> str:
        """Take all testbeds down; return what is wrong with that."""
        with self.started("testbed down --all") as process:
            said = process.communicate()[1]
        names = subprocess.run(["ip", "netns", "list"], capture_output=True, text=True, check=False).stdout
        return said if process.returncode else "namespaces are left" if "topoopt-" in names else ""

    def findings(self, kills: int, draw: random.Random) -> Iterator[str]:
        """Yield all that is wrong after some ends."""
        given, begin_s, stored = set(self.folder.iterdir()), time.monotonic(), 0
        wanted, said = self.finished()
        whole_s = time.monotonic() - begin_s
        if not wanted:
            yield f"without a kill: {said[-300:]}"
        for made in set(self.folder.iterdir()) - given:
            (shutil.rmtree if made.is_dir() else os.unlink)(made)
        for _ in range(kills):
            how, wait_s = draw.choice(SIGNALS), draw.uniform(0, whole_s)
            found = [self.ended(how, wait_s), self.taken_down() if self.name == "testbed" else ""]
            for name, last in (("made.json", "}"), ("made.html", "</html>")):
                made = self.folder / name
                if made.exists() and not made.read_text(errors="replace").rstrip().endswith(last):
                    found.append(f"{name} is cut short")
            if (self.folder / "made.duckdb").exists():
                before, stored = stored, self.points()
                found.append("stored points are lost" if stored < before else "")
            yield from (f"{how.name} after {wait_s:.2f} s: {one}" for one in found if one)
        again, said = self.finished()
        if again != wanted:
            yield f"the answer after all kills is another one: {said[-300:] or (again, wanted)}"
        for one in (*(set(self.folder.iterdir()) - given), *self.temporary.rglob("*")):
            if not one.name.startswith("made"):
                yield f"is left: {one}"


SIGNALS = (signal.SIGKILL, signal.SIGTERM, signal.SIGINT)


def main() -> int:
    """Run the campaign; return 1 if anything was found."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--verbs", default=",".join(VERBS))
    asked = parser.parse_args()
    names = [name for name in asked.verbs.split(",") if name != "testbed" or os.getuid() == 0]
    draw, findings = random.Random(asked.seed), 0
    with tempfile.TemporaryDirectory(prefix="kills-") as text:
        whole = Path(text, "whole")
        whole.mkdir()
        with contextlib.chdir(whole):
            make_files(whole)
        (whole / "many.yaml").write_text(SWEEP)
        for number, name in enumerate(names):
            subject = Subject(name, Path(text, name), Path(text, f"{name}-tmp"))
            shutil.copytree(whole, subject.folder)
            subject.temporary.mkdir()
            kills = len(range(number, asked.kills, len(names)))
            for found in subject.findings(kills, draw):
                findings += 1
                print(f"{name}: {found}", flush=True)
            print(f"{name}: {kills} kills", flush=True)
    print(f"{findings} findings" if findings else "nothing lost, nothing left")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
