"""Differences of a fixed step, compared by tolerances."""
