"""The dtype under test against float64: rounding, or a fault of the kernel."""
