"""The old place of `bers.integrations.gymnasium`."""

from bers.deprecated import warn_old


def __getattr__(name: str) -> object:
    if name not in ("Recorder", "Recording"):
        raise AttributeError(f"module 'bers.integrations.record' has no attribute {name!r}")
    from bers.integrations import gymnasium

    warn_old(f"bers.integrations.record.{name}", f"bers.integrations.gymnasium.{name}")
    return getattr(gymnasium, name)
