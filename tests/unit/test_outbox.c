/* SPDX-License-Identifier: MIT */
/* Windows that wait for an engine, and the time between attempts. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lib/fleet/outbox.h"
#include "tests/unit/test.h"

#define SECOND 1000000000ull

static void add(struct outbox *o, uint64_t id, size_t size)
{
	char *text = calloc(1, size);
	int fd = memfd_create("window", MFD_CLOEXEC);

	memset(text, (int)id, size);
	assert_int_equal(write(fd, text, size), size);
	free(text);
	outbox_add(o, &(struct outbox_row){.id = id, .samples = 10, .lost = id}, fd, 100);
}

static char *make_folder(void)
{
	char *path = strdup("/tmp/prof-outbox.XXXXXX");

	assert_non_null(mkdtemp(path));
	return path;
}

static void remove_folder(char *path)
{
	assert_int_equal(rmdir(path), 0);
	free(path);
}

TEST(windows_survive_and_the_oldest_go)
{
	struct outbox o = {.folder = -1, .limits = {.bytes = 1000, .memory_bytes = 100}};
	struct outbox again = o;
	char *path = make_folder(), byte;
	int fd;

	assert_int_equal(outbox_open(&o, path, NULL), 0);
	for (uint64_t id = 1; id <= 5; id++)
		add(&o, id, 300);
	assert_int_equal(o.rows.count, 3);
	assert_int_equal(o.lost_windows, 2);
	assert_int_equal(o.lost_samples, 20);
	outbox_progress(&o, outbox_find(&o, 4), 7);
	outbox_release(&o);
	assert_int_equal(outbox_open(&again, path, NULL), 0);
	assert_int_equal(again.rows.count, 3);
	assert_int_equal(again.bytes, 900);
	assert_int_equal(outbox_find(&again, 4)->done, 7);
	assert_int_equal(outbox_find(&again, 5)->lost, 5);
	fd = outbox_read(&again, outbox_find(&again, 5));
	assert_int_equal(read(fd, &byte, 1), 1);
	assert_int_equal(byte, 5);
	close(fd);
	/* Newest and oldest in turn. */
	assert_int_equal(outbox_choose(&again)->id, 5);
	assert_int_equal(outbox_choose(&again)->id, 3);
	assert_int_equal(outbox_choose(&again)->id, 5);
	/* Samples that the engine has are not lost. */
	outbox_remove(&again, outbox_find(&again, 4), true);
	assert_int_equal(again.lost_samples, 3);
	outbox_remove(&again, outbox_find(&again, 3), false);
	outbox_remove(&again, outbox_find(&again, 5), false);
	assert_int_equal(again.bytes, 0);
	assert_null(outbox_choose(&again));
	outbox_release(&again);
	remove_folder(path);
}

TEST(without_a_folder_memory_is_bounded_and_what_is_sent_stays)
{
	struct outbox o = {.folder = -1, .limits = {.memory_bytes = 1000}};

	add(&o, 1, 400);
	o.busy = 1;
	add(&o, 2, 400);
	add(&o, 3, 400);
	assert_non_null(outbox_find(&o, 1));
	assert_null(outbox_find(&o, 2));
	/* The same again is one. */
	add(&o, 3, 400);
	add(&o, 1, 400);
	assert_int_equal(o.rows.count, 2);
	assert_int_equal(o.memory_bytes, 800);
	outbox_release(&o);
}

/* Two engines' processes have the same file, and each reads it from its start to its end. */
TEST(readers_of_a_window_in_memory_do_not_disturb_each_other)
{
	struct outbox both[2];
	int fd = memfd_create("window", MFD_CLOEXEC), first, second;
	char text[8];

	assert_int_equal(write(fd, "a window", 8), 8);
	for (int i = 0; i < 2; i++) {
		both[i] = (struct outbox){.folder = -1, .limits = {.memory_bytes = 1000}};
		outbox_add(&both[i], &(struct outbox_row){.id = 1}, i ? fd : dup(fd), 100);
	}
	first = outbox_read(&both[0], outbox_find(&both[0], 1));
	assert_int_equal(read(first, text, 2), 2);
	second = outbox_read(&both[1], outbox_find(&both[1], 1));
	assert_int_equal(read(second, text, 8), 8);
	assert_memory_equal(text, "a window", 8);
	assert_int_equal(read(first, text, 8), 6);
	assert_memory_equal(text, "window", 6);
	close(first);
	close(second);
	outbox_release(&both[0]);
	outbox_release(&both[1]);
}

TEST(windows_that_are_too_old_go)
{
	struct outbox o = {.folder = -1, .limits = {.memory_bytes = 1000, .age_ns = 50}};

	add(&o, 51, 10);
	add(&o, 60, 10);
	assert_int_equal(o.rows.count, 2);
	outbox_expire(&o, 105);
	assert_int_equal(o.rows.count, 1);
	assert_int_equal(o.lost_windows, 1);
	outbox_release(&o);
}

TEST(files_of_others_in_the_folder_are_left_alone)
{
	struct outbox o = {.folder = -1};
	static const char *const names[] = {"x", "1-2-3-4.window", "000000000000000g-1-1-1.window",
					    "0000000000000001-1-1-1.window2"};
	char *path = make_folder(), file[300];

	for (size_t i = 0; i < 4; i++) {
		snprintf(file, sizeof(file), "%s/%s", path, names[i]);
		close(open(file, O_CREAT | O_WRONLY, 0600));
	}
	assert_int_equal(outbox_open(&o, path, NULL), 0);
	assert_int_equal(o.rows.count, 0);
	outbox_release(&o);
	for (size_t i = 0; i < 4; i++) {
		snprintf(file, sizeof(file), "%s/%s", path, names[i]);
		assert_int_equal(unlink(file), 0);
	}
	remove_folder(path);
}

TEST(attempts_become_rare_and_never_more)
{
	struct backoff b = {.first_ns = SECOND};
	uint64_t last = 0;

	for (uint64_t i = 0; i < 40; i++) {
		uint64_t longest = i < 9 ? SECOND << i : 300 * SECOND;

		if (longest > 300 * SECOND)
			longest = 300 * SECOND;
		backoff_fail(&b, 1000, 0, i * 0x9e3779b97f4a7c15ull);
		assert_true(b.due_ns >= 1000 + longest / 2 && b.due_ns <= 1000 + longest);
		last = b.due_ns;
	}
	assert_true(last > 0);
	backoff_fail(&b, 0, 1000 * SECOND, 7);
	assert_true(b.due_ns >= 1000 * SECOND && b.due_ns <= 1001 * SECOND);
	/* A server cannot ask for ever. */
	backoff_fail(&b, 0, UINT64_MAX, 7);
	assert_true(b.due_ns <= 3601 * SECOND);
	backoff_succeed(&b);
	assert_int_equal(b.failures, 0);
	assert_int_equal(b.due_ns, 0);
}
