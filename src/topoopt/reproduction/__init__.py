"""The papers' figures as code: rows, published values beside them, charts."""

from topoopt.reproduction.figure import Comparison as Comparison
from topoopt.reproduction.figure import Figure as Figure
from topoopt.reproduction.figure import Progress as Progress
from topoopt.reproduction.figure import Row as Row
from topoopt.reproduction.figure import Study as Study
from topoopt.reproduction.figure import StudySettings as StudySettings
from topoopt.reproduction.studies import STUDIES as STUDIES
from topoopt.reproduction.studies import StudyEntry as StudyEntry
from topoopt.reproduction.studies import find_study as find_study
