/* SPDX-License-Identifier: MIT */
/*
 * Names addresses of one file as a recording would.
 *   bench_symbolize                 many addresses of this program; prints how long it took
 *   bench_symbolize FILE <ADDRESSES prints the chain of each, for symbolize_compare.py
 */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "lib/code/binary/binary.h"
#include "symbolize/symbolize_profile.h"

#define ADDRESSES 20000

struct addresses {
	VEC(uint64_t) rows; /* vaddrs */
};

static module_id add_module(struct profile *p, struct file_set *files, const char *path)
{
	string_id name = strings_intern(&p->strings, path);
	module_id id = modules_add(&p->modules, PROFILE_MODULE_FILE, name, name);
	struct module *module = modules_get(&p->modules, id);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct binary_summary summary;
	struct error err;

	if (fd < 0 || binary_summarize(fd, &summary, &err) != 0) {
		fprintf(stderr, "%s: no ELF file\n", path);
		exit(1);
	}
	module->file_key = 0;
	file_set_add(files, 0, fd);
	module->build_id_size = summary.build_id_size;
	memcpy(module->build_id, summary.build_id, summary.build_id_size);
	for (size_t i = 0; i < summary.segment_count; i++) {
		const struct binary_segment *s = &summary.segments[i];

		vec_push(&module->segments, (struct module_segment){s->file_offset, s->file_size,
								    s->vaddr, s->executable});
	}
	binary_summary_release(&summary);
	return id;
}

/* Adds one sample per address, in order. */
static void add_samples(struct profile *p, module_id id, const struct addresses *addresses)
{
	const struct module *module = modules_get(&p->modules, id);
	struct profile_thread thread = {.pid = 1, .tid = 1, .is_main = true};

	vec_for_each(&addresses->rows, const uint64_t *, addr) {
		struct frame frame = {.module = id, .func = NO_FUNC, .symbol = NO_SYMBOL};
		frame_id row;

		/* A relocatable file: an offset in .text. */
		if (!module->segments.count)
			frame.offset = *addr;
		vec_for_each(&module->segments, const struct module_segment *, s) {
			if (*addr >= s->vaddr && *addr - s->vaddr < s->file_size)
				frame.offset = *addr - s->vaddr + s->file_offset;
		}
		row = frames_intern(&p->frames, &frame);
		vec_push(&thread.samples.open,
			 (struct sample){.stack = stacks_intern(&p->stacks, NO_STACK, row)});
	}
	threads_add(&p->threads, &thread);
}

/* Prints like llvm-symbolizer: innermost function first, each with file and line. */
static void print_chain(const struct profile *p, stack_id id)
{
	for (; id != NO_STACK; id = p->stacks.rows.items[id].parent) {
		const struct frame *frame = frames_get(&p->frames, p->stacks.rows.items[id].frame);
		const struct func *func = &p->funcs.rows.items[frame->func];

		printf("%s\n", strings_get(&p->strings, func->name));
		printf("%s:%" PRIu32 "\n",
		       func->file == NO_SOURCE_FILE
			       ? "??"
			       : strings_get(&p->strings,
					     p->source_files.rows.items[func->file].path),
		       frame->line);
	}
	printf("\n");
}

static void run(const char *path, const struct addresses *addresses, bool is_printing)
{
	struct profile *p = profile_new();
	const struct symbolize_options options = {.files = file_set_new(16)};
	uint64_t start;

	add_samples(p, add_module(p, options.files, path), addresses);
	start = clock_process_cpu_ns();
	symbolize_profile(p, &options);
	fprintf(stderr, "%zu addresses: %.1f ms, %zu frames, %.1f %% of them named\n",
		addresses->rows.count, (double)(clock_process_cpu_ns() - start) / 1e6,
		p->frames.rows.count,
		100.0 * (double)profile_named_frames(p) / (double)(p->frames.rows.count + 1));
	for (size_t i = 0; is_printing && i < addresses->rows.count; i++) {
		printf("0x%" PRIx64 "\n", addresses->rows.items[i]);
		print_chain(p, threads_get(&p->threads, 0)->samples.open.items[i].stack);
	}
	file_set_free(options.files);
	profile_free(p);
}

static void read_addresses(struct addresses *addresses)
{
	uint64_t addr;

	while (scanf("%" SCNx64, &addr) == 1)
		vec_push(&addresses->rows, addr);
}

/* Spreads over the code from main() on, after which comes most of the program. */
static void choose_addresses(struct addresses *addresses)
{
	extern const char __executable_start[], etext[], main_start[] __asm__("main");
	uint64_t first = (uint64_t)(main_start - __executable_start);
	uint64_t size = (uint64_t)(etext - main_start);

	for (uint64_t i = 0; i < ADDRESSES; i++)
		vec_push(&addresses->rows, first + i * size / ADDRESSES);
}

int main(int argc, char **argv)
{
	struct addresses addresses = {0};

	if (argc > 1)
		read_addresses(&addresses);
	else
		choose_addresses(&addresses);
	run(argc > 1 ? argv[1] : "/proc/self/exe", &addresses, argc > 1);
	vec_release(&addresses.rows);
	return 0;
}
