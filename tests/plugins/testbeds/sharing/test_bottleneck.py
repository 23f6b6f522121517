"""One link is slower than all others, and small; what this machine cannot carry is refused."""

import pytest

from topoopt.base.errors import InvalidInput
from topoopt.plugins.testbeds import bottleneck_scale
from topoopt.plugins.testbeds.sharing import share as bottleneck
from topoopt.plugins.testbeds.sharing.share import bottleneck_layout


def test_only_the_port_to_the_receiver_is_slow() -> None:
    layout = bottleneck_layout(3, 100e6, 20_000)
    slow = [port for port in layout.senders if port.bandwidth_bps == 100e6]
    assert [(port.node, port.name) for port in slow] == [(4, "port3")]
    assert {port.bandwidth_bps for port in layout.senders} == {100e6, 400e6}
    assert (layout.servers, layout.shaping.queue_bytes, layout.shaping.mtu_bytes) == (4, 20_000, 1500)


@pytest.mark.parametrize(
    ("scale", "queue_bytes", "message"),
    [
        (1e5, 20_000, r"scale 100000: a link of 500 kb/s is too slow; use 50000 or less"),
        (500, 3000, r"queue 3 kB: must hold 4 packets of 1500 bytes; use 6 kB or more"),
        (
            10,
            20_000,
            r"scale 10: the link is 5 Gb/s, this machine carries 250 Mb/s .*; use 200 or more",
        ),
    ],
)
def test_a_link_that_cannot_be_is_refused(
    monkeypatch: pytest.MonkeyPatch, scale: float, queue_bytes: float, message: str
) -> None:
    monkeypatch.setattr(bottleneck, "carried", lambda: 12e9)
    with pytest.raises(InvalidInput, match=message):
        bottleneck_scale(50e9, scale, queue_bytes, given=True)
    assert bottleneck_scale(50e9, 500, 20_000, given=True) == 500
