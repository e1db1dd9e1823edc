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

.PHONY: shared dll python csharp engines simulator packaging install

all: shared python csharp engines packaging

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

LMP ?= lmp
simulator: $(BUILD)/npksd $(BUILD)/libnpksd.so
	@if ! $(NUMPY); then $(call missing,NumPy for $(PYTHON)); else $(call with,$(LMP),echo "== lammps"; \
		LMP=$(LMP) PYTHON=$(PYTHON) NPKSD=$(abspath $(BUILD)/npksd) \
		NPKSD_LIBRARY=$(abspath $(BUILD)/libnpksd.so) engines/lammps.sh); fi

# ======== build systems ========

# $(call my_game,FOLDER,OPTIONS): somebody's CMake project, configured, built and run
my_game = rm -rf $(1); { cmake -S cmake/project -B $(1) $(2) && cmake --build $(1); } > $(1).log 2>&1 \
	|| { cat $(1).log; exit 1; }; $(1)/my_game && $(1)/quickstart > /dev/null

# the first clones this very repository, as committed, the second is a copy in the project
cmake: | $(BUILD)
	@$(call with,cmake,echo "== cmake: FetchContent"; \
		$(call my_game,$(BUILD)/cmake,-DNPKSD_REPOSITORY=$(abspath ..)) && echo "== cmake: add_subdirectory" && \
		$(call my_game,$(BUILD)/cmake_folder,-DNPKSD_FOLDER=$(abspath ..)))

# `make install PREFIX=... DESTDIR=...`: the header and a file for pkg-config
PREFIX ?= /usr/local
RELEASE = $(shell sed -n 's/^\#define NPKSD_VERSION_\(MAJOR\|MINOR\|PATCH\) //p' $(HEADER) | paste -sd.)

install:
	install -d $(DESTDIR)$(PREFIX)/include $(DESTDIR)$(PREFIX)/share/pkgconfig
	install -m 644 $(HEADER) $(DESTDIR)$(PREFIX)/include/npksd.h
	sed 's|@prefix@|$(PREFIX)|; s|@version@|$(RELEASE)|' cmake/npksd.pc.in \
		> $(DESTDIR)$(PREFIX)/share/pkgconfig/npksd.pc

packaging: packaging-install packaging-cmake packaging-meson packaging-msvc
.PHONY: packaging-install packaging-cmake packaging-meson packaging-msvc

STAGE = $(abspath $(BUILD)/stage)

packaging-install: | $(BUILD)
	@$(call with,pkg-config,echo "== make install and pkg-config"; rm -rf $(STAGE) && \
		$(MAKE) -s install PREFIX=$(STAGE) && export PKG_CONFIG_PATH=$(STAGE)/share/pkgconfig && \
		[ "$$(pkg-config --modversion npksd)" = "$(RELEASE)" ] && \
		$(CC) -std=c99 $(CFLAGS) $$(pkg-config --cflags npksd) -x c quickstart.c -x none $(LDFLAGS) \
			$$(pkg-config --libs npksd) -o $(BUILD)/installed && $(BUILD)/installed)

packaging-cmake: | $(BUILD)
	@$(call with,cmake,echo "== cmake --install and find_package"; rm -rf $(BUILD)/cmake_install $(STAGE)_cmake; \
		{ cmake -S cmake -B $(BUILD)/cmake_install -DCMAKE_INSTALL_PREFIX=$(STAGE)_cmake && \
		cmake --install $(BUILD)/cmake_install; } > $(BUILD)/cmake_install.log 2>&1 || \
			{ cat $(BUILD)/cmake_install.log; exit 1; }; \
		grep -q 'Version: $(RELEASE)' $(STAGE)_cmake/share/pkgconfig/npksd.pc && \
		$(call my_game,$(BUILD)/cmake_installed,-DCMAKE_PREFIX_PATH=$(STAGE)_cmake))

packaging-meson: | $(BUILD)
	@$(call with,meson,$(call with,ninja,echo "== meson"; rm -rf $(BUILD)/meson; \
		mkdir -p $(BUILD)/meson/third_party/npksd && cp $(HEADER) $(BUILD)/meson/third_party/npksd && \
		cp quickstart.c cmake/project/meson.build $(BUILD)/meson && \
		{ meson setup $(BUILD)/meson/out $(BUILD)/meson && ninja -C $(BUILD)/meson/out; } > $(BUILD)/meson.log 2>&1 || \
			{ cat $(BUILD)/meson.log; exit 1; }; $(BUILD)/meson/out/my_game))

# No Windows here: the header, as C and as C++, for the target of Microsoft's compiler, without its C library
CLANG ?= clang
MSVC = $(CLANG) --target=x86_64-pc-windows-msvc -ffreestanding -Wall -Wextra -Werror -O2 -DNPKSD_NO_MALLOC \
	-DNPKSD_IMPLEMENTATION -c
packaging-msvc: $(HEADER) | $(BUILD)
	@$(call with,$(CLANG),echo "== $(CLANG) --target=x86_64-pc-windows-msvc"; \
		$(MSVC) -std=c99 -x c $(HEADER) -o $(BUILD)/msvc_c.obj && \
		$(MSVC) -std=c++14 -x c++ $(HEADER) -o $(BUILD)/msvc_cpp.obj && \
		$(MSVC) -std=c99 -DNPKSD_FLOAT -x c $(HEADER) -o $(BUILD)/msvc_float.obj)
