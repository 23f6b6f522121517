"""What a job takes at least on a network, known before anything is planned; so that few networks are.

For models of operators it is a bound. For transformers it is their closed form on one switch less a margin, which is no
proof: on 36 networks each, no plan of Llama 3 8B on 16 servers of 8 H100 took less than 1.025 of the closed form, none
of Llama 3 70B on 32 less than 1.028, none of Mixtral 8x7B on 16 less than 0.974. Whoever wants the proof leaves it out,
and has every network planned.
"""

from dataclasses import dataclass, field, replace

from topoopt.choice.machines import Machines
from topoopt.choice.mix import JobShare
from topoopt.choice.network import Network
from topoopt.job import JobRequest, requested_job
from topoopt.search import closed_form_s, computing_bound_s, is_transformer

MARGIN = 0.9
"""Of the closed form of a transformer."""


@dataclass(frozen=True, slots=True)
class LeastTimes:
    """Least times of jobs on machines, each worked out once.

    Attributes
    ----------
    estimates : bool
        Whether the closed form of a transformer counts; else nothing is known of it before it is planned.
    known_s : mapping
        By job and bandwidth of a server; 0 of what does not depend on that.
    """

    machines: Machines
    estimates: bool = True
    known_s: dict[tuple[JobShare, float], float] = field(default_factory=dict)

    def __call__(self, job: JobShare, network: Network) -> float:
        """Return the least time in seconds; of a transformer it depends on the bandwidth of a server."""
        if (job, 0.0) in self.known_s:
            return self.known_s[job, 0.0]
        key = job, network.server_bandwidth_bps
        if key not in self.known_s:
            request = self.machines.request(job, network)
            if is_transformer(request) and self.estimates:
                self.known_s[key] = _transformer_s(request)
            else:
                self.known_s[job, 0.0] = 0.0 if is_transformer(request) else _operators_s(request)
                return self.known_s[job, 0.0]
        return self.known_s[key]


def _transformer_s(request: JobRequest) -> float:
    words = {word: value for word, value in request.training.items() if word != "accelerators"}
    return MARGIN * closed_form_s(replace(request, training=words, search={}))


def _operators_s(request: JobRequest) -> float:
    return computing_bound_s(requested_job(replace(request, search={})))
