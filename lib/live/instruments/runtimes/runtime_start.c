/* SPDX-License-Identifier: MIT */
#include "lib/live/instruments/runtimes/runtime_start.h"

#include <errno.h>

#include "lib/base/clock.h"

int runtime_start(const struct runtime_program *program, struct late_reader *reader,
		  const struct starting_process *process, struct runtime_layout *layout,
		  struct error *err)
{
	const struct runtime *runtime = runtimes[layout->kind];
	union {
		struct runtime_process head;
		uint64_t words[RUNTIME_PROCESS_MAX / sizeof(uint64_t)];
	} told = {0};
	struct runtime_memory lasting = {0};
	int result;

	if (!runtime->start)
		return 1;
	late_reader_begin(reader, (pid_t)process->pid, clock_monotonic_ns());
	result = runtime->start(layout, process->bias, late_reader_read, reader, &told, &lasting,
				err);
	if (result > 0)
		late_reader_keep(reader, (pid_t)process->pid, &lasting);
	told.head.execs = process->execs;
	if (result > 0 && runtime_program_set_process(program, process->pid, &told, err))
		result = -EIO;
	return result;
}
