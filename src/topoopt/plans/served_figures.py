"""The noun ServedFigures: what users of a served model meet on the plan's network and on others."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ServedOnFabric:
    """A fabric with the deployment that is best on it, simulated request by request.

    Attributes
    ----------
    attainment : float
        Share of the requests that meet both objectives.
    goodput_per_s : float
        Requests a second at which enough do.
    ttft_mean_s, ttft_p50_s, ttft_p90_s, ttft_p99_s : float or None
        To the first token; None where there is none.
    tpot_mean_s, tpot_p50_s, tpot_p90_s, tpot_p99_s : float or None
        Of each token after it.
    """

    fabric: str
    deployment: str
    wiring: str
    pairing: str | None
    goodput_per_s: float
    attainment: float
    ttft_mean_s: float | None
    ttft_p50_s: float | None
    ttft_p90_s: float | None
    ttft_p99_s: float | None
    tpot_mean_s: float | None
    tpot_p50_s: float | None
    tpot_p90_s: float | None
    tpot_p99_s: float | None
    output_tokens_per_s: float
    usd_per_million_tokens: float | None
    network_usd: float | None
    bandwidth_tax: float
    busiest_link: float
    binds: str
    binds_because: str


@dataclass(frozen=True, slots=True)
class ServedFigures:
    """What a plan of a served model is worth to its users.

    Attributes
    ----------
    requests_per_s : float
        Of all figures but the goodput: the rate asked for, or the goodput of the plan.
    slo_ttft_s, slo_tpot_s, slo_share : float
        Objectives, and the share of the requests that has to meet both.
    winner : str
        The fabric that meets them for the least money.
    network_matters : bool
        Whether a first token or a token is 5 % longer on any fabric than on a network that takes no time.
    fabrics : tuple of ServedOnFabric
        That of the plan first.
    """

    model: str
    requests_per_s: float
    slo_ttft_s: float
    slo_tpot_s: float
    slo_share: float
    winner: str
    network_matters: bool
    fabrics: tuple[ServedOnFabric, ...]
