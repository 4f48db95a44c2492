"""Bugs planted in right gradients, to measure what checkers find: `fluidcore gradcheck mutate`."""
