"""Transformers on accelerators, in closed form: step time, memory, traffic and the best way of splitting them."""

from typing import TYPE_CHECKING

from topoopt.lazy_face import hand_on_lazily

if TYPE_CHECKING:  # an estimate needs no pictures
    from topoopt.llm import read_calibration as read_calibration
    from topoopt.llm import write_calibration as write_calibration
    from topoopt.report import draw_rank_traffic as draw_rank_traffic
    from topoopt.report import picture_format as picture_format
    from topoopt.verbs.llm.calibrate import calibrate as calibrate
    from topoopt.verbs.llm.estimate import estimate as estimate
    from topoopt.verbs.llm.estimate import estimate_runs as estimate_runs
    from topoopt.verbs.llm.search import search as search
    from topoopt.verbs.llm.traffic import traffic as traffic

__all__ = hand_on_lazily(__name__)  # noqa: PLE0605 - the names above
