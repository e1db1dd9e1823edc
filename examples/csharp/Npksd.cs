// npksd.h from C#, for Unity, Godot and .NET: copy this file and the shared library into the project.
//
//     make -C examples shared        libnpksd.so (Linux), npksd.dll (Windows)
//
//     var result = Npksd.Test(recorded, n, m, (rows, count, columns, random) => {
//         for (int i = 0; i < rows.Length; i++) rows[i] = random.Normal();
//     });
//     if (result.Reject) Debug.Log("not the engine that was calibrated: p = " + result.P);
//
// Rows are double[n * m], one row after another. A generator fills them and takes every random number from `random`; if
// it throws, the call that needed it throws the same exception. Options have the names of the fields of npksd_options:
//     new NpksdOptions().Set("replicates", 999).Set("summary", "neighbours")
//
// Callbacks and the garbage collector: C is only given the address of one static method, which lives as long as the
// program, and a handle to the object that holds the generator. So nothing that C refers to can be collected or moved.
// For ahead-of-time compilers (Unity's IL2CPP, iOS), mark Sample with their MonoPInvokeCallback attribute.
using System;
using System.Globalization;
using System.Runtime.InteropServices;

public sealed class NpksdException : Exception
{
    public readonly int Status;
    public NpksdException(int status, string text) : base(text) { Status = status; }
}

/// <summary>Random numbers for the data set that is being drawn; valid only inside the generator.</summary>
public struct NpksdRandom
{
    readonly IntPtr rng;
    internal NpksdRandom(IntPtr rng) { this.rng = rng; }
    public double Uniform() { return Native.npksd_uniform(rng); }
    public double Normal() { return Native.npksd_normal(rng); }
}

/// <summary>The generator under test: fills `count` rows of `columns` numbers each.</summary>
public delegate void NpksdGenerator(double[] rows, int count, int columns, NpksdRandom random);

/// <summary>Options by name. Those that are not set have their defaults, except that diagnose is 1.</summary>
public sealed class NpksdOptions
{
    internal Native.Options Native_;

    public NpksdOptions()
    {
        Native.Check();
        Native_ = Native.npksd_default_options();
        Native_.diagnose = 1;
    }
    internal bool Diagnose { get { return Native_.diagnose != 0; } }

    public NpksdOptions Set(string name, string value)
    {
        Native.Refuse(Native.npksd_options_set(ref Native_, name, value));
        return this;
    }
    public NpksdOptions Set(string name, double value)
    {
        return Set(name, value.ToString("R", CultureInfo.InvariantCulture));
    }

    internal void Validate(int n, int m)
    {
        if (n < 0 || m < 0)
            throw new ArgumentException("n = " + n + " rows of m = " + m + " numbers: both must be at least 1");
        Native.Refuse(Native.npksd_options_problem(ref Native_, (UIntPtr)n, (UIntPtr)m));
    }
}

public struct NpksdPair
{
    public int First, Second;
    public double Observed, Expected, PAdjusted;
}

/// <summary>The answer: P is exact; Column... and Pairs say where the rows differ.</summary>
public sealed class NpksdResult
{
    public double P, PLow, PHigh, Statistic, Threshold, Bandwidth, Ksd2, OutOfRange;
    public bool Reject;
    public int Replicates;
    public uint Flags;
    public string Leading;
    /// <summary>p-value of each column, adjusted for testing all columns; empty without diagnose.</summary>
    public double[] ColumnP = new double[0];
    /// <summary>Observed mean minus the generator's mean, in standard deviations.</summary>
    public double[] ColumnShift = new double[0];
    /// <summary>Largest distance between the two distribution functions, 0 to 1.</summary>
    public double[] ColumnDistance = new double[0];
    public NpksdPair[] Pairs = new NpksdPair[0];
}

public struct NpksdPowerResult
{
    public int Runs, Rejected;
    public double Power, Low, High;
}

public static class Npksd
{
    /// <summary>Could n rows of m numbers have come from the generator?</summary>
    public static NpksdResult Test(double[] observed, int n, int m, NpksdGenerator generator,
                                   NpksdOptions options = null)
    {
        options = options ?? new NpksdOptions();
        options.Validate(n, m);
        CheckLength(observed, n, m);
        using (var callback = new Callback(generator))
        using (var answer = new Answer(m, options.Diagnose)) {
            int status = Native.npksd_test_diagnose(observed, (UIntPtr)n, (UIntPtr)m, Callback.Address, callback.Handle,
                ref options.Native_, out answer.Result, answer.Diagnosis, IntPtr.Zero);
            callback.Rethrow();
            Native.Throw(status);
            return answer.Read();
        }
    }

    internal static void CheckLength(double[] observed, int n, int m)
    {
        if (observed.Length != (long)n * m)
            throw new ArgumentException("observed: " + n + " rows of " + m + " numbers are " + (long)n * m + ", not "
                                        + observed.Length);
    }

    /// <summary>The same test with synthetic rows instead of a generator.</summary>
    public static NpksdResult TestSamples(double[] observed, double[] synthetic, int m, NpksdOptions options = null)
    {
        options = options ?? new NpksdOptions();
        if (m < 1 || observed.Length % m != 0 || synthetic.Length % m != 0)
            throw new ArgumentException("observed has " + observed.Length + " numbers, synthetic has "
                                        + synthetic.Length + ": both must be whole rows of m = " + m + " numbers");
        UIntPtr n = (UIntPtr)(observed.Length / m), rows = (UIntPtr)(synthetic.Length / m);
        Native.Refuse(Native.npksd_samples_problem(ref options.Native_, n, rows, (UIntPtr)m));
        using (var answer = new Answer(m, options.Diagnose)) {
            Native.Throw(Native.npksd_test_samples_diagnose(observed, n, synthetic, rows, (UIntPtr)m,
                ref options.Native_, out answer.Result, answer.Diagnosis, IntPtr.Zero));
            return answer.Read();
        }
    }

    /// <summary>How often would n rows of the alternative be rejected? For planning how much to record.</summary>
    public static NpksdPowerResult Power(int n, int m, NpksdGenerator generator, NpksdGenerator alternative,
                                         NpksdOptions options = null, int runs = 100)
    {
        options = options ?? new NpksdOptions();
        options.Validate(n, m);
        using (var first = new Callback(generator))
        using (var second = new Callback(alternative)) {
            Native.PowerResult r;
            int status = Native.npksd_power((UIntPtr)n, (UIntPtr)m, Callback.Address, first.Handle, Callback.Address,
                                            second.Handle, ref options.Native_, (UIntPtr)runs, out r);
            first.Rethrow();
            second.Rethrow();
            Native.Throw(status);
            return new NpksdPowerResult { Runs = (int)r.runs, Rejected = (int)r.rejected, Power = r.power,
                                          Low = r.low, High = r.high };
        }
    }
}

/// <summary>Prepare once, then check many recordings. Step does a part of the work, to stay within a frame budget; Save
/// returns bytes that make a tester again.</summary>
public sealed class NpksdTester : IDisposable
{
    readonly IntPtr tester;
    readonly Callback callback;
    bool open = true;
    public readonly int Rows, Columns;

    public NpksdTester(int n, int m, NpksdGenerator generator, NpksdOptions options = null)
    {
        options = options ?? new NpksdOptions();
        options.Validate(n, m);
        Rows = n;
        Columns = m;
        callback = new Callback(generator);
        int status = Native.npksd_tester_create(out tester, (UIntPtr)n, (UIntPtr)m, Callback.Address, callback.Handle,
                                                ref options.Native_);
        if (status < 0)
            callback.Dispose();
        Native.Throw(status);
    }

    /// <summary>A tester from the bytes that Save returned; it needs no generator.</summary>
    public NpksdTester(byte[] blob)
    {
        Native.Check();
        UIntPtr n, m, bytes;
        Native.Throw(Native.npksd_blob_info(blob, (UIntPtr)blob.Length, out n, out m, out bytes));
        Native.Throw(Native.npksd_tester_load(out tester, blob, (UIntPtr)blob.Length, IntPtr.Zero));
        Rows = (int)n;
        Columns = (int)m;
    }

    /// <summary>Does up to `items` items of work; true when none are left.</summary>
    public bool Step(int items = 1)
    {
        int status = Native.npksd_tester_step(Open(), (UIntPtr)items);
        if (callback != null)
            callback.Rethrow();
        return Native.Throw(status) == 0;
    }

    public void Run() { while (!Step(int.MaxValue)) { } }

    public NpksdResult Check(double[] observed)
    {
        using (Answer answer = Checked(observed))
            return answer.Read();
    }

    internal Answer Checked(double[] observed)
    {
        Npksd.CheckLength(observed, Rows, Columns);
        var answer = new Answer(Columns, (ulong)Native.npksd_tester_width(Open()) > 1);
        int status = Native.npksd_tester_check(tester, observed, out answer.Result, answer.Diagnosis);
        if (status < 0)
            answer.Dispose();
        Native.Throw(status);
        return answer;
    }

    public byte[] Save()
    {
        UIntPtr size;
        Native.Throw(Native.npksd_tester_save(Open(), null, UIntPtr.Zero, out size));
        var blob = new byte[(int)size];
        Native.Throw(Native.npksd_tester_save(tester, blob, size, out size));
        return blob;
    }

    internal IntPtr Open()
    {
        if (!open)
            throw new ObjectDisposedException("NpksdTester");
        return tester;
    }

    public void Dispose()
    {
        if (!open)
            return;
        open = false;
        Native.npksd_tester_destroy(tester);
        if (callback != null)
            callback.Dispose();
        GC.SuppressFinalize(this);
    }
    ~NpksdTester() { Dispose(); }
}

/// <summary>Watches a stream of recordings. The probability of ever getting a false Alarm is at most alpha. ChangeAlarm
/// is quicker after a late change; on average its first false alarm comes after 1/alpha recordings or more.</summary>
public sealed class NpksdMonitor
{
    NpksdTester tester;
    Native.Monitor state;
    readonly double[] memory;

    public NpksdMonitor(NpksdTester tester, double alpha = 0.001, int capacity = 1000, ulong seed = 0)
    {
        if (capacity < 1)
            throw new ArgumentException("capacity: at least 1, not " + capacity);
        this.tester = tester;
        memory = new double[capacity];
        Native.Throw(Native.npksd_monitor_begin(out state, alpha, (UIntPtr)capacity, seed));
    }

    /// <summary>Checks the next recording and adds it. Add each recording once, in order.</summary>
    public NpksdResult Add(double[] observed)
    {
        using (Answer answer = tester.Checked(observed)) {
            Native.Throw(Native.npksd_monitor_add(ref state, tester.Open(), memory, ref answer.Result));
            return answer.Read();
        }
    }

    /// <summary>Goes on with another tester, made with another seed; needed when the capacity is used up.</summary>
    public void Restart(NpksdTester fresh)
    {
        Native.Throw(Native.npksd_monitor_restart(ref state, fresh.Open()));
        tester = fresh;
    }

    public int Recordings { get { return (int)state.recordings; } }
    public double P { get { return state.p; } }
    public double LogEvidence { get { return state.log_evidence; } }
    public double LogChange { get { return state.log_change; } }
    /// <summary>The recording, counted from 1, that raised the alarm; 0 if there was no alarm.</summary>
    public int Alarm { get { return state.alarm != 0 ? (int)state.alarm_at : 0; } }
    public int ChangeAlarm { get { return state.change_alarm != 0 ? (int)state.change_alarm_at : 0; } }
}

/// <summary>A generator that C can call: one static method for all of them, and a handle to find the object.</summary>
sealed class Callback : IDisposable
{
    static readonly Native.SampleFn Kept = Sample; // static: never collected
    internal static readonly IntPtr Address = Marshal.GetFunctionPointerForDelegate(Kept);

    readonly NpksdGenerator generator;
    GCHandle handle;
    double[] rows = new double[0];
    Exception thrown;

    internal Callback(NpksdGenerator generator)
    {
        if (generator == null)
            throw new ArgumentNullException("generator");
        this.generator = generator;
        handle = GCHandle.Alloc(this);
    }
    internal IntPtr Handle { get { return GCHandle.ToIntPtr(handle); } }
    public void Dispose()
    {
        if (handle.IsAllocated)
            handle.Free();
    }

    /// <summary>An exception must not pass through C: Sample keeps it, and this throws it.</summary>
    internal void Rethrow()
    {
        Exception e = thrown;
        thrown = null;
        if (e != null)
            System.Runtime.ExceptionServices.ExceptionDispatchInfo.Capture(e).Throw();
    }

    static int Sample(IntPtr rows, UIntPtr count, UIntPtr m, IntPtr rng, IntPtr userData)
    {
        var self = (Callback)GCHandle.FromIntPtr(userData).Target;
        try {
            int length = checked((int)((ulong)count * (ulong)m));
            if (self.rows.Length != length)
                self.rows = new double[length];
            self.generator(self.rows, (int)count, (int)m, new NpksdRandom(rng));
            Marshal.Copy(self.rows, 0, rows, length);
            return 0;
        } catch (Exception e) {
            self.thrown = e;
            return 1;
        }
    }
}

/// <summary>Memory for the result and the diagnosis that C writes.</summary>
sealed class Answer : IDisposable
{
    const int MostPairs = 10;
    readonly int m;
    readonly IntPtr memory; // three numbers for each column, then the pairs
    internal readonly IntPtr Diagnosis = IntPtr.Zero; // NULL: no diagnosis
    internal Native.Result Result;

    internal Answer(int m, bool diagnosed)
    {
        this.m = m;
        if (!diagnosed)
            return;
        memory = Marshal.AllocHGlobal(3 * m * sizeof(double) + MostPairs * Marshal.SizeOf(typeof(Native.Pair)));
        Diagnosis = Marshal.AllocHGlobal(Marshal.SizeOf(typeof(Native.Diagnosis)));
        Marshal.StructureToPtr(new Native.Diagnosis {
            coordinate_p_adjusted = Part(0), coordinate_shift = Part(1), coordinate_distance = Part(2),
            pairs = Part(3), pair_capacity = (UIntPtr)MostPairs }, Diagnosis, false);
    }
    IntPtr Part(int k) { return new IntPtr(memory.ToInt64() + (long)k * m * sizeof(double)); }
    double[] Numbers(int k)
    {
        var numbers = new double[m];
        Marshal.Copy(Part(k), numbers, 0, m);
        return numbers;
    }

    internal NpksdResult Read()
    {
        var r = new NpksdResult {
            P = Result.p_value, PLow = Result.p_low, PHigh = Result.p_high, Statistic = Result.statistic,
            Threshold = Result.threshold, Bandwidth = Result.bandwidth, Ksd2 = Result.ksd2,
            OutOfRange = Result.out_of_range, Reject = Result.reject != 0, Replicates = (int)Result.replicates,
            Flags = Result.flags, Leading = Native.Text(Native.npksd_component_string(Result.leading))
        };
        if (Diagnosis == IntPtr.Zero)
            return r;
        var d = (Native.Diagnosis)Marshal.PtrToStructure(Diagnosis, typeof(Native.Diagnosis));
        r.ColumnP = Numbers(0);
        r.ColumnShift = Numbers(1);
        r.ColumnDistance = Numbers(2);
        r.Pairs = new NpksdPair[(int)d.pair_count];
        for (int i = 0; i < r.Pairs.Length; i++) {
            var place = new IntPtr(d.pairs.ToInt64() + (long)i * Marshal.SizeOf(typeof(Native.Pair)));
            var pair = (Native.Pair)Marshal.PtrToStructure(place, typeof(Native.Pair));
            r.Pairs[i] = new NpksdPair { First = (int)pair.first, Second = (int)pair.second, Observed = pair.observed,
                                         Expected = pair.expected, PAdjusted = pair.p_adjusted };
        }
        return r;
    }
    public void Dispose()
    {
        Marshal.FreeHGlobal(memory); // a null pointer is fine
        Marshal.FreeHGlobal(Diagnosis);
    }
}

/// <summary>The functions and structs of npksd.h, field by field.</summary>
static class Native
{
    const string Library = "npksd";
    const int Version = 200;
    const CallingConvention C = CallingConvention.Cdecl;

    [UnmanagedFunctionPointer(C)]
    internal delegate int SampleFn(IntPtr rows, UIntPtr count, UIntPtr m, IntPtr rng, IntPtr userData);

    [StructLayout(LayoutKind.Sequential)] internal struct Allocator { public IntPtr alloc_fn, free_fn, user_data; }
    [StructLayout(LayoutKind.Sequential)] internal struct Rng { public IntPtr next_fn, seek_fn, user_data; }
    [StructLayout(LayoutKind.Sequential)] internal struct RngState
    {
        public ulong seed_, stream_, index_;
        [MarshalAs(UnmanagedType.ByValArray, SizeConst = 8)] public ulong[] words_;
    }
    [StructLayout(LayoutKind.Sequential)] internal struct Options
    {
        public ulong seed;
        public Rng rng;
        public Allocator allocator;
        public UIntPtr fit_rows, replicates, pilot;
        public double alpha;
        public UIntPtr resample;
        public int resample_redraw, resample_distinct, summary;
        public IntPtr summary_fn, summary_user_data;
        public UIntPtr summary_dim;
        public int estimator;
        public UIntPtr degree, basis;
        public double ridge;
        public IntPtr score_fn, score_user_data;
        public int kernel;
        public double bandwidth;
        public IntPtr scales;
        public UIntPtr scale_count;
        public int form, statistic;
        public uint components;
        public double smooth;
        public int standardize;
        public UIntPtr features, stop_after;
        public int calibration, diagnose;
        public UIntPtr block;
    }
    [StructLayout(LayoutKind.Sequential)] internal struct Result
    {
        public double statistic, p_value, threshold, bandwidth;
        public int reject;
        public UIntPtr replicates;
        public double p_low, p_high, ksd2, out_of_range;
        public uint leading, flags;
    }
    [StructLayout(LayoutKind.Sequential)] internal struct Pair
    {
        public UIntPtr first, second;
        public double observed, expected, p_adjusted;
    }
    [StructLayout(LayoutKind.Sequential)] internal struct Diagnosis
    {
        public IntPtr coordinate_statistic, coordinate_p, coordinate_p_adjusted, row_influence, coordinate_shift,
            coordinate_distance, pairs;
        public UIntPtr pair_capacity, pair_count;
    }
    [StructLayout(LayoutKind.Sequential)] internal struct SelfCheckResult
    {
        public UIntPtr runs, rejected;
        public double mean_p, distance, uniform_p;
        public int repeatable, suspicious;
    }
    [StructLayout(LayoutKind.Sequential)] internal struct PowerResult
    {
        public UIntPtr runs, rejected;
        public double power, low, high;
    }
    [StructLayout(LayoutKind.Sequential)] internal struct Monitor
    {
        public UIntPtr recordings, capacity;
        public double alpha, p, log_evidence;
        public int alarm;
        public UIntPtr alarm_at;
        public double log_change;
        public int change_alarm;
        public UIntPtr change_alarm_at;
        public ulong seed_, tester_;
        public UIntPtr kept_, terms_;
        public double reserve_;
        [MarshalAs(UnmanagedType.ByValArray, SizeConst = 2)] public double[] sums_;
        [MarshalAs(UnmanagedType.ByValArray, SizeConst = 2)] public double[] bets_;
        [MarshalAs(UnmanagedType.ByValArray, SizeConst = 2)] public double[] changes_;
    }
    [StructLayout(LayoutKind.Sequential)] internal struct Worker
    {
        public Rng rng;
        public IntPtr user_data, scratch;
        public UIntPtr scratch_bytes;
    }
    static readonly Type[] Structs = { typeof(Allocator), typeof(Rng), typeof(RngState), typeof(Options),
        typeof(Result), typeof(Pair), typeof(Diagnosis), typeof(SelfCheckResult), typeof(PowerResult), typeof(Monitor),
        typeof(Worker) };

    [DllImport(Library, CallingConvention = C)]
    internal static extern int npksd_version();
    [DllImport(Library, CallingConvention = C)]
    internal static extern ulong npksd_layout();
    [DllImport(Library, CallingConvention = C)]
    internal static extern Options npksd_default_options();
    [DllImport(Library, CallingConvention = C)]
    internal static extern IntPtr npksd_options_set(ref Options options, string name, string value);
    [DllImport(Library, CallingConvention = C)]
    internal static extern IntPtr npksd_options_problem(ref Options options, UIntPtr n, UIntPtr m);
    [DllImport(Library, CallingConvention = C)]
    internal static extern IntPtr npksd_samples_problem(ref Options options, UIntPtr n, UIntPtr rows,
        UIntPtr m);
    [DllImport(Library, CallingConvention = C)]
    internal static extern IntPtr npksd_status_string(int status);
    [DllImport(Library, CallingConvention = C)]
    internal static extern IntPtr npksd_component_string(uint component);
    [DllImport(Library, CallingConvention = C)]
    internal static extern double npksd_uniform(IntPtr rng);
    [DllImport(Library, CallingConvention = C)]
    internal static extern double npksd_normal(IntPtr rng);
    [DllImport(Library, CallingConvention = C)]
    internal static extern int npksd_test_diagnose(double[] observed, UIntPtr n, UIntPtr m, IntPtr sample, IntPtr data,
        ref Options options, out Result result, IntPtr diagnosis, IntPtr nullValues);
    [DllImport(Library, CallingConvention = C)]
    internal static extern int npksd_test_samples_diagnose(double[] observed, UIntPtr n, double[] synthetic,
        UIntPtr rows, UIntPtr m, ref Options options, out Result result, IntPtr diagnosis, IntPtr nullValues);
    [DllImport(Library, CallingConvention = C)]
    internal static extern int npksd_power(UIntPtr n, UIntPtr m, IntPtr sample, IntPtr data,
        IntPtr alternative, IntPtr alternativeData, ref Options options, UIntPtr runs, out PowerResult result);
    [DllImport(Library, CallingConvention = C)]
    internal static extern int npksd_tester_create(out IntPtr tester, UIntPtr n, UIntPtr m,
        IntPtr sample, IntPtr data, ref Options options);
    [DllImport(Library, CallingConvention = C)]
    internal static extern int npksd_tester_step(IntPtr tester, UIntPtr items);
    [DllImport(Library, CallingConvention = C)]
    internal static extern UIntPtr npksd_tester_width(IntPtr tester);
    [DllImport(Library, CallingConvention = C)]
    internal static extern int npksd_tester_check(IntPtr tester, double[] observed, out Result result,
        IntPtr diagnosis);
    [DllImport(Library, CallingConvention = C)]
    internal static extern int npksd_tester_save(IntPtr tester, [In, Out] byte[] buffer, UIntPtr capacity,
        out UIntPtr size);
    [DllImport(Library, CallingConvention = C)]
    internal static extern int npksd_blob_info(byte[] bytes, UIntPtr size, out UIntPtr n, out UIntPtr m,
        out UIntPtr needed);
    [DllImport(Library, CallingConvention = C)]
    internal static extern int npksd_tester_load(out IntPtr tester, byte[] bytes, UIntPtr size,
        IntPtr allocator);
    [DllImport(Library, CallingConvention = C)]
    internal static extern void npksd_tester_destroy(IntPtr tester);

    [DllImport(Library, CallingConvention = C)]
    internal static extern int npksd_monitor_begin(out Monitor monitor, double alpha, UIntPtr capacity, ulong seed);
    [DllImport(Library, CallingConvention = C)]
    internal static extern int npksd_monitor_add(ref Monitor monitor, IntPtr tester, [In, Out] double[] memory,
        ref Result result);
    [DllImport(Library, CallingConvention = C)]
    internal static extern int npksd_monitor_restart(ref Monitor monitor, IntPtr tester);

    internal static string Text(IntPtr ascii) { return Marshal.PtrToStringAnsi(ascii); }

    /// <summary>Throws if C found a problem with the options or the sizes.</summary>
    internal static void Refuse(IntPtr problem)
    {
        if (problem != IntPtr.Zero)
            throw new ArgumentException(Text(problem));
    }

    /// <summary>Returns the status, or throws the exception that belongs to it.</summary>
    internal static int Throw(int status)
    {
        if (status < 0)
            throw new NpksdException(status, Text(npksd_status_string(status)));
        return status;
    }

    static bool known;

    /// <summary>Do the structs above match those of the library? shared/npksd_shared.h describes the hash.</summary>
    internal static void Check()
    {
        if (known)
            return;
        ulong hash = 0xcbf29ce484222325;
        Action<long> add = number => { hash = unchecked((hash ^ (ulong)number) * 0x100000001b3); };
        add(sizeof(double));
        foreach (Type type in Structs) {
            int size = Marshal.SizeOf(type);
            add(size);
            foreach (var field in type.GetFields()) {
                add((long)Marshal.OffsetOf(type, field.Name));
                var array = (MarshalAsAttribute)Attribute.GetCustomAttribute(field, typeof(MarshalAsAttribute));
                add(field.FieldType.IsArray ? 8 * array.SizeConst : Marshal.SizeOf(field.FieldType)); // of 8 bytes each
            }
        }
        if (npksd_version() != Version || npksd_layout() != hash)
            throw new NpksdException(-6, "the shared library is version " + npksd_version() + " with layout "
                + npksd_layout().ToString("x") + "; Npksd.cs was written for " + Version + " with "
                + hash.ToString("x") + ". Use a library and an Npksd.cs from the same checkout");
        known = true;
    }
}
