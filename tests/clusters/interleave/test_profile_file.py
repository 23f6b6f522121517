"""Job files: what is written is read as the same profile, and what is wrong is one line with file, key or job."""

import json
from pathlib import Path

import jsonschema
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from tests.published_schemas import published
from topoopt.base.errors import InvalidInput
from topoopt.clusters.interleave import (
    CommunicationProfile,
    Phase,
    profile_to_mapping,
    read_profile,
    write_profile,
)

ROOT = Path(__file__).parents[3]


def test_milliseconds_and_gigabits_become_seconds_and_bits(tmp_path: Path) -> None:
    text = "name: a\niteration_time_ms: 255\nphases:\n- [141, 114, 45]\n- [0, 10.5, 2e1]\n"
    (tmp_path / "a.yaml").write_text(text)
    found = read_profile(tmp_path / "a.yaml")
    assert found == CommunicationProfile("a", 0.255, (Phase(0.0, 0.0105, 20e9), Phase(0.141, 0.114, 45e9)))
    (tmp_path / "a.json").write_text(json.dumps(yaml.safe_load(text.replace("2e1", "20.0"))))
    assert read_profile(tmp_path / "a.json") == found


def test_the_example_is_what_cassini_says_of_vgg16_and_follows_the_schema() -> None:
    path = ROOT / "examples" / "vgg16-job.yaml"
    profile = read_profile(path)
    assert profile.iteration_time_s == 0.255
    assert profile.phases[0].start_s == 0.141  # its Down phase lasts 141 ms from 0°
    assert profile.phases[0].end_s == pytest.approx(0.255)
    schema = published("job-profile")
    jsonschema.validate(yaml.safe_load(path.read_text()), schema)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({"name": "a", "iteration_time_ms": 1, "phases": [[1, 2]]}, schema)


@given(
    period_s=st.floats(1e-6, 1e6),
    parts=st.lists(st.floats(0.01, 1.0), min_size=2, max_size=12),
    rates_bps=st.lists(st.floats(0.0, 1e13), min_size=6, max_size=6),
)
def test_what_is_written_is_read_again(
    tmp_path_factory: pytest.TempPathFactory, period_s: float, parts: list[float], rates_bps: list[float]
) -> None:
    whole, ends = sum(parts), [sum(parts[: place + 1]) for place in range(len(parts))]
    edges_s = [0.0, *(period_s * 0.999 * end / whole for end in ends)]
    phases = tuple(
        Phase(edges_s[i], edges_s[i + 1] - edges_s[i], rate)
        for i, rate in zip(range(0, len(parts), 2), rates_bps, strict=False)
    )
    profile = CommunicationProfile('a "job" ü', period_s, phases)
    path = tmp_path_factory.mktemp("written") / "job.json"
    write_profile(path, profile)
    again = read_profile(path)
    assert again.job == profile.job
    assert again.iteration_time_s == pytest.approx(profile.iteration_time_s, rel=1e-15)
    for one, other in zip(profile.phases, again.phases, strict=True):
        assert (other.start_s, other.duration_s) == pytest.approx((one.start_s, one.duration_s), rel=1e-15)
        assert other.bandwidth_bps == pytest.approx(one.bandwidth_bps, rel=1e-15)


def test_numbers_that_people_wrote_are_written_as_they_did(tmp_path: Path) -> None:
    mapping = {"name": "a", "iteration_time_ms": 255.3, "phases": [[141.1, 114.0, 45.7], [0.1, 3.3, 0.3]]}
    (tmp_path / "a.json").write_text(json.dumps(mapping))
    again = profile_to_mapping(read_profile(tmp_path / "a.json"))
    assert again == {**mapping, "phases": [[0.1, 3.3, 0.3], [141.1, 114.0, 45.7]]}


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "job.yaml: expected a mapping of keys to values, got an empty file"),
        ("name: a\nphases: []\n", 'job.yaml: missing key "iteration_time_ms"'),
        ("name: a\niteration_time_ms: 10\nphase: []\n", 'line 3: unknown key "phase"; did you mean phases?'),
        ("name: a\niteration_time_ms: fast\nphases: []\n", "line 2: iteration_time_ms: expected a number"),
        ("name: a\niteration_time_ms: 0\nphases: []\n", "job a: iteration time 0 s"),
        (
            "name: a\niteration_time_ms: 9\nphases:\n- [0, 1]\n",
            "line 4: phases[0]: expected a phase [start_ms, duration_ms, gbps]",
        ),
        (
            "name: a\niteration_time_ms: 9\nphases:\n- [0, 1, 45Gbps]\n",
            "line 4: phases[0][2]: expected a number",
        ),
        (
            "name: a\niteration_time_ms: 9\nphases: [[-1, 1, 4]]\n",
            "job.yaml: job a: phase at -0.001 s: has to start",
        ),
        (
            "name: a\niteration_time_ms: 9\nphases: [[1, 10, 4]]\n",
            "job a: phase at 1 ms: lasts 10 ms, longer than",
        ),
        (
            "name: a\niteration_time_ms: 9\nphases: [[1, 2, 4], [2, 1, 4]]\n",
            "make phases that do not overlap",
        ),
    ],
)
def test_a_mistake_is_one_line_with_its_place(tmp_path: Path, text: str, says: str) -> None:
    path = tmp_path / "job.yaml"
    path.write_text(text)
    with pytest.raises(InvalidInput) as caught:
        read_profile(path)
    assert says in str(caught.value)
    assert str(caught.value).startswith(str(path))
    assert "\n" not in str(caught.value)


def test_yaml_may_begin_with_a_brace(tmp_path: Path) -> None:
    path = tmp_path / "job.yaml"
    path.write_text("{name: a, iteration_time_ms: 40, phases: [[0, 10, 50]]}\n")
    assert read_profile(path).phases == (Phase(0.0, 0.01, 50e9),)
