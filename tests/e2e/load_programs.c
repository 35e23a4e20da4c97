/* SPDX-License-Identifier: MIT */
/*
 * Loads all BPF objects with combinations of the switches that the verifier sees as constants
 * (bpf/config.h): each decides which code exists, and so whether a kernel accepts it. In eight
 * combinations every two switches have all pairs of their values; with --all loads every
 * combination. Prints a line for each: the switches, then the instructions that the verifier
 * processed for each program and in total. Fails if the kernel refuses one, or an older one would
 * for the stack that its calls need.
 *
 * With --types: loads them once with all types of the kernel, as libbpf does, and once with prof's
 * selection. Fails if any instruction differs, and prints the number of equal ones.
 *
 * With --bytes: runs the program that reports loaded modules, and fails unless it counts the bytes
 * that it puts into the ring. Few kernels of test machines can load a module.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <glob.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "bpf/config.h"
#include "bpf/name_set.h"
#include "lib/base/cleanup.h"
#include "lib/live/bpf/kernel_types.h"
#include "lib/live/bpf/ring.h"
#include "lib/live/bpf/programs.h"
#include "prof.skel.h"
#include "tests/e2e/stack_depth.h"

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
	bool has_copies, in_namespace, record_all, has_waits;
};

static int print_message(enum libbpf_print_level level, const char *fmt, va_list args)
{
	return level == LIBBPF_WARN ? vfprintf(stderr, fmt, args) : 0;
}

/* A set that names may match or not: otherwise the verifier could skip the code behind it. */
static void configure_names(struct name_set *set)
{
	set->starts[0] = set->starts[1] = 1;
	set->ends[0] = set->ends[1] = 2;
	set->accepted['a'][0] = set->accepted['b'][1] = ~0ull;
}

static void configure(struct prof_bpf *skeleton, const struct combination *c)
{
	struct bpf_config *config = (struct bpf_config *)&skeleton->rodata_shared->config;

	config->user_pc_mask = (1ull << 48) - 1;
	config->wakeup_bytes = 1 << 18;
	config->stack_limit = 127;
	config->pid_inode = c->in_namespace;
	config->copy_bytes = c->has_copies ? 1 << 19 : 0;
	config->unwind = methods[c->method].flags;
	config->record_all = c->record_all;
	/* All filters, and control groups of either version. */
	config->filter = c->record_all ? ~0u : 0;
	config->cgroup_hierarchy = c->has_copies;
	config->arguments = c->has_copies;
	config->return_probes = c->has_waits;
	config->uid_count = 1;
	config->waits = config->wakeups = config->locks = config->tasks = c->has_waits;
	config->interpreter_frames = c->has_copies;
	config->wait_quota = 200;
	config->wait_window_ns = config->wait_long_ns = 100000000;
	configure_names((struct name_set *)&skeleton->rodata_shared->process_names);
	configure_names((struct name_set *)&skeleton->rodata_shared->thread_names);
	config->full_bytes = 1 << 19;
	/* Kernels without modules lack the tracepoint. */
	bpf_program__set_autoload(skeleton->progs.on_module, access("/proc/modules", F_OK) == 0);
	bpf_map__set_max_entries(skeleton->maps.rings, 1);
	bpf_map__set_max_entries(skeleton->maps.tracked, TABLE_SIZE);
	bpf_map__set_max_entries(skeleton->maps.own_tids, TABLE_SIZE);
	bpf_map__set_max_entries(skeleton->maps.unwind_spaces, TABLE_SIZE);
}

/* All objects: first the one of every recording, then the others, which share its maps. */
struct objects {
	struct prof_bpf *first;
	VEC(struct bpf_object *) rows; /* the first object is among them */
};

static void objects_close(struct objects *o)
{
	for (size_t i = 0; i < o->rows.count; i++)
		stack_forget(o->rows.items[i]);
	for (size_t i = 1; i < o->rows.count; i++)
		bpf_object__close(o->rows.items[i]);
	vec_release(&o->rows);
	prof_bpf__destroy(o->first);
	*o = (struct objects){0};
}

/* Leaves one program of the object to be loaded. False: it has fewer. */
static bool leave_one(const struct bpf_object *object, unsigned int number)
{
	struct bpf_program *program;
	unsigned int at = 0;

	bpf_object__for_each_program(program, object)
		bpf_program__set_autoload(program, at++ == number);
	return number < at;
}

/*
 * Opens an object of which each program takes another type of probe, once for each. A map of
 * programs, which all of them have, is of one type.
 */
static int open_each(struct objects *o, const char *path,
		     const struct bpf_object_open_opts *options)
{
	for (unsigned int number = 0;; number++) {
		struct bpf_object *object = bpf_object__open_file(path, options);

		if (!object)
			return -1;
		if (!leave_one(object, number)) {
			bpf_object__close(object);
			return 0;
		}
		vec_push(&o->rows, object);
	}
}

static int open_one(struct objects *o, const char *path, const struct bpf_object_open_opts *options)
{
	struct bpf_object *object;

	if (strstr(path, "_markers.bpf.o"))
		return open_each(o, path, options);
	object = bpf_object__open_file(path, options);
	if (object)
		vec_push(&o->rows, object);
	return object ? 0 : -1;
}

/* Opens the objects that were built beside this program. */
static int open_others(struct objects *o, const struct bpf_object_open_opts *options)
{
	char pattern[PATH_MAX + 32] = {0};
	glob_t found = {0};
	int ret = 0;

	if (readlink("/proc/self/exe", pattern, PATH_MAX) < 0)
		return -1;
	strcpy(strrchr(pattern, '/'), "/../../gen/*.bpf.o");
	if (glob(pattern, 0, NULL, &found))
		return -1;
	for (size_t i = 0; i < found.gl_pathc && !ret; i++) {
		if (strcmp(strrchr(found.gl_pathv[i], '/'), "/prof.bpf.o") != 0)
			ret = open_one(o, found.gl_pathv[i], options);
	}
	globfree(&found);
	return ret;
}

static int objects_open(struct objects *o, const struct bpf_object_open_opts *options)
{
	*o = (struct objects){.first = prof_bpf__open_opts(options)};
	if (!o->first)
		return -1;
	vec_push(&o->rows, o->first->obj);
	if (open_others(o, options))
		return -1;
	for (size_t i = 0; i < o->rows.count; i++)
		stack_ask(o->rows.items[i]);
	return 0;
}

static int objects_load(struct objects *o)
{
	int ret = prof_bpf__load(o->first);

	for (size_t i = 1; i < o->rows.count && !ret; i++) {
		ret = share_maps(o->rows.items[i], o->first->obj);
		if (!ret)
			ret = bpf_object__load(o->rows.items[i]);
	}
	return ret;
}

/* False, and said: a kernel that is older than this one refuses the program. */
static bool stack_fits(const struct bpf_program *program)
{
	int depth = stack_depth(program);

	if (depth >= 0 && depth <= STACK_MAX)
		return true;
	fprintf(stderr, "%s needs %d bytes of stack with its calls, older kernels allow %d\n",
		bpf_program__name(program), depth, STACK_MAX);
	return false;
}

static int print_programs(const struct objects *o)
{
	struct bpf_program *program;
	unsigned int total = 0;

	vec_for_each(&o->rows, struct bpf_object **, object) {
		bpf_object__for_each_program(program, *object)
		{
			struct bpf_prog_info info = {0};
			unsigned int size = sizeof(info);

			if (!bpf_program__autoload(program))
				continue;
			if (bpf_obj_get_info_by_fd(bpf_program__fd(program), &info, &size))
				return -1;
			if (!stack_fits(program))
				return -1;
			printf(" %s %u", bpf_program__name(program), info.verified_insns);
			total += info.verified_insns;
		}
	}
	printf(" all %u\n", total);
	return 0;
}

static int try_combination(const struct combination *c)
{
	struct objects o;
	int ret = objects_open(&o, NULL);

	printf("unwind %s copies %d namespace %d all %d waits %d:", methods[c->method].name,
	       c->has_copies, c->in_namespace, c->record_all, c->has_waits);
	if (!ret) {
		configure(o.first, c);
		ret = objects_load(&o);
	}
	if (ret == 0)
		ret = print_programs(&o);
	else
		printf(" refused: %s\n", strerror(-ret));
	objects_close(&o);
	return ret;
}

/* Returns -1 after a failure, with a reason on stderr. */
static int load_open(struct objects *o)
{
	/* Enables everything that reads the kernel. */
	const struct combination all = {.has_copies = true, .in_namespace = true};

	configure(o->first, &all);
	((struct bpf_config *)&o->first->rodata_shared->config)->filter = ~0u;
	return objects_load(o);
}

static int load_with_picked(struct objects *o)
{
	struct type_names names = {0};
	struct strbuf types = {0};
	struct error err = {0};
	int file = memfd_create("types", MFD_CLOEXEC), ret = -1;
	LIBBPF_OPTS(bpf_object_open_opts, options);
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", file);
	options.btf_custom_path = path;
	type_names_add_needed(&names);
	if (kernel_types_read(&types, &names, NULL, 0, &err))
		fprintf(stderr, "%s\n", err.text);
	else if (write(file, types.text, types.size) == (ssize_t)types.size)
		ret = objects_open(o, &options);
	if (!ret)
		ret = load_open(o);
	type_names_release(&names);
	strbuf_release(&types);
	close(file);
	return ret;
}

/* Descriptors of maps differ between loads. */
static bool same_instruction(const struct bpf_insn *a, const struct bpf_insn *b)
{
	bool is_map = a->code == (BPF_LD | BPF_IMM | BPF_DW) &&
		      (a->src_reg == BPF_PSEUDO_MAP_FD || a->src_reg == BPF_PSEUDO_MAP_VALUE);

	return a->code == b->code && a->dst_reg == b->dst_reg && a->src_reg == b->src_reg &&
	       a->off == b->off && (is_map || a->imm == b->imm);
}

/* Returns the number of equal instructions, or -1. */
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

/* Returns the number of equal instructions of two objects, or -1. */
static long compare_objects(const struct bpf_object *a, const struct bpf_object *b)
{
	struct bpf_program *left = NULL, *right = NULL;
	long all = 0;

	while ((left = bpf_object__next_program(a, left))) {
		long same;

		right = bpf_object__next_program(b, right);
		same = right ? compare_programs(left, right) : -1;
		if (same < 0)
			return -1;
		all += same;
	}
	return all;
}

static int compare_types(void)
{
	struct objects whole = {0}, picked = {0};
	int ret = objects_open(&whole, NULL) || load_open(&whole);
	long all = 0;

	if (!ret)
		ret = load_with_picked(&picked) || picked.rows.count != whole.rows.count;
	for (size_t i = 0; i < whole.rows.count && !ret; i++) {
		long same = compare_objects(whole.rows.items[i], picked.rows.items[i]);

		ret = same < 0;
		all += same;
	}
	objects_close(&picked);
	objects_close(&whole);
	if (!ret)
		printf("%ld instructions are the same\n", all);
	return ret;
}

static void add_bytes(void *ctx, const void *data, size_t size)
{
	uint64_t *bytes = ctx;

	*bytes += size;
}

/* Runs it on CPU 0 for a module at an invalid address: nothing of it can be read. */
static int run_on_module(const struct prof_bpf *skeleton)
{
	uint64_t module[1] = {0};
	LIBBPF_OPTS(bpf_test_run_opts, run, .ctx_in = module, .ctx_size_in = sizeof(module),
		    .flags = BPF_F_TEST_RUN_ON_CPU);

	return bpf_prog_test_run_opts(bpf_program__fd(skeleton->progs.on_module), &run);
}

/* Counted on CPU 0. */
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

/* An orthogonal array of strength 2: four methods, four switches, eight rows. */
static int try_pairs(void)
{
	int ret = 0;

	for (size_t i = 0; i < 2 * METHOD_COUNT; i++) {
		bool first = i & 1, second = i & 2, third = !(i & 4);
		struct combination c = {
			.method = i % METHOD_COUNT,
			.has_copies = third,
			.in_namespace = third ^ first,
			.record_all = third ^ second,
			.has_waits = third ^ first ^ second,
		};

		ret |= try_combination(&c);
	}
	return ret ? 1 : 0;
}

static int try_all(void)
{
	int ret = 0;

	for (unsigned int i = 0; i < METHOD_COUNT * 16; i++) {
		struct combination c = {
			.method = i / 16,
			.has_copies = i & 1,
			.in_namespace = i & 2,
			.record_all = i & 4,
			.has_waits = i & 8,
		};

		ret |= try_combination(&c);
	}
	return ret ? 1 : 0;
}

int main(int argc, char **argv)
{
	libbpf_set_print(print_message);
	if (argc < 2)
		return try_pairs();
	if (strcmp(argv[1], "--bytes") == 0)
		return compare_bytes();
	if (strcmp(argv[1], "--types") == 0)
		return compare_types();
	return strcmp(argv[1], "--all") == 0 ? try_all() : 2;
}
