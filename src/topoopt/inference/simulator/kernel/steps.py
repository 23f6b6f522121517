"""A step of a replica: its requests, duration and results."""

from topoopt.base.kernel import compiled
from topoopt.inference.simulator.kernel.layout import (
    ANSWERING,
    CHUNKED,
    COMES,
    DISAGGREGATED,
    DONE,
    DRAINS,
    IDLE,
    NEVER,
    NEVER_YET,
    READING,
    SENT,
    STEPPING,
    TRANSFERRED,
    TURNED,
    TURNS,
    Clock,
    Count,
    Grid,
    Law,
    Log,
    Number,
    Pool,
    Replica,
    Request,
    State,
    Time,
)
from topoopt.inference.simulator.kernel.pages import (
    give_back,
    held,
    keep_prefix,
    matched,
    pages_of,
    take,
    tokens_after,
    use,
)
from topoopt.inference.simulator.kernel.queue import (
    aim,
    choose,
    known_tokens,
    leave,
    put_first,
    sent_at,
    take_first,
)
from topoopt.inference.simulator.kernel.rows import (
    affordable_row,
    commit,
    end_of_row,
    lag_s,
    looked_up,
    schedule,
)
from topoopt.inference.simulator.kernel.transfers import begin_flow, has_fabric


@compiled
def begin_step(s: State, r: int, now: float) -> None:
    """Start a step of an idle replica, if there is anything to do."""
    s.replica[r, Replica.MARKED] = 0
    if s.replica[r, Replica.BUSY] != IDLE or s.replica[r, Replica.UP] == 0:
        return
    if s.replica[r, Replica.TURNING] == TURNS:
        return
    pool = s.replica[r, Replica.POOL]
    budget, rows = s.pool[pool, Pool.BUDGET], s.tally[Count.ROWS]
    chunked = s.tally[Count.MODE] == CHUNKED
    answered, lost, read = 0, 0, 0
    s.replica[r, Replica.HELD_BACK] = 0
    if chunked:
        lost = _secure(s, r)
        answered = _answered(s, r)
        budget -= answered * rows
    read = _give_pieces(s, r, budget)
    if lost == 0:
        read += _admit(s, r, budget - read, now)
    if not chunked and read == 0:
        lost = _secure(s, r)
        answered = _answered(s, r)
    if answered == 0 and read == 0:
        if lost > 0:
            s.replica[r, Replica.MARKED] = 1  # all that ran are before the queue now
        elif s.replica[r, Replica.TURNING] == DRAINS:
            _turn_if_empty(s, r, now)
        return
    _time_step(s, r, answered, lost, now)


@compiled
def _turn_if_empty(s: State, r: int, now: float) -> None:
    """Start a replica's change of pool once it has no more requests, and sends none."""
    if s.replica[r, Replica.USED] == 0 and s.replica[r, Replica.WAITING] == 0:
        s.replica[r, Replica.TURNING] = TURNS
        schedule(s, now + s.number[Number.TURN_S], TURNED, r)


@compiled
def _secure(s: State, r: int) -> int:
    """Reserve the pages of one more decode step; if there are none, the youngest request is preempted.

    Returns how many did.
    """
    pool = s.replica[r, Replica.POOL]
    lost, i = 0, 0
    while i < s.replica[r, Replica.RUNNING]:
        q = s.running[r, i]
        i += 1
        if s.request[q, Request.STATE] != ANSWERING:
            continue
        more = max(pages_of(s, tokens_after(s, q, s.request[q, Request.STEPS] + 1)) - held(s, q), 0)
        while s.replica[r, Replica.USED] + more > s.pool[pool, Pool.PAGES]:
            youngest = s.running[r, s.replica[r, Replica.RUNNING] - 1]
            _preempt(s, r, youngest)
            lost += 1
            if youngest == q:
                return lost
        s.request[q, Request.PAGES] += more
        take(s, r, more)
    return lost


@compiled
def _preempt(s: State, r: int, q: int) -> None:
    """Preempt the youngest request: it waits before all others for another prefill."""
    s.replica[r, Replica.RUNNING] -= 1
    give_back(s, r, q)
    s.replica[r, Replica.UNREAD] -= s.request[q, Request.TARGET] - s.request[q, Request.READ]
    aim(s, q)
    s.replica[r, Replica.UNREAD] += s.request[q, Request.TARGET]
    s.request[q, Request.PREEMPTED] += 1
    put_first(s, r, q)


@compiled
def _answered(s: State, r: int) -> int:
    count = 0
    for i in range(s.replica[r, Replica.RUNNING]):
        if s.request[s.running[r, i], Request.STATE] == ANSWERING:
            count += 1
    return count


@compiled
def _give_pieces(s: State, r: int, budget: int) -> int:
    """Assign chunks of the step to prompts in progress, in order; return its tokens."""
    given = 0
    for i in range(s.replica[r, Replica.RUNNING]):
        q = s.running[r, i]
        if s.request[q, Request.STATE] == READING:
            left = s.request[q, Request.TARGET] - s.request[q, Request.READ]
            s.request[q, Request.PIECE] = max(min(left, budget - given), 0)
            given += s.request[q, Request.PIECE]
    return given


@compiled
def _admit(s: State, r: int, budget: int, now: float) -> int:
    """Dequeue requests while there are places, pages and tokens; return the tokens of their chunks.

    One page per running request is reserved for its output.
    """
    pool = s.replica[r, Replica.POOL]
    given = 0
    while s.replica[r, Replica.WAITING] > 0:
        q, running = s.replica[r, Replica.HEAD], s.replica[r, Replica.RUNNING]
        unread = s.request[q, Request.TARGET] - s.request[q, Request.READ]
        if running == s.pool[pool, Pool.BATCH]:
            s.replica[r, Replica.HELD_BACK] = 2
            break
        if unread > 0 and budget - given <= 0:
            s.replica[r, Replica.HELD_BACK] = 3
            break
        blocks = matched(s, r, q) if unread > 0 else 0
        block_pages = s.tally[Count.BLOCK_PAGES]
        need = pages_of(s, s.request[q, Request.TARGET]) - blocks * block_pages
        idle_blocks = 0
        for place in range(s.block_first[q], s.block_first[q] + blocks):
            if s.users[r, s.block[place]] == 0:
                idle_blocks += 1
        free = s.pool[pool, Pool.PAGES] - s.replica[r, Replica.USED] - idle_blocks * block_pages
        if need + running > free:
            s.replica[r, Replica.HELD_BACK] = 1
            break
        take_first(s, r)
        given += _let_in(s, r, q, blocks, need, budget - given, now)
    return given


@compiled
def _let_in(s: State, r: int, q: int, blocks: int, need: int, budget: int, now: float) -> int:
    """Allocate a request's pages, and the first chunk of its prompt if needed; return its tokens."""
    for place in range(s.block_first[q], s.block_first[q] + blocks):
        use(s, r, s.block[place])
    s.request[q, Request.SHARED] = blocks
    s.request[q, Request.PAGES] = need
    take(s, r, need)
    s.running[r, s.replica[r, Replica.RUNNING]] = q
    s.replica[r, Replica.RUNNING] += 1
    if s.request[q, Request.READ] == s.request[q, Request.TARGET]:
        s.request[q, Request.STATE] = ANSWERING
        if s.time[q, Time.FIRST] == NEVER_YET:
            s.time[q, Time.FIRST] = now
        return 0
    hit = blocks * s.tally[Count.BLOCK_PAGES] * s.tally[Count.PAGE]
    s.request[q, Request.READ] = hit
    s.request[q, Request.HIT] += hit
    s.replica[r, Replica.UNREAD] -= hit
    s.request[q, Request.STATE] = READING
    s.request[q, Request.PIECE] = min(s.request[q, Request.TARGET] - hit, budget)
    if s.time[q, Time.BEGIN] == NEVER_YET:
        s.time[q, Time.BEGIN] = now
    return s.request[q, Request.PIECE]


@compiled
def _time_step(s: State, r: int, answered: int, lost: int, now: float) -> None:
    """Set the end of the step, or of the row of steps if all are decode steps."""
    pool = s.replica[r, Replica.POOL]
    rows, stages = s.tally[Count.ROWS], s.pool[pool, Pool.STAGES]
    sampled, cached, pairs, read = answered * rows, 0.0, 0.0, 0
    for i in range(s.replica[r, Replica.RUNNING]):
        q = s.running[r, i]
        if s.request[q, Request.STATE] == ANSWERING:
            if answered > 0:
                cached += known_tokens(s, q)
        elif s.request[q, Request.PIECE] > 0:
            piece = s.request[q, Request.PIECE]
            before = s.request[q, Request.READ]
            read += piece
            pairs += piece * (before + 0.5 * piece)
            if before + piece == s.request[q, Request.TARGET]:
                sampled += 1
    apart = s.tally[Count.MODE] == DISAGGREGATED and pool == 0
    parts = 1 if apart else stages
    column = Grid.BASE if answered > 0 else Grid.PREFILL
    each_s = looked_up(s, pool, column, (answered * rows + read) / parts)
    if sampled > 0:
        each_s += looked_up(s, pool, Grid.HEAD, sampled / parts)
    each_s += s.law[pool, Law.PAIR] / parts * pairs
    if apart:
        each_s /= stages
    s.clock[r, Clock.BEGIN] = now
    s.clock[r, Clock.EACH] = each_s
    s.clock[r, Clock.TOKENS] = cached
    s.replica[r, Replica.ANSWERED] = answered
    s.replica[r, Replica.ROW] = 1
    if read == 0 and (lost == 0 or s.replica[r, Replica.WAITING] == 0):
        s.replica[r, Replica.ROW] = affordable_row(s, r)
    s.replica[r, Replica.BUSY] = STEPPING
    s.clock[r, Clock.END] = end_of_row(s, r, s.replica[r, Replica.ROW])
    if apart and read > 0 and s.tally[Count.LAYERS] > 1 and has_fabric(s):
        send_layers(s, r, now)
    _note(s, r, answered, read, now)


@compiled
def _note(s: State, r: int, answered: int, read: int, now: float) -> None:
    """Log a step that begins, while there is room."""
    row = s.tally[Count.LOGGED]
    if row == len(s.log):
        return
    s.log[row, Log.TIME] = now
    s.log[row, Log.REPLICA] = r
    s.log[row, Log.USED] = s.replica[r, Replica.USED]
    s.log[row, Log.CACHED] = s.replica[r, Replica.CACHED]
    s.log[row, Log.RUNNING] = s.replica[r, Replica.RUNNING]
    s.log[row, Log.WAITING] = s.replica[r, Replica.WAITING]
    s.log[row, Log.TOKENS] = read
    s.log[row, Log.SECONDS] = s.clock[r, Clock.EACH]
    s.log[row, Log.PRODUCED] = answered
    s.tally[Count.LOGGED] += 1


@compiled
def end_row(s: State, r: int, now: float) -> None:
    """End the steps of a replica: one more output token per request, prompts prefilled."""
    steps = s.replica[r, Replica.ROW]
    answered = s.replica[r, Replica.ANSWERED]
    if answered > 0 and steps > 1:
        commit(s, r, steps)
    end = now + lag_s(s, r, steps, now)
    account(s, r, steps, now)
    s.clock[r, Clock.LOAD] += s.number[Number.ACCEPTED] * answered * steps
    running = s.replica[r, Replica.RUNNING]
    kept = 0
    for i in range(running):
        q = s.running[r, i]
        stays = True
        if s.request[q, Request.STATE] == ANSWERING:
            if answered > 0:
                s.request[q, Request.STEPS] += steps
                stays = s.request[q, Request.STEPS] < s.request[q, Request.TOTAL]
                if not stays:
                    give_back(s, r, q)
                    leave(s, r, q)
                    finish(s, q, end)
        elif s.request[q, Request.PIECE] > 0:
            piece = s.request[q, Request.PIECE]
            s.request[q, Request.READ] += piece
            s.replica[r, Replica.UNREAD] -= piece
            s.request[q, Request.PIECE] = 0
            if s.request[q, Request.READ] == s.request[q, Request.TARGET]:
                stays = _end_reading(s, r, q, end)
        if stays:
            s.running[r, kept] = q
            kept += 1
    s.replica[r, Replica.RUNNING] = kept
    s.replica[r, Replica.BUSY] = IDLE
    s.clock[r, Clock.END] = NEVER
    s.replica[r, Replica.MARKED] = 1


@compiled
def account(s: State, r: int, steps: int, now: float) -> None:
    """Count the seconds of a row of steps."""
    seconds = now - s.clock[r, Clock.BEGIN]
    answered = s.replica[r, Replica.ANSWERED]
    s.tally[Count.STEPS] += steps
    each_s = s.clock[r, Clock.EACH]
    if answered == 0:
        s.clock[r, Clock.READING] += seconds
    else:
        s.clock[r, Clock.OF_CACHES] += max(seconds - steps * each_s, 0.0)
        s.clock[r, Clock.BATCH_S] += answered * seconds
        mixed = False
        for i in range(s.replica[r, Replica.RUNNING]):
            mixed = mixed or s.request[s.running[r, i], Request.PIECE] > 0
        s.clock[r, Clock.BOTH if mixed else Clock.ANSWERING] += seconds
    if s.replica[r, Replica.HELD_BACK] == 1:
        s.clock[r, Clock.NO_PAGE] += seconds
    elif s.replica[r, Replica.HELD_BACK] == 2:
        s.clock[r, Clock.NO_PLACE] += seconds


@compiled
def _end_reading(s: State, r: int, q: int, end: float) -> bool:
    """Generate the first output token, or the next one after a loss; return whether the request stays."""
    keep_prefix(s, r, q)
    if s.request[q, Request.BEGUN] == 1:
        s.request[q, Request.STEPS] += 1
        s.clock[r, Clock.LOAD] += s.number[Number.ACCEPTED]
    s.request[q, Request.BEGUN] = 1
    if s.time[q, Time.READ] == NEVER_YET:
        s.time[q, Time.READ] = end
    hands_over = s.tally[Count.MODE] == DISAGGREGATED and s.replica[r, Replica.POOL] == 0
    over = s.request[q, Request.STEPS] >= s.request[q, Request.TOTAL]
    if (over or not hands_over) and s.time[q, Time.FIRST] == NEVER_YET:
        s.time[q, Time.FIRST] = end
    if over:
        give_back(s, r, q)
        leave(s, r, q)
        finish(s, q, end)
        return False
    if not hands_over:
        s.request[q, Request.STATE] = ANSWERING
        return True
    send(s, r, q, end)
    return False


@compiled
def finish(s: State, q: int, end: float) -> None:
    """Record that a request is complete; in a closed loop its client sends the next one.

    In a pipeline a short step may be over before the long one that made the first token has left it.
    """
    end = max(end, s.time[q, Time.FIRST])
    s.time[q, Time.LAST] = end
    s.request[q, Request.STATE] = DONE
    s.tally[Count.DONE] += 1
    if s.tally[Count.CLIENTS] > 0 and s.tally[Count.COME] < len(s.request):
        following = s.tally[Count.COME]
        s.tally[Count.COME] += 1
        s.arrival_s[following] = end
        schedule(s, end, COMES, following)


@compiled
def send_layers(s: State, r: int, now: float) -> None:
    """Send the layers of prompts whose prefill ends in this step, one after the other, during it."""
    end = s.clock[r, Clock.END] + lag_s(s, r, 1, s.clock[r, Clock.END])
    for i in range(s.replica[r, Replica.RUNNING]):
        q = s.running[r, i]
        begun = s.request[q, Request.BEGUN]
        ends = s.request[q, Request.READ] + s.request[q, Request.PIECE] == s.request[q, Request.TARGET]
        over = s.request[q, Request.STEPS] + begun >= s.request[q, Request.TOTAL]
        if s.request[q, Request.PIECE] > 0 and ends and not over:
            tokens = known_tokens(s, q) + s.number[Number.ACCEPTED] * begun
            _begin_way(s, r, q, tokens, end, now)


@compiled
def send(s: State, r: int, q: int, end: float) -> None:
    """Send a cache, unless its layers are being sent already; its pages here are in use until it has arrived."""
    if s.request[q, Request.BOUND] == 0:
        _begin_way(s, r, q, known_tokens(s, q), end, s.clock[r, Clock.END])
    s.request[q, Request.STATE] = SENT
    leave(s, r, q)


@compiled
def _begin_way(s: State, r: int, q: int, tokens: float, end: float, now: float) -> None:
    """Choose a decode replica for a prompt that is prefilled at ``end``, and start the transfer of its cache."""
    to = choose(s, 1, q, r, end, now)
    s.request[q, Request.SOURCE] = r
    s.request[q, Request.REPLICA] = to
    s.request[q, Request.SOURCE_EPOCH] = s.replica[r, Replica.EPOCH]
    s.request[q, Request.EPOCH] = s.replica[to, Replica.EPOCH]
    s.request[q, Request.BOUND] = 1
    s.clock[to, Clock.LOAD] += tokens
    if has_fabric(s):
        starts = end
        if (
            s.request[q, Request.STATE] == READING
            and s.tally[Count.LAYERS] > 1
            and now < s.clock[r, Clock.END]
        ):
            starts = now + (end - now) / s.tally[Count.LAYERS]
        begin_flow(s, q, s.number[Number.CACHE_BYTES] * tokens, starts, end, now)
    else:
        ready = sent_at(s, r, to, q, end)
        s.clock[r, Clock.SENDING] = s.clock[to, Clock.RECEIVING] = ready - s.setup_s[r, to]
        schedule(s, ready, TRANSFERRED, q)
