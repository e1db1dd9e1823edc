# What makes npksd.h trustworthy beyond its suites; part of tests/Makefile.
#
#   make replay                 the fuzz harnesses over tests/corpus and some random inputs (in `make`)
#   make fuzzed                 every public function is called by a harness (in `make`)
#   make fuzz                   libFuzzer, FUZZ_SECONDS (60) for each of the harnesses fuzz_*.c
#   make fuzz-long              an hour for each harness; an hour as float, MSan, -ffast-math and x87 each
#   make fuzz-afl               AFL++, FUZZ_SECONDS for each
#   make attack                 make replay in four builds: x87, -ffast-math, MSan and float
#   make attack-red-zones       make replay under ASan and UBSan, with red zones inside a tester
#   make check-msan             clang's memory sanitizer: reads of uninitialised memory
#   make check-static-analysis  cppcheck, clang-tidy and gcc -fanalyzer
#   make check-format           npksd.h is laid out by .clang-format
#   make uniform                p-values of true null hypotheses, a minute
#   make uniform-long           the same with 20,000 tests for every cell: tens of minutes
#   make nasty                  the same for nasty data: ties, outliers, one row, rare events; half a minute
#   make nasty-float            in float
#   make nasty-long             both with 10,000 tests for every cell: ten minutes
#   make metamorphic-long       suite_metamorphic with METAMORPHIC_SEEDS (50) seeds, double and float
#   make mutants                MUTANTS (300) changes of npksd.h, one at a time: which of them do the suites miss?
#   make check-pinned           known answers, bit by bit: gcc, clang, ARM in qemu
#   make pin                    write them anew: see tests/pinned.txt for what that means

FUZZ_SECONDS ?= 60
HARNESSES = api blob callbacks sequence
FUZZ_FLAGS =
FUZZ_SANITIZERS = address,undefined,float-divide-by-zero
FUZZ_RED_ZONES = -include red_zone.h
AFL_CC ?= afl-clang-fast
AFL_FUZZ ?= afl-fuzz

.PHONY: replay fuzzed fuzz fuzz-float fuzz-msan fuzz-fastmath fuzz-long fuzz-afl attack attack-fastmath \
	attack-msan attack-x87 attack-float attack-red-zones

# ======== fuzzing ========

$(BUILD)/fuzz_%: fuzz_%.c fuzz.h blob_bytes.h options.h $(HEADER) Makefile | $(BUILD)
	$(COMPILE) $(LDFLAGS) $< -o $@ -lm

# Every input that ever mattered, what fuzzing on this machine has kept, and some that nobody thought of.
REPLAY_RANDOM ?= 1000
REPLAY_SEED ?= 1
replay: fuzzed $(HARNESSES:%=$(BUILD)/fuzz_%)
	@set -e; for name in $(HARNESSES); do find corpus/$$name build/fuzz*/corpus_$$name -type f 2>/dev/null | \
			xargs $(RUNNER) $(BUILD)/fuzz_$$name; \
		$(RUNNER) $(BUILD)/fuzz_$$name -random $(REPLAY_RANDOM) $(REPLAY_SEED); done; \
	$(RUNNER) $(BUILD)/fuzz_blob -sweep $(SWEEP)

# Every SWEEP-th or so of 425,000 blobs with one changed field and a valid checksum; 1: all of them
SWEEP ?= 1000

# Every public function is called by a harness; the list is that of the header.
fuzzed:
	@names=$$(sed -n 's/^NPKSD_API [^(]*[ *]\(npksd_[a-z_]*\)(.*/\1/p' $(HEADER)); \
	[ -n "$$names" ] || { echo "no public function found in $(HEADER)"; exit 1; }; \
	for name in $$names; do grep -q "\b$$name(" fuzz.h fuzz_*.c || missing="$$missing $$name"; done; \
	[ -z "$$missing" ] || { echo "no fuzz harness calls:$$missing"; exit 1; }

# No comparison tracing: it costs three times the speed, and checksums are made right by the harness.
LIBFUZZER = -g -O2 -I.. -DFUZZ_LIBFUZZER -fsanitize=fuzzer$(comma)$(FUZZ_SANITIZERS) \
	-fno-sanitize-recover=all -fno-sanitize-coverage=trace-cmp $(FUZZ_RED_ZONES) $(FUZZ_FLAGS)
FUZZ_BUILD = build/fuzz

# New inputs stay in $(FUZZ_BUILD); the corpus is only read.
libfuzzer = set -e; mkdir -p $(FUZZ_BUILD); for name in $(HARNESSES); do \
	mkdir -p $(FUZZ_BUILD)/corpus_$$name; \
	$(CLANG) $(WARN) -Werror $(LIBFUZZER) fuzz_$$name.c -o $(FUZZ_BUILD)/$$name -lm; \
	$(FUZZ_BUILD)/$$name -max_total_time=$(FUZZ_SECONDS) -len_control=0 -max_len=400 -timeout=60 \
		-artifact_prefix=$(FUZZ_BUILD)/found_$$name. $(FUZZ_BUILD)/corpus_$$name corpus/$$name \
		> $(FUZZ_BUILD)/$$name.log 2>&1 || { tail -n 60 $(FUZZ_BUILD)/$$name.log; exit 1; }; \
	echo "fuzz_$$name: $$(grep '^Done' $(FUZZ_BUILD)/$$name.log)"; done

fuzz:
	@$(call with-probe,$(CLANG) -fsanitize=fuzzer -x c,$(libfuzzer))

fuzz-float:
	@$(MAKE) fuzz FUZZ_BUILD=build/fuzz-float FUZZ_FLAGS=-DNPKSD_FLOAT

fuzz-msan:
	@$(MAKE) fuzz FUZZ_BUILD=build/fuzz-msan FUZZ_SANITIZERS=memory FUZZ_RED_ZONES=

# A quotient of two zeros is the compiler's business here.
fuzz-fastmath:
	@$(MAKE) fuzz FUZZ_BUILD=build/fuzz-fastmath FUZZ_FLAGS=-ffast-math FUZZ_SANITIZERS=address,undefined

# An hour for each harness and for each build; x87 has no libFuzzer and replays what the others kept.
fuzz-long:
	@$(MAKE) fuzz FUZZ_SECONDS=3600
	@$(MAKE) fuzz-float fuzz-msan fuzz-fastmath FUZZ_SECONDS=900
	@$(MAKE) attack-x87 REPLAY_RANDOM=200000 REPLAY_SEED=2 SWEEP=1

# $(call with-probe,COMPILER FLAGS,COMMAND): COMMAND if a fuzz target can be built so
with-probe = mkdir -p build; if echo "int LLVMFuzzerTestOneInput(const unsigned char *b, unsigned long n); \
	int LLVMFuzzerTestOneInput(const unsigned char *b, unsigned long n) { return b[0] > n; }" | \
	$(1) - -o build/probe_$(notdir $@) >/dev/null 2>&1; then $(2); \
	elif [ "$$CI" = true ]; then echo "failed: $@ needs $(1)"; exit 1; \
	else echo "skipped: $@ needs $(1)"; fi

AFL_ENVIRONMENT = AFL_SKIP_CPUFREQ=1 AFL_I_DONT_CARE_ABOUT_MISSING_CRASHES=1 AFL_NO_UI=1 AFL_NO_AFFINITY=1
afl = set -e; mkdir -p build/afl; for name in $(HARNESSES); do rm -rf build/afl/out_$$name; \
	$(AFL_CC) -O2 -I.. fuzz_$$name.c -o build/afl/$$name -lm > build/afl/$$name.log 2>&1 || \
		{ cat build/afl/$$name.log; exit 1; }; \
	env $(AFL_ENVIRONMENT) $(AFL_FUZZ) -V $(FUZZ_SECONDS) -t 20000 -i corpus/$$name \
		-o build/afl/out_$$name -- build/afl/$$name > build/afl/$$name.log 2>&1 || \
		{ tail -n 40 build/afl/$$name.log; exit 1; }; \
	awk -F: -v name=fuzz_$$name '/execs_done|saved_crashes|saved_hangs/ { gsub(/ /, ""); value[$$1] = $$2 } \
		END { print name ": " value["execs_done"] " executions, " value["saved_crashes"] " crashes, " \
		value["saved_hangs"] " hangs"; exit value["saved_crashes"] + value["saved_hangs"] > 0 }' \
		build/afl/out_$$name/default/fuzzer_stats; done

fuzz-afl:
	@$(call with,$(AFL_FUZZ),$(afl))

# ======== the same attacks on other builds ========

# Not the same arithmetic as above: x87 keeps 80 bits, -ffast-math reorders, MSan sees numbers that were never written.
# Longer: make attack REPLAY_RANDOM=100000 REPLAY_SEED=2 SWEEP=1
attack: attack-x87 attack-fastmath attack-msan attack-float

attack-x87:
	@$(call with-build,$(X86)gcc -static,$(MAKE) replay BUILD=build/attack-x87 COMPILER="$(X86)gcc" \
		EXTRA="-static -mfpmath=387")

attack-fastmath:
	@$(MAKE) replay BUILD=build/attack-fastmath EXTRA="-ffast-math"

attack-msan:
	@$(call with-clang-flag,-fsanitize=memory,$(MAKE) replay BUILD=build/attack-msan COMPILER="$(CLANG)" \
		EXTRA="-O1 -fsanitize=memory -fno-omit-frame-pointer")

attack-float:
	@$(MAKE) replay BUILD=build/attack-float EXTRA="-DNPKSD_FLOAT"

attack-red-zones:
	@grep -q NPKSDI_RED_ZONE $(HEADER) || { echo "failed: $(HEADER) has no NPKSDI_RED_ZONE"; exit 1; }
	@$(call with-clang-flag,-fsanitize=address,$(MAKE) replay BUILD=build/attack-red-zones COMPILER="$(CLANG)" \
		EXTRA="-O1 -fsanitize=address$(comma)undefined -fno-sanitize-recover=all -include red_zone.h")

# ======== mutation testing ========

# One change of npksd.h at a time: would the quick suites notice? Half an hour for 300.
.PHONY: mutants
MUTANTS ?= 300
MUTANTS_SEED ?= 1
mutants:
	@$(call with,python3,$(call with,$(GCC),python3 mutants.py --count $(MUTANTS) --seed $(MUTANTS_SEED)))

# ======== static analysis ========

.PHONY: check-static-analysis analyse-cppcheck analyse-tidy analyse-gcc

CPPCHECK ?= cppcheck
CLANG_TIDY ?= clang-tidy

# variableScope: a number that one turn of a loop leaves to the next is declared before the loop.
CPPCHECK_FLAGS = --std=c99 --language=c --enable=warning,style,performance,portability --quiet \
	--error-exitcode=1 --suppress=variableScope --suppress=missingIncludeSystem -DNPKSD_IMPLEMENTATION \
	-UNPKSD_NO_MALLOC -UNPKSD_USE_CBLAS -UNPKSD_GEMM -UNPKSD_STATIC -UNPKSD_NAMESPACE -I..

# One job each, so that make -j2 uses two cores.
check-static-analysis: analyse-cppcheck analyse-tidy analyse-gcc-double analyse-gcc-float
	@echo "npksd.h $(VERSION): cppcheck, clang-tidy and gcc -fanalyzer have nothing to say"

analyse-cppcheck:
	@$(call with,$(CPPCHECK),set -ex; $(CPPCHECK) $(CPPCHECK_FLAGS) -UNPKSD_FLOAT impl.c; \
		$(CPPCHECK) $(CPPCHECK_FLAGS) -DNPKSD_FLOAT impl.c)

analyse-tidy:
	@$(call with,$(CLANG_TIDY),set -ex; $(CLANG_TIDY) --quiet impl.c -- -std=c99 -I..; \
		$(CLANG_TIDY) --quiet impl.c -- -std=c99 -I.. -DNPKSD_FLOAT)

analyse-gcc-%: | $(BUILD)
	@$(call with,$(GCC),set -ex; $(GCC) -std=c99 -fanalyzer -Werror -O1 -I.. $($*_FLAGS) -c impl.c \
		-o $(BUILD)/analysed_$*.o)

.PHONY: check-format
CLANG_FORMAT ?= clang-format
check-format:
	@$(call with,$(CLANG_FORMAT),$(CLANG_FORMAT) --dry-run --Werror $(HEADER); \
		echo "npksd.h $(VERSION): laid out by .clang-format")

# ======== sanitizers beyond those of the Makefile ========

.PHONY: check-msan

# The suites that walk every path, with larger strides; all of them: make check-msan MSAN_SUITES=suite_
MSAN_SUITES = suite_memory suite_determinism suite_diagnosis suite_edge suite_faults suite_blob suite_samples
check-msan:
	@$(call with-clang-flag,-fsanitize=memory,set -e; for suite in $(MSAN_SUITES); do \
		$(MAKE) run BUILD=build/msan COMPILER="$(CLANG)" ARGS="-s $$suite" \
		EXTRA="-O1 -fsanitize=memory -fno-omit-frame-pointer" RUNNER="env NPKSD_TEST_QUICK=1"; done)

with-clang-flag = mkdir -p build; if echo "int main(void) { return 0; }" | \
	$(CLANG) $(1) -x c - -o build/probe_$(notdir $@) >/dev/null 2>&1; then $(2); \
	elif [ "$$CI" = true ]; then echo "failed: $@ needs $(CLANG) $(1)"; exit 1; \
	else echo "skipped: $@ needs $(CLANG) $(1)"; fi

# ======== p-values of true null hypotheses ========

.PHONY: uniform uniform-long nasty nasty-float nasty-long

UNIFORM_TESTS ?= 800
NASTY_TESTS ?= 1000

$(BUILD)/uniform $(BUILD)/nasty: $(BUILD)/%: %.c super_uniform.h impl.c $(HEADER) Makefile | $(BUILD)
	$(COMPILE) $< impl.c $(LDFLAGS) -o $@ -lm

uniform: $(BUILD)/uniform
	@$(call halves,$< $(UNIFORM_TESTS))

uniform-long:
	@$(MAKE) uniform UNIFORM_TESTS=20000

nasty: $(BUILD)/nasty
	@$(call halves,$< $(NASTY_TESTS))

nasty-float:
	@$(MAKE) nasty BUILD=build/float EXTRA="-DNPKSD_FLOAT"

nasty-long:
	@$(MAKE) nasty nasty-float NASTY_TESTS=10000

# ======== many seeds ========

.PHONY: metamorphic-long metamorphic-double metamorphic-float
METAMORPHIC_SEEDS ?= 50
metamorphic-long: metamorphic-double metamorphic-float

metamorphic-double metamorphic-float: metamorphic-%:
	@set -e; build=build/metamorphic-$*; $(MAKE) $$build/tests BUILD=$$build EXTRA="$($*_FLAGS)" > /dev/null; \
	for seed in $$(seq 1 $(METAMORPHIC_SEEDS)); do \
		NPKSD_TEST_SEED=$$seed $$build/tests -s suite_metamorphic > $$build/log || { cat $$build/log; exit 1; }; \
	done; echo "suite_metamorphic, $*, $(METAMORPHIC_SEEDS) seeds: $$(tail -n 1 $$build/log) each"

# ======== known answers ========

.PHONY: pin check-pinned

AARCH64 ?= aarch64-linux-gnu-
ARMHF ?= arm-linux-gnueabihf-
QEMU_AARCH64 ?= qemu-aarch64
QEMU_ARMHF ?= qemu-arm

# $(call report,COMPILE,RUNNER,PRECISION): the report of platform_check, each line with its precision
pinned_program = $(P)/pinned
report = mkdir -p $(P); $(1) $($(3)_FLAGS) $(EXACT) -I.. platform_check.c -o $(pinned_program) -lm && \
	$(2) $(pinned_program) > $(pinned_program).txt && sed 's/^/$(3) /' $(pinned_program).txt

pin:
	@{ grep '^#' pinned.txt; \
		$(call report,$(CC) -std=c99 -O2,,double); $(call report,$(CC) -std=c99 -O2,,float); } > build/pinned.new
	@mv build/pinned.new pinned.txt
	@echo "pinned.txt is written: if a line changed, the version history in npksd.h must say so"

# $(call pinned,COMPILE,RUNNER): both precisions, to the last bit
pinned = echo "$(1) $(EXACT)"; mkdir -p $(P); grep -v '^\#' pinned.txt > $(P)/pinned_expected.txt; \
	{ $(call report,$(1),$(2),double) && $(call report,$(1),$(2),float); } > $(P)/pinned_found.txt && \
	awk -v tolerance=0 -f platform_compare.awk $(P)/pinned_expected.txt $(P)/pinned_found.txt

check-pinned:
	@$(call with,$(GCC),$(call pinned,$(GCC) -std=c99 -O2,))
	@$(call with,$(GCC),$(call pinned,$(GCC) -std=c99 -O2 -DNPKSD_NO_DISPATCH,)) # SSE2 in place of AVX2
	@$(call with,$(CLANG),$(call pinned,$(CLANG) -std=c99 -O2,))
	@$(call with-build,$(AARCH64)gcc -static,$(call with,$(QEMU_AARCH64),\
		$(call pinned,$(AARCH64)gcc -std=c99 -O2 -static,$(QEMU_AARCH64))))
	@$(call with-build,$(ARMHF)gcc -static,$(call with,$(QEMU_ARMHF),\
		$(call pinned,$(ARMHF)gcc -std=c99 -O2 -static,$(QEMU_ARMHF))))
