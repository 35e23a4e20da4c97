/* SPDX-License-Identifier: MIT */
#include "lib/live/process/running_name.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/cleanup.h"
#include "lib/base/text.h"
#include "lib/stream/process/process_name.h"
#include "lib/stream/record/records.h"

#define ARGUMENTS_MAX 4096
#define STAT_MAX 1024

/* Reads the executed file's name; false for kernel threads. */
static bool read_program(uint32_t pid, char name[NAME_MAX + 1])
{
	char path[64], target[PATH_MAX], *slash;
	ssize_t size;

	snprintf(path, sizeof(path), "/proc/%u/exe", pid);
	size = readlink(path, target, sizeof(target) - 1);
	if (size <= 0)
		return false;
	target[size] = 0;
	if (text_ends_with(target, PATH_DELETED))
		target[size - (ssize_t)strlen(PATH_DELETED)] = 0;
	slash = strrchr(target, '/');
	snprintf(name, NAME_MAX + 1, "%.*s", NAME_MAX, slash ? slash + 1 : target);
	return true;
}

/* True for a fork of its parent that has not executed a program. False if unknown. */
static bool is_fork(uint32_t pid)
{
	char path[64];
	const char *after_name;
	unsigned int flags;

	snprintf(path, sizeof(path), "/proc/%u/stat", pid);
	_cleanup_free_ char *text = text_read_file(path, STAT_MAX, NULL);

	after_name = text ? strrchr(text, ')') : NULL;
	return after_name && sscanf(after_name, ") %*c %*d %*d %*d %*d %*d %u", &flags) == 1 &&
	       flags & TASK_FORKED_NO_EXEC;
}

bool running_name_read(uint32_t pid, char name[REC_NAME_SIZE])
{
	char program[NAME_MAX + 1], path[64];
	size_t size = 0;

	if (!read_program(pid, program))
		return false;
	snprintf(path, sizeof(path), "/proc/%u/cmdline", pid);
	_cleanup_free_ char *arguments = text_read_file(path, ARGUMENTS_MAX, &size);

	if (!is_fork(pid) && !process_name_fits(name, program, arguments ? arguments : "", size))
		snprintf(name, REC_NAME_SIZE, "%.*s", REC_NAME_SIZE - 1, program);
	return true;
}

static void send(const struct rec_name *thread, bool is_title, record_sink_fn *sink, void *ctx)
{
	struct rec_name process = *thread;

	process.name[REC_NAME_SIZE - 1] = 0;
	if (!running_name_read(thread->rec.pid, process.name) ||
	    (strncmp(process.name, thread->name, REC_NAME_SIZE) == 0) != is_title)
		return;
	record_init(&process.rec, REC_NAME, sizeof(process), thread->rec.time, thread->rec.pid,
		    thread->rec.pid);
	process.rec.flags = NAME_PROCESS;
	sink(ctx, &process.rec);
}

void running_name_send(const struct rec_name *thread, record_sink_fn *sink, void *ctx)
{
	send(thread, false, sink, ctx);
}

void running_name_send_title(const struct rec_name *thread, record_sink_fn *sink, void *ctx)
{
	send(thread, true, sink, ctx);
}
