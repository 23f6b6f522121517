"""The page of any answer: one table from kinds of answers to page functions.

The table names files, so that showing one kind of answer imports nothing that only others need. Plug-ins complete it.
"""

from collections.abc import Mapping
from importlib import import_module
from types import MappingProxyType
from typing import Any

from topoopt.base import plugins
from topoopt.base.errors import InvalidInput
from topoopt.pages.page import Page

PAGES: Mapping[str, str] = MappingProxyType(
    {
        "AvailabilityAnswer": "failure_page.availability_page",
        "CalibrationFit": "measurements_page.calibration_page",
        "Choice": "choice_page.choice_page",
        "ClusterResult": "cluster_page.cluster_page",
        "CollectiveAnswer": "wiring_page.collective_page",
        "CollectiveTimes": "measurements_page.collectives_page",
        "Comparison": "comparison_page.comparison_page",
        "ConfigurationSearch": "llm_estimate_page.llm_search_page",
        "CostComparison": "cost_page.cost_page",
        "Estimate": "llm_estimate_page.llm_estimate_page",
        "FailureAnswer": "failure_page.failure_page",
        "FineTuning": "post_training_page.finetuning_page",
        "HardwareTables": "catalog_page.hardware_page",
        "Installation": "catalog_page.installation_page",
        "Interleaving": "interleaving_page.interleaving_page",
        "JobPhases": "interleaving_page.phases_page",
        "LaidTraffic": "work_page.laid_traffic_page",
        "ModelList": "catalog_page.models_page",
        "Plan": "report.plan_page",
        "PredictedRuns": "measurements_page.training_runs_page",
        "PredictedServing": "measurements_page.serving_runs_page",
        "RankTraffic": "llm_traffic_page.llm_traffic_page",
        "ResultsAnswer": "sweep_page.results_page",
        "RewiringAnswer": "failure_page.rewiring_page",
        "RlRuns": "measurements_page.rl_runs_page",
        "RlStep": "post_training_page.rl_page",
        "RingNetwork": "wiring_page.topology_page",
        "ServingAnswer": "serving_page.serving_page",
        "SharingComparison": "sharing_page.sharing_page",
        "Simulation": "simulation_page.simulation_page",
        "SweepAnswer": "sweep_page.sweep_page",
        "SweepPreview": "sweep_page.preview_page",
        "VerificationAnswer": "verification_page.verification_page",
        "WiringAnswer": "wiring_page.wiring_page",
        "WrittenReport": "report_files.written_report_page",
    }
)
"""File in this folder and function in it that return the page of every kind of answer, by the answer's class."""


def page_of(answer: Any) -> Page:
    """Return the page of an answer, for a terminal or a notebook. A page is returned as it is.

    Raises
    ------
    InvalidInput
        If it is no answer of a verb, or the plug-in that has its page cannot be imported.
    """
    if isinstance(answer, Page):
        return answer
    name, package = type(answer).__name__, type(answer).__module__.split(".")[0]
    if package == "topoopt" and name in PAGES:
        file, function = PAGES[name].split(".")
        page: Page = getattr(import_module(f"topoopt.pages.{file}"), function)(answer)
        return page
    for one in plugins.entry_points(plugins.PAGES):
        if (one.name, one.place.split(":")[0].split(".")[0]) == (name, package):  # else a namesake's
            page = one.load()(answer)
            return page
    raise InvalidInput(f"{name}: not an answer of a verb, nor the file of one")
