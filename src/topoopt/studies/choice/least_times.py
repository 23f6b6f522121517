"""What a job takes at least on a network, known before that is planned; so that few networks are.

For models of operators there is a bound that needs no plan: their computing. All else are estimates with a margin that
was measured, and no proof: of transformers the closed form of the fastest configuration on one switch, and of all jobs
the time on the ideal switch of the same ports, once that is planned. Another network is hardly ever faster than that:
it lacks the latency of a switch, and a search has luck. ``benchmarks/choice_margins.py`` plans whole grids and
compares. Whoever wants the proof has every network planned.
"""

from dataclasses import dataclass, field, replace

from topoopt.jobs import JobRequest
from topoopt.search import closed_form_s, computing_bound_s, is_transformer, job_of
from topoopt.studies.choice.machines import Machines
from topoopt.studies.choice.mix import JobShare
from topoopt.studies.choice.network import Network

OF_CLOSED_FORM = 0.9
"""Of the closed form of a transformer; the least of two whole grids was 0.974."""
OF_SWITCH = 0.97
"""Of the time of a transformer on the ideal switch of the same ports: every layout is tried on both. The least of two
whole grids was 0.984, Mixtral 8x7B on 16 servers."""
OF_SWITCH_SEARCHED = 0.9
"""The same of a model of operators, whose strategy is searched for each network anew; the least of eight grids was
0.959, DLRM on 32 servers."""


@dataclass(frozen=True, slots=True)
class LeastTimes:
    """Least times of jobs on machines, each worked out once.

    Attributes
    ----------
    known_s : mapping
        By job and bandwidth of a server; 0 of what does not depend on that.
    transformers : mapping
        Whether a job is one.
    """

    machines: Machines
    known_s: dict[tuple[JobShare, float], float] = field(default_factory=dict)
    transformers: dict[JobShare, bool] = field(default_factory=dict)

    def at_least_s(self, job: JobShare, network: Network) -> float:
        """Return the least time in seconds; of a transformer it depends on the bandwidth of a server."""
        transformer = self._is_transformer(job)
        key = job, network.server_bandwidth_bps if transformer else 0.0
        if key not in self.known_s:
            request = self.machines.request(job, network)
            self.known_s[key] = _transformer_s(request) if transformer else _operators_s(request)
        return self.known_s[key]

    def beside_switch_s(self, job: JobShare, switch_s: float) -> float:
        """Return the least time on the ports of an ideal switch on which the job takes so long."""
        return (OF_SWITCH if self._is_transformer(job) else OF_SWITCH_SEARCHED) * switch_s

    def _is_transformer(self, job: JobShare) -> bool:
        if job not in self.transformers:
            self.transformers[job] = is_transformer(self.machines.request(job))
        return self.transformers[job]


def _transformer_s(request: JobRequest) -> float:
    words = {word: value for word, value in request.training.items() if word != "accelerators"}
    return OF_CLOSED_FORM * closed_form_s(replace(request, training=words, search={}))


def _operators_s(request: JobRequest) -> float:
    return computing_bound_s(job_of(replace(request, search={})))
