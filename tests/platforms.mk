# npksd.h on other machines, compilers and libraries; part of tests/Makefile.
#
#   make platforms          all of the following
#   make check-compilers    gcc, clang, C99 to C17, C++11 to C++20, -O0 to -O3: the same bits
#   make check-nostdlib     NPKSD_NO_MALLOC asks for memcpy, memset and compiler runtime, no more
#   make check-cortex-m4    a microcontroller with 64 KiB of RAM, in qemu
#   make check-tcc          the Tiny C Compiler: all suites
#   make check-mingw        Windows, 64 bit, in wine: all suites
#   make check-32bit        x86, SSE2: all suites; x87: the same verdicts
#   make check-bigendian    s390x, in qemu: the host's blobs, the same bits; random numbers
#   make check-cblas        OpenBLAS with 32- and 64-bit integers: the same verdicts; all suites
#   make check-hooks        NPKSD_EXP, NPKSD_GEMM, NPKSD_MEMCPY and the others: the same verdicts
#   make check-tsan         a tester in each thread, and one in several (examples/threads.c), under the thread sanitizer
#   make platforms-table    code size, memory and kind of test, as a table
#
# All checks but nostdlib build *and run*. platform_check.c reports numbers bit by bit; platform_compare.awk compares
# them with those of this machine. Compilers may be renamed: make check-tcc TCC=...

TCC ?= tcc
MINGW ?= x86_64-w64-mingw32-
MINGW32 ?= i686-w64-mingw32-
X86 ?= i686-linux-gnu-
S390X ?= s390x-linux-gnu-
CORTEX ?= arm-none-eabi-
QEMU_S390X ?= qemu-s390x
QEMU_ARM ?= qemu-system-arm
WINE ?= wine
PKG_CONFIG ?= pkg-config

P = build/platforms
# what the promise of equal bits asks for; -std=c99 of gcc implies it, C++ and clang do not
EXACT = -ffp-contract=off
NEAR = 1e-4
# float has seven digits, and the fit costs some of them
NEAR_FLOAT = 1e-2

.PHONY: platforms platforms-table check-compilers check-nostdlib check-cortex-m4 check-tcc \
	check-mingw check-32bit check-bigendian check-cblas check-hooks check-tsan

platforms: check-compilers check-nostdlib check-cortex-m4 check-tcc check-mingw check-32bit \
	check-bigendian check-cblas check-hooks check-tsan

# $(call with-build,COMPILER FLAGS,COMMAND): COMMAND if such a program can be built
with-build = mkdir -p $(P); if echo "int main(void) { return 0; }" > $(P)/probe_$(notdir $@).c && \
	$(1) $(P)/probe_$(notdir $@).c -o $(P)/probe_$(notdir $@) >/dev/null 2>&1; then $(2); \
	elif [ "$$CI" = true ]; then echo "failed: $@ needs $(1)"; exit 1; \
	else echo "skipped: $@ needs $(1)"; fi

# ======== this machine: the reference ========

.PRECIOUS: $(P)/%/platform_blobs.h

double_FLAGS =
float_FLAGS = -DNPKSD_FLOAT
REFERENCE = $(CC) -std=c99 $(WARN) -O2 $(EXACT) -I..

$(P)/%/platform_blobs.h: platform_check.c $(HEADER) platforms.mk
	@mkdir -p $(@D)
	@$(REFERENCE) $($*_FLAGS) platform_check.c -o $(@D)/make_blobs -lm
	@$(@D)/make_blobs $@

$(P)/%/report.txt: $(P)/%/platform_blobs.h platform_check.c $(HEADER) platforms.mk
	@$(REFERENCE) $($*_FLAGS) -DPLATFORM_BLOBS -I$(@D) platform_check.c -o $(@D)/check -lm
	@$(@D)/check > $@ || { cat $@; rm $@; exit 1; }

# without libm: another square root
$(P)/float/bare.txt: $(P)/float/platform_blobs.h platform_check.c $(HEADER) platforms.mk
	@$(REFERENCE) $(float_FLAGS) -DNPKSD_NO_MALLOC -DPLATFORM_BLOBS -I$(@D) platform_check.c \
		-o $(@D)/bare
	@$(@D)/bare > $@ || { cat $@; rm $@; exit 1; }

REPORTS = $(P)/double/report.txt $(P)/float/report.txt

# $(call same,PRECISION,TOLERANCE,FOLDER,COMPILE,RUNNER,LIBRARIES): platform_check built by COMPILE
# and run by RUNNER agrees with the reference; $(call both,TOLERANCE,...): in double and in float
same = echo "$(4) $($(1)_FLAGS)"; mkdir -p $(P)/$(3); rm -f $(P)/$(3)/check $(P)/$(3)/check.exe; \
	$(4) $($(1)_FLAGS) -I.. -DPLATFORM_BLOBS -I$(P)/$(1) platform_check.c -o $(P)/$(3)/check.exe \
		-lm $(6) && \
	$(5) $(P)/$(3)/check.exe > $(P)/$(3)/report_$(1).txt && \
	awk -v tolerance=$(2) -f platform_compare.awk $(P)/$(1)/report.txt $(P)/$(3)/report_$(1).txt
both = { $(call same,double,$(1),$(2),$(3),$(4),$(5)); } && \
	{ $(call same,float,$(1),$(2),$(3),$(4),$(5)); }

# ======== compilers ========

COMPILERS_GCC = "$(GCC) -std=c17 -O0" "$(GCC) -std=c99 -Os" \
	"$(GCC) -std=gnu11 -O3 -march=native $(EXACT)"
COMPILERS_GXX = "$(GXX) -x c++ -std=c++11 -O2 $(EXACT)" "$(GXX) -x c++ -std=c++20 -O2 $(EXACT)"
COMPILERS_CLANG = "$(CLANG) -std=c99 -O1 $(EXACT)" \
	"$(CLANG) -std=c17 -O3 -march=native $(EXACT)"
COMPILERS_CLANGXX = "$(CLANGXX) -x c++ -std=c++11 -O2 $(EXACT)" \
	"$(CLANGXX) -x c++ -std=c++20 -O2 $(EXACT)"
each = for compile in $(2); do { $(call same,double,0,compilers,$$compile,); } && \
	{ $(call same,float,0,compilers,$$compile,); } || exit 1; done

check-compilers: $(REPORTS)
	@$(call with,$(GCC),$(call each,$(GCC),$(COMPILERS_GCC)))
	@$(call with,$(GXX),$(call each,$(GXX),$(COMPILERS_GXX)))
	@$(call with,$(CLANG),$(call each,$(CLANG),$(COMPILERS_CLANG)))
	@$(call with,$(CLANGXX),$(call each,$(CLANGXX),$(COMPILERS_CLANGXX)))

nostdlib = for flags in -O0 -O2 "-O3 -ffast-math"; do \
	for precision in "" -DNPKSD_FLOAT; do \
		$(1) -std=c99 -ffreestanding -nostdlib $$flags $$precision -DNPKSD_NO_MALLOC -I.. -c impl.c \
			-o $(P)/nostdlib.o || exit 1; \
		$(NM) -u $(P)/nostdlib.o | awk -v flags="$(1) $$flags $$precision" \
			'NF && $$NF !~ /^_?mem(cpy|set)$$/ && $$NF !~ /^__/ { \
			print flags ": needs " $$NF; bad = 1 } END { exit bad }' || exit 1; \
	done; done; echo "$(1): memcpy, memset and compiler runtime alone"

check-nostdlib:
	@mkdir -p $(P)
	@$(call with,$(GCC),$(call nostdlib,$(GCC)))
	@$(call with,$(CLANG),$(call nostdlib,$(CLANG)))

TCC_COMPILE = $(TCC) -std=c99
check-tcc: $(REPORTS)
	@$(call with,$(TCC),$(call both,0,tcc,$(TCC_COMPILE),) && \
		$(MAKE) run BUILD=build/tcc COMPILER="$(TCC)")

# ======== machines ========

# Wine would like a display, a 32-bit half and a home folder; it gets a folder and runs without.
WINE_RUN = WINEPREFIX="$(CURDIR)/$(P)/wine" WINEDEBUG=-all $(WINE)
MINGW_COMPILE = $(MINGW)gcc -std=c99 -O2 $(EXACT) -static
mingw_suites = mkdir -p build/mingw && ln -sf tests.exe build/mingw/tests && \
	$(MAKE) run BUILD=build/mingw COMPILER="$(MINGW)gcc" EXTRA=-static RUNNER='$(WINE_RUN)'

# A DLL: its functions are in the import library, and a program that imports them runs.
DLL = $(P)/mingw/npksd.dll
mingw_dll = mkdir -p $(P)/mingw && $(MINGW)gcc -std=c99 $(WARN) -Werror -O2 -I.. -shared \
	'-DNPKSD_API=__declspec(dllexport)' impl.c -o $(DLL) -Wl,--out-implib,$(DLL).a -lm && \
	$(MINGW)gcc -std=c99 $(WARN) -Werror -O2 -I.. '-DNPKSD_API=__declspec(dllimport)' \
		compile_mix_caller.c $(DLL).a -o $(P)/mingw/caller.exe && \
	$(WINE_RUN) $(P)/mingw/caller.exe && echo "$(MINGW)gcc: a DLL with NPKSD_API"

check-mingw: $(REPORTS)
	@$(call with,$(MINGW)gcc,$(call with,$(WINE),$(mingw_dll)))
	@$(call with,$(MINGW)gcc,$(call with,$(WINE),$(call both,0,mingw,$(MINGW_COMPILE),\
		$(WINE_RUN)) && $(mingw_suites)))
	@$(call with,$(MINGW32)gcc,mkdir -p $(P)/mingw && $(MINGW32)gcc -std=c99 $(WARN) -Werror -O2 -I.. \
		-static platform_check.c -o $(P)/mingw/check32.exe -lm && \
		echo "$(MINGW32)gcc: builds; 32-bit Windows programs are not run here")

X86_COMPILE = $(X86)gcc -std=c99 -O2 -static
SSE = -msse2 -mfpmath=sse
check-32bit: $(REPORTS)
	@$(call with-build,$(X86)gcc -static,$(call both,0,32bit,$(X86_COMPILE) $(SSE),) && \
		{ $(call same,double,$(NEAR),x87,$(X86_COMPILE),); } && \
		{ $(call same,float,$(NEAR_FLOAT),x87,$(X86_COMPILE),); } && \
		$(MAKE) run BUILD=build/32bit COMPILER="$(X86)gcc" EXTRA="-static $(SSE)")

# gcc computes float in double there, as on the x87, unless told that float is enough
S390X_COMPILE = $(S390X)gcc -std=c99 -O2 $(EXACT) -fexcess-precision=fast -static
check-bigendian: $(REPORTS)
	@$(call with-build,$(S390X)gcc -static,$(call with,$(QEMU_S390X),\
		$(call both,0,s390x,$(S390X_COMPILE),$(QEMU_S390X)) && \
		$(MAKE) run BUILD=build/s390x COMPILER="$(S390X)gcc" EXTRA=-static RUNNER="$(QEMU_S390X)" \
			ARGS="-s suite_rng"))

# A whole test on the board with all its RAM, then examples/device.c in 64 KiB of it. No C library.
M4 = $(CORTEX)gcc -std=c99 $(WARN) -mcpu=cortex-m4 -mthumb -mfloat-abi=hard -mfpu=fpv4-sp-d16 \
	-ffreestanding -nostdlib -Os $(EXACT) -ffunction-sections -fdata-sections
M4_LINK = -T cortex_m4/cortex_m4.ld -Wl,--gc-sections -lgcc
M4_LARGE = -Wl,--defsym=ram_bytes=0x400000
M4_DEFINES = -DNPKSD_FLOAT -DNPKSD_NO_MALLOC -DPLATFORM_BARE -DPLATFORM_BLOBS
M4_RUN = timeout 600 $(QEMU_ARM) -M mps2-an386 -display none -serial none -monitor none \
	-semihosting-config enable=on,target=native -kernel
EXAMPLES = ../examples
m4_whole = set -e; mkdir -p $(P)/cortex_m4; \
	$(M4) $(M4_DEFINES) -I.. -I$(P)/float platform_check.c cortex_m4/startup.c $(M4_LINK) $(M4_LARGE) \
		-o $(P)/cortex_m4/check.elf; \
	$(M4_RUN) $(P)/cortex_m4/check.elf > $(P)/cortex_m4/report_float.txt 2>&1 || \
		{ cat $(P)/cortex_m4/report_float.txt; exit 1; }; \
	echo "whole test, against this machine without libm:"; \
	awk -v tolerance=0 -f platform_compare.awk $(P)/float/bare.txt $(P)/cortex_m4/report_float.txt; \
	echo "whole test, against this machine:"; awk -v tolerance=$(NEAR) -f platform_compare.awk \
		$(P)/float/report.txt $(P)/cortex_m4/report_float.txt
m4_device = set -e; $(MAKE) -C $(EXAMPLES) build/device_blob.h build/device >/dev/null; \
	$(M4) -DDEVICE_BARE -I.. -I$(EXAMPLES)/build $(EXAMPLES)/device.c cortex_m4/startup.c $(M4_LINK) \
		-o $(P)/cortex_m4/device.elf; \
	$(M4_RUN) $(P)/cortex_m4/device.elf > $(P)/cortex_m4/device.txt 2>&1 || \
		{ cat $(P)/cortex_m4/device.txt; exit 1; }; \
	$(EXAMPLES)/build/device > $(P)/cortex_m4/device_host.txt; \
	grep -v '^ram' $(P)/cortex_m4/device.txt | diff - $(P)/cortex_m4/device_host.txt; \
	echo "examples/device.c: as on this machine"; cat $(P)/cortex_m4/device.txt; \
	awk '/^ram/ { bytes += $$2 } END { print "RAM in all: " bytes " bytes"; exit bytes > 65536 }' \
		$(P)/cortex_m4/device.txt; \
	$(CORTEX)size $(P)/cortex_m4/device.elf

check-cortex-m4: $(REPORTS) $(P)/float/bare.txt
	@$(call with,$(CORTEX)gcc,$(call with,$(QEMU_ARM),$(m4_whole); $(m4_device)))

# ======== libraries ========

# $(call blas,PACKAGE,INTEGER,ARGUMENTS): single-threaded, since the suites ask for equal bits
blas_flags = $(shell $(PKG_CONFIG) --cflags $(1) 2>/dev/null)
blas_links = $(shell $(PKG_CONFIG) --libs $(1) 2>/dev/null)
blas_compile = $(CC) -std=c99 -O2 -DNPKSD_USE_CBLAS -DNPKSD_BLAS_INT=$(2) $(call blas_flags,$(1))
blas = export OPENBLAS_NUM_THREADS=1; \
	$(call with-build,$(CC) $(call blas_links,$(1)) -include cblas.h $(call blas_flags,$(1)),\
	{ $(call same,double,$(NEAR),$(1),$(call blas_compile,$(1),$(2)),,$(call blas_links,$(1))); } && \
	{ $(call same,float,$(NEAR_FLOAT),$(1),$(call blas_compile,$(1),$(2)),,$(call blas_links,$(1))); } && \
	$(MAKE) run BUILD=build/$(1) ARGS="$(3)" \
	EXTRA="-DNPKSD_USE_CBLAS -DNPKSD_BLAS_INT=$(2) $(call blas_flags,$(1))" \
	LDFLAGS="-Wl$(comma)--no-as-needed $(call blas_links,$(1))")
comma = ,

check-cblas: $(REPORTS)
	@$(call with,$(PKG_CONFIG),true)
	@$(call blas,openblas,int)
	@$(call blas,openblas64,int64_t,-s suite_s) # other integers, the same arithmetic: statistic, scores, samples

# Every macro that replaces something: each is called, what it replaces is not, and the answers are the same.
HOOKED = exp log sqrt sin cos memcpy memset gemm assert
REPLACED = (^|[^A-Za-z0-9_])(exp|log|sqrt|sin|cos|memcpy|memset)f? *[(]
hooks = set -e; mkdir -p $(P)/hooks; $(CC) -std=c99 -O2 -I.. -include hooks.h -c impl.c -o $(P)/hooks/impl.o; \
	for name in $(HOOKED); do $(NM) -u $(P)/hooks/impl.o | grep -q "hook_$$name\$$" || \
		{ echo "npksd.h does not call hook_$$name"; exit 1; }; done; \
	$(CC) -std=c99 -I.. -include hooks.h -E impl.c | awk '/^\# / { ours = /npksd[.]h"/; next } ours && /$(REPLACED)/ { \
		print "npksd.h: not replaced:" $$0; bad = 1 } END { exit bad }'; \
	$(call same,double,$(NEAR),hooks,$(CC) -std=c99 -O2 -include hooks.h hooks.c,)

check-hooks: $(REPORTS)
	@$(call with,$(NM),$(hooks))

check-tsan:
	@$(call with-build,$(CC) -fsanitize=thread -pthread,set -e; mkdir -p $(P)/tsan; \
		for program in threads.c $(EXAMPLES)/threads.c; do \
			$(CC) -std=c99 $(WARN) -O1 -g -fsanitize=thread -I.. $$program -o $(P)/tsan/threads -lm -pthread; \
			TSAN_OPTIONS=halt_on_error=1 $(P)/tsan/threads; done; echo "no data race")

# ======== the table of platforms ========

# $(call row,NAME,COMPILE,PRECISION,TESTED): text bytes of the implementation; RAM is this machine's
# count in the same precision (pointers, a few hundred bytes, apart)
row = $(call with,$(firstword $(2)),$(2) $($(3)_FLAGS) -I.. -c impl.c -o $(P)/row.o && \
	printf '| %s | %s | %s KiB |%s| %s |\n' '$(1)' '$(firstword $(2)) ($(3))' \
	"$$(size $(P)/row.o | awk 'NR == 2 { print int($$1 / 1024) }')" "$$(cat $(P)/ram_$(3))" '$(4)')

# size does not read WebAssembly: the bytes of a module with every public function
WASM_LD ?= wasm-ld
WASM = $(CLANG) --target=wasm32 -std=c99 -O2 -ffreestanding -nostdlib -DNPKSD_NO_MALLOC \
	-Wl,--no-entry,--export-all,--allow-undefined,--strip-all
wasm_row = $(WASM) -I.. impl.c -o $(P)/row.wasm && \
	printf '| %s | %s | %s KiB |%s| %s |\n' '$(1)' '$(CLANG) (double)' \
	"$$(($$(wc -c < $(P)/row.wasm) / 1024))" "$$(cat $(P)/ram_double)" '$(2)'

$(P)/ram_%: platform_ram.c $(HEADER) platforms.mk
	@mkdir -p $(P)
	@$(CC) -std=c99 -O2 $($*_FLAGS) -I.. $< -o $@.out -lm && $@.out > $@

platforms-table: $(P)/ram_double $(P)/ram_float
	@echo "| target | compiler | code | RAM, n = 50: to fit, to check | n = 500 | tested by |"
	@echo "|---|---|---|---|---|---|"
	@$(call row,x86-64 Linux,$(GCC) -std=c99 -O2,double,make -C tests; ASan UBSan valgrind TSan)
	@$(call row,x86-64 Linux,$(CLANG) -std=c99 -O2,double,check-clang)
	@$(call row,x86-64 Linux,$(GCC) -std=c99 -O2,float,check-float)
	@$(call row,x86-64 Linux,$(TCC) -std=c99,double,check-tcc)
	@$(call row,x86-64 Windows,$(MINGW)gcc -std=c99 -O2,double,check-mingw in wine)
	@$(call row,x86 Linux,$(X86)gcc -std=c99 -O2 $(SSE),double,check-32bit)
	@$(call row,s390x big-endian,$(S390X)gcc -std=c99 -O2,double,check-bigendian in qemu)
	@$(call row,Cortex-M4F,$(M4) -DNPKSD_NO_MALLOC,float,check-cortex-m4 in qemu)
	@$(call with,$(WASM_LD),$(call wasm_row,WebAssembly,make -C examples web in Chromium))
