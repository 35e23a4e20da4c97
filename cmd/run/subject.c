/* SPDX-License-Identifier: MIT */
#include "cmd/run/pipeline.h"

#include "lib/live/process/targets.h"

void subject_init(struct subject *s, const struct pipeline_options *options, pid_t child)
{
	struct meta_subject *meta = &s->meta;

	*s = (struct subject){0};
	if (options->argv) {
		meta->name = meta_program_name(options->argv[0]);
		meta->pid = (uint32_t)child;
		s->command_line = meta_command_line(options->argv);
	} else if (options->targets) {
		s->name = target_name(&options->targets->rows.items[0]);
		meta->name = s->name;
		meta->pid = (uint32_t)options->targets->rows.items[0].pid;
		s->command_line = meta_target_lines(options->targets);
	} else {
		meta->name = META_ALL_PROCESSES;
	}
	meta->is_machine = options->filter->all && !options->filter->is_subject;
	meta->command_line = s->command_line ? s->command_line : options->filter_text;
	if (s->command_line && options->live->no_arguments)
		meta->command_line = meta->name;
}

void subject_release(struct subject *s)
{
	free(s->name);
	free(s->command_line);
	*s = (struct subject){0};
}

char *subject_heading(const struct pipeline_options *options, const struct profile *profile)
{
	const struct targets *targets = options->targets;

	if (targets && targets->group)
		return xasprintf("%s (%zu %s)", basename(targets->group), targets->alive,
				 text_counted(targets->alive, "process", "processes"));
	if (targets && targets->rows.count > 1)
		return xasprintf("%zu processes", targets->rows.count);
	if (targets)
		return xasprintf("%s (pid %d)", profile->meta.product,
				 (int)targets->rows.items[0].pid);
	return xstrdup(options->filter->all ? META_ALL_PROCESSES : profile->meta.product);
}

const char *subject_word(const struct pipeline_options *options)
{
	if (options->argv)
		return meta_program_name(options->argv[0]);
	return options->targets ? "attach" : "system";
}

enum recording_subject subject_kind(const struct pipeline_options *options)
{
	if (options->filter->criteria || options->filter->cpus.count)
		return RECORDING_OF_FILTERS;
	if (options->filter->all)
		return RECORDING_OF_MACHINE;
	return options->argv ? RECORDING_OF_COMMAND : RECORDING_OF_PROCESSES;
}

/* Explains why the BPF programs never saw a live process. */
static int hidden_error(const struct targets *targets, struct error *err)
{
	const struct target *target = targets->rows.items;
	_cleanup_free_ char *path = NULL;

	while (target->fd < 0)
		target++;
	path = xasprintf("/proc/%d/maps", (int)target->pid);
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return error_text(err, -ENODATA,
				  "the kernel hides process %d, even from BPF programs (%s: %s): "
				  "its policy must allow tracing it, or attach to another one",
				  (int)target->pid, path, strerror(errno));
	return error_text(err, -ENODATA,
			  "BPF programs do not see process %d: if its pid is of another pid "
			  "namespace, attach from there",
			  (int)target->pid);
}

int subject_check_found(const struct pipeline_options *options, const struct profile_stats *stats,
			bool has_threads, struct error *err)
{
	const struct targets *targets = options->targets;

	if (options->filter->criteria && !stats->wanted_threads)
		return error_text(err, -ENODATA,
				  "no process matched the filters: nothing was written");
	if (!targets || has_threads)
		return 0;
	if (targets->alive)
		return hidden_error(targets, err);
	return error_text(err, -ESRCH, "%s ended before recording began",
			  targets->rows.count == 1 ? "the process" : "all the processes");
}
