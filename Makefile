# SPDX-License-Identifier: MIT
# prof: `make help` lists the targets. Writes only to build/ (build-SAN/, build-ARCH/, build-fuzz/).

VERSION := 0.1
# The commit, which `git archive` writes into packaging/commit; empty if neither knows it.
commit = $(or $(if $(wildcard .git),$(shell git rev-parse --short=12 HEAD 2>/dev/null)),$(filter-out $$%,$(shell cat packaging/commit)))
# Changes with each commit.
commit_log := $(if $(wildcard .git),$(wildcard $(shell git rev-parse --git-path logs/HEAD 2>/dev/null)))
HOST_ARCH := $(subst aarch64,arm64,$(shell uname -m))
ARCH ?= $(HOST_ARCH)
PREFIX ?= /usr/local
DESTDIR ?=
# Sanitizers, as -fsanitize takes them: SAN=address,undefined. Each set has a build directory.
SAN ?=
# COVERAGE=1 makes the product count for gcov which of its lines run. See `make coverage`.
COVERAGE ?=
# PAGE=0 builds all but the page that x.html is, which needs lld and a C library for WebAssembly.
PAGE ?= 1
# Root of the headers and libraries of a foreign ARCH.
SYSROOT ?=

comma := ,
foreign := $(filter-out $(HOST_ARCH),$(ARCH))
variant := $(if $(COVERAGE),-coverage)$(if $(SAN),-$(subst $(comma),-,$(SAN)))$(addprefix -,$(foreign))
BUILD ?= build$(variant)
# BPF objects and the page's engine are the same whatever checks or counts the rest.
plain := $(if $(filter file,$(origin BUILD)),build$(addprefix -,$(foreign)),$(BUILD))
ifeq ($(BUILD),)
$(error BUILD is empty: products would go into the root of the file system)
endif

gnu_arch := $(subst arm64,aarch64,$(ARCH))
triple := $(gnu_arch)-linux-gnu
ifneq ($(filter default undefined,$(origin CC)),)
CC := $(if $(foreign),$(triple)-gcc,cc)
endif
ifneq ($(filter default undefined,$(origin AR)),)
AR := $(if $(foreign),$(triple)-ar,ar)
endif
CLANG ?= clang
# Debian keeps it outside of a user's PATH. Ubuntu's wrapper works only on the kernel that it was
# made for, but the programs that it looks for run everywhere.
BPFTOOL ?= $(or $(shell for b in bpftool /usr/sbin/bpftool /usr/lib/linux-tools/*/bpftool; do \
	"$$b" version >/dev/null 2>&1 && echo "$$b" && break; done),bpftool)

# A short line per step; V=1 shows the commands, -s nothing.
Q := $(if $(V),,@)
say = $(if $(V)$(findstring s,$(firstword -$(MAKEFLAGS))),,@printf '  %-4s %s\n' $(1) $@)

# Needed whatever CFLAGS, CPPFLAGS and LDFLAGS a builder gives. Sanitized code takes twice as long
# to compile at -O2, and finds no more.
OPT ?= $(if $(COVERAGE),-O0,$(if $(SAN),-O1,-O2))
# Reports of sanitizers need lines alone, which take a quarter of the time less to compile.
CFLAGS ?= $(if $(SAN),-g1,-g)
warnings := -Wall -Wextra -Wno-unused-parameter -Wshadow -Wmissing-prototypes -Wstrict-prototypes $(if $(WERROR),-Werror)
sysroot := $(if $(SYSROOT),--sysroot=$(SYSROOT))
# clang's fuzzer brings a main(), which must only be linked into fuzz targets.
fuzzer := $(filter fuzzer,$(subst $(comma), ,$(SAN)))
sanitize := $(if $(SAN),-fsanitize=$(SAN) -fno-sanitize-recover=undefined)
sanitize_objects := $(subst fuzzer,fuzzer-no-link,$(sanitize))
coverage_objects = $(if $(COVERAGE),$(if $(filter lib/% symbolize/% cmd/%,$<),--coverage -fprofile-update=atomic))
# Packages are the same bytes in whatever folder they are built: https://reproducible-builds.org/docs/build-path
same_paths := $(if $(SOURCE_DATE_EPOCH),-ffile-prefix-map=$(CURDIR)=.)
prof_cppflags := -D_GNU_SOURCE -I. -I$(plain)/gen -DPROF_VERSION='"$(VERSION)"'
prof_cflags := -std=gnu11 $(same_paths) $(OPT) -fno-omit-frame-pointer $(warnings)
compile = $(CC) $(sysroot) $(prof_cppflags) $(CPPFLAGS) $(prof_cflags) $(CFLAGS) $(sanitize_objects) $(coverage_objects)
coverage_exit := $(if $(COVERAGE),$(BUILD)/tests/coverage/exit.o)
coverage_link := $(if $(COVERAGE),--coverage -Wl$(comma)--wrap=_exit $(coverage_exit))
link = $(CC) $(sysroot) $(CFLAGS) $(sanitize_objects) $(fixed_place) $(coverage_link) -pthread $(LDFLAGS)
LIBS := -lbpf -ldw -lelf -lzstd -ljansson -lisal -liberty -lcap -llzma -lm
bpf_cflags := --target=bpf $(same_paths) -mcpu=v3 -g -O2 -D__TARGET_ARCH_$(subst x86_64,x86,$(ARCH)) -I. \
	$(if $(SYSROOT),-nostdlibinc) -isystem $(SYSROOT)/usr/include/$(triple) \
	-isystem $(SYSROOT)/usr/include -Wall -Wextra -Wno-unused-parameter $(if $(WERROR),-Werror)

# Commands are in the library, so that tests can link their parts: prof adds only main().
# What knows libmicrohttpd and libcurl is in a program of its own, prof-view, which is built where
# they are.
view_src := cmd/net/net_main.c cmd/net/net_view.c cmd/net/net_share.c cmd/net/engine_client.c cmd/net/pusher.c lib/fleet/server/server.c lib/fleet/server/client.c
# What knows ncurses is in another one, prof-browse.
browse_src := $(sort $(wildcard cmd/browse/*.c))
shim_src := $(wildcard lib/live/alloc_shim/*.c)
launcher_src := cmd/launcher/launcher.c
bpf_bytes_src := lib/live/bpf/object_bytes.c
page_engine_src := $(sort $(wildcard lib/format/page/engine/*.c))
lib_src := $(filter-out cmd/main.c lib/live/alloc_shim/prof_alloc.c $(view_src) $(browse_src) $(launcher_src) $(bpf_bytes_src) $(page_engine_src),$(shell find lib symbolize cmd -name '*.c' | sort))
cmd_src := cmd/main.c
header = $(wildcard $(SYSROOT)/usr/include/$(1) $(SYSROOT)/usr/include/$(triple)/$(1))
has_browse := $(call header,ncursesw/curses.h)
has_view := $(and $(call header,microhttpd.h),$(call header,curl/curl.h))
# Every recording needs one BPF object; each other probe, and what follows a runtime, is an object
# of its own, loaded on demand.
# All contain the files directly in bpf/, with the maps first.
core_probes := clock mapped_files modules program_arguments self symbols tasks
bpf_shared_src := bpf/maps.bpf.c $(filter-out bpf/maps.bpf.c,$(sort $(wildcard bpf/*.bpf.c)))
bpf_core_src := $(bpf_shared_src) $(core_probes:%=bpf/probes/%.bpf.c)
own_probes := $(filter-out $(core_probes),$(patsubst bpf/probes/%.bpf.c,%,$(sort $(wildcard bpf/probes/*.bpf.c))))
# A runtime with an x_stack.bpf.h has three objects of the same source: x, x_waits and x_markers.
bpf_stacks_src := bpf/runtimes/stacks.bpf.c
bpf_stacks := $(foreach x,$(patsubst bpf/runtimes/%_stack.bpf.h,%,$(sort $(wildcard bpf/runtimes/*_stack.bpf.h))),$(x) $(x)_waits $(x)_markers)
bpf_namesakes := $(filter-out $(bpf_stacks_src),$(sort $(wildcard bpf/*.bpf.c bpf/*/*.bpf.c)))
own_runtimes := $(patsubst bpf/runtimes/%.bpf.c,%,$(filter bpf/runtimes/%,$(bpf_namesakes)))
bpf_runtimes := $(sort $(bpf_stacks) $(own_runtimes))
# What the page computes with, below lib/format/page/engine: as it is, compiled for WebAssembly, but
# for rules whose results are in each page.
page_base := alloc bytes error text vec
page_src := $(page_engine_src) $(page_base:%=lib/base/%.c) $(filter-out lib/model/meaning/categories.c,$(sort $(wildcard lib/model/facts/*.c lib/model/meaning/*.c lib/query/*.c))) \
	lib/path/path_weights.c $(addprefix lib/format/page/slab/,row_planes.c slab_columns.c slab_read.c) $(filter-out lib/model/tables/sample_store.c,$(sort $(wildcard lib/model/tables/*.c)))
page_objects := $(page_src:%.c=$(plain)/page/%.o)
page_include := /usr/include/wasm32-wasi
page_cflags := --target=wasm32-wasi -std=gnu11 -Oz -D_GNU_SOURCE -I. -nostdlibinc -isystem $(page_include) \
	-include lib/format/page/engine/shims.h -ffunction-sections -fdata-sections -Wall -Wextra -Wno-unused-parameter -Wno-format $(if $(WERROR),-Werror)
# Modules of the page's script, each after those that it imports.
page_boot := $(patsubst %,lib/format/page/ui/%.mjs,blocks boot)
page_scripts := $(patsubst %,lib/format/page/ui/%.mjs,engine blocks dom colors tip menu state svg time_canvas timeline grid compare flame server source tables lines assembly stacks path markers info keys app main)
page_style := lib/format/page/ui/page.css
unit_src := $(wildcard tests/unit/test_*.c)
unit_helper_src := $(filter-out $(unit_src),$(wildcard tests/unit/*.c))
machine_src := $(wildcard tests/machine/*.c)
golden_src := $(wildcard tests/golden/*.c)
readers_src := tests/readers/show.c tests/page/answers.c
fuzz_src := $(wildcard tests/fuzz/fuzz_*.c)
cli_src := $(wildcard tests/cli/*.c)
e2e_src := $(wildcard tests/e2e/*.c)
bench_src := $(wildcard tests/bench/bench_*.c)
workload_library_src := tests/workloads/library.c
workload_compat_src := tests/workloads/compat.c
workload_src := $(filter-out $(workload_library_src) $(workload_compat_src),$(wildcard tests/workloads/*.c))
man_pages := $(wildcard man/*.[1-8])
# Where each shell looks for the completion of a command, below PREFIX.
completions := share/bash-completion/completions/prof share/zsh/vendor-completions/_prof share/fish/vendor_completions.d/prof.fish
units := prof-agent.service prof-record@.service
unit_place = lib/systemd/system/$(1)
sysusers := lib/sysusers.d/prof.conf
agent_conf := share/doc/prof/agent.conf
completion_source = packaging/completions/$(if $(findstring /bash-,$(1)),prof.bash,$(notdir $(1)))
objects = $(patsubst %.c,$(BUILD)/%.o,$(1))
bpf_of = $(patsubst %.c,$(plain)/%.o,$(1))
programs = $(patsubst %.c,$(BUILD)/%,$(1))

prof := $(BUILD)/prof
prof_view := $(if $(has_view),$(BUILD)/prof-view)
prof_browse := $(if $(has_browse),$(BUILD)/prof-browse)
prof_alloc := $(BUILD)/prof-alloc.so
libprof := $(BUILD)/libprof.a
bpf_objects := prof $(own_probes) $(bpf_runtimes)
skeletons := $(patsubst %,$(plain)/gen/%.skel.h,$(bpf_objects) runtimes)
# Statistics of some hundred simulated recordings are no more true with sanitizers.
unit := $(filter-out $(if $(SAN),%/test_comparison_noise),$(call programs,$(unit_src)))
golden := $(if $(golden_src),$(BUILD)/tests/golden/golden)
golden_profiles := $(patsubst tests/golden/%/out.difference,$(BUILD)/tests/golden/profiles/%.json,$(wildcard tests/golden/*/out.difference))
readers := $(call programs,$(readers_src))
fuzz := $(call programs,$(fuzz_src))
cli_programs := $(call programs,$(cli_src))
e2e_programs := $(call programs,$(e2e_src))
bench := $(call programs,$(bench_src))
workloads := $(call programs,$(workload_src))
# Workloads whose stacks must be whole without frame pointers, too.
workloads_nofp := $(addprefix $(BUILD)/tests/workloads/nofp/,dlopen fork_exec handler jit_frames no_cfi recursion threads)
# A program without a dynamic linker chooses some functions when it starts, and calls them through
# stubs.
workload_static := $(BUILD)/tests/workloads/static/calls
workload_library := $(call programs,$(workload_library_src)).so
# A 32-bit program that needs only a compiler for x86-64.
workload_compat := $(if $(filter x86_64,$(ARCH)),$(call programs,$(workload_compat_src)))
all_workloads := $(workloads) $(workloads_nofp) $(workload_static) $(workload_library) $(workload_compat)

checks := $(addprefix check-,unit golden readers fuzz cli checker report diff convert scripts)
.PHONY: all tests workloads fuzz-programs check check-plain $(checks) golden-accept e2e coverage lint fuzz bench install uninstall dist clean help
export PYTHONDONTWRITEBYTECODE := 1
.SECONDARY:
.DELETE_ON_ERROR:

all: $(prof) $(prof_view) $(prof_browse) $(prof_alloc) ## Build prof and its parts (V=1 WERROR=1 SAN=address,undefined ARCH=arm64 SYSROOT=DIR)

# Relocating the descriptions of all checks takes a third of the CPU time of a short run.
$(prof) $(prof_view) $(prof_browse): fixed_place := $(if $(SAN),-no-pie)

$(prof): $(call objects,$(cmd_src)) $(libprof)
	$(call say,LINK)
	$(Q)$(link) -o $@ $^ $(LIBS)

# These record nothing: no_objects.o, before the library, takes the place of the BPF objects in it.
$(BUILD)/prof-view: $(BUILD)/gen/no_objects.o $(call objects,$(view_src)) $(libprof)
	$(call say,LINK)
	$(Q)$(link) -o $@ $^ $(LIBS) -lmicrohttpd -lcurl

$(BUILD)/prof-browse: $(BUILD)/gen/no_objects.o $(call objects,$(browse_src)) $(libprof)
	$(call say,LINK)
	$(Q)$(link) -o $@ $^ $(LIBS) -lncursesw -ltinfo

# For tarballs alone. Static programs have no sanitizers.
$(BUILD)/prof-launcher: $(launcher_src) lib/base/program.h Makefile
	@mkdir -p $(@D)
	$(call say,LINK)
	$(Q)$(CC) $(sysroot) $(prof_cppflags) $(CPPFLAGS) $(prof_cflags) $(CFLAGS) $(LDFLAGS) -static -o $@ $(launcher_src)

# Programs load it that know nothing of prof: it needs libc alone, and no sanitizer's runtime. libdl
# has dlsym() in libcs before 2.34.
$(prof_alloc): $(shim_src) $(wildcard lib/live/alloc_shim/*.h) Makefile
	@mkdir -p $(@D)
	$(call say,LINK)
	$(Q)$(CC) $(sysroot) $(prof_cppflags) $(CPPFLAGS) -std=gnu11 $(same_paths) -O2 $(warnings) $(CFLAGS) -fPIC -shared \
		-fvisibility=hidden -fno-builtin -Wl,-z,now -Wl,-z,defs $(LDFLAGS) -o $@ $(shim_src) -Wl,--no-as-needed -l:libdl.so.2

# All programs that link the library have that object in their link command.
$(libprof): $(call objects,$(lib_src)) $(bpf_objects:%=$(BUILD)/gen/%.bytes.o) | $(coverage_exit)
	$(call say,AR)
	@rm -f $@
	$(Q)$(AR) rcs $@ $^

$(BUILD)/%.o: %.c Makefile
	@mkdir -p $(@D)
	$(call say,CC)
	$(Q)$(compile) -MMD -MP -c -o $@ $<

# Compiled more often than run.
$(BUILD)/tests/unit/%.o $(BUILD)/tests/machine/%.o: OPT := -O0

# In no file of the library, or each commit would link all tests anew.
$(BUILD)/cmd/main.o: $(commit_log)
$(BUILD)/cmd/main.o: prof_cppflags += -DPROF_COMMIT='"$(commit)"'

# At first no .d file tells who includes a skeleton; only lib/live may.
$(filter $(BUILD)/lib/live/%,$(call objects,$(lib_src))): | $(skeletons)

$(call bpf_of,$(bpf_namesakes)): $(plain)/%.o: %.c
$(bpf_stacks:%=$(plain)/bpf/stacks/%.bpf.o): $(bpf_stacks_src)
stacks_of = $(if $(filter bpf/stacks/%,$*),$(subst _, ,$(*F)))
stacks_cflags = $(foreach x,$(firstword $(stacks_of)),-DRUNTIME_NAME=$(x) -DSTACKS_OF_$(or $(word 2,$(stacks_of)),samples) \
	-DRUNTIME_STACK_HEADER='"bpf/runtimes/$(x)_stack.bpf.h"')
$(plain)/%.bpf.o: Makefile
	@mkdir -p $(@D)
	$(call say,BPF)
	$(Q)$(CLANG) $(bpf_cflags) $(stacks_cflags) -MMD -MP -c -o $@ $(filter %.bpf.c,$^) && scripts/drop-bpf-lines $@

$(plain)/gen/prof.bpf.o: $(call bpf_of,$(bpf_core_src))
$(plain)/gen/shared.bpf.o: $(call bpf_of,bpf/maps.bpf.c bpf/emit.bpf.c bpf/probes/shared.bpf.c)
linked = $(1:%=$(plain)/gen/%.bpf.o): $(plain)/gen/%.bpf.o: $(call bpf_of,$(bpf_shared_src)) $(plain)/bpf/$(2)/%.bpf.o
$(call linked,$(filter-out shared,$(own_probes)),probes)
$(call linked,$(own_runtimes),runtimes)
$(call linked,$(bpf_stacks),stacks)
$(bpf_objects:%=$(plain)/gen/%.bpf.o):
	@mkdir -p $(@D)
	$(call say,GEN)
	$(Q)$(BPFTOOL) gen object $@ $^

ifeq ($(PAGE)$(filter clean help uninstall,$(MAKECMDGOALS)),1)
page_missing := $(if $(wildcard $(page_include)/stdlib.h),,wasi-libc) $(if $(shell command -v wasm-ld),,lld) \
	$(if $(wildcard $(shell $(CLANG) --target=wasm32-wasi --rtlib=compiler-rt -print-libgcc-file-name)),,libclang-rt-dev-wasm32)
ifneq ($(strip $(page_missing)),)
$(error the page that x.html is needs $(strip $(page_missing)): scripts/deps build installs it, PAGE=0 builds everything else)
endif
endif

# Code that runs for each of millions of samples is compiled to be fast, the rest to be small.
page_hot := lib/format/page/slab/row_planes.c lib/model/tables/samples.c $(addprefix lib/query/,select.c timeline.c tree.c)
$(page_hot:%.c=$(plain)/page/%.o): page_cflags += -O2

$(plain)/page/%.o: %.c Makefile
	@mkdir -p $(@D)
	$(call say,WASM)
	$(Q)$(CLANG) $(page_cflags) -MMD -MP -c -o $@ $<

$(plain)/gen/engine.wasm: $(page_objects)
	@mkdir -p $(@D)
	$(call say,LINK)
	$(Q)$(CLANG) --target=wasm32-wasi -mexec-model=reactor -O2 -Wl,--gc-sections,--strip-all -o $@ $^ -lm

# At first no .d file tells who includes it.
$(call objects,lib/format/page/page.c): | $(plain)/gen/page_parts.h
$(plain)/gen/page_parts.h: scripts/page-parts $(if $(filter-out 0,$(PAGE)),$(plain)/gen/engine.wasm $(page_style) $(page_boot) $(page_scripts))
	@mkdir -p $(@D)
	$(call say,GEN)
	$(Q)scripts/page-parts $@ $(if $(filter-out 0,$(PAGE)),$(plain)/gen/engine.wasm $(page_style) $(page_boot) -- $(page_scripts))

# The bytes of the object are apart, so that not each program that links the library has them.
$(plain)/gen/%.skel.h: $(plain)/gen/%.bpf.o
	$(call say,GEN)
	$(Q)$(BPFTOOL) gen skeleton $< name $*_bpf > $@.whole
	$(Q)sed -e '/^static inline const void \*$*_bpf__elf_bytes(size_t \*sz)$$/,/^}$$/d' \
		-e 's/^static inline \(const void \*$*_bpf__elf_bytes(size_t \*sz);\)$$/\1/' $@.whole > $@
	@rm $@.whole

# Packed against the first one, whose functions and types the others have, too: a quarter of the size.
# zstd gives its output the time of its input, which can be older than the first one.
prefix_of = $(if $(filter-out prof,$(1)),$(2),$(3))
$(plain)/gen/%.bpf.zst: $(plain)/gen/%.bpf.o $(plain)/gen/prof.bpf.o
	$(call say,GEN)
	$(Q)zstd -qqf -19 $(call prefix_of,$*,--patch-from=$(plain)/gen/prof.bpf.o) -o $@ $<
	@touch $@

$(BUILD)/gen/%.bytes.o: $(bpf_bytes_src) lib/live/bpf/programs_object.h $(plain)/gen/%.bpf.zst Makefile
	@mkdir -p $(@D)
	$(call say,CC)
	$(Q)$(compile) -DOBJECT_BYTES=$*_bpf__elf_bytes -DOBJECT_FILE='"$(plain)/gen/$*.bpf.zst"' \
		-DOBJECT_PREFIX=$(call prefix_of,$*,prof_bpf__elf_bytes,NULL) -c -o $@ $<

$(BUILD)/gen/no_objects.o: Makefile
	@mkdir -p $(@D)
	$(call say,CC)
	$(Q)printf 'const void *%s_bpf__elf_bytes(unsigned long *size)\n{\n\t*size = 0;\n\treturn 0;\n}\n' $(bpf_objects) | \
		$(compile) -Wno-missing-prototypes -x c -c -o $@ -

# Names of all types in all objects, the kernel's among them.
type_names := $(plain)/gen/type_names.inc
$(type_names): $(bpf_objects:%=$(plain)/gen/%.bpf.o)
	$(call say,GEN)
	$(Q)for object in $^; do $(BPFTOOL) btf dump file $$object || exit; done > $@.whole
	$(Q)sed -nE "s/^\[[0-9]+\] (STRUCT|UNION|ENUM|ENUM64|TYPEDEF|INT|FLOAT|FWD) '([A-Za-z_][^']*)'.*/\"\2\",/p" $@.whole | \
		LC_ALL=C sort -u > $@
	@rm $@.whole

$(BUILD)/lib/live/bpf/kernel_types.o: | $(type_names)

# One header for those of all runtimes.
$(plain)/gen/runtimes.skel.h: $(bpf_runtimes:%=$(plain)/gen/%.skel.h)
	$(Q)printf '#include "%s"\n' $(^F) > $@

tests: $(unit) $(golden) $(golden_profiles) $(readers) $(cli_programs) $(e2e_programs) $(all_workloads) ## Build what check and e2e run, but for check-fuzz

# Unit tests, golden, fuzz and bench programs link the same library as prof: sanitizers cover it
# there, too.
$(BUILD)/tests/unit/test_%: $(BUILD)/tests/unit/test_%.o $(call objects,$(unit_helper_src)) $(libprof)
	$(call say,LINK)
	$(Q)$(link) -o $@ $^ $(LIBS) -lcmocka

# Pages that come late.
$(BUILD)/tests/unit/test_late_reader: LIBS += -Wl,--wrap=process_vm_readv

# The recorder on a machine that is not there: the linker diverts the calls that reach the real one.
machine := $(call objects,$(machine_src)) tests/machine/calls.opts
$(call objects,$(machine_src)): | $(skeletons)
$(BUILD)/tests/unit/test_recorder_%: $(BUILD)/tests/unit/test_recorder_%.o \
		$(call objects,$(unit_helper_src)) $(machine) $(libprof)
	$(call say,LINK)
	$(Q)$(link) -o $@ $(patsubst %.opts,@%.opts,$^) $(LIBS) -lcmocka

$(BUILD)/tests/golden/golden: $(call objects,$(golden_src)) $(libprof)
	$(call say,LINK)
	$(Q)$(link) -o $@ $^ $(LIBS)

$(golden_profiles) &: $(wildcard tests/golden/*.py tests/golden/base.json tests/golden/*/out.difference)
	@mkdir -p $(BUILD)/tests/golden/profiles
	$(Q)python3 tests/golden/difference.py --together $(BUILD)/tests/golden/profiles

$(readers): %: %.o $(libprof)
	$(call say,LINK)
	$(Q)$(link) -o $@ $^ $(LIBS)

$(BUILD)/tests/fuzz/fuzz_%: $(BUILD)/tests/fuzz/fuzz_%.o \
		$(if $(fuzzer),,$(BUILD)/tests/fuzz/replay.o) $(libprof)
	$(call say,LINK)
	$(Q)$(link) $(if $(fuzzer),-fsanitize=fuzzer) -o $@ \
		$(patsubst %.opts,@%.opts,$(filter-out $(libprof),$^)) $(libprof) $(LIBS)

$(BUILD)/tests/fuzz/fuzz_recorder: $(machine) $(call objects,tests/unit/fake_clock.c)

$(addprefix $(BUILD)/tests/prove/,disassemble made_up_day start_lines): $(BUILD)/tests/prove/%: \
		$(BUILD)/tests/prove/%.o $(libprof)
	$(call say,LINK)
	$(Q)$(link) -o $@ $^ $(LIBS)

$(call objects,$(e2e_src)): | $(skeletons)
$(e2e_programs): $(BUILD)/%: $(BUILD)/%.o $(libprof)
	$(call say,LINK)
	$(Q)$(link) -o $@ $^ $(LIBS)

$(BUILD)/tests/bench/bench_cfi_compare: $(BUILD)/tests/unit/cfi_reference.o
$(BUILD)/tests/bench/bench_unwind_compare: $(call objects,$(wildcard tests/bench/walk_*.c \
	tests/bench/libdw_walk.c tests/bench/perf_samples.c) tests/unit/walk_tables.c)
$(BUILD)/tests/bench/bench_%: $(BUILD)/tests/bench/bench_%.o $(libprof)
	$(call say,LINK)
	$(Q)$(link) -o $@ $(filter %.o,$^) $(libprof) $(LIBS)

# Recorded programs are no part of prof: built the same whatever BUILD, with lines and with frame
# pointers; in nofp/ and in libraries without, as distributions build.
workload_cflags := -std=gnu11 -D_GNU_SOURCE -g -O2 -fno-optimize-sibling-calls -I. $(warnings)
build_workload = $(CC) $(sysroot) $(workload_cflags) -MMD -MP -MF $@.d -o $@ $<
# Export their symbols, as interpreters do.
false_interpreters := false_ruby false_php false_perl false_r false_lua
$(false_interpreters:%=$(BUILD)/tests/workloads/%): workload_cflags += -rdynamic
$(workloads): $(BUILD)/%: %.c Makefile
	@mkdir -p $(@D)
	$(call say,CC)
	$(Q)$(build_workload) -fno-omit-frame-pointer -pthread -lm

# Not a part of prof, either.
$(cli_programs): $(BUILD)/%: %.c Makefile
	@mkdir -p $(@D)
	$(call say,CC)
	$(Q)$(build_workload)

$(workloads_nofp): $(BUILD)/tests/workloads/nofp/%: tests/workloads/%.c Makefile
	@mkdir -p $(@D)
	$(call say,CC)
	$(Q)$(build_workload) -fomit-frame-pointer -pthread -lm

$(workload_static): $(BUILD)/tests/workloads/static/%: tests/workloads/%.c Makefile
	@mkdir -p $(@D)
	$(call say,CC)
	$(Q)$(build_workload) -fno-omit-frame-pointer -static

$(workload_library): $(BUILD)/%.so: %.c Makefile
	@mkdir -p $(@D)
	$(call say,CC)
	$(Q)$(build_workload) -fomit-frame-pointer -fPIC -shared -Wl,--build-id=sha1

$(workload_compat): $(BUILD)/%: %.c Makefile
	@mkdir -p $(@D)
	$(call say,CC)
	$(Q)$(build_workload) -m32 -ffreestanding -fomit-frame-pointer -fno-pie -fno-stack-protector \
		-fasynchronous-unwind-tables -nostdlib -static -Wl,--build-id=sha1

workloads: $(all_workloads) ## Build tests/workloads, the programs whose true profile is known
fuzz-programs: $(fuzz)

check: $(checks) ## Test what needs no root
# Seeds find nothing without sanitizers that they do not find with them.
check-plain: $(filter-out check-fuzz,$(checks)) ## The same, beside the checks of a sanitized build

check-unit: $(unit)
	scripts/tap --label unit --jobs 2 $(unit)

check-golden: $(golden)
	BUILD=$(BUILD) tests/golden/run

# Compares prof's reading with that of an independent reader.
check-readers: $(readers)
	BUILD=$(BUILD) tests/readers/run

# Readers of untrusted bytes get their seeds, and everything that ever broke them.
check-fuzz: $(fuzz)
	scripts/tap --label fuzz --plain $(foreach f,$(fuzz),"$(f) tests/fuzz/corpus/$(patsubst fuzz_%,%,$(notdir $(f)))")

# Command lines that need no root. One waits most of its time, and so begins first.
slow_cli := tests/cli/pusher.sh
check-cli: $(prof) $(prof_view) $(prof_browse) $(prof_alloc) $(BUILD)/prof-launcher $(cli_programs) $(readers) $(golden_profiles)
	BUILD=$(BUILD) PROF=$(prof) scripts/tap --label cli --jobs 3 $(slow_cli) $(filter-out $(slow_cli),$(wildcard tests/cli/*.sh))

check-checker:
	scripts/tap --label checker --plain "python3 tests/check_profile.py --self-test" \
		"python3 tests/golden/difference.py --self-test"

# Compares figures with an independent reading of the same files.
check-report: $(prof) $(golden_profiles)
	scripts/tap --label report "python3 tests/check_report.py $(prof) $(golden_profiles) $(wildcard tests/readers/files/*.json)"

# What prof diff says of small profiles.
check-diff: $(prof)
	scripts/tap --label diff "tests/diff/run $(prof)"

# The same samples in each format as an independent reading of the profiles has them.
check-convert: $(prof) $(golden_profiles)
	scripts/tap --label convert "python3 tests/check_convert.py $(prof) $(golden_profiles) $(wildcard tests/readers/files/*.json)"

check-scripts:
	scripts/tap --label scripts --jobs 2 tests/scripts/*.sh

golden-accept: $(golden) $(prof) ## Take what the golden tests give now as right
	BUILD=$(BUILD) tests/golden/run --accept
	tests/diff/run --accept $(prof)

e2e: $(prof) $(prof_view) $(prof_browse) $(prof_alloc) $(e2e_programs) $(all_workloads) ## Record real programs and judge the profiles (root)
	BUILD=$(BUILD) PROF=$(prof) tests/e2e/run $(E2E)

# Only counts matter here: failed tests are printed, and the rest runs. Programs that cannot write their
# counts do not say so.
coverage: ## Run tests with gcov, print what they run (build-coverage/; as root E2E=all or "basics names")
	$(MAKE) COVERAGE=1 all tests
	scripts/coverage --begin
	-GCOV_ERROR_FILE=/dev/null $(MAKE) -s -k COVERAGE=1 check-unit check-golden check-readers check-fuzz check-cli check-report check-diff
	$(if $(E2E),-GCOV_ERROR_FILE=/dev/null $(MAKE) -s COVERAGE=1 E2E="$(filter-out all,$(E2E))" e2e)
	scripts/coverage

lint: $(prof) $(prof_view) $(prof_browse) $(prof_alloc) ## Check style, sizes, the include law, scripts, man pages and --help
	PROF=$(prof) scripts/tap --label lint --timeout 900 scripts/lint

fuzz: ## Build the fuzz targets with clang's fuzzer into build-fuzz/ (run them: scripts/fuzz)
	$(MAKE) BUILD=build-fuzz CC=$(CLANG) SAN=fuzzer,address,undefined fuzz-programs

bench: $(prof) $(bench) $(workloads) $(workloads_nofp) ## Measure against perf and against floors (root)
	BUILD=$(BUILD) PROF=$(prof) scripts/bench $(BENCH_ARGS)

# Quotes any text as a word of the shell.
installed = '$(subst ','\'',$(DESTDIR)$(PREFIX)/$(1))'
man_page = share/man/man$(subst .,,$(suffix $(p)))/$(notdir $(p))
install: $(prof) $(prof_view) $(prof_browse) $(prof_alloc) ## Install prof and its parts, man pages and completions (PREFIX=/usr/local DESTDIR=)
	install -D -m 755 $(prof) $(call installed,bin/prof)
	$(foreach p,$(prof_view),install -D -m 755 $(p) $(call installed,lib/prof/prof-view))
	$(foreach p,$(prof_browse),install -D -m 755 $(p) $(call installed,lib/prof/prof-browse))
	install -D -m 644 $(prof_alloc) $(call installed,lib/prof/prof-alloc.so)
	$(foreach p,$(man_pages),install -D -m 644 $(p) $(call installed,$(man_page)) &&) true
	install -d $(call installed,$(call unit_place))
	$(foreach u,$(units),sed 's|@PREFIX@|$(PREFIX)|' packaging/systemd/$(u) >$(call installed,$(call unit_place,$(u))) &&) true
	install -D -m 644 packaging/systemd/prof.sysusers $(call installed,$(sysusers))
	install -D -m 644 packaging/systemd/agent.conf $(call installed,$(agent_conf))
	$(foreach c,$(completions),install -D -m 644 $(call completion_source,$(c)) $(call installed,$(c)) &&) true

uninstall: ## Remove what install put there
	rm -rf $(call installed,bin/prof) $(call installed,lib/prof)
	rm -f $(foreach u,$(units),$(call installed,$(call unit_place,$(u)))) $(call installed,$(sysusers)) $(call installed,$(agent_conf)) \
		$(foreach p,$(man_pages),$(call installed,$(man_page))) $(foreach c,$(completions),$(call installed,$(c)))

dist: ## Pack the last commit's files into build/prof-VERSION.tar.xz, which builds without git
	@mkdir -p $(BUILD)
	$(call say,DIST)
	$(Q)git archive --prefix=prof-$(VERSION)/ HEAD | xz -T1 > $(BUILD)/prof-$(VERSION).tar.xz

clean: ## Remove all build directories
	rm -rf build build-*

help: ## List these targets
	@sed -n 's/^\([a-z0-9-]*\):.*## \(.*\)/  make \1\t\2/p' $(firstword $(MAKEFILE_LIST)) | expand -t 22

-include $(if $(wildcard $(BUILD) $(plain)),$(shell find $(wildcard $(sort $(BUILD) $(plain))) -name '*.d'))
