// Npksd.cs at work, as a gate for an engine's builds. Run by `make -C examples csharp`.
//
// A ball is thrown in a "game", and the throws of a release were recorded. An unchanged build passes; one with more
// drag is rejected, and the column that differs is named. Then come the things that a binding must survive: 10,000
// callbacks while the garbage collector runs, exceptions in a generator, wrong options and sizes, saving and loading.
using System;

static class Program
{
    const int Throws = 60, Columns = 3;
    static int failures;

    static void Expect(bool truth, string what)
    {
        if (truth)
            return;
        Console.WriteLine("failed: " + what);
        failures++;
    }

    static void Throws_<E>(Action action, string text) where E : Exception
    {
        try {
            action();
            Expect(false, "an exception that says: " + text);
        } catch (E e) {
            Expect(e.Message.Contains(text), "'" + text + "' in the message: " + e.Message);
        }
    }

    // Distance, height and spin of a throw, simulated in steps as an engine does.
    static NpksdGenerator Ball(double drag)
    {
        return (rows, count, columns, random) => {
            for (int r = 0; r < count; r++) {
                double vx = 8 + random.Normal(), vy = 6 + 0.5 * random.Normal(), x = 0, y = 0, top = 0;
                while (y >= 0) {
                    vx -= drag * vx / 60;
                    vy -= 9.81 / 60;
                    x += vx / 60;
                    y += vy / 60;
                    top = Math.Max(top, y);
                }
                rows[r * columns] = x;
                rows[r * columns + 1] = top;
                rows[r * columns + 2] = random.Uniform();
            }
        };
    }

    // Rows from a generator with the library's random numbers: the first data set that a tester asks for.
    static double[] Record(NpksdGenerator generator, int seed)
    {
        double[] recorded = null;
        var options = new NpksdOptions().Set("seed", seed);
        using (var tester = new NpksdTester(Throws, Columns, (rows, count, columns, random) => {
            generator(rows, count, columns, random);
            recorded = recorded ?? (double[])rows.Clone();
        }, options))
            while (recorded == null)
                tester.Step();
        return recorded;
    }

    static void Gate()
    {
        foreach (double drag in new[] { 0.1, 0.3 }) {
            NpksdResult r = Npksd.Test(Record(Ball(drag), 7), Throws, Columns, Ball(0.1));
            Console.WriteLine("drag {0}: p = {1:0.000}, {2}; columns {3:0.000} {4:0.000} {5:0.000}", drag, r.P,
                              r.Reject ? "rejected" : "not rejected", r.ColumnP[0], r.ColumnP[1], r.ColumnP[2]);
            Expect(r.Reject == (drag > 0.1), "only the build with more drag is rejected");
            Expect(drag < 0.2 || (r.ColumnP[0] <= 0.05 && r.ColumnP[2] > 0.05), "the distance differs, not the spin");
        }
        foreach (int n in new[] { 20, 60 }) {
            var power = Npksd.Power(n, Columns, Ball(0.1), Ball(0.2), null, 40);
            Console.WriteLine("with {0} throws, a drag of 0.2 is detected in {1:0} % of recordings", n,
                              100 * power.Power);
            Expect(power.Runs == 40 && power.Low <= power.Power && power.Power <= power.High, "power and its interval");
        }
    }

    static void Collections()
    {
        int calls = 0, before = GC.CollectionCount(GC.MaxGeneration);
        var options = new NpksdOptions().Set("replicates", 9999).Set("fit_rows", 200).Set("pilot", 20)
            .Set("components", "margin");
        var tester = new NpksdTester(5, 2, (rows, count, columns, random) => {
            calls++;
            for (int i = 0; i < rows.Length; i++)
                rows[i] = random.Normal();
            GC.KeepAlive(new byte[1000]);
            if (calls % 10 == 0)
                GC.Collect(); // moves and frees everything it can
        }, options);
        while (!tester.Step(100)) {
            GC.Collect();
            GC.WaitForPendingFinalizers();
        }
        NpksdResult r = tester.Check(new double[10]);
        Expect(calls >= 10000 && r.Replicates == 9999, "10,000 callbacks");
        int collections = GC.CollectionCount(GC.MaxGeneration) - before;
        Console.WriteLine("{0} callbacks, {1} collections in between", calls, collections);
        Expect(collections >= 1000, "the collector ran");
        tester.Dispose();
        tester.Dispose();
        Throws_<ObjectDisposedException>(() => tester.Step(), "NpksdTester");
        for (int i = 0; i < 50; i++)
            new NpksdTester(5, 2, Ball(0), null); // not disposed: the finalizer frees the memory
        GC.Collect();
        GC.WaitForPendingFinalizers();
    }

    static void Mistakes()
    {
        var rows = new double[Throws * Columns];
        Throws_<InvalidOperationException>(() => Npksd.Test(rows, Throws, Columns,
            (r, count, columns, random) => { throw new InvalidOperationException("in the engine"); }), "in the engine");
        Throws_<ArgumentException>(() => new NpksdOptions().Set("replicate", 99), "did you mean replicates?");
        Throws_<ArgumentException>(() => new NpksdOptions().Set("alpha", 2), "alpha: between 0 and 1");
        var few = new NpksdOptions().Set("replicates", 9);
        Throws_<ArgumentException>(() => Npksd.Test(rows, Throws, Columns, Ball(0), few), "can never reject");
        Throws_<ArgumentException>(() => Npksd.Test(rows, Throws + 1, Columns, Ball(0)), "are 183, not 180");
        var quick = new NpksdOptions().Set("stop_after", 10);
        Throws_<ArgumentException>(() => Npksd.Test(rows, Throws, Columns, Ball(0), quick), "not with a diagnosis");
        Expect(Npksd.Test(Record(Ball(0), 3), Throws, Columns, Ball(0), quick.Set("diagnose", 0)).ColumnP.Length == 0,
               "no diagnosis if diagnose is 0");
        Throws_<NpksdException>(() => new NpksdTester(new byte[100]), "not a blob");
        rows[4] = double.NaN;
        Throws_<NpksdException>(() => Npksd.Test(rows, Throws, Columns, Ball(0)), "NaN");
        Throws_<ArgumentException>(() => Npksd.TestSamples(rows, new double[3], Columns), "synthetic");
    }

    static void SaveAndSamples()
    {
        double[] recorded = Record(Ball(0.1), 9);
        var options = new NpksdOptions().Set("replicates", 199);
        using (var tester = new NpksdTester(Throws, Columns, Ball(0.1), options)) {
            tester.Run();
            using (var loaded = new NpksdTester(tester.Save())) {
                NpksdResult a = tester.Check(recorded), b = loaded.Check(recorded);
                Expect(a.P == b.P && a.Statistic == b.Statistic && a.ColumnP[0] == b.ColumnP[0],
                       "a saved tester gives the same answer");
                Expect(loaded.Rows == Throws && loaded.Columns == Columns, "a saved tester keeps its size");
            }
        }
        var synthetic = new double[4 * recorded.Length];
        for (int k = 0; k < 4; k++)
            Record(Ball(0.3), 20 + k).CopyTo(synthetic, k * recorded.Length);
        NpksdResult r = Npksd.TestSamples(recorded, synthetic, Columns, options);
        Console.WriteLine("against synthetic rows with more drag: p = {0:0.000}, {1} leads", r.P, r.Leading);
        Expect(r.Reject && r.Pairs.Length == 3, "synthetic rows with more drag are rejected");
    }

    static void Watch()
    {
        using (var tester = new NpksdTester(Throws, Columns, Ball(0.1))) {
            tester.Run();
            var monitor = new NpksdMonitor(tester, 0.01);
            for (int night = 1; night <= 24; night++)
                monitor.Add(Record(Ball(night <= 12 ? 0.1 : 0.3), 100 + night));
            Console.WriteLine("more drag from night 13 on: change alarm at night {0}", monitor.ChangeAlarm);
            Expect(monitor.ChangeAlarm > 12 && monitor.ChangeAlarm < 20 && monitor.Recordings == 24,
                   "the change is detected soon");
            Throws_<NpksdException>(() => monitor.Restart(tester), "argument");
            var small = new NpksdMonitor(tester, 0.01, 1);
            small.Add(Record(Ball(0.1), 1));
            Throws_<NpksdException>(() => small.Add(Record(Ball(0.1), 2)), "called too early");
            Throws_<NpksdException>(() => new NpksdMonitor(tester, 2), "argument");
        }
    }

    static int Main()
    {
        Gate();
        Collections();
        Mistakes();
        SaveAndSamples();
        Watch();
        Console.WriteLine("{0} failed", failures);
        return failures == 0 ? 0 : 1;
    }
}
