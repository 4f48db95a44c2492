"""What can be wrong with a gradient: guesses, one kind in each file."""
