"""How near the studio's estimates come to plans, and how often they order two fabrics the other way.

``python -m benchmarks.studio_estimates`` plans every row with its usual search, which takes ten minutes, and prints
for each the estimate over the plan by fabric; then the errors together, and the pairs of fabrics whose times differ by
more than 1 or 5 % in the plan and that the estimate orders otherwise.
"""

import argparse
import json
from collections.abc import Iterator
from itertools import combinations, product
from pathlib import Path
from typing import Any

import numpy as np

import topoopt

FABRICS = ("ideal-switch", "oversub-fat-tree", "rail", "expander")
ROWS: dict[str, tuple[tuple[int, ...], tuple[int, ...]]] = {
    "dlrm": ((16, 32, 64), (2, 3, 4, 8)),
    "ncf": ((16, 32), (2, 4, 8)),
    "vgg16": ((16, 64), (2, 4)),
    "bert": ((16, 32), (2, 4, 8)),
    "candle": ((16, 32), (2, 3, 4)),
    "resnet50": ((32,), (2, 4)),
    "encoder": ((32,), (2, 4)),
    "llama3-8b": ((4, 16), (2, 4, 8)),
    "mixtral-8x7b": ((8,), (4, 8)),
}
"""By model: numbers of servers, and ports of 100 Gb/s each."""
TIE = 0.01
"""Times that differ by less have no order."""


def compared(model: str, servers: int, degree: int) -> dict[str, tuple[float, float]]:
    """Return by fabric the estimate and the plan's time, in seconds."""
    words: dict[str, Any] = {"servers": servers, "degree": degree, "bandwidth": "100Gbps"}
    estimates = {row.rule: row.iteration_time_s for row in topoopt.studio_answer(model, **words).fabrics}
    plan = topoopt.plan(model, fabrics=FABRICS, **words)
    planned = {"topoopt": plan.outcome.iteration_time_s}
    planned |= {row.rule: row.outcome.iteration_time_s for row in plan.baselines}
    return {key: (estimates[key], time_s) for key, time_s in planned.items() if key in estimates}


def other_way(times_s: dict[str, tuple[float, float]]) -> Iterator[tuple[str, str, float, bool]]:
    """Yield each pair of fabrics with an order: by how much the plan says they differ; whether the estimate errs."""
    for (one, (guess, known)), (two, (guess_2, known_2)) in combinations(times_s.items(), 2):
        apart = abs(known - known_2) / max(known, known_2)
        if apart > TIE:
            yield one, two, apart, (guess - guess_2) * (known - known_2) < 0


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--models", nargs="*", default=list(ROWS))
    parser.add_argument("--out", type=Path)
    flags = parser.parse_args()
    found: list[dict[str, Any]] = []
    for model in flags.models:
        for servers, degree in product(*ROWS[model]):
            times_s = compared(model, servers, degree)
            wrong = [f"{one}/{two} {apart:.0%}" for one, two, apart, errs in other_way(times_s) if errs]
            found.append({"model": model, "servers": servers, "degree": degree, "times_s": times_s})
            shares = " ".join(f"{key} {guess / known - 1:+.1%}" for key, (guess, known) in times_s.items())
            print(f"{model:14} {servers:4} {degree:2}  {shares}  {', '.join(wrong)}", flush=True)
            if flags.out:
                flags.out.write_text(json.dumps(found))
    errors = {
        key: np.array(
            [
                np.subtract(*row["times_s"][key]) / row["times_s"][key][1]
                for row in found
                if key in row["times_s"]
            ]
        )
        for key in ("topoopt", *FABRICS)
    }
    for key, error in errors.items():
        print(
            f"{key:18} median {np.median(np.abs(error)):.1%}, largest {np.abs(error).max():.1%}, "
            f"mean {error.mean():+.1%}"
        )
    pairs = [errs for row in found for *_, errs in other_way(row["times_s"])]
    print(
        f"{sum(pairs)} of {len(pairs)} pairs of fabrics that differ by more than {TIE:.0%} in the other order"
    )


if __name__ == "__main__":
    main()
