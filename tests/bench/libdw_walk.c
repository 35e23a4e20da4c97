/* SPDX-License-Identifier: MIT */
#include "tests/bench/libdw_walk.h"

#include <elfutils/libdwfl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/cleanup.h"

/* libdw needs ids of a process and a thread; any will do. */
#define SOME_PID 1

struct libdw_space {
	Dwfl *dwfl;
	bool is_arm64;
	/* State of the current walk. */
	const struct walk_regs *regs;
	const uint8_t *stack;
	size_t stack_size;
	struct libdw_path *path;
	bool has_top;
};

static int no_elf(Dwfl_Module *module, void **data, const char *name, Dwarf_Addr base,
		  char **file_name, Elf **elf)
{
	(void)module, (void)data, (void)name, (void)base, (void)file_name, (void)elf;
	return -1;
}

/* Both walkers read the same files, and no others. */
static int no_debuginfo(Dwfl_Module *module, void **data, const char *name, Dwarf_Addr base,
			const char *file_name, const char *link, GElf_Word crc, char **found)
{
	(void)module, (void)data, (void)name, (void)base;
	(void)file_name, (void)link, (void)crc, (void)found;
	return -1;
}

static const Dwfl_Callbacks file_callbacks = {
	.find_elf = no_elf,
	.find_debuginfo = no_debuginfo,
};

static pid_t next_thread(Dwfl *dwfl, void *arg, void **thread_arg)
{
	if (*thread_arg)
		return 0;
	*thread_arg = arg;
	return SOME_PID;
}

static bool get_thread(Dwfl *dwfl, pid_t tid, void *arg, void **thread_arg)
{
	(void)dwfl, (void)tid;
	*thread_arg = arg;
	return true;
}

static bool read_memory(Dwfl *dwfl, Dwarf_Addr addr, Dwarf_Word *result, void *arg)
{
	struct libdw_space *s = arg;
	uint64_t offset = addr - s->regs->sp;

	if (addr < s->regs->sp) {
		s->path->below_copy = true;
		return false;
	}
	if (s->stack_size < 8 || offset > s->stack_size - 8) {
		s->path->left_copy = true;
		return false;
	}
	memcpy(result, s->stack + offset, sizeof(*result));
	return true;
}

static bool set_registers(Dwfl_Thread *thread, void *arg)
{
	const struct libdw_space *s = arg;
	Dwarf_Word values[33] = {0};
	unsigned int count = s->is_arm64 ? 32 : 17;

	memcpy(values, s->regs->general, sizeof(s->regs->general));
	values[s->is_arm64 ? 31 : 7] = s->regs->sp;
	if (s->is_arm64)
		dwfl_thread_state_register_pc(thread, s->regs->pc);
	else
		values[16] = s->regs->pc;
	return dwfl_thread_state_registers(thread, 0, count, values);
}

static const Dwfl_Thread_Callbacks thread_callbacks = {
	.next_thread = next_thread,
	.get_thread = get_thread,
	.memory_read = read_memory,
	.set_initial_registers = set_registers,
};

struct libdw_space *libdw_space_new(void)
{
	struct libdw_space *s = xcalloc(1, sizeof(*s));

	s->dwfl = dwfl_begin(&file_callbacks);
	dwfl_report_begin(s->dwfl);
	return s;
}

void libdw_space_free(struct libdw_space *s)
{
	if (!s)
		return;
	dwfl_end(s->dwfl);
	free(s);
}

void libdw_space_add(struct libdw_space *s, const char *name, int fd, uint64_t bias)
{
	int copy = dup(fd);

	if (copy >= 0 && !dwfl_report_elf(s->dwfl, name, name, copy, bias, true))
		close(copy);
}

bool libdw_space_finish(struct libdw_space *s, bool is_arm64)
{
	s->is_arm64 = is_arm64;
	dwfl_report_end(s->dwfl, NULL, NULL);
	return dwfl_attach_state(s->dwfl, NULL, SOME_PID, &thread_callbacks, s);
}

static int add_frame(Dwfl_Frame *frame, void *arg)
{
	struct libdw_space *s = arg;
	struct libdw_path *path = s->path;
	Dwarf_Addr pc;
	bool is_pc;

	if (!dwfl_frame_pc(frame, &pc, &is_pc))
		return DWARF_CB_ABORT;
	if (!s->has_top) {
		s->has_top = true;
		return DWARF_CB_OK;
	}
	if (path->depth == path->capacity) {
		path->is_cut = true;
		return DWARF_CB_ABORT;
	}
	path->addrs[path->depth] = pc;
	path->is_pc[path->depth++] = is_pc;
	return DWARF_CB_OK;
}

void libdw_walk(struct libdw_space *s, const struct walk_regs *regs, const uint8_t *stack,
		size_t stack_size, struct libdw_path *path)
{
	int result;

	s->regs = regs;
	s->stack = stack;
	s->stack_size = stack_size;
	s->path = path;
	s->has_top = false;
	path->depth = 0;
	path->is_cut = path->left_copy = path->below_copy = false;
	result = dwfl_getthread_frames(s->dwfl, SOME_PID, add_frame, s);
	path->is_end = result == 0;
	path->error = result == -1 ? dwfl_errmsg(-1) : NULL;
}

const char *libdw_function(struct libdw_space *s, uint64_t addr)
{
	Dwfl_Module *module = dwfl_addrmodule(s->dwfl, addr);
	const char *name = module ? dwfl_module_addrname(module, addr) : NULL;

	return name ? name : "?";
}
