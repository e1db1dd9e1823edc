"""Could these rows have come from this generator? npksd.h from Python, with NumPy.

    import numpy as np, npksd

    recorded = np.loadtxt("recorded.csv", delimiter=",")          # n rows of m numbers
    print(npksd.test(recorded, lambda n, rng: rng.normal(size=(n, 3))))
    print(npksd.test(recorded, synthetic))                        # an array of rows instead of a generator

A generator is a callable (n, rng) -> n rows. It is called several hundred times, so vectorise it. rng is a
numpy.random.Generator, seeded anew for each call; a generator that takes all random numbers from it gives
equal answers for equal seeds. A C function of type npksd_sample_fn, loaded with ctypes, also works.
Options are keywords, named like the fields of npksd_options in npksd.h: replicates=999,
summary="neighbours", components="stein|mmd". A misspelt name or a value out of range raises an exception
that says so.

This module is a single file and uses ctypes. On first use it builds the shared library in the user's cache
folder with the system's C compiler, and says so on stderr. Environment variables:
    NPKSD_LIBRARY   a prebuilt shared library (make -C examples shared) to use instead
    NPKSD_SOURCE    a checkout of npksd.h, if this file was copied out of one
    CC              the C compiler; if not set, cc, gcc or clang
"""
from __future__ import annotations

import ctypes
import difflib
import hashlib
import numbers
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import threading
import warnings
from dataclasses import dataclass
from typing import Any, Callable, List, Optional, Sequence, Tuple, Union

import numpy as np

__all__ = ["test", "Result", "Column", "Pair", "Tester", "Monitor", "self_check", "SelfCheck", "power", "Power",
           "version", "Error", "GeneratorError"]

Rows = Any  # whatever numpy.asarray turns into a table of numbers
Generator = Union[Callable[[int, np.random.Generator], Rows], "ctypes._CFuncPtr"]


class Error(RuntimeError):
    """The library could not do what was asked. Wrong arguments are ValueError and TypeError instead."""


class GeneratorError(Error):
    """The generator failed, or keeps returning the same rows."""


# ======== the structs of npksd.h ========

_size, _real, _pointer = ctypes.c_size_t, ctypes.c_double, ctypes.c_void_p
_reals = ctypes.POINTER(_real)
_next_fn = ctypes.CFUNCTYPE(ctypes.c_uint64, _pointer)
_score_fn = ctypes.CFUNCTYPE(ctypes.c_int, _reals, _size, _size, _reals, _pointer)


class _Allocator(ctypes.Structure):
    _fields_ = [("alloc_fn", _pointer), ("free_fn", _pointer), ("user_data", _pointer)]


class _Rng(ctypes.Structure):
    _fields_ = [("next_fn", _next_fn), ("seek_fn", _pointer), ("user_data", _pointer)]


class _RngState(ctypes.Structure):
    _fields_ = [("seed_", ctypes.c_uint64), ("stream_", ctypes.c_uint64), ("index_", ctypes.c_uint64),
                ("words_", ctypes.c_uint64 * 8)]


class _Options(ctypes.Structure):
    _fields_ = [
        ("seed", ctypes.c_uint64), ("rng", _Rng), ("allocator", _Allocator), ("fit_rows", _size),
        ("replicates", _size), ("pilot", _size), ("alpha", _real), ("resample", _size),
        ("resample_redraw", ctypes.c_int), ("resample_distinct", ctypes.c_int), ("summary", ctypes.c_int),
        ("summary_fn", _pointer), ("summary_user_data", _pointer), ("summary_dim", _size),
        ("estimator", ctypes.c_int), ("degree", _size), ("basis", _size), ("ridge", _real),
        ("score_fn", _score_fn), ("score_user_data", _pointer), ("kernel", ctypes.c_int),
        ("bandwidth", _real), ("scales", _reals), ("scale_count", _size), ("form", ctypes.c_int),
        ("statistic", ctypes.c_int), ("components", ctypes.c_uint), ("smooth", _real),
        ("standardize", ctypes.c_int), ("features", _size), ("stop_after", _size),
        ("calibration", ctypes.c_int), ("diagnose", ctypes.c_int), ("block", _size)]


class _Result(ctypes.Structure):
    _fields_ = [("statistic", _real), ("p_value", _real), ("threshold", _real), ("bandwidth", _real),
                ("reject", ctypes.c_int), ("replicates", _size), ("p_low", _real), ("p_high", _real),
                ("ksd2", _real), ("out_of_range", _real), ("leading", ctypes.c_uint),
                ("flags", ctypes.c_uint)]


class _Pair(ctypes.Structure):
    _fields_ = [("first", _size), ("second", _size), ("observed", _real), ("expected", _real),
                ("p_adjusted", _real)]


class _Diagnosis(ctypes.Structure):
    _fields_ = [("coordinate_statistic", _reals), ("coordinate_p", _reals),
                ("coordinate_p_adjusted", _reals), ("row_influence", _reals), ("coordinate_shift", _reals),
                ("coordinate_distance", _reals), ("pairs", ctypes.POINTER(_Pair)),
                ("pair_capacity", _size), ("pair_count", _size)]


class _SelfCheckResult(ctypes.Structure):
    _fields_ = [("runs", _size), ("rejected", _size), ("mean_p", _real), ("distance", _real),
                ("uniform_p", _real), ("repeatable", ctypes.c_int), ("suspicious", ctypes.c_int)]


class _PowerResult(ctypes.Structure):
    _fields_ = [("runs", _size), ("rejected", _size), ("power", _real), ("low", _real), ("high", _real)]


class _Monitor(ctypes.Structure):
    _fields_ = [("recordings", _size), ("capacity", _size), ("alpha", _real), ("p", _real),
                ("log_evidence", _real), ("alarm", ctypes.c_int), ("alarm_at", _size), ("log_change", _real),
                ("change_alarm", ctypes.c_int), ("change_alarm_at", _size), ("seed_", ctypes.c_uint64),
                ("tester_", ctypes.c_uint64), ("kept_", _size), ("terms_", _size), ("reserve_", _real),
                ("sums_", _real * 2), ("bets_", _real * 2), ("changes_", _real * 2)]


class _Worker(ctypes.Structure):
    _fields_ = [("rng", _Rng), ("user_data", _pointer), ("scratch", _pointer), ("scratch_bytes", _size)]


_STRUCTS = (_Allocator, _Rng, _RngState, _Options, _Result, _Pair, _Diagnosis, _SelfCheckResult, _PowerResult,
            _Monitor, _Worker)
_sample_fn = ctypes.CFUNCTYPE(ctypes.c_int, _reals, _size, _size, ctypes.POINTER(_Rng), _pointer)
_VERSION = 200  # of the header whose structs are those above
_OK, _STATE, _WILD_BOOTSTRAP = 0, -7, 1
_FLAGS = {1: "ties", 2: "constant column", 4: "stopped early", 8: "asymptotic: p is not exact",
          16: "rows of a last, shorter block left out"}


def _layout() -> int:
    """The value that npksd_layout() of the library must have: see shared/npksd_shared.h."""
    numbers_ = [ctypes.sizeof(_real)]
    for struct in _STRUCTS:
        numbers_.append(ctypes.sizeof(struct))
        for name, *_ in struct._fields_:
            place = getattr(struct, name)
            numbers_ += [place.offset, place.size]
    value = 0xcbf29ce484222325
    for number in numbers_:
        value = (value ^ number) * 0x100000001b3 % 2**64
    return value


# ======== the shared library ========

_lock = threading.Lock()
_loaded: Optional[ctypes.CDLL] = None


def _sources() -> List[pathlib.Path]:
    top = pathlib.Path(os.environ.get("NPKSD_SOURCE") or pathlib.Path(__file__).resolve().parents[2])
    files = [top / "npksd.h", top / "examples/shared/npksd_shared.h", top / "examples/shared/npksd_shared.c"]
    for file in files:
        if not file.is_file():
            raise Error(f"{file} is missing: set NPKSD_SOURCE to a checkout of npksd.h, or NPKSD_LIBRARY to a "
                        "shared library (make -C examples shared)")
    return files


def _compiler() -> List[str]:
    if os.environ.get("CC"):
        return os.environ["CC"].split()
    for name in ("cc", "gcc", "clang"):
        if shutil.which(name):
            return [name]
    raise Error("no C compiler (cc, gcc, clang) to build npksd.h with: install one, name one in CC, or set "
                "NPKSD_LIBRARY to a shared library that was built elsewhere (make -C examples shared)")


def _build() -> str:
    """The shared library in the cache folder, compiled if it is not there."""
    files, compiler = _sources(), _compiler()
    flags = ["-std=c99", "-O2", "-ffp-contract=off", "-fvisibility=hidden", "-shared"]
    flags += [] if os.name == "nt" else ["-fPIC"]
    key = hashlib.sha256(repr((compiler, flags, sys.platform, ctypes.sizeof(_pointer))).encode())
    for file in files:
        key.update(file.read_bytes())
    cache = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "npksd"
    library = cache / f"npksd-{key.hexdigest()[:16]}{'.dll' if os.name == 'nt' else '.so'}"
    if library.is_file():
        return str(library)
    try:
        cache.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise Error(f"{cache} cannot be made: {error.strerror}; set XDG_CACHE_HOME to a writable folder") from error
    with tempfile.TemporaryDirectory(dir=cache) as folder:  # two processes may build at once
        made = pathlib.Path(folder) / library.name
        command = [*compiler, *flags, f"-I{files[0].parent}", f"-I{files[1].parent}", str(files[2]),
                   "-o", str(made), "-lm"]
        print(f"npksd: building {library} with {compiler[0]} (only once)", file=sys.stderr)
        try:
            done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        except OSError as error:
            raise Error(f"the C compiler {compiler[0]} (from CC) does not start: {error.strerror}; set CC to one that "
                        "does, or unset it") from error
        if done.returncode != 0:
            raise Error("the shared library could not be built (set CC to try another compiler): "
                        f"{' '.join(command)} failed:\n{done.stdout.decode(errors='replace')}")
        os.replace(made, library)
    return str(library)


def _signatures(lib: ctypes.CDLL) -> None:
    options, result, diagnosis = map(ctypes.POINTER, (_Options, _Result, _Diagnosis))
    out, text = ctypes.POINTER(_pointer), ctypes.c_char_p
    size_out, status = ctypes.POINTER(_size), ctypes.c_int
    for name, returns, *arguments in (
            ("version", ctypes.c_int), ("layout", ctypes.c_uint64), ("default_options", _Options),
            ("options_set", text, options, text, text), ("options_problem", text, options, _size, _size),
            ("samples_problem", text, options, _size, _size, _size), ("status_string", text, ctypes.c_int),
            ("samples_minimum", _size, _size),
            ("component_string", text, ctypes.c_uint),
            ("test_diagnose", status, _reals, _size, _size, _sample_fn, _pointer, options, result, diagnosis, _reals),
            ("test_samples_diagnose", status, _reals, _size, _reals, _size, _size, options, result, diagnosis, _reals),
            ("self_check", status, _size, _size, _sample_fn, _pointer, options, _size,
             ctypes.POINTER(_SelfCheckResult)),
            ("power", status, _size, _size, _sample_fn, _pointer, _sample_fn, _pointer, options, _size,
             ctypes.POINTER(_PowerResult)),
            ("tester_create", status, out, _size, _size, _sample_fn, _pointer, options),
            ("tester_step", status, _pointer, _size), ("tester_progress", None, _pointer, size_out, size_out),
            ("tester_check", status, _pointer, _reals, result, diagnosis),
            ("tester_check_begin", status, _pointer, _reals),
            ("tester_check_end", status, _pointer, result, diagnosis),
            ("tester_null", status, _pointer, _reals, _size, size_out),
            ("tester_scores", status, _pointer, _reals, _size, _reals),
            ("tester_save", status, _pointer, _pointer, _size, size_out),
            ("blob_info", status, text, _size, size_out, size_out, size_out),
            ("tester_load", status, out, text, _size, _pointer), ("tester_width", _size, _pointer),
            ("tester_destroy", None, _pointer),
            ("monitor_begin", status, ctypes.POINTER(_Monitor), _real, _size, ctypes.c_uint64),
            ("monitor_add", status, ctypes.POINTER(_Monitor), _pointer, _reals, result),
            ("monitor_restart", status, ctypes.POINTER(_Monitor), _pointer)):
        function = getattr(lib, "npksd_" + name)
        function.restype, function.argtypes = returns, arguments


def _lib() -> ctypes.CDLL:
    """The library, loaded and compared with the structs above."""
    global _loaded
    with _lock:
        if _loaded is None:
            path = os.environ.get("NPKSD_LIBRARY") or _build()
            try:
                lib = ctypes.CDLL(path)
                lib.npksd_layout.restype = ctypes.c_uint64
                theirs = lib.npksd_version(), lib.npksd_layout()
            except (OSError, AttributeError) as error:
                raise Error(f"{path} is not the shared library of npksd.h: {error}; set NPKSD_LIBRARY to a library "
                            "made by make -C examples shared, or unset it") from error
            if theirs != (_VERSION, _layout()):
                raise Error(f"{path} has version and layout {theirs[0]}, {theirs[1]:x}; npksd.py was written for "
                            f"{_VERSION}, {_layout():x}. Use a library and an npksd.py from the same checkout")
            _signatures(lib)
            _loaded = lib
        return _loaded


def version() -> str:
    """Version of the library, for example "0.2.0"."""
    number = _lib().npksd_version()
    return f"{number // 10000}.{number // 100 % 100}.{number % 100}"


# ======== rows, callbacks, options ========

def _how_to_number(table: np.ndarray) -> str:
    """Advice on converting objects and text. Only the caller knows whether the text stands for numbers."""
    if table.dtype.kind not in "OSU":
        return ""
    try:
        table.astype(np.float64)
    except (TypeError, ValueError) as error:
        return f" ({error}); give each category a column of 0 and 1 (pandas.get_dummies), or leave the column out"
    return "; use .astype(float)"


def _table(rows: Rows, what: str) -> np.ndarray:
    """The rows as a contiguous array of doubles; a vector is a single column."""
    if np.ma.is_masked(rows):
        raise ValueError(f"{what}: some values are masked; pass only the complete rows")
    try:
        table = np.asarray(rows)
    except ValueError as error:
        raise ValueError(f"{what}: a table is needed, whose rows all have the same length") from error
    if table.ndim == 0:
        raise TypeError(f"{what}: rows of numbers are needed, not {type(rows).__name__}")
    if table.dtype.kind not in "biuf":
        raise TypeError(f"{what}: numbers are needed, not dtype {table.dtype}{_how_to_number(table)}")
    if table.ndim == 1:
        table = table.reshape(-1, 1)
    if table.ndim != 2:
        raise ValueError(f"{what}: a table of rows and columns is needed, not shape {table.shape}")
    table = np.ascontiguousarray(table, dtype=np.float64)
    if not np.isfinite(table).all():
        row, column = np.argwhere(~np.isfinite(table))[0]
        raise ValueError(f"{what}: {table[row, column]} in row {row}, column {column} (counted from 0); leave out "
                         "rows with missing or infinite values")
    return table


def _variance(table: np.ndarray) -> np.ndarray:
    with np.errstate(all="ignore"):  # squares may overflow: then no spread is shown
        return table.var(axis=0, ddof=min(1, len(table) - 1))


def _whole(value: Any, what: str, least: int = 1) -> int:
    """Checks a count for C, where -1 would become a very large number."""
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, numbers.Integral):
        raise TypeError(f"{what}: a whole number is needed, not {type(value).__name__}")
    if value < least:
        raise ValueError(f"{what}: at least {least}, not {value}")
    return int(value)


def _of_shape(rows: Rows, shape: Tuple[int, int], what: str) -> np.ndarray:
    table = _table(rows, what)
    if table.shape != shape:
        raise ValueError(f"{what}: shape {np.shape(rows)}, but {shape[0]} rows of {shape[1]} columns are needed")
    return table


def _address(array: np.ndarray) -> Any:
    return array.ctypes.data_as(_reals)


def _view(address: Any, count: int, columns: int) -> np.ndarray:
    return np.ctypeslib.as_array(address, (count, columns))


class _Callbacks:
    """Python callables as C function pointers. C cannot raise, so an exception is kept here until C returns."""

    def __init__(self) -> None:
        self.error: Optional[BaseException] = None
        self.kept: List[Any] = []  # keeps alive what C has a pointer to
        self.titles: Optional[Tuple[list, str]] = None  # column names, and where they were first seen
        self.draws, self.variances = 0, np.zeros(1)  # draws of more than one row, and sums of their columns' variances

    def _guarded(self, kind: Any, body: Callable[..., None]) -> Any:
        def call(*arguments: Any) -> int:
            try:
                body(*arguments)
                return 0
            except BaseException as error:  # including KeyboardInterrupt
                self.error = error
                return 1
        self.kept.append(kind(call))
        return self.kept[-1]

    def same_titles(self, rows: Rows, what: str) -> None:
        """Tables with named columns must agree on the names: swapped columns would look like a difference."""
        if getattr(rows, "columns", None) is None:
            return
        titles = list(rows.columns)
        if self.titles is None:
            self.titles = titles, what
        elif titles != self.titles[0]:
            fix = ("both must have the same columns" if set(titles) != set(self.titles[0])
                   else "pass synthetic[observed.columns]" if what == "the synthetic rows"
                   else "bring them into the same order")
            raise ValueError(f"the columns are {self.titles[0]} in {self.titles[1]}, but {titles} in {what}; {fix}")

    def sampler(self, generator: Optional[Generator], what: str = "generator") -> Any:
        if generator is None:
            return _sample_fn()
        if isinstance(generator, ctypes._CFuncPtr):
            self.kept.append(generator)
            return ctypes.cast(generator, _sample_fn)
        if not callable(generator):
            raise TypeError(f"{what}: a callable (n, rng) -> rows is needed, not {type(generator).__name__}")
        last = np.zeros(0)

        def draw(rows: Any, count: int, columns: int, stream: Any, _: Any) -> None:
            nonlocal last
            words = [stream.contents.next_fn(stream.contents.user_data) for _ in range(2)]
            rng = np.random.default_rng(words)
            drawn = generator(count, rng)
            self.same_titles(drawn, f"the rows from the {what}")
            table = _of_shape(drawn, (count, columns), f"rows from the {what}")
            # the library cannot tell that rng was not used: the words that seed it were drawn
            if np.array_equal(table, last) and (table != table[0]).any() \
                    and rng.bit_generator.state == np.random.default_rng(words).bit_generator.state:
                raise GeneratorError(f"the {what} returned the same rows twice and drew nothing from its rng: "
                                     "take random numbers from rng, or pass the rows as an array")
            last = table.copy()
            if len(table) > 1:
                self.draws, self.variances = self.draws + 1, self.variances + _variance(table)
            _view(rows, count, columns)[:] = table
        return self._guarded(_sample_fn, draw)

    def variance(self) -> np.ndarray:
        """Mean variance of each column within a draw; nan if no draw went through Python."""
        return self.variances / self.draws if self.draws else np.array(np.nan)

    def scorer(self, score: Callable[[np.ndarray], Rows]) -> Any:
        def evaluate(rows: Any, count: int, columns: int, scores: Any, _: Any) -> None:
            _view(scores, count, columns)[:] = _of_shape(score(_view(rows, count, columns).copy()),
                                                         (count, columns), "scores")
        return self._guarded(_score_fn, evaluate)

    def check(self, status: int, problem: Optional[str] = None) -> int:
        """Returns the status of a call, or raises the exception that belongs to it."""
        error, self.error = self.error, None
        if error is not None:
            raise error
        if status >= _OK:
            return status
        text = problem or _lib().npksd_status_string(status).decode()
        kinds = {-1: ValueError, -2: MemoryError, -3: ValueError, -4: GeneratorError, -6: ValueError}
        raise kinds.get(status, Error)(text)


def _text(name: str, value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, (bool, np.bool_, numbers.Integral)):
        return str(int(value))
    if isinstance(value, numbers.Real):
        return repr(float(value))
    if isinstance(value, (list, tuple, set)) and all(isinstance(item, str) for item in value):
        return "|".join(value)
    raise TypeError(f"{name}: a number or a name is needed, not {type(value).__name__}")


def _options(callbacks: _Callbacks, keywords: dict) -> _Options:
    """npksd_options from keywords; score and scales are the two that cannot be set from text."""
    lib, keywords = _lib(), dict(keywords)
    options = lib.npksd_default_options()
    score, scales = keywords.pop("score", None), keywords.pop("scales", None)
    if score is not None:
        if not callable(score):
            raise TypeError(f"score: a callable rows -> scores is needed, not {type(score).__name__}")
        options.score_fn = callbacks.scorer(score)
        keywords.setdefault("estimator", "callback")
    if scales is not None:
        array = np.array(scales, dtype=np.float64).ravel()
        callbacks.kept.append(array)
        options.scales, options.scale_count = _address(array), array.size
    names = [name for name, *_ in _Options._fields_]
    for name, value in keywords.items():
        if name not in names:
            near = difflib.get_close_matches(name, [*names, "names", "pairs", "score", "runs"])
            raise TypeError(f"{name}: no such option; " + (f"did you mean {' or '.join(near)}?" if near else
                                                           "they are the fields of npksd_options in npksd.h"))
        _refuse(lib.npksd_options_set(ctypes.byref(options), name.encode(), _text(name, value).encode()))
    return options


def _refuse(problem: Optional[bytes]) -> None:
    if problem:
        raise ValueError(problem.decode())


def _check_options(options: _Options, n: int, m: int) -> None:
    """For tests with a generator."""
    _refuse(_lib().npksd_options_problem(ctypes.byref(options), n, m))
    if options.block > 1:
        raise ValueError("block: for arrays only; with a generator all rows together are one data set, whose rows may "
                         "depend on each other")


def _needs_generator(generator: Optional[Generator], options: _Options) -> None:
    """Only one kind of test works without a generator."""
    draws = options.calibration != _WILD_BOOTSTRAP or options.standardize or not options.bandwidth > 0
    if generator is None and draws:
        raise ValueError("generator: None only with score, calibration=\"wild_bootstrap\", components=\"stein\", "
                         "standardize=False and a bandwidth; otherwise pass a generator")


# ======== results ========

def _counted(shape: Tuple[int, int]) -> str:
    return ", ".join(f"{count} {what}{'s' * (count != 1)}" for count, what in zip(shape, ("row", "column")))


_VERDICTS = {"differs": ("*", "differs"),
             "related": ("~", "marked with them, but hardly changed by itself")}


@dataclass(frozen=True)
class Column:
    """What the diagnosis says about one column."""
    name: str
    p: float            #: p-value of this column
    p_adjusted: float   #: the same, adjusted for testing all columns: at most alpha means "differs"
    shift: float        #: observed mean - generator's mean, in standard deviations; plus or minus the largest
                        #: float if the generator's column is constant and the observed mean differs from it
    distance: float     #: largest difference of the distribution functions, 0 to 1
    statistic: float    #: its share of the Stein statistic
    spread: float       #: standard deviation, observed / generator's; nan if no draw went through Python
    verdict: str        #: "differs": p_adjusted is small enough; "related": so it is here, but this
                        #: column has hardly changed by itself, while another one has; otherwise ""

    @property
    def off_constant(self) -> bool:
        """The generator's column is constant, and the observed mean differs from it."""
        return abs(self.shift) == sys.float_info.max

    def _line(self, width: int) -> str:
        shift = f"{self.shift:.3f}" if abs(self.shift) < 10000 else f"{self.shift:.1e}"
        if self.off_constant:
            shift = "above" if self.shift > 0 else "below"
        spread = f"{self.spread:.3g}" if np.isfinite(self.spread) else "-"
        line = f"{self.name:{width}}  {self.p_adjusted:10.4g} {shift:>9} {self.distance:9.3f} {spread:>9}"
        return "  ".join([line, *_VERDICTS.get(self.verdict, ())[:1], *["off the constant"] * self.off_constant])


@dataclass(frozen=True)
class Pair:
    """Two columns whose dependence may have changed: correlations of normal scores."""
    first: str
    second: str
    observed: float
    expected: float
    p_adjusted: float


@dataclass(frozen=True, eq=False)
class Result:
    """The answer of a test."""
    p: float                    #: exact p-value of "the rows come from the generator"
    reject: bool                #: p <= alpha
    statistic: float
    threshold: float
    p_low: float                #: 95 % interval for the p-value with unlimited replicates
    p_high: float
    ksd2: float
    bandwidth: float
    out_of_range: float         #: share of observed rows outside the range of the generator's rows
    leading: str                #: the component that gave the verdict: STEIN, MIRROR, MOMENT, MMD, MARGIN, PAIR
    flags: Tuple[str, ...]
    replicates: int
    shape: Tuple[int, int]      #: rows and columns tested
    columns: List[Column]       #: empty without a diagnosis
    pairs: List[Pair]           #: most changed first
    null: np.ndarray            #: statistics of the replicates
    row_influence: np.ndarray   #: share of each row in the Stein statistic; empty without a diagnosis
    notes: Tuple[str, ...]      #: sentences about the rows

    def __bool__(self) -> bool:
        raise TypeError("a Result is neither true nor false: use result.reject or result.p")

    def __repr__(self) -> str:
        lines = [f"p = {self.p:.4g}: {'rejected' if self.reject else 'not rejected'} ({_counted(self.shape)}, "
                 f"{self.replicates} replicates; {self.leading} leads)"]
        if self.flags:
            lines.append("note: " + "; ".join(self.flags))
        lines += self.notes
        shown = sorted(self.columns, key=lambda c: c.p_adjusted)[:8]
        if shown:
            width = max(10, *(len(c.name) for c in shown))
            lines.append(f"{'column':{width}}  p adjusted     shift  distance    spread")
            lines += [c._line(width) for c in shown]
            lines += [f"{mark}: {meaning}" for verdict, (mark, meaning) in _VERDICTS.items()
                      if any(c.verdict == verdict for c in shown)]
        if len(self.columns) > len(shown):
            lines.append(f"... and {len(self.columns) - len(shown)} more columns")
        if self.reject:
            lines += [f"{pair.first} and {pair.second}: correlation {pair.observed:.2f}, expected {pair.expected:.2f} "
                      f"(p adjusted {pair.p_adjusted:.4g})" for pair in self.pairs[:3] if pair.p_adjusted <= 0.05]
        return "\n".join(lines)


class _Answer:
    """Memory for the result and the diagnosis that C writes."""

    def __init__(self, n: int, m: int, diagnose: bool, pairs: int) -> None:
        self.result, self.diagnosis, self.shape = _Result(), _Diagnosis(), (n, m)
        pairs = _whole(pairs, "pairs", 0)
        self.arrays = {}
        if diagnose:
            for name in ("statistic", "p", "p_adjusted", "shift", "distance"):
                self.arrays[name] = np.zeros(m)
                setattr(self.diagnosis, "coordinate_" + name, _address(self.arrays[name]))
            self.arrays["rows"] = np.zeros(n)
            self.diagnosis.row_influence = _address(self.arrays["rows"])
            capacity = min(pairs, m * (m - 1) // 2)
            self.pairs = (_Pair * max(capacity, 1))()
            self.diagnosis.pairs, self.diagnosis.pair_capacity = self.pairs, capacity

    def pointers(self) -> Tuple[Any, Any]:
        return ctypes.byref(self.result), ctypes.byref(self.diagnosis) if self.arrays else None

    def verdicts(self, null: np.ndarray, synthetic_rows: float) -> List[str]:
        """A score depends on all columns, so a change in one column may mark others, too. The Kolmogorov distance tells
        them apart: by chance it exceeds 1.358 / sqrt(rows) in 5 % of cases."""
        level = (1 + np.sum(null > self.result.threshold)) / (1 + len(null))  # the largest p that is rejected
        named = self.arrays["p_adjusted"] <= level
        apart = self.arrays["distance"] >= 1.358 * np.sqrt(1 / self.shape[0] + 1 / synthetic_rows)
        leads = (named & apart).any()
        return ["" if not one else "related" if leads and not far else "differs" for one, far in zip(named, apart)]

    def notes(self, synthetic_rows: float, fit_rows: int) -> Tuple[str, ...]:
        """Do more rows lie outside the range of those that the test was fitted to than chance brings?"""
        drawn = np.isinf(synthetic_rows)
        fitted = min(fit_rows, 1000) if drawn else synthetic_rows
        chance = 1 - (1 - min(2 / (fitted + 1), 1)) ** self.shape[1]
        share, rows = self.result.out_of_range, "generated" if drawn else "synthetic"
        if share < 0.1 or share <= 2 * chance:
            return ()
        return (f"{share:.0%} of the observed rows lie outside the range of the {rows} rows",)

    def read(self, names: Sequence[str], null: np.ndarray, observed: np.ndarray, variance: np.ndarray,
             synthetic_rows: float = np.inf, *, fit_rows: int) -> Result:
        """variance: of the generator's columns; synthetic_rows: their number if the generator is an array."""
        r, a = self.result, self.arrays
        columns = []
        if a:
            with np.errstate(all="ignore"):  # a constant column has no spread to compare with
                a["spread"] = np.sqrt(_variance(observed) / variance)
                # C compares with all rows together: observed - all is a share of observed - synthetic
                factor, most = 1 + self.shape[0] / synthetic_rows, sys.float_info.max
                a["shift"] = np.clip(a["shift"] * factor, -most, most)
                a["distance"] = np.minimum(a["distance"] * factor, 1)
            keys = ("p", "p_adjusted", "shift", "distance", "statistic", "spread")
            columns = [Column(name, *(float(a[key][i]) for key in keys), verdict)
                       for i, (name, verdict) in enumerate(zip(names, self.verdicts(null, synthetic_rows)))]
        pairs = [Pair(names[p.first], names[p.second], p.observed, p.expected, p.p_adjusted)
                 for p in self.pairs[:self.diagnosis.pair_count]] if a else []
        return Result(r.p_value, bool(r.reject), r.statistic, r.threshold, r.p_low, r.p_high, r.ksd2, r.bandwidth,
                      r.out_of_range, _lib().npksd_component_string(r.leading).decode(),
                      tuple(text for bit, text in _FLAGS.items() if r.flags & bit), r.replicates, self.shape,
                      columns, pairs, null, a["rows"] if a else np.zeros(0), self.notes(synthetic_rows, fit_rows))


def _names(names: Optional[Sequence[str]], rows: Rows, m: int) -> List[str]:
    """The names given, those of a DataFrame, or numbers."""
    if names is None:
        columns = getattr(rows, "columns", None)
        names = range(m) if columns is None else columns
        names = [f"column {name}" if isinstance(name, numbers.Integral) else str(name) for name in names]
    if isinstance(names, str) or len(names) != m:
        raise ValueError(f"names: a list of {m} names is needed, one for each column")
    names = [str(name) for name in names]
    for k, name in enumerate(names):
        if name in names[:k]:
            raise ValueError(f"names: two columns are called {name!r}; names must differ")
    return names


# ======== one call ========

def test(observed: Rows, generator: Union[Generator, Rows], *, names: Optional[Sequence[str]] = None,
         diagnose: bool = True, pairs: int = 10, **options: Any) -> Result:
    """Could `observed` have come from `generator`?

    observed:  n rows of m numbers (a vector is one column); not rows that the generator was fitted to.
    generator: a callable (n, rng) -> n rows of m numbers, or an array of synthetic rows. With an array the
               test is exact if all rows are exchangeable; block=k (arrays only) keeps sessions of
               k rows together.
               None is allowed only with score and calibration="wild_bootstrap".
    names:     names of the columns; by default those of a DataFrame, or numbers.
    diagnose:  fill columns, pairs and row_influence (always off with stop_after).
    pairs:     list at most this many pairs.
    options:   fields of npksd_options: seed, alpha, replicates, fit_rows, summary, components, ... Also
               scales=[...], and for the classical KSD score=callable, rows -> d log q / dx.
    """
    table = _table(observed, "observed")
    n, m = table.shape
    callbacks, lib = _Callbacks(), _lib()
    callbacks.same_titles(observed, "observed")
    o = _options(callbacks, options)
    o.diagnose = int(bool(diagnose) and o.stop_after == 0)
    answer = _Answer(n, m, bool(o.diagnose), pairs)
    column_names = _names(names, observed, m)
    null = np.zeros(o.replicates)
    if generator is None or callable(generator):
        _check_options(o, n, m)
        _needs_generator(generator, o)
        status = lib.npksd_test_diagnose(_address(table), n, m, callbacks.sampler(generator), None, ctypes.byref(o),
                                         *answer.pointers(), _address(null) if o.diagnose else None)
        variance, rows = callbacks.variance(), np.inf
        callbacks.check(status)
    else:
        synthetic = _table(generator, "generator or synthetic rows")
        callbacks.same_titles(generator, "the synthetic rows")
        if synthetic.shape[1] != m:
            raise ValueError(f"observed has {m} columns, the synthetic rows have {synthetic.shape[1]}; both must have "
                             "the same columns")
        if np.array_equal(table, synthetic):
            warnings.warn("the observed and the synthetic rows are the same: this compares a table with itself, and "
                          "the answer says nothing about a generator", stacklevel=2)
        least = lib.npksd_samples_minimum(n)
        if len(synthetic) < least:
            raise ValueError(f"{len(synthetic)} synthetic rows are too few: {n} observed rows need {least} or more")
        _refuse(lib.npksd_samples_problem(ctypes.byref(o), n, len(synthetic), m))
        status = lib.npksd_test_samples_diagnose(_address(table), n, _address(synthetic), len(synthetic), m,
                                                 ctypes.byref(o), *answer.pointers(),
                                                 _address(null) if o.diagnose else None)
        variance, rows = _variance(synthetic), len(synthetic)
        callbacks.check(status)
    null = null[:answer.result.replicates] if o.diagnose else null[:0]
    return answer.read(column_names, null, table, variance, rows, fit_rows=o.fit_rows)


@dataclass(frozen=True)
class SelfCheck:
    """Result of testing a generator against its own rows."""
    runs: int
    rejected: int
    mean_p: float       #: about 1/2; more for discrete data
    distance: float     #: most by which the share of p-values up to some a exceeds a
    uniform_p: float    #: p-value of that distance
    repeatable: bool    #: False: the same rng gave different rows (a state of its own, a clock)
    suspicious: bool


def self_check(n: int, m: int, generator: Generator, *, runs: int = 100, **options: Any) -> SelfCheck:
    """Is the generator fit for testing? Runs the whole test `runs` times on rows drawn from the generator."""
    callbacks, lib, result = _Callbacks(), _lib(), _SelfCheckResult()
    n, m, runs = _whole(n, "n"), _whole(m, "m"), _whole(runs, "runs")
    o = _options(callbacks, options)
    _check_options(o, n, m)
    callbacks.check(lib.npksd_self_check(n, m, callbacks.sampler(generator), None, ctypes.byref(o), runs,
                                         ctypes.byref(result)))
    return SelfCheck(result.runs, result.rejected, result.mean_p, result.distance, result.uniform_p,
                     bool(result.repeatable), bool(result.suspicious))


@dataclass(frozen=True)
class Power:
    """How often n rows of the alternative were rejected; low and high: 95 % interval of the power."""
    runs: int
    rejected: int
    power: float
    low: float
    high: float


def power(n: int, m: int, generator: Generator, alternative: Generator, *, runs: int = 100,
          **options: Any) -> Power:
    """How often would n rows from `alternative` be rejected? For planning how much to record."""
    callbacks, lib, result = _Callbacks(), _lib(), _PowerResult()
    n, m, runs = _whole(n, "n"), _whole(m, "m"), _whole(runs, "runs")
    o = _options(callbacks, options)
    _check_options(o, n, m)
    callbacks.check(lib.npksd_power(n, m, callbacks.sampler(generator), None,
                                    callbacks.sampler(alternative, "alternative"), None, ctypes.byref(o), runs,
                                    ctypes.byref(result)))
    return Power(result.runs, result.rejected, result.power, result.low, result.high)


# ======== prepare once, check many ========

class Tester:
    """Prepare once, then check many data sets of n rows and m columns.

        with npksd.Tester(100, 3, generator) as tester:
            tester.run()                     # or: while not tester.step(50): ...
            for recording in recordings:
                print(tester.check(recording))
            tester.save("release.blob")      # Tester.load("release.blob") needs no generator

    The keywords are those of test(). Each p-value is exact on average over testers and data; use more
    replicates if one tester makes many checks.
    """

    def __init__(self, n: int, m: int, generator: Optional[Generator], *, names: Optional[Sequence[str]] = None,
                 diagnose: bool = True, pairs: int = 10, **options: Any) -> None:
        self._handle = _pointer()
        lib, n, m = _lib(), _whole(n, "n"), _whole(m, "m")
        self._begin(n, m, names, pairs)
        o = _options(self._callbacks, options)
        o.diagnose = int(bool(diagnose))
        _check_options(o, n, m)
        _needs_generator(generator, o)
        self._fit_rows = o.fit_rows
        self._callbacks.check(lib.npksd_tester_create(ctypes.byref(self._handle), n, m,
                                                      self._callbacks.sampler(generator), None, ctypes.byref(o)))

    def _begin(self, n: int, m: int, names: Optional[Sequence[str]], pairs: int) -> None:
        self._callbacks, self._names, self._pairs = _Callbacks(), _names(names, None, m), pairs
        self._pending: Optional[np.ndarray] = None
        self._fit_rows = _lib().npksd_default_options().fit_rows  # a blob does not tell
        self.shape = (n, m)

    @classmethod
    def load(cls, source: Union[bytes, str, "os.PathLike[str]"], *, names: Optional[Sequence[str]] = None,
             pairs: int = 10, most_bytes: int = 2**30) -> "Tester":
        """Loads what save() wrote: bytes, or the path of a file. The source may be untrusted; a tester that would
        need more than most_bytes of memory is refused."""
        lib = _lib()
        in_memory = isinstance(source, (bytes, bytearray, memoryview))
        blob = bytes(source) if in_memory else pathlib.Path(source).read_bytes()
        tester = cls.__new__(cls)
        tester._handle = _pointer()
        n, m, needed = _size(), _size(), _size()
        status = lib.npksd_blob_info(blob, len(blob), *(ctypes.byref(size) for size in (n, m, needed)))
        _Callbacks().check(status, "not a saved tester, or damaged, or saved by another version: save it again")
        if needed.value > most_bytes:
            raise MemoryError(f"this tester needs {needed.value} bytes, more than most_bytes={most_bytes}; raise "
                              "most_bytes if you trust the source")
        tester._begin(n.value, m.value, names, pairs)
        tester._callbacks.check(lib.npksd_tester_load(ctypes.byref(tester._handle), blob, len(blob), None))
        return tester

    def _open(self) -> Any:
        if not self._handle:
            raise Error("this tester is closed: make a new one, or use it before close() or the end of the with block")
        return self._handle

    def step(self, items: int = 1) -> bool:
        """Do up to `items` items of work; True when none are left. The sizes of the steps do not change the result."""
        status = _lib().npksd_tester_step(self._open(), _whole(items, "items"))
        return self._callbacks.check(status) == _OK

    def run(self, progress: Optional[Callable[[int, int], None]] = None) -> "Tester":
        """Step until all is done; progress(done, total) is called now and then."""
        while not self.step(64):
            if progress is not None:
                progress(*self.progress)
        return self

    @property
    def progress(self) -> Tuple[int, int]:
        """Number of items done, and in total."""
        done, total = _size(), _size()
        _lib().npksd_tester_progress(self._open(), ctypes.byref(done), ctypes.byref(total))
        return done.value, total.value

    def _ready(self, status: int, early: str = "not finished") -> None:
        """Raises errors; for a call that came too early the message says what to do first."""
        self._callbacks.check(status, f"this tester is {early}: call step() until it returns True, or run()"
                              if status == _STATE else None)

    def _rows(self, observed: Rows) -> np.ndarray:
        table = _of_shape(observed, self.shape, "observed")
        self._callbacks.same_titles(observed, "observed")
        return table

    def _answer(self) -> _Answer:
        return _Answer(*self.shape, _lib().npksd_tester_width(self._open()) > 1, self._pairs)

    def check(self, observed: Rows) -> Result:
        """Test n rows, as often as you like. Finishes the tester first if necessary."""
        table = self._rows(observed)
        self.run()
        return self._read(self._checked(table), table)

    def _checked(self, table: np.ndarray) -> _Answer:
        answer, self._pending = self._answer(), None  # C also drops a check in steps
        self._callbacks.check(_lib().npksd_tester_check(self._open(), _address(table), *answer.pointers()))
        return answer

    def _read(self, answer: _Answer, table: np.ndarray) -> Result:
        return answer.read(self._names, self.null, table, self._callbacks.variance(), fit_rows=self._fit_rows)

    def monitor(self, *, alpha: float = 0.001, capacity: int = 1000, seed: int = 0) -> "Monitor":
        """A Monitor that watches a stream of recordings with this tester."""
        return Monitor(self, alpha=alpha, capacity=capacity, seed=seed)

    def check_begin(self, observed: Rows) -> None:
        """A check in steps: call check_begin, then step until it returns True, then check_end."""
        table = self._rows(observed).copy()  # C reads it until check_end
        self._ready(_lib().npksd_tester_check_begin(self._open(), _address(table)))
        self._pending = table

    def check_end(self) -> Result:
        if self._pending is None:
            raise Error("no check to end: call check_begin(rows) first, then step() until it returns True")
        answer = self._answer()
        self._ready(_lib().npksd_tester_check_end(self._open(), *answer.pointers()), "still checking")
        table, self._pending = self._pending, None
        return self._read(answer, table)

    @property
    def null(self) -> np.ndarray:
        """Statistics of the replicates, in the order in which they were drawn."""
        count = _size()
        self._ready(_lib().npksd_tester_null(self._open(), None, 0, ctypes.byref(count)),
                    "not finished, or uses the wild bootstrap and has not checked anything yet")
        values = np.zeros(count.value)
        self._callbacks.check(_lib().npksd_tester_null(self._open(), _address(values), values.size, None))
        return values

    def scores(self, rows: Rows) -> np.ndarray:
        """The fitted scores d log q / dx at any rows."""
        table = _table(rows, "rows")
        table = _of_shape(table, (len(table), self.shape[1]), "rows")
        out = np.zeros_like(table)
        self._ready(_lib().npksd_tester_scores(self._open(), _address(table), len(table), _address(out)))
        return out

    def save(self, path: Union[None, str, "os.PathLike[str]"] = None) -> bytes:
        """The finished tester as bytes, portable between machines; also written to path, if given."""
        size = _size()
        self._ready(_lib().npksd_tester_save(self._open(), None, 0, ctypes.byref(size)),
                    "not finished, or has score=, which cannot be saved")
        buffer = ctypes.create_string_buffer(size.value)
        self._callbacks.check(_lib().npksd_tester_save(self._open(), buffer, size.value, ctypes.byref(size)))
        if path is not None:
            pathlib.Path(path).write_bytes(buffer.raw)
        return buffer.raw

    def close(self) -> None:
        """Frees the memory; closing again is harmless."""
        handle, self._handle = getattr(self, "_handle", None), _pointer()
        if handle:
            _lib().npksd_tester_destroy(handle)

    def __enter__(self) -> "Tester":
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def __del__(self) -> None:
        if getattr(self, "_handle", None) and _loaded is not None:
            _loaded.npksd_tester_destroy(self._handle)

    def __repr__(self) -> str:
        state = "%d of %d items done" % self.progress if self._handle else "closed"
        return f"Tester({_counted(self.shape)}; {state})"


_UNWATCHED = "a monitor cannot use this tester: make one without smooth, resample_redraw and the wild bootstrap"


class Monitor:
    """Watches a stream of recordings: do they still come from the generator?

        with npksd.Tester(100, 3, generator, replicates=1999) as tester:
            monitor = tester.monitor(alpha=0.001)
            for night in recordings:
                monitor.add(night)
                if monitor.alarm or monitor.change_alarm:
                    ...

    Testing each night at p <= 0.05 gives a false alarm about every 20 nights. Here the probability of ever getting a
    false `alarm` is at most alpha, however long the stream. `change_alarm` is quicker after a late change; on average
    its first false alarm comes after 1/alpha recordings or more. Recordings must be independent of each other. Use
    more replicates than recordings. npksd_monitor_add in npksd.h says what holds for a single tester.
    """

    def __init__(self, tester: Tester, *, alpha: float = 0.001, capacity: int = 1000, seed: int = 0) -> None:
        self._tester, self._state = tester, _Monitor()
        capacity = _whole(capacity, "capacity")
        if not 0 < alpha < 1:
            raise ValueError(f"alpha: between 0 and 1, exclusive, not {alpha}")
        if not 0 <= _whole(seed, "seed", 0) < 2**64:
            raise ValueError(f"seed: less than 2^64, not {seed}")
        _Callbacks().check(_lib().npksd_monitor_begin(ctypes.byref(self._state), alpha, capacity, seed))
        self._memory = np.zeros(capacity)

    @staticmethod
    def _fingerprint(tester: Tester) -> int:
        """The number by which a monitor knows its tester, found by starting an empty monitor with the tester."""
        empty = _Monitor(capacity=1)
        _Callbacks().check(_lib().npksd_monitor_restart(ctypes.byref(empty), tester.run()._open()), _UNWATCHED)
        return empty.tester_

    def add(self, observed: Rows) -> Result:
        """Checks the next recording and adds it. Add each recording once, in order."""
        table = self._tester._rows(observed)
        self._tester.run()
        if self._state.kept_ >= self._state.capacity:
            raise Error(f"the monitor has seen {self._state.capacity} recordings with this tester: restart it with a "
                        "fresh tester that has another seed, or begin with more capacity")
        answer = self._tester._checked(table)
        status = _lib().npksd_monitor_add(ctypes.byref(self._state), self._tester._open(), _address(self._memory),
                                          ctypes.byref(answer.result))
        _Callbacks().check(status, _UNWATCHED)
        return self._tester._read(answer, table)

    def restart(self, fresh: Tester) -> None:
        """Go on with another tester, made with another seed; evidence and alarms are kept."""
        fresh.run()
        status = _lib().npksd_monitor_restart(ctypes.byref(self._state), fresh._open())
        _Callbacks().check(status, "restart needs a tester other than the one in use, made with another seed, without "
                                   "smooth, resample_redraw and the wild bootstrap")
        self._tester = fresh

    @property
    def recordings(self) -> int:
        return self._state.recordings

    @property
    def p(self) -> float:
        """p-value of the last recording: its rank among the replicates and the recordings before it."""
        return self._state.p

    @property
    def evidence(self) -> float:
        """Natural logarithm of what a stake of 1 has grown to in bets on a change, which are fair if there is none."""
        return self._state.log_evidence

    @property
    def change(self) -> float:
        """Natural logarithm of the second detector's evidence, which is quicker to show a late change."""
        return self._state.log_change

    @property
    def alarm(self) -> Optional[int]:
        """The recording, counted from 1, that raised the alarm; None if there was no alarm."""
        return self._state.alarm_at if self._state.alarm else None

    @property
    def change_alarm(self) -> Optional[int]:
        return self._state.change_alarm_at if self._state.change_alarm else None

    def save(self) -> bytes:
        """The state, for example for a job that runs each night; load() goes on from it."""
        return bytes(self._state) + self._memory.tobytes()

    @classmethod
    def load(cls, state: bytes, tester: Tester) -> "Monitor":
        """Restores what save() returned on the same kind of machine; tester: the one that the monitor used."""
        size = ctypes.sizeof(_Monitor)
        saved = _Monitor.from_buffer_copy(state) if len(state) >= size else _Monitor()
        if saved.capacity == 0 or len(state) != size + 8 * saved.capacity or saved.kept_ > saved.capacity:
            raise ValueError("not a saved monitor, or from another kind of machine: pass what save() returned")
        if saved.tester_ not in (0, cls._fingerprint(tester)):  # 0: nothing was added yet
            raise ValueError("the monitor was saved with another tester: load it with that one (Tester.save keeps "
                             "testers), then call restart with this one to go on with it")
        monitor = cls.__new__(cls)
        monitor._tester, monitor._state = tester, saved
        monitor._memory = np.frombuffer(state, dtype=np.float64, offset=size).copy()
        return monitor

    def __repr__(self) -> str:
        both = {"alarm": self.alarm, "change alarm": self.change_alarm}
        alarms = [f"{what} at recording {at}" for what, at in both.items() if at is not None]
        return (f"Monitor({self.recordings} recordings, alpha = {self._state.alpha:g}; log evidence "
                f"{self.evidence:.2f}, change {self.change:.2f}; {', '.join(alarms) or 'no alarm'})")
