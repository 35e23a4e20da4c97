/* SPDX-License-Identifier: MIT */
#include "lib/live/instruments/call_probe.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include "lib/process/system_calls.h"

#if defined(__aarch64__)
#define NATIVE_CALLS CALLS_ARM64
#else
#define NATIVE_CALLS CALLS_X86_64
#endif

static int attach_one(const struct bpf_program *program, int *link, struct error *err)
{
	LIBBPF_OPTS(bpf_link_create_opts, options);

	*link = bpf_link_create(bpf_program__fd(program), 0, BPF_TRACE_RAW_TP, &options);
	return *link < 0 ? error_set(err, -errno, "attach a program to system calls") : 0;
}

int call_probe_attach(struct call_probe *p, const struct bpf_program *enter,
		      const struct bpf_program *exit, struct error *err)
{
	int code = attach_one(enter, &p->enter, err);

	return code ? code : attach_one(exit, &p->exit, err);
}

void call_probe_detach(struct call_probe *p)
{
	if (p->enter >= 0)
		close(p->enter);
	if (p->exit >= 0)
		close(p->exit);
	*p = CALL_PROBE_NONE;
}

/* Programs of 32 bits are known on x86-64 alone. */
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
