"""What all packages stand on: element types, and checks of what users wrote, and where."""
