"""Whether waiting for the next change of circuits can come to an end."""

import numpy as np

from topoopt.base.arrays import Floats
from topoopt.base.errors import Infeasible
from topoopt.routing import Fabric


def check_progress(fabric: Fabric, demand: Floats, now_s: float) -> None:
    """Refuse to wait for circuits that never come, or that live for no time that the clock can tell.

    Every change gives the pair of most demand a circuit or connects all servers, so that some bytes move in
    each live time; that such changes come, and that time passes, is all that an end takes.
    """
    rule = fabric.beat
    src, dst = np.unravel_index(int(demand.argmax()), demand.shape)
    if not np.isfinite(now_s):
        raise Infeasible(
            f"fabric {fabric.name}: {src}->{dst} waits for a circuit for ever, since none changes any more; "
            "let circuits change sooner or servers forward"
        )
    if not now_s + rule.period_s > now_s + rule.delay_s:
        raise Infeasible(
            f"fabric {fabric.name}: at {now_s:.3g} s circuits live for {rule.live_s:.3g} s, less than the clock "
            "can tell; let them live longer"
        )
