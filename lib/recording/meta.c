/* SPDX-License-Identifier: MIT */
#include "lib/recording/meta.h"

#include "lib/base/quote.h"
#include "lib/stream/text/secrets.h"
#include "lib/live/process/exec_arguments.h"
#include "lib/live/machine/host.h"
#include "lib/live/unwind_methods.h"

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
