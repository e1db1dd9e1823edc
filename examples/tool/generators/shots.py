#!/usr/bin/env python3
"""A generator for npksd --server: reads lines "rows seed", answers each with CSV and an empty line.

    npksd data/observed.csv --server 'python3 tool/generators/shots.py'
"""
import sys

import numpy


def shots(rows, seed):
    """Damage falls with the distance; the cooldown does not know of either."""
    dice = numpy.random.default_rng(seed)
    distance = dice.normal(12, 3, rows)
    damage = 22 - 1.4 * (distance - 12) + dice.normal(0, 4.2, rows)
    cooldown = dice.gamma(4, 0.255, rows)
    return numpy.column_stack([damage, distance, cooldown])


for line in sys.stdin:
    count, number = map(int, line.split())
    print("damage,distance,cooldown")
    numpy.savetxt(sys.stdout, shots(count, number), fmt="%.6g", delimiter=",")
    print(flush=True)  # the empty line, and out with it
