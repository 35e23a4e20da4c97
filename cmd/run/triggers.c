/* SPDX-License-Identifier: MIT */
#include "cmd/run/triggers.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "lib/base/alloc.h"
#include "lib/base/cleanup.h"
#include "lib/base/clock.h"
#include "lib/base/signal_name.h"
#include "lib/base/text.h"

#define POLL_NS 100000000ull
#define PRESSURE_NS 1000000000ull
/* Records come at most this much later than what they report. */
#define RECORD_DELAY_NS 300000000ull
#define NS_PER_MS 1e6

static uint64_t read_pressure(const struct trigger *trigger, bool *is_known)
{
	_cleanup_free_ char *path = xasprintf("/proc/pressure/%.*s", (int)trigger->name_size,
					      trigger->text);
	_cleanup_free_ char *text = text_read_file(path, 512, NULL);
	const char *total = text ? strstr(text, "total=") : NULL;

	*is_known = total;
	return total ? strtoull(total + strlen("total="), NULL, 10) : 0;
}

static int begin(struct trigger_state *s, const struct identity *owner, struct error *err)
{
	bool is_known = true;

	if (s->trigger->kind == TRIGGER_PRESSURE)
		s->total_us = read_pressure(s->trigger, &is_known);
	if (s->trigger->kind == TRIGGER_FILE) {
		s->file = watched_file_new(s->trigger->text, owner, err);
		return s->file ? 0 : -EAGAIN;
	}
	if (!is_known)
		return error_text(err, -ENOTSUP, "--when-psi: this kernel does not measure it");
	return 0;
}

int triggers_open(struct triggers *t, const struct last_options *options,
		  const struct identity *owner, trigger_fn *fire, void *ctx, struct error *err)
{
	int ret = 0;

	t->fire = fire;
	t->ctx = ctx;
	for (size_t i = 0; !ret && i < options->triggers.count; i++) {
		struct trigger_state s = {.trigger = &options->triggers.items[i]};

		ret = begin(&s, owner, err);
		vec_push(&t->rows, s);
		t->has_markers |= s.trigger->kind == TRIGGER_MARKER;
		t->has_stall |= s.trigger->kind == TRIGGER_STALL;
	}
	t->pressure_ns = clock_monotonic_ns();
	return ret;
}

/* Fires with a formatted reason. */
__attribute__((format(printf, 2, 3))) static void fire(struct triggers *t, const char *format, ...)
{
	_cleanup_free_ char *reason = NULL;
	va_list arguments;

	va_start(arguments, format);
	reason = xvasprintf(format, arguments);
	va_end(arguments);
	t->fire(t->ctx, reason);
}

static bool exit_matches(const struct trigger *trigger, int status)
{
	if (trigger->number == EXIT_FAILED)
		return status != 0;
	if (WIFSIGNALED(status))
		return trigger->number == (uint64_t)WTERMSIG(status);
	return trigger->number == (uint64_t)status;
}

static void take_exit(struct triggers *t, const struct rec_exit *rec)
{
	int status = (int)(rec->status & 0xffff);
	char name[SIGNAL_NAME_SIZE];

	if (!(rec->rec.flags & EXIT_PROCESS) || rec->rec.flags & REC_OUTSIDE)
		return;
	signal_name(WTERMSIG(status), name);
	vec_for_each(&t->rows, const struct trigger_state *, s) {
		if (s->trigger->kind != TRIGGER_EXIT || !exit_matches(s->trigger, status))
			continue;
		if (WIFSIGNALED(status))
			fire(t, "%s ended process %u", name, rec->rec.pid);
		else
			fire(t, "process %u ended with status %d", rec->rec.pid,
			     WEXITSTATUS(status));
		return;
	}
}

static void take_schema(struct triggers *t, const struct rec_schema *rec)
{
	const char *text = (const char *)(rec->fields + rec->field_count);

	vec_push(&t->schemas,
		 ((struct trigger_schema){rec->schema, xstrndup(text, rec->name_size)}));
}

static const char *schema_name(const struct triggers *t, uint32_t id)
{
	vec_for_each(&t->schemas, const struct trigger_schema *, schema) {
		if (schema->id == id)
			return schema->name;
	}
	return "";
}

/* Returns the name of the marker's own, "" if it has none; the caller frees. */
static char *own_name(const struct rec_marker *rec)
{
	const char *text = (const char *)(rec->values + rec->value_count) +
			   (size_t)rec->stack_count * sizeof(struct rec_marker_stack);

	return xstrndup(text, rec->name_size);
}

static void take_marker(struct triggers *t, const struct rec_marker *rec)
{
	_cleanup_free_ char *own = own_name(rec);
	const char *kind = schema_name(t, rec->schema);
	uint64_t ns = rec->rec.time - rec->start;

	vec_for_each(&t->rows, const struct trigger_state *, s) {
		_cleanup_free_ char *wanted = NULL;

		if (s->trigger->kind != TRIGGER_MARKER || ns < s->trigger->number)
			continue;
		wanted = xstrndup(s->trigger->text, s->trigger->name_size);
		if (fnmatch(wanted, own, 0) != 0 && fnmatch(wanted, kind, 0) != 0)
			continue;
		fire(t, "%s took %.3g ms", *own ? own : kind, (double)ns / NS_PER_MS);
		return;
	}
}

void triggers_take(struct triggers *t, const struct rec *rec)
{
	switch (rec->kind) {
	case REC_SAMPLE:
	case REC_EVENT:
	case REC_WAIT:
	case REC_RUN:
	case REC_ALLOC:
		if (rec->time > t->active_ns)
			t->active_ns = rec->time;
		return;
	case REC_EXIT:
		take_exit(t, (const struct rec_exit *)rec);
		return;
	case REC_SCHEMA:
		if (t->has_markers)
			take_schema(t, (const struct rec_schema *)rec);
		return;
	case REC_MARKER:
		if (t->has_markers)
			take_marker(t, (const struct rec_marker *)rec);
		return;
	default:
		return;
	}
}

static void poll_stall(struct triggers *t, struct trigger_state *s, uint64_t now_ns)
{
	bool is_stalled = t->active_ns &&
			  now_ns > t->active_ns + RECORD_DELAY_NS + s->trigger->number;

	if (is_stalled && !s->has_fired)
		fire(t, "nothing ran for %.4g ms", (double)s->trigger->number / NS_PER_MS);
	s->has_fired = is_stalled;
}

static void poll_pressure(struct triggers *t, struct trigger_state *s, uint64_t passed_ns)
{
	bool is_known;
	uint64_t total_us = read_pressure(s->trigger, &is_known);
	double share = (double)(total_us - s->total_us) * 1e3 / (double)passed_ns;

	if (is_known && share * 1e6 >= (double)s->trigger->number)
		fire(t, "tasks waited for %.*s %.0f %% of a second", (int)s->trigger->name_size,
		     s->trigger->text, share * 100);
	s->total_us = total_us;
}

void triggers_poll(struct triggers *t, uint64_t now_ns, bool is_paused)
{
	uint64_t passed_ns = now_ns - t->pressure_ns;

	if (!t->rows.count || now_ns - t->polled_ns < POLL_NS)
		return;
	t->polled_ns = now_ns;
	if (is_paused && t->active_ns)
		t->active_ns = now_ns;
	vec_for_each(&t->rows, struct trigger_state *, s) {
		if (s->file && watched_file_take_change(s->file))
			fire(t, "%s was written", s->trigger->text);
		if (s->trigger->kind == TRIGGER_STALL)
			poll_stall(t, s, now_ns);
		if (s->trigger->kind == TRIGGER_PRESSURE && passed_ns >= PRESSURE_NS)
			poll_pressure(t, s, passed_ns);
	}
	if (passed_ns >= PRESSURE_NS)
		t->pressure_ns = now_ns;
}

void triggers_release(struct triggers *t)
{
	vec_for_each(&t->schemas, const struct trigger_schema *, schema)
		free(schema->name);
	vec_release(&t->schemas);
	vec_for_each(&t->rows, const struct trigger_state *, s)
		watched_file_free(s->file);
	vec_release(&t->rows);
}
