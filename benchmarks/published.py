"""How far estimates are off on published runs that nothing was fitted to: ``python -m benchmarks.published``.

Of every data set: errors of the iteration time; how many of the runs, all of which ran, are said to fit into memory;
errors of the peak memory where a row has one (``mem_gb``). A data set is *in sight* where its errors were known when a
constant of the model was chosen by hand; the others are held out.

And of some jobs that were published with their layout: where that stands in the list of ``topoopt llm search``.
"""

import sys
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import topoopt
from topoopt.measurements import Error, errors_by
from topoopt.measurements.training import PredictedRuns, Prediction, predict_runs, read_runs

RUNS = Path(__file__).parent / "data" / "published_runs.csv"
JOBS: Mapping[str, Mapping[str, Any]] = {
    "llama3-405b": {"accelerators": 16384, "global_batch": 2048},
    "gpt3-175b": {"accelerators": 1024, "accelerator": "a100-80gb", "global_batch": 768},
    "deepseek-v3": {
        "accelerators": 2048,
        "accelerator": "h800",
        "global_batch": 15360,
        "precision": "fp8",
        "schedule": "dualpipe",
        "overlap_experts": True,
        "dispatch": "fp8",
        "moments": "bf16",
        "activation_inputs": "fp8",
        "framework": "hai-llm",
    },
    "mixtral-8x7b": {"accelerators": 64, "global_batch": 256},
}
"""Jobs whose layout is published, and what their publication says that a search does not vary."""

HEADINGS = ("data set", "runs", "MAPE", "bias", "fit", "memory MAPE", "bias", "")


@dataclass(frozen=True, slots=True)
class Judgment:
    """Of one data set: how many runs there are and fit, and errors of times and of memory where some were measured."""

    runs: int
    fit: int
    time: Error | None
    memory: Error | None
    in_sight: bool


def judge(answer: PredictedRuns) -> Mapping[str, Judgment]:
    """Return the judgment of each data set, and of all that is held out and all that is in sight."""
    groups: dict[str, list[Prediction]] = defaultdict(list)
    for one in answer.predictions:
        if not one.run.out_of_memory:
            groups[one.run.row.dataset].append(one)
            groups["all in sight" if _in_sight(one) else "all held out"].append(one)
    return {
        name: _judgment(groups[name]) for name in sorted(groups, key=lambda name: (name[:4] == "all ", name))
    }


def _judgment(ran: Sequence[Prediction]) -> Judgment:
    times = [("", one.error_percent) for one in ran if one.run.time_from]
    sizes = [("", one.memory_error_percent) for one in ran if one.run.peak_memory_bytes]
    errors = errors_by(times).get(""), errors_by(sizes).get("")
    return Judgment(len(ran), sum(one.fits for one in ran), *errors, any(_in_sight(one) for one in ran))


def _in_sight(one: Prediction) -> bool:
    return one.run.row.cells.get("in_sight", "") not in ("", "0")


def _cells(error: Error | None) -> tuple[str, str]:
    return (f"{error.mape_percent:.1f}", f"{error.bias_percent:+.1f}") if error else ("–", "–")


def main(words: Sequence[str] = ()) -> int:
    """Print the judgments as a table, and what is not modelled."""
    path = words[0] if words else str(RUNS)
    answer = predict_runs(read_runs(path))
    lines = [HEADINGS]
    for name, one in judge(answer).items():
        label = "in sight" if one.in_sight else "held out"
        fit = f"{one.fit}/{one.runs}"
        lines.append((name, str(one.runs), *_cells(one.time), fit, *_cells(one.memory), label))
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    for line in lines:
        cells = [
            cell.rjust(width) if place else cell.ljust(width)
            for place, (cell, width) in enumerate(zip(line, widths, strict=True))
        ]
        print("  ".join(cells).rstrip())
    for row in answer.not_scored:
        print(f"not scored: {row.row.name}: {row.reason}")
    for model, job in JOBS.items():
        print(found_line(model, job))
    return 0


def found_line(model: str, job: Mapping[str, Any]) -> str:
    """Return where the layout that was published for a job stands in the list of the search."""
    one = topoopt.llm.search(model, **job).published[0]
    share = f"the best {one.rank / one.compared:.1%} of {one.compared:,}"
    fits = "fits" if one.fits else "does not fit"
    return f"{model} on {job['accelerators']:,}: {one.name}: {one.over_best:+.1%}, {share}; {fits} ({one.source})"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
