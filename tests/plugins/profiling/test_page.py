"""The page of a profile says what it is good for."""

from dataclasses import replace

from tests.plugins.profiling.made import CPU, H100, made_profile
from topoopt.plugins.profiling import subject_of_transformer
from topoopt.plugins.profiling.page import calibration_words
from topoopt.workloads.transformer import find_transformer


def test_the_profile_of_a_transformer_says_what_it_means_for_step_times() -> None:
    subject = subject_of_transformer(find_transformer("llama2-7b"))
    law, why_not = calibration_words(made_profile(subject, H100))
    assert law.startswith("large matrix products reach ")
    assert not why_not
    law, why_not = calibration_words(made_profile(subject, CPU))
    assert (law, why_not) == (
        "",
        "Test CPU is not in topoopt hardware: the times are no calibration of step times.",
    )
    _, why_not = calibration_words(made_profile(subject, replace(H100, precision="fp32")))
    assert why_not.startswith("No calibration of step times: NVIDIA H100 80GB HBM3: was measured in fp32")
