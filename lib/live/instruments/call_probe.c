/* SPDX-License-Identifier: MIT */
#include "lib/live/instruments/call_probe.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "bpf/live_record.h"
#include "lib/live/bpf/visitor.h"
#include "lib/stream/process/system_calls.h"

#if defined(__aarch64__)
#define NATIVE_CALLS CALLS_ARM64
#else
#define NATIVE_CALLS CALLS_X86_64
#endif

/* Common beginning of struct rec_call and struct rec_task. */
struct call_record {
	struct rec rec;
	__u64 start;
};

_Static_assert(offsetof(struct call_record, start) == offsetof(struct rec_call, start) &&
		       offsetof(struct call_record, start) == offsetof(struct rec_task, start),
	       "both begin alike");

static int attach_one(const struct bpf_program *program, const char *tracepoint, int *link,
		      struct error *err)
{
	*link = bpf_raw_tracepoint_open(tracepoint, bpf_program__fd(program));
	return *link < 0 ? error_set(err, -errno, "cannot attach a BPF program to system calls")
			 : 0;
}

void call_probe_open(struct call_probe *p, call_describe_fn *describe, size_t size,
		     const struct call_programs *programs)
{
	p->describe = describe;
	p->size = size;
	p->programs = *programs;
	p->enter = p->exit = -1;
	bpf_program__set_autoattach(programs->enter, false);
	bpf_program__set_autoattach(programs->exit, false);
	bpf_program__set_autoattach(programs->list_open, false);
}

void call_probe_close(void *state)
{
	struct call_probe *p = state;

	fd_close(p->enter);
	fd_close(p->exit);
	p->enter = p->exit = -1;
}

static void take_open(void *ctx, const void *row)
{
	const struct call_record *call = row;
	struct call_probe *p = ctx;

	if (call->start < p->begin_ns || p->end_ns < call->start ||
	    p->end_ns - call->start < p->base.settings->min_ns)
		return;
	p->base.added++;
	p->describe(p, &call->rec, p->end_ns);
}

int call_probe_enable(void *state, bool enable, struct error *err)
{
	struct call_probe *p = state;
	int code;

	p->end_ns = clock_monotonic_ns();
	marker_state_enable(p, enable, err);
	if (enable) {
		p->begin_ns = p->end_ns;
		code = attach_one(p->programs.enter, "sys_enter", &p->enter, err);
		return code ? code : attach_one(p->programs.exit, "sys_exit", &p->exit, err);
	}
	code = p->enter < 0 ? 0 : task_iterator_read(p->programs.list_open, p->size, take_open, p);
	if (code)
		log_warn("calls that have not ended are left out: %s", strerror(-code));
	call_probe_close(p);
	return 0;
}

void call_probe_pause(void *state, bool pause)
{
	struct call_probe *p = state;

	p->begin_ns = pause ? UINT64_MAX : clock_monotonic_ns();
	marker_state_pause(p, pause);
}

void call_probe_take(void *state, const struct rec *rec)
{
	const struct call_probe *p = state;

	p->describe(p, rec, rec->time);
}

/* 32-bit programs are supported on x86-64 only. */
static bool find_table(bool is_compat, enum system_call_table *table)
{
	*table = is_compat ? CALLS_I386 : NATIVE_CALLS;
	return !is_compat || NATIVE_CALLS == CALLS_X86_64;
}

int32_t call_probe_number(bool is_compat, const char *name)
{
	enum system_call_table table;

	return find_table(is_compat, &table) ? system_call_number(table, name) : -1;
}

const char *call_probe_name(bool is_compat, int32_t number, char room[CALL_NAME_SIZE])
{
	const struct system_call *known = NULL;
	enum system_call_table table;

	if (find_table(is_compat, &table))
		known = system_call_find(table, number);
	if (known)
		return known->name;
	snprintf(room, CALL_NAME_SIZE, "call %" PRId32, number);
	return room;
}
