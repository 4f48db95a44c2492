"""Tests of fluidcore, and the laboratory that measures its gradient checker."""
