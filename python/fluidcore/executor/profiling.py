"""The profile that runs are told to fill, if there is one."""

from __future__ import annotations

from fluidcore import core

_profile: core.Profile | None = None


def set_profile(profile: core.Profile | None) -> core.Profile | None:
    """From now on runs of all threads fill `profile`; gives the one before."""
    global _profile
    before, _profile = _profile, profile
    return before


def current_profile() -> core.Profile | None:
    """What runs of all threads fill at present; None for nothing."""
    return _profile
