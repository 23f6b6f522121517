"""Jobs that tests put on a link of 50 Gb/s."""

from topoopt.clusters.interleave import CommunicationProfile, Phase

LINK_BPS = 50e9


def on_off(
    period_ms: float, sends_ms: float, start_ms: float = 0.0, bandwidth_bps: float = LINK_BPS
) -> CommunicationProfile:
    """Return a job that sends once an iteration."""
    phase = Phase(start_ms / 1e3, sends_ms / 1e3, bandwidth_bps)
    return CommunicationProfile(f"{period_ms:g}ms", period_ms / 1e3, (phase,))


def vgg16() -> CommunicationProfile:
    """Return the VGG16 of the paper's figure: 255 ms, nothing for the first 141 ms, then 45 Gb/s."""
    return CommunicationProfile("vgg16", 0.255, (Phase(0.141, 0.114, 45e9),))
