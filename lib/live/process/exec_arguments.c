/* SPDX-License-Identifier: MIT */
#include "lib/live/process/exec_arguments.h"

#include <limits.h>

#include "lib/base/quote.h"
#include "lib/live/process/process_root.h"
#include "lib/stream/process/resource.h"
#include "lib/stream/record/records.h"
#include "lib/stream/text/secrets.h"

/* Maximum size of a REC_EXEC's text once masked: "***" may replace each character. */
#define TEXT_MAX (4 * EXEC_TEXT_MAX)
#define ELLIPSIS "\xe2\x80\xa6"

/* Masks secrets, and marks a truncated last argument. */
static void mask(struct strbuf *out, const char *list, size_t size, bool is_cut)
{
	secrets_mask(out, list, size, is_cut);
	if (!is_cut || !out->size)
		return;
	out->size--;
	strbuf_add(out, ELLIPSIS, sizeof(ELLIPSIS));
}

static void send(const struct rec *like, const struct strbuf *folder,
		 const struct strbuf *arguments, record_sink_fn *sink, void *ctx)
{
	size_t size = rec_arguments_size(folder->size, arguments->size);
	_cleanup_free_ struct rec_arguments *rec = NULL;

	if ((!folder->size && !arguments->size) || folder->size > TEXT_MAX ||
	    arguments->size > TEXT_MAX)
		return;
	rec = xcalloc(1, size);
	record_init(&rec->rec, REC_ARGUMENTS, size, like->time, like->pid, like->tid);
	rec->rec.cpu = like->cpu;
	rec->rec.flags = like->flags;
	rec->folder_size = (uint16_t)folder->size;
	rec->arguments_size = (uint16_t)arguments->size;
	memcpy(rec->text, strbuf_text(folder), folder->size);
	memcpy(rec->text + folder->size, strbuf_text(arguments), arguments->size);
	sink(ctx, &rec->rec);
}

void exec_arguments_send(const struct rec_exec *exec, record_sink_fn *sink, void *ctx)
{
	struct strbuf folder __attribute__((cleanup(strbuf_release_cleanup))) = {0};
	struct strbuf arguments __attribute__((cleanup(strbuf_release_cleanup))) = {0};

	path_names_join(&folder, exec->text, exec->folder_size, exec->rec.flags & FOLDER_CUT);
	mask(&arguments, exec->text + exec->folder_size, exec->arguments_size,
	     exec->rec.flags & ARGUMENTS_CUT);
	send(&exec->rec, &folder, &arguments, sink, ctx);
}

/* Appends the arguments in /proc. Returns false if there are none. */
static bool read_arguments(uint32_t pid, struct strbuf *arguments, bool *is_cut)
{
	char path[64];
	size_t size;

	snprintf(path, sizeof(path), "/proc/%u/cmdline", pid);
	_cleanup_free_ char *list = text_read_file(path, EXEC_TEXT_MAX + 1, &size);

	if (!list)
		return false;
	*is_cut = size > EXEC_TEXT_MAX;
	if (*is_cut)
		size = EXEC_TEXT_MAX;
	/* A program that overwrites its arguments by a title leaves zeros after it. */
	while (!*is_cut && size > 1 && !list[size - 1] && !list[size - 2])
		size--;
	if (size == 1 && !list[0])
		size = 0;
	mask(arguments, list, size, *is_cut);
	return size;
}

void exec_arguments_send_running(uint32_t pid, uint64_t time, record_sink_fn *sink, void *ctx)
{
	struct strbuf folder __attribute__((cleanup(strbuf_release_cleanup))) = {0};
	struct strbuf arguments __attribute__((cleanup(strbuf_release_cleanup))) = {0};
	char path[64], target[PATH_MAX];
	bool is_cut = false;
	struct rec like;
	ssize_t size;

	if (!read_arguments(pid, &arguments, &is_cut))
		return;
	snprintf(path, sizeof(path), "/proc/%u/cwd", pid);
	size = readlink(path, target, sizeof(target));
	if (size > 0 && size <= EXEC_TEXT_MAX)
		strbuf_add(&folder, target, (size_t)size);
	record_init(&like, REC_ARGUMENTS, sizeof(like), time, pid, pid);
	like.flags = (uint8_t)(ARGUMENTS_SCAN | (is_cut ? ARGUMENTS_CUT : 0));
	send(&like, &folder, &arguments, sink, ctx);
}

void exec_arguments_send_title(uint32_t pid, uint64_t time, uint64_t *known, record_sink_fn *sink,
			       void *ctx)
{
	struct strbuf arguments __attribute__((cleanup(strbuf_release_cleanup))) = {0};
	struct strbuf folder = {0};
	struct rec like;
	uint64_t hash;
	bool is_cut;

	if (!read_arguments(pid, &arguments, &is_cut))
		return;
	hash = hash_bytes(arguments.text, arguments.size, 0);
	if (hash == *known || strlen(arguments.text) + 1 < arguments.size ||
	    !strstr(arguments.text, ": "))
		return;
	*known = hash;
	record_init(&like, REC_ARGUMENTS, sizeof(like), time, pid, pid);
	like.flags = (uint8_t)(ARGUMENTS_SCAN | (is_cut ? ARGUMENTS_CUT : 0));
	send(&like, &folder, &arguments, sink, ctx);
}

char *exec_arguments_of(uint32_t pid)
{
	struct strbuf arguments __attribute__((cleanup(strbuf_release_cleanup))) = {0};
	struct strbuf text = {0};
	bool is_cut;

	if (!read_arguments(pid, &arguments, &is_cut))
		return NULL;
	quote_list(&text, arguments.text, arguments.size);
	return strbuf_take(&text);
}

#define ARGUMENTS_MAX 4096
#define STAT_MAX 1024

/* Reads the executed file's name; false for kernel threads. */
static bool read_program(uint32_t pid, char name[NAME_MAX + 1])
{
	char path[64], target[PATH_MAX];
	ssize_t size;

	snprintf(path, sizeof(path), "/proc/%u/exe", pid);
	size = readlink(path, target, sizeof(target) - 1);
	if (size <= 0)
		return false;
	target[size] = 0;
	if (text_ends_with(target, PATH_DELETED))
		target[size - (ssize_t)strlen(PATH_DELETED)] = 0;
	snprintf(name, NAME_MAX + 1, "%.*s", NAME_MAX, basename(target));
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

static void send_name(const struct rec_name *thread, bool is_title, record_sink_fn *sink, void *ctx)
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
	send_name(thread, false, sink, ctx);
}

void running_name_send_title(const struct rec_name *thread, record_sink_fn *sink, void *ctx)
{
	send_name(thread, true, sink, ctx);
}
