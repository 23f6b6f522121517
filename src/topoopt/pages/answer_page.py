"""The page of any answer: one table from the kind of answer to what describes it.

The table names files, so that showing one kind of answer imports nothing that only others need.
"""

from collections.abc import Mapping
from importlib import import_module
from types import MappingProxyType
from typing import Any

from topoopt.base.errors import InvalidInput
from topoopt.pages.page import Page

PAGES: Mapping[str, str] = MappingProxyType(
    {
        "AvailabilityAnswer": "failure_page.availability_page",
        "CalibrationFit": "measurements_page.calibration_page",
        "Choice": "choice_page.choice_page",
        "ClusterResult": "cluster_page.cluster_page",
        "CollectiveAnswer": "collective_page.collective_page",
        "Comparison": "comparison_page.comparison_page",
        "ConfigurationSearch": "llm_estimate_page.llm_search_page",
        "CostComparison": "cost_page.cost_page",
        "Estimate": "llm_estimate_page.llm_estimate_page",
        "ExportAnswer": "deployment_page.export_page",
        "ExportFormats": "deployment_page.export_formats_page",
        "FailureAnswer": "failure_page.failure_page",
        "FineTuning": "finetuning_page.finetuning_page",
        "HardwareTables": "catalog_page.hardware_page",
        "Interleaving": "interleaving_page.interleaving_page",
        "JobPhases": "interleaving_page.phases_page",
        "LaidTraffic": "traffic_page.laid_traffic_page",
        "ModelList": "catalog_page.models_page",
        "Plan": "report.plan_page",
        "PredictedRuns": "measurements_page.training_runs_page",
        "PredictedServing": "measurements_page.serving_runs_page",
        "ProfileRun": "profile_page.profile_page",
        "RankTraffic": "llm_traffic_page.llm_traffic_page",
        "ResultsAnswer": "sweep_page.results_page",
        "RewiringAnswer": "rewiring_page.rewiring_page",
        "RlRuns": "measurements_page.rl_runs_page",
        "RlStep": "rl_page.rl_page",
        "RingNetwork": "wiring_page.topology_page",
        "ServingAnswer": "serving_page.serving_page",
        "SharingComparison": "sharing_page.sharing_page",
        "Simulation": "simulation_page.simulation_page",
        "Subject": "profile_page.subject_page",
        "SweepAnswer": "sweep_page.sweep_page",
        "SweepPreview": "sweep_page.preview_page",
        "TestbedRun": "testbed_page.testbed_run_page",
        "TestbedShare": "testbed_page.testbed_share_page",
        "TestbedsAnswer": "testbed_page.testbeds_page",
        "VerificationAnswer": "deployment_page.verification_page",
        "WiringAnswer": "wiring_page.wiring_page",
        "WrittenReport": "report_files.written_report_page",
    }
)
"""By the name of every kind of answer: the file in this room and the function in it that return its page."""


def page_of(answer: Any) -> Page:
    """Return what an answer says: what a terminal shows of it, and a notebook. A page is itself.

    Raises
    ------
    InvalidInput
        If it is no answer of a verb.
    """
    if isinstance(answer, Page):
        return answer
    kind = type(answer)
    if kind.__name__ not in PAGES or not kind.__module__.startswith("topoopt."):
        raise InvalidInput(f"{kind.__name__}: not an answer of a verb, nor the file of one")
    file, function = PAGES[kind.__name__].split(".")
    page: Page = getattr(import_module(f"topoopt.pages.{file}"), function)(answer)
    return page
