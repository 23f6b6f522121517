"""A number that makes no sense is refused at the door, whatever the verb."""

import pytest

from tests.frontends.cli.conftest import Topoopt

NINES = "9" * 6000


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("topology", "--servers", "99999999"), "--servers: expected an integer <= 1000000, got 99999999"),
        (("topology", "--servers", NINES), '--servers: expected an integer, got "9999'),
        (("plan", "dlrm", "--budget", str(2**64)), "--budget: expected an integer <= 100000000, got 1844"),
        (("plan", "dlrm", "--seed", str(2**64)), "--seed: expected an integer <= 9007199254740992, got"),
        (
            ("cluster", "run", "--generate", "--horizon", "1e308d"),
            'horizon: expected a time of at most 1000000000000 s, got "1e308d"',
        ),
        (
            ("plan", "dlrm", "--latency", "1e9s"),
            '--latency: expected a time of at most 1000 s, got "1e9s"',
        ),
        (
            ("plan", "dlrm", "--bandwidth", "1e400Gbps"),
            'bandwidth: larger than anything there is, got "1e400Gbps"',
        ),
        (("plan", "dlrm", "--bandwidth", "1e-300bps"), "bandwidth: expected at least 1 bps"),
        (("cluster", "run", "--generate", "--load", "nan"), "--load: expected a finite number, got nan"),
        (("cost", "--pue", "inf"), "--pue: expected a finite number, got inf"),
        (
            ("llm", "search", "llama3-8b", "--accelerators", "64", "--max-vpp", str(10**18)),
            "--max-vpp: expected",
        ),
        (("models", "\udcff"), 'word 2: "\\udcff" is not UTF-8 text'),
    ],
    ids=lambda value: value[:30] if isinstance(value, str) else "",
)
def test_a_number_that_makes_no_sense(topoopt: Topoopt, words: tuple[str, ...], message: str) -> None:
    ran = topoopt(*words)
    assert (ran.code, ran.out) == (2, "")
    assert message in ran.err
    assert len(ran.err) < 400
