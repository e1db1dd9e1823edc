#!/usr/bin/env python3
"""The whole tool against mutated files: mutate.py PROGRAM RUNS.

PROGRAM is built with ASan and UBSan. Each run compares two mutated copies of the files in corpus/ and
writes a report; whatever they hold, it must end with 0, 1 or 2, a message for 2, and a whole page otherwise.
"""
import random
import subprocess
import sys
import tempfile
from pathlib import Path

TELLING = b",;\t\n\r\"#'.-+0123456789eEnaNAinf: T()<>|\x93\xff\x9b\xc2\x00"


def mutated(content, dice):
    """Mostly other digits, so that many files are still tables; now and then anything."""
    content = bytearray(content)
    for _ in range(dice.randrange(12)):
        at = dice.randrange(len(content))
        piece = content[at:at + dice.randrange(1, 17)]
        change = dice.randrange(60)
        if content[at:at + 1].isdigit() and change > 5:
            content[at] = dice.choice(b"0123456789")
        elif change == 0:
            content[at:at] = piece
        elif change == 1:
            del content[at:at + len(piece)]
        elif change == 2:
            content[at] = dice.choice(TELLING)
        elif change == 3:
            content[at] = dice.randrange(256)
    return bytes(content)


def main():
    program, runs, ends = str(Path(sys.argv[1]).resolve()), int(sys.argv[2]), {0: 0, 1: 0, 2: 0}
    files = [f.read_bytes() for f in sorted((Path(__file__).parent / "corpus").iterdir())]
    # the last lines again: rows enough for a test, not only for a message
    files = [f if f[:1] == b"\x93" else f.rstrip() + b"\n" + b"\n".join(f.split(b"\n")[-4:-1] * 6) for f in files]
    with tempfile.TemporaryDirectory() as folder:
        for run in range(runs):
            dice, page = random.Random(run), Path(folder, "page.html")
            one = dice.choice(files)
            Path(folder, "a").write_bytes(mutated(one, dice))
            Path(folder, "b").write_bytes(mutated(one, dice))
            page.unlink(missing_ok=True)
            done = subprocess.run([program, "a", "b", "--report", "page.html", "--replicates", "19", "--pilot", "9"],
                                  cwd=folder, capture_output=True)
            good = (done.returncode == 2 and done.stderr.startswith(b"npksd: ") if done.returncode not in (0, 1)
                    else done.stderr == b"" and page.read_bytes().endswith(b"</html>\n"))
            if not good:
                print(f"run {run}: exit status {done.returncode}\n{done.stderr.decode('utf-8', 'replace')}")
                sys.exit(1)
            ends[done.returncode] += 1
    print(f"mutate: {runs} executions, no finding: {ends[0]} not rejected, {ends[1]} rejected, {ends[2]} refused")
    sys.exit(ends[0] + ends[1] == 0)


main()
