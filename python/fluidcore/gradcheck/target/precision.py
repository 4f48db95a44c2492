"""What the floating dtypes can hold."""

from __future__ import annotations

# half the distance from 1 to the next number
UNIT = {"float64": 2.0**-53, "float32": 2.0**-24, "float16": 2.0**-11, "bfloat16": 2.0**-8}
