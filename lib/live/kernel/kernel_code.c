/* SPDX-License-Identifier: MIT */
#include "lib/live/kernel/kernel_code.h"

#include <bpf/bpf.h>
#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include "lib/base/cleanup.h"
#include "lib/base/log.h"
#include "lib/stream/record/record.h"

/*
 * Limits on programs and functions per program; beyond them, names come from the kernel's list
 * alone.
 */
#define MAX_PROGRAMS 1000
#define MAX_FUNCTIONS 256

void kernel_code_send(struct module_registry *modules, record_sink_fn *sink, void *ctx,
		      const struct map_event *event)
{
	const struct special_module module = {
		.kind = MODULE_KERNEL_DYNAMIC,
		.path = event->path,
		.base = event->start,
		.fd = -1,
	};
	struct rec_map map = {.start = event->start, .end = event->start + event->size};

	record_init(&map.rec, REC_MAP, sizeof(map), event->time, 0, 0);
	map.rec.flags = MAP_KERNEL_SPACE;
	map.module_id = module_registry_add_special(modules, event->time, &module);
	sink(ctx, &map.rec);
}

/* The functions of a program, its main one first. */
struct program {
	struct bpf_prog_info info;
	uint64_t addrs[MAX_FUNCTIONS];
	uint32_t sizes[MAX_FUNCTIONS];
	uint8_t tags[MAX_FUNCTIONS][BPF_TAG_SIZE];
};

static uint32_t smaller(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

/* Returns the number of functions with known address, size and tag. */
static uint32_t read_program(int fd, struct program *p)
{
	uint32_t size = sizeof(p->info), count;

	p->info = (struct bpf_prog_info){
		.nr_jited_ksyms = MAX_FUNCTIONS,
		.jited_ksyms = (uintptr_t)p->addrs,
		.nr_jited_func_lens = MAX_FUNCTIONS,
		.jited_func_lens = (uintptr_t)p->sizes,
		.nr_prog_tags = MAX_FUNCTIONS,
		.prog_tags = (uintptr_t)p->tags,
	};
	if (bpf_obj_get_info_by_fd(fd, &p->info, &size) != 0)
		return 0;
	count = smaller(p->info.nr_jited_ksyms, p->info.nr_jited_func_lens);
	return smaller(smaller(count, p->info.nr_prog_tags), MAX_FUNCTIONS);
}

/* Uses the kernel's naming, except that the kernel knows names whole that are cut here. */
static void name_function(const struct program *p, uint32_t number, char *name, size_t size)
{
	size_t used = (size_t)snprintf(name, size, "bpf_prog_");

	for (size_t i = 0; i < BPF_TAG_SIZE; i++)
		used += (size_t)snprintf(name + used, size - used, "%02x", p->tags[number][i]);
	if (!number && p->info.name[0])
		snprintf(name + used, size - used, "_%.*s", BPF_OBJ_NAME_LEN, p->info.name);
}

void kernel_code_send_loaded(struct module_registry *modules, record_sink_fn *sink, void *ctx,
			     uint64_t time)
{
	struct program program;
	uint32_t id = 0;

	for (size_t i = 0; i < MAX_PROGRAMS && bpf_prog_get_next_id(id, &id) == 0; i++) {
		_cleanup_close_ int fd = bpf_prog_get_fd_by_id(id);
		uint32_t count = fd >= 0 ? read_program(fd, &program) : 0;

		for (uint32_t k = 0; k < count; k++) {
			char name[64];
			struct map_event event = {
				.kind = MAP_EVENT_CODE,
				.time = time,
				.start = program.addrs[k],
				.size = program.sizes[k],
				.path = name,
			};

			/* Addresses may be hidden. */
			if (!event.start || !event.size)
				continue;
			name_function(&program, k, name, sizeof(name));
			kernel_code_send(modules, sink, ctx, &event);
		}
	}
}
