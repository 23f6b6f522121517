"""The papers' figures as code: rows, published values beside them, charts."""

from topoopt.reproduction.cells import compared as compared
from topoopt.reproduction.cells import number as number
from topoopt.reproduction.cells import published as published
from topoopt.reproduction.cells import summary as summary
from topoopt.reproduction.cells import tolerance as tolerance
from topoopt.reproduction.cells import verdict as verdict
from topoopt.reproduction.figure import Comparison as Comparison
from topoopt.reproduction.figure import Figure as Figure
from topoopt.reproduction.figure import Progress as Progress
from topoopt.reproduction.figure import Row as Row
from topoopt.reproduction.figure import Study as Study
from topoopt.reproduction.figure import StudySettings as StudySettings
from topoopt.reproduction.figure_page import figure_page as figure_page
from topoopt.reproduction.figure_page import overview_page as overview_page
from topoopt.reproduction.page import page as page
from topoopt.reproduction.page import section as section
from topoopt.reproduction.page import write_figures_page as write_figures_page
from topoopt.reproduction.studies import STUDIES as STUDIES
from topoopt.reproduction.studies import StudyEntry as StudyEntry
from topoopt.reproduction.studies import find_study as find_study
