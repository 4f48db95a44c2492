"""The power of gradient checkers: bugs planted in right gradients, and how many are found.

From the root of the repository, with fluidcore installed: `python -m tests.power --help`.
"""
