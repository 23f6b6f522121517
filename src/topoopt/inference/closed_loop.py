"""A closed loop of clients in closed form: the time per output token, to the first token, and the throughput.

By Little's law ``c = X * (TTFT + (o - 1) * TPOT)`` holds exactly for ``c`` clients that ask again as soon as they are
answered, at a throughput of ``X`` requests per second. The time per token is that of a step with all of them, and of
the prompts that are read meanwhile: each request sees ``(B - 1) / o`` of them a token.
"""

from dataclasses import dataclass

import numpy as np

from topoopt.base.arrays import Floats
from topoopt.inference.step.constants import Constants, Number
from topoopt.inference.step.law import decode_step_s, prompt_step_s
from topoopt.inference.step.replica import Replica


@dataclass(frozen=True, slots=True)
class ClosedLoop:
    """What clients of a replica see: columns (n,).

    Attributes
    ----------
    batch : requests that are answered at once
    tpot_s, ttft_s : seconds
    requests_per_s : of a replica
    """

    batch: Floats
    tpot_s: Floats
    ttft_s: Floats
    requests_per_s: Floats


def closed_loop(
    one: Replica, law: Constants, clients: Number, prompt: Number, answer: Number, held: Number
) -> ClosedLoop:
    """Return what clients of a replica see, which read prompts and answer them on the same accelerators.

    Parameters
    ----------
    held
        Requests whose caches the replica has memory for; further ones wait.
    """
    batch = np.maximum(np.minimum(clients, held), 1.0)
    step = decode_step_s(one, law, batch, prompt + answer / 2)
    each = prompt_each_s(one, law, batch, prompt)
    alone = prompt_step_s(one, law, prompt)
    tpot = step + law.interference * (batch - 1) / answer * each
    cycle = answer * tpot + alone
    load = np.minimum(batch * each / cycle, 0.95)
    waits = law.wave * (batch - 1) * each + law.queue * load * each / (2 * (1 - load))
    extra = np.maximum(clients - batch, 0.0) / batch * cycle
    ttft = alone + waits + step * (batch > 1) / 2 + extra
    return ClosedLoop(batch, tpot, ttft, clients / (ttft + np.maximum(answer - 1, 0.0) * tpot))


def prompt_each_s(one: Replica, law: Constants, batch: Number, prompt: Number) -> Floats:
    """Return the seconds of one prompt of several that are read together: one on each copy of attention."""
    beside = np.minimum(one.attention_data, batch)
    return prompt_step_s(one, law, beside * prompt, beside) / beside
