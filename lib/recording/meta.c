/* SPDX-License-Identifier: MIT */
#include "lib/recording/meta.h"

#include "lib/base/quote.h"
#include "lib/stream/text/secrets.h"
#include "lib/live/process/exec_arguments.h"
#include "lib/live/machine/host.h"
#include "lib/live/unwind_methods.h"
#include "lib/query/keys.h"
#include "lib/stream/record/records.h"

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

void meta_fill(struct profile *p, const struct meta_subject *subject, uint64_t limit_ns,
	       enum recorder_unwind unwind, const struct recorder_info *info,
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
	meta->duration_limit_ns = limit_ns;
	meta->buffer_bytes = info->ring_bytes;
	vec_push(&meta->features, xstrdup("stackwalk"));
	vec_push(&meta->features, xstrdup("cpu"));
	vec_for_each(&report->features, char *const *, name)
		vec_push(&meta->features, xstrdup(*name));
	if (subject->is_machine)
		vec_push(&meta->features, xstrdup(FEATURE_ALL_PROCESSES));
	vec_push(&meta->features, xasprintf("unwind-%s", unwind_method_name(unwind)));
	vec_push(&meta->filters, xstrdup(meta->product));
}

static const char *const launchers[] = {
	"apptainer", "buildah", "bwrap", "crun",	"docker",	  "firejail", "flatpak",
	"nerdctl",   "podman",	"runc",	 "singularity", "systemd-nspawn", "unshare",
};

/* True for a thread in a pid namespace below the recorder's. */
static bool is_inside(const struct profile *p, const struct profile_thread *thread)
{
	return thread->process_label != NO_STRING &&
	       text_starts_with(strings_get(&p->strings, thread->process_label), "pid ");
}

static uint64_t cpu_time_of(const struct profile_thread *thread)
{
	uint64_t ns = 0;

	samples_for_each(&thread->samples, sample)
		ns += sample->cpu_delta;
	return ns;
}

/*
 * Returns the thread after which the profile is named, or NULL. `firsts`: see
 * query_process_firsts().
 */
static const struct profile_thread *find_launched(const struct profile *p, const thread_id *firsts)
{
	size_t count = p->threads.rows.count;
	_cleanup_free_ uint64_t *used = xcalloc(count + 1, sizeof(*used));
	const struct profile_thread *first = NULL, *heaviest = NULL;
	uint64_t all = 0, inside = 0, most = 0;

	for (size_t i = 0; i < count; i++) {
		const struct profile_thread *row = &p->threads.rows.items[i];
		uint64_t ns = cpu_time_of(row);

		all += ns;
		if (!is_inside(p, row))
			continue;
		inside += ns;
		used[firsts[i]] += ns;
		if (used[firsts[i]] > most) {
			most = used[firsts[i]];
			heaviest = row;
		}
		if (!first || row->process_start < first->process_start)
			first = row;
	}
	if (inside <= all / 2)
		return NULL;
	return most > all / 2 ? heaviest : first;
}

void launched_name_profile(struct profile *p)
{
	const struct profile_thread *launched;
	_cleanup_free_ thread_id *firsts = NULL;

	if (!array_find(launchers, it, strcmp(p->meta.product, *it) == 0))
		return;
	firsts = query_process_firsts(p);
	launched = find_launched(p, firsts);
	if (!launched)
		return;
	free(p->meta.product);
	p->meta.product = xstrdup(strings_get(&p->strings, launched->process_name));
}

_Static_assert(LOST_CAUSE_COUNT <= PROFILE_LOST_CAUSES, "every cause has its counter");

bool loss_is_sample(enum lost_cause cause)
{
	switch (cause) {
	case LOST_RING_FULL:
	case LOST_STACK:
	case LOST_NO_RING:
	case LOST_CAPTURE:
		return true;
	default:
		return false;
	}
}

uint64_t losses_count(const struct profile_stats *stats, bool samples)
{
	uint64_t count = 0;

	for (unsigned int cause = 0; cause < LOST_CAUSE_COUNT; cause++) {
		if (loss_is_sample(cause) == samples)
			count += stats->lost[cause];
	}
	return count;
}

bool losses_are_none(const struct profile *p)
{
	return !vec_find(&p->events.rows, event, event->lost) && !losses_count(&p->stats, true) &&
	       !losses_count(&p->stats, false);
}

void losses_describe(const struct profile_stats *stats, bool samples, struct strbuf *out)
{
	for (unsigned int cause = 0; cause < LOST_CAUSE_COUNT; cause++) {
		if (loss_is_sample(cause) != samples || !stats->lost[cause])
			continue;
		strbuf_addf(out, "%s%s %" PRIu64, out->size ? ", " : "", lost_cause_name(cause),
			    stats->lost[cause]);
	}
}
