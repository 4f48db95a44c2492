"""Operators and programs of fluidcore, run again and again with other values."""
