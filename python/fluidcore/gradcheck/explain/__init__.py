"""What may be wrong with a wrong gradient: guesses, one kind in each file."""
