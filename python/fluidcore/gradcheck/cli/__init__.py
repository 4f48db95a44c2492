"""The command `fluidcore gradcheck`: for each subcommand a module, and a function that adds it."""
