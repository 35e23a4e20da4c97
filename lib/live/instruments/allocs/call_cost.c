/* SPDX-License-Identifier: MIT */
#include "lib/live/instruments/allocs/call_cost.h"

#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <unistd.h>

#include "bpf/config.h"
#include "lib/base/cleanup.h"
#include "lib/base/clock.h"
#include "lib/live/instruments/allocs/emulated_entry.h"

/* The fastest of several rounds: others may take the CPU. */
#define ROUNDS 10
#define CALLS 200

__attribute__((noinline)) static void probed_function(void)
{
	asm volatile("nop\n\tnop" ::: "memory");
}

/* Looks in the program itself, which is the first object of all. */
static int find_offset(struct dl_phdr_info *info, size_t size, void *ctx)
{
	uint64_t *offset = ctx, vaddr = (uintptr_t)probed_function - info->dlpi_addr;

	(void)size;
	for (size_t i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *segment = &info->dlpi_phdr[i];

		if (segment->p_type == PT_LOAD && vaddr - segment->p_vaddr < segment->p_filesz)
			*offset = vaddr - segment->p_vaddr + segment->p_offset;
	}
	return 1;
}

static double time_call(void)
{
	uint64_t least = UINT64_MAX;

	for (int round = 0; round < ROUNDS; round++) {
		uint64_t start = clock_thread_cpu_ns(), took;

		for (int i = 0; i < CALLS; i++)
			probed_function();
		took = clock_thread_cpu_ns() - start;
		if (took < least)
			least = took;
	}
	return (double)least / CALLS;
}

int call_cost_measure(struct call_cost *cost, int program, int return_program, uint32_t flags,
		      struct uprobe_links *links, struct error *err)
{
	_cleanup_close_ int file = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	struct uprobe_place place = {.cookie = ALLOC_SIZE};
	struct uprobe_target target = {
		.program = program,
		.flags = flags,
		.file = file,
		.pid = (uint32_t)getpid(),
		.places = &place,
		.count = 1,
	};

	dl_iterate_phdr(find_offset, &place.offset);
	if (file < 0 || !place.offset)
		return error_text(err, -ENOENT, "find the program's own file");
#ifdef __x86_64__
	place.offset += emulated_entry_find((const uint8_t *)(uintptr_t)probed_function,
					    EMULATED_ENTRY_BYTES);
#endif
	if (uprobe_attach(&target, links, err) != 1)
		return -EIO;
	cost->call_ns = time_call();
	target.program = return_program;
	target.flags |= UPROBE_RETURNS;
	if (uprobe_attach(&target, links, err) != 1)
		return -EIO;
	cost->return_ns = time_call() - cost->call_ns;
	return 0;
}
