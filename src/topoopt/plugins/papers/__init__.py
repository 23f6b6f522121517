"""The papers' figures as code: rows, published values beside them, charts."""

from typing import TYPE_CHECKING

from topoopt.base.lazy_face import hand_on_lazily

if TYPE_CHECKING:  # the list of verbs needs none of it
    from topoopt.plugins.papers.figure import Comparison as Comparison
    from topoopt.plugins.papers.figure import Figure as Figure
    from topoopt.plugins.papers.figure import Row as Row
    from topoopt.plugins.papers.figure import Study as Study
    from topoopt.plugins.papers.figure import StudySettings as StudySettings
    from topoopt.plugins.papers.studies import STUDIES as STUDIES
    from topoopt.plugins.papers.studies import StudyEntry as StudyEntry
    from topoopt.plugins.papers.studies import compared as compared
    from topoopt.plugins.papers.studies import figure_page as figure_page
    from topoopt.plugins.papers.studies import find_study as find_study
    from topoopt.plugins.papers.studies import number as number
    from topoopt.plugins.papers.studies import overview_page as overview_page
    from topoopt.plugins.papers.studies import page as page
    from topoopt.plugins.papers.studies import published as published
    from topoopt.plugins.papers.studies import reproduce as reproduce
    from topoopt.plugins.papers.studies import reproducible as reproducible
    from topoopt.plugins.papers.studies import section as section
    from topoopt.plugins.papers.studies import summary as summary
    from topoopt.plugins.papers.studies import tolerance as tolerance
    from topoopt.plugins.papers.studies import verdict as verdict
    from topoopt.plugins.papers.studies import write_figures_page as write_figures_page

__all__ = hand_on_lazily(__name__)  # noqa: PLE0605 - the names above
