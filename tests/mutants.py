"""Mutation testing: would the suites notice if npksd.h were wrong?

    mutants.py [--count 300] [--seed 1] [--jobs 2] [--builds NAMES] [--patience SECONDS]
               [--only TEXT] [--list]

Changes one operator, constant, condition or statement of the implementation at a time, compiles it and runs the quick
suites (NPKSD_TEST_QUICK=1) until one fails. A crash, an endless loop (four times the CPU time of the sound header) and
memory beyond 4 GB count as noticed. Every change is tried in the first build that compiles its line, a survivor in all
of them: double, the known answers of pinned.txt, without a C library, float, BLAS, sanitizers (addresses, undefined
behaviour). A change that gives the same object file, at -O1 or -O2, is none. Survivors are printed; the run fails if
fewer than 95 % of the others were noticed, or if an entry of mutants_equivalent.txt (changes that no test can notice,
and why) does not fit one line of the header. Needs gcc and Python's standard library; pkg-config and OpenBLAS for BLAS.

A run that was broken off continues: build/mutants/fates.json keeps what is known of this header. Survivors meet again
the suites that have changed; `make clean` forgets everything.
"""
import argparse
import collections
import concurrent.futures
import hashlib
import json
import os
import pathlib
import random
import re
import resource
import shutil
import subprocess
import sys
import threading
import time

HERE = pathlib.Path(__file__).resolve().parent
HEADER = HERE.parent / "npksd.h"
EQUIVALENT = HERE / "mutants_equivalent.txt"
WORK = HERE / "build" / "mutants"
GOAL = 0.95
SANITIZERS = "-fsanitize=address,undefined,float-divide-by-zero"
SILENT = "left out", "same", "survived", "undecided", "refused"

# pattern, replacements: binary operators have a blank on both sides (clang-format sees to it), pointers do not
OPERATORS = [
    (r" < ", (" <= ", " > ")), (r" <= ", (" < ",)), (r" > ", (" >= ", " < ")), (r" >= ", (" > ",)),
    (r" == ", (" != ",)), (r" != ", (" == ",)), (r" && ", (" || ",)), (r" \|\| ", (" && ",)),
    (r" \+ ", (" - ",)), (r" - ", (" + ",)), (r" \* ", (" / ",)), (r" / ", (" * ",)), (r" % ", (" / ",)),
    (r" \+= ", (" -= ",)), (r" -= ", (" += ",)), (r" \*= ", (" /= ",)), (r" << ", (" >> ",)), (r" >> ", (" << ",)),
    (r" & ", (" | ",)), (r" \| ", (" & ",)), (r"(?<=[( ])!(?=[a-z(])", ("",)), (r"(?<=return )-", ("",)),
]
NUMBER = re.compile(r"(?<![\w.])(?:\d+\.\d*(?:e[+-]?\d+)?|\d+(?:e[+-]?\d+)|0x[0-9A-Fa-f]+|\d+)(?![\w.])")
STATEMENT = re.compile(r"^\s+(?:[\w>.\[\]() *+-]+ [-+*/|&]?= [^=].*|npksdi?_\w+\(.*\)|[\w>.\[\]-]+\+\+"
                       r"|continue|break);$")
DECLARATION = re.compile(r"^\s+(?:const |static |unsigned |struct )*"
                         r"(?:\w+_t|\w+_real|int|double|float|npksdi?_\w+|unsigned)"
                         r" \**(?:const )?\w+(?:\[.*\])* = ")
# up to a number in the size of a declared array: a longer array would be no fault, a shorter one is
ARRAY_SIZE = re.compile(r"^\s+(?!return |else )(?:static |const |unsigned )*\w+ [^=(]*\[[^\]=(/]*$")
CONDITION = re.compile(r"^(\s*(?:\} else )?(?:if|while) )\((.*)\)( \{)?$")


class Build:
    """A way to compile the header, the lines it compiles, and the programs that judge it: the suites, or one program
    of its own, whose numbers must be those of pinned.txt within a tolerance, if there is one."""

    def __init__(self, name, flags, link=(), program=None, tolerance=None, include=None, without=()):
        self.name, self.flags, self.link = name, list(flags), list(link)
        self.include = ["-include", str(HERE / include)] if include else []  # before the implementation
        self.suites, self.tolerance = program is None, tolerance
        self.implementation = HERE / (program or "impl.c")
        self.folder = WORK / name
        names = sorted({p.stem for p in HERE.glob("suite_*.c")} - set(without)) if self.suites else [name]
        shared = sorted(HERE.glob("*.h")) + [HERE / "main.c", HERE / "support.c"]
        self.versions = {n: version_of(HERE / f"{n}.c" if self.suites else self.implementation, *shared) for n in names}
        self.killed = {}
        self.seconds = {}
        self.objects = []
        self.sound = {}  # by level of optimisation
        self.ready = threading.Lock()
        self.active = self.lines()

    def compile(self, header_folder, source, out, level="-O1"):
        include = self.include if source == self.implementation else []
        return run(["gcc", "-std=c99", level, "-w", "-I.", f"-I{HERE}", *self.flags, *include, "-c", str(source), "-o",
                    str(out)], header_folder)  # from there: sanitizers note the header's path

    def lines(self):
        """Numbers of the header's lines that this build compiles, definitions of macros included."""
        text = run(["gcc", "-std=c99", "-O1", "-w", "-E", "-dD", f"-I{HEADER.parent}", *self.flags, *self.include,
                    str(self.implementation)]).stdout
        found, here, line = set(), False, 0
        for row in text.split("\n"):
            mark = re.match(r'# (\d+) "([^"]*)"', row)
            if mark:
                here, line = mark.group(2).endswith("npksd.h"), int(mark.group(1))
                continue
            if here and row.strip():
                found.add(line)
            line += 1
        return found

    def prepare(self):
        """What no change touches, the sound object, and how long every program takes. Once, when first needed."""
        with self.ready:
            if not self.seconds:
                self.prepare_now()

    def prepare_now(self):
        self.folder.mkdir(parents=True, exist_ok=True)
        names = list(self.versions)
        units = ["main", "support"] + sorted(p.stem for p in HERE.glob("suite_*.c")) if self.suites else []
        for unit in units:
            need(self.compile(HEADER.parent, HERE / f"{unit}.c", self.folder / f"{unit}.o"),
                 f"{self.name}: {unit}.c does not compile")
        self.objects = [str(self.folder / f"{u}.o") for u in units]
        shutil.copy(HEADER, self.folder)  # elsewhere, as a changed one will be
        sound, program = self.folder / "sound.o", self.folder / "sound"
        for level in "-O2", "-O1":
            objects = []
            for folder in HEADER.parent, self.folder:
                need(self.compile(folder, self.implementation, sound, level), f"{self.name}: npksd.h does not compile")
                objects.append(sound.read_bytes())
            if objects[0] != objects[1]:
                sys.exit(f"mutants: {self.name}: the object file depends on where the header is")
            self.sound[level] = objects[0]
        need(self.build_program(sound, program), f"{self.name}: does not link")
        seconds = {}
        for name in names:
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            if not self.judge(program, name, 600):
                sys.exit(f"mutants: {self.name}: {name} fails without any change")
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            seconds[name] = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime + 0.01
            self.killed.setdefault(name, 0)
        self.seconds = seconds

    def build_program(self, implementation, program):
        return run(["gcc", *self.objects, str(implementation), *self.link, "-o", str(program), "-lm"])

    def judge(self, program, name, cpu_seconds):
        """True if it passes."""
        def limits():
            resource.setrlimit(resource.RLIMIT_CPU, (cpu_seconds, cpu_seconds + 5))
            if SANITIZERS not in self.flags:  # they reserve more than there is
                resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        arguments = ["-f", "-s", name] if self.suites else []
        done = subprocess.run([str(program), *arguments], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, cwd=HERE,
                              stdin=subprocess.DEVNULL, preexec_fn=limits, check=False,
                              env={**os.environ, "NPKSD_TEST_QUICK": "1", "OPENBLAS_NUM_THREADS": "1"})
        if done.returncode == 0 and self.tolerance is not None:
            expected, found = (pathlib.Path(f"{program}.{what}") for what in ("expected", "found"))
            found.write_bytes(done.stdout)
            expected.write_text("".join(line[7:] for line in (HERE / "pinned.txt").read_text().splitlines(True)
                                        if line.startswith("double ")))
            done = run(["awk", "-v", f"tolerance={self.tolerance}", "-f", str(HERE / "platform_compare.awk"),
                        str(expected), str(found)])
        return done.returncode == 0

    def order(self):
        """What kills most a second comes first."""
        return sorted(self.seconds, key=lambda name: -(self.killed.get(name, 0) + 0.2) / self.seconds[name])


def run(command, folder=HERE):
    return subprocess.run(command, capture_output=True, text=True, check=False, cwd=folder)


def need(result, message):
    if result.returncode != 0:
        sys.exit(f"mutants: {message}\n{(result.stderr or '')[-2000:]}")


def code_of(text):
    """The header with comments and strings blanked out, as many lines and columns as before."""
    def blank(match):
        return re.sub(r"[^\n]", " ", match.group(0))
    return re.sub(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"', blank, text, flags=re.S).split("\n")


def changes_of(line):
    """Every changed version of a line of code."""
    for pattern, replacements in OPERATORS:
        for match in re.finditer(pattern, line):
            for replacement in replacements:
                yield line[:match.start()] + replacement + line[match.end():]
    for match in NUMBER.finditer(line):
        text = match.group(0)
        if text.startswith("0x"):
            other = hex(int(text, 16) ^ 1)
        elif re.search(r"[.e]", text):
            other = repr(float(text) * 1.5 or 1.0)
        else:
            other = str(int(text) + (-1 if ARRAY_SIZE.match(line[:match.start()]) else 1))
        yield line[:match.start()] + other + line[match.end():]
    if STATEMENT.match(line) and not DECLARATION.match(line):
        yield re.match(r"\s*", line).group(0) + ";"
    match = CONDITION.match(line)
    if match and line.count("(") == line.count(")"):
        yield f"{match.group(1)}(!({match.group(2)})){match.group(3) or ''}"


def list_mutants(text, builds):
    """(line number, changed line, builds), for every line that some build compiles."""
    original, code = text.split("\n"), code_of(text)
    start = next(k for k, line in enumerate(original) if "NPKSDI_IMPLEMENTED" in line)
    end = max(k for k, line in enumerate(original) if line.startswith("#endif /* NPKSD_IMPLEMENTATION"))
    mutants = []
    for k in range(start, end):
        line = code[k].rstrip()
        if line.startswith("#") and not line.startswith("#define") or "NPKSD_ASSERT" in line or "__attribute__" in line:
            continue
        if line.startswith("#define") and (" static" in line or "RED_ZONE" in line) or \
                line.startswith("enum") and "NPKSDI_T " in line:
            continue  # how to inline, room for tests, and the sizes of tiles: speed only
        places = [build for build in builds if k + 1 in build.active]
        for changed in changes_of(line) if places else ():
            mutants.append((k, changed, tuple(places)))
    return original, mutants


def squeeze(line):
    return " ".join(line.split())


def names_of(code, k):
    """What an entry of mutants_equivalent.txt may call a line."""
    return squeeze(code[k]), f"{squeeze(code[k - 1])} / {squeeze(code[k])}"


def read_equivalent(original):
    """Entries: '- line' or '- line before it / line', '+ changed line', then the reason, indented. All are needed."""
    known, stale = set(), []
    code = code_of("\n".join(original))
    there = collections.Counter(name for k in range(len(code)) for name in names_of(code, k))
    text = EQUIVALENT.read_text() if EQUIVALENT.exists() else ""
    for entry in re.split(r"\n(?=- )", text):
        if not entry.startswith("- "):
            continue
        lines = entry.strip().split("\n")
        if len(lines) < 3 or not lines[1].startswith("+ ") or not lines[2].startswith("  "):
            sys.exit(f"mutants: {EQUIVALENT.name}: an entry needs '- line', '+ change' and a reason:\n{entry}")
        before, after = squeeze(lines[0][2:]), squeeze(lines[1][2:])
        known.add((before, after))
        if there[before] != 1:
            stale.append(before)
    return known, stale


def try_build(folder, build, passed):
    """'same' | 'refused' | 'survived' | 'undecided' | the suite that noticed it. passed: suites that did not, so far,
    and what they were."""
    build.prepare()
    implementation, program = folder / "impl.o", folder / "tests"
    if build.compile(folder, build.implementation, implementation).returncode != 0:
        return "refused"
    if implementation.read_bytes() == build.sound["-O1"]:
        return "same"
    if build.build_program(implementation, program).returncode != 0:
        return "refused"
    spent = 0
    for name in build.order():
        if passed.get(name) == build.versions[name]:
            continue
        if spent + build.seconds[name] > ARGUMENTS.patience:
            return "undecided"
        if not build.judge(program, name, int(4 * build.seconds[name]) + 2):
            return name
        passed[name] = build.versions[name]
        spent += build.seconds[name]
    build.compile(folder, build.implementation, implementation, "-O2")
    return "same" if implementation.read_bytes() == build.sound["-O2"] else "survived"


def try_mutant(number, original, mutant, fates):
    """What the builds say, until one notices: 'suite (build)' or a word of SILENT"""
    k, changed, builds = mutant
    folder = WORK / f"try{number}"
    folder.mkdir(parents=True, exist_ok=True)
    try:
        # the macro's continuation stays where it was
        text = original[:k] + [changed + (" \\" if original[k].endswith("\\") and not changed.endswith("\\") else "")]
        (folder / "npksd.h").write_text("\n".join(text + original[k + 1:]))
        said = {"left out"}
        for build in builds:
            if ARGUMENTS.builds and build.name not in ARGUMENTS.builds.split(","):
                continue
            fate, passed = fates.get(mutant, build)
            if fate is None:
                fate = try_build(folder, build, passed)
                fates.add(mutant, build, fate, passed)
            if fate == "refused" or fate == "undecided":
                return fate
            if fate not in SILENT:
                return f"{fate} ({build.name})"
            said.add(fate)
        return max(said, key=SILENT.index)
    finally:
        shutil.rmtree(folder)


def version_of(*paths):
    """A word that changes with what is in these files."""
    return hashlib.sha256(b"".join(p.read_bytes() for p in paths)).hexdigest()[:16]


class Fates:
    """What is known of the changes of this header. What a suite noticed once it will notice again: tests only grow."""

    def __init__(self, builds):
        self.file, self.lock, self.header = WORK / "fates.json", threading.Lock(), version_of(HEADER)
        WORK.mkdir(parents=True, exist_ok=True)
        stored = json.loads(self.file.read_text()) if self.file.exists() else {}
        self.known = stored["fates"] if stored.get("header") == self.header else {}
        for fates in self.known.values():
            for build in builds:
                self.count(build, fates.get(build.name, ["same"])[0])

    @staticmethod
    def key(mutant):
        return f"{mutant[0] + 1}: {squeeze(mutant[1])}"

    @staticmethod
    def count(build, fate):
        if fate not in SILENT:
            build.killed[fate] = build.killed.get(fate, 0) + 1

    def get(self, mutant, build):
        """The fate if nothing can change it any more, and the suites that let it pass."""
        fate, passed = self.known.get(self.key(mutant), {}).get(build.name, (None, {}))
        if fate == "undecided" or fate == "survived" and passed != build.versions:
            fate = None
        return fate, dict(passed)

    def add(self, mutant, build, fate, passed):
        with self.lock:
            self.known.setdefault(self.key(mutant), {})[build.name] = (fate, passed)
            self.count(build, fate)
            new = self.file.with_suffix(".new")
            new.write_text(json.dumps({"header": self.header, "fates": self.known}, indent=0))
            new.replace(self.file)  # whole at any time


def make_builds():
    """Those that judge quickly come first: a change meets the next build only if it survives."""
    builds = [Build("double", []),
              Build("pinned", ["-ffp-contract=off"], program="platform_check.c", tolerance=0),
              Build("bare", ["-DNPKSD_FLOAT"], program="compile_freestanding.c"),
              Build("bare_pinned", ["-DNPKSD_NO_MALLOC"], program="platform_check.c", tolerance=1e-5),
              Build("float", ["-DNPKSD_FLOAT"])]
    blas = run(["pkg-config", "--cflags", "--libs", "openblas"])
    if blas.returncode == 0:
        flags = [f for f in blas.stdout.split() if f.startswith("-I")]
        builds.append(Build("blas", ["-DNPKSD_USE_CBLAS", *flags],
                            ["-Wl,--no-as-needed", *(f for f in blas.stdout.split() if not f.startswith("-I"))]))
    elif os.environ.get("CI") == "true":
        sys.exit("mutants: needs pkg-config and OpenBLAS")
    else:
        print("skipped: the BLAS build, which needs pkg-config and OpenBLAS")
    # forbidden bytes are in a workspace: not for the suites that read it as bytes
    builds.append(Build("sanitized", [SANITIZERS, "-fno-sanitize-recover=all"], [SANITIZERS], include="red_zone.h",
                        without=("suite_memory", "suite_regressions")))
    return builds


def main():
    text = HEADER.read_text()
    builds = make_builds()
    original, mutants = list_mutants(text, builds)
    known, stale = read_equivalent(original)
    code = code_of(text)
    fates = Fates(builds)
    if ARGUMENTS.only:
        mutants = [m for m in mutants if ARGUMENTS.only in original[m[0]]]
    random.Random(ARGUMENTS.seed).shuffle(mutants)
    explained = {m for m in mutants if any((name, squeeze(m[1])) in known for name in names_of(code, m[0]))}
    chosen = [m for m in mutants if m not in explained][:ARGUMENTS.count]
    left_aside = sum(m in explained for m in mutants[:mutants.index(chosen[-1])]) if chosen else 0
    print(f"{len(mutants)} possible changes; {len(chosen)} tried, seed {ARGUMENTS.seed}", flush=True)
    if ARGUMENTS.list:
        for k, changed, _ in chosen:
            print(f"npksd.h:{k + 1}\n- {squeeze(code[k])}\n+ {squeeze(changed)}")
        return 0
    counts, begun = {}, time.time()
    pool = concurrent.futures.ThreadPoolExecutor(ARGUMENTS.jobs)
    try:
        tasks = {pool.submit(try_mutant, number, original, m, fates): m for number, m in enumerate(chosen)}
        for task in concurrent.futures.as_completed(tasks):
            k, changed, builds_tried = tasks[task]
            fate = task.result()
            counts[fate] = counts.get(fate, 0) + 1
            if sum(counts.values()) % 25 == 0:
                print(f"{sum(counts.values())} of {len(chosen)}: {counts.get('survived', 0)} survived, "
                      f"{time.time() - begun:.0f} s", flush=True)
            if fate == "survived":
                names = ", ".join(build.name for build in builds_tried)
                print(f"survived: npksd.h:{k + 1} ({names})\n- {squeeze(code[k])}\n+ {squeeze(changed)}", flush=True)
    finally:
        pool.shutdown(cancel_futures=True)  # after an error, too: what is left need not be tried
    same, refused = counts.pop("same", 0), counts.pop("refused", 0)
    alive, undecided = counts.pop("survived", 0), counts.pop("undecided", 0) + counts.pop("left out", 0)
    noticed = sum(counts.values())
    print("noticed by: " + ", ".join(f"{name} {count}" for name, count in sorted(counts.items(), key=lambda x: -x[1])))
    print(f"{noticed} noticed, {alive} survived, {same} give the same object file, {refused} do not compile, "
          f"{left_aside} explained, {undecided} undecided; {time.time() - begun:.0f} s")
    for line in stale:
        print(f"{EQUIVALENT.name}: not one line of npksd.h, but none or several: {line}")
    if noticed + alive > 0:
        print(f"{100 * noticed / (noticed + alive):.1f} % noticed")
    return 1 if stale or undecided or noticed < GOAL * (noticed + alive) else 0


PARSER = argparse.ArgumentParser()
PARSER.add_argument("--count", type=int, default=300)
PARSER.add_argument("--seed", type=int, default=1)
PARSER.add_argument("--jobs", type=int, default=2)
PARSER.add_argument("--builds", help="only these, with commas: double,sanitized,float,blas,bare,bare_pinned,pinned")
PARSER.add_argument("--patience", type=float, default=1e9,
                    help="CPU seconds of suites for a change and a build; then it is undecided, and later runs go on")
PARSER.add_argument("--only", help="lines that contain this text")
PARSER.add_argument("--list", action="store_true", help="print the changes and try none")
ARGUMENTS = PARSER.parse_args()

if __name__ == "__main__":
    sys.exit(main())
