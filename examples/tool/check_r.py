#!/usr/bin/env python3
"""Does the tool read what R writes, and is its verdict right?

check_r.py PROGRAM: exports nine of R's data sets with write.csv and its defaults into a temporary
folder, with three synthetic versions of each, and runs the tool on every pair without editing:

    bootstrap   rows drawn with replacement. The file itself must be read and the copies noticed; p is
                not asserted there, for a bootstrap repeats rows and the file does not, which is a
                difference. Another bootstrap against it has the same source:      not rejected
    shuffled    every column drawn by itself, so that the dependence is gone:      rejected
    normal      numbers from a fitted normal distribution, other columns as in the bootstrap:
                rejected; one normal for each group of chickwts, ToothGrowth, warpbreaks: not rejected

The dependence in warpbreaks (54 rows, effects of 0.4 standard deviations) is too weak for a test of
everything at once; its shuffled version is shown, not asserted.

Needs Rscript (Debian: r-base-core); without it a visible skip, and a failure when CI=true.
"""
import json
import os
import shutil
import subprocess
import sys
import tempfile

EXPORT = r"""
set.seed(1)
sets <- c("iris", "faithful", "quakes", "airquality", "mtcars", "esoph", "warpbreaks", "ToothGrowth", "chickwts")
groups <- list(chickwts = "feed", ToothGrowth = c("supp", "dose"), warpbreaks = c("wool", "tension"))
for (name in sets) {
    d <- as.data.frame(get(name))
    rows <- 10 * nrow(d)
    drawn <- d[sample(nrow(d), rows, TRUE), , drop = FALSE]
    write.csv(d, paste0(name, ".csv"))
    write.csv(drawn, paste0(name, "_bootstrap.csv"))
    write.csv(d[sample(nrow(d), nrow(d), TRUE), , drop = FALSE], paste0(name, "_again.csv"))
    write.csv(as.data.frame(lapply(d, sample, rows, TRUE)), paste0(name, "_shuffled.csv"))
    made <- drawn
    if (!is.null(groups[[name]])) {
        by <- interaction(d[groups[[name]]])
        of <- interaction(made[groups[[name]]])
        value <- setdiff(names(d), groups[[name]])
        made[[value]] <- rnorm(rows, tapply(d[[value]], by, mean)[of], tapply(d[[value]], by, sd)[of])
    } else {
        numbers <- names(d)[sapply(d, is.numeric)]
        x <- as.matrix(na.omit(d[numbers]))
        z <- matrix(rnorm(rows * ncol(x)), rows) %*% chol(cov(x) + diag(1e-9, ncol(x)))
        made[numbers] <- sweep(z, 2, colMeans(x), "+")
    }
    write.csv(made, paste0(name, "_normal.csv"))
}
cat(sets)
"""


BY_GROUP = ("chickwts", "ToothGrowth", "warpbreaks")
# observed, synthetic, is it rejected (None: not asserted)?
CASES = (("", "_bootstrap", lambda name: None),
         ("_again", "_bootstrap", lambda name: False),
         ("", "_shuffled", lambda name: None if name == "warpbreaks" else True),
         ("", "_normal", lambda name: name not in BY_GROUP))


def compare(program, folder, name, observed, synthetic, wanted):
    """One run; returns whether all is as it should be."""
    run = subprocess.run([program, f"{name}{observed}.csv", f"{name}{synthetic}.csv", "--json"], cwd=folder,
                         capture_output=True, text=True)
    got = json.loads(run.stdout)
    if "error" in got:
        print("X", got["error"])
        return False
    copies = got["copies"]
    good = wanted in (None, got["reject"])
    if synthetic == "_bootstrap" and observed == "":
        good &= copies["synthetic_rows"] == got["synthetic_rows_used"]
    if synthetic != "_bootstrap":
        good &= not copies["suspicious"]
    words = {None: "not asserted", True: "rejected", False: "not rejected"}[wanted]
    print(f"{' ' if good else 'X'} {name + observed:18} {synthetic[1:]:10} p = {got['p_value']:.3f}, "
          f"wanted: {words:12} {copies['synthetic_rows']} copies{', suspicious' if copies['suspicious'] else ''}", flush=True)
    return good


def main():
    program, strict = os.path.abspath(sys.argv[1]), os.environ.get("CI") == "true"
    if not shutil.which("Rscript"):
        print("failed" if strict else "skipped", "check_r needs Rscript (r-base-core)", sep=": ")
        sys.exit(strict)
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(["Rscript", "-e", EXPORT], cwd=folder, capture_output=True, text=True, check=True)
        results = [compare(program, folder, name, observed, synthetic, wanted(name))
                   for name in done.stdout.split() for observed, synthetic, wanted in CASES]
    print(f"{sum(results)} passed, {results.count(False)} failed")
    sys.exit(not all(results))


main()
