/* SPDX-License-Identifier: MIT */
/* Results on disk: their contents, and what is left if writing fails. */

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/unit/outfile_fixture.h"
#include "tests/unit/process_state.h"
#include "tests/unit/test.h"

IN_FOLDER(test_name_appears_at_commit)
{
	struct outfile *f;
	struct stat st;

	put_file("p.json", "old");
	f = open_file("p.json", false);
	assert_int_equal(count_names(), has_unnamed_files() ? 1 : 2);
	outfile_write(f, "new text", 8);
	check_content("p.json", "old", 3);
	commit(f);
	check_content("p.json", "new text", 8);
	assert_int_equal(count_names(), 1);
	assert_int_equal(stat("p.json", &st), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
}

IN_FOLDER(test_free_without_commit)
{
	struct outfile *f;

	put_file("p.json", "old");
	f = open_file("p.json", true);
	outfile_write(f, "new", 3);
	outfile_free(f);
	check_content("p.json", "old", 3);
	assert_int_equal(count_names(), 1);
	outfile_free(NULL);
}

IN_FOLDER(test_mode_whatever_the_umask)
{
	static const mode_t masks[] = {0, 022, 0277, 0777};

	for (size_t i = 0; i < sizeof(masks) / sizeof(*masks); i++) {
		mode_t before = umask(masks[i]);
		struct stat st;

		commit(open_file("p", false));
		umask(before);
		assert_int_equal(stat("p", &st), 0);
		assert_int_equal(st.st_mode & 07777, 0600);
	}
}

/* Every boundary of the buffers, in pieces of all kinds of sizes. */
IN_FOLDER(test_plain_of_any_size)
{
	static const size_t sizes[] = {0, 1, 65535, 65536, 65537, 131072, 1000003};
	static const size_t parts[] = {1, 7, 4096, 65536, 100000, 2000000};
	char *data = make_data(1000003, true);

	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		for (size_t k = 0; k < sizeof(parts) / sizeof(*parts); k++) {
			struct outfile *f = open_file("p", false);
			struct error err = {0};

			for (size_t at = 0; at < sizes[i]; at += parts[k])
				outfile_write(f, data + at,
					      sizes[i] - at < parts[k] ? sizes[i] - at : parts[k]);
			assert_int_equal(outfile_commit(f, &err), 0);
			assert_int_equal(outfile_size(f), sizes[i]);
			outfile_free(f);
			check_content("p", data, sizes[i]);
		}
	}
	free(data);
}

/*
 * Uses gzip(1), which is independent of the library that wrote the file. A second member would show
 * as a second header.
 */
static void check_gzip(const char *data, size_t size)
{
	struct outfile *f = open_file("p.gz", true);
	struct error err = {0};
	uint32_t plain_size;
	size_t file_size;
	char *file;

	outfile_write(f, data, size);
	assert_int_equal(outfile_commit(f, &err), 0);
	file = text_read_file("p.gz", SIZE_MAX, &file_size);
	assert_non_null(file);
	assert_int_equal(outfile_size(f), file_size);
	outfile_free(f);
	assert_memory_equal(file, "\x1f\x8b\x08", 3);
	/* The trailer counts its member, which here is everything. */
	memcpy(&plain_size, file + file_size - 4, sizeof(plain_size));
	assert_int_equal(plain_size, size);
	free(file);
	assert_int_equal(system("gzip -dc p.gz > p.plain"), 0);
	check_content("p.plain", data, size);
}

IN_FOLDER(test_gzip_of_any_size)
{
	static const size_t sizes[] = {0, 1, 65535, 65536, 65537, 262144, 5000001};
	char *digits = make_data(5000001, false), *noise = make_data(5000001, true);

	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		check_gzip(digits, sizes[i]);
		check_gzip(noise, sizes[i]);
	}
	free(digits);
	free(noise);
}

static void on_signal(int number)
{
}

IN_FOLDER(test_no_space_on_device)
{
	struct outfile *f = open_file("/dev/full", false);
	char *data = make_data(1 << 20, true);
	struct error err = {0};

	assert_false(outfile_failed(f));
	outfile_write(f, data, 1 << 20);
	assert_true(outfile_failed(f));
	outfile_write(f, data, 1 << 20);
	assert_int_equal(outfile_commit(f, &err), -ENOSPC);
	assert_string_equal(err.text, "cannot write /dev/full: No space left on device");
	outfile_free(f);
	free(data);
}

/* A limit of the file size stands for a full disk. The failure may come as late as the commit. */
static void check_full(size_t size, bool gzip)
{
	struct outfile *f;
	struct error err = {0};
	char *data = make_data(size, true);

	put_file("p", "old");
	f = open_file("p", gzip);
	outfile_write(f, data, size);
	assert_int_equal(outfile_failed(f), size > 200000);
	assert_int_equal(outfile_commit(f, &err), -EFBIG);
	assert_string_equal(err.text, "cannot write p: File too large");
	assert_int_equal(count_names(), 1);
	outfile_free(f);
	check_content("p", "old", 3);
	assert_int_equal(count_names(), 1);
	free(data);
}

IN_FOLDER(test_full_disk_leaves_nothing)
{
	struct rlimit before, limit;

	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
	limit = before;
	limit.rlim_cur = 30000;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
	check_full(50000, false);
	check_full(50000, true);
	check_full(1000000, false);
	check_full(1000000, true);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
}

static struct outfile *open_descriptor(int fd)
{
	struct outfile_options options = {.path = "-", .fd = fd};
	struct outfile *f = NULL;

	assert_int_equal(outfile_open(&f, &options, NULL), 0);
	return f;
}

IN_FOLDER(test_reader_went_away)
{
	struct outfile *f;
	struct error err = {0};
	int fds[2];

	signal(SIGPIPE, SIG_IGN);
	assert_int_equal(pipe(fds), 0);
	close(fds[0]);
	f = open_descriptor(fds[1]);
	outfile_write(f, "abc", 3);
	assert_int_equal(outfile_commit(f, &err), -EPIPE);
	assert_string_equal(err.text, "cannot write -: Broken pipe");
	/* Taken over, and so closed. */
	assert_int_equal(fcntl(fds[1], F_GETFD), -1);
	outfile_free(f);
}

/* In a child: signals the parent whenever it waits, then reads; exits with 0 if it got the data. */
static pid_t start_slow_reader(const int *fds, const char *data, size_t size)
{
	pid_t reader = fork();
	size_t got_size;
	char *got;

	assert_true(reader >= 0);
	if (reader)
		return reader;
	close(fds[1]);
	for (int i = 0; i < 20; i++) {
		process_await_sleep(getppid());
		kill(getppid(), SIGUSR1);
	}
	fcntl(fds[0], F_SETFL, 0);
	got = text_read_fd(fds[0], SIZE_MAX, &got_size);
	_exit(!got || got_size != size || memcmp(got, data, size));
}

/* A pipe of one page, so that no write is ever complete; also a non-blocking one. */
static void check_slow_reader(int pipe_flags)
{
	enum { SIZE = 1 << 20 };
	char *data = make_data(SIZE, true);
	struct outfile *f;
	int fds[2], status;
	pid_t reader;

	assert_int_equal(pipe2(fds, pipe_flags), 0);
	assert_true(fcntl(fds[1], F_SETPIPE_SZ, 4096) > 0);
	reader = start_slow_reader(fds, data, SIZE);
	close(fds[0]);
	f = open_descriptor(fds[1]);
	outfile_write(f, data, SIZE);
	commit(f);
	assert_int_equal(waitpid(reader, &status, 0), reader);
	assert_int_equal(status, 0);
	free(data);
}

IN_FOLDER(test_slow_reader)
{
	struct sigaction action = {.sa_handler = on_signal};

	sigaction(SIGUSR1, &action, NULL);
	check_slow_reader(0);
	check_slow_reader(O_NONBLOCK);
	signal(SIGUSR1, SIG_DFL);
}
