"""Python programs under mpiexec."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ENVIRONMENT = {
    # Open MPI starts nothing for root, and no more processes than cores, unless it is told to.
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe",
    "OMP_NUM_THREADS": "1",
}


def mpiexec(
    size: int, program: str | Path, *arguments: str, timeout: float = 60
) -> subprocess.CompletedProcess[str]:
    """Runs a program, as text or a file, in as many processes."""
    launcher = Path(sys.executable).with_name("mpiexec")
    code = ["-c", program] if isinstance(program, str) else [str(program)]
    command = [launcher, "-n", str(size), sys.executable, *code, *arguments]
    environment = os.environ | ENVIRONMENT
    environment["PYTHONPATH"] = os.pathsep.join([str(Path(__file__).parent), *sys.path])
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=timeout)
