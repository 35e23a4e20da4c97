/* SPDX-License-Identifier: MIT */
/*
 * USDT probes. A file is read when a process has mapped it, and its probes are attached to that
 * process only: otherwise, every process of the machine with the file would trap. Files already
 * read are attached to new processes before these map them.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "bpf/live_record.h"
#include "lib/live/instruments/marker_instrument.h"
#include "lib/live/instruments/usdt/probed_processes.h"
#include "usdt.skel.h"

#define SHOWN (SHOWN_IN_CHART | SHOWN_IN_TABLE | SHOWN_IN_OVERVIEW)
struct usdt {
	struct marker_state base;
	struct usdt_bpf *skeleton;
	struct probed_processes processes;
	bool is_multi;
};

static void release(void *state)
{
	struct usdt *u = state;

	probed_processes_release(&u->processes);
}

static bool is_wanted(const void *settings)
{
	return ((const struct usdt_settings *)settings)->count;
}

static void prepare(struct usdt *u)
{
	uprobe_set_type(u->skeleton->obj);
}

static void finish(struct usdt *u)
{
	probed_processes_stop(&u->processes);
}

MARKER_STATE_OBJECT(usdt, prepare, finish)

static void begin(void *state, const void *settings)
{
	static const struct marker_kind kind = {
		.name = "usdt",
		.facts = {FACT_USDT_RECORDED, FACT_USDT_LOST},
		.variables = variables_of_usdt,
	};
	struct usdt *u = state;

	u->base.kind = &kind;
	u->processes.probes.settings = settings;
}

static int configure(void *state, struct programs_options *programs, struct error *err)
{
	struct usdt *u = state;

	u->is_multi = uprobe_has_multi();
	return 0;
}

static int attach(void *state, struct error *err)
{
	struct usdt *u = state;

	probed_processes_begin(&u->processes, bpf_program__fd(u->skeleton->progs.on_usdt),
			       u->is_multi ? UPROBE_IS_MULTI : 0,
			       bpf_map__fd(u->skeleton->maps.usdt_layouts));
	return 0;
}

static void announce(void *state)
{
	struct usdt *u = state;

	probed_processes_watch(&u->processes, u->base.live->tracker);
}

static int enable(void *state, bool enable, struct error *err)
{
	struct usdt *u = state;

	if (enable)
		uprobe_jobs_wait(u->processes.jobs);
	marker_state_pause(state, !enable);
	if (!enable)
		probed_processes_stop(&u->processes);
	return 0;
}

/* Names of schemas are unique. */
static bool is_schema_name(const struct usdt *u, const char *name)
{
	_cleanup_free_ char *wanted = NULL;

	vec_for_each(&u->processes.probes.probes, const struct usdt_probe *, probe) {
		free(wanted);
		wanted = xasprintf(USDT_SCHEMA_PREFIX "%s:%s", probe->provider, probe->name);
		if (probe->has_schema && strcmp(wanted, name) == 0)
			return true;
	}
	return false;
}

static void send_schema(struct usdt *u, struct usdt_probe *probe)
{
	_cleanup_free_ char *name = xasprintf(USDT_SCHEMA_PREFIX "%s:%s", probe->provider,
					      probe->name);
	_cleanup_(strbuf_release) struct strbuf label = {0};
	char keys[USDT_ARGUMENTS_MAX][16], labels[USDT_ARGUMENTS_MAX][24];
	struct marker_schema schema = {.shown = SHOWN};

	probe->schema = instrument_new_schema(u->base.live);
	if (is_schema_name(u, name)) {
		free(name);
		name = xasprintf(USDT_SCHEMA_PREFIX "%s:%s (%u)", probe->provider, probe->name,
				 probe->schema);
	}
	probe->has_schema = true;
	usdt_pattern_print_label(probe->pattern, probe->argument_count, &label);
	schema.name = name;
	schema.label = strbuf_text(&label);
	for (uint32_t i = 0; i < probe->argument_count; i++) {
		bool is_text = (probe->pattern->texts | probe->pattern->hexadecimals) >> i & 1;

		snprintf(keys[i], sizeof(keys[i]), "arg%u", i + 1);
		snprintf(labels[i], sizeof(labels[i]), "Argument %u", i + 1);
		schema.fields[i].type = is_text ? FIELD_STRING : FIELD_INTEGER;
		schema.fields[i].key = keys[i];
		schema.fields[i].label = labels[i];
	}
	marker_announce(u->base.live, &schema, probe->schema);
}

_Static_assert(USDT_ARGUMENTS_MAX <= MARKER_SCHEMA_FIELDS_MAX &&
		       USDT_ARGUMENTS_MAX <= MARKER_RECORD_VALUES_MAX,
	       "all arguments have room");

/* `texts` has room for hexadecimal numbers. */
static void set_values(struct marker_record *marker, const struct usdt_probe *probe,
		       const struct rec_usdt *rec, char texts[USDT_ARGUMENTS_MAX][20])
{
	for (uint32_t i = 0; i < probe->argument_count; i++) {
		uint64_t value = rec->values[i];
		uint32_t at = (uint32_t)value, size = (uint32_t)(value >> 32);

		if (!(rec->readable >> i & 1))
			continue;
		if (rec->texts >> i & 1) {
			if (at <= rec->text_size && size <= rec->text_size - at)
				marker_set_text(marker, i,
						(struct marker_text){rec->text + at, size});
		} else if (probe->pattern->hexadecimals >> i & 1) {
			snprintf(texts[i], sizeof(texts[i]), "0x%" PRIx64, value);
			marker_set_text(marker, i, marker_text(texts[i]));
		} else {
			marker_set_number(marker, i, FIELD_INTEGER, value);
		}
	}
}

static void take_hit(struct usdt *u, const struct rec_usdt *rec)
{
	_cleanup_(strbuf_release) struct strbuf name = {0};
	char texts[USDT_ARGUMENTS_MAX][20];
	struct marker_record marker;
	struct usdt_probe *probe;

	if (rec->probe >= u->processes.probes.probes.count)
		return;
	probe = &u->processes.probes.probes.items[rec->probe];
	if (!probe->has_schema)
		send_schema(u, probe);
	usdt_pattern_print_name(probe->pattern, probe->provider, probe->name, &name);
	marker = marker_begin(probe->schema, &rec->rec, &rec->stack);
	marker.name = marker_text(strbuf_text(&name));
	set_values(&marker, probe, rec, texts);
	marker_send(u->base.live, &marker);
}

static void take(void *state, const struct rec *rec)
{
	if (rec->kind == REC_USDT_TASK)
		probed_processes_task(&((struct usdt *)state)->processes,
				      (const struct rec_usdt_task *)rec);
	else
		take_hit(state, (const struct rec_usdt *)rec);
}

static void warn(const struct usdt *u, const struct uprobe_jobs_stats *stats, struct report *r)
{
	_cleanup_(strbuf_release) struct strbuf users = {0};

	for (uint32_t i = 0; i < u->processes.probes.settings->count; i++) {
		const struct usdt_pattern *pattern = &u->processes.probes.settings->patterns[i];

		if (!(u->processes.probes.met >> i & 1))
			report_warning(r,
				       "no probe %s:%s was found in the files that the recorded "
				       "processes mapped",
				       pattern->provider, pattern->name);
	}
	if (stats->failed)
		report_warning(r, "%" PRIu64 " USDT probes are not recorded: %s", stats->failed,
			       stats->failure.text);
	probed_processes_list_refused(&u->processes, &users);
	if (stats->left_out || u->processes.probes.left_out)
		report_warning(
			r, "USDT probes are missing: too many%s%s, in %" PRIu64 " process files",
			users.size ? " of " : "", strbuf_text(&users),
			stats->left_out + u->processes.probes.left_out);
}

static void report(const void *state, const struct record_tally *tally, struct report *r)
{
	const struct usdt *u = state;
	struct uprobe_jobs_stats stats = {0};
	uint64_t places = 0;

	if (!u->skeleton || !u->processes.jobs)
		return;
	uprobe_jobs_get_stats(u->processes.jobs, &stats);
	vec_for_each(&u->processes.probes.files, struct usdt_file *const *, file)
		places += (*file)->places.count;
	marker_state_report(state, tally, r);
	facts_count(&r->facts, FACT_USDT_PLACES, NULL, places);
	facts_count(&r->facts, FACT_USDT_ATTACHED, NULL, stats.attached);
	facts_count(&r->facts, FACT_USDT_FAILED, NULL, stats.failed);
	facts_count(&r->facts, FACT_USDT_LEFT_OUT, NULL,
		    stats.left_out + u->processes.probes.left_out);
	warn(u, &stats, r);
}

static int add_pattern(void *settings, const char *value, struct error *err)
{
	struct usdt_settings *s = settings;
	int code;

	if (s->count == USDT_PATTERNS_MAX)
		return error_text(err, -EINVAL, "--usdt: at most %d probes", USDT_PATTERNS_MAX);
	code = usdt_pattern_parse(&s->patterns[s->count], value, err);
	if (!code)
		s->count++;
	return code;
}

static const struct instrument_option options[] = {
	{0, "usdt", "PROBE[=LABEL]", "mark each hit of a program's USDT probe, with its arguments",
	 "jank", add_pattern, .values = NULL},
	{0},
};

const struct instrument instrument_usdt = {
	.name = "usdt",
	.options = options,
	.settings_size = sizeof(struct usdt_settings),
	.takes = INSTRUMENT_TAKES(REC_USDT) | INSTRUMENT_TAKES(REC_USDT_TASK),
	.is_wanted = is_wanted,
	.state_size = sizeof(struct usdt),
	.begin = begin,
	.release = release,
	.configure = configure,
	.open_object = open_usdt_bpf,
	.close_object = close_usdt_bpf,
	.attach = attach,
	.announce = announce,
	.enable = enable,
	.pause = marker_state_pause,
	.take = take,
	.count = marker_state_count,
	.report = report,
};
