/* SPDX-License-Identifier: MIT */
/*
 * Loads the BPF programs with every combination of the switches that the verifier sees as constants
 * (bpf/config.h): each decides which code is there at all, and thus whether a kernel takes it.
 * Prints a line for each combination: the switches, then how many instructions the verifier went
 * through for each program and for all of them. Fails where a kernel refuses one.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "bpf/config.h"
#include "bpf/names.h"
#include "prof.skel.h"

#define TABLE_SIZE 1024

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
	config->uid_count = 1;
	configure_names((struct name_set *)&skeleton->rodata->process_names);
	configure_names((struct name_set *)&skeleton->rodata->thread_names);
	config->full_bytes = 1 << 19;
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

int main(void)
{
	int ret = 0;

	libbpf_set_print(print_message);
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
