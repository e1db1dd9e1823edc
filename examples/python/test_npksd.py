"""Tests of npksd.py. Run by `make -C examples python`; alone: NPKSD_REFERENCE=FOLDER python3 test_npksd.py"""
import contextlib
import ctypes
import gc
import io
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest
import warnings
from unittest import mock

import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
import npksd  # noqa: E402

REFERENCE = pathlib.Path(os.environ.get("NPKSD_REFERENCE", HERE.parent / "build"))
QUICK = {"replicates": 39, "fit_rows": 400, "pilot": 20}


def normals(n, rng):
    return rng.normal(size=(n, 2))


def recorded(n=40, m=2, seed=7):
    return np.random.default_rng(seed).normal(size=(n, m))


class Frame:
    """Rows with names of columns, as pandas.DataFrame behaves."""

    def __init__(self, *columns, rows=None):
        self.columns, self.rows = columns, recorded() if rows is None else rows

    def __array__(self, dtype=None, copy=None):
        return self.rows


def reference(mode, observed, further, replicates, seed=0):
    """What the C program says: a dictionary of arrays."""
    data = np.concatenate([np.ravel(observed), np.ravel(further)]).astype(np.float64).tobytes()
    n, m = observed.shape
    sizes = map(str, (n, m, np.size(further) // m, replicates, seed))
    done = subprocess.run([str(REFERENCE / "python_reference"), mode, *sizes], input=data, stdout=subprocess.PIPE,
                          check=True)
    answer = {}
    for line in done.stdout.decode().splitlines():
        name, *values = line.split()
        answer.setdefault(name, []).append([float.fromhex(value) for value in values])
    return answer


class BitForBit(unittest.TestCase):
    """The same numbers as the C library, to the last bit."""

    def same(self, r, c, factor=1.0):
        """factor: C compares with all rows together, Python with the synthetic ones."""
        self.assertEqual([r.p, r.statistic, r.threshold, r.p_low, r.p_high, r.ksd2, r.bandwidth, r.out_of_range],
                         c["result"][0])
        columns = [[getattr(column, key) for column in r.columns]
                   for key in ("statistic", "p", "p_adjusted", "shift", "distance")]
        m = len(r.columns)
        self.assertEqual(sum(columns[:3], []), c["columns"][0][:3 * m])
        self.assertEqual(sum(columns[3:], []), [x * factor for x in c["columns"][0][3 * m:]])
        self.assertEqual(list(r.row_influence), c["rows"][0])
        self.assertEqual(list(r.null), c["null"][0])
        self.assertEqual([[p.observed, p.expected, p.p_adjusted] for p in r.pairs], c.get("pair", []))

    def test_synthetic_rows(self):
        for m, shift in ((1, 0), (2, 0.5), (5, 0)):
            observed, synthetic = recorded(50, m) + shift, recorded(120, m, 8)
            r = npksd.test(observed, synthetic, replicates=99, seed=3)
            self.same(r, reference("samples", observed, synthetic, 99, 3), 1 + 50 / 120)

    def test_callable(self):
        calls = []

        def remember(n, rng):
            calls.append(rng.normal(size=(n, 3)) * (1, 2, 3))
            return calls[-1]
        observed = recorded(30, 3)
        r = npksd.test(observed, remember, replicates=99)
        self.assertEqual(len({call.tobytes() for call in calls}), len(calls))
        self.same(r, reference("play", observed, calls, 99))

    def test_c_function(self):
        bot = ctypes.CDLL(str(REFERENCE / "python_reference.so")).bot
        observed = recorded(30, 2) * 1.3
        self.same(npksd.test(observed, bot, seed=5, replicates=99), reference("bot", observed, [], 99, 5))

    def test_every_path_agrees(self):
        observed = recorded()
        p = npksd.test(observed, normals, **QUICK).p
        with npksd.Tester(40, 2, normals, **QUICK) as tester:
            while not tester.step(7):
                pass
            self.assertEqual(tester.check(observed).p, p)
            tester.check_begin(observed)
            while not tester.step():
                pass
            self.assertEqual(tester.check_end().p, p)
            loaded = npksd.Tester.load(tester.save())
        self.assertEqual(loaded.check(observed).p, p)
        self.assertEqual(len(loaded.check(observed).columns), 2)


class Mirror(unittest.TestCase):
    """The structs here are those of the header."""

    def test_fields_of_the_header(self):
        header = (HERE.parents[1] / "npksd.h").read_text()
        header = re.sub(r"/\*.*?\*/", "", header, flags=re.S)
        public = header[:header.index("defined(NPKSD_IMPLEMENTATION)")]
        structs = dict(re.findall(r"typedef struct npksd_(\w+) \{(.*?)\} npksd_\w+;", public, flags=re.S))
        mirrored = {re.sub(r"(?<!^)([A-Z])", r"_\1", s.__name__[1:]).lower(): s for s in npksd._STRUCTS}
        self.assertEqual(sorted(structs), sorted(mirrored))
        for name, body in structs.items():
            fields = []
            for declaration in filter(str.strip, body.split(";")):
                callback = re.search(r"\(\*(\w+)\)", declaration)
                fields += [callback.group(1)] if callback else \
                    re.findall(r"(\w+)(?:\[\d+\])?\s*(?:,|$)", declaration.strip())
            self.assertEqual(fields, [field[0] for field in mirrored[name]._fields_], name)

    def test_layout(self):
        self.assertEqual(npksd._layout(), npksd._lib().npksd_layout())

    def test_another_layout_is_refused(self):
        with mock.patch.object(npksd, "_loaded", None), mock.patch.object(npksd, "_VERSION", 201):
            with self.assertRaisesRegex(npksd.Error, "version and layout"):
                npksd.version()

    def test_version(self):
        self.assertRegex(npksd.version(), r"^\d+\.\d+\.\d+$")


class Answers(unittest.TestCase):
    def test_sound_and_changed(self):
        self.assertFalse(npksd.test(recorded(100), normals, **QUICK).reject)
        changed = recorded(100)
        changed[:, 1] += 0.8
        r = npksd.test(changed, normals, names=["speed", "spin"], **QUICK)
        self.assertTrue(r.reject)
        with self.assertRaisesRegex(TypeError, "use result.reject"):
            bool(r)
        self.assertEqual(min(r.columns, key=lambda c: c.p_adjusted).name, "spin")
        self.assertRegex(repr(r), r"^p = 0\.025: rejected \(100 rows, 2 columns, 39 replicates")
        self.assertIn("spin", repr(r))
        self.assertEqual(len(r.null), 39)

    def test_pairs(self):
        rows = recorded(100, 3)
        rows[:, 2] = rows[:, 0] + 0.3 * rows[:, 2]
        rows[:, 2] /= rows[:, 2].std()
        r = npksd.test(rows, lambda n, rng: rng.normal(size=(n, 3)), names=list("abc"), pairs=1, **QUICK)
        self.assertEqual([(p.first, p.second) for p in r.pairs], [("a", "c")])
        self.assertIn("a and c: correlation 0.9", repr(r))

    def test_seeds(self):
        p = [npksd.test(recorded(), normals, seed=seed, **QUICK).statistic for seed in (1, 1, 2)]
        self.assertEqual(p[0], p[1])
        self.assertNotEqual(p[0], p[2])

    def test_rows_of_any_kind(self):
        rows = recorded()
        p = npksd.test(rows, normals, **QUICK).p
        wide = np.zeros((80, 4))
        wide[::2, ::2] = rows
        self.assertEqual(npksd.test(wide[::2, ::2], normals, **QUICK).p, p)
        self.assertEqual(npksd.test(np.asfortranarray(rows), normals, **QUICK).p, p)
        self.assertEqual(npksd.test(rows.tolist(), normals, **QUICK).p, p)
        half = rows.astype(np.float32)
        self.assertEqual(npksd.test(half, normals, **QUICK).statistic,
                         npksd.test(half.astype(np.float64), normals, **QUICK).statistic)
        self.assertEqual(npksd.test(rows[:, 0], lambda n, rng: rng.normal(size=n), **QUICK).shape, (40, 1))
        counts = np.random.default_rng(1).poisson(5, size=(40, 2))
        r = npksd.test(counts, lambda n, rng: rng.poisson(5, size=(n, 2)), **QUICK)
        self.assertEqual(r.flags, ("ties",))

    def test_spread(self):
        rows, wider = recorded(200), recorded(200) * (1, 2)
        expected = rows.std(axis=0, ddof=1) * (1, 2)
        r = npksd.test(wider, normals, **QUICK)
        np.testing.assert_allclose([c.spread for c in r.columns], expected, rtol=0.03)
        self.assertRegex(repr(r), rf"column 1 .* {r.columns[1].spread:.3g}  \*\n")
        self.assertIn("\n*: differs", repr(r))
        synthetic = recorded(300, seed=8)
        r = npksd.test(wider, synthetic, **QUICK)
        np.testing.assert_allclose([c.spread for c in r.columns], expected / synthetic.std(axis=0, ddof=1))
        tester = npksd.Tester(200, 2, normals, **QUICK).run()
        for result in (tester.check(wider), tester.monitor().add(wider)):
            np.testing.assert_allclose([c.spread for c in result.columns], expected, rtol=0.03)
        unseen = npksd.Tester.load(tester.save()).check(wider)  # the draws were made elsewhere
        self.assertTrue(all(np.isnan(c.spread) for c in unseen.columns))
        self.assertRegex(repr(unseen), r"column 1 .* -  \*\n")
        self.assertEqual([c.verdict for c in unseen.columns], ["", "differs"])

    def test_shift_and_distance(self):
        """Against the synthetic rows, not against all rows together."""
        for count in (60, 30):
            rows, synthetic = recorded(60) + (1, 0), recorded(count, seed=8)
            both = np.concatenate([rows, synthetic])
            r = npksd.test(rows, synthetic, **QUICK)
            for k, column in enumerate(r.columns):
                shares = [np.searchsorted(np.sort(side[:, k]), both[:, k], side="right") / len(side)
                          for side in (rows, synthetic)]
                self.assertAlmostEqual(column.distance, np.abs(shares[0] - shares[1]).max())
                self.assertAlmostEqual(column.shift, (rows[:, k].mean() - synthetic[:, k].mean()) / both[:, k].std(),
                                       delta=0.02)
        far = npksd.test(recorded() + 1e6, recorded(20, seed=8), **QUICK)
        self.assertEqual([c.distance for c in far.columns], [1, 1])

    def test_range(self):
        """The share of rows out of range is said if chance would not bring it."""
        sound = npksd.test(recorded(100), recorded(50, seed=10), **QUICK)
        self.assertGreaterEqual(sound.out_of_range, 0.1)
        self.assertNotIn("outside", repr(sound))
        tester = npksd.Tester(100, 2, normals, **QUICK)
        for kind, ask in (("synthetic", lambda rows: npksd.test(rows, recorded(100, seed=8), **QUICK)),
                          ("generated", lambda rows: npksd.test(rows, normals, **QUICK)), ("generated", tester.check)):
            self.assertRegex(repr(ask(recorded(100) * 3)), rf"\n[2-7]\d% of the observed rows lie outside the range of "
                                                           rf"the {kind} rows\n")
            self.assertEqual(ask(recorded(100)).notes, ())
        answer = npksd._Answer(100, 40, False, 0)
        answer.result.out_of_range = 0.2
        for rows, fit_rows, said in ((np.inf, 4000, 1), (np.inf, 400, 0), (1000, 400, 1), (400, 4000, 0)):
            self.assertEqual(len(answer.notes(rows, fit_rows)), said)  # chance: 40 columns, 2 / 1001 or 2 / 401 each

    def test_related_columns(self):
        mixing = np.linalg.cholesky([[1, 0.95, 0], [0.95, 1, 0], [0, 0, 1]]).T

        def related(n, rng):
            return rng.normal(size=(n, 3)) @ mixing
        moved = related(200, np.random.default_rng(10)) + (0.5, 0, 0)
        for generator in (related, related(400, np.random.default_rng(8))):
            r = npksd.test(moved, generator, names=["moved", "along", "apart"], **{**QUICK, "replicates": 99})
            self.assertEqual([c.verdict for c in r.columns], ["differs", "related", ""])
            self.assertLessEqual(r.columns[1].p_adjusted, 0.05)
            self.assertRegex(repr(r), r"along .*  ~\n")
            self.assertIn("\n~: marked with them, but hardly changed by itself", repr(r))
            self.assertNotIn("related", repr(r))

    def test_limits_of_related_columns(self):
        def verdicts(rows, *distances):
            answer = npksd._Answer(100, 3, True, 0)
            answer.arrays["p_adjusted"][:] = 0.05, 0.05, 0.06
            answer.arrays["distance"][:] = distances
            answer.result.threshold = 14  # 4 of 19 replicates are above: p <= 0.25 is rejected
            self.assertNotIn("", answer.verdicts(np.arange(19), rows))
            answer.result.threshold = 18
            return answer.verdicts(np.arange(19), rows)
        self.assertEqual(verdicts(np.inf, 0.2, 0.14, 0.2), ["differs", "differs", ""])  # 1.358 / 10
        self.assertEqual(verdicts(np.inf, 0.2, 0.13, 0.2), ["differs", "related", ""])
        # a changed dependence: no column that is named stands out
        self.assertEqual(verdicts(np.inf, 0.1, 0.1, 0.2), ["differs", "differs", ""])
        # 1.358 sqrt(200 / (100 * 100)) = 0.192
        self.assertEqual(verdicts(100, 0.4, 0.194, 0), ["differs", "differs", ""])
        self.assertEqual(verdicts(100, 0.4, 0.190, 0), ["differs", "related", ""])
        with mock.patch.object(npksd._Answer, "verdicts", return_value=["", ""]) as asked:
            npksd.test(recorded(), normals, **QUICK)
            npksd.test(recorded(), recorded(50, seed=8), **QUICK)
            self.assertEqual([call[0][1] for call in asked.call_args_list], [np.inf, 50])

    def test_marks_need_a_small_p(self):
        r = npksd.test(recorded(100), normals, **QUICK)
        self.assertGreater(min(c.p_adjusted for c in r.columns), 0.05)
        self.assertEqual([c.verdict for c in r.columns], ["", ""])
        self.assertNotIn("differs", repr(r))
        strict = npksd.test(recorded(100) + (0.4, 0), normals, **{**QUICK, "alpha": 0.025})
        lax = npksd.test(recorded(100) + (0.4, 0), normals, **{**QUICK, "alpha": 0.5})
        self.assertTrue(0.025 < lax.columns[0].p_adjusted <= 0.5)
        self.assertEqual((strict.columns[0].verdict, lax.columns[0].verdict), ("", "differs"))

    def test_one_row(self):
        r = npksd.test(recorded(1), normals, **QUICK)
        self.assertRegex(repr(r), r"column 1 .* -$|column 1 .* -\n")

    def test_off_a_constant(self):
        def with_constant(n, rng):
            return np.column_stack([rng.normal(size=n), np.ones(n)])
        for shift, word in ((0.5, "above"), (-0.5, "below")):
            rows = with_constant(40, np.random.default_rng(7)) + (0, shift)
            r = npksd.test(rows, with_constant, **QUICK)
            self.assertEqual(r.columns[1].shift, np.sign(shift) * sys.float_info.max)
            self.assertRegex(repr(r), rf"column 1 .* {word} .* off the constant")
            self.assertLess(max(map(len, repr(r).splitlines())), 120)
        self.assertNotIn("constant\n", repr(npksd.test(with_constant(40, np.random.default_rng(7)), with_constant,
                                                       **QUICK)).partition("column  ")[2])
        narrow = npksd.test(recorded() * 1e200, normals, **QUICK)
        self.assertLess(max(map(len, repr(narrow).splitlines())), 120)

    def test_names_of_a_frame(self):
        columns = npksd.test(Frame("length", 4), normals, **QUICK).columns
        self.assertEqual([c.name for c in columns], ["length", "column 4"])
        with self.assertRaisesRegex(ValueError, "the columns are .'a', 'b'. in observed, but .'b', 'a'. in .* rows; "
                                                r"pass synthetic\[observed.columns\]"):
            npksd.test(Frame("a", "b"), Frame("b", "a"), **QUICK)
        with self.assertRaisesRegex(ValueError, "but .'a', 'c'. in the synthetic rows; both must have the same"):
            npksd.test(Frame("a", "b"), Frame("a", "c"), **QUICK)
        with self.assertRaisesRegex(ValueError, "two columns are called 'a'"):
            npksd.test(Frame("a", "a"), normals, **QUICK)

    def test_names_of_frames_that_are_drawn(self):
        def frames(*columns):
            return lambda n, rng: Frame(*columns, rows=normals(n, rng))
        swapped = r"the columns are .'a', 'b'. in {}, but .'b', 'a'. in {}"
        p = npksd.test(Frame("a", "b"), normals, **QUICK).p
        self.assertEqual(npksd.test(Frame("a", "b"), frames("a", "b"), **QUICK).p, p)
        self.assertEqual(npksd.test(recorded(), frames("a", "b"), **QUICK).p, p)
        with self.assertRaisesRegex(ValueError, swapped.format("observed", "the rows from the generator")):
            npksd.test(Frame("a", "b"), frames("b", "a"), **QUICK)
        with self.assertRaisesRegex(ValueError, swapped.format("the rows from the generator", "the rows from the alt")):
            npksd.power(40, 2, frames("a", "b"), frames("b", "a"), **QUICK)
        tester = npksd.Tester(40, 2, frames("a", "b"), **QUICK).run()
        self.assertEqual(tester.check(Frame("a", "b")).p, p)
        for check in (tester.check, tester.check_begin, tester.monitor().add):
            with self.assertRaisesRegex(ValueError, swapped.format("the rows from the generator", "observed")):
                check(Frame("b", "a"))

    def test_options(self):
        r = npksd.test(recorded(), normals, stop_after=5, **QUICK)
        self.assertEqual((r.columns, r.pairs, len(r.null)), ([], [], 0))
        r = npksd.test(recorded(), normals, diagnose=False, **QUICK)
        self.assertEqual(r.columns, [])
        r = npksd.test(recorded(), normals, components="stein", scales=[1.0], statistic="V", **QUICK)
        self.assertEqual(r.leading, "STEIN")
        r = npksd.test(recorded(), normals, components=["margin", "PAIR"], **QUICK)
        self.assertIn(r.leading, ("MARGIN", "PAIR"))

    def test_score(self):
        classical = dict(score=lambda x: -x, scales=[1], calibration="wild_bootstrap", components="stein",
                         standardize=False, bandwidth=1, diagnose=False)
        self.assertGreater(npksd.test(recorded(), None, **classical).p, 0.05)
        r = npksd.test(recorded() + 1, None, **classical)
        self.assertTrue(r.reject)
        self.assertEqual(r.flags, ("asymptotic: p is not exact",))

    def test_power_and_self_check(self):
        power = npksd.power(40, 2, normals, lambda n, rng: 2 * normals(n, rng), runs=20, **QUICK)
        self.assertGreater(power.power, 0.9)
        self.assertEqual(power.runs, 20)
        check = npksd.self_check(20, 2, normals, runs=20, **QUICK)
        self.assertTrue(check.repeatable)
        hidden = np.random.default_rng(1)
        self.assertFalse(npksd.self_check(20, 2, lambda n, rng: hidden.normal(size=(n, 2)), runs=5, **QUICK).repeatable)


class TesterLife(unittest.TestCase):
    def test_progress_scores_null(self):
        seen = []
        tester = npksd.Tester(20, 2, normals, **QUICK)
        self.assertEqual(tester.progress[0], 0)
        tester.run(lambda done, total: seen.append((done, total)))
        self.assertTrue(seen and all(a < b for (a, _), (b, _) in zip(seen, seen[1:])))
        self.assertEqual(len(tester.null), 39)
        self.assertEqual(tester.scores(np.zeros((5, 2))).shape, (5, 2))
        self.assertIn("20 rows, 2 columns", repr(tester))

    def test_files(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "release.blob"
            blob = npksd.Tester(20, 2, normals, **QUICK).run().save(path)
            self.assertEqual(path.read_bytes(), blob)
            self.assertEqual(npksd.Tester.load(path).shape, (20, 2))
            self.assertEqual(npksd.Tester.load(str(path), names=["a", "b"]).check(recorded(20)).columns[1].name, "b")
        for bad in (b"", blob[:-1], b"\0" + blob[1:]):
            with self.assertRaisesRegex(ValueError, "not a saved tester"):
                npksd.Tester.load(bad)
        with self.assertRaisesRegex(MemoryError, "most_bytes"):
            npksd.Tester.load(blob, most_bytes=10)

    def test_callbacks_outlive_collections(self):
        tester = npksd.Tester(20, 2, lambda n, rng: rng.normal(size=(n, 2)), score=lambda x: -x, scales=[0.5], **QUICK)
        while not tester.step(50):
            gc.collect()
        self.assertLessEqual(tester.check(recorded(20)).p, 1)

    def test_rows_of_a_pending_check_are_kept(self):
        tester = npksd.Tester(20, 2, normals, **QUICK).run()
        rows = recorded(20)
        tester.check_begin(rows)
        self.assertFalse(np.shares_memory(tester._pending, rows))  # C may read them until check_end

    def test_closed(self):
        with npksd.Tester(20, 2, normals, **QUICK) as tester:
            pass
        tester.close()
        with self.assertRaisesRegex(npksd.Error, "closed"):
            tester.step()
        self.assertIn("closed", repr(tester))

    def test_too_early(self):
        tester = npksd.Tester(20, 2, normals, **QUICK)
        for early in (tester.save, lambda: tester.scores(np.zeros((1, 2))), lambda: tester.null,
                      lambda: tester.check_begin(recorded(20))):
            with self.assertRaisesRegex(npksd.Error, r"is not finished.*: call step\(\) until it returns True, or run"):
                early()
        for nothing_begun in (lambda: None, tester.run,
                              lambda: tester.check_begin(recorded(20)) or tester.check(recorded(20))):
            nothing_begun()
            with self.assertRaisesRegex(npksd.Error, r"no check to end: call check_begin\(rows\) first"):
                tester.check_end()
        tester.check_begin(recorded(20))
        with self.assertRaisesRegex(npksd.Error, r"still checking: call step\(\) until it returns True"):
            tester.check_end()
        tester.run()
        self.assertLessEqual(tester.check_end().p, 1)
        with self.assertRaisesRegex(npksd.Error, "has score=, which cannot be saved"):
            npksd.Tester(20, 2, normals, score=lambda x: -x, **QUICK).run().save()


class Watching(unittest.TestCase):
    def watched(self, **options):
        return npksd.Tester(20, 2, normals, **{**QUICK, "replicates": 199, **options})

    def test_alarms(self):
        monitor = self.watched().monitor(alpha=0.01)
        for night in range(20):
            result = monitor.add(recorded(20, seed=100 + night))
        self.assertEqual((monitor.recordings, monitor.alarm, monitor.change_alarm), (20, None, None))
        self.assertEqual(len(result.columns), 2)
        self.assertIn("no alarm", repr(monitor))
        for night in range(20):
            monitor.add(recorded(20, seed=200 + night) + 1)
        self.assertTrue(20 < monitor.change_alarm <= 30)
        self.assertTrue(monitor.alarm is None or monitor.alarm > 20)
        self.assertIn(f"change alarm at recording {monitor.change_alarm}", repr(monitor))

    def test_goes_on_after_a_night(self):
        tester = self.watched()
        one, two = tester.monitor(), tester.monitor()
        for night in range(10):
            one.add(recorded(20, seed=night))
            two.add(recorded(20, seed=night))
            two = npksd.Monitor.load(two.save(), tester)
        self.assertEqual((one.p, one.evidence, one.change), (two.p, two.evidence, two.change))
        for bad in (b"", one.save()[:-8], bytes(1000)):
            with self.assertRaisesRegex(ValueError, "not a saved monitor"):
                npksd.Monitor.load(bad, tester)
        copy = npksd.Monitor.load(one.save(), npksd.Tester.load(tester.save()))
        self.assertEqual(copy.add(recorded(20)).p, one.add(recorded(20)).p)
        self.assertEqual(npksd.Monitor.load(tester.monitor().save(), self.watched(seed=5)).recordings, 0)
        with self.assertRaisesRegex(ValueError, "saved with another tester"):
            npksd.Monitor.load(one.save(), self.watched(seed=5))
        with self.assertRaisesRegex(ValueError, "a monitor cannot use this tester"):
            npksd.Monitor.load(one.save(), self.watched(smooth=0.1))
        with self.assertRaisesRegex(ValueError, "without smooth, resample_redraw"):
            one.restart(self.watched(smooth=0.1))

    def test_full_and_restarted(self):
        tester = self.watched()
        monitor = tester.monitor(capacity=2)
        monitor.add(recorded(20))
        monitor.add(recorded(20, seed=8))
        with self.assertRaisesRegex(npksd.Error, "restart it with a fresh tester"):
            monitor.add(recorded(20))
        with self.assertRaisesRegex(ValueError, "a tester other than the one in use"):
            monitor.restart(tester)
        evidence = monitor.evidence
        monitor.restart(self.watched(seed=5))
        self.assertEqual(monitor.evidence, evidence)
        monitor.add(recorded(20))
        self.assertEqual(monitor.recordings, 3)

    def test_mistakes(self):
        with self.assertRaisesRegex(ValueError, "alpha: between 0 and 1"):
            self.watched().monitor(alpha=1)
        with self.assertRaisesRegex(ValueError, "capacity: at least 1"):
            self.watched().monitor(capacity=0)
        with self.assertRaisesRegex(ValueError, "a monitor cannot use this tester"):
            self.watched(smooth=0.1).monitor().add(recorded(20))
        with self.assertRaisesRegex(ValueError, "20 rows of 2 columns"):
            self.watched().monitor().add(recorded(21))


class Mistakes(unittest.TestCase):
    """What a newcomer gets wrong comes out as an exception that says what and where."""

    def refused(self, kind, pattern, *arguments, **keywords):
        with self.assertRaisesRegex(kind, pattern):
            npksd.test(*arguments, **{**QUICK, **keywords})

    def test_observed(self):
        rows = recorded()
        hole = rows.copy()
        hole[3, 1] = np.nan
        self.refused(ValueError, "observed: nan in row 3, column 1", hole, normals)
        for numbers in (rows.astype(object), rows.astype(str)):
            self.refused(TypeError, r"numbers are needed, not dtype (object|<U\d+); use .astype\(float\)$", numbers,
                         normals)
        for text in ([["a", "b"]], np.array([[1.5, "a"]], dtype=object)):
            self.refused(TypeError, r"not dtype (object|<U1) \(.*'a'\); give each category a column of 0 and 1 "
                                    r"\(pandas.get_dummies\)", text, normals)
        self.refused(TypeError, "numbers are needed, not dtype complex128$", rows * 1j, normals)
        self.refused(ValueError, r"not shape \(40, 2, 1\)", rows[..., None], normals)
        self.refused(ValueError, "at least one row", rows[:0], normals)
        self.refused(TypeError, "observed: rows of numbers are needed, not function", normals, rows)
        self.refused(ValueError, "observed: a table is needed, whose rows all have the same length", [[1, 2], [3]],
                     normals)
        self.refused(ValueError, "masked", np.ma.masked_greater(rows, 1), normals)

    def test_generator(self):
        rows = recorded()
        self.refused(ValueError, r"rows from the generator: shape \(40, 3\), but 40 rows of 2 columns", rows,
                     lambda n, rng: rng.normal(size=(n, 3)))
        self.refused(ValueError, r"shape \(2, 40\)", rows, lambda n, rng: rng.normal(size=(2, n)))
        self.refused(ValueError, r"rows from the generator: inf in row 0, column 0", rows,
                     lambda n, rng: np.full((n, 2), np.inf))
        self.refused(TypeError, "rows from the generator: rows of numbers are needed, not NoneType", rows,
                     lambda n, rng: None)
        self.refused(TypeError, "generator or synthetic rows: .* not Generator", rows, np.random.default_rng())
        self.refused(TypeError, "positional argument", rows, lambda n: None)
        self.refused(npksd.GeneratorError, "the same rows twice and drew nothing", rows, lambda n, rng: recorded())
        self.refused(ValueError, "generator: None only with score", rows, None)
        self.refused(ValueError, "observed has 2 columns, the synthetic rows have 3", rows, recorded(80, 3))
        self.refused(ValueError, "5 synthetic rows are too few: 40 observed rows need 20 or more", rows, recorded(5))

    def test_a_table_with_itself(self):
        rows = recorded()
        with self.assertWarnsRegex(UserWarning, "compares a table with itself") as caught:
            npksd.test(rows, rows, **QUICK)
        self.assertEqual(caught.filename, __file__)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            npksd.test(rows, recorded(seed=8), **QUICK)

    def test_exceptions_come_out(self):
        class Crash(Exception):
            pass

        def crash(n, rng):
            raise Crash("in the simulator")
        for call in (lambda: npksd.test(recorded(), crash, **QUICK),
                     lambda: npksd.power(20, 2, normals, crash, **QUICK),
                     lambda: npksd.self_check(20, 2, crash, **QUICK),
                     lambda: npksd.Tester(20, 2, crash, **QUICK).run()):
            with self.assertRaisesRegex(Crash, "in the simulator"):
                call()

        def interrupt(n, rng):
            raise KeyboardInterrupt
        with self.assertRaises(KeyboardInterrupt):
            npksd.test(recorded(), interrupt, **QUICK)
        with self.assertRaisesRegex(ValueError, r"scores: shape \(3,\)"):
            npksd.test(recorded(), normals, score=lambda x: np.zeros(3), **QUICK)

    def test_options(self):
        rows = recorded()
        self.refused(TypeError, r"replicate: no such option; did you mean replicates\?$", rows, normals, replicate=99)
        self.refused(TypeError, r"nmaes: no such option; did you mean names\?$", rows, normals, nmaes=["a", "b"])
        self.refused(TypeError, "hurry: no such option; they are the fields of npksd_options", rows, normals, hurry=1)
        for call in (lambda: npksd.test(rows, normals, block=20), lambda: npksd.Tester(40, 2, normals, block=20),
                     lambda: npksd.power(40, 2, normals, normals, block=20),
                     lambda: npksd.self_check(40, 2, normals, block=20)):
            with self.assertRaisesRegex(ValueError, "block: for arrays only; with a generator all rows together"):
                call()
        npksd.test(rows, recorded(80, seed=8), block=4, **QUICK)
        self.refused(ValueError, r"replicates: 1/\(replicates\+1\) > alpha", rows, normals, replicates=9)
        self.refused(ValueError, "replicates: '1000.0' is not a whole number", rows, normals, replicates=1e3)
        self.refused(ValueError, "summary: unknown value 'median'; one of MEAN", rows, normals, summary="median")
        self.refused(ValueError, "alpha: between 0 and 1", rows, normals, alpha=5)
        self.refused(ValueError, "scales: from", rows, normals, scales=[-1])
        self.refused(TypeError, "alpha: a number or a name", rows, normals, alpha=None)
        self.refused(TypeError, "score: a callable", rows, normals, score=3)
        self.refused(ValueError, "names: a list of 2", rows, normals, names=["a"])
        self.refused(ValueError, "names: a list of 2", rows, normals, names="ab")
        self.refused(ValueError, "names: two columns are called 'a'", rows, normals, names=["a", "a"])
        self.refused(ValueError, "rng: a pointer", rows, normals, rng=1)
        self.refused(ValueError, "pairs: at least 0, not -1", rows, normals, pairs=-1)
        self.refused(ValueError, "seed: '-1' is not", rows, normals, seed=-1)

    def test_counts(self):
        for call in (lambda: npksd.Tester(recorded(), 2, normals), lambda: npksd.power(20.0, 2, normals, normals),
                     lambda: npksd.self_check("20", 2, normals)):
            with self.assertRaisesRegex(TypeError, "n: a whole number is needed, not (ndarray|float|str)"):
                call()
        with self.assertRaisesRegex(ValueError, "m: at least 1, not -2"):
            npksd.Tester(20, -2, normals)
        with self.assertRaisesRegex(ValueError, "items: at least 1, not 0"):
            npksd.Tester(20, 2, normals, **QUICK).step(0)

    def test_tester_shapes(self):
        tester = npksd.Tester(20, 2, normals, **QUICK).run()
        for rows in (recorded(21), recorded(20, 3), recorded(20)[:, 0]):
            with self.assertRaisesRegex(ValueError, "20 rows of 2 columns are needed"):
                tester.check(rows)
        with self.assertRaisesRegex(ValueError, "of 2 columns"):
            tester.scores(recorded(5, 3))
        with self.assertRaisesRegex(TypeError, "generator: a callable"):
            npksd.Tester(20, 2, recorded(), **QUICK)


class Building(unittest.TestCase):
    def build(self, **environment):
        with mock.patch.dict(os.environ, environment), mock.patch.object(npksd, "_loaded", None):
            os.environ.pop("NPKSD_LIBRARY", None)
            return npksd.version()

    def test_builds_once_and_says_so(self):
        with tempfile.TemporaryDirectory() as cache, contextlib.redirect_stderr(io.StringIO()) as said:
            self.build(XDG_CACHE_HOME=cache)
            self.build(XDG_CACHE_HOME=cache)
            self.assertEqual(len(list(pathlib.Path(cache).glob("npksd/*"))), 1)
        self.assertEqual(said.getvalue().count("npksd: building "), 1)

    def test_what_is_missing(self):
        with tempfile.TemporaryDirectory() as empty:
            for pattern, environment in (("no C compiler", {"CC": "", "PATH": empty}),
                                         ("no-such-compiler .from CC. does not start", {"CC": "no-such-compiler"}),
                                         ("failed", {"CC": "false"}),
                                         ("npksd.h is missing: set NPKSD_SOURCE", {"NPKSD_SOURCE": empty})):
                with self.assertRaisesRegex(npksd.Error, pattern), contextlib.redirect_stderr(io.StringIO()):
                    self.build(XDG_CACHE_HOME=empty, **environment)

    def test_another_library(self):
        with mock.patch.object(npksd, "_loaded", None), mock.patch.dict(os.environ, NPKSD_LIBRARY=__file__):
            with self.assertRaisesRegex(npksd.Error, "is not the shared library of npksd.h"):
                npksd.version()


if __name__ == "__main__":
    unittest.main()
