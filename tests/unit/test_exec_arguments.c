/* SPDX-License-Identifier: MIT */

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/cleanup.h"
#include "lib/live/bpf/ring.h"
#include "lib/live/process/exec_arguments.h"
#include "lib/stream/record/records.h"
#include "tests/unit/test.h"

static struct rec_arguments *sent;

static void keep(void *ctx, const struct rec *rec)
{
	assert_true(record_is_valid(rec, record_size(rec)));
	assert_int_equal(rec->kind, REC_ARGUMENTS);
	free(sent);
	sent = xmemdup(rec, record_size(rec));
}

static int forget(void **state)
{
	free(steal(sent));
	return 0;
}

/* `list` and `folder` are literals, whose terminators count. */
static void send(const char *folder, size_t folder_size, const char *list, size_t size,
		 uint8_t flags)
{
	size_t record_size = rec_arguments_size(folder_size, size);
	_cleanup_free_ struct rec_exec *exec = xcalloc(1, record_size);

	record_init(&exec->rec, REC_EXEC, record_size, 7, 8, 9);
	exec->rec.cpu = 3;
	exec->rec.flags = flags;
	exec->folder_size = (uint16_t)folder_size;
	exec->arguments_size = (uint16_t)size;
	memcpy(exec->text, folder, folder_size);
	memcpy(exec->text + folder_size, list, size);
	assert_true(ring_record_is_valid(&exec->rec, record_size));
	exec_arguments_send(exec, keep, NULL);
}

static void expect(const char *folder, const char *list, size_t size)
{
	assert_non_null(sent);
	assert_int_equal(sent->folder_size, strlen(folder));
	assert_memory_equal(sent->text, folder, strlen(folder));
	assert_int_equal(sent->arguments_size, size);
	assert_memory_equal(sent->text + sent->folder_size, list, size);
}

#define SEND(folder, list, flags) send(folder, sizeof(folder) - 1, list, sizeof(list) - 1, flags)
#define EXPECT(folder, list) expect(folder, list, sizeof(list) - 1)

#define CASE(name) TEST_WITH(name, NULL, forget)

CASE(folders_are_joined)
{
	SEND("site\0srv\0", "ls\0-l\0", 0);
	EXPECT("/srv/site", "ls\0-l\0");
	assert_int_equal(sent->rec.time, 7);
	assert_int_equal(sent->rec.pid, 8);
	assert_int_equal(sent->rec.tid, 9);
	assert_int_equal(sent->rec.cpu, 3);
	SEND("", "ls\0", 0);
	EXPECT("/", "ls\0");
	SEND("d\0c\0", "ls\0", FOLDER_CUT);
	EXPECT("…/c/d", "ls\0");
	SEND("a\0", "", 0);
	EXPECT("/a", "");
}

CASE(secrets_are_masked)
{
	SEND("", "a\0--password\0x\0b\0", 0);
	EXPECT("/", "a\0--password\0***\0b\0");
}

CASE(what_was_cut_is_seen)
{
	SEND("", "cc\0-Inc", ARGUMENTS_CUT);
	EXPECT("/", "cc\0-Inc…\0");
	SEND("", "a\0--token=hal", ARGUMENTS_CUT);
	EXPECT("/", "a\0--token=***…\0");
}

CASE(running_processes_are_looked_at)
{
	_cleanup_free_ char *line = exec_arguments_of((uint32_t)getpid());
	_cleanup_free_ char *folder = getcwd(NULL, 0);

	exec_arguments_send_running((uint32_t)getpid(), 5, keep, NULL);
	assert_non_null(sent);
	assert_int_equal(sent->rec.flags, ARGUMENTS_SCAN);
	assert_int_equal(sent->rec.time, 5);
	assert_memory_equal(sent->text, folder, sent->folder_size);
	assert_non_null(strstr(sent->text + sent->folder_size, "test_exec_arguments"));
	assert_non_null(strstr(line, "test_exec_arguments"));
	/* No process has that pid. */
	forget(NULL);
	exec_arguments_send_running(0x7fffffff, 5, keep, NULL);
	assert_null(sent);
	assert_null(exec_arguments_of(0x7fffffff));
}

TEST(sizes_must_fit)
{
	struct {
		struct rec_arguments head;
		char text[16];
	} r = {0};

	record_init(&r.head.rec, REC_ARGUMENTS, sizeof(r), 1, 2, 2);
	memcpy(r.text, "/ab\0", 4);
	r.head.folder_size = 1;
	r.head.arguments_size = 3;
	assert_true(ring_record_is_valid(&r.head.rec, sizeof(r)));
	/* The last argument is not terminated. */
	r.head.arguments_size = 2;
	assert_false(ring_record_is_valid(&r.head.rec, sizeof(r)));
	r.head.arguments_size = 0;
	assert_true(ring_record_is_valid(&r.head.rec, sizeof(r)));
	r.head.arguments_size = 16;
	assert_false(ring_record_is_valid(&r.head.rec, sizeof(r)));
	r.head.rec.kind = REC_EXEC;
	assert_false(ring_record_is_valid(&r.head.rec, sizeof(r)));
	r.head.arguments_size = 15;
	assert_true(ring_record_is_valid(&r.head.rec, sizeof(r)));
	r.head.folder_size = UINT16_MAX;
	assert_false(ring_record_is_valid(&r.head.rec, sizeof(r)));
}
