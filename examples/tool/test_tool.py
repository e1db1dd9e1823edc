#!/usr/bin/env python3
"""Does the command line tool do what it promises?

test_tool.py PROGRAM: feeds it good and broken files, reads its JSON, runs the example of its --help,
looks at its report in headless Chromium, and tries the README's program. Only Python's own library
is needed; without chromium or numpy their part is a visible skip, and a failure when CI=true.
"""
import html.parser
import json
import math
import os
import pty
import random
import re
import resource
import shutil
import statistics
import struct
import subprocess
import sys
import tempfile
import time
import zlib
from pathlib import Path

PROGRAM = str(Path(sys.argv[1]).resolve())
REPOSITORY = Path(__file__).resolve().parents[2]
ONLY = sys.argv[2:]  # names of tests; later ones may need files of verdicts
PASSED, FAILED = [], []


def check(name, good, detail=""):
    (PASSED if good else FAILED).append(name)
    if not good:
        print("FAIL", name, detail, flush=True)
    return good


def skip(what):
    if os.environ.get("CI") == "true":
        check(f"{what} is installed", False)
    else:
        print(f"skipped: {what} is not installed")


def npksd(*arguments, stdin=b""):
    return subprocess.run([PROGRAM, *map(str, arguments)], input=stdin, capture_output=True,
                          timeout=120)


def text(path, content):
    Path(path).write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def csv(rows, names=None, separator=","):
    lines = [separator.join(names)] if names else []
    return "\n".join(lines + [separator.join(repr(x) for x in row) for row in rows]) + "\n"


def normal_rows(count, columns, seed, shift=0.0):
    dice = random.Random(seed)
    return [[dice.gauss(shift, 1) for _ in range(columns)] for _ in range(count)]


def answer(name, *arguments, code=None, stdin=b""):
    """The JSON of a run that should work."""
    done = npksd(*arguments, "--json", stdin=stdin)
    good = done.returncode in ((0, 1) if code is None else (code,))
    if not check(f"{name}: exit status", good, f"{done.returncode} {done.stderr.decode()}"):
        return {}
    try:
        return json.loads(done.stdout.decode())
    except ValueError as problem:
        check(f"{name}: JSON", False, problem)
        return {}


def refuse(name, words, *arguments, stdin=b""):
    """Exit status 2, nothing on stdout, and a message with these words; JSON says the same."""
    done = npksd(*arguments, stdin=stdin)
    said = done.stderr.decode("utf-8", "replace")
    check(f"refuses {name}", done.returncode == 2 and done.stdout == b"", done.returncode)
    for word in [words] if isinstance(words, str) else words:
        check(f"refuses {name}: says \"{word}\"", word in said, said)
    done = npksd("--json", *arguments, stdin=stdin)
    first = words if isinstance(words, str) else words[0]
    try:
        check(f"refuses {name}: JSON", first in json.loads(done.stdout.decode())["error"],
              done.stdout)
    except (ValueError, KeyError) as problem:
        check(f"refuses {name}: JSON", False, problem)
    return said


# ======== files ========

NAMES = ["a", "b"]


def test_verdicts():
    text("same.csv", csv(normal_rows(60, 2, 1), NAMES))
    text("other.csv", csv(normal_rows(60, 2, 2, 1.0), NAMES))
    text("made.csv", csv(normal_rows(600, 2, 3), NAMES))
    same = answer("same", "same.csv", "made.csv", code=0)
    other = answer("other", "other.csv", "made.csv", code=1)
    check("reject is in the JSON", same.get("reject") is False and other.get("reject") is True)
    check("p of the sound file", same.get("p_value", 0) > 0.05)
    check("p with its interval",
          other.get("p_low", 1) <= other.get("p_value", 0) <= other.get("p_high", 0))
    check("both columns differ", [c["differs"] for c in other.get("columns", [])] == [True, True])
    check("columns have shift and distance", all(0.5 < c["shift"] < 2 and 0.2 < c["distance"] < 1
                                                 for c in other.get("columns", [{}])))
    check("the verdict names both columns", other.get("where", "").startswith("columns ")
          and "a (mean higher by" in other["where"] and "b (mean higher by" in other["where"], other.get("where"))
    check("the verdict begins with its headline", other.get("verdict", "").startswith("REJECTED: p = 0.002"))
    again = answer("again", "other.csv", "made.csv", code=1)
    for each in (other, again):
        each.pop("seconds", None)
    check("the same call gives the same answer", other == again)
    check("the seed counts", answer("seed", "other.csv", "made.csv", "--seed", 5).get("statistic")
          != other.get("statistic"))
    check("nothing to name when nothing differs", "no column and no pair" in same.get("where", "")
          and same.get("kind") == "", same.get("where"))
    check("numbers in JSON are short", '"p_value": 0.002,' in npksd("other.csv", "made.csv", "--json").stdout.decode())
    printed = npksd("other.csv", "made.csv", "--json").stdout.decode()
    digits = [part.lstrip("-0.").replace(".", "") for part in re.findall(r": (-?[\d.]+)", printed)]
    check("twelve digits at most", 20 < len(digits) and max(map(len, digits)) <= 12, digits)
    done = npksd("other.csv", "made.csv", "--quiet")
    check("--quiet prints p alone", done.stdout == b"0.002\n" and done.returncode == 1, done.stdout)
    for status, file in ((0, "same.csv"), (1, "other.csv")):
        done = npksd(file, "made.csv")
        said = done.stdout.decode()
        check(f"text: status {status}", done.returncode == status)
        check("text: whose deviation", "shift: of the mean, in sd of both files together;" in said, said)
        check("text: verdict", ("- Not rejected: p =", "- REJECTED: p =")[status] in said)
        check("text: bullets", said.count("\n- ") == (3, 4)[status], said)
        check("text: what it does not mean",
              ("does not mean right", "does not mean useless")[status] in " ".join(said.split()))
        check("text: no bar in a pipe", b"left" not in done.stderr and done.stderr == b"")
        check("text: 100 columns", all(len(line) <= 100 for line in said.splitlines()))


def rows_fit(got):
    """Rows are listed exactly when a component that works with scores leads."""
    wanted = 5 if got.get("leading") in ("STEIN", "MIRROR", "MOMENT") else 0
    return len(got.get("worst_rows", [])) == wanted


def changed(name, observed, synthetic, code=1):
    """A table against another one that differs in a known way."""
    text("changed.csv", csv(observed, [f"x{k}" for k in range(len(observed[0]))]))
    text("changed_made.csv", csv(synthetic, [f"x{k}" for k in range(len(observed[0]))]))
    got = answer(name, "changed.csv", "changed_made.csv", code=code)
    check(f"{name}: rows only where they explain the verdict", rows_fit(got), got.get("leading"))
    size = "KSD^2" in json.dumps([got.get(key, "") for key in ("meaning", "where", "kind")])
    check(f"{name}: KSD^2 only where STEIN leads",
          size == (got.get("leading") == "STEIN" and got.get("reject")), got.get("kind"))
    return got


def test_reasons():
    dice = random.Random(21)
    columns = {
        "exponential": (lambda: dice.expovariate(1 / 1.8), lambda: dice.expovariate(1)),
        "mixture": (lambda: dice.gauss(4 if dice.random() < 0.8 else -4, 1),
                    lambda: dice.gauss(4 if dice.random() < 0.5 else -4, 1)),
        "lognormal": (lambda: dice.lognormvariate(0.6, 1), lambda: dice.lognormvariate(0, 1)),
        "spread": (lambda: dice.gauss(0, 1.6), lambda: dice.gauss(0, 1)),
    }
    for name, (seen, made) in columns.items():
        got = changed(name, [[dice.gauss(0, 1), seen(), dice.gauss(0, 1)] for _ in range(100)],
                      [[dice.gauss(0, 1), made(), dice.gauss(0, 1)] for _ in range(1000)])
        named = [c["name"] for c in got.get("columns", []) if c["differs"]]
        check(f"{name}: the column is named", "x1" in named and "x1 (mean" in got.get("where", ""),
              (named, got.get("where")))
        check(f"{name}: no word of no column", not re.search("no (single )?column", got.get("where", "")),
              got.get("where"))

    def pair(r, count):
        rows = normal_rows(count, 4, count)
        return [[a, b, c, r * a + (1 - r * r) ** 0.5 * d] for a, b, c, d in rows]
    got = changed("a changed pair", pair(0.7, 100), pair(0.0, 1000))
    first = (got.get("pairs") or [{}])[0]
    check("the pair is named, with both correlations", (first.get("first"), first.get("second"))
          == ("x0", "x3") and first["differs"] and 0.5 < first["observed"] < 0.9
          and abs(first["expected"]) < 0.25, first)
    check("the pair is in the verdict", "the pair x0 and x3 (correlation" in got.get("where", ""),
          got.get("where"))
    said = npksd("changed.csv", "changed_made.csv").stdout.decode()
    check("the pair is in the text", "pair of columns" in said and "* x0" in said, said)
    # y and z go together, only x is shifted
    def related(count, seed, shift):
        return [[x + shift, y, 0.9 * y + 0.19 ** 0.5 * z] for x, y, z in normal_rows(count, 3, seed)]
    got = changed("related columns", related(100, 5, 1.0), related(1000, 2, 0.0))
    check("only the shifted column differs", [c["name"] for c in got.get("columns", []) if c["differs"]] == ["x0"]
          and [c["name"] for c in got["columns"] if c["related"]] == ["x2", "x1"]
          and " Marked with it, but hardly changed by themselves: x2, x1." in got["where"], got.get("where"))
    said = npksd("changed.csv", "changed_made.csv", "--report", "related.html").stdout.decode()
    check("only the shifted column has a star", re.findall(r"^([*~]) (x\d)", said, re.M)
          == [("*", "x0"), ("~", "x2"), ("~", "x1")], said)
    check("the page says which hardly changed", Path("related.html").read_text().count(" (hardly changed)</td>") == 2)
    # a share of 12 % against 0.1 % has changed by itself, one of 6 % against 2 % hardly: however it is written, and
    # though the spread follows it
    for every, other_every, differs in ((8, 1000, True), (16, 55, False)):
        for name, common, rare in (("words", "walk", "stuck"), ("yes", "no", "yes"), ("bits", "0", "1")):
            for file, count, shift, each in (("rare.csv", 100, 0.8, every), ("rare_made.csv", 1000, 0.0, other_every)):
                text(file, "x,state\n" + "".join(f"{x!r},{rare if k % each == each - 1 else common}\n" for k, (x,) in
                                                 enumerate(normal_rows(count, 1, each, shift))))
            got = answer(f"a share: {name}", "rare.csv", "rare_made.csv", code=1)
            check(f"a share: {name}: one row in {every}", all(c["differs"] == (differs or c["name"] == "x")
                  for c in got.get("columns", [{"name": "none"}])), got.get("columns"))
    got = changed("a spread", [[0.5 * x] for x, in normal_rows(100, 1, 1)], normal_rows(1000, 1, 2))
    check("a changed spread is said",
          re.search(r"x0 \(mean .*, spread 0\.[45]\d times as large, ", got.get("where", "")), got.get("where"))
    # two files of equal length, and more observed rows than synthetic ones
    for count in (60, 30):
        got = changed(f"{count} synthetic rows", normal_rows(60, 2, 31, 1.0),
                      normal_rows(count, 2, 32))
        check(f"{count} synthetic rows: shift against them, not against the pool",
              all(0.6 < c["shift"] < 1.4 for c in got.get("columns", [{"shift": 0}])))
        check(f"{count} synthetic rows: more would be better",
              any("ten times as many" in n for n in got.get("notes", [])), got.get("notes"))
    changed("equal lengths, one source", normal_rows(60, 2, 33), normal_rows(60, 2, 34), code=0)


def test_deviations():
    """Shift and distance are those of all observed rows against all synthetic ones, whatever the lengths of the files
    and the tails of the column."""
    for count, tails in ((60, False), (600, False), (6000, True)):
        files = {}
        for name, rows, shift in (("seen", 60, 0.7), ("made", count, 0.0)):
            files[name] = [row[0] for row in normal_rows(rows, 1, rows + 5, shift)]
            if tails:
                files[name] = [math.copysign(math.exp(2 * abs(x)), x) for x in files[name]]
            text(f"{name}_deviations.csv", csv([[x] for x in files[name]], ["a"]))
        seen, made, both = files["seen"], files["made"], files["seen"] + files["made"]
        shift = (statistics.mean(seen) - statistics.mean(made)) / statistics.pstdev(both)
        distance = max(abs(sum(x <= limit for x in seen) / 60 - sum(x <= limit for x in made) / count) for limit in both)
        got = answer(f"{count} rows", "seen_deviations.csv", "made_deviations.csv").get("columns", [{}])[0]
        check(f"{count} rows: shift", abs(got.get("shift", 9) - shift) < 1e-9, (got, shift))
        check(f"{count} rows: distance", abs(got.get("distance", 9) - distance) < 1e-9, (got, distance))
    # numbers whose squares, or whose differences, are too large for a double
    for size in (1e200, 1.5e308):
        for name, rows, sign in (("seen", 60, 1), ("made", 600, -1)):
            text(f"{name}_deviations.csv", csv([[sign * size * (1 + (k % 5) / 50)] for k in range(rows)], ["a"]))
        got = answer(f"{size}", "seen_deviations.csv", "made_deviations.csv", code=1).get("columns", [{}])[0]
        check(f"{size}: shift and distance", 3.4 < (got.get("shift") or 0) < 3.5 and got["distance"] == 1, got)


def test_longer_files():
    """Two files of equal length work; ten times as many synthetic rows reveal smaller differences."""
    found = {60: 0, 600: 0}
    for seed in range(20):
        text("small.csv", csv(normal_rows(60, 2, 300 + seed, 0.35)))
        for count in found:
            text("longer.csv", csv(normal_rows(count, 2, 400 + seed)))
            found[count] += answer(f"{count} rows", "small.csv", "longer.csv").get("reject", 0)
    check("more synthetic rows reveal more", 1 <= found[60] <= found[600] - 4, found)


def test_sessions():
    """Rows that depend on each other: --block with files, whole sessions of a generator."""
    def sessions(count, seed):
        dice, rows = random.Random(seed), []
        for _ in range(count):
            level = dice.gauss(0, 2)
            rows += [[level + dice.gauss(0, 1)] for _ in range(20)]
        return rows
    make = ("awk 'BEGIN { srand({seed}); for (k = 0; k < 12; k++) level += 2 * rand() - 1; "
            "while (i++ < {rows}) { x = level; for (k = 0; k < 12; k++) x += rand() - 0.5; print x } }'")
    text("sessions_made.csv", csv(sessions(50, 1)))
    rejected = {"blocks": 0, "rows": 0, "generator": 0}
    for seed in range(10):
        text("sessions.csv", csv(sessions(5, 100 + seed)))
        text("session.csv", csv(sessions(1, 200 + seed)))
        rejected["blocks"] += answer("blocks", "sessions.csv", "sessions_made.csv", "--block", 20).get("reject", 9)
        rejected["rows"] += answer("rows", "sessions.csv", "sessions_made.csv").get("reject", 0)
        rejected["generator"] += answer("a session of a generator", "session.csv", "--generator", make, "--replicates", 39,
                                        "--fit-rows", 400, "--pilot", 20).get("reject", 9)
    check("sessions: valid ones pass, unless rows are taken for independent",
          rejected["blocks"] < 3 and rejected["generator"] < 3 and rejected["rows"] > 6, rejected)


def test_dialects():
    rows = normal_rows(60, 2, 2, 1.0)
    want = answer("plain", "other.csv", "made.csv").get("statistic")
    dialects = {
        "no header": csv(rows),
        "semicolons": csv(rows, NAMES, ";"),
        "tabs": csv(rows, NAMES, "\t"),
        "quotes": csv(rows, ['"a"', '"b"']).replace(",", ' , '),
        "byte order mark": b"\xef\xbb\xbf" + csv(rows, NAMES).encode(),
        "CR LF": csv(rows, NAMES).replace("\n", "\r\n"),
        "CR": csv(rows, NAMES).replace("\n", "\r"),
        "no last line end": csv(rows, NAMES).rstrip("\n"),
        "empty lines at the end": csv(rows, NAMES) + "\n\n",
        "quoted numbers": "a,b\n" + "".join(f'"{x!r}","{y!r}"\n' for x, y in rows),
        "columns in another order": csv([row[::-1] for row in rows], NAMES[::-1]),
    }
    for name, content in dialects.items():
        text("dialect.csv", content)
        got = answer(name, "dialect.csv", "made.csv")
        other_order = name == "columns in another order"  # random frequencies go by the order
        same = (abs(got.get("statistic", 0) - want) < 0.2 * want if other_order
                else got.get("statistic") == want)
        check(f"{name}: the same answer", same, (got.get("statistic"), want))
    check("another order is noted", any("matched by name" in n for n in got.get("notes", [])))
    for name, separator in (("commas", ","), ("semicolons", ";"), ("tabs", "\t")):
        text("gap.csv", csv(rows, NAMES, separator) + "1" + separator + " \n\n \n")
        got = answer(f"{name}: an empty cell at the end", "gap.csv", "made.csv")
        check(f"{name}: an empty cell at the end is missing", got.get("statistic") == want
              and (got["observed_rows"], got["observed_rows_used"]) == (61, 60), got)
    for file, count in (("gap.csv", 60), ("gap_made.csv", 600)):
        text(file, csv([[k + 1, x] for k, (x,) in enumerate(normal_rows(count, 1, count))], ["id", "x"], "\t")
             + "\t\n\t")
    got = answer("lines of tabs at the end", "gap.csv", "gap_made.csv")
    check("lines of tabs at the end are blank", names(got) == ["x"] and got["observed_rows"] == 60, got)
    got = answer("stdin", "-", "made.csv", stdin=csv(rows, NAMES).encode())
    check("stdin: the same answer", got.get("statistic") == want)
    text("line.csv", csv(rows, ['"a\x1b[1m\nx"', "b"]))
    text("line_made.csv", csv(normal_rows(600, 2, 3), ['"a\x1b[1m\nx"', "b"]))
    done = npksd("line.csv", "line_made.csv")
    check("names with line ends and escapes",
          b"a [1m x" in done.stdout and b"\x1b" not in done.stdout)
    # a text column is no trouble once it is left out, and the other file need not have it
    text("words.csv", "who,a,b\n" + "".join(f'"x, ""{k}""\nsecond line",{x!r},{y!r}\n'
                                            for k, (x, y) in enumerate(rows)))
    for choice in (("--leave-out", "who"), ("--columns", "a,b")):
        got = answer(" ".join(choice), "words.csv", "made.csv", *choice)
        check(f"{choice}: the same answer", got.get("statistic") == want)
        check(f"{choice}: lines of records that take two",
              all(r["line"] % 2 == 0 for r in got.get("worst_rows", [{"line": 1}])))
    text("three.csv", csv([[9, *row] for row in rows], ["who", *NAMES]))
    text("three_made.csv", csv([[k % 7, *row] for k, row in enumerate(normal_rows(600, 2, 3))],
                               ["who", *NAMES]))
    for choice in (("--columns=2-3",), ("--leave-out=1",), ("--leave-out", "who")):
        got = answer(str(choice), "three.csv", "three_made.csv", *choice)
        check(f"{choice}: the same answer", got.get("statistic") == want)
    text("years.csv", csv(rows, ["place", "2020"]))
    text("years_made.csv", csv(normal_rows(600, 2, 3), ["place", "2020"]))
    got = answer("--header", "years.csv", "years_made.csv", "--header")
    check("--header: the same answer", got.get("statistic") == want)
    refuse("names with --no-header", 'line 1, column 1 (1): "a" is not a number', "same.csv",
           "made.csv", "--no-header")
    text("numbers.csv", csv(rows))
    text("numbers_made.csv", csv(normal_rows(600, 2, 3)))
    got = answer("--no-header", "numbers.csv", "numbers_made.csv", "--no-header")
    check("--no-header: the same answer", got.get("statistic") == want)
    text("latin.csv", csv(rows, ["gr\xf6\xdfe", "b<&>"]).encode("latin-1"))
    text("latin_made.csv", csv(normal_rows(600, 2, 3), ["gr\xf6\xdfe", "b<&>"]).encode("latin-1"))
    got = answer("latin-1 names", "latin.csv", "latin_made.csv", "--report", "latin.html")
    check("latin-1 names are read as such", {c["name"] for c in got.get("columns", [])}
          == {"gr\xf6\xdfe", "b<&>"})
    check("names are escaped in the report", "b&#60;&#38;&#62;" in Path("latin.html").read_text())


def test_refusals():
    def bad(name, words, content, *arguments):
        text("bad.csv", content)
        refuse(name, words, "bad.csv", "made.csv", *arguments)

    stop = ("--missing", "refuse")
    bad("a missing value", ["bad.csv, line 3, column 2 (b): a missing value", "--leave-out b"],
        "a,b\n1,2\n3,\n", *stop)
    for marker in ("NA", "n/a", "NaN", "null", "-", "?", '""'):
        bad(f"a missing value {marker}", "line 2, column 1 (a): a missing value",
            f"a,b\n{marker},2\n3,4\n", *stop)
    bad("a missing value without names", "line 2, column 1 (1): a missing value", "1,2\n,4\n", *stop)
    bad("a missing value in a block", "line 3, column 2 (b): a missing value", "a,b\n1,2\n3,\n", "--block", "2")
    bad("rows with nothing but missing values",
        "every row has a missing value (column a: 1 row, column b: 1 row)", "a,b\n1,\n,2\n")
    bad("too few complete rows", "too few rows without a missing value: 1", "a,b\n1,2\n3,\n")
    text("empty_made.csv", "a,b\n" + "1,NA\n" * 20)
    text("bad.csv", "a,b\n1,\n2,NA\n")
    refuse("a column without values", "column b holds no values at all", "bad.csv", "empty_made.csv")
    bad("infinity", 'line 2, column 1 (a): "-inf" is not a finite number', "a,b\n-inf,2\n3,4\n")
    bad("a huge number", '"1e999" is not a finite number', "a,b\n1e999,2\n3,4\n")
    bad("text in a number", ['line 3, column 2 (b): "4x" is not a number'], "a,b\n1,2\n3,4x\n")
    bad("words among numbers", ['line 2, column 1 (a): "red" is not a number', "--leave-out a", "--categories a"],
        "a,b\nred,2\nblue,4\n")
    bad("dates among numbers", '"2024-05-31" is a date or a time', "a,b\n2024-05-31,2\n3,4\n")
    bad("thousands and a decimal comma", '"3.775,33" has marks for thousands. Remove', "a;b\n3.775,33;2\n3;4\n")
    for cell, date in (("05/19/2025", "2025-05-19"), ("08.09.2025", "2025-09-08"), ("2025/5/9", "2025-05-09"),
                       ("05/06/2025", "2025-05-06 or 2025-06-05"),
                       ("06.03.2025 18:26:30", "2025-03-06 18:26:30"),
                       ("05/06/2025 6:26 PM", "2025-05-06 hh:mm:ss or 2025-06-05 hh:mm:ss"),
                       ("13/6/2025 12:00", "2025-06-13 12:00")):
        bad(f"{cell} among numbers", f'"{cell}" is not a number: it looks like a date; write {date},',
            f"a,b\n{cell},2\n3,4\n")
    for cell, hint in (("48.9%", "remove the %"), ("$3.10", "remove the $"),
                       ("7 \u20ac", "remove the \u20ac")):
        bad(f"{cell} among numbers", f'"{cell}" is not a number: {hint},', f"a,b\n{cell},2\n3,4\n")
    text("percent.csv", "a\n" + "".join(f"{k}.5%\n" for k in range(30)))
    refuse("a column of percents",
           ['line 2, column 1 (a): "0.5%" is not a number: remove the %'], "percent.csv", "percent.csv")
    text("percent.csv", "a,b\n" + "".join(f"{k % 9}.5%,{k * k}\n" for k in range(30)))
    check("few percents are a category with a note", any('"0.5%" is not a number: remove the %' in n for n in answer(
        "few percents", "percent.csv", "percent.csv").get("notes", [])))
    bad("flags among numbers", '"yes" is not a number, but other values', "a,b\nyes,2\n3,4\n")
    bad("a day that does not exist", '"2023-02-29" is not a number', "a,b\n2023-02-29,2\n3,4\n")
    bad("escape sequences", '" [2Jx" is not a number', "a,b\n\x1b[2Jx,2\n")
    bad("hexadecimal", '"0x10" is not a number', "a,b\n0x10,2\n3,4\n")
    bad("long rows", "line 3: 3 fields, but line 1 has 2", "a,b\n1,2\n3,4,5\n")
    bad("short rows", "line 2: 1 field, but line 1 has 2", "a,b\n1\n3,4\n")
    bad("an empty line", "line 3: an empty line", "a,b\n1,2\n\n3,4\n")
    bad("an empty line in one column", "line 3, column 1 (a): a missing value", "a\n1\n\n3\n", "--columns", "a",
        *stop)
    bad("a decimal comma, quoted", ['line 2, column 1 (a): "1,5" has a decimal comma', "1234.5"],
        'a,b\n"1,5",2\n3,4\n')
    bad("decimal commas and points", 'line 2, column 1 (a): "1,5" has a decimal comma', "a;b\n1,5;2.5\n3;4\n")
    bad("a decimal comma as separator", ["line 2: 4 fields, but line 1 has 2", "Decimal commas?"],
        "a,b\n1,5,2,5\n")
    bad("thousands", '"1,234.5" has marks for thousands. Remove the thousands marks',
        'a,b\n"1,234.5",2\n')
    bad("blanks as separator", "not by blanks", "1 2\n3 4\n")
    bad("a mixed first line", ["line 1: both numbers and words", "--no-header"], "a,2020\nx,2\n")
    bad("comments and too few fields", "line 4: 1 field, but line 3 has 2", "# one\n# two\na,b\n1\n")
    bad("two columns of one name", 'columns 1 and 2 are both called "a"', "a,a\n1,2\n")
    bad("an open quote", "line 2: a quote (\") is opened here and never closed", 'a,b\n"1,2\n3,4\n')
    bad("text behind a quote", "line 2: text after a closing quote", 'a,b\n"1"5,2\n3,4\n')
    bad("R's write.table", ["line 1: quoted text with blanks", "write.csv"], '"a" "b"\n"1" 0.5 0.7\n"2" 0.1 0.2\n')
    bad("binary", "line 2: a zero byte; this is not a text file", b"a,b\n1,\0\n")
    bad("a zero byte inside quotes", "line 2: a zero byte", b'a,b\n"1\x003",2\n4,5\n')
    bad("UTF-16", "UTF-16", "a,b\n1,2\n".encode("utf-16"))
    bad("a spreadsheet", "a zip archive", b"PK\3\4 and so on")
    for blanks in ("", " ", "\t", " \n\t\n", "# a comment\n  "):
        bad(f"an empty file {blanks!r}", "no rows; the file is empty", blanks)
    bad("names alone", "no rows below the line of names", "a,b\n")
    bad("one row", "too few rows: 1", "a,b\n1,2\n")
    bad("other names", ['has a column "c"', "--columns"], "a,b,c\n1,2,3\n4,5,6\n")
    bad("names in capitals", ['has a column "A", made.csv has none of that name (the names differ only in capitals)',
                              'Columns of bad.csv: "A", "B"; of made.csv: "a", "b".', "in line 1 of made.csv"],
        "A,B\n1,2\n3,4\n")
    bad("many other names",
        ['of bad.csv: "x0", "x1", "x2", "x3", "x4", "x5", "x6", "x7" and 2 more; of made.csv: "a", "b".'],
        ",".join(f"x{k}" for k in range(10)) + "\n" + ",".join("1" * 10) + "\n")
    text("typing.csv", "spice,speed\n" + "1,2\n3,4\n" * 20)
    for option in ("--columns", "--leave-out", "--categories"):
        refuse(f"a typing error in {option}", 'the nearest name is "speed"', "typing.csv", "typing.csv", option, "Sped")
    bad("a name too few", 'has a column "b", bad.csv has none', "a\n1\n2\n")
    bad("other numbers of columns", "has 3 columns in use, made.csv has 2", "1,2,3\n4,5,6\n")
    bad("a column that is not there", "--columns z: there is no such column", "a,b\n1,2\n3,4\n",
        "--columns", "z")
    bad("a column to leave out that is not there", "--leave-out z: there is no such column",
        "a,b\n1,2\n3,4\n", "--leave-out", "z")
    bad("no column left", "no column is left", "a,b\n1,2\n3,4\n", "--leave-out", "a,b")
    text("few.csv", csv(normal_rows(25, 2, 4), NAMES))
    got = answer("too few synthetic rows", "same.csv", "few.csv")
    check("too few synthetic rows: fewer observed rows are taken", got.get("observed_rows_used") == 50
          and any("50 of the 60 observed rows" in n for n in got["notes"]), got.get("notes"))
    text("fewer.csv", csv(normal_rows(7, 2, 4), NAMES))
    refuse("hopelessly few synthetic rows", ["fewer.csv: too few rows: 7", "At least 8"], "same.csv", "fewer.csv")
    for name, count in (("index.csv", 60), ("index_made.csv", 600)):
        rows = normal_rows(count, 1, count + 1)
        text(name, csv([[k, x] for k, (x,) in enumerate(rows)], ["id", "a"]))
    got = answer("a column that counts the rows", "index.csv", "index_made.csv", code=0)
    check("it is left out with a note", [c["name"] for c in got.get("columns", [])] == ["a"]
          and any("Column id was left out: it counts the rows" in n for n in got["notes"]), got.get("notes"))
    got = answer("... unless it is chosen", "index.csv", "index_made.csv", "--columns", "id,a", code=1)
    check("it is there", len(got.get("columns", [])) == 2)
    text("constant.csv", "a,b\n" + "1,2\n" * 40)
    text("constant_made.csv", "a,b\n" + "1,2\n" * 400)
    refuse("constant columns", "every column is constant (a, b)", "constant.csv",
           "constant_made.csv")
    text("half.csv", csv([[x, 2.0, 5.0] for x, _ in normal_rows(60, 2, 7)], ["a", "b", "c"]))
    text("half_made.csv", csv([[x, 2.0, 6.0] for x, _ in normal_rows(600, 2, 8)], ["a", "b", "c"]))
    got = answer("a constant column that is another", "half.csv", "half_made.csv", code=1)
    notes = got.get("notes", [])
    check("constant columns are named", any("left out of the test: b." in n for n in notes)
          and any("not the same in the observed ones: c." in n for n in notes), notes)
    answer("one constant column", "half.csv", "half_made.csv", "--leave-out", "c", code=0)
    more = [f"k{k}" for k in range(5)]
    for name, count, shift in (("wide.csv", 60, 0.3), ("wide_made.csv", 600, 0.0)):
        text(name, csv([[x, 7, y, 7, 0, -2.5, 7] for x, y in normal_rows(count, 2, count, shift)],
                       ["a", "k0", "b", *more[1:]]))
    got = answer("constant columns", "wide.csv", "wide_made.csv", "--report", "wide.html")
    without = answer("without them", "wide.csv", "wide_made.csv", "--leave-out", ",".join(more))
    check("constant columns change nothing", all(got.get(key) == without.get(key) for key in
          ("statistic", "p_value", "threshold", "leading", "where", "pairs", "worst_rows"))
          and got["columns"][:2] == without["columns"], (got, without))
    check("constant columns: p = 1", [c["p_adjusted"] for c in got["columns"][2:]] == [1] * 5, got["columns"])
    make = "awk 'BEGIN { srand({seed}); while (i++ < {rows}) print rand() \",7\" }'"
    text("level.csv", csv([[x % 1, 7] for x, in normal_rows(60, 1, 3)], ["x", "level"]))
    got = answer("a constant column of a generator", "level.csv", "--generator", make, "--replicates", 39,
                 "--fit-rows", 400, "--pilot", 20)
    check("a constant column of a generator: what is said", any(n.startswith(
        "Constant, with the same value on both sides; the test of the others looks at such columns, too")
        and n.endswith(": level.") for n in got.get("notes", [])), got.get("notes"))


def test_options():
    both = ("same.csv", "made.csv")
    refuse("no file", "name the file")
    refuse("one file", "nothing to compare with", "same.csv")
    refuse("a file that is not there", "nowhere.csv: No such file", "nowhere.csv", "made.csv")
    refuse("a folder", "cannot be read", ".", "made.csv")
    refuse("an unknown option", "--hurry: there is no such option", *both, "--hurry", "1")
    refuse("an unknown option at the end", "--hurry: there is no such option", *both, "--hurry")
    refuse("a report without a name", "--report: a value should follow", *both, "--report")
    refuse("a report with an empty name", "--report: a value should follow", *both, "--report", "")
    done = npksd(*both, "--json=1")
    check("a flag with a value", done.returncode == 2 and b"--json: no value should follow" in done.stderr, done.stderr)
    refuse("one row of many", "--take 1: at least 2 rows", *both, "--take", "1")
    for name, arguments in (("a generator", ("same.csv", "--generator", "x")), ("--watch", ("--watch", "same.csv")),
                            ("--block", (*both, "--block", 2))):
        refuse(f"--missing drop and {name}", f"--missing drop: not with {name},", *arguments, "--missing", "drop")
    # the sentences of npksd_options_set
    refuse("an option without value", "--seed: '' is not a whole number from 0 to 18446744073709551615", *both,
           "--seed")
    refuse("a word for a number", "--alpha: 'much' is not a decimal number", *both, "--alpha", "much")
    refuse("a number out of range", "--alpha: between 0 and 1, exclusive", *both, "--alpha", "2")
    refuse("half a replicate", "--replicates: '9.5' is not a whole number", *both, "--replicates", "9.5")
    refuse("a negative seed", "--seed: '-1' is not a whole number", *both, "--seed", "-1")
    refuse("an unknown summary", "--summary: unknown value 'x'; one of MEAN, NONE", *both, "--summary", "x")
    refuse("an unknown estimator", "--estimator: unknown value 'x'; one of AUTO", *both, "--estimator", "x")
    refuse("a fit of one row", "--fit-rows: from 2 to 2^28", "same.csv", "--generator", "x", "--fit-rows", "1")
    refuse("no pilot", "--pilot: several numbers", *both, "--pilot", "1")
    for option in ("--summary", "--estimator"):
        refuse(f"a function for {option}", "callback is for programs in C", *both, option, "callback")
    refuse("a field that is no option", "--kernel: there is no such option", *both, "--kernel", "imq")
    for arguments, words in ((("--replicates", "9"), "--alpha 0.05 needs --replicates 19 or more"),
                             (("--alpha", "0.001"), "--alpha 0.001 needs --replicates 999 or more")):
        refuse("a level that cannot be reached", words, *both, *arguments)
        answer("a level that can", *both, *arguments, "--replicates", words.split()[-3])
    refuse("blocks longer than a file", "--block 70: same.csv has only 60 rows", *both, "--block",
           "70")
    refuse("too few blocks", "--block: so few blocks", "same.csv", "same.csv", "--block", "30")
    notes = answer("blocks that do not fit", *both, "--block", 7).get("notes", [])
    check("rows of a last block are left out with a note",
          any("The last 4 rows of same.csv" in n for n in notes)
          and any("The last 5 rows of made.csv" in n for n in notes), notes)
    refuse("fit rows for files", "--fit-rows: with --generator or --server only", *both, "--fit-rows", "300")
    refuse("jobs for files", "--jobs: with --generator or --server only", *both, "--jobs", "2")
    refuse("names and none", "--header and --no-header: one of them, not both", *both, "--header", "--no-header")
    for items in ("a,,b", ",a,b,", " a , , b "):
        check(f"empty places in {items}", names(answer(items, *both, "--columns", items)) == NAMES)
    refuse("a list of nothing", "--columns: column names or numbers should follow", *both, "--columns", " , ")
    check("refuses two kinds of output", b"--json and --quiet" in npksd(*both, "--json", "--quiet").stderr)
    refuse("two programs", "there is a program already", "same.csv", "--generator", "x", "--server", "y")
    refuse("file and generator", "one of them, not both", *both, "--generator", "x")
    refuse("blocks for a generator", "--block: for files only", "same.csv", "--generator", "x",
           "--block", "2")
    refuse("a report that cannot be written", "--report nowhere/x.html", *both, "--report",
           "nowhere/x.html")
    base = answer("defaults", *both)
    for option, value in (("--alpha", "0.01"), ("--seed", "18446744073709551615"),
                          ("--replicates", "199"), ("--pilot", "50"), ("--smooth", "0.1"), ("--summary", "none"),
                          ("--estimator", "rbf"), ("--features", "64"), ("--block", "2")):
        got = answer(option, *both, option, value)
        shown = got.get("settings", {}).get(option[2:].replace("-", "_"))
        check(f"{option} arrives", str(shown) == value, shown)
        changed = "threshold" if option in ("--alpha", "--replicates") else "statistic"
        check(f"{option} acts", got.get(changed) not in (None, base.get(changed)), got.get(changed))
    for name, count in (("walk.csv", 60), ("walk_made.csv", 600)):
        rows = normal_rows(count, 1, count)
        text(name, csv([[k % 30 + x] for k, (x,) in enumerate(rows)], ["a"]))
    notes = answer("rows in time", "walk.csv", "walk_made.csv").get("notes", [])
    check("dependent rows are noted", any("--block" in n for n in notes), notes)
    notes = answer("blocks", "walk.csv", "walk_made.csv", "--block", 30).get("notes", [])
    check("with --block they are not", not any("--block" in n for n in notes), notes)
    check("no copies, no note", not any("number for number" in n for n in base.get("notes", [])))
    copied = normal_rows(60, 2, 1)[:30] + normal_rows(600, 2, 3)
    text("copied.csv", csv(copied, NAMES))
    notes = answer("memorised rows", "same.csv", "copied.csv").get("notes", [])
    check("copies are noted", any("30 of the 630 rows of copied.csv are observed rows" in n for n in notes), notes)
    check("the same file twice", any("same bytes" in n for n in answer("twice", "same.csv", "same.csv")["notes"]))
    for size in (1e300, 1.7e308, 1e-300, 1e-320):
        for name, count in (("huge.csv", 40), ("huge_made.csv", 400)):
            text(name, csv([[x * (size / 9), y] for x, y in normal_rows(count, 2, count)], NAMES))
        answer(f"numbers around {size}", "huge.csv", "huge_made.csv", "--report", "huge.html")
        page = Path("huge.html").read_text()
        check(f"report of numbers around {size}", not re.search(r"[^a-z](nan|inf)[^a-z]", page))
    text("long.csv", csv(normal_rows(400, 1, 11), ["a"]))
    text("long_made.csv", csv(normal_rows(900, 1, 12), ["a"]))
    for name, count in (("longer.csv", 1200), ("longer_made.csv", 2500)):
        text(name, csv(normal_rows(count, 1, count), ["a"]))
    got = answer("many rows", "longer.csv", "longer_made.csv", "--replicates", 39)
    check("1000 rows are taken", got.get("observed_rows_used") == 1000)
    got = answer("--take", "long.csv", "long_made.csv", "--take", 100)
    check("--take takes", got.get("observed_rows") == 400 and got.get("observed_rows_used") == 100)
    check("and says so", any("100 of the 400" in n for n in got.get("notes", [])))
    text("dice.csv", csv([[random.Random(k).randrange(6)] for k in range(80)], ["a"]))
    text("dice_made.csv", csv([[random.Random(k + 999).randrange(6)] for k in range(800)], ["a"]))
    notes = answer("dice", "dice.csv", "dice_made.csv", "--report", "dice.html").get("notes", [])
    check("no advice to add noise", not any("--smooth" in n for n in notes), notes)
    check("dice are no copies", not any("number for number" in n for n in notes), notes)
    check("--version", npksd("--version").stdout.startswith(b"npksd "))


# ======== files as they are ========

def lookalike(count, seed, groups=("low", "middle", "high")):
    """Made-up rows as R writes them: names of rows, factors, logicals, dates, missing values."""
    dice = random.Random(seed)
    lines = ['"","size","dose","group","smoker","day","age"']
    for k in range(count):
        group = dice.choice(groups)
        size = 10 + 3 * groups.index(group) + dice.gauss(0, 1)
        dose = "NA" if dice.random() < 0.05 else dice.choice(["0.5", "1", "2"])
        day = f"2024-{dice.randrange(1, 13):02}-{dice.randrange(1, 29):02}"
        lines.append(f'"{k + 1}",{size:.2f},{dose},"{group}",{dice.choice(["TRUE", "FALSE"])},{day},'
                     f'"{dice.choice(["25-34", "35-44", "75+"])}"')
    return "\n".join(lines) + "\n"


def names(got):
    return sorted(c["name"] for c in got.get("columns", []))


def noted(got, *words):
    return any(all(word in n for word in words) for n in got.get("notes", []))


def test_lookalikes():
    text("r.csv", lookalike(120, 2))
    text("r_made.csv", lookalike(1200, 102))
    got = answer("as R writes it", "r.csv", "r_made.csv", "--report", "r.html", code=0)
    check("categories, flags and dates are columns", names(got) == sorted(
        ["size", "dose", "group=low", "group=middle", "group=high", "smoker", "day", "age=25-34", "age=35-44",
         "age=75+"]), names(got))
    for words in (("first column of r.csv has no name",), ("group is a category", "3 columns"),
                  ("smoker: true and yes are read as 1",), ("day holds dates",), ("age is a category",),
                  ("rows of r.csv have a missing value", "dose"), ("rows of r_made.csv have a missing value",)):
        check(f"noted: {words[0]}", noted(got, *words), got.get("notes"))
        check(f"in the text: {words[0]}", words[0] in " ".join(npksd("r.csv", "r_made.csv").stdout.decode().split()))
        check(f"in the report: {words[0]}", words[0] in Path("r.html").read_text())
    check("rows are counted", got.get("observed_rows") == 120 and 100 < got["observed_rows_used"] < 120)
    check("as many missing values in both", not noted(got, "does not see"), got.get("notes"))
    text("r_complete.csv", "".join(line + "\n" for line in lookalike(1200, 102).splitlines() if ",NA," not in line))
    got = answer("missing values in one file only", "r.csv", "r_complete.csv", code=0)
    check("more missing values than chance makes",
          noted(got, "% of r.csv and 0 % of r_complete.csv. The test does not see"), got.get("notes"))
    # columns drawn by themselves: the dependence of size and group is gone
    cells = [line.split(",") for line in lookalike(1200, 3).splitlines()[1:]]
    dice = random.Random(4)
    for column in (1, 2, 3, 4, 5, 6):
        values = [row[column] for row in cells]
        dice.shuffle(values)
        for row, value in zip(cells, values):
            row[column] = value
    text("r_shuffled.csv", "\n".join(['"","size","dose","group","smoker","day","age"', *map(",".join, cells)]))
    got = answer("shuffled columns", "r.csv", "r_shuffled.csv", code=1)
    check("the pair is named", "size" in got.get("where", "") and "group=" in got["where"], got.get("where"))
    # values of both files; the same ones with a numeric column said to be a category
    text("r_other.csv", lookalike(1200, 5, ("low", "middle", "new")))
    got = answer("another category", "r.csv", "r_other.csv", code=1)
    check("values of both files", {"group=high", "group=new"} <= set(names(got)), names(got))
    got = answer("--categories", "r.csv", "r_made.csv", "--categories", "dose")
    check("--categories: numbers as values", {"dose=0.5", "dose=1", "dose=2"} <= set(names(got)), names(got))
    # numbers as values: 0.50, 0,5 and 5e-1 are 0.5, in files, programs and later recordings; keys are no numbers
    def doses(spellings, separator=",", count=600):
        dice = random.Random(count)
        return "dose" + separator + "x\n" + "".join(f"{dice.choice(spellings)}{separator}{dice.randrange(99)}\n"
                                                    for _ in range(count))
    text("dose.csv", doses(["0.5", "1", "2.25", "0"], count=60))
    for words in ("0.5 1 2.25 0", "0.50 1.00 2.25 -0.0", "0,5 1,0 2,25 0,0", "5.000e-01 1.000e+00 +2.2500e+00 0e0"):
        text("dose_made.csv", doses(words.split(), ";"))
        got = answer(f"doses {words}", "dose.csv", "dose_made.csv", "--categories", "dose", code=0)
        check(f"doses {words}: four", names(got) == ["dose=0", "dose=0.5", "dose=1", "dose=2.25", "x"], names(got))
    for other, want in (("dose 0", ["dose=0.5", "dose=0.50", "dose=dose 0", "dose=dose 1", "x"]),
                        ("12345678901234567890",
                         ["dose=0.5", "dose=12345678901234567890", "dose=12345678901234567891", "x"])):
        text("dose.csv", doses(["0.5", "0.50", other]))
        text("dose_made.csv", doses(["0.5", other[:-1] + "1"]))
        got = answer(f"doses and {other}", "dose.csv", "dose_made.csv", "--categories", "dose")
        check(f"doses and {other}: values", names(got) == want, names(got))
    for values in (["01234", "1234"], ["-12345678901234567", "-12345678901234569"], ['"1,000"', "0.50", "1", "10"],
                   ["1234567890123456.0", "1234567890123457.0"]):
        text("dose.csv", doses(values, count=60))
        text("dose_made.csv", doses(values))
        got = answer(f"doses {values}", "dose.csv", "dose_made.csv", "--categories", "dose", code=0)
        check(f"doses {values}: all differ", len(names(got)) == len(values) + 1, names(got))
    text("dose.csv", doses(['"1,000"', "0.50", "-0"], count=60))
    text("dose_made.csv", doses(['"1,000"', "0.5", "0"]))
    got = answer("doses beside 1,000", "dose.csv", "dose_made.csv", "--categories", "dose", code=0)
    check("doses beside 1,000: values", set(names(got)) == {"dose=0", "dose=0.5", "dose=1,000", "x"}, names(got))
    make = ("awk 'BEGIN { srand({seed}); print \"dose,x\"; while (i++ < {rows}) "
            "print (rand() < 0.5 ? \"0.5\" : \"1.0\") \",\" int(99 * rand()) }'")
    quick = ("--generator", make, "--categories", "dose", "--replicates", 39, "--fit-rows", 400, "--pilot", 20)
    for words in ("0.5 1", "0.50 1.00"):
        text("dose.csv", doses(words.split(), count=60))
        got = answer(f"doses of a program, {words}", "dose.csv", *quick)
        other = [c["observed_mean"] for c in got.get("columns", []) if c["name"] == "dose=(other)"]
        check(f"doses of a program, {words}: no other value", other == [0], got.get("columns"))
    text("dose_first.csv", doses(["0.5", "1"], count=60))
    npksd("--watch", "dose_first.csv", *quick, "--state", "dose.state")
    got = answer("doses of a recording", "--watch", "dose.csv", "--state", "dose.state", code=0)
    check("doses of a recording: none stands out", [r["column"] for r in got.get("list", [])] == ["", ""], got)
    refuse("a category that is not there", "--categories z: there is no such column", "r.csv", "r_made.csv",
           "--categories", "z")
    refuse("missing values if told so", "column 3 (dose): a missing value", "r.csv", "r_made.csv", "--missing",
           "refuse")
    many = "a,b\n" + "".join(f"word{k},{k * k % 17}\n" for k in range(40))
    text("many_words.csv", many)
    refuse("too many words", ['line 2, column 1 (a): "word0" is not a number, and with more than 20 different texts',
                              "--leave-out a", "--categories a"], "many_words.csv", "many_words.csv")
    got = answer("unless it is said", "many_words.csv", "many_words.csv", "--categories", "a")
    check("40 values", len(names(got)) == 41)


def test_numbered_columns():
    """A number is that of a column of the first file; other files are searched for its name."""
    dice = random.Random(17)
    def cells(count):
        return [[str(dice.randrange(3)), str(dice.randrange(4)), f"{dice.gauss(0, 1):.4f}"] for _ in range(count)]
    def table(file, rows, head):
        text(file, "\n".join([",".join(head), *map(",".join, rows)]) + "\n")
    head = ["map type", "level", "x"]
    rows = cells(1000)
    table("plan.csv", cells(100), head)
    table("plan_made.csv", rows, head)
    table("plan_other.csv", [[c, a, b] for a, b, c in rows], ["x", *head[:2]])
    table("plan_index.csv", [[str(k), *row] for k, row in enumerate(rows)], ["", *head])
    table("plan_twice.csv", [[c, b, a, b] for a, b, c in rows], ["x", "level", "map type", "level"])
    text("plan_bare.csv", "\n".join(map(",".join, rows)))
    for option, number, name in (("--categories", "1", "map type"), ("--leave-out", "2", "level"),
                                 ("--columns", "2-3", "level,x")):
        want = names(answer(f"{option} {name}", "plan.csv", "plan_made.csv", option, name))
        for file in ("plan_made.csv", "plan_other.csv", "plan_index.csv", "plan_bare.csv"):
            got = answer(f"{option} {number}, {file}", "plan.csv", file, option, number)
            check(f"{option} {number}, {file}: the columns of the first file", names(got) == want, names(got))
    # without names there may be just the columns in use, of a file or a program
    text("plan_used.csv", "\n".join(f"{a},{c}" for a, b, c in rows))
    make = ("awk 'BEGIN { srand({seed}); while (i++ < {rows}) print int(3 * rand()) \",\" rand() }'", "--replicates",
            39, "--fit-rows", 400, "--pilot", 20)
    for source in (("plan_used.csv",), ("--generator", *make)):
        got = names(answer(f"--leave-out 2, {source[0]}", "plan.csv", *source, "--leave-out", "2"))
        check(f"--leave-out 2, {source[0]}: the others are there", got == ["map type", "x"], got)
    make = "cat plan_other.csv | awk 'NR == 1 || NR < {rows} + 2'"
    got = npksd("plan.csv", "--generator", make, "--categories", "1", "--leave-out", "2", "--columns", "1,9")
    check("a number that no file has", b"--columns 9: there is no such column" in got.stderr, got.stderr)
    # the number of an advice is that of the first file as well, and it helps
    table("plan_words.csv", [[c, b, f"word{k}"] for k, (a, b, c) in enumerate(rows)], ["x", "level", "map type"])
    refuse("words in the other file", "--categories 1", "plan.csv", "plan_words.csv")
    said = refuse("words in the other file", "column 3 (map type)", "plan.csv", "plan_words.csv")
    check("the advice has the number of the first file", "--leave-out 1" in said, said)
    check("the advice helps", names(answer("--leave-out 1", "plan.csv", "plan_words.csv", "--leave-out", "1"))
          == ["level", "x"])
    # a number that is also a name
    for head in (["map type", "x", "1"], ["x", "x", "2"]):
        table("plan_words.csv", [[f"word{k}" if " " in head[0] else c, c, b] for k, (a, b, c) in enumerate(rows)], head)
        said = refuse(f"columns {head}", "--leave-out", "plan_words.csv", "plan_words.csv")
        word = re.search("--leave-out ([0-9-]+)", said)
        got = names(answer(f"columns {head}", "plan_words.csv", "plan_words.csv", "--leave-out", word and word[1]))
        check(f"columns {head}: the advice helps", got == sorted(["x", head[2]]), (word, got))
    said = refuse("a name twice in the other file", "both called \"level\"", "plan.csv", "plan_twice.csv")
    check("no number of the other file", "--leave-out" not in said, said)


def test_dates():
    def stamps(count, seed, format_day):
        dice = random.Random(seed)
        return "t,x\n" + "".join(f"{format_day(dice.randrange(28), dice.randrange(86400))},{dice.gauss(0, 1)!r}\n"
                                 for _ in range(count))
    def clock(s):
        return f"{s // 3600:02}:{s // 60 % 60:02}:{s % 60:02}"
    ways = {
        "days": (lambda d, s: f"2024-02-{d + 1:02}", "days since 1970-01-01", 19754 + 13.5),
        "seconds": (lambda d, s: f"2024-02-{d + 1:02}T{clock(s)}Z", "days since 1970-01-01", 19754 + 14),
        "blank": (lambda d, s: f"2024-02-{d + 1:02} {clock(s)}.25", "days since 1970-01-01", 19754 + 14),
        "zones": (lambda d, s: f"2024-02-{d + 1:02}T{clock(s)}+24:00", "days since 1970-01-01", 19754 + 13),
        "times": (lambda d, s: clock(s), "seconds since midnight", 43200),
    }
    for name, (way, words, mean) in ways.items():
        text("t.csv", stamps(80, 1, way))
        text("t_made.csv", stamps(800, 2, way))
        got = answer(f"dates: {name}", "t.csv", "t_made.csv", code=0)
        check(f"dates: {name}: noted", noted(got, words), got.get("notes"))
        t = [c for c in got.get("columns", [{}]) if c.get("name") == "t"][0]
        check(f"dates: {name}: value", abs(t["synthetic_mean"] - mean) < 4 * t["synthetic_sd"] / 28, t)
    text("t.csv", stamps(80, 1, lambda d, s: f"2024-02-{d % 9 + 1:02}"))
    text("t_made.csv", stamps(800, 2, ways["days"][0]))
    got = answer("other dates", "t.csv", "t_made.csv", code=1)
    check("the dates differ", "column t (mean lower" in got.get("where", ""), got.get("where"))
    check("means of dates are dates", re.search(r"sd: 2024-02-0\d against 2024-02-1\d, ", got.get("where", "")),
          got.get("where"))
    check("and in the table", re.search(r"^\* t .* 2024-02-0\d .* 2024-02-1\d ",
                                        npksd("t.csv", "t_made.csv").stdout.decode(), re.M))
    for day in ("1969-12-31", "2000-02-29", "2023-03-01", "2100-03-01", "0001-01-01"):
        text("t.csv", "t\n" + f"{day}\n" * 20)
        text("t_made.csv", "t\n" + "".join(f"2024-02-{k % 28 + 1:02}\n" for k in range(200)))
        got = answer(f"the day {day}", "t.csv", "t_made.csv", code=1)
        check(f"the day {day} is shown", f": {day} against 2024-02-14" in got.get("where", ""), got.get("where"))
    # the time of a frequent value, to the second
    for file, count, often in (("t.csv", 100, 100), ("t_made.csv", 1000, 2)):
        text(file, "t\n" + "".join(f"2024-02-01 {'09:40:01' if k % often == 1 else f'{k * 7 % 24:02}:30:00'}\n"
                                   for k in range(count)))
    got = answer("a stuck clock", "t.csv", "t_made.csv", code=1)
    check("a stuck clock: its time", ", value 2024-02-01 09:40:01 in 1 % of the rows against 50 %"
          in got.get("where", ""), got.get("where"))
    dice = random.Random(8)
    for file, count, share in (("t.csv", 100, 0.1), ("t_made.csv", 1000, 0.5)):
        text(file, "colour,size\n" + "".join(
            f"{'red' if dice.random() < share else dice.choice(['blue', 'green'])},{dice.gauss(0, 1)!r}\n"
            for _ in range(count)))
    got = answer("a share", "t.csv", "t_made.csv", code=1)
    check("shares are said as such", re.search(r"colour=red \(\d+ % against [45]\d(\.\d)? %\)", got.get("where", "")),
          got.get("where"))
    check("pairs of one category are not listed", got.get("pairs") and all(
        "size" in (pair["first"], pair["second"]) for pair in got["pairs"]), got.get("pairs"))


def test_hints():
    """Categories that look like something else: a whole sentence says what to write instead."""
    for values, words in ((("[0,10)", "[10,20)"), "give each of its numbers a column"),
                          (("6:30 PM", "7:30 PM"), "write times with 24 hours, 18:30:00 for 6:30 PM"),
                          (("05-Nov-2024", "06-Nov-2024"), "write dates as 2024-05-31 or 2024-05-31 18:30:00"),
                          (("1:36.867", "1:40.100"), "it looks like a duration; write it in seconds"),
                          (("1'000", "2'000"), "remove the marks for thousands"),
                          (("$1", "$2"), "remove the $")):
        for name, count in (("hint.csv", 60), ("hint_made.csv", 600)):
            text(name, "k,x\n" + "".join(f'"{values[k % 2]}",{x!r}\n'
                                         for k, (x,) in enumerate(normal_rows(count, 1, count))))
        got = answer(f"a hint for {values[0]}", "hint.csv", "hint_made.csv")
        whole = f'Column k: "{values[0]}" is not a number: {words}, if it is not meant as a category.'
        check(f"a hint for {values[0]}: all of it", whole in got.get("notes", []), got.get("notes"))


def test_dialects_of_programs():
    """What spreadsheets and other programs write."""
    rows, made = normal_rows(60, 2, 2, 1.0), normal_rows(600, 2, 3)
    want = answer("plain", "other.csv", "made.csv").get("statistic")
    comma = csv(rows, NAMES, ";").replace(".", ",")
    forms = {
        "decimal commas": comma,
        "sep=;": "sep=;\n" + comma,
        "decimal commas between tabs": csv(rows, NAMES, "\t").replace(".", ","),
        "comment lines": "# made by\n# a program\n" + csv(rows, NAMES),
        "names in a comment": "# a,b\n" + csv(rows),
        "flags and numbers": csv(rows, NAMES),
    }
    for name, content in forms.items():
        text("form.csv", content)
        got = answer(name, "form.csv", "made.csv", code=1)
        check(f"{name}: the same answer", got.get("statistic") == want, got.get("statistic"))
    text("form.csv", forms["comment lines"])
    check("comments are noted", noted(answer("comments", "form.csv", "made.csv"), "2 comment lines at the top"))
    twice = answer("comments twice", "form.csv", "form.csv").get("notes", [])
    check("comments of a file that is named twice are noted once", len(set(twice)) == len(twice)
          and sum("2 comment lines" in n for n in twice) == 1, twice)
    text("flags.csv", "x,ok\n" + "".join(f"{x!r},{'yes' if y > 0 else 'No'}\n" for x, y in rows))
    text("flags_made.csv", "x,ok\n" + "".join(f"{x!r},{int(y > 0)}\n" for x, y in made))
    got = answer("flags against 0 and 1", "flags.csv", "flags_made.csv", code=1)
    check("one column of flags", names(got) == ["ok", "x"], names(got))
    text("words_none.csv", "x,size\n" + "".join(f"{x!r},{'none' if y > 0 else 'some'}\n" for x, y in rows))
    check("none is a word among words", "size=none" in names(answer("none", "words_none.csv", "words_none.csv")))
    text("header.csv", "a,2020\n" + csv(rows))
    text("header_made.csv", "a,2020\n" + csv(made))
    got = answer("a word above numbers", "header.csv", "header_made.csv")
    check("a word above numbers: the line is names", names(got) == ["2020", "a"] and got["statistic"] == want)


def both_ways(name, form, *words, code=0, arguments=()):
    """form(count, seed) makes a file; the answer for two of them, and whether these words are noted."""
    text("way.csv", form(60, 1))
    text("way_made.csv", form(600, 2))
    got = answer(name, "way.csv", "way_made.csv", *arguments, code=code)
    for word in words:
        check(f"{name}: noted: {word}", noted(got, word), got.get("notes"))
    return got


def test_exports():
    """Lines and columns that other programs add."""
    def rows_of(first, line):
        return lambda count, seed: first + "".join(line(k, x, y) for k, (x, y) in
                                                   enumerate(normal_rows(count, 2, seed)))

    # pandas names the columns of an array 0, 1, 2, ...
    plain = both_ways("plain", rows_of("a,b\n", lambda k, x, y: f"{x!r},{y!r}\n"))
    words = "Line 1 of way.csv (0,1,2,...) was taken as numbers of columns"
    got = both_ways("pandas", rows_of(",0,1\n", lambda k, x, y: f"{k},{x!r},{y!r}\n"), words)
    check("pandas: names", names(got) == ["0", "1"] and got["statistic"] == plain["statistic"], got)
    got = both_ways("pandas without index", rows_of("0,1\n", lambda k, x, y: f"{x!r},{y!r}\n"), words)
    check("pandas without index: rows", got.get("observed_rows") == 60 and got["statistic"] == plain["statistic"])
    got = both_ways("a first row of 0,1", rows_of("0,1\n", lambda k, x, y: f"{x!r},{y!r}\n"),
                    arguments=["--no-header"])
    check("a first row of 0,1: data if told so", got.get("observed_rows") == 61 and not noted(got, "0,1,2"))
    both_ways("pandas, one column", rows_of(",0\n", lambda k, x, y: f"{k},{x!r}\n"), words)
    got = both_ways("one column", rows_of("0\n", lambda k, x, y: f"{x!r}\n"))
    check("one column: 0 is data", got.get("observed_rows") == 61)
    make = "awk 'BEGIN {{ srand({{seed}}); {} while (i++ < {{rows}}) print int(2 * rand()) \",\" rand() }}'"
    text("way.csv", csv([[k % 2, (x * x) % 1] for k, (x,) in enumerate(normal_rows(60, 1, 1))], NAMES))
    for line in ("", 'print "0,1";'):
        got = answer("rows of a program are counted", "way.csv", "--generator", make.format(line), "--replicates", 39)
        check("columns of a program have the names of the recording", names(got) == NAMES, names(got))
    text("way.csv", csv(normal_rows(60, 2, 1), NAMES))
    text("way_made.csv", csv(normal_rows(600, 2, 2), ["0", "1"]))
    got = answer("numbers and names of columns", "way.csv", "way_made.csv")
    check("numbers and names: by position", names(got) == NAMES and noted(got, "matched by position"), got.get("notes"))

    # a large key that is the same everywhere counts nothing
    got = both_ways("one large key", rows_of("key,a\n", lambda k, x, y: f"1234567890123456789,{x!r}\n"),
                    "Constant, with the same value on both sides")
    check("one large key: no counter", names(got) == ["a", "key"] and not noted(got, "counts the rows"), got["notes"])

    # columns without names
    got = both_ways("a spreadsheet", rows_of("a,b,,\n", lambda k, x, y: f"{x!r},{y!r},,\n"),
                    "2 columns of way.csv have neither a name nor values and were left out")
    check("a spreadsheet: the same answer", got.get("statistic") == plain["statistic"])
    both_ways("a comma too many", rows_of("a,b,\n", lambda k, x, y: f"{x!r},{y!r},\n"),
              "1 column of way.csv has neither a name nor values and was left out")
    got = both_ways("R's write.table", rows_of('"a"\t"b"\n', lambda k, x, y: f'"{k + 1}"\t{x!r}\t{y!r}\n'),
                    "The first column of way.csv has no name")
    check("R's write.table: the same answer", got.get("statistic") == plain["statistic"] and names(got) == NAMES)

    # one file with names, one without
    text("way_made.csv", csv(normal_rows(600, 2, 3)))
    check("matched by position", noted(answer("names in one", "same.csv", "way_made.csv"),
                                       "way_made.csv has no names of columns: they were matched by position."))

    # NA is missing in a category, and a value if told so
    regions = rows_of("region,x\n", lambda k, x, y: f"{['NA', 'EU', 'ASIA', ''][k % 4]},{x!r}\n")
    got = both_ways("a region NA", regions,
                    'Column region: "NA" was taken as a missing value; --categories region keeps it.')
    check("a region NA: left out", got.get("observed_rows_used") == 30 and "region=NA" not in names(got), names(got))
    got = both_ways("a region NA, kept", regions, "15 of the 60 rows of way.csv have a missing value",
                    arguments=["--categories", "region"])
    check("a region NA, kept: a value", "region=NA" in names(got) and not noted(got, "keeps it"), got.get("notes"))
    for file, first in (("way.csv", "region,x\n"), ("way_made.csv", "")):
        text(file, rows_of(first, lambda k, x, y: f"{[1, 'NA', 2][k % 3]},{x!r}\n")(60, len(first)))
    got = answer("a region NA without names", "way.csv", "way_made.csv", "--categories", "region")
    check("a region NA without names: a value", "region=NA" in names(got) and not noted(got, "missing"),
          got.get("notes"))

    # rows that a column with gaps costs
    for gaps, said in ((31, True), (30, False)):
        got = both_ways(f"{gaps} gaps", lambda count, seed: "a,b\n" + "".join(
            f"{x!r},{'' if k < count * gaps // 60 else y}\n" for k, (x, y) in enumerate(normal_rows(count, 2, seed))))
        check(f"{gaps} gaps: advice", noted(got, "To keep more rows, leave such columns out with --leave-out.") == said,
              got.get("notes"))

    # grammar of missing values
    both_ways("one gap", lambda count, seed: csv(normal_rows(count, 2, seed)) + "1,\n",
              "1 of the 61 rows of way.csv has a missing value and was left out (column 2: 1 row).")

    # decimal commas are said; marks for thousands are not taken for them
    both_ways("decimal commas", rows_of("a;b\n", lambda k, x, y: f"{x:.2f};{y:.2f}\n".replace(".", ",")),
              'Numbers of way.csv have decimal commas: "1,29" is read as 1.29.')
    for separator, mark in ((";", ","), ("\t", ","), (";", "."), (",", ".")):
        text("bad.csv", f"a{separator}b\n" + f"2{mark}180{separator}1\n999{separator}2\n12{mark}000{separator}3\n")
        refuse(f"thousands with {mark} between {separator}",
               [f'line 2, column 1 (a): "2{mark}180" is 2180 with a mark for thousands, but 2.18 with a decimal mark',
                '"999" in line 3 has none', "Remove the marks for thousands", f"999{mark}000"], "bad.csv", "made.csv")
    text("bad.csv", "a\n2.180\n999\n")
    make = "awk 'BEGIN { srand({seed}); while (i++ < {rows}) print rand() }'"
    refuse("thousands in a recording", '"2.180" is 2180', "bad.csv", "--generator", make)
    for name, cells in (("three decimals", ["0.125", "1.250", "100"]), ("small numbers", ["1.250", "2"]),
                        ("decimals everywhere", ["2.180", "999.000"]), ("other decimals", ["2.180", "999", "2.5"]),
                        ("large numbers", ["2.180", "999", "2180"]), ("powers", ["2.180", "1e3"])):
        answer(name, text("way.csv", "a\n" + "\n".join(cells * 30)), "way.csv")

    # lists and hints
    check("blanks in a list", names(answer("blanks in a list", "same.csv", "made.csv", "--columns", "a , b")) == NAMES)
    for name in ("Player Note", "pos (x,y)", "$1", "gr\u00f6\u00dfe"):
        quoted = '"' + name + '"'
        text("bad.csv", f"a,{quoted}\n" + "".join(f"{k},w{k}\n" for k in range(30)))
        refuse(f"words in {name}", [f"column 2 ({name})", "--leave-out 2; or", "--categories 2\n"], *["bad.csv"] * 2)
        text("bad.csv", f"a,{quoted}\n1,2\n3,x\n4,y\n")
        refuse(f"a word in {name}", ["--leave-out 2, or", "--categories 2\n"], "bad.csv", "bad.csv")

    # what is wrong, and what to do
    def bad(name, words, content, other="made.csv"):
        text("bad.csv", content)
        refuse(name, words, "bad.csv", other)
    bad("a title", "line 2: 2 fields, but line 1 has 1. Is that a title? Remove it", "My table\na,b\n1,2\n")
    bad("a title above semicolons", "Is the first line a title? Remove it", "My table\na;b\n1;2\n3;4\n")
    bad("a title above decimal commas", "line 3: 2 fields, but line 1 has 1. Is that a title?", "Title\na;b\n1;2,5\n")
    bad("one column of decimal commas", "line 2: 2 fields, but line 1 has 1. Decimal commas?", "a\n1,5\n")
    bad("names of rows", "line 2: 3 fields, but line 1 has 2. Names of rows?", "a,b\nx,1,2\ny,3,4\n")
    bad("a separator at the end", "line 2: 3 fields, but line 1 has 2. A separator at the end", "a,b\n1,2,\n3,4,\n")
    bad("semicolons at the end", "line 2: 3 fields, but line 1 has 2. A separator at the end", "a;b\n1;2;\n3;4;\n")
    for mark in ("#", "//"):
        bad(f"a comment {mark}", "line 3: 1 field, but line 1 has 2. A comment? Remove it",
            f"a,b\n1,2\n{mark} x\n3,4\n")
    bad("a comma in a text", "line 3: 3 fields, but line 1 has 2. A separator inside a field?", "a,b\n1,x\n3,x,y\n")
    bad("a short line", "line 3: 2 fields, but line 1 has 3. Fill in what is missing", "a,b,c\n1,2,3\n4,5\n")
    bad("units", ['line 2, column 1 (a): "m/s" is not a number', "A second line of names or units? Remove line 2"],
        "a,b\nm/s,kg\n1,2\n3,4\n")
    text("units.csv", "a,b\nm/s,kg\n1,2\n3,4\n")
    bad("units in both", "A second line of names or units? Remove line 2", "a,b\nm/s,kg\n1,2\n3,4\n", "units.csv")
    text("bad.csv", "a,b\n1,2\nx,4\n")
    check("a word below is no unit", b"units?" not in npksd("bad.csv", "made.csv").stderr)
    for name, content in (("lines", '{"a": 1, "b": 2}\n{"a": 3, "b": 4}\n'), ("records", '[\n {"a": 1},\n {"a": 2}]\n'),
                          ("arrays", "[[1, 2], [3, 4]]\n")):
        bad(f"JSON {name}", "bad.csv: this is JSON; save it as CSV", content)
    both_ways("names in brackets", rows_of("[m],[kg]\n", lambda k, x, y: f"{x!r},{y!r}\n"))
    bad("bars", ["Columns are separated by commas, semicolons or tabs", "|"], "a|b\n1|2\n3|4\n")
    text("words_made.csv", "colour,b\n" + "red,1\nblue,2\n" * 20)
    bad("names in the other file", "add that line to bad.csv", "red,1\nblue,2\n" * 20, "words_made.csv")


def test_newcomers():
    """Files that people have, with what other programs wrote into them."""
    def cells(of):
        """A file of (dice, number of the row) -> first cell, and a column of numbers."""
        def form(count, seed):
            dice = random.Random(seed + 40)
            return "t,x\n" + "".join(f"{of(dice, k)},{dice.gauss(0, 1):.4f}\n" for k in range(count))
        return form

    def clock(of):
        return cells(lambda dice, k: of(dice.randrange(1, 29), dice.randrange(24), dice.randrange(60)))

    # zones and short hours
    for zone in (" UTC", " GMT", " +0000", "Z"):
        got = both_ways(f"a zone {zone}", clock(lambda d, h, m: f"2024-02-{d:02} {h:02}:{m:02}:00{zone}"),
                        "Column t holds dates")
        means = {c["name"]: c["observed_mean"] for c in got.get("columns", [])}
        check(f"a zone {zone}: value", abs(means.get("t", 0) - 19768) < 4, means)
    text("way.csv", "t\n" + "2024-02-01 12:00:00 +0200\n2024-02-01 10:00:00 UTC\n2024-02-01 08:00:00 -02:00\n" * 5)
    text("way_made.csv", "t\n" + "".join(f"2024-02-{k % 28 + 1:02}\n" for k in range(200)))
    got = answer("zones are one time", "way.csv", "way_made.csv", code=1)
    check("zones are one time: no spread", got.get("columns", [{}])[0].get("observed_sd") == 0
          and abs(got["columns"][0]["observed_mean"] - 19754 - 10 / 24) < 1e-6, got.get("columns"))
    both_ways("hours of one digit", clock(lambda d, h, m: f"{h}:{m:02}"), "Column t holds times of day")
    both_ways("days with such hours", clock(lambda d, h, m: f"2024-02-{d:02} {h}:{m:02}"), "Column t holds dates")
    text("way.csv", "t\n" + "".join(f"2024-02-01 0{k % 2}:00\n" for k in range(60)))
    text("way_made.csv", "t\n" + "".join(f"2024-02-01 0{4 + k % 2}:00\n" for k in range(600)))
    where = answer("times of one day", "way.csv", "way_made.csv", code=1).get("where", "")
    check("times of one day are said", ": 2024-02-01 00:30:00 against 2024-02-01 04:30:00, " in where, where)

    # missing values of databases and pandas
    for word in ("\\N", "NaT", "<NA>"):
        both_ways(f"a missing {word}", cells(lambda dice, k: word if k % 10 == 0 else f"{dice.gauss(0, 1):.3f}"),
                  "6 of the 60 rows of way.csv have a missing value")

    # pandas writes whole numbers with .0 if a value is missing
    text("way.csv", cells(lambda dice, k: "" if k == 7 else dice.choice(["1.0", "2.0", "-3.00"]))(60, 1))
    text("way_made.csv", cells(lambda dice, k: dice.choice(["1", "2", "-3"]))(600, 2))
    got = answer("1.0 is the category 1", "way.csv", "way_made.csv", "--categories", "t", code=0)
    check("1.0 is the category 1: names", names(got) == ["t=-3", "t=1", "t=2", "x"], names(got))
    text("way.csv", cells(lambda dice, k: dice.choice(["1.10", "1.5.0", "x.0"]))(60, 1))
    got = answer("other texts stay", "way.csv", "way.csv", "--categories", "t")
    check("other texts stay: names", names(got) == ["t=1.10", "t=1.5.0", "t=x.0", "x"], names(got))

    # words in the encoding of an old spreadsheet, keys that look like 12e345678, quoted blanks
    colours = cells(lambda dice, k: dice.choice(["gr\u00fcn", "wei\u00df", "<\u00a3>"]))
    text("way.csv", colours(60, 1).encode("latin-1"))
    text("way_made.csv", colours(600, 2))
    got = answer("Latin-1 beside UTF-8", "way.csv", "way_made.csv", code=0)
    check("Latin-1 beside UTF-8: names", names(got) == ["t=<\u00a3>", "t=gr\u00fcn", "t=wei\u00df", "x"], names(got))
    text("bad.csv", "key,x\n" + "".join(f"{k}a{k * k:04x},{k}\n" for k in range(40)) + "29580e0850847,5\n")
    refuse("keys", ['line 2, column 1 (key): "0a0000" is not a number', "--leave-out key"], "bad.csv", "bad.csv")
    got = both_ways("quoted blanks", cells(lambda dice, k: f'"  {dice.gauss(0, 1):.3f} "'))
    check("quoted blanks: a number", names(got) == ["t", "x"], names(got))

    # line 1
    got = both_ways("years above the columns", lambda count, seed: csv(normal_rows(count, 2, seed), ["2019", "2020"]),
                    "Line 1 of way.csv and of way_made.csv is the same and was read as data", "say --header")
    check("years are data", got.get("observed_rows") == 61)
    got = both_ways("years, --header", lambda count, seed: csv(normal_rows(count, 2, seed), ["2019", "2020"]),
                    arguments=["--header"])
    check("years are names if told so", names(got) == ["2019", "2020"] and not noted(got, "Line 1"), got.get("notes"))
    text("bare.csv", csv(normal_rows(60, 2, 2)))
    check("one file twice has one line 1", not noted(answer("twice", "bare.csv", "bare.csv"), "Line 1 of"))
    text("bad.csv", "2024-01-01,2024-02-01\n" + csv(normal_rows(60, 2, 1)))
    refuse("dates above the columns", ['line 1, column 1 (1): "2024-01-01" is a date',
                                       "If line 1 holds the names of the columns, say --header"], "bad.csv", "bad.csv")
    words = "red\nblue\nred\n" + "blue\nred\n" * 20
    text("way.csv", words)
    got = answer("words without a name", "way.csv", "way.csv")
    check("words without a name are noted", noted(got, "Line 1 of way.csv was taken as names", "--no-header"),
          got.get("notes"))
    text("way_made.csv", words[4:])
    refuse("words without a name", ['has a column "red", way_made.csv has none', "--no-header if line 1 is data"],
           "way.csv", "way_made.csv")
    text("bad.csv", "red,red\n" * 20)
    refuse("words twice", ["both called", "Rename one, or leave one out: --leave-out 2, or say --no-header if line 1"],
           "bad.csv", "bad.csv")
    text("bad.csv", "a,a\n1,2\n3,4\n")
    check("names above numbers are no data", "--no-header" not in refuse("a name twice", "both called", "bad.csv",
                                                                         "bad.csv"))
    for first in ("\n", "\r\n\r\n", "# made by\n\n", "\n# made by\n"):
        got = answer("empty lines at the top", text("way.csv", first + csv(normal_rows(60, 2, 2, 1.0), NAMES)),
                     "made.csv", code=1)
        check(f"empty lines at the top {first!r}", names(got) == NAMES and got["observed_rows"] == 60, got)
    text("bad.csv", "\n\na,b\n1,2\n3,x\n4,5\n")
    refuse("a word below empty lines", "bad.csv, line 5, column 2 (b)", "bad.csv", "made.csv")

    # marks and times that are not read
    for cell in ("68'121", "39 998", "1.234.567", "-7\u00a0123,5", "12\u202f345", "1\u2019234.5"):
        text("bad.csv", f'a,b\n"{cell}",2\n3,4\n')
        refuse(f"{cell} among numbers", f'is not a number: remove the marks for thousands, or', "bad.csv", "made.csv")
    for cell in ("10.0.0.1", "1234 567", "12 34", "1'23"):
        text("bad.csv", f"a,b\n{cell},2\n3,4\n")
        check(f"{cell} has no marks", "marks" not in refuse(f"{cell} among numbers", "is not a number", "bad.csv",
                                                            "made.csv"))
    text("bad.csv", "a,b\n6:30 PM,2\n11:59:00 am,4\n" + "".join(f"1:{k} AM,3\n" for k in range(10, 40)))
    refuse("half days", 'column 1 (a): "6:30 PM" is not a number: write times with 24 hours', "bad.csv", "bad.csv")

    # which column?
    for file, item in (("same.csv", "9"), ("same.csv", "2-9"), ("bare.csv", "9"), ("bare.csv", "size")):
        for option in ("--columns", "--leave-out", "--categories"):
            said = refuse(f"{option} {item}", f"{option} {item}: there is no such column; the columns of {file} are "
                          "numbered from 1 to 2", file, file, option, item)
            check(f"{option} {item}: no nearest name", "nearest" not in said, said)
    many = text("bad.csv", "a,b\n" + "".join(f"w{k},{k * k % 17}\n" for k in range(1001)))
    refuse("1001 values", "--categories a: more than 1000 different values. Leave the column out: --leave-out a", many,
           many, "--categories", "a")
    refuse("standard input twice", "standard input can be read only once", "-", "-", stdin=b"a\n1\n2\n")
    text("bad.csv", csv(normal_rows(60, 2, 2), NAMES).encode("utf-16-le"))
    refuse("UTF-16 without a mark", "or one in UTF-16: save it as CSV in UTF-8", "bad.csv", "made.csv")


def test_more_newcomers():
    """Files and programs of a later round."""
    def bad(name, words, content, other="made.csv", *arguments):
        text("bad.csv", content)
        return refuse(name, words, "bad.csv", other, *arguments)

    def cells(of):
        """A file whose first column is made by (dice, number of the row)."""
        def form(count, seed):
            dice = random.Random(seed)
            return "t,x\n" + "".join(f"{of(dice, k)},{dice.gauss(0, 1):.3f}\n" for k in range(count))
        return form

    def suggested(said):
        return re.findall(r"--leave-out [\w,]+|$", said)[0].split()

    # no tables at all
    for begins, words in ((b"\x1f\x8b\x08", "a gzip file; unpack it (gunzip)"), (b"BZh9", "a bzip2 file"),
                          (b"\xfd7zXZ\0", "an xz file"), (b"\x28\xb5\x2f\xfd", "a zstd file"),
                          (b"\xd0\xcf\x11\xe0", "an old spreadsheet (.xls)"), (b"PAR1\x15\x04", "a Parquet file"),
                          (b"\x89HDF\r\n", "an HDF5 file"), (b"SQLite format 3\0", "a database"),
                          (b"MATLAB 5.0 MAT-file, Platform", "a MATLAB file"), (b"%PDF-1.4\n", "a PDF file"),
                          (b"<!DOCTYPE html>\n<html>", "a web page"), (b"<?xml version", "an XML file")):
        bad(words, f"bad.csv: this is {words}", begins + b"\n1,2\n3,4\n")
    both_ways("names that begin like a format", lambda count, seed: csv(normal_rows(count, 2, seed), ["PAR1", "PAR2"]))
    bad("a list of Python", "this is JSON; save it as CSV, each row as 1.5,2.5 without brackets", "[1.5, 2.5]\n" * 9)
    bad("a dictionary of Python", "this is JSON", "{'a': 1.5}\n" * 9)
    log = "".join(f"[12:30:{k}] frame {k * k} ms\n" for k in range(10, 59))
    bad("a log file", ["separate them by commas, semicolons or tabs"], "line\n" + log, "bad.csv")
    check("a log file is no JSON", b"JSON" not in npksd(text("bad.csv", log), "made.csv").stderr)
    bad("blanks between words and numbers", "If these are several columns, separate them by commas",
        "who x\n" + "".join(f"bob {k * k}\n" for k in range(40)), "bad.csv")

    # names of rows between commas; names in a comment above words; the names again
    plain = both_ways("plain", lambda count, seed: csv(normal_rows(count, 2, seed), NAMES))
    got = both_ways("R's write.table with commas", lambda count, seed: '"a","b"\n' + "".join(
        f'"{k + 1}",{x!r},{y!r}\n' for k, (x, y) in enumerate(normal_rows(count, 2, seed))),
        "The first column of way.csv has no name")
    check("R's write.table with commas: the same answer", got.get("statistic") == plain["statistic"], got)
    bad("a word in quotes and a decimal comma", "line 2: 3 fields, but line 1 has 2.", 'a,b\n"bob",1,5\n"ann",2,5\n')
    got = both_ways("words below a comment", lambda count, seed: cells(lambda dice, k: dice.choice(["bob", "ann"]))(
        count, seed).replace("t,x", "#t,x"))
    check("words below a comment: names", names(got) == ["t=ann", "t=bob", "x"], names(got))
    bad("two files in one", ['line 4, column 1 (a): "a" is not a number', "names stands there again: remove it"],
        "a,b\n1,2\n3,4\na,b\n5,6\n")

    # missing values of spreadsheets, databases, C
    for word in ("#DIV/0!", "#WERT!", "#NV", "#NULL!", "(null)", "[NULL]", "-nan(ind)", "n.a.", "undefined", "unknown"):
        both_ways(f"a missing {word}", cells(lambda dice, k: word if k % 10 == 0 else f"{dice.gauss(0, 1):.3f}"),
                  "6 of the 60 rows of way.csv have a missing value")
    both_ways("a day 0", cells(lambda dice, k: "0000-00-00" if k == 3 else f"2024-05-{dice.randrange(10, 30)}"),
              "1 of the 60 rows of way.csv has a missing value")

    # units, durations, dates: what to do
    for cell, hint in (("{} ms", "remove the ms and use one unit in all rows"), ("{}kg", "remove the kg and"),
                       ("\u00a5{}", "remove the \u00a5,"), ("'{}'", "remove the '',"), ("{}*", "remove the *,"),
                       ("({})", "write -1100 if it is negative"), ("\u2212{}", "write the minus sign as -"),
                       ("(${})", "write -1100 if it is negative"), ("-${}", "write -1100, or"),
                       ("- {}", "write -1100, or"), ("--{}", "remove the -,"),
                       ("np.float64({})", "print float(x), not NumPy's repr"), ("1:36.{}", "it looks like a duration"),
                       ("37:{1}:00", "it looks like a duration"), ("2 days 00:00:{1}", "it looks like a duration"),
                       ("PT{}M", "it looks like a duration"), ("05-Nov-{}", "write dates as 2024-05-31"),
                       ("November 5 {}", "write dates as"), ("1100-5-{1}", "it looks like a date; write 1100-05-10"),
                       ("{}-10", "it looks like a month; write 1100-10-01"),
                       ("{}-10-01 12:00 CET", "write the time zone as +01:00"),
                       ('"({}, 2.5)"', "give each of its numbers a column"), ("X={} Y=2.5", "give each of its")):
        form = "t,x\n" + "".join(f"{cell.format(1100 + 7 * k, 10 + k)},{k * k}\n" for k in range(40))
        bad(f"cells {cell}", f'is not a number: {hint}', form, "bad.csv")
    for cell in ("a{}", "{}ff", "0xAB{}", "{}+", "{}/7", "10.0.0.{}", "2024-W{}", "{}_5", "Mario {}"):
        form = "t,x\n" + "".join(f"{cell.format(100 + 7 * k)},{k * k}\n" for k in range(40))
        bad(f"keys {cell}", 'is not a number, and with more than 20 different texts', form, "bad.csv")
    got = both_ways("2D and none", cells(lambda dice, k: dice.choice(["2D", "3D", "none"])))
    check("2D and none: no unit is meant", not noted(got, "is not a number"), got.get("notes"))

    both_ways("a mark of DOS at the end", lambda count, seed: csv(normal_rows(count, 2, seed), NAMES) + "\x1a")
    for mark in ("\u00a0", "\ufeff", "\u200b"):
        bad(f"a hidden {ord(mark):x}", "is not a number: remove the invisible characters",
            f"a,b\n1,2\n{mark}3,4\n5,6\n")
    words = cells(lambda dice, k: dice.choice(["d\u2019or", "\u20ac", "\u201cx\u201d", "\u00e9", "\u0178", "\u2013"]))
    text("way.csv", words(60, 1).encode("cp1252"))
    text("way_made.csv", words(600, 2))
    got = answer("words of Windows beside UTF-8", "way.csv", "way_made.csv", code=0)
    check("words of Windows beside UTF-8: six", len(names(got)) == 7, names(got))

    # all columns that have to go, at once; suggested commands work
    keys = "key,who,x\n" + "".join(f"{k}a{k * k:04x},p{k},{x}\n" for k, (x,) in enumerate(normal_rows(60, 1, 7)))
    said = bad("two columns of keys", "Leave them out: --leave-out key,who; or say that they are categories: "
               "--categories key,who", keys, "bad.csv")
    got = answer("two columns of keys, as suggested", "bad.csv", "bad.csv", *suggested(said))
    check("two columns of keys, as suggested: columns", names(got) == ["x"], names(got))
    text("extra.csv", csv(normal_rows(60, 4, 3), ["a", "only_here", "b", "too"]))
    text("extra_made.csv", csv(normal_rows(600, 3, 4), ["b", "only_there", "a"]))
    said = refuse("columns of one file", "(--leave-out only_here,too,only_there), or choose", "extra.csv",
                  "extra_made.csv")
    got = answer("columns of one file, as suggested", "extra.csv", "extra_made.csv", *suggested(said))
    check("columns of one file, as suggested: columns", names(got) == NAMES, names(got))
    text("extra_made.csv", csv(normal_rows(600, 3, 4), ["b", "only there", "a"]))
    refuse("a name that a shell would tear", "(--leave-out), or choose", "extra.csv", "extra_made.csv")
    for file, count in (("twice.csv", 60), ("twice_made.csv", 600)):
        text(file, csv([[x, y, 5 + z] for x, y, z in normal_rows(count, 3, count)], ["a", "b", "a"]))
    said = refuse("a name twice", "columns 1 and 3 are both called", "twice.csv", "twice_made.csv")
    for choice, want in ((suggested(said), [0, 0]), (["--leave-out", "1"], [0, 5]),
                         (["--leave-out", "a"], [0]), (["--columns", "2,3"], [0, 5])):
        got = answer(f"a name twice, {choice}", "twice.csv", "twice_made.csv", *choice, code=0)
        means = sorted(round(c["observed_mean"]) for c in got.get("columns", []))
        check(f"a name twice, {choice}: columns", means == want, means)
    refuse("a name twice, both chosen", "are both called", "twice.csv", "twice_made.csv", "--columns", "a")
    got = answer("a name twice to watch", "--watch", "twice.csv", "--synthetic", text("twice_nights.csv", csv(
        [[x, y, 5 + z] for x, y, z in normal_rows(60 * 232, 3, 5)], ["a", "b", "a"])), "--leave-out", 1, "--fit-rows",
        400, "--pilot", 20, "--replicates", 199, code=0)
    check("a name twice to watch: the right one", got.get("list", [{"p": 0}])[0]["p"] > 0.05, got.get("list"))

    # R writes spans of time with a point, whatever else has commas
    bad("commas and a point", ['line 2, column 1 (a): "1,5" has a decimal comma, but "2.5" in line 3, column 2 (b) has',
                               "--leave-out b"], "a;b\n1,5;2\n3;2.5\n")

    # clocks
    for name, clock in (("seconds", lambda k: f"{k / 60:.2f}"), ("dates", lambda k: f"{2000 + k // 2}-01-01"),
                        ("downwards", lambda k: f"{-3 * k}"), ("sessions", lambda k: k // 20)):
        both_ways(f"a clock: {name}", cells(lambda dice, k: clock(k)), "Column t only rises or only falls", code=1)
    got = both_ways("a clock that is left out", cells(lambda dice, k: k / 60), arguments=["--leave-out", "t"])
    check("a clock that is left out: no note", not noted(got, "only rises"), got.get("notes"))
    for file, count in (("way.csv", 60), ("way_made.csv", 600)):
        text(file, cells(lambda dice, k: 3 * k // count)(count, count))
    got = answer("sorted labels", "way.csv", "way_made.csv", code=0)
    check("sorted labels are no clock", not noted(got, "only rises"), got.get("notes"))
    check("no clock, no note", not noted(plain, "only rises"), plain.get("notes"))

    # programs
    text("way.csv", csv(normal_rows(60, 2, 1), NAMES))
    serve = ("import random, sys\nfirst = True\nfor line in sys.stdin:\n    rows, seed = map(int, line.split())\n"
             "    dice = random.Random(seed)\n    if first:\n        print('{}')\n    first = False\n"
             "    for _ in range(rows):\n        print({})\n    print(flush=True)\n")
    quick = ("--replicates", 39, "--fit-rows", 400, "--pilot", 20)
    run = ("way.csv", "--server", f"{sys.executable} -S serve.py", *quick)
    text("serve.py", serve.format("b,a", "dice.gauss(9, 1), dice.gauss(0, 1), sep=','"))
    refuse("names in another order, printed once", ["another order than way.csv", "print them every time"], *run)
    text("serve.py", serve.format("a,b", "dice.gauss(0, 1), dice.gauss(0, 1), sep=','"))
    answer("names printed once", *run, code=0)
    text("serve.py", serve.format("a,b", "dice.gauss(0, 1), dice.gauss(0, 1), sep=','") + "    break\n")
    refuse("a program that serves once", "ended before it was told to", *run)
    refuse("decimal commas of a program", "Decimal commas? They can be read where columns are separated by semicolons",
           "way.csv", "--generator", "awk 'BEGIN { srand({seed}); while (i++ < {rows}) print \"0,\" int(99 * rand()) "
           "\",0,\" int(99 * rand()) }'", *quick)
    rare = ("awk 'BEGIN {{ srand({{seed}}); while (i++ < {{rows}}) print rand() \",\" "
            "({{seed}} % 9 ? rand() : \"{}\") }}'")
    for word, problem in (("nan", "a missing value"), ("-inf", '"-inf" is not a finite number'), ("x", '"x" is not a')):
        said = refuse(f"a program that rarely prints {word}", problem, "way.csv", "--generator", rare.format(word))
        found = re.match(r"npksd: seed (\d+): the generator's output, line 1, column 2", said)
        check(f"a program that rarely prints {word}: for which seed", found and int(found[1]) % 9 == 0, said)
    for item in ("0", "1-", "2-1"):
        refuse(f"--columns {item}", "numbered from 1 to 2", "way.csv", "way.csv", "--columns", item)
    refuse("a report to -", "--report -: name a file, or /dev/stdout", "same.csv", "made.csv", "--report", "-")
    said = refuse("a long traceback", ["It said: ... ", "the reason"], "way.csv", "--generator",
                  "for i in $(seq 100); do echo called from here >&2; done; echo the reason >&2; exit 1")
    check("a long traceback is cut", said.count("called") < 30, said)


# ======== what used to go wrong ========

def limited(kind, amount):
    def set_limit():
        resource.setrlimit(kind, (amount, amount))
    return set_limit


def test_defects():
    # constant whole numbers and timestamps in the report
    for value in (5000, 1700000000, -3, 2 ** 60):
        for name, count in (("flat.csv", 40), ("flat_made.csv", 400)):
            text(name, csv([[x, value, value + (k % 3)] for k, (x,) in enumerate(normal_rows(count, 1, count))],
                           ["x", "year", "time"]))
        answer(f"report of a constant {value}", "flat.csv", "flat_made.csv", "--report", "flat.html")
        check(f"constant {value}: page", "</html>" in Path("flat.html").read_text())
    # a column named 2 before an unnamed second one
    for name, count in (("two.csv", 60), ("two_made.csv", 600)):
        text(name, csv([[10 + x, y] for x, y in normal_rows(count, 2, count)], ["2", ""]))
    got = answer("a column named 2", "two.csv", "two_made.csv", "--header")
    means = {c["name"]: c["observed_mean"] for c in got.get("columns", [])}
    check("a column named 2: both are tested", set(means) == {"2", "(2)"} and means["2"] > 5 > means["(2)"], means)
    got = answer("--columns 2: the name comes first", "two.csv", "two_made.csv", "--header", "--columns", "2")
    check("--columns 2: the named one", [c["observed_mean"] > 5 for c in got.get("columns", [])] == [True])
    # a million columns: neither quadratic time nor 2 GB
    line = ",".join(f"column{k}" for k in range(1000000)) + "\n" + ("1," * 999999 + "2\n") * 2
    for file in ("wide.csv", "wide_made.csv"):
        text(file, line)
    for kind, amount in ((resource.RLIMIT_CPU, 60), (resource.RLIMIT_AS, 1000000000)):
        done = subprocess.run([PROGRAM, "wide.csv", "wide_made.csv"], capture_output=True,
                              preexec_fn=limited(kind, amount))
        check("a million columns", b"too few rows: 2" in done.stderr, (done.returncode, done.stderr[:200]))
    # escape sequences in names of files and columns
    text("esc\x1b[2J.csv", csv(normal_rows(60, 2, 1), ['a\x9b31m', "b"]))
    text("esc_made.csv", csv(normal_rows(600, 2, 3), ['a\x9b31m', "b"]))
    done = npksd("esc\x1b[2J.csv", "esc_made.csv")
    check("no escape sequence reaches the terminal", done.returncode == 0 and b"\x1b" not in done.stdout
          and b"\xc2\x9b" not in done.stdout, done.stdout)
    done = npksd("nowhere\x1b[2J\x9b.csv", "esc_made.csv")
    check("nor in errors", done.returncode == 2 and b"\x1b" not in done.stderr and b"\x9b" not in done.stderr)
    refuse("a column with an escape sequence", "column 1 (a 31m)", "esc_made.csv",
           text("esc_bad.csv", "a\x9b31m,b\n1,2\n5x,4\n"))
    # cells in notes: a value that looks like several numbers, and one that is taken as missing
    for values in (('"(1,\x1b[31m)"', '"(2,\x1b[31m)"'), ("word", "#\x1b[31m!")):
        for name, count in (("esc.csv", 60), ("esc_made.csv", 600)):
            text(name, "k,x\n" + "".join(f"{values[k % 2]},{x!r}\n"
                                         for k, (x,) in enumerate(normal_rows(count, 1, count))))
        done = npksd("esc.csv", "esc_made.csv", "--report", "esc.html")
        check(f"{values}: in no note either", done.returncode < 2 and b" [31m" in done.stdout
              and b"\x1b" not in done.stdout + Path("esc.html").read_bytes(), done.stdout)
        check(f"{values}: nor in JSON", b"u001b" not in npksd("esc.csv", "esc_made.csv", "--json").stdout)
    done = npksd("--watch", "esc\x1b[2J.csv", "--generator", "awk 'BEGIN { srand({seed}); while (i++ < {rows}) "
                 "print rand() \",\" rand() }'", "--replicates", 39, "--fit-rows", 400, "--pilot", 20, "--alpha", 0.9)
    check("nor as a recording", done.stdout.count(b" [2J.csv") == 3 and b"\x1b" not in done.stdout, done)


def test_more_defects():
    # names and cells are cut between characters
    long = "x" + "\u0436" * 120
    for file, count in (("cut.csv", 60), ("cut_made.csv", 600)):
        text(file, csv([[x, y] for x, y in normal_rows(count, 2, count)], [long, "b"]) + ",1\n")
    for arguments in ((), ("--json",), ("--report", "/dev/stdout")):
        said = npksd("cut.csv", "cut_made.csv", *arguments).stdout.decode("utf-8", "replace")
        check(f"a long name {arguments}", "x\u0436\u0436" in said and not re.search("[\u00d0\ufffd]", said),
              said[:1000])
    text("cut_bad.csv", csv([[k, k] for k in range(40)], [long, "b"]) + f"{long},1\n")
    said = refuse("a long cell", f'column 1 ({long[:100]}): "{long[:20]}" is not a number', "cut_bad.csv",
                  "cut_made.csv")
    check("a long cell is cut", not re.search("[\u00d0\ufffd]", said), said)
    # -0.0 is 0.0
    for file, rows in (("zero.csv", 40), ("zero_made.csv", 400)):
        text(file, csv([[0.0 if rows == 40 else -0.0, 7 * k % 40] for k in range(rows)], NAMES))
    got = answer("-0.0", "zero.csv", "zero_made.csv")
    check("-0.0 is 0.0", got.get("copies", {}).get("synthetic_rows") == 400, got.get("copies"))
    # and -0.00 is 0.00
    for seed in range(6):
        rows = normal_rows(300, 6, seed)
        text("sign.csv", csv(rows, list("abcdef")))
        text("sign_made.csv", csv([[x + 1e-3 for x in row] for row in rows] * 4, list("abcdef")))
        said = npksd("sign.csv", "sign_made.csv", "--replicates", 39, "--report", "/dev/stdout").stdout.decode()
        check("no -0.00", not re.search(r"-0\.0+(?!\d)", said) and "+0.00" in said,
              [line for line in said.splitlines() if "-0.00" in line])
    # what begins with # is a name or data, unless it is a comment
    rows, made = normal_rows(60, 2, 1), normal_rows(600, 2, 3)
    for head in (["#", "score"], ["#kills", "score"]):
        for file, numbers in (("mark.csv", rows), ("mark_made.csv", made)):
            text(file, csv(numbers, head))
        got = answer(f"a column {head[0]}", "mark.csv", "mark_made.csv")
        check(f"a column {head[0]}: its name", names(got) == sorted([head[0].replace("#kills", "kills"), "score"])
              and not noted(got, "has no name"), got)
        check(f"a column {head[0]}: its rows", got["observed_rows"] == 60, got)
    for head in ("#,name,score\n", "# of a game\n#rank,name,score\n"):
        for file, numbers in (("mark.csv", rows), ("mark_made.csv", made)):
            text(file, head + "".join(f'{7 * k % 10},"Doe, {"AB"[k % 2]}",{x!r}\n' for k, (x, _) in enumerate(numbers)))
        got = answer(f"a separator inside quotes {head!r}", "mark.csv", "mark_made.csv")
        check(f"a separator inside quotes {head!r}: its names", names(got) == sorted(
            ["rank" if "rank" in head else "#", "name=Doe, A", "name=Doe, B", "score"]), got)
        check(f"a separator inside quotes {head!r}: its rows", got["observed_rows"] == 60, got)
    for file, count in (("mark.csv", 60), ("mark_made.csv", 600)):
        text(file, "".join(f"#{'ff0000' if k % 2 else '00ff00'},{x!r}\n"
                           for k, (x,) in enumerate(normal_rows(count, 1, count))))
    got = answer("rows that begin with #", "mark.csv", "mark_made.csv", "--no-header")
    check("rows that begin with #: all are there", got["observed_rows"] == 60
          and names(got) == ["1=#00ff00", "1=#ff0000", "2"], got)
    refuse("rows that begin with #, or names", "both numbers and words", "mark.csv", "mark_made.csv")
    for head in ("#My data,\n#of Monday,\n", "#,\n# hello,\n", "#created,2024\n\n#author,Bob\n"):
        text("mark.csv", head + csv(rows, NAMES))
        text("mark_made.csv", csv(made, NAMES))
        got = answer(f"comments {head!r}", "mark.csv", "mark_made.csv")
        check(f"comments {head!r} are no data", (got["observed_rows"], names(got)) == (60, NAMES)
              and noted(got, "2 comment lines at the top of mark.csv were skipped"), got)
    text("mark.csv", "#1,1.5\n#2,2.5\n" + "".join(f"a{k % 3},{x!r}\n" for k, (x, _) in enumerate(rows)))
    got = answer("some rows begin with #", "mark.csv", "mark.csv", "--no-header")
    check("some rows begin with #: all are there", got["observed_rows"] == 62, got)
    text("mark.csv", "#1,2\n" * 200000 + "a,b\n1,2\n")
    refuse("200,000 comments at the top", "too few rows: 1", "mark.csv", "mark.csv")
    text("mark.csv", "# by a, b\n# of c, d\n" + csv(rows))
    text("mark_made.csv", "# by a, b\n" + csv(made))
    got = answer("comments of two fields", "mark.csv", "mark_made.csv", "--no-header")
    check("comments of two fields are no data", got["observed_rows"] == 60
          and noted(got, "2 comment lines at the top of mark.csv were skipped"), got)


def test_report_files():
    both = ("same.csv", "made.csv")
    before = Path("made.csv").read_bytes()
    Path("link.csv").symlink_to("made.csv")
    for name in ("same.csv", "made.csv", "link.csv", "./made.csv"):
        refuse(f"a report that is the input {name}", "would be overwritten", *both, "--report", name)
    check("the inputs are untouched", Path("made.csv").read_bytes() == before)
    refuse("a report in no folder", "--report nowhere/x.html: No such file", *both, "--report", "nowhere/x.html")
    refuse("a report that is a folder", "this is a folder", *both, "--report", ".")
    done = npksd(*both, "--report", "/dev/full")
    check("a full disk: the verdict comes first", done.returncode == 2 and b"Not rejected" in done.stdout
          and b"/dev/full: the file cannot be written" in done.stderr, (done.returncode, done.stderr))
    done = npksd(*both, "--report", "/dev/stdout", "--quiet")
    check("a report to a pipe", b"</html>" in done.stdout)
    Path("old.html").write_text("old")
    Path("link.html").symlink_to("old.html")
    npksd(*both, "--report", "link.html")
    check("links are followed", Path("link.html").is_symlink() and "</html>" in Path("old.html").read_text())
    check("nothing is left behind", not [f for f in os.listdir(".") if ".html." in f], os.listdir("."))


def test_frequent_values():
    dice = random.Random(5)
    for name, count in (("rounded.csv", 100), ("smooth.csv", 1000)):
        text(name, csv([[dice.gauss(0, 1), round(2 * dice.gauss(10, 2)) / 2 if count == 100 else dice.gauss(10, 2)]
                        for _ in range(count)], NAMES[:2]))
    for files, shares in ((("rounded.csv", "smooth.csv"), r"value \S+ in 1\d % of the rows against 0 %"),
                          (("smooth.csv", "rounded.csv", "--take", "100"), r"in 0 % of the rows against 1\d %")):
        said = " ".join(npksd(*files).stdout.decode().split())
        check(f"{files[0]}: rounding is noticed", "REJECTED" in said and f"Where: column {NAMES[1]} (" in said, said)
        check(f"{files[0]}: and said", re.search(shares, said), said)
    text("free.csv", csv(normal_rows(200, 1, 7), ["x"]))
    capped = [[min(x, 1.3)] for x, in normal_rows(10000, 1, 8)]
    for name, made in (("as drawn", capped), ("sorted", sorted(capped))):
        text("capped.csv", csv(made, ["x"]))
        got = answer(f"a cap, {name}", "free.csv", "capped.csv", code=1)
        check(f"a cap, {name}: is said", "value 1.3 in 0 % of the rows against 9 %" in got.get("where", ""),
              got.get("where"))


def test_copies():
    dice = random.Random(8)
    rows = normal_rows(60, 2, 41)
    text("learnt.csv", csv(rows, NAMES))
    text("learnt_made.csv", csv([dice.choice(rows) for _ in range(600)], NAMES))
    got = answer("a generator that memorised rows", "learnt.csv", "learnt_made.csv")
    check("memorised rows: counted", got.get("copies", {}).get("synthetic_rows") == 600, got.get("copies"))
    check("memorised rows: said", got.get("copies", {}).get("suspicious") and noted(got, "number for number"))
    for files, words in ((("learnt.csv", "learnt_made.csv"), "number for number"),
                         (("learnt.csv", "learnt.csv"), "same bytes")):
        said = " ".join(npksd(*files, "--report", "learnt.html").stdout.decode().split())
        check(f"{words}: once, above the verdict",
              said.count(words) == 1 and said.index(words) < said.index(": p = "), said)
        page = Path("learnt.html").read_text()
        check(f"{words}: above the verdict of the page", page.index(words) < page.index("class='verdict"))
        done = npksd(*files, "--quiet")
        check(f"{words}: --quiet says so on stderr", words in done.stderr.decode() and done.stdout.count(b"\n") == 1,
              done.stderr)
    dice = random.Random(0)
    grid = [[a, b, c, dice.randrange(3 * (a + b + 1)), dice.randrange(20 + 9 * b)]
            for a in range(6) for b in range(4) for c in range(4)]
    text("grid.csv", csv(grid))
    text("grid_made.csv", csv([dice.choice(grid) for _ in range(960)]))
    got = answer("a designed file and its bootstrap", "grid.csv", "grid_made.csv")
    check("a bootstrap of a designed file: not rejected", not got["reject"], got["p_value"])
    check("a bootstrap of a designed file: said", noted(got, "MIRROR is left out"), got["notes"])
    for sides, columns in ((6, 2), (2, 5), (20, 2)):
        for name, count in (("bits.csv", 80), ("bits_made.csv", 1500)):
            text(name, csv([[dice.randrange(sides) for _ in range(columns)] for _ in range(count)]))
        got = answer(f"{columns} dice of {sides}", "bits.csv", "bits_made.csv")
        check(f"{columns} dice of {sides}: they repeat by nature", got.get("copies", {}).get("synthetic_rows", 0) > 100
              and not got["copies"]["suspicious"], got.get("copies"))


# ======== candidates ========

def test_candidates():
    text("seen_c.csv", csv(normal_rows(80, 2, 52), NAMES))
    for name, shift, seed in (("far.csv", 1.5, 81), ("near.csv", 0.0, 82), ("off.csv", 0.5, 83)):
        text(name, csv(normal_rows(600, 2, seed, shift), NAMES))
    files = ("seen_c.csv", "far.csv", "near.csv", "off.csv")
    got = answer("three candidates", *files, "--report", "candidates.html", code=0)
    order = got.get("ranking", {}).get("order", [])
    check("nearest first", [c["synthetic"] for c in order] == ["near.csv", "off.csv", "far.csv"], order)
    check("with intervals", all(c["low"] <= c["distance"] <= c["high"] for c in order), order)
    check("one is best nearly always", sum(c["best"] for c in order) > 0.99 and order[0]["best"] > 0.9, order)
    check("each is tested", [c["reject"] for c in got.get("candidates", [])] == [True, False, True])
    alone = answer("one of them alone", "seen_c.csv", "far.csv")
    check("as if it were alone", alone.get("statistic") == got["candidates"][0]["statistic"])
    check("it is no test", "not a test" in got["ranking"]["about"])
    said = npksd(*files).stdout.decode()
    check("text: the ranking", said.index("near.csv") < said.index("off.csv") < said.index("far.csv")
          and "not a test" in " ".join(said.split()))
    check("text: 100 columns", all(len(line) <= 100 for line in said.splitlines()))
    check("exit status 1 when all are rejected", npksd("seen_c.csv", "far.csv", "off.csv").returncode == 1)
    check("--quiet: a p for each", npksd(*files, "--quiet").stdout.count(b"\n") == 3)
    page = Path("candidates.html").read_text()
    check("report: side by side", page.count("<section>") == 3 and "class='side'" in page)
    # a short candidate is tested with fewer rows of the recording, the others are not
    text("short.csv", csv(normal_rows(20, 2, 84), NAMES))
    done = npksd("seen_c.csv", "short.csv", "near.csv", "--report", "short.html")
    check("the rows of the recording", done.stdout.startswith(b"observed   seen_c.csv: 80 rows, 2 columns\n"),
          done.stdout[:80])
    check("and those that were used, for each",
          re.findall(r"observed</td><td>seen_c.csv: (.*?),? \d columns", Path("short.html").read_text())
          == ["80 rows, 40 used", "80 rows, 80 used"])
    # categories of all files together
    for name, words in (("k1.csv", "ab"), ("k2.csv", "ac"), ("k3.csv", "ad")):
        dice = random.Random(name)
        text(name, "k,x\n" + "".join(f"{dice.choice(words)},{dice.gauss(0, 1)!r}\n" for _ in range(100)))
    got = answer("categories of all files", "k1.csv", "k2.csv", "k3.csv", code=1)
    check("one encoding for all", all(len(c["columns"]) == 5 for c in got.get("candidates", [])))
    alone = answer("one of them alone", "k1.csv", "k2.csv")
    for key in ("statistic", "p_value", "where"):
        check(f"a value of another candidate does not change {key}", alone.get(key) == got["candidates"][0][key],
              (alone.get(key), got["candidates"][0][key]))
    text("k4.csv", "k,x\n" + "".join(f"{'abcdefghijklmnopqrstuvwxyz'[k % 26]},{k % 7}\n" for k in range(100)))
    refuse("many values in one of the files", "more than 20 different texts in all files together", "k1.csv", "k2.csv",
           "k4.csv")


def energy(seen, made):
    """2 E|X - Y| - E|X - X'| - E|Y - Y'|; a row is not paired with itself, be it in a resample twice."""
    def mean(a, b):
        apart = [math.dist(x, y) for i, x in a for j, y in b if i != j or a is not b]
        return sum(apart) / len(apart)
    return 2 * mean(seen, made) - mean(seen, seen) - mean(made, made)


def test_energy():
    """The ranking's numbers: columns in units of their deviation over all files, 95 % of bootstrap resamples."""
    files = {"e_seen.csv": normal_rows(40, 2, 71), "e_near.csv": normal_rows(30, 2, 72, 0.3),
             "e_far.csv": normal_rows(50, 2, 73, 2.0)}
    files = {name: [(x, 1000 * y) for x, y in rows] for name, rows in files.items()}
    for name, rows in files.items():
        text(name, csv(rows, NAMES))
    unit = [statistics.stdev(column) for column in zip(*(row for rows in files.values() for row in rows))]
    clouds = {name: list(enumerate((x / unit[0], y / unit[1]) for x, y in rows)) for name, rows in files.items()}
    seen = clouds.pop("e_seen.csv")
    order = answer("energies", "e_seen.csv", *clouds).get("ranking", {}).get("order", [])
    dice = random.Random(74)
    for name, made in clouds.items():
        got = next((c for c in order if c["synthetic"] == name), {"distance": 9, "low": 9, "high": 9})
        check(f"energy distance of {name}", abs(got["distance"] - energy(seen, made)) < 1e-6, (got, energy(seen, made)))
        tries = sorted(energy(dice.choices(seen, k=len(seen)), dice.choices(made, k=len(made))) for _ in range(400))
        near = (tries[390] - tries[10]) / 4
        check(f"interval of {name}", abs(got["low"] - tries[10]) < near and abs(got["high"] - tries[389]) < near,
              (got, tries[10], tries[389]))


# ======== .npy ========

def npy(numbers, descr, shape, fortran=False, version=1, cut=0, more=b""):
    header = f"{{'descr': {descr}, 'fortran_order': {fortran}, 'shape': {shape}, }}".encode()
    prefix = 10 if version == 1 else 12
    header += b" " * (-(prefix + len(header) + 1) % 64) + b"\n"
    length = struct.pack("<H" if version == 1 else "<I", len(header))
    whole = b"\x93NUMPY" + bytes([version, 0]) + length + header + numbers + more
    return whole[:len(whole) - cut]


def test_npy():
    dice = random.Random(13)
    kinds = {"'<f8'": ("<", "d"), "'>f8'": (">", "d"), "'<f4'": ("<", "f"), "'>f4'": (">", "f"),
             "'<f2'": ("<", "e"), "'>f2'": (">", "e"),
             "'|i1'": ("<", "b"), "'<i2'": ("<", "h"), "'>i4'": (">", "i"), "'<i8'": ("<", "q"),
             "'|u1'": ("<", "B"), "'<u2'": ("<", "H"), "'<u4'": ("<", "I"), "'>u8'": (">", "Q"),
             "'|b1'": ("<", "?")}
    for descr, (order, code) in kinds.items():
        def number():
            if code in "dfe":
                small = dice.choice([1, 1e-6]) if code == "e" else 1  # below 6e-5 they have fewer digits
                return struct.unpack("e", struct.pack("e", small * dice.gauss(0, 1)))[0]
            if code == "?":
                return dice.randrange(2)
            return dice.randrange(0 if code.isupper() else -50, 99)
        tables = [[[number(), number()] for _ in range(count)] for count in (40, 400)]
        for name, rows in zip(("npy_a", "npy_b"), tables):
            flat = [x for row in rows for x in row]
            text(f"{name}.npy", npy(struct.pack(f"{order}{len(flat)}{code}", *flat), descr,
                                    (len(rows), 2)))
            by_column = [row[k] for k in (0, 1) for row in rows]
            text(f"{name}_f.npy", npy(struct.pack(f"{order}{len(flat)}{code}", *by_column), descr,
                                      (len(rows), 2), True, 2))
            text(f"{name}.csv", csv([[float(x) for x in row] for row in rows]))
        want = answer(f"{descr} as CSV", "npy_a.csv", "npy_b.csv").get("statistic")
        for a, b in (("npy_a.npy", "npy_b.npy"), ("npy_a_f.npy", "npy_b.csv")):
            got = answer(f"{descr} {a}", a, b)
            check(f"{descr} {a}: as CSV", got.get("statistic") == want, want)
            check(f"{descr} {a}: rows, not lines",
                  all(1 <= r["row"] <= 40 for r in got.get("worst_rows", [{"row": 0}])))
    flat = struct.pack("<40d", *range(40))
    text("one.npy", npy(struct.pack("<40d", *(x for x, in normal_rows(40, 1, 13))), "'<f8'",
                        "(40,)"))
    text("one_made.csv", csv(normal_rows(400, 1, 14)))
    answer("one dimension", "one.npy", "one_made.csv")

    def bad(name, words, content):
        text("bad.npy", content)
        refuse(f".npy: {name}", words, "bad.npy", "made.csv")

    bad("eight bits", "numbers of type '<f1'; float16, float32", npy(b"\0" * 40, "'<f1'", (20, 2)))
    bad("complex", "float32, float64 or whole numbers", npy(b"\0" * 320, "'<c16'", (10, 2)))
    bad("strings", "numbers of type '<U4'; float16, float32, float64 or whole", npy(b"\0" * 320, "'<U4'", (10, 2)))
    bad("a record", ["an array of records", "structured_to_unstructured(a)"],
        npy(b"\0" * 320, "[('a', '<f8'), ('b', '<f8')]", "(20,)"))
    bad("three dimensions", ["shape (10, 2, 2)", "a.reshape(len(a), -1)"],
        npy(b"\0" * 320, "'<f8'", (10, 2, 2)))
    bad("no dimension", "a shape of rows and columns", npy(b"\0" * 8, "'<f8'", ()))
    bad("no rows", "an empty array", npy(b"", "'<f8'", (0, 2)))
    bad("cut short", "cut short: 20 x 2 numbers", npy(flat, "'<f8'", (20, 2), cut=1))
    bad("too long", "longer than its 20 x 2 numbers", npy(flat, "'<f8'", (20, 2), more=b"\0"))
    bad("a lie about its size", "cut short", npy(flat, "'<f8'", (2 ** 63, 2 ** 62)))
    bad("a damaged header", "header is damaged", b"\x93NUMPY\1\0\xff\xff{}")
    bad("nothing but magic", "header is damaged", b"\x93NUMPY")
    bad("an unknown version", "unknown version", npy(flat, "'<f8'", (20, 2), version=9))
    bad("a missing value", "bad.npy: too few rows without a missing value: 1",
        npy(struct.pack("<4d", 1, 2, float("nan"), 4), "'<f8'", (2, 2)))
    bad("half of infinity", 'bad.npy, row 2, column 2 (2): "-inf" is not a finite number',
        npy(struct.pack("<4e", 1, 2, 3, float("-inf")), "'<f2'", (2, 2)))
    bad("half of a missing value", "bad.npy: too few rows without a missing value: 1",
        npy(struct.pack("<4e", 1, 2, float("nan"), 4), "'<f2'", (2, 2)))
    bad("infinity", 'bad.npy, row 2, column 2 (2): "inf" is not a finite number',
        npy(struct.pack("<4f", 1, 2, 3, float("inf")), "'<f4'", (2, 2)))
    try:
        import numpy
    except ImportError:
        skip("numpy")
        return
    rows = numpy.random.default_rng(15).normal(size=(440, 3))
    numpy.save("numpy_a.npy", rows[:40].astype("float32"))
    numpy.save("numpy_b.npy", numpy.asfortranarray(rows[40:]))
    got = answer("files of numpy", "numpy_a.npy", "numpy_b.npy")
    means = {c["name"]: c["observed_mean"] for c in got.get("columns", [])}
    check("means as numpy has them", all(abs(means[str(k + 1)] - rows[:40, k].mean()) < 1e-6
                                         for k in range(3)), means)


# ======== generators ========

UNIFORM = "awk 'BEGIN { srand({seed}); while (i++ < {rows}) print rand() \",\" rand() }'"


def test_generators():
    dice = random.Random(16)
    text("uniform.csv", csv([[dice.random(), dice.random()] for _ in range(40)]))
    text("squared.csv", csv([[dice.random(), dice.random() ** 3] for _ in range(40)], NAMES))
    quick = ("--replicates", 39, "--fit-rows", 400)
    got = answer("a sound generator", "uniform.csv", "--generator", UNIFORM, *quick, code=0)
    check("the generator is named", got.get("generator") == UNIFORM and got["generator_calls"] > 39)
    check("no note about its seed", not any("same seed" in n for n in got.get("notes", [])))
    got = answer("another generator", "squared.csv", "--generator", UNIFORM, *quick, "--report",
                 "generator.html", code=1)
    check("the column is found", got.get("columns", [{}])[0].get("name") == "b", got.get("columns"))
    again = answer("again", "squared.csv", "--generator", UNIFORM, *quick, code=1)
    check("a generator's run repeats", got.get("statistic") == again.get("statistic"))
    environment = UNIFORM.replace("{seed}", "ENVIRON[\"NPKSD_SEED\"] + 0").replace(
        "{rows}", "ENVIRON[\"NPKSD_ROWS\"] + 0")
    third = answer("environment", "squared.csv", "--generator", environment, *quick, code=1)
    check("the environment has the same", third.get("statistic") == got.get("statistic"))
    features = answer("--features", "squared.csv", "--generator", UNIFORM, *quick, "--features", 64)
    check("--features acts", features.get("ksd2") not in (None, got.get("ksd2"))
          and features["settings"]["features"] == 64)
    text("long_uniform.csv", csv([[dice.random()] for _ in range(1100)]))
    one_column = UNIFORM.replace('\",\" rand()', "")
    notes = answer("many rows", "long_uniform.csv", "--generator", one_column, "--replicates", 19,
                   "--fit-rows", 2000).get("notes", [])
    check("many rows: linear time is noted", any("--features 0" in n for n in notes), notes)
    text("clock.py", "from random import random\n"
                     "for _ in range(40): print(random(), random(), sep=',')")
    notes = answer("hidden state", "uniform.csv", "--generator", sys.executable + " -S clock.py",
                   *quick).get("notes", [])
    check("hidden state is noted", any("same seed" in n for n in notes), notes)

    def bad(name, words, command):
        refuse(f"a generator {name}", words, "squared.csv", "--generator", command, *quick)

    bad("that fails", ["failed with exit status 3", "exit 3"], "echo oops; exit 3")
    bad("that does not exist", "exit status 127 (no such program)", "no-such-program-here")
    bad("that crashes", "ended by signal 9", "kill -9 $$")
    bad("that is silent", "printed nothing", "true")
    bad("that is a server", ["printed nothing. ", "If it reads lines \"rows seed\", is it meant for --server?"],
        AWK_SERVER)
    bad("that writes a file", "if it writes a file, add && cat FILE.", UNIFORM + "> written.csv")
    answer("a generator that does what it was told", "uniform.csv", "--generator",
           UNIFORM + "> {seed}.csv && cat {seed}.csv && rm {seed}.csv", *quick, "--jobs", 3, code=0)
    bad("that miscounts", "printed 2 rows, but was asked for 40", "printf 'a,b\\n1,2\\n3,4\\n'")
    bad("that repeats itself", ["the same rows for different seeds", "{seed}"],
        UNIFORM.replace("{seed}", "7"))
    bad("with other columns", 'the generator\'s output has none of that name',
        "echo a,c; " + UNIFORM)
    bad("that prints words", ["the generator's output, line 40, column 2 (b)", '"oops"'],
        UNIFORM + " | sed '$s/,.*/,oops/'")
    bad("with a line about itself", "line 2: 2 fields, but line 1 has 1. Is that a title? Remove it",
        "echo Starting; " + UNIFORM)
    bad("that forgets values", "the generator's output: column b holds no values",
        "for i in $(seq {rows}); do echo $i$i,; done")
    bad("that forgets a value", "the generator's output, line 40, column 2 (b): a missing value",
        UNIFORM + " | sed '$s/,.*/,/'")
    notes = answer("a generator that never changes", "squared.csv", "--generator",
                   "for i in $(seq {rows}); do echo 1,2; done", *quick, code=1).get("notes", [])
    check("its columns are named", any("ones: a, b." in n for n in notes), notes)
    refuse("constants on both sides", "every column is constant", "constant.csv", "--generator",
           "for i in $(seq {rows}); do echo 1,2; done", *quick)


SHOTS = REPOSITORY / "examples" / "tool" / "generators"
AWK_SERVER = f"while read rows seed; do awk -v rows=$rows -v seed=$seed -f {SHOTS}/shots.awk; echo; done"


def without(got, *keys):
    return {k: v for k, v in got.items() if k not in keys}


def group_lives(group):
    """Is a process of this group still running? One that has ended may wait for init to notice."""
    if not Path("/proc/self/stat").exists():
        try:
            os.killpg(group, 0)
        except ProcessLookupError:
            return False
        return True
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, _, its_group = stat.read_text().rsplit(")", 1)[1].split()[:3]
        except (OSError, IndexError):
            continue
        if int(its_group) == group and state not in "ZX":
            return True
    return False


def test_programs():
    recording = REPOSITORY / "examples" / "data" / "observed.csv"
    quick = ("--replicates", 39, "--fit-rows", 1000, "--pilot", 50)
    one_shot = f"awk -v rows={{rows}} -v seed={{seed}} -f {SHOTS}/shots.awk"
    runs = [answer(name, recording, option, command, *quick, *more, code=1) for name, option, command, more in (
        ("awk", "--generator", one_shot, ()), ("awk, 5 jobs", "--generator", one_shot, ("--jobs", 5)),
        ("awk as a server", "--server", AWK_SERVER, ()), ("3 servers", "--server", AWK_SERVER, ("--jobs", 3)))]
    for got in runs[1:]:
        check("jobs and servers do not change the answer",
              without(got, "command", "generator", "seconds") == without(runs[0], "command", "generator", "seconds"))
    check("cooldown is named", "cooldown" in runs[0].get("where", ""), runs[0].get("where"))
    compiler = os.environ.get("CC", "cc")
    subprocess.run(f"{compiler} -O2 {SHOTS}/shots.c -o shots -lm", shell=True, check=True)
    check("C as a server", "cooldown" in answer("C", recording, "--server", "./shots", *quick, code=1).get("where", ""))
    try:
        import numpy  # noqa: F401
        got = answer("numpy as a server, 499 replicates", recording, "--server",
                     f"{sys.executable} {SHOTS}/shots.py", code=1)
        check("numpy as a server: the column", "cooldown" in got.get("where", ""), got.get("where"))
    except ImportError:
        skip("numpy")

    text("serve_calls.py", "import random, sys\nfor line in sys.stdin:\n    rows, seed = line.split()\n"
         "    dice = random.Random(seed)\n"
         "    print(*(dice.random() for _ in range(int(rows))), '', sep='\\n', flush=True)\n")
    for rows, calls in ((80, 762), (100, 749)):
        text("calls.csv", csv([[random.Random(k).random()] for k in range(rows)]))
        got = answer(f"{rows} rows", "calls.csv", "--server", f"{sys.executable} -S serve_calls.py")
        check(f"{rows} rows: as many data sets as the README says", got.get("generator_calls") == calls, got)

    def bad(name, words, option, command, *more):
        return refuse(f"a program {name}", words, recording, option, command, *quick, *more)

    for name, command in (("that never stops", "yes 1,2,3"), ("without line ends", "yes 1,2,3 | tr '\\n' ' '")):
        done = subprocess.run([PROGRAM, recording, "--generator", command], capture_output=True,
                              preexec_fn=limited(resource.RLIMIT_AS, 500000000))
        check(f"a program {name}", b"prints more than the 80 rows" in done.stderr and done.returncode == 2, done.stderr)
    bad("that floods stderr", ["floods its standard error", "It said: ... "], "--generator", "yes oops >&2")
    bad("that sleeps", "took more than 0.2 s", "--generator", "sleep 1000", "--timeout", "0.2")
    bad("that closes its output and sleeps", "took more than 0.2 s", "--generator", "exec >&-; sleep 1000",
        "--timeout", "0.2")
    bad("that says why", ["failed with exit status 3", "It said: no licence"], "--generator",
        "echo no licence >&2; exit 3")
    bad("that serves once", "ended before it was told to", "--server",
        f"read x; {AWK_SERVER.split('do ')[1].split(';')[0]}")
    bad("that forgets the empty line", ["took more than 0.3 s", "flush its output", "mawk needs -W interactive"],
        "--server", "cat", "--timeout", "0.3")
    bad("that serves too few rows", "but was asked for 80 (the first number of each line that it reads)", "--server",
        "while read x; do printf '1,2,3\\n4,5,6\\n\\n'; done")
    bad("that begins with an empty line", "printed no rows before the empty line that ends an answer", "--server",
        "echo; sleep 1000")
    bad("whose child goes on", ["took more than 0.5 s", "something that it started keeps its output open"],
        "--generator", f"sleep 1000 & {one_shot}", "--timeout", "0.5")
    got = answer("a program with decimal commas", recording, "--generator", f"{one_shot} | tr ,. ';,'", *quick, code=1)
    check("its decimal commas are noted", noted(got, "Numbers of the generator's output have decimal commas"),
          got.get("notes"))
    bad("that says too much", "behind the empty line", "--server", "read x; printf '1,2,3\\n\\n1,2,3\\n'; read x")
    bad("that serves the same rows", "the same rows for different seeds", "--server",
        AWK_SERVER.replace("seed=$seed", "seed=7"))
    got = answer("a program with a warning", recording, "--generator", f"echo beware >&2; {one_shot}", *quick)
    check("its warning is noted", noted(got, "standard error: beware"), got.get("notes"))
    # what a signal ends, ends with all its children
    child = subprocess.Popen([PROGRAM, recording, "--generator", "echo $$ > child.pid; sleep 1000"],
                             stderr=subprocess.DEVNULL)
    while not Path("child.pid").exists() or not Path("child.pid").read_text().strip():
        time.sleep(0.01)
    child.terminate()
    child.wait()
    group = int(Path("child.pid").read_text())
    for _ in range(6000):
        if not group_lives(group):
            break
        time.sleep(0.01)
    else:
        check("children end with the tool", False)


def test_simulators():
    """Programs of a later round."""
    quick = ("--replicates", 39, "--fit-rows", 400, "--pilot", 20)
    text("sim.csv", csv([[random.Random(k).random(), random.Random(k + 99).random()] for k in range(60)], NAMES))

    # messages name the seed that they are about, or none
    said = refuse("a program that fails later", "the generator failed with exit status 3: ", "sim.csv",
                  "--generator", f"test -e once && exit 3; touch once; {UNIFORM}", *quick)
    check("a program that fails later: no other seed", "seed " not in said.split("exit status")[0], said)

    # where the seed is
    server = ("import random, sys\nfor line in sys.stdin:\n    rows, seed = map(int, line.split())\n    dice = {}\n"
              "    for _ in range(rows): print(dice.random(), dice.random(), sep=',')\n    print(flush=True)\n")
    text("hidden.py", server.format("random.Random()"))
    got = answer("a server with hidden state", "sim.csv", "--server", f"{sys.executable} hidden.py", *quick)
    check("a server with hidden state: advice", noted(got, "Let it use the second number of each line that it reads."),
          got.get("notes"))

    # seeds of which only a part is used, and clocks that tick every fourth data set
    text("seeded.py", server.format("random.Random(seed % int(sys.argv[1]))"))
    text("ticks.py", server.replace("\nfor", "\ncalls = 0\nfor").format("random.Random(calls // 4); calls += 1"))
    for name, command in (("uses 10 seeds", "seeded.py 10"), ("is seeded by a clock", "ticks.py")):
        refuse(f"a server that {name}", ["the same rows for different seeds (16 times in", "not with a clock",
                                         "the second number"], "sim.csv", "--server", f"{sys.executable} {command}",
               *quick)
    answer("a server of 16 bits", "sim.csv", "--server", f"{sys.executable} seeded.py 65536", code=0)
    # rare events repeat by nature
    rare = "awk 'BEGIN {{ srand({{seed}}); while (i++ < {{rows}}) print (rand() < {}) }}'"
    for file, rows, share in (("rare.csv", 40, 0.02), ("coins.csv", 6, 0.5)):
        text(file, csv([[k % 3 // 2] for k in range(rows)], ["a"]))
        answer(f"{file}: repeated by nature", file, "--generator", rare.format(share), "--replicates", 199)
    # ... beside a column that is the same in all data sets
    text("hours.csv", csv([[k % 12, k % 40 // 39] for k in range(48)], ["hour", "alarm"]))
    answer("rare events and hours: repeated by nature", "hours.csv", "--generator", "awk 'BEGIN { srand({seed}); print "
           '"hour,alarm"; while (i < {rows}) print i++ % 12 "," (rand() < 0.02) }\'', "--replicates", 199)

    # names in the recording alone
    refuse("--header and a program without names", "printed 59 rows below a line of names (--header says "
           "so), but was asked for 60", "sim.csv", "--generator", UNIFORM, *quick, "--header")
    refuse("--no-header and a recording with names", "If line 1 holds the names of the columns, leave out --no-header",
           "sim.csv", "--generator", UNIFORM, *quick, "--no-header")

    # a program that prints decimal commas, and one whole number, between commas
    text("three.csv", csv([[x, y, int(x > 0)] for x, y in normal_rows(60, 2, 1)]))
    for numbers, said in (('"0,5,1,25," i', True), ('"0.5,1.25," i', False)):
        words = refuse("five columns for three", "three.csv has 3 columns in use, the generator's output has ",
                       "three.csv", "--generator", "awk 'BEGIN { while (i++ < {rows}) print " + numbers.replace(
                           "i", "i" if said else 'i ",7,8"') + " }'", *quick)
        check("five columns for three: why", ("Decimal commas?" in words) == said, words)

    # a program that memorised the recording
    learnt = UNIFORM.replace("BEGIN {", "NR > 1 { row[n++] = $0 } END {").replace(
        'print rand() "," rand()', "print row[int(n * rand())]") + " sim.csv"
    got = answer("a program that memorised rows", "sim.csv", "--generator", learnt, *quick, code=0)
    check("a program that memorised rows: warned", got.get("copies", {}).get("suspicious")
          and noted(got, "2040 of the 2040 rows of the generator are observed rows", "it has never seen.")
          and not noted(got, "MIRROR"), (got.get("copies"), got.get("notes")))
    done = npksd("sim.csv", "--generator", learnt, *quick)
    check("the deviation is that of the generator", b"shift: of the mean, in sd of the generator;" in done.stdout)
    check("and above the verdict", b"\n! 2040 of the 2040 rows" in done.stdout, done.stdout)
    got = answer("a program that did not", "sim.csv", "--generator", UNIFORM, *quick, code=0)
    check("a program that did not: no warning", got.get("copies", {}).get("synthetic_rows") == 0, got.get("copies"))


def test_program_columns():
    """With a program nothing depends on the recording."""
    make = ("awk 'BEGIN { srand({seed}); split(\"red green blue\", c, \" \"); print \"id,size,colour\"; "
            "while (i++ < {rows}) print i \",\" rand() \",\" c[1 + int(3 * rand())] }'")
    quick = ("--replicates", 39, "--fit-rows", 400, "--pilot", 20)
    dice = random.Random(9)

    def recording(colours, ids=True):
        return "id,size,colour\n" + "".join(f"{k if ids else k * 7 % 61},{dice.random()!r},{dice.choice(colours)}\n"
                                            for k in range(60))
    text("c1.csv", recording(["red", "green", "blue"]))
    text("c2.csv", recording(["red", "purple"], ids=False))
    first = answer("categories of a program", "c1.csv", "--generator", make, *quick, code=0)
    other = answer("a colour that it never prints", "c2.csv", "--generator", make, *quick, code=1)
    want = ["colour=(other)", "colour=blue", "colour=green", "colour=red", "size"]
    check("columns come from the program", names(first) == names(other) == want, (names(first), names(other)))
    check("so does the null distribution", abs(first["threshold"] - other["threshold"]) <= 2e-8 * other["statistic"],
          (first["threshold"], other["threshold"]))  # a tolerance for ties is added, a share of the statistic
    check("any other value goes to (other)", [c["observed_mean"] > 0.2 for c in other.get("columns", [])
                                              if c["name"] == "colour=(other)"] == [True])
    check("said", noted(first, "colour is a category", "preliminary draw") and noted(first, "id was left out"),
          first.get("notes"))
    check("an empty (other) is not worth a note", not noted(first, "Constant, with"), first.get("notes"))
    text("c3.csv", recording(["red"]).replace(",red", ",", 1))
    refuse("missing values with a program", "line 2, column 3 (colour): a missing value", "c3.csv", "--generator", make,
           *quick)
    text("c4.csv", recording(["red"]).replace("0.", "x", 1))
    refuse("words where the program has numbers", "is not a number", "c4.csv", "--generator", make, *quick)
    bare = make.replace('print \"id,size,colour\"; ', "")
    got = answer("a program without names", "c1.csv", "--generator", bare, *quick, code=0)
    check("the recording has the names", names(got) == want, names(got))
    # ... before columns are chosen by name: all of the recording's are printed, or just those in use
    dice_of = "awk 'BEGIN {{ srand({{seed}}); while (i++ < {{rows}}) print {} }}'"
    whole, part = dice_of.format('int(3 * rand()) "," rand()'), dice_of.format("rand()")
    text("c6.csv", "cls,b\n" + "".join(f"{dice.randrange(3)},{dice.random()!r}\n" for _ in range(60)))
    text("c6_made.csv", "".join(f"{dice.randrange(3)},{dice.random()!r}\n" for _ in range(600)))
    for options, command, chosen in ((("--categories", "cls"), whole, ["b", "cls=(other)", "cls=0", "cls=1", "cls=2"]),
                                     (("--leave-out", "cls"), whole, ["b"]), (("--leave-out", "cls"), part, ["b"]),
                                     (("--columns", "b"), whole, ["b"]), (("--columns", "b"), part, ["b"])):
        got = answer(f"{options} without names", "c6.csv", "--generator", command, *quick, *options, code=0)
        check(f"{options} without names: columns", names(got) == chosen, names(got))
        got = answer(f"{options} and a file without names", "c6.csv", "c6_made.csv", *options, code=0)
        check(f"{options} and a file without names: columns", names(got) == [c for c in chosen if "other" not in c],
              names(got))
    # what the program decides, and what the recording has instead
    text("c7.csv", "ok,b\n" + "".join(f"{dice.choice(['TRUE', 'FALSE'])},{dice.random()!r}\n" for _ in range(60)))
    got = answer("true and false where the program prints 0 and 1", "c7.csv", "--generator",
                 dice_of.format('int(2 * rand()) "," rand()'), *quick, code=0)
    check("true and false are read as 1 and 0", noted(got, "Column ok: true and yes are read as 1"), got.get("notes"))
    means = {c["name"]: c["observed_mean"] for c in got.get("columns", [])}
    check("true and false: mean", 0.2 < means.get("ok", 0) < 0.8, means)
    there = ["Write the same on both sides", "--leave-out ok, or", "--categories ok\n"]
    text("c7.csv", "ok,b\nTRUE,0.5\n7,0.5\n")
    refuse("true beside 7", ['(ok): "TRUE" is not a number, but the synthetic rows have numbers there', *there],
           "c7.csv", "--generator", dice_of.format('int(2 * rand()) "," rand()'), *quick)
    for cell, printed, kind in (("2024-05-31", "int(2 * rand())", "a number, but the synthetic rows have numbers"),
                                ("red", "int(2 * rand())", "a number, but the synthetic rows have numbers"),
                                ("12", '"2024-05-0" int(1 + 9 * rand())', "a date, but the synthetic rows have dates"),
                                ("12", '"12:0" int(9 * rand())', "a time, but the synthetic rows have times"),
                                ("12", '(rand() < 0.5 ? "yes" : "no")', "true or false, but the synthetic rows have")):
        text("c8.csv", "ok,b\n" + f"{cell},1\n{cell},2\n" * 30)
        refuse(f"{cell} where the program prints {printed}", [f'line 2, column 1 (ok): "{cell}" is not {kind}', *there],
               "c8.csv", "--generator", dice_of.format(printed + ' "," rand()'), *quick)
    # --categories: names may stand on either side, NA is a value, 1.0 is 1
    region = '(rand() < 0.3 ? "NA" : rand() < 0.5 ? 1 : 2) "," rand()'
    named = dice_of.format(region).replace("srand({seed});", 'srand({seed}); print "region,b";')
    lines = "".join(f"{dice.choice(['NA', '1.0', '2.0'])},{dice.random()!r}\n" for _ in range(60))
    for first, command in (("region,b\n", dice_of.format(region)), ("", named), ("region,b\n", named)):
        text("c9.csv", first + lines)
        got = answer("--categories with names on one side", "c9.csv", "--generator", command, *quick, "--categories",
                     "region")
        shares = {c["name"]: c["observed_mean"] for c in got.get("columns", [])}
        check("--categories with names on one side: columns",
              sorted(shares) == ["b", "region=(other)", "region=1", "region=2", "region=NA"]
              and shares["region=(other)"] == 0 < shares["region=NA"], shares)
    words = make.replace('print i \",\" rand() \",\"', "print").replace("id,size,colour", "colour")
    text("c5.csv", "colour\n" + "".join(f"{dice.choice(['red', 'green', 'blue'])}\n" for _ in range(60)))
    for name, command in (("with names", words), ("without names", words.replace('print \"colour\"; ', ""))):
        answer(f"a program that prints words {name}", "c5.csv", "--generator", command, *quick, code=0)
    text("c6.csv", csv(normal_rows(60, 2, 1)))
    make = "awk 'BEGIN { srand({seed}); print \"b,a\"; while (i++ < {rows}) print rand() \",\" rand() }'"
    got = answer("names of a program alone", "c6.csv", "--generator", make, *quick)
    check("names of a program alone: said", names(got) == NAMES
          and noted(got, "c6.csv has no names of columns: they were matched by position."), got.get("notes"))


# ======== a stream of recordings ========

def night(number, rows=40, shift=0.0):
    return csv(normal_rows(rows, 2, 7000 + number, shift), NAMES)


def evidence(got):
    return [(r["file"], r["p"], r["log_evidence"], r["log_change"]) for r in got.get("list", [])]


def test_watch():
    """--watch: recording after recording, one state."""
    for folder, change in (("sound", 99), ("nights", 12)):
        Path(folder).mkdir()
        for k in range(1, 25):
            text(f"{folder}/night_{k}.csv", night(k, shift=1.0 if k > change else 0.0))
    text("watch_made.csv", csv(normal_rows(40 * (13 + 20 + 199), 2, 61), NAMES))  # exactly as many as needed
    quick = ("--fit-rows", 400, "--pilot", 20, "--replicates", 199)
    source = ("--synthetic", "watch_made.csv", *quick)
    got = answer("a sound stream", "--watch", "sound", *source, code=0)
    check("no alarm", got.get("alarm") is got.get("change_alarm") is False and got["recordings"] == 24,
          got.get("verdict"))
    Path("mixed").mkdir()
    for k, head in enumerate((NAMES, NAMES, None)):
        text(f"mixed/{k}.csv", csv(normal_rows(40, 2, k), head))
    got = answer("numbers of columns", "--watch", "mixed", *source, "--columns", "1-2", code=0)
    check("numbers of columns hold for recordings without names", got.get("recordings") == 3, got)
    answer("a column left out by number", "--watch", "mixed/0.csv", *source, "--leave-out", "1", "--state",
           "left.state")
    text("turned.csv", csv([[b, a] for a, b in normal_rows(40, 2, 3)], NAMES[::-1]))
    got = answer("another order in a later run", "--watch", "turned.csv", "--state", "left.state", code=0)
    text("turned.csv", csv(normal_rows(40, 2, 3), NAMES))
    same = answer("the same order", "--watch", "mixed/0.csv", "turned.csv", *source, "--leave-out", "1", code=0)
    check("a number is that of the recording the tester was made for", evidence(got) == evidence(same), (got, same))
    whole = answer("a change after 12 nights", "--watch", "nights", *source, "--save", "watch.blob", "--report",
                   "watch.html", code=1)
    check("the alarm comes after the change", whole.get("alarm") and 12 < whole["alarm_at"] <= 20, whole.get("verdict"))
    check("files are in the order of numbers", [r["file"] for r in whole.get("list", [])]
          == [f"nights/night_{k}.csv" for k in range(1, 25)])
    check("rows of the file are counted", noted(whole, f"{40 * 232} of the {40 * 232} rows of watch_made.csv"))
    page = Path("watch.html").read_text()
    promise = "the chance that the evidence ever raises a false alarm is at most 0.001 (alpha)"
    check("the page has the promise", promise in page)
    check("the text has the promise", promise in " ".join(npksd("--watch", "sound", *source).stdout.decode().split()))
    check("the page shows the evidence", "aria-label='evidence'" in page and "ALARM" in page and "night_24" in page)
    first = [f"nights/night_{k}.csv" for k in range(1, 11)]
    part = answer("the first ten", "--watch", *first, *source, "--state", "watch.state", code=0)
    check("ten are new", part.get("new") == 10)
    rest = answer("the rest, by state alone", "--watch", "nights", "--state", "watch.state", code=1)
    check("a state goes on as if there had been no break", evidence(rest) == evidence(whole) and rest.get("new") == 14)
    again = answer("nothing new", "--watch", "nights", "--state", "watch.state", code=1)
    check("nothing is added twice", again.get("new") == 0 and evidence(again) == evidence(whole))
    # settings are kept: the same may be given again, others are refused
    answer("the same settings", "--watch", "nights", *source, "--state", "watch.state", "--alpha", "1e-3", "--rows", 40,
           "--seed", 0, code=1)
    for option, other, kept in (("--alpha", 0.05, 0.001), ("--seed", 7, 0), ("--replicates", 499, 199),
                                ("--rows", 30, 40), ("--synthetic", "made.csv", "watch_made.csv"),
                                ("--columns", "a", None), ("--server", "cat", None), ("--load", "watch.blob", None)):
        refuse(f"another {option}", [f"{option} {other}: the state watch.state was made with"
                                     + (f" {kept}." if kept is not None else f"out {option}."),
                                     "delete the state to start again"],
               "--watch", "nights", "--state", "watch.state", option, other)
    text("nights/night_3.csv", night(333))
    check("a changed file is noted", noted(answer("changed", "--watch", "nights", "--state", "watch.state", code=1),
                                           "night_3.csv has changed"))
    text("nights/night_3.csv", night(3))
    blob = answer("a blob", "--watch", "nights", "--load", "watch.blob", code=1)
    check("a blob is the same tester", evidence(blob) == evidence(whole))
    # what does not belong there is skipped, also in front of the first recording
    text("nights/README.txt", "Nights,\nrecorded at home\n1,2,3\n")
    text("nights/empty.csv", "")
    text("nights/names.csv", "a,b\n")
    got = answer("strays", "--watch", "nights", *source, code=1)
    check("strays are skipped with a note", evidence(got) == evidence(whole)
          and noted(got, "nights/README.txt was skipped: not a .csv")
          and noted(got, "nights/empty.csv was skipped: it has no rows")
          and noted(got, "nights/names.csv was skipped: it has no rows"), got.get("notes"))
    for name in ("README.txt", "empty.csv", "names.csv"):
        Path("nights", name).unlink()
    # what is done with lines and columns is noted, of hundreds of recordings once
    Path("spreadsheet").mkdir()
    for k in range(1, 5):
        lines = "".join(f"{i},{x!r},{y!r},,{'red' if x > 0 else 'blue'},\n" for i, (x, y) in enumerate(
            normal_rows(40, 2, 7000 + k)))
        text(f"spreadsheet/night_{k}.csv", "# at home\n,a,b,,colour,\n" + lines)
    text("spreadsheet/night_5.csv", "colour;b;a;mood\n" + "".join(
        f"{'red' if x > 0 else 'blue'};{y:.3f};{x:.3f};5\n".replace(".", ",") for x, y in normal_rows(40, 2, 7005)))
    text("sheet_made.csv", "# made\n,a,b,colour\n" + "".join(
        f"{i},{x!r},{y!r},{'red' if x > 0 else 'blue'}\n" for i, (x, y) in enumerate(normal_rows(40 * 232, 2, 61))))
    got = answer("notes of a watch", "--watch", "spreadsheet", "--synthetic", "sheet_made.csv", *quick, "--state",
                 "sheet.state", "--report", "sheet.html", code=0)
    said = " ".join(npksd("--watch", "spreadsheet", "--synthetic", "sheet_made.csv", *quick).stdout.decode().split())
    page = Path("sheet.html").read_text()
    more = "The same is true of 3 more recordings."
    for words in ("1 comment line at the top of sheet_made.csv was skipped.",
                  "The first column of sheet_made.csv has no name; it was taken as a row index and left out.",
                  f"1 comment line at the top of spreadsheet/night_1.csv was skipped. {more}",
                  f"spreadsheet/night_1.csv has no name; it was taken as a row index and left out. {more}",
                  "2 columns of spreadsheet/night_1.csv have neither a name nor values and were left out. " + more,
                  "Numbers of spreadsheet/night_5.csv have decimal commas:",
                  "The columns of spreadsheet/night_5.csv stand in another order; they were matched by name.",
                  "Columns of spreadsheet/night_5.csv that the tester does not have were left out:",
                  "Column colour is a category: it became 3 columns"):
        check(f"a watch notes: {words}", noted(got, words) and words in said and words in page, got.get("notes"))
    got = answer("notes by state alone", "--watch", "spreadsheet", "--state", "sheet.state", code=0)
    check("a state knows its categories", noted(got, "Column colour is a category") and len(got["notes"]) == 1,
          got.get("notes"))
    text("bare_night.csv", csv(normal_rows(40, 2, 7007)))
    got = answer("a night without names", "--watch", "bare_night.csv", *source, "--state", "bare.state")
    check("matched by position", noted(got, "bare_night.csv has no names of columns: they were matched by position"),
          got.get("notes"))
    text("bare_night_2.csv", csv(normal_rows(40, 3, 7007)))
    refuse("a night without names and with another column", ["has 3 columns in use, the tester was made for 2",
                                                             "add the line of names"],
           "--watch", "bare_night_2.csv", "--state", "bare.state")
    refuse("a night from a pipe", "--watch -: recordings are told apart by the names", "--watch", "-", *source)
    Path("nothing").mkdir()
    for k in range(640):
        text(f"nothing/far_{k}.csv", f"a\n9\n8.5\n9.{k}\n9.5\n")
    text("far_made.csv", csv(normal_rows(4 * 1132, 1, 5), ["a"]))
    far = ("--watch", "nothing", "--synthetic", "far_made.csv", "--fit-rows", 400, "--pilot", 7, "--replicates", 999)
    done = npksd(*far, "--quiet")
    check("--quiet has no inf", re.fullmatch(rb"1e\+3\d\d\n", done.stdout) and done.returncode == 1,
          (done.stdout, done.stderr))
    for file in Path("nothing").iterdir():
        file.unlink()
    refuse("an empty folder", "nothing: no recording is there yet", "--watch", "nothing", *source)
    # what is written is neither an input nor another output, whether it is there yet or not
    wanted = "would be overwritten"
    before = {path: Path(path).read_bytes() for path in ("nights/night_1.csv", "watch_made.csv", "watch.state",
                                                         "watch.blob")}
    for option in ("--report", "--save"):
        for name, arguments in (("a recording", ("nights", *source, option, "nights/night_1.csv")),
                                ("the synthetic file", ("nights", *source, option, "./watch_made.csv")),
                                ("that of the state", ("nights", "--state", "watch.state", option, "watch_made.csv")),
                                ("the state", ("nights", "--state", "watch.state", option, "watch.state")),
                                ("a state to come", ("nights", *source, "--state", "new", option, "nights/../new")),
                                ("the blob", ("nights", "--load", "watch.blob", option, "watch.blob"))):
            refuse(f"{option} that is {name}", wanted, "--watch", *arguments)
    refuse("a state that is a recording", "not a state", "--watch", "nights", *source, "--state", "nights/night_1.csv")
    refuse("one file for two outputs", wanted, "--watch", "nights", *source, "--report", "new", "--save", "new")
    check("nothing was overwritten", all(Path(path).read_bytes() == content for path, content in before.items()))
    # state, page and blob may lie among recordings whose names do not tell them apart
    Path("plain").mkdir()
    for k in range(1, 4):
        text(f"plain/night_{k}", night(k))
    inside = ("--state", "plain/a_state", "--report", "plain/page.txt", "--save", "plain/z_blob")
    for run in (1, 2):
        got = answer(f"outputs in the folder, run {run}", "--watch", "plain", *source, *inside, code=0)
        check(f"run {run}: they are no recordings", evidence(got) == [
            (f"plain/night_{k}", *evidence(whole)[k - 1][1:]) for k in (1, 2, 3)], got)
    refuse("an output that is a recording of any name", wanted, "--watch", "plain", *source, "--save", "plain/night_2")
    # a spread, not a mean; columns chosen once
    text("narrow.csv", csv([[0.4 * x, y] for x, y in normal_rows(40, 2, 5)], NAMES))
    got = answer("a narrow night", "--watch", "narrow.csv", *source, "--columns", 1, "--state", "narrow.state")
    check("the spread is said",
          re.match(r"a \(mean .*, spread 0\.\d+ times as large, ", got.get("list", [{}])[0].get("column", "")),
          got.get("list"))
    text("unnamed.csv", csv(normal_rows(40, 2, 6)))
    got = answer("the columns of the state", "--watch", "unnamed.csv", "--state", "narrow.state")
    check("one column of two is used", got.get("recordings") == 2, got)
    text("wide_night.csv", csv(normal_rows(40, 4, 5), ["a", "b", "c", "d"]))
    text("wide_nights.csv", csv(normal_rows(40 * 232, 4, 6), ["a", "b", "c", "d"]))
    for option, values in (("--leave-out", "cd"), ("--columns", "ab")):
        given = [word for value in values for word in (option, value)]
        wide = ("--watch", "wide_night.csv", "--state", f"wide{option}.state")
        answer(f"{option} twice", *wide, "--synthetic", "wide_nights.csv", *quick, *given)
        got = answer(f"{option} twice, joined in the state", *wide, option, ",".join(values))
        check(f"{option} twice: nothing new", got.get("new") == 0, got)
    # another number of rows
    text("long_night.csv", night(1, 55))
    text("short_night.csv", night(1, 39))
    got = answer("other numbers of rows", "--watch", "long_night.csv", "short_night.csv", "--load", "watch.blob",
                 code=0)
    check("the first rows are used, or none", noted(got, "long_night.csv has 55 rows: the first 40")
          and noted(got, "short_night.csv has 39 rows, fewer") and got.get("recordings") == 1, got.get("notes"))
    # a full memory: with a file, a new one is asked for, and the state goes on with it
    first = answer("a full memory", "--watch", "sound", *source, "--memory", 10, "--state", "full.state", code=2)
    check("14 recordings wait", first.get("recordings") == 10 and first.get("waiting") == 14
          and noted(first, "14 recordings could not be added") and noted(first, "--synthetic and a file of new rows"),
          first.get("notes"))
    got = answer("still full", "--watch", "sound", "--state", "full.state", code=2)
    check("nothing is added", evidence(got) == evidence(first) and got.get("testers") == 1)
    text("watch_more.csv", csv(normal_rows(40 * (13 + 20 + 199), 2, 62), NAMES))
    got = answer("a new file", "--watch", *[f"sound/night_{k}.csv" for k in range(1, 16)], "--state", "full.state",
                 "--synthetic", "watch_more.csv", code=0)
    check("a new tester follows, and evidence goes on",
          evidence(got)[:10] == evidence(first) and got.get("testers") == 2 and got["recordings"] == 15
          and noted(got, "a new one, of other data sets, follows from recording 11 on"), got)
    check("its first rank is among 200", abs(got["list"][10]["p"] * 200 - round(got["list"][10]["p"] * 200)) < 1e-6)
    refuse("a new file for a tester that is not full", "was made with watch_more.csv", "--watch", "sound", "--state",
           "full.state", "--synthetic", "watch_made.csv")
    answer("a full blob", "--watch", "sound", "--load", "watch.blob", "--memory", 10, "--state", "blob.state", code=2)
    Path("same.blob").write_bytes(Path("watch.blob").read_bytes())
    refuse("the same blob again", "the tester in use under another name", "--watch", "sound", "--state", "blob.state",
           "--load", "same.blob")
    answer("another blob", "--watch", "narrow.csv", "--synthetic", "watch_more.csv", *quick, "--save", "more.blob")
    got = answer("and a new one", "--watch", *[f"sound/night_{k}.csv" for k in range(1, 21)], "--state", "blob.state",
                 "--load", "more.blob", code=0)
    check("20 recordings, two blobs", got.get("recordings") == 20 and got.get("testers") == 2, got.get("verdict"))
    # refusals
    refuse("no pilot to watch", "--pilot: several numbers", "--watch", "sound", *source, "--pilot", "1")
    refuse("no memory", "--memory 0: a number from 1", "--watch", "sound", *source, "--memory", "0")
    text("watch_few.csv", csv(normal_rows(40 * 232 - 1, 2, 61), NAMES))
    refuse("too few synthetic rows to watch", ["9279 rows are too few", "232 data sets of 40 rows", "9280 rows"],
           "--watch", "nights", "--synthetic", "watch_few.csv", *quick)
    refuse("a watch without source", "what should the recordings be compared with", "--watch", "nights")
    refuse("two sources", "not several", "--watch", "nights", *source, "--load", "watch.blob")
    for option, value in (("--replicates", 99), ("--rows", 40), ("--estimator", "poly")):
        refuse(f"a blob and {option}", f"{option}: not with --load", "--watch", "nights",
               "--load", "watch.blob", option, value)
    refuse("noise", "--smooth: not with --watch", "--watch", "nights", *source, "--smooth", "0.1")
    refuse("a state without watching", "--state: with --watch only", "same.csv", "made.csv", "--state", "x")
    state = Path("watch.state").read_bytes()
    text("nights/night_99.csv", "a,b\n1,2\n3,x\n")
    refuse("a broken recording", "night_99.csv, line 3, column 2 (b)", "--watch", "nights", "--state", "watch.state")
    check("a run that fails leaves the state", Path("watch.state").read_bytes() == state)
    Path("nights/night_99.csv").unlink()
    for cut in (0, 10, len(state) // 2, len(state) - 1):
        Path("bad.state").write_bytes(state[:cut])
        refuse(f"a state cut at {cut}", "or a damaged one", "--watch", "nights", "--state", "bad.state")
    text("bad.blob", "no blob")
    refuse("no blob", "not a blob", "--watch", "nights", "--load", "bad.blob")
    # a program as the source: its columns decide, and one that counts rows is ignored in recordings
    make = ("awk 'BEGIN { srand({seed}); print \"id,size,colour\"; while (i++ < {rows}) "
            "print i \",\" rand() \",\" (rand() < 0.5 ? \"red\" : \"blue\") }'")
    dice = random.Random(5)
    text("prog_1.csv", "id,size,colour\n" + "".join(f"{k},{dice.random()!r},{dice.choice(['red', 'blue'])}\n"
                                                    for k in range(40)))
    got = answer("a program to watch", "--watch", "prog_1.csv", "--generator", make, *quick, "--state", "prog.state",
                 code=0)
    got = answer("its state", "--watch", "prog_1.csv", "--state", "prog.state", code=0)
    check("one recording", got.get("recordings") == 1 and got.get("new") == 0)
    for k in range(2, 26):
        text(f"prog_night_{k}.csv", "id,size,colour\n" + "".join(
            f"{i},{dice.random()!r},{dice.choice(['red', 'blue'])}\n" for i in range(40)))
    many = [f"prog_night_{k}.csv" for k in range(2, 26)]
    whole = answer("a program makes new testers", "--watch", *many, "--generator", make, *quick, "--memory", 10, code=0)
    logged = make.replace("srand({seed})", 'srand({seed}); print {seed} >> "seeds.txt"')
    answer("a program that notes its seeds", "--watch", *many, "--generator", logged, *quick, "--memory", 10, code=0)
    seeds = Path("seeds.txt").read_text().split()
    check("no data set serves two testers", len(set(seeds)) > 3 * 219, (len(seeds), len(set(seeds))))
    check("three testers for 24 recordings", whole.get("testers") == 3 and whole.get("recordings") == 24
          and noted(whole, "follows from recording 11 on") and noted(whole, "follows from recording 21 on"), whole)
    answer("a part of them", "--watch", *many[:7], "--generator", make, *quick, "--memory", 10, "--state", "many.state",
           code=0)
    rest = answer("and by state alone", "--watch", *many, "--state", "many.state", code=2)
    check("a state starts no program", rest.get("recordings") == 10 and rest.get("waiting") == 14
          and noted(rest, "--generator or --server as before"), rest.get("notes"))
    rest = answer("and the rest", "--watch", *many, "--state", "many.state", "--generator", make, code=0)
    check("testers are the same after a break", evidence(rest) == evidence(whole) and rest.get("testers") == 3)
    got = answer("a level that no single test could have", "--watch", "prog_1.csv", "--generator", make, *quick,
                 "--alpha", 1e-6, code=0)
    check("the monitor's level", got.get("alpha") == 1e-6)
    text("prog_2.csv", Path("prog_1.csv").read_text().replace("red", "green"))
    got = answer("another colour", "--watch", "prog_2.csv", "--state", "prog.state", code=0)
    refuse("another program", ["--generator cat: the state prog.state was made with awk", "delete the state"],
           "--watch", "prog_2.csv", "--state", "prog.state", "--generator", "cat")
    check("it is (other)", "colour=(other)" in got.get("list", [{}])[-1].get("column", ""), got.get("list"))


# ======== for people ========

def test_help():
    folder = Path("bin")
    folder.mkdir()
    (folder / "npksd").symlink_to(PROGRAM)
    path = {**os.environ, "PATH": f"{folder.resolve()}:{os.environ['PATH']}"}
    shown = subprocess.run(["npksd", "--help"], env=path, capture_output=True, text=True)
    lines = shown.stdout.splitlines()
    check("--help exits with 0", shown.returncode == 0 and shown.stderr == "")
    check("--help fits 80 x 24 with a prompt", len(lines) <= 23 and max(map(len, lines)) <= 80,
          (len(lines), max(map(len, lines))))
    example = "\n".join(lines[lines.index("Example, as it is:") + 1:])
    done = subprocess.run(["sh", "-c", example], env=path, capture_output=True, text=True,
                          timeout=120)
    check("the example of --help works as it is", done.returncode == 1 and done.stderr == ""
          and "REJECTED" in done.stdout, done.stdout + done.stderr)
    check("and writes its report", Path("seen.html").read_text().startswith("<!DOCTYPE html>"))
    for option in ("generator", "report", "json", "columns", "leave-out", "header", "no-header",
                   "alpha", "replicates", "pilot", "seed", "quiet", "categories", "missing", "server", "jobs",
                   "timeout", "watch", "state", "load", "save", "synthetic", "rows", "block", "take", "summary",
                   "estimator", "smooth", "fit-rows", "features"):
        check(f"--help names --{option}", f"--{option}" in shown.stdout)


def on_terminal(*arguments):
    """Output of the program when stderr is a terminal."""
    main, side = pty.openpty()
    child = subprocess.Popen([PROGRAM, *map(str, arguments)], stdout=subprocess.DEVNULL,
                             stderr=side)
    os.close(side)
    said = b""
    try:
        while True:
            part = os.read(main, 65536)
            if not part:
                break
            said += part
    except OSError:  # the terminal is gone
        pass
    os.close(main)
    return child.wait(), said.decode()


def test_progress():
    text("many.csv", csv(normal_rows(1000, 2, 17), NAMES))
    text("many_made.csv", csv(normal_rows(5000, 2, 18), NAMES))
    slow = UNIFORM + "; sleep 0.02"
    for name, arguments in (("files", ("many.csv", "many_made.csv")),
                            ("generator", ("uniform.csv", "--generator", slow, "--replicates", 39,
                                           "--fit-rows", 400))):
        status, said = on_terminal(*arguments)
        check(f"{name}: a bar on a terminal", " s left" in said and "\r[" in said, (status, said))
        shares = [int(part.split()[1]) for part in said.split("\r") if "left" in part]
        check(f"{name}: percents only grow", sorted(shares) == shares, shares)
        check(f"{name}: the bar is wiped away", said.endswith("\r\x1b[K"), repr(said[-20:]))
    done = npksd("uniform.csv", "--generator", slow, "--replicates", 39, "--fit-rows", 400)
    check("no bar in a pipe", done.stderr == b"" and done.returncode == 0)


class Page(html.parser.HTMLParser):
    """Tags that open and close in order, and what they refer to."""
    EMPTY = {"meta", "line", "rect", "circle", "path", "br"}

    def __init__(self):
        super().__init__()
        self.open, self.counts, self.links, self.broken = [], {}, [], []

    def handle_starttag(self, tag, attributes):
        self.counts[tag] = self.counts.get(tag, 0) + 1
        self.links += [v for k, v in attributes if k in ("src", "href", "xlink:href", "action")]
        if tag not in self.EMPTY:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.handle_starttag(tag, attributes)
        if tag not in self.EMPTY:
            self.open.pop()

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            self.broken.append(tag)


def first_pixel(file):
    """Colour in the corner of a PNG: no filter of the format changes the first pixel."""
    data, at, packed = Path(file).read_bytes(), 8, b""
    while at < len(data):
        size, kind = struct.unpack(">I4s", data[at:at + 8])
        packed += data[at + 8:at + 8 + size] if kind == b"IDAT" else b""
        at += 12 + size
    return tuple(zlib.decompress(packed)[1:4])


def test_report():
    done = npksd("other.csv", "made.csv", "--report", "report.html")
    check("report: exit status", done.returncode == 1)
    for name, pictures in (("report.html", 5), ("generator.html", 5), ("dice.html", 3), ("huge.html", 5),
                           ("candidates.html", 16)):
        content = Path(name).read_text()
        page = Page()
        page.feed(content)
        check(f"{name}: well formed", not page.open and not page.broken, (page.open, page.broken))
        check(f"{name}: needs no network", page.links == [] and "http" not in content
              and "url(" not in content and "@import" not in content
              and "script" not in page.counts)
        check(f"{name}: pictures", page.counts.get("svg") == pictures, page.counts)
        check(f"{name}: no number went wrong", not re.search(r"[^a-z](nan|inf)[^a-z]", content))
        check(f"{name}: light, dark and paper", "prefers-color-scheme:dark" in content and "@media print" in content)
        check(f"{name}: how to repeat it",
              "seed 0, replicates" in content and "--report" in content)
    got = answer("report: JSON", "other.csv", "made.csv", code=1)
    check("report: rows are ringed where they explain the verdict",
          Path("report.html").read_text().count("r='7'") == len(got.get("worst_rows", [])))
    browser = shutil.which(os.environ.get("CHROMIUM", "chromium"))
    if not browser:
        skip("chromium")
        return
    flags = ["--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars",
             "--window-size=1040,2300"]
    # what may be scrolled on a phone is cut on paper: the rules for print, at the width of a sheet (A4 with margins)
    for name, pictures in (("report.html", 4), ("candidates.html", 4), ("watch.html", 1)):
        text(f"print_{name}", Path(name).read_text().replace("@media print", "@media all"))
        for file, medium, width in ((name, "a phone", 400), (f"print_{name}", "a sheet of paper", 718)):
            text("frame.html", f"<iframe id='f' src='{file}' width='{width}' height='900'></iframe><script>"
                 "onload = () => { let d = document.getElementById('f').contentDocument.documentElement;"
                 "document.title = 'width ' + d.scrollWidth + ' ' + d.querySelectorAll('svg').length }</script>")
            done = subprocess.run([browser, *flags, "--allow-file-access-from-files", "--dump-dom", "frame.html"],
                                  capture_output=True, text=True, timeout=100)
            said = done.stdout.split("<title>")[-1].split("<")[0].split()
            check(f"{name} fits {medium}", said[:1] == ["width"] and int(said[1]) <= width
                  and int(said[2]) >= pictures, said)
    for scheme, number, paper in (("light", 1, (0xfb, 0xfa, 0xf7)),
                                  ("dark", 0, (0x15, 0x17, 0x1a))):
        subprocess.run([browser, *flags, f"--blink-settings=preferredColorScheme={number}",
                        f"--screenshot={scheme}.png", "report.html"], capture_output=True,
                       timeout=100)
        shot = Path(f"{scheme}.png")
        if check(f"chromium shows the report, {scheme}", shot.exists()):
            check(f"{scheme}: the colour of the paper", first_pixel(shot) == paper,
                  first_pixel(shot))
            check(f"{scheme}: not an empty page", shot.stat().st_size > 60000, shot.stat().st_size)


def test_readme():
    """The first program of the README prints what the README says; that of the header is an example."""
    content = (REPOSITORY / "README.md").read_text()
    program = content.split("```c\n", 1)[1].split("```", 1)[0]
    command, *shown = content.split("    $ ", 1)[1].split("\n\n")[0].split("\n")
    shown = "\n".join(line.strip() for line in shown)
    text("demo.c", program)
    command = command.replace("cc ", f"{os.environ.get('CC', 'cc')} -I '{REPOSITORY}' ", 1)
    done = subprocess.run(command, shell=True, capture_output=True, text=True, timeout=120)
    check("the program of the README", done.stdout.strip() == shown != "",
          done.stdout + done.stderr)
    links = [part.split(")")[0] for part in content.split("](")[1:]]
    check("the README has links", len(links) > 15)
    for link in links:
        check(f"README: {link} is there", (REPOSITORY / link).exists())
    comment = (REPOSITORY / "npksd.h").read_text().split(" * QUICK EXAMPLE", 1)[1].split("\n *\n", 1)[1]
    program = comment.split(" * WHAT IT TESTS", 1)[0].rstrip(" *\n")
    program = "".join(line[len(" *     "):] + "\n" for line in program.split("\n"))
    check("quickstart.c is the program of the header",
          program == (REPOSITORY / "examples" / "quickstart.c").read_text(), program)


def main():
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        for test in (test_verdicts, test_reasons, test_deviations, test_longer_files, test_sessions, test_dialects,
                     test_refusals, test_options, test_lookalikes, test_numbered_columns, test_dates, test_hints,
                     test_dialects_of_programs, test_exports, test_newcomers, test_more_newcomers, test_defects,
                     test_more_defects, test_report_files, test_copies, test_frequent_values, test_candidates,
                     test_energy, test_npy, test_generators, test_programs, test_simulators, test_program_columns, test_watch,
                     test_help, test_progress, test_report, test_readme):
            if ONLY and test.__name__[5:] not in ONLY:
                continue
            before = len(PASSED), len(FAILED)
            test()
            passed, failed = len(PASSED) - before[0], len(FAILED) - before[1]
            print(f"{test.__name__[5:]}: {passed} passed, {failed} failed", flush=True)
        keep = os.environ.get("KEEP_PICTURES")
        for name in ("light.png", "dark.png", "report.html", "dice.html", "generator.html"):
            if keep and Path(name).exists():
                shutil.copy(name, keep)
        os.chdir("/")
    print(f"{len(PASSED)} passed, {len(FAILED)} failed")
    sys.exit(1 if FAILED else 0)


main()
