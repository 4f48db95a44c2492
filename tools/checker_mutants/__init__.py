"""The parts of tools/mutate_checker.py."""
