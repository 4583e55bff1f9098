"""The old place of `bers.integrations.gymnasium`."""

from bers.deprecated import warn_old
from bers.integrations.gymnasium import Recorder, Recording

__all__ = ["Recorder", "Recording"]

warn_old("bers.integrations.record", "bers.integrations.gymnasium")
