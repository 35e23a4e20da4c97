/* SPDX-License-Identifier: MIT */
/* Users whose processes have frames in a module, and the files that they can read. */

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/base/open_file.h"
#include "lib/stream/record/records.h"
#include "tests/unit/session_fixture.h"
#include "tests/unit/test.h"

#define UNKNOWN READER_UNKNOWN

static void expect_users(struct fed *f, const char *name, const char *wanted)
{
	char text[128] = "";

	vec_for_each(&f->p->modules.rows, const struct module *, module) {
		if (strcmp(strings_get(&f->p->strings, module->path), name) != 0)
			continue;
		vec_for_each(&module->users.rows, const struct reader *, it)
			sprintf(text + strlen(text), "%d:%d ", (int)it->uid, (int)it->gid);
		assert_string_equal(text, wanted);
		return;
	}
	fail();
}

static void add_modules(struct fed *f, uint32_t pid)
{
	feed_module(f, 0, "/a");
	feed_module(f, 1, "/b");
	feed_map(f, 1, pid, 0x1000, 0x2000, 0x1000, 0);
	feed_map(f, 1, pid, 0x3000, 0x4000, 0x1000, 1);
}

#define CASE(name) TEST_WITH(name, fed_setup, fed_teardown)

CASE(users_are_those_of_the_samples)
{
	struct fed *f = *state;

	feed_name(f, 0, 10, 10, NAME_SCAN, "main");
	add_modules(f, 10);
	/* At the very time of the first sample, and before any is known. */
	feed_leaf(f, 5, 10, 10, 0x3100);
	feed_user(f, 10, 10, 1000, 100);
	feed_leaf(f, 10, 10, 10, 0x1100);
	feed_leaf(f, 20, 10, 11, 0x1200);
	feed_user(f, 30, 10, 2000, 200);
	feed_leaf(f, 30, 10, 11, 0x1200);
	feed_end(f, 40);
	expect_users(f, "/a", "1000:100 2000:200 ");
	expect_users(f, "/b", "-1:-1 ");
}

CASE(a_child_is_its_parents_users)
{
	struct fed *f = *state;

	feed_fork(f, 0, 10, 10, 1, "parent");
	add_modules(f, 10);
	feed_user(f, 5, 10, 1000, 100);
	feed_fork(f, 10, 11, 11, 10, "child");
	feed_user(f, 20, 10, 0, 0);
	feed_fork(f, 30, 12, 12, 10, "root's");
	feed_leaf(f, 40, 11, 11, 0x1100);
	feed_leaf(f, 40, 12, 12, 0x3100);
	feed_end(f, 50);
	expect_users(f, "/a", "1000:100 ");
	expect_users(f, "/b", "0:0 ");
}

CASE(frames_below_the_leaf_count)
{
	struct fed *f = *state;
	const uint64_t below[] = {0x3100};

	feed_fork(f, 0, 10, 10, 1, "p");
	add_modules(f, 10);
	feed_user(f, 5, 10, 1000, 100);
	feed_stack(f, 6, 1, STACK_WHOLE, below, 0, 1, NULL);
	feed_sample(f, 7, 10, 10, 0, 0x1100, 1, 0);
	feed_end(f, 50);
	expect_users(f, "/a", "1000:100 ");
	expect_users(f, "/b", "1000:100 ");
}

struct folder {
	char path[64], file[96], link[96];
};

static void make_folder(struct folder *f)
{
	int fd;

	strcpy(f->path, "/tmp/prof-readers-XXXXXX");
	assert_non_null(mkdtemp(f->path));
	snprintf(f->file, sizeof(f->file), "%s/file", f->path);
	snprintf(f->link, sizeof(f->link), "%s/link", f->path);
	fd = open(f->file, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	close(fd);
	assert_int_equal(symlink(f->file, f->link), 0);
	/* Independent of the umask. */
	assert_int_equal(chmod(f->path, 0755), 0);
	assert_int_equal(chmod(f->file, 0644), 0);
}

static void remove_folder(const struct folder *f)
{
	unlink(f->link);
	unlink(f->file);
	rmdir(f->path);
}

/* Checks both ways: for users whom root cannot switch to, and for those whom it can. */
static void expect_open(const struct readers *readers, const char *path, bool is_open)
{
	int fd = readers_open(readers, 0, path);

	if (is_open)
		assert_true(fd >= 0);
	else
		assert_int_equal(fd, READERS_REFUSED);
	if (fd >= 0)
		close(fd);
}

TEST(all_readers_must_be_able_to)
{
	struct readers none = {0}, self = {0}, other = {0};
	struct folder f;

	readers_add(&self, (struct reader){getuid(), getgid()});
	readers_add(&other, (struct reader){getuid(), getgid()});
	readers_add(&other, (struct reader){54321, 43210});
	readers_add(&other, (struct reader){54321, 43210});
	assert_int_equal(other.rows.count, 2);
	make_folder(&f);
	expect_open(&other, f.link, true);
	assert_int_equal(chmod(f.file, 0640), 0);
	expect_open(&other, f.link, false);
	expect_open(&self, f.link, true);
	expect_open(&none, f.link, true);
	expect_open(NULL, f.link, true);
	assert_int_equal(chmod(f.file, 0644), 0);
	assert_int_equal(chmod(f.path, 0700), 0);
	expect_open(&other, f.link, false);
	expect_open(&self, f.link, true);
	remove_folder(&f);
	readers_release(&self);
	readers_release(&other);
}

TEST(nobody_knows_who)
{
	struct readers unknown = {0};
	struct folder f;

	readers_add(&unknown, (struct reader){UNKNOWN, UNKNOWN});
	make_folder(&f);
	expect_open(&unknown, f.file, true);
	assert_int_equal(chmod(f.file, 0600), 0);
	expect_open(&unknown, f.file, false);
	remove_folder(&f);
	readers_release(&unknown);
}

TEST(links_of_proc_lead_nowhere)
{
	struct folder f;
	char path[64];
	int fd;

	make_folder(&f);
	fd = open(f.file, O_RDONLY | O_CLOEXEC);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	assert_int_equal(readers_open(NULL, 0, path), -ELOOP);
	close(fd);
	remove_folder(&f);
}

/*
 * Runs in a child: root becomes a user, but keeps the capabilities to switch ids and to read
 * everything, as a program's file can give them. The kernel would leave it the latter.
 */
static int open_as_user(const char *path)
{
	const uint32_t kept = 1u << CAP_DAC_READ_SEARCH | 1u << CAP_SETUID | 1u << CAP_SETGID;
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[2] = {{.effective = kept, .permitted = kept}};
	struct readers other = {0};
	int refused, alone;

	readers_add(&other, (struct reader){54322, 43210});
	/* Its groups are no other user's. */
	if (setgroups(1, &(gid_t){0}) || prctl(PR_SET_KEEPCAPS, 1) ||
	    setresuid(54321, 54321, 54321) || syscall(SYS_capset, &header, data))
		return 1;
	refused = readers_open(&other, 0, path);
	alone = readers_open(NULL, 0, path);
	return refused != READERS_REFUSED || alone < 0;
}

TEST(capabilities_are_not_the_readers)
{
	struct folder f;
	int status;
	pid_t child;

	if (geteuid())
		return;
	make_folder(&f);
	/* Readable by root's group. */
	assert_int_equal(chmod(f.file, 0640), 0);
	child = fork();
	if (!child)
		_exit(open_as_user(f.file));
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	remove_folder(&f);
}
