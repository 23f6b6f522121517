"""A job that is the execution traces of Chakra: what they send becomes its traffic."""

from dataclasses import replace

from topoopt.jobs import JobRequest
from topoopt.simulation import chakra_recording, is_chakra, read_chakra


def with_traces_read(request: JobRequest) -> JobRequest:
    """Return the request with what Chakra's traces send, where its traffic is such; any other as it is.

    Raises
    ------
    InvalidInput
        If a rank is missing, a file is damaged, or a node does not say what it sends.
    """
    if not request.traffic or request.described is not None or not is_chakra(request.traffic):
        return request
    return replace(request, described=chakra_recording(read_chakra(request.traffic)))
