# Other languages, engines and build systems. Included by Makefile.
#
#   make shared     build/libnpksd.so and build/npksd.dll (mingw), from one source, and their test
#   make python     npksd.py: its tests, and a generator that is trained (NumPy)
#   make csharp     Npksd.cs, as Unity and Godot use it (mono)
#   make engines    Box2D, Chipmunk and ODE: a recording, a sound build, a changed one
#   make simulator  LAMMPS, driven by the command line tool
#   make packaging  install with pkg-config, a Meson project, the header for MSVC's target

MINGW ?= x86_64-w64-mingw32-gcc
WINE ?= wine
SHARED = shared/npksd_shared.c shared/npksd_shared.h $(HEADER)
# contraction off: the same bits as any other build that has it off
SHARED_FLAGS = -std=c99 $(WARN) -Werror $(CFLAGS) -ffp-contract=off -fvisibility=hidden -I.. -Ishared -shared

# $(call missing,WHAT): a line here, a failure in CI
missing = if [ "$$CI" = true ]; then echo "failed: $@ needs $(1)"; exit 1; else echo "skipped: $@ needs $(1)"; fi

.PHONY: shared dll python csharp engines simulator packaging msvc meson install

# ======== the shared library ========

shared: $(BUILD)/libnpksd.so $(BUILD)/test_shared dll
	@echo "== shared"
	@$(call with,nm,nm -D --defined-only --format=posix $< | awk '{ print $$1 }' > $(BUILD)/exports.txt && \
		awk -f shared/exports.awk $(HEADER) shared/npksd_shared.h $(BUILD)/exports.txt)
	@$(BUILD)/test_shared

dll: | $(BUILD)
	@$(call with,$(MINGW),echo "== $(BUILD)/npksd.dll"; \
		$(MINGW) $(SHARED_FLAGS) -static-libgcc shared/npksd_shared.c -o $(BUILD)/npksd.dll && \
		$(MINGW) -std=c99 $(WARN) -Werror -I.. -Ishared shared/test_shared.c $(BUILD)/npksd.dll \
			-o $(BUILD)/test_shared.exe && \
		$(MINGW:gcc=objdump) -p $(BUILD)/npksd.dll | \
			awk '/Ordinal.Name Pointer/ { on = 1; next } on && !NF { exit } on { print $$NF }' \
			> $(BUILD)/exports_dll.txt && \
		awk -f shared/exports.awk $(HEADER) shared/npksd_shared.h $(BUILD)/exports_dll.txt && \
		$(call with,$(WINE),WINEPREFIX="$(CURDIR)/$(BUILD)/wine" WINEDEBUG=-all $(WINE) $(BUILD)/test_shared.exe))

$(BUILD)/libnpksd.so: $(SHARED) bindings.mk | $(BUILD)
	$(CC) $(SHARED_FLAGS) -fPIC shared/npksd_shared.c $(LDFLAGS) -o $@ -lm

$(BUILD)/test_shared: shared/test_shared.c $(BUILD)/libnpksd.so
	$(CC) -std=c99 $(WARN) -Werror $(CFLAGS) -I.. -Ishared $< $(LDFLAGS) -L$(BUILD) -lnpksd -Wl,-rpath,'$$ORIGIN' -o $@

# ======== Python ========

NUMPY = $(PYTHON) -c 'import numpy' 2>/dev/null

$(BUILD)/python_reference: python/reference.c $(HEADER) | $(BUILD)
	$(CC) -std=c99 $(WARN) -Werror $(CFLAGS) -ffp-contract=off -I.. $< $(LDFLAGS) -o $@ -lm
	$(CC) -std=c99 $(WARN) -Werror $(CFLAGS) -ffp-contract=off -I.. -fPIC -shared $< $(LDFLAGS) -o $@.so -lm

python: $(BUILD)/python_reference $(BUILD)/libnpksd.so
	@if ! $(NUMPY); then $(call missing,NumPy for $(PYTHON)); else echo "== python"; \
		NPKSD_LIBRARY=$(abspath $(BUILD)/libnpksd.so) $(PYTHON) python/test_npksd.py && \
		NPKSD_LIBRARY=$(abspath $(BUILD)/libnpksd.so) $(PYTHON) python/trained.py; fi

# ======== C# ========

MCS ?= mcs
MONO ?= mono

csharp: $(BUILD)/libnpksd.so
	@$(call with,$(MCS),$(call with,$(MONO),echo "== csharp"; \
		$(MCS) -warnaserror -warn:4 -out:$(BUILD)/csharp.exe csharp/Npksd.cs csharp/Program.cs && \
		LD_LIBRARY_PATH=$(BUILD) $(MONO) $(BUILD)/csharp.exe))

# ======== engines ========

STRICT = -Wall -Wextra -Wconversion -Werror $(CFLAGS) -I..

# $(call engine,NAME,LANGUAGE,COMPILER AND FLAGS,SOURCE,HEADER,LIBRARIES)
engine = if echo '\#include <$(5)>' | $(3) -x $(2) -fsyntax-only - >/dev/null 2>&1; then echo "== engines/$(4)"; \
	$(3) engines/$(4) $(LDFLAGS) -o $(BUILD)/$(1) $(6) -lm && $(BUILD)/$(1); \
	else $(call missing,$(5)); fi

engines: engine-box2d engine-chipmunk engine-ode

.PHONY: engine-box2d engine-chipmunk engine-ode
engine-box2d: $(HEADER) | $(BUILD)
	@$(call engine,box2d,c++,$(CXX) -std=c++11 $(STRICT),box2d.cc,box2d/box2d.h,-lbox2d)

# Debian builds Chipmunk with its assertions, and the first space says so on stderr
engine-chipmunk: $(HEADER) | $(BUILD)
	@$(call engine,chipmunk,c,$(CC) -std=c99 $(STRICT),chipmunk.c,chipmunk/chipmunk.h,-lchipmunk)

engine-ode: $(HEADER) | $(BUILD)
	@$(call engine,ode,c,$(CC) -std=c99 $(STRICT),ode.c,ode/ode.h,-lode)
