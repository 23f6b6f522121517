"""``python -m fuzz.kills``: verbs are ended at random moments; nothing may be lost, and nothing left behind.

Each verb is started in a folder of its own and ended by SIGKILL, SIGTERM or SIGINT, again and again. After each end the
files in the folder are whole, and stored results are not fewer than before. Then the verb runs once to its end: its
answer is that of an undisturbed run, and temporary files, processes and network namespaces are gone.
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
from pathlib import Path

from fuzz.subjects import make_files

ROOT = Path(__file__).parents[1]
VERBS: Mapping[str, str] = {
    "sweep": "sweep many.yaml --processes 2 --out made.duckdb --json",
    "choose": "choose mix.yaml --servers 4 --degrees 2 --bandwidths 100Gbps,200Gbps --fabrics rail --proposals 0 "
    "--processes 1 --out made",
    "cluster": "cluster run trace.csv --servers 8 --fabrics ideal-switch --out made.json",
    "export": "export plan.json --out made",
    "report": "report plan.json --out made.html",
    "studio": "studio --port 0 --json",
    "testbed": "testbed up plan.json --name killed",
}
SIGNALS = (signal.SIGKILL, signal.SIGTERM, signal.SIGINT)
SWEEP = "models: dlrm\nservers: [4, 6, 8]\ndegree: [2, 3]\nbandwidth: 25 Gbps\nfabrics: [topoopt, rail]\nbudget: 0\n"
MEASURED = re.compile(rb'"(cpu_s|proposals_per_s|memory_bytes|plan_s|wall_s)": [0-9.e+-]+')
PATIENCE_S = 60.0
"""Time for a process that is asked to end, and for the processes that it started."""


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
        (whole / "sweep.duckdb").unlink()
        (whole / "many.yaml").write_text(SWEEP)
        for number, name in enumerate(names):
            kills = len(range(number, asked.kills, len(names)))
            folder, temporary = Path(text, name), Path(text, f"{name}-tmp")
            shutil.copytree(whole, folder)
            temporary.mkdir()
            for found in killed(name, folder, temporary, kills, draw):
                findings += 1
                print(f"{name}: {found}", flush=True)
            print(f"{name}: {kills} kills", flush=True)
    print(f"{findings} findings" if findings else "nothing lost, nothing left")
    return 1 if findings else 0


def killed(name: str, folder: Path, temporary: Path, kills: int, draw: random.Random) -> Iterator[str]:
    """Yield all that is wrong after the ends of one verb."""
    given = {path.name for path in folder.iterdir()}
    begin_s = time.monotonic()
    wanted, said = finished(name, folder, temporary)
    whole_s = time.monotonic() - begin_s
    if not wanted:
        yield f"without a kill: {said[-300:]}"
        return
    for made in made_files(folder, given):
        (shutil.rmtree if made.is_dir() else os.unlink)(made)
    stored = 0
    for _ in range(kills):
        how, wait_s = draw.choice(SIGNALS), draw.uniform(0, whole_s)
        found = [ended(name, folder, temporary, how, wait_s)]
        found += [f"{made.name} is cut short" for made in made_files(folder, given) if is_cut(made)]
        if name == "testbed":
            found.append(taken_down(folder, temporary))
        if name == "sweep" and (folder / "made.duckdb").exists():
            before, stored = stored, points(folder, temporary)
            found.append(f"{before - stored} stored points are lost" if stored < before else "")
        yield from (f"{how.name} after {wait_s:.2f} s: {one}" for one in found if one)
    again, said = finished(name, folder, temporary)
    if again != wanted:
        yield f"the answer after all kills is another one: {said[-300:] or (again, wanted)}"
    for one in (*made_files(folder, given), *temporary.rglob("*")):
        if not one.name.startswith("made"):
            yield f"is left: {one}"


def ended(name: str, folder: Path, temporary: Path, how: signal.Signals, wait_s: float) -> str:
    """Start a verb and end it; return what is wrong with its end."""
    with started(name, folder, temporary) as process:
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(wait_s)
        process.send_signal(how)
        try:
            said = process.communicate(timeout=PATIENCE_S)[1]
        except subprocess.TimeoutExpired:
            process.kill()
            return "goes on"
    if "Traceback" in said:
        return f"a traceback: {said[-300:]}"
    return "" if ends(process.pid) else "a process is left"


def made_files(folder: Path, given: set[str]) -> list[Path]:
    """Return the files and folders that came since, hidden ones, too."""
    return sorted(path for path in folder.iterdir() if path.name not in given)


def is_cut(made: Path) -> bool:
    """Return whether an output is there and not whole."""
    ends = {"made.json": "}", "made.html": "</html>"}.get(made.name, "")
    return made.is_file() and not (not ends or made.read_text(errors="replace").rstrip().endswith(ends))


def points(folder: Path, temporary: Path) -> int:
    """Return how many points a store has, -1 where it cannot be read."""
    with started("", folder, temporary, "results made.duckdb --json") as process:
        answer = process.communicate()[0]
    return len(json.loads(answer)["rows"]) if process.returncode == 0 else -1


def finished(name: str, folder: Path, temporary: Path) -> tuple[str, str]:
    """Run a verb to its end; return its answer without measured times, empty if it failed, and its complaint."""
    with started(name, folder, temporary) as process:
        if name == "studio":
            assert process.stdout is not None
            answer = "served" if process.stdout.readline() else ""
            process.terminate()
            return answer, process.communicate(timeout=PATIENCE_S)[1]
        _, said = process.communicate()
    if process.returncode:
        return "", said
    if name == "sweep":
        return str(points(folder, temporary)), said
    if name == "testbed":
        return taken_down(folder, temporary) or "taken down", said
    made = folder / next(word for word in VERBS[name].split() if word.startswith("made"))
    texts = {
        path.name: path.read_bytes()
        for path in (made.rglob("*") if made.is_dir() else [made])
        if path.is_file()
    }
    return str(
        {one: hashlib.sha256(MEASURED.sub(b"", text)).hexdigest()[:16] for one, text in sorted(texts.items())}
    ), said


def taken_down(folder: Path, temporary: Path) -> str:
    """Take all testbeds down; return what is wrong with that."""
    with started("", folder, temporary, "testbed down --all") as process:
        said = process.communicate()[1]
    names = subprocess.run(["ip", "netns", "list"], capture_output=True, text=True, check=False).stdout
    left = [line for line in names.splitlines() if line.startswith("topoopt-")]
    return said if process.returncode else f"namespaces are left: {left}" if left else ""


@contextlib.contextmanager
def started(name: str, folder: Path, temporary: Path, line: str = "") -> Iterator["subprocess.Popen[str]"]:
    """Start a verb as the leader of a session of its own."""
    paths = [str(ROOT / "src"), str(ROOT)]
    settings = {**os.environ, "TMPDIR": str(temporary), "PYTHONPATH": os.pathsep.join(paths)}
    words = [sys.executable, "-m", "topoopt", *(line or VERBS[name]).split()]
    pipes: dict[str, int] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(
        words, cwd=folder, env=settings, text=True, start_new_session=True, **pipes
    ) as process:
        yield process


def ends(group: int) -> bool:
    """Return whether all processes of a group end by themselves; end them otherwise."""
    until_s = time.monotonic() + PATIENCE_S
    while time.monotonic() < until_s:
        try:
            os.killpg(group, 0)
        except ProcessLookupError:
            return True
        time.sleep(0.1)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(group, signal.SIGKILL)
    return False


if __name__ == "__main__":
    sys.exit(main())
