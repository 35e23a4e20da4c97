/* SPDX-License-Identifier: MIT */
#include "cmd/run/kept_capture.h"

#include <signal.h>
#include <sys/resource.h>
#include <sys/statvfs.h>

#include "cmd/command.h"
#include "lib/base/program.h"
#include "lib/base/quote.h"
#include "lib/recording/spool.h"

#define NUMBERS 8
#define NICENESS 10
/* A snapshot may use at most this fraction of the machine's memory. */
#define MEMORY_PART 2

extern const struct command command_recover;

static void add_number(char **arguments, size_t *count, uint64_t number)
{
	arguments[(*count)++] = xasprintf("%" PRIu64, number);
}

char **kept_capture_arguments(const struct kept_capture *k, const char *path,
			      const struct output_options *output)
{
	const struct capture_window *w = &k->window;
	char **arguments = xcalloc(NUMBERS + 8 + output->debug_dirs.count, sizeof(*arguments));
	size_t count = 0;

	/* Without a launcher, execute /proc/self/exe: this user may be unable to reach its path. */
	arguments[count++] = xstrdup(program_again);
	arguments[count++] = xstrdup(COMMAND_SNAPSHOT);
	add_number(arguments, &count, (uint64_t)k->fd);
	add_number(arguments, &count, (uint64_t)k->copied);
	add_number(arguments, &count, w->at);
	add_number(arguments, &count, w->end);
	add_number(arguments, &count, w->start_ns);
	add_number(arguments, &count, w->start_realtime_ns);
	add_number(arguments, &count, w->sequence);
	add_number(arguments, &count, w->samples);
	arguments[count++] = xstrdup(path);
	/* The recorder reports the result. */
	arguments[count++] = xstrdup("--quiet");
	if (output->no_symbols)
		arguments[count++] = xstrdup("--no-symbols");
	if (output->no_cache)
		arguments[count++] = xstrdup("--no-cache");
	if (output->sources)
		arguments[count++] = xstrdup("--sources");
	for (size_t i = 0; i < output->debug_dirs.count; i++)
		arguments[count++] = xasprintf("--debug-dir=%s", output->debug_dirs.items[i]);
	return arguments;
}

void kept_capture_free_arguments(char **arguments)
{
	for (size_t i = 0; arguments[i]; i++)
		free(arguments[i]);
	free(arguments);
}

static bool parse(struct kept_capture *k, char **argv)
{
	uint64_t numbers[NUMBERS];

	for (size_t i = 0; i < NUMBERS; i++) {
		if (!text_to_u64(argv[i], 10, &numbers[i]))
			return false;
	}
	*k = (struct kept_capture){
		.fd = (int)numbers[0],
		.copied = (int)numbers[1],
		.window = {.at = numbers[2],
			   .end = numbers[3],
			   .start_ns = numbers[4],
			   .start_realtime_ns = numbers[5],
			   .sequence = numbers[6],
			   .samples = numbers[7]},
	};
	return k->window.at <= k->window.end;
}

/* Writes the capture. Returns 0 or a negative errno with err. */
static int write_capture(struct spool *s, const struct kept_capture *k, const char *path,
			 struct error *err)
{
	const struct spool_options options = {.path = path};
	const struct identity self = {.uid = geteuid(), .gid = getegid(), .is_self = true};
	int ret = spool_open(s, &options, &self, err);

	if (!ret && s->fd < 0)
		ret = error_text(err, -EACCES, "cannot write a capture next to %s", path);
	if (ret)
		return ret;
	ret = capture_window_copy(&k->window, k->fd, s->fd);
	if (!ret)
		return 0;
	spool_remove(s);
	return error_set(err, ret, "cannot write %s", s->path);
}

static int recover(char *path, char *output, char **options)
{
	static char command[] = "recover", option[] = "--output";
	char *arguments[64] = {command, option, output};
	int count = 3;

	while (*options && count < 62)
		arguments[count++] = *options++;
	arguments[count++] = path;
	optind = 1;
	return command_recover.run(count, arguments);
}

/* Limits memory, so that a large snapshot fails before it displaces the recorded programs. */
static void limit_memory(void)
{
	const uint64_t pages = (uint64_t)sysconf(_SC_PHYS_PAGES);
	const uint64_t bytes = pages * (uint64_t)sysconf(_SC_PAGESIZE) / MEMORY_PART;
	_cleanup_close_ int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
	struct rlimit limit;
	bool is_limited = true;

#ifdef __SANITIZE_ADDRESS__
	/* The shadow of all memory is far larger. */
	is_limited = false;
#endif
	if (is_limited && getrlimit(RLIMIT_DATA, &limit) == 0 && bytes < limit.rlim_cur) {
		limit.rlim_cur = bytes;
		setrlimit(RLIMIT_DATA, &limit);
	}
	/* If memory runs out nevertheless, the kernel kills this process first. */
	if (fd >= 0)
		(void)!write(fd, "1000", 4);
}

int kept_capture_run(int argc, char **argv)
{
	struct spool spool = SPOOL_INIT;
	struct kept_capture k;
	struct error err = {0};
	_cleanup_(strbuf_release) struct strbuf quoted = {0};
	_cleanup_free_ char *path = NULL;
	int status;

	if (argc < NUMBERS + 2 || !parse(&k, argv + 1))
		return EXIT_USAGE;
	/* Ctrl-C is meant for the recording. */
	signal(SIGINT, SIG_IGN);
	setpriority(PRIO_PROCESS, 0, NICENESS);
	limit_memory();
	if (write_capture(&spool, &k, argv[NUMBERS + 1], &err)) {
		spool_release(&spool);
		return command_fail("snapshot", EXIT_REFUSED, &err);
	}
	close(k.copied);
	close(k.fd);
	path = xstrdup(spool.path);
	/* This also unlocks the file. */
	spool_release(&spool);
	status = recover(path, argv[NUMBERS + 1], argv + NUMBERS + 2);
	if (status) {
		quote_path(&quoted, path);
		command_say("the snapshot is kept: prof recover %s", strbuf_text(&quoted));
	}
	return status;
}

/* Reserve for the file system's metadata. */
#define SPARE_BYTES 16384

static int write_once(const struct full_disk *d, struct outfile *out, struct error *err)
{
	return d->write(d->ctx, out, err) ?: outfile_commit(out, err);
}

/* Sets the size of the profile as a file. */
static int measure(const struct full_disk *d, uint64_t *bytes)
{
	const struct outfile_options options = {
		.path = "/dev/null",
		.fd = open("/dev/null", O_WRONLY | O_CLOEXEC),
		.gzip = format_is_compressed(d->output->format, d->output->path),
		.owner = *d->owner,
	};
	struct outfile *out = NULL;
	struct error err = {0};
	int ret = options.fd < 0 ? -errno : outfile_open(&out, &options, &err);

	if (!ret)
		ret = write_once(d, out, &err);
	*bytes = ret ? 0 : outfile_size(out);
	outfile_free(out);
	return ret;
}

/* True if a file of this size fits into the output's folder without that capture. */
static bool has_room(const struct full_disk *d, uint64_t bytes, const struct stat *capture)
{
	const char *path = d->output->path, *slash = strrchr(path, '/');
	_cleanup_free_ char *folder = slash ? xstrndup(path, (size_t)(slash - path) + 1)
					    : xstrdup(".");
	struct statvfs room;
	struct stat st;
	uint64_t free_bytes;

	if (stat(folder, &st) != 0 || statvfs(folder, &room) != 0 || st.st_dev != capture->st_dev)
		return false;
	free_bytes = (uint64_t)room.f_bavail * room.f_frsize + (uint64_t)capture->st_blocks * 512;
	return bytes + SPARE_BYTES <= free_bytes;
}

int full_disk_write(const struct full_disk *d, struct outfile **out, struct error *err)
{
	int ret = write_once(d, *out, err);
	struct stat capture;
	uint64_t bytes;

	if (ret != -ENOSPC || output_is_stdout(d->output) || !d->find_capture(d->ctx, &capture))
		return ret;
	/* Free the space used by the first attempt. */
	outfile_free(steal(*out));
	if (measure(d, &bytes) || !has_room(d, bytes, &capture))
		return ret;
	log_warn("%s: the disk is full: the capture was removed to make room", d->output->path);
	d->abandon(d->ctx);
	*err = (struct error){0};
	return output_open(d->output, d->owner, out, err) ?: write_once(d, *out, err);
}
