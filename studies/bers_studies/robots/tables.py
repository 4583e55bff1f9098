"""Tables of robots with logs, from the study's journals: those of the study of agents.

Enters: a folder of journals. Leaves: Markdown.
"""

from bers_studies.agents.tables import tables

__all__ = ["tables"]
