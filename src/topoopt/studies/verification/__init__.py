"""A plan or a wiring proved before anyone plugs a fiber: ports, routes, tables, rings, schedules, bytes, numbers."""

from topoopt.studies.verification.subject import Check as Check
from topoopt.studies.verification.subject import Subject as Subject
from topoopt.studies.verification.subject import subject_of_plan as subject_of_plan
from topoopt.studies.verification.subject import subject_of_wiring as subject_of_wiring
from topoopt.studies.verification.verify import CHECKS as CHECKS
from topoopt.studies.verification.verify import VerificationAnswer as VerificationAnswer
from topoopt.studies.verification.verify import unread as unread
from topoopt.studies.verification.verify import verified as verified
from topoopt.studies.verification.verify import verified_schedule as verified_schedule
