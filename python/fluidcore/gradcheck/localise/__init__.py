"""Finds the operator that is to blame for a wrong gradient of a program."""
