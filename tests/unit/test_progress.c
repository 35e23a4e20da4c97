/* SPDX-License-Identifier: MIT */
/* Progress on a terminal: what prof shows while it works, and what it does not. */

#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include "cmd/text/progress.h"
#include "tests/unit/fake_clock.h"
#include "tests/unit/test.h"

#define MS 1000000ull

struct screen {
	int master, saved;
	char text[4096];
};

/* Standard error is a terminal of 40 columns until screen_close(), and the clock stands still. */
static void screen_open(struct screen *s)
{
	const struct winsize size = {.ws_row = 24, .ws_col = 40};
	struct termios plain;
	int slave;

	s->master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
	assert_true(s->master >= 0);
	assert_int_equal(grantpt(s->master), 0);
	assert_int_equal(unlockpt(s->master), 0);
	slave = open(ptsname(s->master), O_RDWR | O_NOCTTY);
	assert_true(slave >= 0);
	ioctl(slave, TIOCSWINSZ, &size);
	assert_int_equal(tcgetattr(slave, &plain), 0);
	cfmakeraw(&plain);
	assert_int_equal(tcsetattr(slave, TCSANOW, &plain), 0);
	s->saved = dup(STDERR_FILENO);
	dup2(slave, STDERR_FILENO);
	close(slave);
	setenv("TERM", "xterm", 1);
	fake_clock_start(0);
}

static void screen_close(struct screen *s)
{
	fake_clock_stop();
	dup2(s->saved, STDERR_FILENO);
	close(s->saved);
	close(s->master);
}

/* Returns what was written since the last call. */
static const char *screen_read(struct screen *s)
{
	struct pollfd fd = {.fd = s->master, .events = POLLIN};
	size_t used = 0;

	while (used < sizeof(s->text) - 1 && poll(&fd, 1, 0) > 0) {
		ssize_t got = read(s->master, s->text + used, sizeof(s->text) - 1 - used);

		assert_true(got > 0);
		used += (size_t)got;
	}
	s->text[used] = '\0';
	return s->text;
}

#define BLANKS "                                        \r"
#define ERASE "\r\033[K"

TEST(nothing_where_it_cannot_be_erased)
{
	struct progress p;
	struct screen s;

	screen_open(&s);
	progress_init(&p, true, PROGRESS_AUTO, 0);
	assert_false(p.enabled);
	setenv("TERM", "dumb", 1);
	progress_init(&p, false, PROGRESS_AUTO, 0);
	assert_false(p.enabled);
	unsetenv("TERM");
	progress_init(&p, false, PROGRESS_AUTO, 0);
	assert_false(p.enabled);
	progress_begin(&p, "x", 0, false);
	progress_recording(&p, 1, 0, true);
	progress_erase(&p);
	progress_withdraw(&p);
	assert_string_equal(screen_read(&s), "");
	setenv("TERM", "xterm", 1);
	progress_init(&p, false, PROGRESS_AUTO, 0);
	assert_true(p.enabled);
	screen_close(&s);
}

/* Ctrl-C once does not end the command: say so on any terminal. */
TEST(interrupts_need_no_escapes)
{
	struct progress p;
	struct screen s;

	screen_open(&s);
	setenv("TERM", "dumb", 1);
	progress_init(&p, false, PROGRESS_AUTO, 0);
	progress_begin(&p, "x", 0, false);
	progress_recording(&p, 1, 0, true);
	fake_clock_pass(500 * MS);
	progress_recording(&p, 2, 0, true);
	progress_recording(&p, 3, 0, true);
	assert_string_equal(screen_read(&s), "prof: recording until the command has ended, Ctrl-C "
					     "once more ends it now\n");
	progress_init(&p, true, PROGRESS_AUTO, 0);
	progress_recording(&p, 1, 0, true);
	fake_clock_pass(500 * MS);
	progress_recording(&p, 2, 0, true);
	assert_string_equal(screen_read(&s), "");
	screen_close(&s);
}

TEST(recording_has_a_line_of_its_own)
{
	struct progress p;
	struct screen s;

	screen_open(&s);
	progress_init(&p, false, PROGRESS_AUTO, 0);
	progress_begin(&p,
		       "a\033\xe2\x80\xae"
		       "b",
		       2500000000, false);
	assert_string_equal(screen_read(&s), "prof: recording a??b for 2.5 s, Ctrl-C ends it\n");
	fake_clock_pass(999 * MS);
	progress_recording(&p, 5, 0, false);
	assert_string_equal(screen_read(&s), "");
	fake_clock_pass(1 * MS);
	progress_recording(&p, 1234567, 1, false);
	assert_string_equal(screen_read(&s), BLANKS ERASE "prof: 1 s, 1,234,567 samples, 1 lost");
	/* At most once a second. */
	fake_clock_pass(999 * MS);
	progress_recording(&p, 1234568, 1, false);
	assert_string_equal(screen_read(&s), "");
	fake_clock_pass(1 * MS);
	progress_recording(&p, 1, 0, false);
	assert_string_equal(screen_read(&s), ERASE "prof: 2 s, 1 sample, 0 lost");
	progress_erase(&p);
	progress_erase(&p);
	assert_string_equal(screen_read(&s), ERASE);
	screen_close(&s);
}

TEST(recording_in_lines)
{
	struct progress p;
	struct screen s;

	screen_open(&s);
	progress_init(&p, false, PROGRESS_PLAIN, 0);
	progress_begin(&p, "x", 0, false);
	fake_clock_pass(10000 * MS);
	progress_recording(&p, 1, 2, false);
	assert_string_equal(screen_read(&s), "prof: recording, 10 s, 1 sample, 2 lost\n");
	fake_clock_pass(10000 * MS);
	progress_recording(&p, 2, 2, false);
	assert_string_equal(screen_read(&s), "prof: recording, 20 s, 2 samples, 2 lost\n");
	progress_init(&p, false, PROGRESS_JSON, 0);
	fake_clock_pass(1000 * MS);
	progress_recording(&p, 1, 0, false);
	assert_non_null(strstr(screen_read(&s), "\"samples\":1,\"lost\":0}\n"));
	screen_close(&s);
}

/* The command's output is not disturbed. */
TEST(a_command_keeps_the_terminal)
{
	struct progress p;
	struct screen s;

	screen_open(&s);
	progress_init(&p, false, PROGRESS_AUTO, 0);
	progress_begin(&p, "make", 0, true);
	assert_string_equal(screen_read(&s), "prof: recording make, Ctrl-C ends it\n");
	fake_clock_pass(5000 * MS);
	progress_recording(&p, 5, 0, false);
	progress_erase(&p);
	assert_string_equal(screen_read(&s), "");
	/* A Ctrl-C that does not end the command is mentioned once, after a while. */
	progress_recording(&p, 5, 0, true);
	fake_clock_pass(499 * MS);
	progress_recording(&p, 5, 0, true);
	assert_string_equal(screen_read(&s), "");
	fake_clock_pass(1 * MS);
	progress_recording(&p, 5, 0, true);
	progress_recording(&p, 5, 0, true);
	assert_string_equal(screen_read(&s), "prof: recording until the command has ended, Ctrl-C "
					     "once more ends it now\n");
	progress_withdraw(&p);
	assert_string_equal(screen_read(&s), "\033[A" ERASE);
	screen_close(&s);
}

/* A line that wraps could not be erased. */
TEST(lines_fit)
{
	struct progress p;
	struct screen s;

	screen_open(&s);
	progress_init(&p, false, PROGRESS_AUTO, 0);
	progress_step(&p, PROGRESS_NAMES, 1, 2);
	assert_string_equal(screen_read(&s), "");
	fake_clock_pass(200 * MS);
	progress_step(&p, PROGRESS_NAMES, 1, 2);
	assert_string_equal(screen_read(&s), BLANKS ERASE "naming 1/2 modules…");
	fake_clock_pass(50 * MS);
	progress_download(&p, "/usr/lib/x86_64-linux-gnu/libc.so.6.with.a.long.name", 1, 2);
	assert_string_equal(screen_read(&s), ERASE "downloading symbols of libc.so.6.with.a");
	screen_close(&s);
}

TEST(terminals_are_told_apart)
{
	struct screen s, other;
	int file = open("/dev/null", O_WRONLY | O_CLOEXEC), first;

	screen_open(&s);
	first = dup(STDERR_FILENO);
	assert_true(progress_is_same_terminal(first, STDERR_FILENO));
	assert_false(progress_is_same_terminal(file, STDERR_FILENO));
	screen_open(&other);
	assert_false(progress_is_same_terminal(first, STDERR_FILENO));
	screen_close(&other);
	screen_close(&s);
	close(first);
	close(file);
}
