"""Checks a wheel's size: our own part, beside oneDNN and libgomp, must be below 12 MB.

Usage: python tools/check_wheel.py fluidcore_dl-0.1.0-cp311-cp311-linux_x86_64.whl
"""

import sys
import zipfile

LIMIT = 12_000_000  # bytes, unpacked


def main(wheel: str) -> int:
    """Prints the sizes; returns 1 when our own part is too large."""
    with zipfile.ZipFile(wheel) as archive:
        sizes = {item.filename: item.file_size for item in archive.infolist()}
    own = sum(size for name, size in sizes.items() if "dnnl" not in name and ".libs/" not in name)
    for name, size in sorted(sizes.items(), key=lambda item: -item[1])[:5]:
        print(f"{size / 1e6:8.2f} MB  {name}")
    print(f"{own / 1e6:8.2f} MB  our own part, limit {LIMIT / 1e6:.0f}")
    return 1 if own > LIMIT else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
