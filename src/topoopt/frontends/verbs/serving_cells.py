"""Equal cells of a service that is too large to be simulated as one: a cell's share of the question."""

from collections.abc import Mapping
from typing import Any

from topoopt.base.errors import InvalidInput
from topoopt.inference import DeploymentPart, parse_arrivals

MOST_ACCELERATORS, LARGEST_CELL = 2048, 1024
"""Accelerators of one service, and of a cell: more are equal cells, of which one is simulated."""
MOST_CELLS = 10_000


def cells_of(accelerators: int, per_server: int) -> int:
    """Return the fewest equal cells of whole servers that are small enough; 1 where all are one service.

    Raises
    ------
    InvalidInput
        If there are no such cells, or too many of them, with the nearest numbers of accelerators.
    """
    if accelerators <= MOST_ACCELERATORS:
        return 1
    fewest = -(-accelerators // LARGEST_CELL)
    if fewest > MOST_CELLS:
        raise InvalidInput(f"accelerators {accelerators}: expected at most {MOST_CELLS * LARGEST_CELL:,}")
    for cells in range(fewest, 2 * fewest):
        if accelerators % (cells * per_server) == 0:
            return cells
    step = fewest * per_server
    low = accelerators // step * step
    raise InvalidInput(
        f"accelerators {accelerators}: more than {MOST_ACCELERATORS:,} are served by equal cells of whole "
        f"servers, into which these do not divide; nearest: {low}, {low + step}"
    )


def words_of_a_cell(
    words: Mapping[str, Any], given: DeploymentPart | None, cells: int, accelerators: int
) -> tuple[dict[str, Any], DeploymentPart | None]:
    """Return the options of one of several equal cells: its share of requests and of a deployment.

    Raises
    ------
    InvalidInput
        For a failure, which makes cells differ, and for a number that they cannot share evenly.
    """
    for word in ("replica_failures", "server_failures"):
        if word in words:
            raise InvalidInput(
                f"{word}: of {cells} equal cells only one would be hit; ask for that cell alone, with {accelerators} "
                "accelerators and its share of the rate"
            )

    def share(word: str, number: int) -> int:
        if number % cells:
            raise InvalidInput(
                f"{word} {number}: {cells} equal cells cannot share it; expected a multiple of {cells}"
            )
        return number // cells

    own = dict(words)
    if "rate" in words:
        own["rate"] = words["rate"] / cells
    if "prefill_accelerators" in words:
        own["prefill_accelerators"] = share("prefill_accelerators", words["prefill_accelerators"])
    clients = 0 if "trace" in words else parse_arrivals(words["arrivals"]).clients
    if clients:
        own["arrivals"] = f"closed:{share('arrivals: clients', clients)}"
    if given is None:
        return own, None
    pools = {
        word: pool.model_copy(update={"replicas": share(f"{word}: replicas", pool.replicas)})
        for word, pool in (("decode", given.decode), ("prefill", given.prefill))
        if pool is not None and pool.replicas is not None
    }
    return own, given.model_copy(update={**pools, "accelerators": None})
