"""Numerical derivatives of a target, with error bars, and the noise that limits them."""
