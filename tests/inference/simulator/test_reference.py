"""The compiled simulator beside one that goes step by step: equal to the last bit, on small random cases."""

from dataclasses import replace

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.inference.simulator.reference import Reference
from tests.inference.tables import SMALL, replicas
from topoopt.inference import EngineSettings, Failure, Fleet, ServingRun, simulate_serving, uniform_transfer
from topoopt.inference.requests import Requests
from topoopt.inference.simulator import ROUTERS, Outage, TransferRoutes
from topoopt.inference.simulator.kernel.layout import Log, Request, Time

PAGE = 16
MOST_TOKENS = 1200


@st.composite
def some_requests(draw: st.DrawFn) -> Requests:
    count = draw(st.integers(1, 14))
    whole = st.lists(st.integers(0, 400), min_size=count, max_size=count)
    arrival_s = np.sort(np.array(draw(whole))) / 256
    inputs = np.array(draw(st.lists(st.integers(1, MOST_TOKENS), min_size=count, max_size=count)))
    outputs = np.array(draw(st.lists(st.integers(1, 60), min_size=count, max_size=count)))
    block_tokens = draw(st.sampled_from([512, 512, 16, 64]))
    names = [
        [draw(st.integers(0, 1)), draw(st.integers(2, 4))][: tokens // block_tokens] for tokens in inputs
    ]
    first = np.cumsum([0, *map(len, names)])
    clients = draw(st.sampled_from([0, 0, 0, 3]))
    return Requests(
        np.zeros(count) if clients else arrival_s,
        inputs,
        outputs,
        first,
        np.array([name for row in names for name in row], np.int64),
        clients,
        block_tokens,
    )


@st.composite
def some_fleets(draw: st.DrawFn) -> Fleet:
    mode = draw(st.sampled_from(["prefill-first", "chunked", "disaggregated"]))
    pages = draw(st.integers((MOST_TOKENS + 60) // PAGE + 1, 160))
    batch, budget = draw(st.integers(1, 6)), draw(st.sampled_from([64, 256, 1024, 4096]))
    table = replace(SMALL, stages=draw(st.sampled_from([1, 2])))
    down = st.lists(st.integers(1, 300), min_size=2, max_size=2, unique=True).map(sorted)

    def failures(most: int) -> tuple[Failure, ...]:
        """Return failures between the times at which anything else happens."""
        found = []
        for replica in draw(st.lists(st.integers(0, most - 1), max_size=2, unique=True)):
            begin, end = draw(down)
            found.append(Failure(replica, begin / 256 + 2**-12, end / 256 + 2**-12))
        return tuple(found)

    decode = replicas(table, draw(st.integers(1, 3)), pages, batch, budget)
    engine = EngineSettings(page_tokens=PAGE, prefix_cache=draw(st.booleans()))
    router = draw(st.sampled_from(ROUTERS))
    if mode != "disaggregated":
        return Fleet(mode, decode, settings=engine, router=router, failures=failures(decode.pool.replicas))
    prefill = replicas(table, draw(st.integers(1, 2)), pages, batch, budget)
    count = prefill.pool.replicas + decode.pool.replicas
    way = uniform_transfer(count, 2.0**-9, 2.0**22, 2.0**12, draw(st.sampled_from([1, 8])))
    way.bytes_per_s[:, -1] = draw(st.sampled_from([2.0**20, 2.0**22, 2.0**24]))
    outages: tuple[Outage, ...] = ()
    if draw(st.booleans()):
        routes = draw(some_routes(count))
        way = replace(way, routes=routes)
        if draw(st.booleans()):
            begin, end = draw(down)
            links = tuple(draw(st.lists(st.integers(0, len(routes.capacity_bytes_per_s) - 1), max_size=2)))
            outages = (Outage(links, begin / 256 + 2**-13, end / 256 + 2**-13),)
    if draw(st.booleans()):
        allowed = np.array(draw(st.lists(st.booleans(), min_size=count**2, max_size=count**2)))
        way = replace(way, allowed=allowed.reshape(count, count))
    return Fleet(mode, decode, prefill, engine, router, way, failures(count), outages=outages)


@st.composite
def some_routes(draw: st.DrawFn, replicas: int) -> TransferRoutes:
    """Return up to three of five links for each pair."""
    ways = [draw(st.lists(st.integers(0, 4), max_size=3, unique=True)) for _ in range(replicas * replicas)]
    return TransferRoutes(
        np.cumsum([0, *map(len, ways)]),
        np.array([link for way in ways for link in way], np.int64),
        np.array([draw(st.sampled_from([0.5, 1.0, 0.3])) for way in ways for _ in way]),
        np.array([draw(st.sampled_from([2.0**20, 3.0e6, 2.0**23])) for _ in range(5)]),
    )


@settings(max_examples=150)
@given(some_fleets(), some_requests())
def test_equal_to_one_that_goes_step_by_step(fleet: Fleet, requests: Requests) -> None:
    run, slow = simulate_serving(fleet, requests, log_rows=20_000), Reference(fleet, requests).run()
    for column, name in ((Time.BEGIN, "begin"), (Time.FIRST, "first"), (Time.LAST, "last")):
        assert run.state.time[:, column].tolist() == [getattr(q, name) for q in slow.asked], name
    if not fleet.failures:  # a step that a failure cut short was not begun for the other one
        assert run.preempted.tolist() == [q.preempted for q in slow.asked]
    assert run.arrival_s.tolist() == [q.came for q in slow.asked]
    check_laws(run)


def check_laws(run: ServingRun) -> None:
    """Tokens are conserved, pages are never more than there are, times are in order, nothing is left over."""
    time, rows = run.state.time, run.state.request
    assert (rows[:, Request.STEPS] == run.requests.output_tokens - 1).all()
    assert (time[:, Time.BEGIN] >= run.arrival_s).all()
    assert (time[:, Time.READ] >= time[:, Time.BEGIN]).all()
    assert (time[:, Time.FIRST] >= time[:, Time.READ]).all()
    assert (time[:, Time.LAST] >= time[:, Time.FIRST]).all()
    assert (run.peak_share <= 1).all()
    log = run.state.log[: int(run.state.tally[4])]
    pages = run.fleet.decode.pages
    assert (log[:, Log.USED] + log[:, Log.CACHED] <= pages).all()
    assert (log[:, Log.RUNNING] <= run.fleet.decode.pool.max_batch).all()
