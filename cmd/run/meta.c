/* SPDX-License-Identifier: MIT */
#include "cmd/run/meta.h"

#include <inttypes.h>
#include <string.h>

#include "cmd/text/event_report.h"
#include "cmd/text/instrument_report.h"
#include "cmd/text/loss_counts.h"
#include "cmd/text/own_cost.h"
#include "cmd/text/unwinding.h"
#include "lib/base/alloc.h"
#include "lib/base/cleanup.h"
#include "lib/base/quote.h"
#include "lib/base/secrets.h"
#include "lib/live/process/exec_arguments.h"
#include "lib/live/machine/host.h"
#include "lib/record/record.h"

char *meta_quote_command(char *const *argv)
{
	struct strbuf line = {0};

	for (char *const *word = argv; *word; word++) {
		if (word != argv)
			strbuf_addch(&line, ' ');
		quote_word(&line, *word, strlen(*word));
	}
	return strbuf_take(&line);
}

char *meta_command_line(char *const *argv)
{
	struct strbuf list __attribute__((cleanup(strbuf_release_cleanup))) = {0};
	struct strbuf masked __attribute__((cleanup(strbuf_release_cleanup))) = {0};
	struct strbuf line = {0};

	for (char *const *word = argv; *word; word++)
		strbuf_add(&list, *word, strlen(*word) + 1);
	secrets_mask(&masked, strbuf_text(&list), list.size, false);
	quote_list(&line, strbuf_text(&masked), masked.size);
	return strbuf_take(&line);
}

char *meta_target_lines(const struct targets *targets)
{
	struct strbuf lines = {0};

	vec_for_each(&targets->rows, const struct target *, target) {
		_cleanup_free_ char *line = exec_arguments_of((uint32_t)target->pid);
		_cleanup_free_ char *name = line ? NULL : target_name(target);

		strbuf_addf(&lines, "%s%s", lines.size ? ", " : "", line ? line : name);
	}
	return strbuf_take(&lines);
}

const char *meta_program_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}

static void fill_host(struct profile_meta *meta)
{
	struct host host;

	host_read(&host);
	meta->os = steal(host.os);
	meta->distribution = steal(host.distribution);
	meta->cpu_name = steal(host.cpu_name);
	meta->abi = host.machine ? xasprintf("%s-linux", host.machine) : NULL;
	meta->physical_cpus = host.physical_cpus;
	meta->logical_cpus = host.logical_cpus;
	meta->memory_bytes = host.memory_bytes;
	host_release(&host);
}

void meta_fill(struct profile *p, const struct meta_subject *subject,
	       const struct live_options *live, const struct recorder_info *info,
	       const struct report *report)
{
	struct profile_meta *meta = &p->meta;

	fill_host(meta);
	meta->product = xstrdup(subject->name);
	meta->command_line = xstrdup(subject->command_line);
	meta->root_pid = subject->pid;
	meta->start_ns = info->start_ns;
	meta->start_realtime_ns = info->start_realtime_ns;
	meta->interval_ns = info->interval_ns;
	meta->duration_limit_ns = live->duration_ns;
	meta->buffer_bytes = info->ring_bytes;
	vec_push(&meta->features, xstrdup("stackwalk"));
	vec_push(&meta->features, xstrdup("cpu"));
	vec_for_each(&report->features, char *const *, name)
		vec_push(&meta->features, xstrdup(*name));
	if (subject->is_machine)
		vec_push(&meta->features, xstrdup(FEATURE_ALL_PROCESSES));
	vec_push(&meta->features, xasprintf("unwind-%s", unwinding_name(live->unwind)));
	vec_push(&meta->filters, xstrdup(meta->product));
}

static void tell_settings(struct facts *f, const struct recorder_info *info)
{
	char interval[64];

	snprintf(interval, sizeof(interval), "%.6g ms", (double)info->interval_ns / 1e6);
	facts_text(f, FACT_RECORDED_WITH, NULL, "prof " PROF_VERSION);
	facts_text(f, FACT_INTERVAL_TEXT, NULL, interval);
	facts_count(f, FACT_CPUS, NULL, info->cpu_count);
	facts_count(f, FACT_RINGS, NULL, info->ring_bytes);
}

static void tell_losses(struct facts *f, const struct profile_stats *stats,
			const struct recorder_info *info)
{
	facts_count(f, FACT_LOST_SAMPLES, NULL, losses_count(stats, true));
	facts_count(f, FACT_LOST_EVENTS, NULL, losses_count(stats, false));
	for (unsigned int cause = 0; cause < LOST_CAUSE_COUNT; cause++)
		facts_count(f, loss_is_sample(cause) ? FACT_LOST_SAMPLES_BY : FACT_LOST_EVENTS_BY,
			    lost_cause_name(cause), stats->lost[cause]);
	facts_count(f, FACT_LATE_RECORDS, NULL, stats->late_records);
	facts_count(f, FACT_DROPPED_FILES, NULL, info->dropped_files);
}

void meta_finish(struct profile *p, enum recorder_unwind unwind, const struct recorder_info *info,
		 struct facts *facts)
{
	p->meta.end_ns = info->end_ns;
	tell_settings(facts, info);
	unwinding_tell(facts, &p->stats, unwind);
	tell_losses(facts, &p->stats, info);
	event_report_tell(facts, p);
	profile_add_facts(p, facts, FACT_SECTION_RECORDING, FACT_SECTION_EVENTS);
	own_cost_fill(p, info, facts);
}
