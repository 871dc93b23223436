"""`gate-report`: what each step proposed, what the gate said of it, and why."""

from skillopt_cli.ui.report.document import report_document
from skillopt_cli.ui.report.reported import Difference, Reported
from skillopt_cli.ui.report.side_by_side import side_by_side
from skillopt_cli.ui.report.story import story
from skillopt_cli.ui.report.together import apart, labels_of

__all__ = [
    "Difference",
    "Reported",
    "apart",
    "labels_of",
    "report_document",
    "side_by_side",
    "story",
]
