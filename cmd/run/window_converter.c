/* SPDX-License-Identifier: MIT */
#include "cmd/run/window_converter.h"

#include <malloc.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include "cmd/command.h"
#include "lib/base/outfile.h"
#include "lib/fleet/resources.h"
#include "lib/format/format.h"
#include "lib/recording/loss_counts.h"
#include "lib/recording/recording.h"

#define NICENESS 10
/* A window is dropped after killing this many converters. */
#define ATTEMPTS_MAX 2
/* Maximum size of file contents kept between windows, in bytes. */
#define CONTENTS_MAX ((uint64_t)256 << 20)
/* Maximum size of cached names, in bytes. */
#define NAMES_BYTES ((size_t)32 << 20)
/* Free memory above this is returned to the kernel after a window. */
#define FREE_MAX ((size_t)8 << 20)

static void say(const char *line)
{
	command_say("%s", line);
}

/* Makes a profile of the window. Returns its descriptor; -ENODATA if nothing happened in it. */
static int name(struct window_converter *n, const struct capture_window *w, struct push_job *job,
		struct error *err)
{
	const struct recording_options options = {
		.part.window_end_ns = w->end_ns,
		.dirs = n->output->debug_dirs.items,
		.no_symbols = n->output->no_symbols,
		.no_limit = true,
		.cache = n->cache,
		.keeps_unpacked = !n->output->no_cache,
		.say = say,
	};
	_cleanup_close_ int copy = memfd_create("window", MFD_CLOEXEC);
	const struct export_options how = {.all_threads = true};
	struct export_counts counts;
	struct recording r = {0};
	uint64_t size;
	int ret = copy < 0 ? -errno : capture_window_copy(w, n->capture, copy);

	if (ret)
		return error_set(err, ret, "cannot read a window");
	/* Contents of files that may have been deleted are sent only once. */
	r.contents = n->contents;
	n->contents = (struct read_contents){0};
	ret = recording_load(&r, &source_capture, copy, "a window", &options, err);
	if (ret)
		return ret;
	read_contents_trim(&r.contents, CONTENTS_MAX);
	n->contents = r.contents;
	r.contents = (struct read_contents){0};
	job->id = r.profile->meta.start_realtime_ns;
	job->samples = r.profile->stats.cpu_samples;
	fleet_resources_keep(r.profile);
	ret = job->samples || job->lost || losses_count(&r.profile->stats, true)
		      ? written_file(FORMAT_DEFAULT, r.profile, &how, &counts, true, &size, err)
		      : error_text(err, -ENODATA, "a window is empty");
	recording_release(&r);
	return ret;
}

/* Returns memory: a window with many processes uses many times the usual amount. */
static void return_memory(void)
{
	if (mallinfo2().fordblks > FREE_MAX)
		malloc_trim(0);
}

static void add_report(struct push_report *sums, const struct push_report *report)
{
	sums->sent_windows += report->sent_windows;
	sums->sent_samples += report->sent_samples;
	sums->lost_windows += report->lost_windows;
	sums->lost_samples += report->lost_samples;
	sums->refused_profiles += report->refused_profiles;
	sums->waiting_windows += report->waiting_windows;
	sums->waiting_bytes += report->waiting_bytes;
	sums->failures += report->failures;
	if (report->words[0])
		memcpy(sums->words, report->words, sizeof(sums->words));
}

/* Sends a profile, or a request for a report, to a pusher. Earlier answers may come first. */
static int hand_over(int pusher, const struct push_job *job, int fd, struct push_report *report)
{
	int ret = window_pipe_send(pusher, job, sizeof(*job), fd);

	while (!ret) {
		ret = window_pipe_peek(pusher, report, sizeof(*report), NULL);
		if (ret <= 0)
			return ret ? ret : -EPIPE;
		window_pipe_take(pusher);
		if (report->id == job->id)
			return 0;
		ret = 0;
	}
	return ret;
}

/* Returns 0, or a negative errno if a pusher is gone. */
static int hand_over_all(const struct window_converter *n, const struct push_job *job, int fd,
			 struct window_answer *answer)
{
	int ret = 0;

	vec_for_each(&n->pushers, const int *, pusher) {
		struct push_report report = {0};

		if (!ret)
			ret = hand_over(*pusher, job, fd, &report);
		add_report(&answer->sums, &report);
	}
	return ret;
}

static int work(struct window_converter *n, const struct window_job *job,
		struct window_answer *answer)
{
	struct window_memory *m = n->memory;
	struct push_job window = {.lost = job->lost};
	struct error err = {0};
	_cleanup_close_ int fd = -1;
	int ret;

	m->attempts = m->start_ns == job->window.start_ns ? m->attempts + 1 : 1;
	m->start_ns = job->window.start_ns;
	if (m->attempts > ATTEMPTS_MAX)
		fd = error_text(&err, -EIO, "the process that symbolizes a window has died");
	else
		fd = name(n, &job->window, &window, &err);
	if (fd < 0) {
		window = (struct push_job){0};
		if (fd != -ENODATA) {
			command_say("%s: giving up", err.text);
			answer->lost_windows++;
			answer->lost_samples += job->window.held;
		}
	}
	answer->start_ns = job->window.start_ns;
	ret = hand_over_all(n, &window, fd, answer);
	if (!ret)
		m->last = job->window;
	return ret;
}

/* Sends the remaining data of a killed recorder, after the last window handed over. */
static int take_rest(struct window_converter *n)
{
	const struct capture_window *last = &n->memory->last;
	struct window_job job = {.window = {.at = last->next_at, .start_ns = last->end_ns}};
	struct window_answer answer = {0};
	struct capture_header header;
	struct stat st;

	if (fstat(n->capture, &st) ||
	    pread(n->capture, &header, sizeof(header), 0) != (ssize_t)sizeof(header))
		return 0;
	if (!last->end) {
		job.window.at = sizeof(header);
		job.window.start_ns = header.start_ns;
	} else if (!last->next_at) {
		return 0;
	}
	job.window.end = (uint64_t)st.st_size;
	job.window.start_realtime_ns = header.start_realtime_ns +
				       (job.window.start_ns - header.start_ns);
	if (job.window.end <= job.window.at)
		return 0;
	command_say("the recorder is gone: sending the remaining data");
	return work(n, &job, &answer);
}

static bool is_end(const struct window_job *job)
{
	return !job->window.end;
}

/* Works until the recorder ends. Returns 0, even if it was killed, or a negative errno. */
static int work_all(struct window_converter *n)
{
	struct window_job job;
	int ret = 0;

	while (!ret) {
		struct window_answer answer = {0};
		int got = window_pipe_peek(n->jobs, &job, sizeof(job), NULL);

		if (got <= 0)
			return got ? got : take_rest(n);
		if (is_end(&job))
			return 0;
		ret = work(n, &job, &answer);
		if (ret)
			break;
		return_memory();
		/* If the recorder is gone, the next receive fails. */
		window_pipe_send(n->jobs, &answer, sizeof(answer), -1);
		window_pipe_take(n->jobs);
	}
	return ret;
}

int window_converter_run(struct window_converter *n)
{
	/* Root must not read files that the invoking user cannot read. */
	struct identity before = identity_assume_files(n->owner);
	int ret = before.failure;

	n->cache = name_cache_new(NAMES_BYTES);
	setpriority(PRIO_PROCESS, 0, NICENESS);
	if (!ret)
		ret = work_all(n);
	name_cache_free(n->cache);
	return ret ? EXIT_REFUSED : 0;
}
