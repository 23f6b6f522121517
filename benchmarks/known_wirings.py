"""The wirings that the package knows, searched again: ``python -m benchmarks.known_wirings``.

What is found is put beside the rows that are there, and the best of both stay, so that it can be run for some servers
only, or for other seeds. Seconds of a trial are work done, not a clock's: with the seed of a row they give its wiring
again on every machine.
"""

import argparse
import csv
import io
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from topoopt.schema.files import packaged_rows, write_atomically
from topoopt.topologies import DirectWiring, LiftShape, lifted, moore_average_hops
from topoopt.topologies.wirings import judged
from topoopt.topologies.wirings.search import IN_ORDER

FILE = Path(__file__).parents[1] / "src" / "topoopt" / "wirings" / "data" / "known_wirings.csv"
SERVERS = (
    *(8, 12, 16, 24, 32, 48, 64, 72, 96, 128, 144, 192, 256, 288, 384, 432, 512, 576),
    *(768, 1024, 1536, 2048, 4096),
)
DEGREES = (3, 4, 6, 8, 16)
COLUMNS = (
    *("servers", "degree", "links", "group", "seed", "search_s"),
    *("average_hops", "diameter", "balanced_hops", "broadcast_messages", "orbits", "voltages", "matching"),
)
ALIKE = 1e-3
"""What is worse in hops and in balanced hops by less is not worth a row."""

_MOST_ORBITS, _MOST_GROUPS, _LARGEST_PLAIN = 64, 8, 256

Row = dict[str, str]


def sizes() -> Iterator[tuple[int, int]]:
    """Yield the servers and interfaces of the table: 16 from 32 servers on, 3 up to 2,048, above which chance does."""
    for servers in SERVERS:
        for degree in DEGREES:
            if degree < servers and (degree < 16 or servers >= 32) and (degree > 3 or servers <= 2048):
                yield servers, degree


def trial_s(servers: int, degree: int) -> float:
    """Return the seconds of work of one trial."""
    seconds = 0.3 if servers <= 128 else 1.0 if servers <= 576 else 2.5
    return seconds * (30 if degree % 2 else 1)  # of an odd degree there is one shape only, without symmetry


def groups_of(servers: int, degree: int) -> list[int]:
    """Return symmetries to try: those nearest to 16 orbits, and none where servers are few."""
    if degree % 2:
        return [1]
    fits = [servers // m for m in range(2, min(_MOST_ORBITS, servers // 2) + 1) if servers % m == 0]
    fits.sort(key=lambda group: max(16 * group / servers, servers / (16 * group)))
    return [*fits[:_MOST_GROUPS], *([1] if servers <= _LARGEST_PLAIN else [])]


def best_rows(rows: Sequence[Row]) -> list[Row]:
    """Return those that are best in hops against balanced hops, and the one of the quickest broadcast."""
    kept: list[Row] = []
    for row in sorted(rows, key=lambda row: (*_figures(row), -int(row["group"]))):
        if all(_figures(row)[1] < _figures(other)[1] * (1 - ALIKE) for other in kept):
            kept.append(row)
    quickest = min(rows, key=lambda row: (float(row["broadcast_messages"] or 0), *_figures(row)))
    slowest = max(float(row["broadcast_messages"] or 0) for row in rows)
    known = min(float(row["broadcast_messages"] or 0) for row in kept)
    if slowest and float(quickest["broadcast_messages"]) < known * (1 - ALIKE):
        kept.append(quickest)
    return kept


def search(servers: int, degree: int, seeds: Sequence[int]) -> Iterator[Row]:
    """Yield the row of each trial; end where no wiring can be better."""
    least = moore_average_hops(servers, degree)
    seconds = trial_s(servers, degree)
    for seed in seeds:
        for group in groups_of(servers, degree):
            shape = LiftShape(servers, degree, "duplex", group)
            row = row_of(lifted(shape, seed, seconds), seed, seconds)
            yield row
            if max(_figures(row)) <= least + 1e-9:
                return


def row_of(wiring: DirectWiring, seed: int, seconds: float) -> Row:
    """Return the row of a wiring."""
    found = judged(wiring)
    recipe = wiring.recipe
    values = (
        *(wiring.servers, wiring.degree, wiring.links, wiring.group, seed, seconds),
        *(found.hops.average_hops, found.hops.diameter),
        *("" if known is None else known for known in (found.balanced_hops, found.broadcast_messages)),
        "|".join(_cycle(order) for order in recipe["orbits"]),
        "|".join(_voltages(steps) for steps in recipe["voltages"]),
        " ".join(str(mate) for mate in recipe.get("matching", ())),
    )
    return dict(zip(COLUMNS, (str(value) for value in values), strict=True))


def _figures(row: Row) -> tuple[float, float]:
    return float(row["average_hops"]), float(row["balanced_hops"] or row["average_hops"])


def _cycle(order: Sequence[int]) -> str:
    return IN_ORDER if list(order) == list(range(len(order))) else " ".join(map(str, order))


def _voltages(steps: Sequence[int]) -> str:
    return " ".join(map(str, steps[:1] if len(set(steps)) == 1 else steps))


def _write(rows: Sequence[Row]) -> None:
    in_order = sorted(rows, key=lambda row: (int(row["servers"]), int(row["degree"]), *_figures(row)))
    text = io.StringIO()
    table = csv.DictWriter(text, COLUMNS, lineterminator="\n")
    table.writeheader()
    table.writerows(in_order)
    write_atomically(FILE, text.getvalue())


def main(arguments: Sequence[str] | None = None) -> int:
    """Search all sizes that are asked for, and write the file after each."""
    reader = argparse.ArgumentParser(description="Search the known wirings again.")
    reader.add_argument("--servers", type=int, nargs="*", default=SERVERS)
    reader.add_argument("--degrees", type=int, nargs="*", default=DEGREES)
    reader.add_argument("--seeds", type=int, nargs="*", default=(0, 1))
    reader.add_argument("--anew", action="store_true", help="forget the rows that are there")
    asked = reader.parse_args(arguments)
    rows: list[Row] = (
        packaged_rows("topologies.wirings", "known_wirings") if FILE.exists() and not asked.anew else []
    )
    for servers, degree in sizes():
        if servers not in asked.servers or degree not in asked.degrees:
            continue
        began = time.perf_counter()
        mine = [row for row in rows if (int(row["servers"]), int(row["degree"])) == (servers, degree)]
        others = [row for row in rows if row not in mine]
        best = best_rows([*mine, *search(servers, degree, asked.seeds)])
        rows = [*others, *best]
        _write(rows)
        found = ", ".join(f"{hops:.4f}/{balanced:.4f}" for hops, balanced in map(_figures, best))
        bound = moore_average_hops(servers, degree)
        print(
            f"{servers} x {degree}: {found} (Moore {bound:.4f}) {time.perf_counter() - began:.0f} s",
            flush=True,
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
