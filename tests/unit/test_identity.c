/* SPDX-License-Identifier: MIT */
/* The invoking user; as root, also what a switched thread may still do. */

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <stdlib.h>
#include <sys/fsuid.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/base/identity.h"
#include "tests/unit/test.h"

static void set_sudo(const char *uid, const char *gid)
{
	if (uid)
		setenv("SUDO_UID", uid, 1);
	else
		unsetenv("SUDO_UID");
	if (gid)
		setenv("SUDO_GID", gid, 1);
	else
		unsetenv("SUDO_GID");
}

static void check_is_self(const char *uid, const char *gid)
{
	struct identity who;

	set_sudo(uid, gid);
	who = identity_of_invoker();
	assert_int_equal(who.uid, getuid());
	assert_int_equal(who.gid, getgid());
	assert_true(who.is_self);
	assert_int_equal(who.failure, 0);
}

TEST(test_sudo_variables_must_be_right)
{
	check_is_self(NULL, NULL);
	check_is_self("1000", NULL);
	check_is_self(NULL, "1000");
	check_is_self("", "");
	check_is_self("1000x", "1000");
	check_is_self("1000", "-1");
	check_is_self("0", "1000");
	/* -1 is "no change" to the kernel, and 2^32 would be 0. */
	check_is_self("4294967295", "1000");
	check_is_self("4294967296", "1000");
	check_is_self("1000", "4294967295");
}

TEST(test_sudo_counts_for_root_alone)
{
	struct identity who;

	set_sudo("12345", "0");
	who = identity_of_invoker();
	assert_int_equal(who.uid, geteuid() ? getuid() : 12345);
	assert_int_equal(who.gid, geteuid() ? getgid() : 0);
	assert_int_equal(who.is_self, geteuid() != 0);
	set_sudo(NULL, NULL);
}

TEST(test_self_switches_nothing)
{
	struct identity who = identity_of_invoker(), before = identity_assume_files(&who);

	assert_int_equal(before.failure, 0);
	assert_true(before.is_self);
	identity_restore_files(&before);
	assert_int_equal(setfsuid((uid_t)-1), geteuid());
}

static void check_refused(const struct identity *who)
{
	struct identity before = identity_assume_files(who);

	assert_int_equal(before.failure, -EPERM);
	assert_int_equal(setfsuid((uid_t)-1), geteuid());
	assert_int_equal(setfsgid((gid_t)-1), getegid());
	identity_restore_files(&before);
	assert_int_equal(setfsuid((uid_t)-1), geteuid());
}

static void check_assumed(const struct identity *who)
{
	gid_t groups_before[64], groups[64];
	int count_before = getgroups(64, groups_before), count;
	char name[] = "/tmp/prof-identity-XXXXXX";
	int fd = mkstemp(name);
	struct identity before;

	assert_true(fd >= 0);
	before = identity_assume_files(who);
	assert_int_equal(before.failure, 0);
	assert_int_equal(setfsuid((uid_t)-1), who->uid);
	assert_int_equal(setfsgid((gid_t)-1), who->gid);
	assert_int_equal(geteuid(), 0);
	assert_int_equal(getegid(), 0);
	/* A user without an entry has the main group, and none of root's. */
	assert_int_equal(getgroups(64, groups), 1);
	assert_int_equal(groups[0], who->gid);
	assert_int_equal(open(name, O_RDONLY | O_CLOEXEC), -1);
	assert_int_equal(errno, EACCES);
	assert_int_equal(open("/not-allowed", O_WRONLY | O_CREAT | O_CLOEXEC, 0600), -1);
	identity_restore_files(&before);
	assert_int_equal(setfsuid((uid_t)-1), 0);
	assert_int_equal(setfsgid((gid_t)-1), 0);
	count = getgroups(64, groups);
	assert_int_equal(count, count_before);
	assert_memory_equal(groups, groups_before, (size_t)count * sizeof(groups[0]));
	assert_int_equal(close(open(name, O_RDONLY | O_CLOEXEC)), 0);
	assert_int_equal(unlink(name), 0);
	close(fd);
}

TEST(test_another_user)
{
	/* Ids that common user namespaces have. */
	struct identity who = {.uid = 54321, .gid = 43210};

	if (geteuid()) {
		check_refused(&who);
		return;
	}
	check_assumed(&who);
	/* Root's own supplementary group, which must not open anything to the user. */
	assert_int_equal(setgroups(1, &(gid_t){0}), 0);
	check_assumed(&who);
}

/* Runs in a child as a user with a capability that the program's file gives. */
static int work_with_capability(const char *name)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[2] = {
		{.effective = 1u << CAP_DAC_READ_SEARCH, .permitted = 1u << CAP_DAC_READ_SEARCH}};
	struct identity who, before;
	int got[3];

	if (prctl(PR_SET_KEEPCAPS, 1) || setresuid(54321, 54321, 54321) ||
	    syscall(SYS_capset, &header, data))
		return 1;
	who = identity_of_invoker();
	got[0] = close(open(name, O_RDONLY | O_CLOEXEC));
	before = identity_assume_files(&who);
	got[1] = open(name, O_RDONLY | O_CLOEXEC) < 0 ? errno : 0;
	identity_restore_files(&before);
	got[2] = close(open(name, O_RDONLY | O_CLOEXEC));
	return !who.is_self || before.failure || got[0] || got[1] != EACCES || got[2];
}

TEST(test_capabilities_of_the_program_are_not_the_users)
{
	char name[] = "/tmp/prof-identity-XXXXXX";
	int fd, status;
	pid_t child;

	if (geteuid())
		return;
	fd = mkstemp(name);
	assert_true(fd >= 0);
	child = fork();
	if (!child)
		_exit(work_with_capability(name));
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	unlink(name);
	close(fd);
}
