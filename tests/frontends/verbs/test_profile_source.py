"""A job that shares links may be given as a profile or as a job file."""

from pathlib import Path

import pytest

from topoopt.base.errors import InvalidInput
from topoopt.clusters.interleave import CommunicationProfile, Phase, write_profile
from topoopt.frontends.verbs.profile_source import profile_of_source, profiles_of_sources

PROFILE = CommunicationProfile("a", 0.1, (Phase(0.02, 0.03, 4e9),))


def test_a_profile_is_itself_and_a_file_is_read(tmp_path: Path) -> None:
    write_profile(tmp_path / "a.json", PROFILE)
    assert profiles_of_sources([PROFILE, tmp_path / "a.json", str(tmp_path / "a.json")]) == (PROFILE,) * 3


def test_a_file_that_is_not_there_and_no_file_at_all_are_one_line(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="no such file"):
        profile_of_source(tmp_path / "b.yaml")
    with pytest.raises(InvalidInput, match="JOB: expected a file name, got nothing"):
        profile_of_source("")
