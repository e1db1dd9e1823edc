#!/usr/bin/env python3
"""Known answers for the tests of npksd.h, computed from the definitions and not from the C code.

    python3 make_vectors.py           write vectors/*.txt (the same bytes every time)
    python3 make_vectors.py --check   compare with the files on disk, exit 1 beyond 1e-9 relative

Format. Every file is a list of words separated by blanks and line ends, made for fscanf:

    cases COUNT                        once, at the top
    case NAME                          then the fields of that case, in the order listed below
    KEY VALUE                          one number or word
    KEY COUNT V V V ...                an array; matrices row by row, one row a line

Enumerations are written as words: gauss imq / vector scalar / v u / none mean all mean_var neighbours /
auto poly spline rbf constant. Threefry words are hexadecimal. Other numbers have 17 digits. `both` in
the field `precision` means that the answer also holds in a float build (to float accuracy): nearly all
inputs are small multiples of a power of two, which float and double read alike.

    statistic    n m kernel form statistic bandwidth scale weights[0 or m] rows[n m] scores[n m]
                 answer mirror magnitude
                 mirror: the V-statistic with the scores negated. magnitude: mean |u| over the pairs, the
                 yardstick for an error bound where terms cancel. No weights: 1/m each.
    moment       n m form statistic weights[0 or m] rows scores answer magnitude
    mmd          n rows m bandwidth ring[16 m] x[n m] y[rows m] wide narrow
                 ring: 16 vectors in units of the bandwidth; wide, narrow: the numbers of the two bands
    margin       n m fit_rows sets[D n m] observed[n m] anderson[m] spread[m] shift[m] distance[m]
                 numbers[7] cells[m] correlations[m m] expected[m m] pair
                 sets: D whole data sets of the fit; fit_rows of the first rows are kept, all are reference
    combination  pilot[] mean sd skew probe[] answer[]
                 answer: (z + h(z, skew)) / 2 of each probe
    features     n m form statistic scale weights[0 or m] rows scores omega[F m] answer magnitude
                 omega: the frequencies, drawn for scale 1
    coordinate   n m kernel bandwidth weights[0 or m] rows scores v[m] influence[n] influence_scalar[n]
    median       count m rows answer
    threefry     k0 k1 c0 c1 w0 w1          one block: key, counter, two words
                 (the file has cases of two kinds; a case named stream* instead has)
                 seed stream first words[4] uniform53[4] uniform24[4]
    clopper_pearson   hits draws stopped p_low p_high
                 stopped 0: draws replicates, hits of them >= the statistic; 1: stopped at the last hit
    p_value      alpha statistic null[b] p k threshold     k 0: nothing can be rejected, threshold 0
    scores       precision n m fit_rows whole standardize summary estimator degree basis ridge sets[D n m]
                 flags bandwidth family[m] lambda[m] probe[P m] scores[P m]
                 sets: what the generator returned, call by call, whole data sets of n rows; for auto the
                 held-out calls follow. Exactly fit_rows rows (and a quarter held out) are used; whole 1: there are
                 more, as there are references to make. flags: 1 ties, 2 constant coordinate. scores: caller's units;
                 measure an error against the largest of its column, single scores may be near 0.
"""
import itertools
import math
import os
import random
import sys
from decimal import Decimal, getcontext
from statistics import NormalDist

import numpy as np
from numpy.polynomial import hermite_e

LD = np.longdouble  # answers are rounded once, at the end
HERE = os.path.dirname(os.path.abspath(__file__))
FOLDER = os.path.join(HERE, "vectors")


# ---------------------------------------------------------------- inputs

class Source:
    """Normal numbers on a grid of 1/grid. The standard library's uniform sequence is the same in every
    version, and rounding to the grid hides the last digits of the local sine and logarithm."""

    def __init__(self, seed):
        self.uniform = random.Random(seed).random

    def normal(self, *shape, grid=4096):
        count = int(np.prod(shape))
        u = [(1.0 - self.uniform(), self.uniform()) for _ in range(count)]
        z = [math.sqrt(-2 * math.log(a)) * math.cos(2 * math.pi * b) for a, b in u]
        return grid_round(np.array(z).reshape(shape), grid)

    def flat(self, *shape):
        return np.array([self.uniform() for _ in range(int(np.prod(shape)))]).reshape(shape)


def grid_round(x, grid=4096):
    return np.round(np.asarray(x) * grid) / grid + 0.0


# ---------------------------------------------------------------- output

def number(x):
    if isinstance(x, str):
        return x
    if isinstance(x, (int, np.integer)):
        return str(int(x))
    return "%.17g" % float(x)


def field(key, value):
    if isinstance(value, (list, tuple, np.ndarray)):
        array = np.asarray(value, dtype=object)
        head = "%s %d" % (key, array.size)
        if array.ndim == 1:
            return " ".join([head] + [number(v) for v in array])
        return "\n".join([head] + [" ".join(number(v) for v in row) for row in array])
    return "%s %s" % (key, number(value))


def document(cases):
    text = ["cases %d" % len(cases)]
    for name, fields in cases:
        text.append("case " + name)
        text.extend(field(k, v) for k, v in fields)
    return "\n".join(text) + "\n"


# ---------------------------------------------------------------- Stein statistics

def kernel_parts(x, y, kernel, sigma2):
    """k, its gradients in x and y, and the matrix d2k / dx_i dy_j for all pairs of rows."""
    x, y = LD(x), LD(y)
    d = x[:, None, :] - y[None, :, :]
    q = (d * d).sum(-1) / LD(sigma2)
    eye = np.eye(x.shape[1], dtype=LD)
    outer = d[..., :, None] * d[..., None, :]
    if kernel == "gauss":
        k = np.exp(-q / 2)
        slope, bend = k / LD(sigma2), k / LD(sigma2) ** 2
    else:
        k = 1 / np.sqrt(1 + q)
        slope, bend = k ** 3 / LD(sigma2), 3 * k ** 5 / LD(sigma2) ** 2
    mixed = slope[..., None, None] * eye - bend[..., None, None] * outer
    return k, -slope[..., None] * d, slope[..., None] * d, mixed


def stein_shares(x, s, w, kernel, sigma2):
    """[a, b, i]: the coordinate-wise Stein operator applied to both arguments of k."""
    s, w = LD(s), LD(w)
    k, kx, ky, mixed = kernel_parts(x, x, kernel, sigma2)
    sx, sy = s[:, None, :], s[None, :, :]
    return w ** 2 * (sx * sy * k[..., None] + sx * ky + sy * kx + np.einsum("abii->abi", mixed))


def stein_matrix(x, s, w, kernel, form, sigma2):
    if form == "vector":
        return stein_shares(x, s, w, kernel, sigma2).sum(-1)
    w = LD(w)
    k, kx, ky, mixed = kernel_parts(x, x, kernel, sigma2)
    S = (LD(s) * w).sum(-1)
    return (S[:, None] * S[None, :] * k + S[:, None] * (ky * w).sum(-1) + S[None, :] * (kx * w).sum(-1)
            + (mixed * w[:, None] * w[None, :]).sum((-1, -2)))


def moment_matrix(x, s, w, form):
    """The same with k = 1 + x.y: gradient in y is x, mixed derivative is the unit matrix."""
    x, s, w = LD(x), LD(s), LD(w)
    k = 1 + (x[:, None, :] * x[None, :, :]).sum(-1)
    if form == "vector":
        own = (w ** 2 * s * x).sum(-1)
        gram = ((w * s)[:, None, :] * (w * s)[None, :, :]).sum(-1)
        return gram * k + own[:, None] + own[None, :] + (w ** 2).sum()
    S, wx = (w * s).sum(-1), (w * x).sum(-1)
    return S[:, None] * S[None, :] * k + (S * wx)[:, None] + (S * wx)[None, :] + (w ** 2).sum()


def mean_of_pairs(u, statistic):
    n = len(u)
    if statistic == "v":
        return u.mean(), np.abs(u).mean()
    off = ~np.eye(n, dtype=bool)
    return u[off].mean(), np.abs(u[off]).mean()


def check_stein():
    """The derivation above against the formula in h, h', h'' and against differences of k itself."""
    src = Source(99)
    x, s, w = src.normal(2, 3), src.normal(2, 3), np.array([0.5, 0.25, 1.0])
    for kernel, form in itertools.product(("gauss", "imq"), ("vector", "scalar")):
        s2 = 1.69
        d = x[0] - x[1]
        r = d @ d
        h = math.exp(-r / 2 / s2) if kernel == "gauss" else (1 + r / s2) ** -0.5
        h1 = -h / 2 / s2 if kernel == "gauss" else -h ** 3 / 2 / s2
        h2 = h / 4 / s2 ** 2 if kernel == "gauss" else 3 * h ** 5 / 4 / s2 ** 2
        if form == "vector":
            u = (w ** 2 * (s[0] * s[1] * h - 2 * d * h1 * (s[0] - s[1]) - 2 * h1 - 4 * d ** 2 * h2)).sum()
        else:
            S, T, D = w @ s[0], w @ s[1], w @ d
            u = S * T * h - 2 * D * h1 * (S - T) - 2 * h1 * (w ** 2).sum() - 4 * D ** 2 * h2
        assert abs(u - stein_matrix(x, s, w, kernel, form, s2)[0, 1]) < 1e-14, (kernel, form)
        _, kx, ky, mixed = kernel_parts(x[:1], x[1:], kernel, s2)
        step = 1e-4
        value = lambda a, b: kernel_parts(x[:1] + a, x[1:] + b, kernel, s2)[0][0, 0]
        for i, j in itertools.product(range(3), range(3)):
            ei, ej = step * np.eye(3)[i], step * np.eye(3)[j]
            assert abs((value(ei, 0) - value(-ei, 0)) / (2 * step) - kx[0, 0, i]) < 1e-7
            assert abs((value(0, ej) - value(0, -ej)) / (2 * step) - ky[0, 0, j]) < 1e-7
            cross = value(ei, ej) - value(ei, -ej) - value(-ei, ej) + value(-ei, -ej)
            assert abs(cross / (4 * step ** 2) - mixed[0, 0, i, j]) < 1e-7


def weights_of(w, m):
    return np.full(m, 1 / LD(m)) if w is None else LD(w)


WEIGHTS = {1: [1.0], 2: [0.75, 0.25], 3: [0.5, 0.0, 0.5], 5: [0.375, 0.0, 0.125, 0.5, 0.0]}


def statistic_cases():
    src, cases = Source(1), []

    def add(name, n, m, kernel, form, statistic, bandwidth, scale, w=None, x=None, s=None):
        x = src.normal(n, m) if x is None else x
        s = grid_round(-x + src.normal(n, m) / 4) if s is None else s
        u = stein_matrix(x, s, weights_of(w, m), kernel, form, LD(bandwidth) ** 2 * LD(scale))
        mirror = stein_matrix(x, -s, weights_of(w, m), kernel, form, LD(bandwidth) ** 2 * LD(scale))
        answer, magnitude = mean_of_pairs(u, statistic)
        cases.append((name, [
            ("n", n), ("m", m), ("kernel", kernel), ("form", form), ("statistic", statistic),
            ("bandwidth", bandwidth), ("scale", scale), ("weights", [] if w is None else w),
            ("rows", x), ("scores", s), ("answer", answer), ("mirror", mirror.mean()),
            ("magnitude", magnitude)]))

    combos = list(itertools.product(("gauss", "imq"), ("vector", "scalar"), ("v", "u")))
    bandwidths, scales = (1.5, 0.75, 3.0), (1.0, 0.125, 0.5)
    turn = 0
    for n, m in itertools.product((1, 2, 3, 17), (1, 2, 5)):
        for kernel, form, statistic in combos:
            if statistic == "u" and n == 1:
                continue
            if n == 17 and turn % 2:  # the long ones alternate, to keep the file small
                turn += 1
                continue
            w = WEIGHTS[m] if turn % 3 == 1 else None
            add("plain", n, m, kernel, form, statistic, bandwidths[turn % 3], scales[turn // 3 % 3], w)
            turn += 1
    for kernel, form, statistic in combos:
        add("long", 33, 5, kernel, form, statistic, 2.0, 0.25, WEIGHTS[5] if form == "scalar" else None)
    for kernel, form, statistic in combos:  # 1e6 from the origin, steps of 1/16: exact even in float
        z = src.normal(17, 2, grid=16)
        add("far", 17, 2, kernel, form, statistic, 1.5, 1.0, None, 1e6 + z, grid_round(-z, 16))
    x = np.repeat(src.normal(5, 2), 3, axis=0)
    add("repeated_rows", 15, 2, "gauss", "vector", "v", 1.0, 1.0, None, x)
    add("repeated_rows", 15, 2, "gauss", "vector", "u", 1.0, 1.0, None, x)
    add("one_weight", 17, 5, "gauss", "vector", "v", 2.0, 0.125, [0, 0, 1.0, 0, 0])
    add("zero_scores", 17, 2, "imq", "vector", "v", 1.0, 0.3, None, None, np.zeros((17, 2)))
    z = src.normal(17, 3)  # pairs whose kernel underflows beside pairs whose kernel is 1
    z[8:] += 64
    add("two_clusters", 17, 3, "gauss", "vector", "v", 0.5, 0.125, WEIGHTS[3], z)
    return cases


def moment_cases():
    src, cases = Source(2), []
    for n, m in ((1, 1), (2, 2), (3, 5), (17, 3), (33, 5)):
        for form, statistic, use in itertools.product(("vector", "scalar"), ("v", "u"), (0, 1)):
            if statistic == "u" and n == 1:
                continue
            x = src.normal(n, m)
            s = grid_round(-x + src.normal(n, m) / 4)
            w = weights_of(WEIGHTS[m] if use else None, m)
            u = moment_matrix(x, s, w, form)
            answer, magnitude = mean_of_pairs(u, statistic)
            if form == "vector":  # V in linear work: squares of mean s_i and of mean s_i x_j + delta_ij
                cross = (LD(s)[:, :, None] * LD(x)[:, None, :]).mean(0) + np.eye(m)
                linear = (w ** 2 * (LD(s).mean(0) ** 2 + (cross ** 2).sum(1))).sum()
                assert abs(linear - u.mean()) < 1e-15 * np.abs(u).mean()
            cases.append(("moment", [
                ("n", n), ("m", m), ("form", form), ("statistic", statistic),
                ("weights", WEIGHTS[m] if use else []), ("rows", x), ("scores", s),
                ("answer", answer), ("magnitude", magnitude)]))
    return cases


def mmd_cases():
    src, cases = Source(3), []
    for name, n, rows, m, shift in (("plain", 1, 20, 1, 0), ("plain", 2, 1, 2, 0), ("plain", 17, 33, 2, 1),
                                    ("plain", 17, 34, 5, 0.5), ("far", 9, 9, 3, 40), ("same_rows", 7, 7, 2, 0)):
        x, y, ring = src.normal(n, m) + shift, src.normal(rows, m), src.normal(16, m) * 2.75
        y = x[::-1] if name == "same_rows" else y
        bandwidth, bands = 1.5, []
        for stretch in (1, 2):
            d2 = []
            for k, step, sign in itertools.product(range(16), (1, 2, 3, 4), (1, -1)):
                omega = stretch * LD(ring[k] + sign * ring[(k + step) % 16]) / LD(bandwidth)
                mean = lambda z: np.exp(1j * (LD(z) @ omega)).mean()
                d2.append(np.abs(mean(x) - mean(y)) ** 2)
            assert len(d2) == 128
            bands.append(np.mean(np.square(d2)))
        cases.append((name, [("n", n), ("rows", rows), ("m", m), ("bandwidth", bandwidth), ("ring", ring),
                             ("x", x), ("y", y), ("wide", bands[0]), ("narrow", bands[1])]))
    return cases


# ---------------------------------------------------------------- margins and pairs

QUANTILE = [NormalDist().inv_cdf((code + 1) / 258) for code in range(257)]


def correlations(q):
    """Of the columns; 0 where one does not vary."""
    d = LD(q) - LD(q).mean(0)
    d[:, q.max(0) == q.min(0)] = 0
    size = np.sqrt((d * d).sum(0))
    size = np.where(size > 0, size, 1)
    return (d / size).T @ (d / size)


def cells(x, edges, reference):
    """chi-squared of the open intervals between every fourth edge, and of these edges, of one column."""
    cut, n, total, mean, variance = np.unique(edges[4::4]), len(x), LD(0), LD(0), LD(0)
    places = [np.searchsorted(cut, v, "left") + np.searchsorted(cut, v, "right") for v in (x, reference)]
    for o, expected in zip(*(np.bincount(p, minlength=2 * len(cut) + 1) for p in places)):
        p = LD(int(expected)) / len(reference)
        e, d = n * p, n * p + LD("0.5")
        total += (int(o) - e) ** 2 / d
        mean += e * (1 - p) / d
        variance += 2 * (e * (1 - p) / d) ** 2
    return (total - mean) / np.sqrt(variance + LD("0.01"))


def margin_cases():
    src, cases = Source(9), []

    def add(name, n, N, m, change=lambda x: x, moved=lambda x: x):
        D = max(calls_of(N, n, False), 10)
        sets = change(src.normal(D * n, m))
        observed = grid_round(moved(change(src.normal(n, m))))
        kept = sets[spread(N, n)]
        ordered = np.sort(kept, axis=0)
        edges = ordered[[int((k + 0.5) * N / 128) for k in range(128)]]
        mean, sd, constant = scale_columns(LD(kept), 1)

        def counts(x, i):  # below and equal, at each edge of column i
            return [np.array([(x[:, i] < e).sum() for e in edges[:, i]], dtype=LD),
                    np.array([(x[:, i] == e).sum() for e in edges[:, i]], dtype=LD)]

        def scores(x):
            code = (edges[None] < x[:, None]).sum(1) + (edges[None] <= x[:, None]).sum(1)
            return np.array(QUANTILE)[code]
        R, anderson, distance = len(sets), [], []
        for i in range(m):
            (low, tie), (low0, tie0) = counts(observed, i), counts(sets, i)
            F = (low0 + tie0 / 2 + LD("0.5")) / (R + 1)
            anderson.append(((low + tie / 2) / n - F) ** 2 / (F * (1 - F)))
            distance.append(max(np.abs(low / n - low0 / R).max(),
                                np.abs((low + tie) / n - (low0 + tie0) / R).max()))
        anderson = np.array([n * a.mean() for a in anderson])
        q, q0 = scores(observed), scores(sets)
        change_of_spread = LD(q ** 2).mean(0) - LD(q0 ** 2).mean(0)
        change_of_tails = LD(q ** 4 - 6 * q ** 2).mean(0) - LD(q0 ** 4 - 6 * q0 ** 2).mean(0)
        shift = ((LD(observed) - mean) / sd).mean(0) - ((LD(sets) - mean) / sd).mean(0)
        largest = np.finfo(np.float64).max
        told = [largest * np.sign(s) if c else s for s, c in zip(shift, constant)]
        r, r0 = correlations(q), correlations(q0)
        room = np.maximum((1 - r0 ** 2) * (1 - r * r0), LD("1e-6"))
        apart = (np.abs(r - r0) / np.sqrt(room))[np.triu_indices(m, 1)]
        of_cells = [cells(observed[:, i], edges[:, i], sets[:, i]) for i in range(m)]
        cases.append((name, [
            ("n", n), ("m", m), ("fit_rows", N), ("sets", sets), ("observed", observed),
            ("anderson", anderson), ("spread", np.abs(change_of_spread)), ("shift", told),
            ("distance", distance),
            ("numbers", [anderson.max(), (shift ** 2).sum(), np.abs(change_of_spread).max(),
                         change_of_spread.sum(), (change_of_spread ** 2).sum(),
                         change_of_tails.sum(), max(of_cells)]),
            ("cells", of_cells), ("correlations", r), ("expected", r0), ("pair", apart.max() if m > 1 else 0.0)]))

    def tied(x):  # a third of the values, and all of the last column, on a coarse grid
        x = np.round(x * 4) / 4
        x[:, -1] = np.floor(x[:, -1])
        return x

    def constant(x):
        x = x.copy()
        x[:, 1] = 2.5
        return x

    def off(x):
        x = x.copy()
        x[0, 1] = 2.75
        return x
    add("plain", 17, 60, 3, moved=lambda x: 1.5 * x + 0.25)
    add("plain", 1, 12, 2)
    add("plain", 2, 30, 1)
    add("plain", 16, 20, 2)  # fewer kept rows than edges: many of them are equal
    add("ties", 15, 100, 3, change=tied)
    add("constant", 9, 40, 3, change=constant)
    add("off_the_constant", 9, 40, 3, change=constant, moved=off)
    return cases


def combination_cases():
    src, cases = Source(10), []
    for name, pilot in (("plain", src.normal(40)), ("skew", src.normal(30) ** 2), ("left", -src.normal(30) ** 2),
                        ("two", src.normal(2)), ("very_skew", np.array([0.0] * 59 + [1.0])),
                        ("symmetric", np.array([-2.0, -1, 0, 1, 2])), ("constant", np.full(9, 3.0)),
                        ("zero", np.zeros(5)), ("nearly_constant", 2.0 ** 20 + np.array([0, 1, 0, 1, 0, 0.0]) / 8)):
        x = LD(pilot)
        mean, n = x.mean(), len(x)
        m2, m3 = ((x - mean) ** 2).mean(), ((x - mean) ** 3).mean()
        sd, least = np.sqrt(m2 * n / (n - 1)), max(LD("1e-6") * abs(mean), LD(np.finfo(np.float64).tiny))
        g = np.clip(m3 / m2 ** LD("1.5"), LD("-2.8"), LD("2.8")) if sd > least else LD(0)
        sd = max(sd, least)
        probe = np.array([float(mean)] + list(grid_round(float(mean) + np.array([-9, -2, -0.5, 0.25, 1, 3, 1e3]))))
        z = np.clip((LD(probe) - LD(mean)) / sd, -LD("1e6"), LD("1e6"))
        h = z if abs(g) < LD("0.01") else 6 / g * (np.cbrt(np.maximum(1 + z * g / 2, LD("1e-6"))) - 1 + g * g / 36)
        cases.append((name, [("pilot", pilot), ("mean", mean), ("sd", sd), ("skew", g), ("probe", probe),
                             ("answer", (z + h) / 2)]))
    return cases


def feature_cases():
    src, cases = Source(4), []
    for n, m, F in ((2, 1, 3), (17, 2, 8), (9, 5, 16)):
        for form, statistic, use in itertools.product(("vector", "scalar"), ("v", "u"), (0, 1)):
            x, omega, scale = src.normal(n, m), src.normal(F, m), (1.0, 0.25)[use]
            s = grid_round(-x + src.normal(n, m) / 4)
            w = weights_of(WEIGHTS[m] if use else None, m)
            om = LD(omega) / np.sqrt(LD(scale))
            # u(a, b) = mean over omega of f_a conj(f_b); its real part is the empirical kernel's u
            wave = np.exp(1j * (LD(x) @ om.T))                       # n x F
            f = (w * (LD(s)[:, None, :] + 1j * om[None, :, :])) * wave[..., None]
            f = f.sum(-1, keepdims=True) if form == "scalar" else f
            u = (f[:, None] * f.conj()[None]).real.sum(-1).mean(-1)  # n x n
            answer, magnitude = mean_of_pairs(u, statistic)
            cases.append(("features", [
                ("n", n), ("m", m), ("form", form), ("statistic", statistic), ("scale", scale),
                ("weights", WEIGHTS[m] if use else []), ("rows", x), ("scores", s), ("omega", omega),
                ("answer", answer), ("magnitude", magnitude)]))
    return cases


def coordinate_cases():
    src, cases = Source(5), []
    for n, m, kernel, use in ((1, 1, "gauss", 0), (2, 2, "imq", 1), (17, 5, "gauss", 1), (33, 3, "imq", 0),
                              (33, 2, "gauss", 0), (17, 3, "gauss", 1)):
        x = src.normal(n, m)
        s = grid_round(-x + src.normal(n, m) / 4)
        bandwidth, w = 1.5, weights_of(WEIGHTS[m] if use else None, m)
        shares = stein_shares(x, s, w, kernel, bandwidth ** 2)
        scalar = stein_matrix(x, s, w, kernel, "scalar", bandwidth ** 2)
        cases.append(("coordinate", [
            ("n", n), ("m", m), ("kernel", kernel), ("bandwidth", bandwidth),
            ("weights", WEIGHTS[m] if use else []), ("rows", x), ("scores", s),
            ("v", shares.mean((0, 1))), ("influence", shares.sum(-1).mean(1)),
            ("influence_scalar", scalar.mean(1))]))
    return cases


# ---------------------------------------------------------------- median distance

def middle(d):
    if len(d) and np.median(d) > 0:
        return np.median(d)
    return d.mean() if len(d) and d.mean() > 0 else LD(1)


def distances(x, i, j):
    return np.sqrt(((LD(x)[i] - LD(x)[j]) ** 2).sum(-1))


def median_spread(x):
    """Each row with those round(k H / 17) places behind it, k = 1 ... 8, in a circle (few rows: k at least)."""
    H, at = len(x), np.arange(len(x))
    shifts = [max(k, (2 * k * H + 17) // 34) for k in range(1, min(8, H // 2) + 1)]
    return middle(np.concatenate([distances(x, at, (at + s) % H) for s in shifts]))


def median_distance(x):
    """All pairs of up to 512 rows; beyond that pairs of at most 16384 rows, spread evenly."""
    if len(x) <= 512:
        return middle(distances(x, *np.triu_indices(len(x), 1)))
    used = min(len(x), 16384)
    return median_spread(x[np.arange(used) * len(x) // used])


def median_cases():
    src = Source(6)
    eye = np.zeros((10, 2))
    eye[0] = (3, 4)  # 9 distances of 5 and 36 of 0: the median is 0, the mean is 1
    rows = [("two_rows", np.array([[0.0, 0.0], [3.0, 4.0]])), ("odd_count", np.array([[0.0], [1.0], [4.0]])),
            ("even_count", np.array([[0.0], [1.0], [4.0], [16.0]])), ("all_equal", np.full((7, 3), 2.5)),
            ("majority_equal", eye), ("ties", np.array([[i % 3] for i in range(11)], dtype=float)),
            ("zero_and_step", np.array([[0.0]] * 3 + [[2.0]] * 3)),
            ("half_zero", np.array([[0.0], [0.0], [0.0], [2.0]])),
            ("far", 1e6 + src.normal(24, 2, grid=16)), ("odd_long", src.normal(30, 5)),
            ("even_long", src.normal(33, 2)), ("line", np.arange(40.0)[:, None] ** 2 / 8),
            ("last_of_all_pairs", src.normal(512, 1, grid=16)), ("first_of_spread", src.normal(513, 1, grid=16)),
            ("spread_ties", np.floor(src.normal(600, 2)))]
    return [(name, [("count", len(x)), ("m", x.shape[1]), ("rows", x), ("answer", median_distance(x))])
            for name, x in rows]


# ---------------------------------------------------------------- Threefry

MASK = (1 << 64) - 1


def threefry2x64(key, counter, rounds=13):
    """Salmon et al. 2011: rounds in groups of four, a key addition before the first and after each."""
    schedule = list(key) + [0x1BD11BDAA9FC1A22 ^ key[0] ^ key[1]]
    left = [[16, 42, 12, 31], [16, 32, 24, 21]]
    x0, x1 = [(c + k) & MASK for c, k in zip(counter, schedule)]
    done = 0
    for group in itertools.count():
        for r in left[group % 2]:
            if done == rounds:
                return x0, x1
            x0 = (x0 + x1) & MASK
            x1 = ((x1 << r) & MASK | x1 >> (64 - r)) ^ x0
            done += 1
        s = group + 1
        x0 = (x0 + schedule[s % 3]) & MASK
        x1 = (x1 + schedule[(s + 1) % 3] + s) & MASK


def threefry_cases():
    cases = []
    hexa = lambda v: "%016x" % v
    pi = (0x243F6A8885A308D3, 0x13198A2E03707344, 0xA4093822299F31D0, 0x082EFA98EC4E6C89)
    # the answers that the authors of the cipher publish with their own library, 13 rounds
    published = [((0, 0), (0, 0), (0xF167B032C3B480BD, 0xE91F9FEE4B7A6FB5)),
                 ((MASK, MASK), (MASK, MASK), (0xCCDEC5C917A874B1, 0x4DF53ABCA26CEB01)),
                 (pi[2:], pi[:2], (0xC3AAC71561042993, 0x3FE7AE8801AFF316))]
    others = [((1, 0), (0, 0)), ((0, 1), (0, 0)), ((0, 0), (1, 0)), ((MASK, 0), (0, 0)),
              ((0x0123456789ABCDEF, 0xFEDCBA9876543210), (0x8000000000000000, 7)), ((3, 5), (MASK, 0))]
    for key, counter, words in published:
        assert threefry2x64(key, counter) == words
    for key, counter in [p[:2] for p in published] + others:
        words = threefry2x64(key, counter)
        cases.append(("block", list(zip(("k0", "k1", "c0", "c1", "w0", "w1"),
                                        map(hexa, key + counter + words)))))
    for seed, stream, first in ((0, 0, 0), (0, 1, 0), (1, 0, 0), (42, 1 << 56, 0), (42, 1 << 56, 4),
                                (MASK, MASK, 0), (20260, (3 << 56) | 199, 1), (7, 498, 8), (7, 498, 1000),
                                (pi[0], pi[1], 2), (5, 5, (1 << 40) + 1)):
        words = [threefry2x64((seed, stream), (i // 2, 0))[i % 2] for i in range(first, first + 4)]
        cases.append(("stream", [
            ("seed", hexa(seed)), ("stream", hexa(stream)), ("first", hexa(first)),
            ("words", [hexa(v) for v in words]), ("uniform53", [(v >> 11) / 2 ** 53 for v in words]),
            ("uniform24", [(v >> 40) / 2 ** 24 for v in words])]))
    return cases


# ---------------------------------------------------------------- p-values

getcontext().prec = 60


def at_least(hits, draws, p):
    """P(Binomial(draws, p) >= hits) in 60 digits, summed over the shorter side."""
    p = Decimal(p)
    q = 1 - p

    def run(first, last):
        term = Decimal(math.comb(draws, first)) * p ** first * q ** (draws - first)
        total = Decimal(0)
        for k in range(first, last + 1):
            total += term
            if k < last:
                term = term * (draws - k) / (k + 1) * p / q
        return total
    return 1 - run(0, hits - 1) if hits <= draws - hits else run(hits, draws)


def success_quantile(target, hits, draws):
    """The p with P(Binomial(draws, p) >= hits) = target, i.e. a quantile of Beta(hits, draws - hits + 1)."""
    if hits == 0:
        return 0.0
    if hits > draws:
        return 1.0
    low, high, target = Decimal(0), Decimal(1), Decimal(target)
    while high - low > Decimal("1e-24") * high:
        p = (low + high) / 2
        if at_least(hits, draws, p) < target:
            low = p
        else:
            high = p
    return float((low + high) / 2)


def clopper_pearson_cases():
    cases = []

    def add(hits, draws, stopped, low, high):
        cases.append(("stopped" if stopped else "plain", [
            ("hits", hits), ("draws", draws), ("stopped", stopped), ("p_low", low), ("p_high", high)]))

    for g, b in ((0, 19), (0, 499), (0, 1), (1, 1), (1, 19), (19, 19), (10, 19), (3, 99), (24, 499),
                 (25, 499), (250, 499), (498, 499), (499, 499), (49, 999), (7, 1999), (1, 9999)):
        # fixed b: at least g hits is that unlikely below p_low, at most g hits above p_high
        add(g, b, 0, success_quantile("0.025", g, b), success_quantile("0.975", g + 1, b))
    for h, L in ((1, 1), (1, 2), (5, 5), (5, 6), (5, 50), (10, 17), (10, 499), (20, 20), (20, 400), (3, 999)):
        # the h-th hit at draw L: at least h in L below p_low; fewer than h in L - 1 above p_high
        add(h, L, 1, success_quantile("0.025", h, L), success_quantile("0.975", h, L - 1))
    return cases


def p_value_cases():
    src, cases = Source(7), []
    for b, alpha, kind in ((19, 0.05, "top"), (19, 0.05, "tie"), (19, 0.15, "mid"), (99, 0.05, "mid"),
                           (99, 0.01, "top"), (39, 0.1, "tie"), (199, 0.05, "low"), (9, 0.05, "top"),
                           (20, 0.05, "mid"), (1, 0.5, "top"), (39, 0.3, "equal"), (199, 0.29, "mid")):
        null = np.zeros(b) + 1.5 if kind == "equal" else src.normal(b)
        order = np.sort(null)[::-1]
        stat = {"top": order[0] + 1, "tie": order[0], "mid": float(np.median(null)), "low": order[-1] - 1,
                "equal": 1.5}[kind]
        above = int((null >= stat).sum())
        k = max((j for j in range(0, b + 1) if j / (b + 1) <= alpha), default=0)
        p = (1 + above) / (b + 1)
        threshold = order[k - 1] if k else 0.0
        if k:
            assert (p <= alpha) == (stat > threshold)
        cases.append((kind, [("alpha", alpha), ("statistic", stat), ("null", null), ("p", p), ("k", k),
                             ("threshold", threshold)]))
    return cases


# ---------------------------------------------------------------- fitted scores

def calls_of(N, n, auto):
    """Data sets of n rows that N rows to fit, and a quarter as many to be held out, come from."""
    return -(-N // n) + (-(-max(1, N // 4) // n) if auto else 0)


def spread(total, n):
    """Indices of the rows that whole data sets of n rows contribute: all of them, evenly spread of the last."""
    return np.concatenate([d * n + np.arange(used) * n // used for d in range(-(-total // n))
                           for used in [min(n, total - d * n)]])


def scale_columns(kept, standardize):
    top = np.maximum(np.abs(kept).max(0), np.finfo(np.float64).tiny)  # no square may overflow
    mean = (kept / top).mean(0)
    mean, sd = top * mean, top * np.sqrt(((kept / top - mean) ** 2).mean(0))
    constant = kept.max(0) == kept.min(0)
    moving = np.sort(sd[~constant])
    for i in np.flatnonzero(constant):
        mean[i] = kept[0, i]
        one_unit = standardize == 0 and len(moving)
        sd[i] = LD("1e-3") * moving[len(moving) // 2] if one_unit else LD("1e-6") * abs(kept[0, i])
        if sd[i] == 0:
            sd[i] = LD(np.finfo(np.float64).tiny)
    return mean, sd, constant


def raw_summary(z, i, kind):
    others = np.delete(z, i, axis=1)
    rows, m = z.shape
    if kind == "none" or m == 1:
        return np.zeros((rows, 0), dtype=LD)
    if kind == "mean":
        return others.mean(1, keepdims=True)
    if kind == "all":
        return others
    if kind == "mean_var":
        return np.stack([others.mean(1), others.var(1)], axis=1)
    padded = np.pad(z, ((0, 0), (1, 1)))  # neighbours
    return padded[:, [i, i + 2]]


def hermite(x, degree, lo, hi):
    """Orthonormal Hermite polynomials 0..degree with tangent tails: values and derivatives."""
    inside = np.clip(x, lo, hi)
    value, slope = [], []
    for k in range(degree + 1):
        coef = np.zeros(k + 1, dtype=LD)
        coef[k] = 1 / np.sqrt(LD(math.factorial(k)))
        d = hermite_e.hermeval(inside, hermite_e.hermeder(coef)) if k else 0 * inside
        value.append(hermite_e.hermeval(inside, coef) + d * (x - inside))
        slope.append(d)
    return np.stack(value, 1), np.stack(slope, 1)


def bspline(x, basis, left, right):
    """Uniform cubic B-splines from their closed form around each centre, tangent tails."""
    step = (right - left) / (basis - 3)
    inside = np.clip(x, left, right)
    u = (inside[:, None] - (left + step * (np.arange(basis) - 1))) / step
    a = np.abs(u)
    value = np.where(a < 1, LD(2) / 3 - a ** 2 + a ** 3 / 2, np.clip(2 - a, 0, None) ** 3 / 6)
    slope = np.where(a < 1, -2 * a + LD(3) / 2 * a ** 2, -np.clip(2 - a, 0, None) ** 2 / 2)
    slope = np.sign(u) * slope / step
    return value + slope * (x - inside)[:, None], slope


def times(basis, factor):
    """All products of a column of basis (value, slope) with a column of factor."""
    value, slope = basis
    rows = len(value)
    return ((value[:, :, None] * factor[:, None, :]).reshape(rows, -1),
            (slope[:, :, None] * factor[:, None, :]).reshape(rows, -1))


class Fit:
    """The score models of all coordinates, learnt from recorded generator calls."""

    def __init__(self, sets, n, N, summary, estimator, degree=0, basis=0, ridge=0.0, standardize=1):
        sets = LD(sets)
        self.m, self.summary, self.degree, self.basis = sets.shape[1], summary, degree, basis
        self.kept = sets[spread(min(N, 1000), n)]
        self.fit = sets[spread(N, n)]
        self.held = sets[calls_of(N, n, False) * n + spread(max(1, N // 4), n)] if estimator == "auto" else sets[:0]
        H = len(self.kept)
        self.mean, self.sd, self.constant = scale_columns(self.kept, standardize)
        self.zk = self.scaled(self.kept)
        ordered = np.sort(self.kept, axis=0)
        repeats = (ordered[1:] == ordered[:-1]).sum(0) / H
        self.ties = (repeats > 0.05) & ~self.constant
        self.flags = int(self.ties.any()) + 2 * int(self.constant.any())
        unit = np.where((standardize == 1) | self.constant, 1, self.sd)
        self.bandwidth = median_spread(self.zk * unit)
        self.family, self.ridge, self.theta, self.gap = [], [], [], 1.0
        for i in range(self.m):
            if self.constant[i]:
                self.family.append("constant"), self.ridge.append(0.0), self.theta.append(None)
                continue
            family, lam = estimator, ridge or (1e-8 if estimator == "gauss" else 1e-4)
            if estimator == "auto":
                family, lam = self.choose(i, ridge)
            self.family.append(family), self.ridge.append(lam)
            self.theta.append(self.solve(i, family, lam, np.concatenate([self.fit, self.held])))

    def scaled(self, rows):
        return np.clip((LD(rows) - self.mean) / self.sd, -1e6, 1e6)

    def standard_summary(self, z, i):
        t0 = raw_summary(self.zk, i, self.summary)
        t = raw_summary(z, i, self.summary)
        if t.shape[1] == 0:
            return t, t0
        moving = t0.max(0) > t0.min(0)
        sd = np.where(moving, np.sqrt(((t0 - t0.mean(0)) ** 2).mean(0)), 1)
        out = [np.where(moving, np.clip((v - t0.mean(0)) / sd, -1e6, 1e6), 0) for v in (t, t0)]
        return out[0], out[1]

    def features(self, rows, i, family):
        z = self.scaled(rows)
        t, tk = self.standard_summary(z, i)
        x, xk = z[:, i], self.zk[:, i]
        d, H, one = t.shape[1], len(xk), np.ones((len(z), 1), dtype=LD)
        if family in ("poly", "spline"):
            D = self.degree or (3 if family == "poly" else 1)
            if family == "poly":
                base = hermite(x, D, xk.min(), xk.max())
                degrees = np.arange(D + 1)
            else:
                K, ordered = self.basis or 10, np.sort(xk)
                left, right = ordered[H // 100], ordered[H - 1 - H // 100]
                if right <= left:
                    left, right = ordered[0], ordered[-1]
                base = bspline(x, K, left, right)
                degrees = np.zeros(K, dtype=int)
            if d > 2:
                tail = np.hstack([t, x[:, None] * t]), np.hstack([0 * t, t])
                return np.hstack([base[0], tail[0]]), np.hstack([base[1], tail[1]])
            for k in range(d):
                factor = hermite(t[:, k], D, tk[:, k].min(), tk[:, k].max())[0]
                base = times(base, factor)
                degrees = (degrees[:, None] + np.arange(D + 1)[None, :]).ravel()
            return base[0][:, degrees <= D], base[1][:, degrees <= D]
        linear = np.hstack([one, x[:, None], t])
        if family == "gauss":
            return linear, np.hstack([0 * one, one, 0 * t])
        K = min(self.basis or 24, H)
        centres = (2 * np.arange(K) + 1) * H // (2 * K)
        if self.summary == "all" and self.m > 1:
            v, c, h2 = z, self.zk[centres], LD(self.m) / 2
            linear, own = np.hstack([one, z]), i
            flat = np.hstack([0 * one] + [one * (j == i) for j in range(self.m)])
        else:
            v, c, h2 = np.hstack([x[:, None], t]), np.hstack([xk[:, None], tk])[centres], LD(1 + d) / 4
            own, flat = 0, np.hstack([0 * one, one, 0 * t])
        bump = np.exp(-((v[:, None, :] - c[None, :, :]) ** 2).sum(-1) / (2 * h2))
        return np.hstack([linear, bump]), np.hstack([flat, (c[None, :, own] - v[:, None, own]) / h2 * bump])

    def solve(self, i, family, lam, rows):
        phi, dphi = self.features(rows, i, family)
        A = (phi[:, :, None] * phi[:, None, :]).mean(0)
        A = A + LD(lam) * np.trace(A) / len(A) * np.eye(len(A))
        return -solve_symmetric(A, dphi.mean(0))

    def choose(self, i, ridge):
        best = None
        families = ["gauss"] + ([] if self.ties[i] else ["spline"])
        d = raw_summary(self.zk, i, self.summary).shape[1]
        if not self.ties[i] and 1 <= d <= 2:
            families.append("poly")
        elif not self.ties[i] and self.summary == "all" and self.m > 3:
            families.append("rbf")
        for family in families:
            phi, dphi = self.features(self.held, i, family)
            if phi.shape[1] > 256 and family != "gauss":
                continue
            tries = []
            for lam in [ridge] if ridge else [1e-6, 1e-4, 1e-2]:
                theta = self.solve(i, family, lam, self.fit)
                tries.append(((((phi @ theta) ** 2) / 2 + dphi @ theta).mean(), lam))
            J, lam = min(tries)
            gaps = [abs(a[0] - J) for a in tries if a[1] != lam]  # a narrow choice is not for float
            self.gap = min([self.gap] + [float(g / abs(J)) for g in gaps])
            needed = None if best is None else best[0] - LD("0.02") * abs(best[0])
            assert best is None or abs(J - needed) > 1e-3 * abs(J), "a choice that rounding could turn"
            if best is None or J < needed:
                best = (J, family, lam)
        return best[1], best[2]

    def scores(self, rows):
        z = self.scaled(rows)
        out = -z
        for i in np.flatnonzero(~self.constant):
            out[:, i] = self.features(rows, i, self.family[i])[0] @ self.theta[i]
        return out / self.sd


def solve_symmetric(A, b):
    """LDL' in extended precision; numpy.linalg would fall back to double."""
    p = len(A)
    L, D, A = np.eye(p, dtype=LD), np.zeros(p, dtype=LD), A.copy()
    for j in range(p):
        D[j] = A[j, j]
        L[j + 1:, j] = A[j + 1:, j] / D[j]
        A[j + 1:, j + 1:] -= D[j] * L[j + 1:, j][:, None] * L[j + 1:, j][None, :]
    y = LD(b).copy()
    for j in range(p):
        y[j] -= L[j, :j] @ y[:j]
    y = y / D
    for j in reversed(range(p)):
        y[j] -= L[j + 1:, j] @ y[j + 1:]
    return y


def recorded(src, calls, n, m, kind):
    """calls whole data sets, one below the other."""
    rows = calls * n
    e = src.normal(rows, m)
    if kind == "normal":
        x = e
    elif kind == "chain":  # neighbours depend on each other, coordinates differ in place and size
        x = e.copy()
        for i in range(1, m):
            x[:, i] = 0.75 * x[:, i - 1] + 0.5 * e[:, i]
        x = x * 2.0 ** (np.arange(m) % 3) + 3 * np.arange(m)
    elif kind == "two_modes":
        x = 0.5 * e + np.where(src.flat(rows, 1) < 0.5, -2, 2)
    elif kind == "skew":
        x = e + 0.25 * e ** 2
    elif kind == "ring":
        angle = 2 * math.pi * src.flat(rows, 1)
        x = 0.25 * e + 2 * np.cos(angle + np.arange(m))
    elif kind == "dice":
        x = np.floor(6 * src.flat(rows, m)) + 1
    return grid_round(x)


def score_cases():
    src, cases = Source(8), []

    def add(name, n, N, m, kind, summary, estimator, degree=0, basis=0, ridge=0.0, standardize=1, change=None,
            probe=None, precision="both", probes=8, whole=0):
        calls = max(calls_of(N, n, estimator == "auto"), 10 if whole else 0)
        sets = recorded(src, calls, n, m, kind)
        sets = sets if change is None else change(sets)
        fit = Fit(sets, n, N, summary, estimator, degree, basis, ridge, standardize)
        assert fit.gap > 1e-7, "a choice that rounding could turn"
        other_unit = standardize == 1 and fit.constant.any()  # float has 1e-3 of the value
        precision = precision if fit.gap > 1e-4 and not other_unit else "double"
        if probe is None:
            own = sets[::max(1, len(sets) // probes)][:probes] * 1.0
            own[-1] = grid_round(2 * own[-1] - sets.mean(0) + 1)  # two rows outside the range
            own[-2] = grid_round(sets.min(0) - 1)
            probe = own
        probe = np.asarray(probe, dtype=float)
        cases.append((name, [
            ("precision", precision), ("n", n), ("m", m), ("fit_rows", N), ("whole", whole), ("standardize", standardize),
            ("summary", summary), ("estimator", estimator), ("degree", degree), ("basis", basis),
            ("ridge", ridge), ("sets", sets), ("flags", fit.flags), ("bandwidth", fit.bandwidth),
            ("family", fit.family), ("lambda", fit.ridge), ("probe", probe), ("scores", fit.scores(probe))]))
        return fit

    # each family with each summary
    add("gauss", 20, 60, 1, "skew", "mean", "gauss")
    add("gauss", 20, 100, 2, "chain", "mean", "gauss")
    add("gauss", 25, 110, 3, "chain", "all", "gauss")
    add("gauss", 20, 100, 3, "chain", "neighbours", "gauss")
    add("gauss", 20, 100, 5, "chain", "mean_var", "gauss", ridge=0.01)
    add("poly", 20, 120, 1, "two_modes", "none", "poly", degree=5)
    add("poly", 30, 150, 2, "ring", "mean", "poly")
    add("poly", 40, 130, 3, "chain", "mean_var", "poly", degree=2)
    add("poly", 20, 100, 5, "chain", "all", "poly")
    add("spline", 20, 120, 1, "two_modes", "none", "spline")
    add("spline", 30, 150, 2, "ring", "mean", "spline", degree=2)
    add("spline", 20, 120, 3, "chain", "neighbours", "spline", basis=6)
    add("spline", 20, 100, 5, "chain", "all", "spline", basis=4)
    add("spline", 20, 100, 3, "skew", "none", "spline", basis=12, ridge=0.001)
    add("rbf", 20, 120, 1, "two_modes", "all", "rbf")
    add("rbf", 30, 150, 2, "ring", "mean", "rbf")
    add("rbf", 20, 100, 3, "chain", "neighbours", "rbf", basis=7)
    add("rbf", 25, 100, 3, "ring", "all", "rbf", basis=16)
    # how rows are taken from data sets: n does not divide N, n = 1, one data set larger than N
    add("rows_uneven", 17, 100, 2, "chain", "mean", "gauss")
    add("rows_single", 1, 60, 2, "chain", "mean", "spline")
    add("rows_one_set", 100, 60, 2, "chain", "mean", "poly")
    # with references there are ten data sets or more; rows beyond those that are asked for fit nothing
    add("whole_sets", 7, 60, 2, "chain", "mean", "gauss", whole=1)
    add("whole_sets", 20, 30, 2, "two_modes", "mean", "auto", whole=1)
    add("whole_sets", 16, 140, 1, "two_modes", "none", "auto", whole=1)
    # scale, ranges and centres come from the first 1000 rows, the sums from all
    add("kept_rows", 100, 1100, 1, "two_modes", "none", "spline")
    # two coordinates: the variance of one other is always 0, so that part of t is left out
    add("empty_summary", 20, 100, 2, "ring", "mean_var", "spline")
    add("unscaled", 20, 100, 3, "chain", "mean", "spline", standardize=0)

    def spikes(x):  # all but the two extremes equal: the spline falls back to the whole range
        x = x.copy()
        x[:, 0] = 1
        x[3, 0], x[50, 0] = -2, 5
        return x
    add("spikes", 20, 100, 2, "normal", "mean", "spline", ridge=0.0625, change=spikes)

    def freeze(column, value):
        def change(x):
            x = x.copy()
            x[:, column] = value
            return x
        return change
    off = grid_round(src.normal(6, 3))
    off[:, 1] = [2.5, 2.5, 2.5, 2.5, 2.625, 2.0]  # the last two rows leave the constant
    add("constant", 20, 100, 3, "chain", "mean", "spline", change=freeze(1, 2.5), probe=off)
    add("constant", 20, 100, 3, "chain", "all", "gauss", change=freeze(1, 2.5), probe=off)
    add("constant", 20, 100, 3, "chain", "neighbours", "gauss", change=freeze(1, 2.5), probe=off,
        standardize=0)
    add("constant_all", 20, 60, 2, "normal", "mean", "gauss", change=lambda x: 0 * x + [2.0, 0.0],
        probe=[[2.0, 0.0], [2.0 + 2.0 ** -18, 0.0]], precision="double")
    add("clamped", 20, 60, 2, "normal", "mean", "gauss", probe=[[0.5, 1e9], [-1e12, 0.25], [1e300, -1e300]],
        precision="double")
    add("huge", 20, 60, 2, "chain", "mean", "poly", change=lambda x: x * [2.0 ** 980, 2.0 ** -980],
        precision="double")
    add("far", 20, 60, 2, "normal", "mean", "gauss", change=lambda x: grid_round(x, 16) + 1e6,
        probe=1e6 + src.normal(6, 2, grid=16) * 2)
    # what AUTO picks
    add("auto", 25, 150, 2, "chain", "mean", "auto")
    add("auto", 20, 160, 1, "two_modes", "mean", "auto")
    add("auto", 30, 200, 2, "two_modes", "mean", "auto")
    add("auto", 20, 160, 1, "two_modes", "mean", "auto", ridge=0.0625)
    add("auto", 25, 120, 3, "dice", "mean", "auto")
    add("auto", 20, 200, 5, "ring", "all", "auto")
    add("auto_mixed", 20, 200, 2, "two_modes", "none", "auto",
        change=lambda x: np.stack([x[:, 0], np.floor(x[:, 1])], axis=1))
    return cases


# ---------------------------------------------------------------- files

FILES = {"statistic": statistic_cases, "moment": moment_cases, "mmd": mmd_cases, "margin": margin_cases,
         "combination": combination_cases, "features": feature_cases,
         "coordinate": coordinate_cases, "median": median_cases, "threefry": threefry_cases,
         "clopper_pearson": clopper_pearson_cases, "p_value": p_value_cases, "scores": score_cases}


def same(old, new):
    """Word by word: numbers to 1e-9 relative (sums that cancel: 1e-15 absolute), the rest exactly."""
    old, new = old.split(), new.split()
    if len(old) != len(new):
        return "%d words, expected %d" % (len(old), len(new))
    for place, (a, b) in enumerate(zip(old, new)):
        if a == b:
            continue
        try:
            x, y = float(a), float(b)
        except ValueError:
            x, y = math.nan, math.nan
        if len(b) == 16 and all(c in "0123456789abcdef" for c in b):
            x = math.nan  # a Threefry word has no tolerance
        if not abs(x - y) <= max(1e-9 * max(abs(x), abs(y)), 1e-15):
            return "word %d is %s, expected %s" % (place + 1, a, b)
    return None


def main(arguments):
    check_stein()
    failed = 0
    os.makedirs(FOLDER, exist_ok=True)
    for name, cases in FILES.items():
        path = os.path.join(FOLDER, name + ".txt")
        text = document(cases())
        if "--check" in arguments:
            try:
                with open(path, encoding="ascii") as f:
                    problem = same(f.read(), text)
            except OSError as error:
                problem = str(error)
            failed += problem is not None
            print("%s: %s" % (name, problem or "same"))
        else:
            with open(path, "w", encoding="ascii", newline="\n") as f:
                f.write(text)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
