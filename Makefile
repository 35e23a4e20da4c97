# SPDX-License-Identifier: MIT
# prof: `make help` lists the targets. Products only in build/ (build-SAN/ for sanitizers).

VERSION := 0.1
ARCH ?= $(shell uname -m | sed 's/aarch64/arm64/')
PREFIX ?= /usr/local
DESTDIR ?=
SAN ?=
comma := ,
BUILD ?= build$(if $(SAN),-$(subst $(comma),-,$(SAN)))$(if $(filter-out $(HOST_ARCH),$(ARCH)),-$(ARCH))
HOST_ARCH := $(shell uname -m | sed 's/aarch64/arm64/')

CC ?= cc
CLANG ?= clang
BPFTOOL ?= $(or $(shell command -v bpftool),/usr/sbin/bpftool)
TRIPLE := $(if $(filter arm64,$(ARCH)),aarch64,x86_64)-linux-gnu
SYSROOT ?=

WARNINGS := -Wall -Wextra -Wshadow -Wmissing-prototypes -Wstrict-prototypes $(if $(WERROR),-Werror)
OPT ?= -O2
CPPFLAGS += -D_GNU_SOURCE -I. -I$(BUILD)/gen -DPROF_VERSION='"$(VERSION)"'
CFLAGS ?= -g
CFLAGS += -std=gnu11 $(OPT) -fno-omit-frame-pointer $(WARNINGS) $(if $(SAN),-fsanitize=$(SAN) -fno-sanitize-recover=undefined)
LDFLAGS += $(if $(SAN),-fsanitize=$(SAN)) -pthread
LIBS := -lbpf -ldw -lelf -lzstd -ljansson -lisal -liberty -lcap -llzma
BPF_CFLAGS := -g -O2 -mcpu=v3 --target=bpf -D__TARGET_ARCH_$(if $(filter arm64,$(ARCH)),arm64,x86) \
	-I. -I$(SYSROOT)/usr/include -I$(SYSROOT)/usr/include/$(TRIPLE) -Wall -Wextra $(if $(WERROR),-Werror)

LIB_SRC := $(wildcard lib/*/*.c symbolize/*.c)
CMD_SRC := $(wildcard cmd/*.c)
BPF_SRC := $(wildcard bpf/*.bpf.c)
UNIT_SRC := $(wildcard tests/unit/test_*.c)
UNIT_HELPER_SRC := $(filter-out $(UNIT_SRC),$(wildcard tests/unit/*.c))
GOLDEN_SRC := $(wildcard tests/golden/*.c)
FUZZ_SRC := $(wildcard tests/fuzz/fuzz_*.c)
BENCH_SRC := $(wildcard tests/bench/bench_*.c)
WORKLOAD_SRC := $(wildcard tests/workloads/*.c)
objects = $(patsubst %.c,$(BUILD)/%.o,$(1))

SKELETON := $(BUILD)/gen/prof.skel.h
PROF := $(BUILD)/prof
LIBPROF := $(BUILD)/libprof.a
UNIT := $(patsubst %.c,$(BUILD)/%,$(UNIT_SRC))
GOLDEN := $(if $(GOLDEN_SRC),$(BUILD)/tests/golden/golden)
# The fuzz targets as plain programs that replay a corpus; tests/fuzz/Makefile builds them for clang.
FUZZ := $(patsubst %.c,$(BUILD)/%,$(FUZZ_SRC))
BENCH := $(patsubst %.c,$(BUILD)/%,$(BENCH_SRC))

.PHONY: all check e2e lint bench fuzz golden-accept install uninstall clean help workloads
.SECONDARY:
.DELETE_ON_ERROR:
all: $(PROF) ## Build prof (leaves build/prof)

$(PROF): $(call objects,$(CMD_SRC)) $(LIBPROF)
	$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ $(LIBS)

$(LIBPROF): $(call objects,$(LIB_SRC))
	rm -f $@
	$(AR) rcs $@ $^

$(BUILD)/%.o: %.c Makefile | $(SKELETON)
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) $(CFLAGS) -MMD -MP -c -o $@ $<

$(BUILD)/%.bpf.o: %.bpf.c Makefile
	@mkdir -p $(@D)
	$(CLANG) $(BPF_CFLAGS) -MMD -MP -c -o $@ $<

$(BUILD)/prof.bpf.o: $(patsubst %.c,$(BUILD)/%.o,$(BPF_SRC))
	$(BPFTOOL) gen object $@ $^

$(SKELETON): $(BUILD)/prof.bpf.o
	@mkdir -p $(@D)
	$(BPFTOOL) gen skeleton $< name prof_bpf > $@.tmp
	mv $@.tmp $@

# One object list a program: sanitizers and -Werror hold for tests too.
$(BUILD)/tests/unit/test_%: $(BUILD)/tests/unit/test_%.o $(call objects,$(UNIT_HELPER_SRC)) $(LIBPROF)
	$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ $(LIBS) -lcmocka

$(BUILD)/tests/golden/golden: $(call objects,$(GOLDEN_SRC)) $(LIBPROF)
	$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ $(LIBS)

$(BUILD)/tests/fuzz/fuzz_%: $(BUILD)/tests/fuzz/fuzz_%.o $(BUILD)/tests/fuzz/replay.o $(LIBPROF)
	$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ $(LIBS)

$(BUILD)/tests/bench/bench_%: $(BUILD)/tests/bench/bench_%.o $(LIBPROF)
	$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ $(LIBS)

help: ## List these targets
	@sed -n 's/^\([a-z0-9-]*\):.*## \(.*\)/  make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 22

-include $(shell find $(BUILD) -name '*.d' 2>/dev/null)
