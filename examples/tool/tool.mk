# The command line tool: built from tool/, as build/npksd.

TOOL_FILES = text tables columns rows programs generator compare files ranking verdict json charts report watch state progress main
TOOL_OBJECTS = $(TOOL_FILES:%=$(BUILD)/tool/%.o)
TOOL_COMPILE = $(CC) -std=c99 $(WARN) $(CFLAGS) -I.. -Ishared
# npksd.h, and options by name as the bindings have them
TOOL_LIBRARY = $(BUILD)/npksd_shared.o

.PHONY: npksd

npksd: $(BUILD)/npksd

$(BUILD)/tool:
	@mkdir -p $@

$(BUILD)/tool/%.o: tool/%.c tool/tool.h tool/cells.h tool/watch.h shared/npksd_shared.h $(HEADER) | $(BUILD)/tool
	$(TOOL_COMPILE) -c $< -o $@

$(TOOL_LIBRARY): shared/npksd_shared.c shared/npksd_shared.h $(HEADER) | $(BUILD)
	$(TOOL_COMPILE) -c $< -o $@

$(BUILD)/npksd: $(TOOL_OBJECTS) $(TOOL_LIBRARY)
	$(CC) $(CFLAGS) $^ $(LDFLAGS) -o $@ -lm

# ======== the reader of tables against mutated files ========

# Executions of the plain target, under ASan and UBSan; FUZZ_SECONDS is for libFuzzer, whose finds stay in
# build/tool_corpus. Leaks are left out: a message ends the program, and with it all memory. A process of libFuzzer
# keeps what messages lose, some 50 MB a second: a new one every half minute.
TOOL_FUZZ_RUNS ?= 1000000
FUZZ_SECONDS ?= 20
FUZZ_SOURCES = tool/fuzz_tables.c tool/tables.c tool/columns.c tool/rows.c tool/text.c tool/progress.c
FUZZ_FLAGS = -std=c99 -g -O1 -I.. -Ishared -fsanitize=address,undefined -fno-sanitize-recover=all
FUZZ_LINK = $(TOOL_LIBRARY) -lm
NO_LEAKS = ASAN_OPTIONS=detect_leaks=0:allocator_may_return_null=1

.PHONY: tool-fuzz tool-libfuzzer tool-mutate check-r

$(BUILD)/fuzz_tables: $(FUZZ_SOURCES) tool/tool.h tool/cells.h $(TOOL_LIBRARY)
	@$(call with-flag,$(CC),-fsanitize=address$(,)undefined,$(CC) $(FUZZ_FLAGS) $(FUZZ_SOURCES) -o $@ $(FUZZ_LINK))

tool-fuzz: $(BUILD)/fuzz_tables
	@if [ -x $< ]; then $(NO_LEAKS) $< $(TOOL_FUZZ_RUNS) tool/corpus/*; fi

tool_libfuzzer = set -e; mkdir -p $(BUILD)/tool_corpus; \
	clang $(FUZZ_FLAGS) -fsanitize=fuzzer -DTOOL_LIBFUZZER $(FUZZ_SOURCES) -o $(BUILD)/libfuzzer_tables $(FUZZ_LINK); \
	: > $(BUILD)/libfuzzer_tables.runs; left=$(FUZZ_SECONDS); while [ $$left -gt 0 ]; do \
		$(NO_LEAKS) $(BUILD)/libfuzzer_tables -max_total_time=$$((left < 30 ? left : 30)) -max_len=4000 -rss_limit_mb=0 \
			-detect_leaks=0 -artifact_prefix=$(BUILD)/ $(BUILD)/tool_corpus tool/corpus > $(BUILD)/libfuzzer_tables.log 2>&1 \
			|| { tail -n 60 $(BUILD)/libfuzzer_tables.log; exit 1; }; \
		grep '^Done' $(BUILD)/libfuzzer_tables.log >> $(BUILD)/libfuzzer_tables.runs; left=$$((left - 30)); done; \
	awk '{ runs += $$2; seconds += $$5 } END { print "tool-libfuzzer: " runs " runs in " seconds " seconds" }' \
		$(BUILD)/libfuzzer_tables.runs

tool-libfuzzer: $(TOOL_LIBRARY)
	@$(call with-flag,clang,-fsanitize=fuzzer-no-link,$(tool_libfuzzer))

# the whole tool, page and all
TOOL_MUTATIONS ?= 500

tool-mutate: $(BUILD)/npksd_asan
	@if [ -x $< ]; then $(NO_LEAKS) $(PYTHON) tool/mutate.py $< $(TOOL_MUTATIONS); fi

$(BUILD)/npksd_asan: $(TOOL_FILES:%=tool/%.c) tool/tool.h tool/cells.h $(TOOL_LIBRARY)
	@$(call with-flag,$(CC),-fsanitize=address$(,)undefined,$(CC) $(FUZZ_FLAGS) $(TOOL_FILES:%=tool/%.c) -o $@ $(FUZZ_LINK))

# R's own data sets, exported with its defaults (r-base-core); seven minutes, R_RUNS=20 is quicker
R_RUNS ?= 100

check-r: $(BUILD)/npksd
	@$(call with,$(PYTHON),$(PYTHON) tool/check_r.py $< $(R_RUNS))
