"""The subcommands of `fluidcore gradcheck`: a module, and a function that adds it, for each."""
