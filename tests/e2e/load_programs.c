/* SPDX-License-Identifier: MIT */
/*
 * Loads the BPF programs with every combination of the switches that the verifier sees as constants
 * (bpf/config.h): each decides which code is there at all, and thus whether a kernel takes it.
 * Prints a line for each combination: the switches, then how many instructions the verifier went
 * through for each program and for all of them. Fails where a kernel refuses one.
 *
 * With --types: loads them once as libbpf does it, with all types of the kernel, and once with
 * those that prof picks. Fails where that makes a difference to any instruction, and says to how
 * many it makes none.
 *
 * With --bytes: runs the program that tells of a loaded module, and fails unless the bytes that it
 * counts are those that are in the ring. Few kernels of test machines can load a module.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "bpf/config.h"
#include "bpf/name_set.h"
#include "lib/base/alloc.h"
#include "lib/live/bpf/kernel_types.h"
#include "lib/live/bpf/ring.h"
#include "prof.skel.h"

#define TABLE_SIZE 1024
#define RING_SIZE 65536

static const struct {
	const char *name;
	unsigned int flags;
} methods[] = {
	{"auto", UNWIND_BY_CFI | UNWIND_BY_FRAME_POINTER | UNWIND_BY_SCAN},
	{"cfi", UNWIND_BY_CFI},
	{"fp", UNWIND_BY_KERNEL},
	{"none", 0},
};
#define METHOD_COUNT (sizeof(methods) / sizeof(methods[0]))

struct combination {
	size_t method;
	bool has_copies, in_namespace, record_all;
};

static int print_message(enum libbpf_print_level level, const char *fmt, va_list args)
{
	return level == LIBBPF_WARN ? vfprintf(stderr, fmt, args) : 0;
}

/* One that names can meet or not: else there is nothing behind it for the verifier to look at. */
static void configure_names(struct name_set *set)
{
	set->starts[0] = set->starts[1] = 1;
	set->ends[0] = set->ends[1] = 2;
	set->accepted['a'][0] = set->accepted['b'][1] = ~0ull;
}

static void configure(struct prof_bpf *skeleton, const struct combination *c)
{
	struct bpf_config *config = (struct bpf_config *)&skeleton->rodata->config;

	config->user_pc_mask = (1ull << 48) - 1;
	config->wakeup_bytes = 1 << 18;
	config->stack_limit = 127;
	config->pid_inode = c->in_namespace;
	config->copy_bytes = c->has_copies ? 1 << 19 : 0;
	config->unwind = methods[c->method].flags;
	config->record_all = c->record_all;
	/* With every filter that there is, and control groups of either version. */
	config->filter = c->record_all ? ~0u : 0;
	config->cgroup_hierarchy = c->has_copies;
	config->arguments = c->has_copies;
	config->uid_count = 1;
	configure_names((struct name_set *)&skeleton->rodata->process_names);
	configure_names((struct name_set *)&skeleton->rodata->thread_names);
	config->full_bytes = 1 << 19;
	/* A kernel without modules has no such tracepoint. */
	bpf_program__set_autoload(skeleton->progs.on_module, access("/proc/modules", F_OK) == 0);
	bpf_map__set_max_entries(skeleton->maps.rings, 1);
	bpf_map__set_max_entries(skeleton->maps.tracked, TABLE_SIZE);
	bpf_map__set_max_entries(skeleton->maps.own_tids, TABLE_SIZE);
	bpf_map__set_max_entries(skeleton->maps.unwind_spaces, TABLE_SIZE);
}

static int print_programs(const struct prof_bpf *skeleton)
{
	struct bpf_program *program;
	unsigned int total = 0;

	bpf_object__for_each_program(program, skeleton->obj)
	{
		struct bpf_prog_info info = {0};
		unsigned int size = sizeof(info);

		if (!bpf_program__autoload(program))
			continue;
		if (bpf_obj_get_info_by_fd(bpf_program__fd(program), &info, &size))
			return -1;
		printf(" %s %u", bpf_program__name(program), info.verified_insns);
		total += info.verified_insns;
	}
	printf(" all %u\n", total);
	return 0;
}

static int try_combination(const struct combination *c)
{
	struct prof_bpf *skeleton = prof_bpf__open();
	int ret;

	printf("unwind %s copies %d namespace %d all %d:", methods[c->method].name, c->has_copies,
	       c->in_namespace, c->record_all);
	if (!skeleton)
		return -1;
	configure(skeleton, c);
	ret = prof_bpf__load(skeleton);
	if (ret == 0)
		ret = print_programs(skeleton);
	else
		printf(" refused: %s\n", strerror(-ret));
	prof_bpf__destroy(skeleton);
	return ret;
}

/* NULL, with a reason on stderr, where that fails. */
static struct prof_bpf *load_with(const char *types)
{
	LIBBPF_OPTS(bpf_object_open_opts, options, .btf_custom_path = types);
	struct prof_bpf *skeleton = prof_bpf__open_opts(&options);
	/* Everything that reads the kernel is there. */
	const struct combination all = {.has_copies = true, .in_namespace = true};

	if (!skeleton)
		return NULL;
	configure(skeleton, &all);
	((struct bpf_config *)&skeleton->rodata->config)->filter = ~0u;
	if (prof_bpf__load(skeleton) == 0)
		return skeleton;
	prof_bpf__destroy(skeleton);
	return NULL;
}

static struct prof_bpf *load_with_picked(const struct btf *object)
{
	struct type_names names = {0};
	struct strbuf types = {0};
	struct error err = {0};
	int file = memfd_create("types", MFD_CLOEXEC);
	struct prof_bpf *skeleton = NULL;
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", file);
	type_names_add_all(&names, object);
	if (kernel_types_read(&types, &names, NULL, &err))
		fprintf(stderr, "%s\n", err.text);
	else if (write(file, types.text, types.size) == (ssize_t)types.size)
		skeleton = load_with(path);
	type_names_release(&names);
	strbuf_release(&types);
	close(file);
	return skeleton;
}

/* Where maps are named, their descriptors differ. */
static bool same_instruction(const struct bpf_insn *a, const struct bpf_insn *b)
{
	bool is_map = a->code == (BPF_LD | BPF_IMM | BPF_DW) &&
		      (a->src_reg == BPF_PSEUDO_MAP_FD || a->src_reg == BPF_PSEUDO_MAP_VALUE);

	return a->code == b->code && a->dst_reg == b->dst_reg && a->src_reg == b->src_reg &&
	       a->off == b->off && (is_map || a->imm == b->imm);
}

/* How many are the same, or -1. */
static long compare_programs(const struct bpf_program *a, const struct bpf_program *b)
{
	size_t count = bpf_program__insn_cnt(a);

	if (strcmp(bpf_program__name(a), bpf_program__name(b)) != 0 ||
	    count != bpf_program__insn_cnt(b))
		return -1;
	for (size_t i = 0; i < count; i++) {
		if (same_instruction(bpf_program__insns(a) + i, bpf_program__insns(b) + i))
			continue;
		printf("%s: instruction %zu differs\n", bpf_program__name(a), i);
		return -1;
	}
	return (long)count;
}

static int compare_types(void)
{
	struct prof_bpf *whole = load_with(NULL);
	struct prof_bpf *picked = whole ? load_with_picked(bpf_object__btf(whole->obj)) : NULL;
	struct bpf_program *a = NULL, *b = NULL;
	long same = 0, all = 0;

	while (picked && same >= 0 && (a = bpf_object__next_program(whole->obj, a))) {
		b = bpf_object__next_program(picked->obj, b);
		same = b ? compare_programs(a, b) : -1;
		all += same;
	}
	prof_bpf__destroy(picked);
	prof_bpf__destroy(whole);
	if (!picked || same < 0)
		return 1;
	printf("%ld instructions are the same\n", all);
	return 0;
}

static void add_bytes(void *ctx, const void *data, size_t size)
{
	uint64_t *bytes = ctx;

	(void)data;
	*bytes += size;
}

/* Runs it on CPU 0 for a module that is nowhere: nothing of it can be read. */
static int run_on_module(const struct prof_bpf *skeleton)
{
	uint64_t module[1] = {0};
	LIBBPF_OPTS(bpf_test_run_opts, run, .ctx_in = module, .ctx_size_in = sizeof(module),
		    .flags = BPF_F_TEST_RUN_ON_CPU);

	return bpf_prog_test_run_opts(bpf_program__fd(skeleton->progs.on_module), &run);
}

/* Of CPU 0. */
static uint64_t counted_bytes(const struct prof_bpf *skeleton)
{
	int cpus = libbpf_num_possible_cpus();
	struct bpf_counters *counters = xcalloc((size_t)(cpus > 0 ? cpus : 1), sizeof(*counters));
	uint32_t zero = 0;
	uint64_t bytes = 0;

	if (bpf_map_lookup_elem(bpf_map__fd(skeleton->maps.counters), &zero, counters) == 0)
		bytes = counters[0].written_bytes;
	free(counters);
	return bytes;
}

static int compare_bytes(void)
{
	const struct combination plain = {0};
	struct prof_bpf *skeleton = prof_bpf__open();
	struct ring ring = {.fd = -1};
	int fd = ring_make(RING_SIZE);
	uint32_t cpu = 0;
	uint64_t bytes = 0, counted = 0;

	if (!skeleton || fd < 0)
		return 1;
	configure(skeleton, &plain);
	bpf_program__set_autoload(skeleton->progs.on_module, true);
	if (prof_bpf__load(skeleton) ||
	    bpf_map_update_elem(bpf_map__fd(skeleton->maps.rings), &cpu, &fd, BPF_ANY) ||
	    ring_open(&ring, fd, RING_SIZE) || run_on_module(skeleton))
		return 1;
	ring_drain(&ring, add_bytes, &bytes);
	counted = counted_bytes(skeleton);
	ring_close(&ring);
	prof_bpf__destroy(skeleton);
	printf("%lu bytes in the ring, %lu counted\n", (unsigned long)bytes,
	       (unsigned long)counted);
	return !bytes || bytes != counted;
}

int main(int argc, char **argv)
{
	int ret = 0;

	libbpf_set_print(print_message);
	if (argc > 1 && strcmp(argv[1], "--bytes") == 0)
		return compare_bytes();
	if (argc > 1)
		return strcmp(argv[1], "--types") == 0 ? compare_types() : 2;
	for (unsigned int i = 0; i < METHOD_COUNT * 8; i++) {
		struct combination c = {
			.method = i / 8,
			.has_copies = i & 1,
			.in_namespace = i & 2,
			.record_all = i & 4,
		};

		ret |= try_combination(&c);
	}
	return ret ? 1 : 0;
}
