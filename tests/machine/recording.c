/* SPDX-License-Identifier: MIT */
#include "tests/machine/recording.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/stream/record/records.h"
#include "tests/machine/machine.h"
#include "tests/machine/tasks.h"

#define RING_BYTES (64u << 10)

void recording_init(struct recording *r)
{
	*r = (struct recording){
		.options = {.ring_bytes = RING_BYTES, .unwind = RECORDER_UNWIND_NONE},
	};
	instrument_settings_init(&r->settings);
	recording_set(r, "no-off-cpu", NULL);
}

void recording_release(struct recording *r)
{
	recorder_free(r->recorder);
	instrument_settings_release(&r->settings);
	filter_release(&r->filter);
	strbuf_release(&r->text);
	*r = (struct recording){0};
}

void recording_set(struct recording *r, const char *name, const char *value)
{
	const struct instrument_option *option;
	const struct instrument *owner;

	for (size_t i = 0; (option = instrument_option_at(i, &owner)); i++) {
		if (strcmp(option->name, name) != 0)
			continue;
		if (option->set(instrument_settings_of(&r->settings, owner), value, &r->err))
			abort();
		return;
	}
	abort();
}

static int read_until_idle(struct recording *r);

int recording_begin(struct recording *r, uint32_t pid, bool from_exec)
{
	int code;

	r->options.instruments = &r->settings;
	r->options.filter = &r->filter;
	r->options.targets = pid && !from_exec;
	r->filter.all = !pid;
	code = recorder_new(&r->recorder, &r->options, &r->err);
	if (!code && pid)
		code = recorder_track(r->recorder, (pid_t)pid, from_exec, &r->err);
	if (!code)
		code = recorder_arm(r->recorder, &r->err);
	/* The caller has its turn before the first round. */
	if (!code && read_until_idle(r) != SOURCE_IDLE)
		abort();
	return code;
}

static void add_text(struct recording *r, const char *what, const struct rec *rec)
{
	strbuf_addf(&r->text, "%s+%u", what, rec->pid - FIRST_PID);
	if (rec->pid != rec->tid)
		strbuf_addf(&r->text, "/%u", rec->tid - FIRST_PID);
}

static void add_name(struct recording *r, const struct rec *rec)
{
	if (rec->flags & NAME_NEW_SPACE) {
		add_text(r, "space", rec);
		return;
	}
	add_text(r,
		 rec->flags & NAME_EXEC	     ? "exec"
		 : rec->flags & NAME_SCAN    ? "found"
		 : rec->flags & NAME_PROCESS ? "called"
					     : "name",
		 rec);
	strbuf_addf(&r->text, ":%.16s", ((const struct rec_name *)rec)->name);
}

static void add_numbers(struct recording *r, const struct rec *rec)
{
	const struct rec_lost *lost = (const struct rec_lost *)rec;
	const struct rec_throttled *throttled = (const struct rec_throttled *)rec;

	if (rec->kind == REC_LOST)
		strbuf_addf(&r->text, "lost:%s=%llu", lost_cause_name(lost->cause),
			    (unsigned long long)lost->count);
	else if (rec->kind == REC_THROTTLED)
		strbuf_addf(&r->text, "throttled:%u=%llu", throttled->event,
			    (unsigned long long)throttled->duration);
	else
		strbuf_addf(&r->text, "cpu%u:%s", rec->cpu, rec->flags & CPU_ONLINE ? "on" : "off");
}

static bool describe(struct recording *r, const struct rec *rec)
{
	switch (rec->kind) {
	case REC_SAMPLE:
	case REC_EVENT:
		add_text(r, rec->kind == REC_EVENT ? "event" : "sample", rec);
		strbuf_addf(&r->text, ":%llx",
			    (unsigned long long)((const struct rec_sample *)rec)->leaf);
		return true;
	case REC_STACK:
		add_text(r, rec->flags & STACK_LATER ? "later" : "stack", rec);
		return true;
	case REC_FORK:
		add_text(r, "fork", rec);
		return true;
	case REC_NAME:
		add_name(r, rec);
		return true;
	case REC_EXIT:
		add_text(r, "exit", rec);
		return true;
	case REC_MAP:
		if (rec->flags & MAP_KERNEL_SPACE)
			return false;
		add_text(r, "map", rec);
		strbuf_addf(&r->text, ":%llx",
			    (unsigned long long)((const struct rec_map *)rec)->start);
		return true;
	case REC_LOST:
	case REC_THROTTLED:
	case REC_CPU:
		add_numbers(r, rec);
		return true;
	default:
		return false;
	}
}

static void take(struct recording *r, const struct rec *rec)
{
	if (!record_is_valid(rec, record_size(rec)))
		abort();
	r->count++;
	r->late += rec->time < r->last_time;
	if (rec->time > r->last_time)
		r->last_time = rec->time;
	if (describe(r, rec))
		strbuf_addf(&r->text, " ");
	if (r->on_record)
		r->on_record(r->ctx, rec);
}

static int read_until_idle(struct recording *r)
{
	const struct rec *rec;
	int result;

	while ((result = source_next(recorder_source(r->recorder), &rec, &r->err)) == SOURCE_RECORD)
		take(r, rec);
	return result;
}

void recording_round(struct recording *r)
{
	if (read_until_idle(r) != SOURCE_IDLE)
		abort();
}

void recording_rounds(struct recording *r, unsigned int count)
{
	while (count--)
		recording_round(r);
}

void recording_end(struct recording *r)
{
	int result;

	recorder_stop(r->recorder);
	while ((result = read_until_idle(r)) == SOURCE_IDLE)
		;
	if (result != SOURCE_END)
		abort();
}

const char *recording_text(struct recording *r)
{
	static char text[1 << 16];

	snprintf(text, sizeof(text), "%s", r->text.size ? strbuf_text(&r->text) : "");
	if (r->text.size)
		text[strlen(text) - 1] = '\0';
	strbuf_reset(&r->text);
	return text;
}

struct recording recording;

void recording_prepare(const char *cpus)
{
	machine_start(cpus);
	task_start(FIRST_PID, "sh");
	recording_init(&recording);
}

void recording_begin_app(void)
{
	if (recording_begin(&recording, FIRST_PID, true)) {
		fprintf(stderr, "not begun: %s\n", recording.err.text);
		abort();
	}
	task_exec(0, FIRST_PID, "app", 0x10000, "/bin/app");
	recording_rounds(&recording, 2);
	recording_text(&recording);
}

int recording_teardown(void **state)
{
	recording_release(&recording);
	return machine_stop() ? -1 : 0;
}
