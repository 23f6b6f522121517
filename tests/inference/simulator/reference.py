"""A simulator of serving step by step, as plain as it can be: the oracle of the compiled one, which skips over steps.

Every step of every replica is an event; nothing goes by together, and everything is counted anew from the requests.
"""

from collections import OrderedDict, deque
from dataclasses import dataclass, field
from math import ceil, inf
from typing import Any

import numpy as np

from topoopt.inference.requests import Requests
from topoopt.inference.simulator.fleet import Fleet, Replicas

TIE = 1.0 + 1e-12
"""Times within which shares, or ends, are one."""


@dataclass(eq=False)
class Asked:
    number: int
    input: int
    output: int
    blocks: tuple[int, ...]
    came: float = -1.0
    steps: int = 0
    target: int = 0
    read: int = 0
    piece: int = 0
    pages: int = 0
    shared: int = 0
    begun: bool = False
    answering: bool = False
    preempted: int = 0
    begin: float = -1.0
    first: float = -1.0
    last: float = -1.0


@dataclass(eq=False)
class Sent:
    """A cache on its way over links."""

    asked: Asked
    source: "Server"
    to: "Server"
    links: dict[int, float]
    left: float
    alone: float
    reading: float
    starts: float
    lifts: float
    rate: float = 0.0
    ends: float = inf

    def ceiling(self, now: float) -> float:
        return min(self.alone, self.reading) if self.lifts > now else self.alone


class Links:
    """Links that flows share: all rates rise together, until a link is full or a flow at its ceiling; and again."""

    def __init__(self, capacity: list[float]) -> None:
        self.whole, self.capacity = capacity, list(capacity)
        self.down = [0] * len(capacity)
        self.flows: list[Sent] = []
        self.clock = 0.0
        self.next = inf
        self.changed = False

    def until(self, now: float) -> None:
        for flow in self.flows if now > self.clock else []:
            flow.left = max(flow.left - flow.rate * (now - self.clock), 0.0)
        self.clock = now

    def share(self, now: float) -> None:
        self.until(now)
        self.changed = False
        rising = [flow for flow in self.flows if flow.starts <= now]
        left, slope = list(self.capacity), [0.0] * len(self.capacity)
        for flow in self.flows:
            flow.rate = 0.0
        for flow in rising:
            for link, share in flow.links.items():
                slope[link] += share
        level = 0.0
        while rising:
            most = {
                flow: min([flow.ceiling(now), *(left[m] / slope[m] for m in flow.links)]) for flow in rising
            }
            level = max(level, min(most.values()))
            for flow in [flow for flow in rising if most[flow] <= level * TIE]:
                rising.remove(flow)
                flow.rate = level
                for link, share in flow.links.items():
                    left[link] -= share * level
                    slope[link] -= share
        for m, whole in enumerate(self.capacity):  # never more than a link carries
            used = sum(flow.rate * flow.links.get(m, 0.0) for flow in self.flows)
            assert used <= whole * (1 + 1e-9)
        self.next = inf
        for flow in self.flows:
            if flow.starts > now:
                self.next = min(self.next, flow.starts)
                continue
            flow.ends = now + flow.left / flow.rate if flow.rate else inf
            self.next = min(self.next, flow.ends, flow.lifts if flow.lifts > now else inf)

    def fullest_s(self, links: dict[int, float], size: float) -> list[float]:
        found = []
        for m, share in links.items():
            own = share * size
            together = own
            for flow in self.flows:
                if m in flow.links:
                    together += min(flow.links[m] * flow.left, own)
            found.append(together / self.capacity[m] if self.capacity[m] else inf)
        return found


@dataclass(eq=False)
class Server:
    kind: Replicas
    pool: int
    queue: deque[Asked] = field(default_factory=deque)
    running: list[Asked] = field(default_factory=list)
    sending: list[Asked] = field(default_factory=list)
    awaited: dict[Asked, int] = field(default_factory=dict)  # tokens that will come
    blocks: OrderedDict[int, int] = field(default_factory=OrderedDict)  # users; those without in order of use
    end: float = inf
    began: float = 0.0
    lag: float = 0.0
    answered: int = 0
    up: bool = True
    failed: int = 0
    look: bool = False
    sends_until: float = 0.0
    receives_until: float = 0.0


class Reference:
    def __init__(self, fleet: Fleet, requests: Requests) -> None:
        self.fleet, self.page = fleet, fleet.settings.page_tokens
        self.block_tokens = requests.block_tokens
        self.block_pages = self.block_tokens // self.page
        self.servers = (
            [Server(fleet.prefill, 0) for _ in range(fleet.prefill.pool.replicas)] if fleet.prefill else []
        )
        self.servers += [
            Server(fleet.decode, int(bool(self.servers))) for _ in range(fleet.decode.pool.replicas)
        ]
        names = requests.blocks.tolist() if fleet.settings.prefix_cache else []
        first = requests.block_first.tolist()
        self.asked = [
            Asked(i, int(a), int(b), tuple(names[first[i] : first[i + 1]]))
            for i, (a, b) in enumerate(zip(requests.input_tokens, requests.output_tokens, strict=True))
        ]
        self.clients, self.turn = requests.clients, [0, 0]
        now = min(self.clients, len(self.asked)) if self.clients else len(self.asked)
        self.coming = deque((float(requests.arrival_s[q.number]), q) for q in self.asked[:now])
        self.later = deque(self.asked[now:])
        self.events: list[tuple[float, int, int, Any]] = []
        self.most_used = 0
        way = fleet.transfer
        self.links = (
            Links(way.routes.capacity_bytes_per_s.tolist())
            if way is not None and way.routes is not None
            else None
        )
        for outage in fleet.outages:
            for link in outage.links:
                self.events.append((outage.begin_s, 2, -1 - link, 1))
                self.events.append((outage.end_s, 2, -1 - link, -1))
        for failure in fleet.failures:
            self.events.append((failure.begin_s, 2, failure.replica, "down"))
            if failure.end_s < inf:
                self.events.append((failure.end_s, 2, failure.replica, "up"))

    def run(self) -> "Reference":
        while any(q.last < 0 for q in self.asked):
            times = [self.coming[0][0]] if self.coming else []
            times += [self.links.next] if self.links else []
            now = min(*times, *(s.end for s in self.servers), *(e[0] for e in self.events), inf)
            assert now < inf
            while self.coming and self.coming[0][0] == now:
                self.come(self.coming.popleft()[1], now)
            self.handle(now)
            if self.links and self.links.next <= now:
                self.end_sent(self.links, now)
            for s in self.servers:
                if s.end == now:
                    self.end_step(s, now)
            self.handle(now)
            for s in self.servers:
                if s.look:
                    self.begin_step(s, now)
            if self.links and self.links.changed:
                self.links.share(now)
        return self

    def handle(self, now: float) -> None:
        while due := sorted((e for e in self.events if e[0] == now), key=lambda e: e[:3]):
            self.events.remove(due[0])
            _, _, which, what = due[0]
            if what == "comes":
                self.come(self.asked[which], now)
            elif what == "up":
                self.servers[which].up = self.servers[which].look = True
            elif which < 0:
                self.change_link(-1 - which, what, now)
            elif what == "down":
                self.fail(self.servers[which], now)
            else:
                source, to, sent, awaited = what
                self.arrive(self.asked[which], source, to, sent, awaited, now)

    # pages
    def pages(self, tokens: int) -> int:
        return ceil(tokens / self.page)

    def cached_tokens(self, q: Asked, steps: int) -> int:
        return q.input + min(steps, q.output - 1)

    def used(self, s: Server) -> int:
        own = sum(q.pages for q in s.running + s.sending)
        return own + self.block_pages * sum(users > 0 for users in s.blocks.values())

    def idle(self, s: Server) -> int:
        return self.block_pages * sum(users == 0 for users in s.blocks.values())

    def take(self, s: Server, q: Asked, pages: int) -> None:
        q.pages += pages
        while self.used(s) + self.idle(s) > s.kind.pages:
            del s.blocks[next(block for block, users in s.blocks.items() if users == 0)]
        self.most_used = max(self.most_used, self.used(s))

    def matched(self, s: Server, q: Asked) -> int:
        found = 0
        while found < min(len(q.blocks), (q.input - 1) // self.block_tokens) and q.blocks[found] in s.blocks:
            found += 1
        return found

    def give_back(self, s: Server, q: Asked) -> None:
        q.pages = 0
        for block in reversed(q.blocks[: q.shared]):
            s.blocks[block] -= 1
            if s.blocks[block] == 0:
                s.blocks.move_to_end(block)
        q.shared = 0

    # who is asked
    def load(self, s: Server) -> int:
        return sum(q.input + q.steps for q in [*s.running, *s.queue]) + sum(s.awaited.values())

    def unread(self, s: Server) -> int:
        return sum(q.target - q.read for q in [*s.running, *s.queue])

    def choose(self, pool: int, q: Asked, source: Server | None, end: float, now: float) -> Server:
        mine = [s for s in self.servers if s.pool == pool]
        allowed = self.fleet.transfer.allowed if self.fleet.transfer else None
        if source is not None and allowed is not None:
            row = allowed[self.servers.index(source)]
            may = [s for s in mine if row[self.servers.index(s)]]
            mine = [s for s in may if s.up] or [s for s in mine if s.up] or may or mine
        up = [s for s in mine if s.up] or mine
        router = self.fleet.router
        if router == "round-robin":
            at = self.servers.index
            best = min(up, key=lambda s: (at(s) - self.turn[pool]) % len(self.servers))
            self.turn[pool] = at(best) + 1
            return best
        if router == "prefix-aware" and pool == 0:
            return min(
                up, key=lambda s: (self.unread(s) - self.matched(s, q) * self.block_tokens, self.load(s))
            )
        if router == "network-aware" and pool == 1:
            room = [s for s in up if self.load(s) + q.input + q.steps <= s.kind.pages * self.page]
            if room:
                return min(room, key=lambda s: (self.there_at(source, s, q, end, now), self.load(s)))
        return min(up, key=self.load)

    def there_at(self, source: Any, s: Server, q: Asked, end: float, now: float) -> float:
        if self.links is None:
            return self.sent_at(source, s, q, end)
        way, a, b = self.fleet.transfer, self.servers.index(source), self.servers.index(s)
        assert way is not None
        self.links.until(now)
        size = way.cache_bytes_per_token * (q.input + q.steps)
        longest = max([size / way.bytes_per_s[a, b], *self.links.fullest_s(self.way(a, b), size)])
        ready = end + longest
        if way.layers > 1:
            ready = max(now + (end - now) / way.layers + longest, end + longest / way.layers)
        return float(ready + way.setup_s[a, b])

    def way(self, a: int, b: int) -> dict[int, float]:
        """Return the bytes on each link for one that is sent."""
        assert self.fleet.transfer is not None
        routes, row = self.fleet.transfer.routes, a * len(self.servers) + b
        assert routes is not None
        here = slice(int(routes.pair_first[row]), int(routes.pair_first[row + 1]))
        return dict(zip(routes.link[here].tolist(), routes.share[here].tolist(), strict=True))

    def send_over_links(self, s: Server, q: Asked, tokens: int, end: float, now: float) -> None:
        """Let a cache cross links: all of it at ``end``, or layer by layer before that."""
        way, links = self.fleet.transfer, self.links
        assert way is not None
        assert links is not None
        to = self.choose(1, q, s, end, now)
        a, b = self.servers.index(s), self.servers.index(to)
        starts = now + (end - now) / way.layers if now < s.end < inf else end
        size = way.cache_bytes_per_token * tokens
        reading = size * ((way.layers - 1) / way.layers) / (end - starts) if end > starts else inf
        alone = float(way.bytes_per_s[a, b])
        links.until(now)
        links.flows.append(Sent(q, s, to, self.way(a, b), size, alone, reading, starts, end))
        links.changed = True
        to.awaited[q] = tokens

    def end_sent(self, links: Links, now: float) -> None:
        way = self.fleet.transfer
        assert way is not None
        links.until(now)
        links.changed = True
        for flow in [flow for flow in links.flows if flow.ends <= now * TIE]:
            links.flows.remove(flow)
            setup = float(way.setup_s[self.servers.index(flow.source), self.servers.index(flow.to)])
            self.events.append(
                (
                    now + setup,
                    1,
                    flow.asked.number,
                    (flow.source, flow.to, flow.source.failed, flow.to.failed),
                )
            )

    def change_link(self, link: int, more: int, now: float) -> None:
        assert self.links is not None
        self.links.until(now)
        self.links.changed = True
        self.links.down[link] += more
        self.links.capacity[link] = 0.0 if self.links.down[link] else self.links.whole[link]

    def sent_at(self, source: Any, s: Server, q: Asked, end: float) -> float:
        way, a, b = self.fleet.transfer, self.servers.index(source), self.servers.index(s)
        assert way is not None
        seconds = way.cache_bytes_per_token * (q.input + q.steps) / way.bytes_per_s[a, b]
        left = seconds
        if way.layers > 1:
            left = max(seconds / way.layers, seconds - (end - source.began) * ((way.layers - 1) / way.layers))
        there: float = max(end + left, source.sends_until + seconds, s.receives_until + seconds) + float(
            way.setup_s[a, b]
        )
        return there

    def come(self, q: Asked, now: float) -> None:
        q.came = now if q.came < 0 else q.came
        q.target, q.read, q.answering = (q.input + q.steps + 1 if q.begun else q.input), 0, False
        self.join(self.choose(0, q, None, now, now), q)

    def join(self, s: Server, q: Asked) -> None:
        s.queue.append(q)
        s.look = True

    # steps
    def begin_step(self, s: Server, now: float) -> None:
        s.look = False
        if s.end < inf or not s.up:
            return
        chunked, pool = self.fleet.mode == "chunked", s.kind.pool
        lost = self.secure(s) if chunked else 0
        decodes = [q for q in s.running if q.answering] if chunked else []
        left = pool.token_budget - len(decodes)
        for q in s.running:
            if not q.answering:
                q.piece = max(min(q.target - q.read, left), 0)
                left -= q.piece
        if not lost:
            self.admit(s, left, now)
        prompts = [q for q in s.running if q.piece]
        if not chunked and not prompts:
            self.secure(s)
            decodes = [q for q in s.running if q.answering]
        if decodes or prompts:
            self.time_step(s, decodes, prompts, now)

    def time_step(self, s: Server, decodes: list[Asked], prompts: list[Asked], now: float) -> None:
        table = s.kind.table
        apart = self.fleet.mode == "disaggregated" and s.pool == 0
        parts = 1 if apart else table.stages
        tokens = (len(decodes) + sum(q.piece for q in prompts)) / parts
        sampled = len(decodes) + sum(q.read + q.piece == q.target for q in prompts)
        seconds = np.interp(tokens, table.tokens, table.base_s if decodes else table.prefill_base_s)
        seconds += np.interp(sampled / parts, table.tokens, table.head_s) if sampled else 0.0
        seconds += table.prefill_s_per_pair / parts * sum(q.piece * (q.read + q.piece / 2) for q in prompts)
        seconds += table.decode_s_per_token / parts * sum(q.input + q.steps for q in decodes)
        s.began, s.answered = now, len(decodes)
        s.lag = seconds * (1 - 1 / table.stages)
        if apart:
            seconds /= table.stages
        s.end = float(now + seconds)
        layers = self.fleet.transfer.layers if self.fleet.transfer else 1
        if apart and self.links and layers > 1:
            for q in prompts:
                if q.read + q.piece == q.target and q.steps + q.begun < q.output - 1:
                    self.send_over_links(s, q, q.input + q.steps + q.begun, s.end + s.lag, now)

    def secure(self, s: Server) -> int:
        lost, i = 0, 0
        while i < len(s.running):
            q = s.running[i]
            i += 1
            if not q.answering:
                continue
            held = q.pages + q.shared * self.block_pages
            more = max(self.pages(self.cached_tokens(q, q.steps + 1)) - held, 0)
            while self.used(s) + more > s.kind.pages:
                youngest = s.running.pop()
                self.give_back(s, youngest)
                youngest.target = youngest.input + youngest.steps + 1 if youngest.begun else youngest.input
                youngest.read, youngest.answering, youngest.preempted = 0, False, youngest.preempted + 1
                s.queue.appendleft(youngest)
                lost += 1
                if youngest is q:
                    return lost
            self.take(s, q, more)
        return lost

    def admit(self, s: Server, left: int, now: float) -> None:
        while s.queue and len(s.running) < s.kind.pool.max_batch:
            q = s.queue[0]
            unread = q.target - q.read
            if unread and left <= 0:
                return
            hit = self.matched(s, q) if unread else 0
            need = self.pages(q.target) - hit * self.block_pages
            idle = sum(s.blocks[block] == 0 for block in q.blocks[:hit]) * self.block_pages
            if self.used(s) + idle + need + len(s.running) > s.kind.pages:
                return
            s.queue.popleft()
            s.running.append(q)
            for block in q.blocks[:hit]:
                s.blocks[block] += 1
            q.shared, q.pages = hit, 0
            self.take(s, q, need)
            if not unread:
                q.answering = True
                q.first = now if q.first < 0 else q.first
                continue
            q.read = hit * self.block_tokens
            q.begin = now if q.begin < 0 else q.begin
            q.piece = min(q.target - q.read, left)
            left -= q.piece

    def end_step(self, s: Server, now: float) -> None:
        running, s.running, s.end, s.look = s.running, [], inf, True
        for place, q in enumerate(running):
            keeps = True
            if q.answering:
                q.steps += 1 if s.answered else 0
                keeps = q.steps < q.output - 1
                if not keeps:
                    self.give_back(s, q)
                    self.finish(q, now + s.lag)
            elif q.piece:
                q.read, q.piece = q.read + q.piece, 0
                if q.read == q.target:
                    s.running += running[place:]  # what it shares may be theirs
                    keeps = self.end_reading(s, q, now)
                    del s.running[len(s.running) - len(running) + place :]
            if keeps:
                s.running.append(q)

    def end_reading(self, s: Server, q: Asked, now: float) -> bool:
        for block in q.blocks[q.shared :]:
            s.blocks[block] = s.blocks.get(block, 0) + 1
            q.pages -= self.block_pages
            q.shared += 1
        q.steps += q.begun
        q.begun = True
        end, over = now + s.lag, q.steps >= q.output - 1
        hands_over = self.fleet.mode == "disaggregated" and s.pool == 0
        if (over or not hands_over) and q.first < 0:
            q.first = end
        if over:
            self.give_back(s, q)
            self.finish(q, end)
            return False
        if not hands_over:
            q.answering = True
            return True
        s.sending.append(q)
        if self.links:
            if not any(flow.asked is q for flow in self.links.flows):
                self.send_over_links(s, q, q.input + q.steps, end, now)
            return False
        to = self.choose(1, q, s, end, now)
        ready = self.sent_at(s, to, q, end)
        way = self.fleet.transfer
        assert way is not None
        s.sends_until = to.receives_until = ready - way.setup_s[self.servers.index(s), self.servers.index(to)]
        to.awaited[q] = q.input + q.steps
        self.events.append((ready, 1, q.number, (s, to, s.failed, to.failed)))
        return False

    def arrive(self, q: Asked, source: Server, to: Server, sent: int, awaited: int, now: float) -> None:
        """Let a cache arrive that was sent before the source, and the end, had failed more often."""
        del to.awaited[q]
        if source.failed == sent:
            self.give_back(source, q)
            source.sending.remove(q)
            source.look = True
        else:
            q.pages = q.shared = 0
        if source.failed == sent and to.failed == awaited:
            q.target = q.read = self.cached_tokens(q, q.steps)
            self.join(to, q)
        else:
            self.come(q, now)

    def finish(self, q: Asked, now: float) -> None:
        q.last = now = max(now, q.first)
        if self.later:
            self.events.append((now, 0, self.later.popleft().number, "comes"))

    def fail(self, s: Server, now: float) -> None:
        if not s.up:
            return
        s.up, s.end, s.failed = False, inf, s.failed + 1
        s.sending, moved = [], [*s.running, *s.queue]
        for flow in [flow for flow in self.links.flows if s in (flow.source, flow.to)] if self.links else []:
            assert self.links is not None
            self.links.until(now)
            self.links.flows.remove(flow)
            self.links.changed = True
            if flow.asked in flow.source.running:
                del flow.to.awaited[flow.asked]
            else:
                failed = [one.failed - (one is s) for one in (flow.source, flow.to)]
                self.arrive(flow.asked, flow.source, flow.to, failed[0], failed[1], now)
        s.blocks = OrderedDict()
        for q in moved:
            q.piece = q.pages = q.shared = 0
        for q in moved:
            (s.running if q in s.running else s.queue).remove(q)
            self.come(q, now)
