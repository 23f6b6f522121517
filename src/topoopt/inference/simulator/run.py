"""One run of the simulator: requests and a fleet in, what happened to each request out."""

from topoopt.base.errors import Infeasible
from topoopt.inference.requests import Requests
from topoopt.inference.simulator.fleet import Fleet
from topoopt.inference.simulator.kernel import simulate
from topoopt.inference.simulator.kernel.layout import Count
from topoopt.inference.simulator.result import ServingRun
from topoopt.inference.simulator.state import first_state


def simulate_serving(fleet: Fleet, requests: Requests, log_rows: int = 0) -> ServingRun:
    """Serve requests until all are answered.

    Replicas take requests first come, first served, into pages that must be free; where an answer finds none, the
    youngest request loses its pages and is read anew. Prompts are read before anything is answered (prefill-first),
    in pieces beside the answers (chunked), or by replicas of their own (disaggregated), whose caches are sent to
    those that answer, where they wait outside of the pages: over the links of a fabric, which they share max-min
    fairly, or one after the other at either end. Steps in which only answers are made go by together until somebody
    comes or goes. In pipelines as many groups of requests are under way as there are stages.

    Parameters
    ----------
    log_rows
        Steps to log, from the first one on.

    Raises
    ------
    InvalidInput
        If a request fits into no replica.
    Infeasible
        If replicas or links that are needed fail for good.
    """
    state = first_state(fleet, requests, log_rows)
    simulate(state)
    left = len(requests) - int(state.tally[Count.DONE])
    if left:
        assert fleet.failures or fleet.outages, "the simulation stopped before all requests were answered"
        raise Infeasible(
            f"requests: {left:,} of {len(requests):,} are never answered: replicas or links that they need never come "
            "back"
        )
    return ServingRun(fleet, requests, state)
