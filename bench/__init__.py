"""The project beside its peers, on the same mathematics, weights and batches: `python -m bench`."""
