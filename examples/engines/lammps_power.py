"""How many particles of a LAMMPS run must be recorded to notice a warmer heat bath? Called by lammps.sh."""
import io
import pathlib
import subprocess
import sys

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "python"))
import npksd  # noqa: E402


def gas(temperature):
    """A generator: one run of the simulator for each data set, seeded from rng."""
    def draw(n, rng):
        command = [sys.argv[1], "draw", str(n), str(rng.integers(2**31)), str(temperature), "2.5"]
        rows = subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout.decode()
        return np.loadtxt(io.StringIO(rows), delimiter=",", skiprows=1)
    return draw


for n in (50, 100):
    power = npksd.power(n, 3, gas(1.0), gas(1.6), runs=20, replicates=59, pilot=40, fit_rows=1000)
    print(f"{n} particles: a temperature of 1.6 is noticed in {power.power:.0%} of runs "
          f"({power.low:.0%} to {power.high:.0%})")
