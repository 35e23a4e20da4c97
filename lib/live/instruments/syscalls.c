/* SPDX-License-Identifier: MIT */
/* System calls of recorded threads: the BPF probe sends long ones, which become markers here. */
#include <bpf/libbpf.h>
#include <limits.h>

#include "bpf/live_record.h"
#include "lib/live/instruments/call_probe.h"
#include "lib/stream/process/system_calls.h"
#include "syscalls.skel.h"

#define DEFAULT_MIN_NS 1000000
/* Returned results from -1 down to this are errors. */
#define ERROR_MAX 4095

struct syscalls {
	struct call_probe probe;
	struct syscalls_bpf *skeleton;
};

/* Names an error; errors internal to the kernel mean that the call is restarted. */
static const char *error_name(int code)
{
	switch (code) {
	case 512:
		return "ERESTARTSYS";
	case 513:
		return "ERESTARTNOINTR";
	case 514:
		return "ERESTARTNOHAND";
	case 516:
		return "ERESTART_RESTARTBLOCK";
	default:
		return strerrorname_np(code);
	}
}

static void set_result(struct marker_record *marker, int64_t result)
{
	const char *name = NULL;

	if (result < 0 && result >= -ERROR_MAX)
		name = error_name((int)-result);
	if (name)
		marker_set_text(marker, SYSCALL_ERROR, marker_text(name));
	else
		marker_set_number(marker, SYSCALL_RESULT, FIELD_INTEGER, (uint64_t)result);
}

static void describe(const void *state, const struct rec *rec, uint64_t end)
{
	const struct rec_call *call = (const struct rec_call *)rec;
	const struct syscalls *s = state;
	bool is_open = rec->flags & CALL_OPEN;
	char room[CALL_NAME_SIZE];
	const char *name = call_probe_name(rec->flags & CALL_COMPAT, call->number, room);
	struct marker_record marker = marker_begin(s->probe.base.schema, rec,
						   is_open ? NULL : &call->stack);

	marker.start = call->start < end ? call->start : end;
	marker.end = end;
	marker.name = marker_text(name);
	if (system_call_takes_file(name) && call->argument <= INT_MAX)
		marker_set_number(&marker, SYSCALL_FD, FIELD_INTEGER, call->argument);
	if (call->path_size)
		marker_set_text(&marker, SYSCALL_PATH,
				(struct marker_text){call->path, call->path_size});
	if (is_open)
		marker_set_text(&marker, SYSCALL_STATE, marker_text("has not returned"));
	else
		set_result(&marker, call->result);
	marker_send(s->probe.base.live, &marker);
}

static void set_paths(struct syscalls_bpf__rodata *own)
{
	static const struct {
		const char *name;
		uint32_t argument;
	} calls[] = {{"open", 0},    {"creat", 0},  {"openat", 1},
		     {"openat2", 1}, {"execve", 0}, {"execveat", 1}};
	const size_t count = sizeof(calls) / sizeof(*calls);

	_Static_assert(sizeof(calls) / sizeof(*calls) <= CALL_PATHS_MAX, "the table has room");
	for (size_t i = 0; i < count; i++)
		own->path_arguments[i] = calls[i].argument;
	for (size_t table = 0; table < 2; table++) {
		for (size_t i = 0; i < CALL_PATHS_MAX; i++)
			own->path_calls[table][i] =
				i < count ? call_probe_number(table, calls[i].name) : -1;
		own->exec_calls[table][0] = call_probe_number(table, "execve");
		own->exec_calls[table][1] = call_probe_number(table, "execveat");
	}
}

static void prepare(struct syscalls *s)
{
	call_probe_open(&s->probe, describe, sizeof(struct rec_call),
			&(struct call_programs){
				.enter = s->skeleton->progs.on_call_enter,
				.exit = s->skeleton->progs.on_call_exit,
				.list_open = s->skeleton->progs.list_open_calls,
			});
	s->skeleton->rodata->syscalls_min_ns = s->probe.base.settings->min_ns;
	set_paths(s->skeleton->rodata);
}

MARKER_OBJECT(syscalls, MARKER_SYSCALL, prepare, call_probe_close)

static int set_wanted(void *settings, const char *value, struct error *err)
{
	return marker_want_long(settings, "--syscalls", value, DEFAULT_MIN_NS, err);
}

static const struct instrument_option options[] = {
	{0, "syscalls", "[=MS]", "mark each system call at least this long (default 1, 0: all)",
	 "signals", set_wanted, .is_plain = true},
	{0},
};

const struct instrument instrument_syscalls = {
	.options = options,
	.takes = INSTRUMENT_TAKES(REC_CALL),
	.enable = call_probe_enable,
	.pause = call_probe_pause,
	.take = call_probe_take,
	MARKER_INSTRUMENT(syscalls),
};
