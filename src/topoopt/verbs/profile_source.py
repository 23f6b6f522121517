"""What a job sends in an iteration, however it is given: as the noun, or as the name of a job file."""

import os
from collections.abc import Sequence

from topoopt.errors import InvalidInput
from topoopt.interleave import CommunicationProfile, read_profile

ProfileSource = CommunicationProfile | str | os.PathLike[str]
"""A profile, or the file of one."""


def profile_of_source(source: ProfileSource) -> CommunicationProfile:
    """Return the profile.

    Raises
    ------
    InvalidInput
        If the file is no job file; with the file, the key or the job, and what is wrong.
    """
    if isinstance(source, CommunicationProfile):
        return source
    path = os.fspath(source)
    if not path:
        raise InvalidInput("JOB: expected a file name, got nothing")
    return read_profile(path)


def profiles_of_sources(sources: Sequence[ProfileSource]) -> tuple[CommunicationProfile, ...]:
    """Return the profiles of several jobs; errors as :func:`profile_of_source`."""
    return tuple(profile_of_source(source) for source in sources)
