/* SPDX-License-Identifier: MIT */
/* This process plays the recorded one: it writes maps of code that it does not have. */
#include "lib/live/code/jit_files.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "lib/model/languages/language.h"
#include "lib/live/code/line_file.h"
#include "lib/stream/record/records.h"
#include "tests/unit/jitdump_bytes.h"
#include "tests/unit/test.h"

#define SECOND 1000000000ull

static struct live_processes *processes;
static struct jit_files *files;
static struct jit_process self;
static uint32_t own_pid;
static char path[64], folder[64];
static char seen[4096]; /* "time since start+size name [offset:line:file]…\n" of each record */
static uint64_t now;

static void sink(void *ctx, const struct rec *rec)
{
	const struct rec_code *code = (const struct rec_code *)rec;
	FILE *out = fmemopen(seen + strlen(seen), sizeof(seen) - strlen(seen), "w");

	assert_int_equal(rec->kind, REC_CODE);
	assert_true(record_is_valid(rec, record_size(rec)));
	assert_int_equal(rec->pid, own_pid);
	fprintf(out, "%llu %s%llu %llx+%llx %s", (unsigned long long)rec->time,
		rec->flags & CODE_EXACT ? "=" : "", (unsigned long long)code->since,
		(unsigned long long)code->start, (unsigned long long)code->size,
		rec_code_text(code));
	for (uint32_t i = 0; i < code->line_count; i++)
		fprintf(out, " %x:%u:%s", code->lines[i].offset, code->lines[i].line,
			rec_code_text(code) + code->lines[i].file);
	fprintf(out, "\n");
	fclose(out);
}

static void start(record_sink_fn *fn, void *ctx)
{
	processes = live_processes_new();
	files = jit_files_new(processes, fn, ctx);
}

static void stop(void)
{
	live_processes_free(processes);
	jit_files_free(files);
}

static struct live_process *process(uint32_t pid)
{
	return live_processes_add(processes, pid, 0);
}

/* Ends the process, past all late events. */
static void end_process(uint32_t pid, uint64_t time)
{
	live_processes_exit(processes, pid, time);
	for (int i = 0; i < 3; i++)
		live_processes_next_round(processes, time);
}

static int setup(void **state)
{
	own_pid = (uint32_t)getpid();
	if (jit_process_read(&self, own_pid))
		return -1;
	snprintf(path, sizeof(path), "/tmp/perf-%u.map", self.own_pid);
	snprintf(folder, sizeof(folder), "/tmp/test-jit-files.XXXXXX");
	unlink(path);
	now = SECOND;
	start(sink, NULL);
	return mkdtemp(folder) ? 0 : -1;
}

static int teardown(void **state)
{
	stop();
	unlink(path);
	rmdir(folder);
	return 0;
}

static void append(const char *text)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_APPEND, 0600);

	assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
	close(fd);
}

/* Returns what a poll finds some time later. */
static const char *poll_later(void)
{
	now += 2 * SECOND;
	memset(seen, 0, sizeof(seen));
	jit_files_poll(files, now, 0);
	return seen;
}

static const char *finish(void)
{
	now += 2 * SECOND;
	memset(seen, 0, sizeof(seen));
	jit_files_finish(files, now);
	return seen;
}

static void count(void *ctx, const struct rec *rec)
{
	*(uint64_t *)ctx += record_size(rec);
}

#define CASE(name) TEST_WITH(name, setup, teardown)

CASE(a_file_older_than_its_process_is_that_of_another)
{
	struct jit_process later = self;
	struct stat st;
	int root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC), fd;

	append("1000 10 mine\n");
	assert_int_equal(stat(path, &st), 0);
	assert_true(self.start_s > 0 && self.start_s <= st.st_ctim.tv_sec + 1);
	fd = jit_process_open_file(&self, root, path + 1);
	assert_true(fd >= 0);
	close(fd);
	later.start_s = st.st_ctim.tv_sec + 10;
	assert_int_equal(jit_process_open_file(&later, root, path + 1), -ESTALE);
	close(root);
}

/* Lines as short as possible, so that each record is ten times as long. */
CASE(what_all_maps_become_is_bounded)
{
	const size_t lines = 5 << 20;
	struct jit_files_stats stats;
	uint64_t bytes = 0;
	FILE *out;

	stop();
	start(count, &bytes);
	jit_files_memory(files, process(own_pid));
	append("1000 10 a\n");
	jit_files_poll(files, SECOND, 0);
	jit_files_get_stats(files, &stats);
	assert_int_equal(stats.cut, 0);
	out = fopen(path, "a");
	assert_non_null(out);
	for (size_t i = 0; i < lines; i++)
		fputs("1 1 a\n", out);
	fclose(out);
	end_process(own_pid, 2 * SECOND);
	assert_in_range(bytes, (256u << 20) - 64, 257u << 20);
	jit_files_get_stats(files, &stats);
	assert_int_equal(stats.cut, 1);
}

CASE(a_map_that_comes_and_grows)
{
	struct jit_files_stats stats;

	append("1000 10 nobody asked\n");
	assert_string_equal(poll_later(), "");
	unlink(path);
	jit_files_memory(files, process(own_pid));
	assert_string_equal(poll_later(), "");
	append("1000 10 a\nrubbish\n20");
	assert_string_equal(poll_later(), "7000000000 0 1000+10 a\n");
	assert_string_equal(poll_later(), "");
	append("00 20 b\n");
	/* Part of it was there at once. */
	assert_string_equal(poll_later(), "11000000000 0 2000+20 b\n");
	append("3000 30 c");
	assert_string_equal(poll_later(), "");
	assert_string_equal(finish(), "15000000000 15000000000 3000+30 c\n");
	jit_files_get_stats(files, &stats);
	assert_int_equal(stats.maps, 1);
	assert_int_equal(stats.dumps, 0);
	assert_int_equal(stats.pieces, 3);
	assert_int_equal(stats.malformed, 1);
	assert_int_equal(stats.cut, 0);
}

/* Code that a map adds counts from the map's last write on. */
CASE(a_map_that_was_written_a_while_ago)
{
	unsigned long long read_ns, since;
	struct timespec times[2];

	append("1000 10 a\n");
	jit_files_memory(files, process(own_pid));
	now = clock_monotonic_ns() - 20 * SECOND;
	poll_later();
	append("1000 10 b\n");
	clock_gettime(CLOCK_REALTIME, &times[0]);
	times[0].tv_sec -= 5;
	times[1] = times[0];
	assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
	now = clock_monotonic_ns();
	assert_int_equal(sscanf(poll_later(), "%llu %llu 1000+10 b", &read_ns, &since), 2);
	assert_in_range(since, now - 8 * SECOND, now - 6 * SECOND);
	/* A time from before the last poll is wrong. */
	append("1000 10 c\n");
	times[1].tv_sec -= 1000;
	assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
	assert_int_equal(sscanf(poll_later(), "%llu %llu 1000+10 c", &read_ns, &since), 2);
	assert_int_equal(since, now - 2 * SECOND);
}

/* A write is noticed at once; further ones after a while. */
CASE(a_map_that_is_watched)
{
	struct pollfd watched = {.fd = jit_files_fd(files), .events = POLLIN};

	append("1000 10 a\n");
	jit_files_memory(files, process(own_pid));
	poll_later();
	poll_later();
	assert_int_equal(poll(&watched, 1, 0), 0);
	assert_false(jit_files_is_due_soon(files));
	append("1000 10 b\n");
	assert_int_equal(poll(&watched, 1, 0), 1);
	now++;
	memset(seen, 0, sizeof(seen));
	jit_files_poll(files, now, 0);
	assert_non_null(strstr(seen, "1000+10 b"));
	append("1000 10 c\n");
	assert_int_equal(poll(&watched, 1, 0), 1);
	now++;
	jit_files_poll(files, now, 0);
	append("1000 10 d\n");
	assert_int_equal(poll(&watched, 1, 0), 0);
	assert_true(jit_files_is_due_soon(files));
	memset(seen, 0, sizeof(seen));
	jit_files_poll(files, now + SECOND / 50, 0);
	assert_non_null(strstr(seen, "1000+10 d"));
}

CASE(a_map_that_is_unlinked)
{
	int fd;

	append("1000 10 a\n");
	jit_files_memory(files, process(own_pid));
	assert_string_equal(poll_later(), "3000000000 0 1000+10 a\n");
	fd = open(path, O_WRONLY | O_APPEND);
	unlink(path);
	assert_int_equal(write(fd, "2000 20 b\n", 10), 10);
	close(fd);
	assert_string_equal(poll_later(), "5000000000 5000000000 2000+20 b\n");
	append("3000 30 another\n");
	poll_later();
	assert_string_equal(poll_later(), "9000000000 9000000000 3000+30 another\n");
}

CASE(another_program_has_another_map)
{
	append("1000 10 a\n");
	jit_files_memory(files, process(own_pid));
	assert_string_equal(poll_later(), "3000000000 0 1000+10 a\n");
	append("2000 20 b\n");
	memset(seen, 0, sizeof(seen));
	live_processes_exec(processes, process(own_pid), 4 * SECOND);
	assert_string_equal(seen, "4000000000 4000000000 2000+20 b\n");
	append("3000 30 c\n");
	assert_string_equal(poll_later(), "");
	unlink(path);
	append("4000 40 d\n");
	jit_files_memory(files, process(own_pid));
	memset(seen, 0, sizeof(seen));
	end_process(own_pid, 6 * SECOND);
	assert_string_equal(seen, "6000000000 0 4000+40 d\n");
	assert_string_equal(finish(), "");
}

CASE(a_dump_that_is_mapped)
{
	static const struct jitdump_line lines[] = {{0x1000, 7, "a.c"}, {0x1008, 8, "b.c"}};
	struct jit_files_stats stats;
	int fd = memfd_create("dump", MFD_CLOEXEC);

	jit_files_dump(files, process(own_pid), -1);
	jitdump_write_header(fd, 0, 0);
	jit_files_dump(files, process(own_pid), fd);
	jitdump_write_lines(fd, 0x1000, lines, 2);
	jitdump_write_load(fd, 5, 0x1000, 0x20, 1, "a");
	assert_string_equal(poll_later(), "3000000000 =5 1000+20 a 0:7:a.c 8:8:b.c\n");
	jitdump_write_load(fd, 6, 0x2000, 0x20, 2, "b");
	close(fd);
	assert_string_equal(finish(), "5000000000 =6 2000+20 b\n");
	jit_files_get_stats(files, &stats);
	assert_int_equal(stats.maps, 0);
	assert_int_equal(stats.dumps, 1);
	assert_int_equal(stats.pieces, 2);
}

CASE(a_child_may_have_a_map)
{
	int pipe_fds[2];
	pid_t child;
	char c;

	assert_int_equal(pipe(pipe_fds), 0);
	child = fork();
	if (!child) {
		close(pipe_fds[1]);
		_exit(read(pipe_fds[0], &c, 1) != 0);
	}
	close(pipe_fds[0]);
	snprintf(path, sizeof(path), "/tmp/perf-%d.map", child);
	unlink(path);
	append("1000 10 a\n");
	live_processes_fork(processes, (uint32_t)child, own_pid, SECOND);
	assert_string_equal(poll_later(), "");
	jit_files_memory(files, process(own_pid));
	live_processes_fork(processes, (uint32_t)child, own_pid, 2 * SECOND);
	own_pid = (uint32_t)child;
	assert_string_equal(poll_later(), "5000000000 0 1000+10 a\n");
	close(pipe_fds[1]);
	assert_int_equal(waitpid(child, NULL, 0), child);
}

CASE(names_of_dumps)
{
	assert_true(language_dump_is_path("/home/u/jit-123.dump"));
	assert_true(language_dump_is_path("/jit-1.dump (deleted)"));
	assert_true(language_dump_is_path("jit-1.dump"));
	assert_true(language_dump_is_path("/tmp/jit-12-345.dump"));
	assert_false(language_dump_is_path("/jit-12-.dump"));
	assert_false(language_dump_is_path("/jit--1.dump"));
	assert_false(language_dump_is_path("/jit-.dump"));
	assert_false(language_dump_is_path("/jit-1x.dump"));
	assert_false(language_dump_is_path("/jit-1.dump.so"));
	assert_false(language_dump_is_path("/jit-1.dump/libc.so"));
	assert_false(language_dump_is_path("/xjit-1.dump"));
	assert_false(language_dump_is_path(""));
}

CASE(processes_that_are_gone)
{
	struct jit_process gone;

	/* A pid that no kernel gives. */
	assert_int_equal(jit_process_read(&gone, 0x7fffffff), -ESRCH);
	jit_files_memory(files, process(0x7fffffff));
	live_processes_exec(processes, process(0x7fffffff), now);
	end_process(0x7fffffff, now);
	assert_string_equal(poll_later(), "");
	assert_string_equal(finish(), "");
}

static int open_in_folder(int root, const char *name)
{
	int fd = jit_process_open_file(&self, root, name);

	if (fd >= 0)
		close(fd);
	return fd < 0 ? fd : 0;
}

CASE(only_regular_files_of_its_own)
{
	int root = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC), fd;
	struct jit_process other;

	fd = openat(root, "map", O_WRONLY | O_CREAT, 0600);
	close(fd);
	assert_int_equal(symlinkat("map", root, "link"), 0);
	assert_int_equal(symlinkat("/usr", root, "out"), 0);
	assert_int_equal(mkfifoat(root, "fifo", 0600), 0);
	assert_int_equal(mkdirat(root, "folder", 0700), 0);
	assert_int_equal(open_in_folder(root, "map"), 0);
	assert_int_equal(open_in_folder(root, "/map"), 0);
	assert_int_equal(open_in_folder(root, "../map"), 0);
	assert_int_equal(open_in_folder(root, "none"), -ENOENT);
	assert_int_equal(open_in_folder(root, "link"), -ENXIO);
	assert_int_equal(open_in_folder(root, "out/bin"), -ENOENT);
	assert_int_equal(open_in_folder(root, "fifo"), -ENXIO);
	assert_int_equal(open_in_folder(root, "folder"), -ENXIO);
	other = self;
	other.uid = self.uid + 1;
	assert_int_equal(jit_process_open_file(&other, root, "map"), -EPERM);
	/* Root's files are fine if everybody may read them. */
	assert_int_equal(fchmodat(root, "map", 0604, 0), 0);
	fd = jit_process_open_file(&other, root, "map");
	if (self.uid)
		assert_int_equal(fd, -EPERM);
	else
		assert_true(fd >= 0);
	if (fd >= 0)
		close(fd);
	unlinkat(root, "map", 0);
	unlinkat(root, "link", 0);
	unlinkat(root, "out", 0);
	unlinkat(root, "fifo", 0);
	unlinkat(root, "folder", AT_REMOVEDIR);
	close(root);
}
