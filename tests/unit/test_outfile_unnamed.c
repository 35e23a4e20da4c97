/* SPDX-License-Identifier: MIT */
/* Results without a name until they are complete, and the fallback without unnamed files. */

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/unit/outfile_fixture.h"
#include "tests/unit/test.h"

/* O_TMPFILE minus the bits it shares with O_DIRECTORY. */
#define TMPFILE_BIT (O_TMPFILE & ~O_DIRECTORY)

/*
 * Makes a system call of this process fail from now on, if `flags` is 0 or set in its third
 * argument.
 */
static void refuse(long number, uint32_t flags, int code)
{
	struct sock_filter code_lines[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)number, 0, flags ? 3 : 1),
		/* Little-endian: the lower half comes first. */
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[2])),
		BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, flags, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (uint32_t)code),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = {.len = 6, .filter = code_lines};

	if (!flags) {
		code_lines[2] = code_lines[4];
		code_lines[3] = code_lines[5];
		program.len = 4;
	}
	assert_int_equal(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
	assert_int_equal(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program), 0);
}

/* A filter cannot be removed again, so each test of one has its own process. */
static void in_child(void (*check)(void))
{
	pid_t child = fork();
	int status;

	assert_true(child >= 0);
	if (!child) {
		check();
		_exit(0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
}

static void check_mode(const char *path)
{
	struct stat st;

	assert_int_equal(lstat(path, &st), 0);
	assert_true(S_ISREG(st.st_mode));
	assert_int_equal(st.st_mode & 07777, 0600);
	assert_int_equal(st.st_nlink, 1);
}

static void write_twice(void)
{
	enum { SIZE = 300000 };
	char *data = make_data(SIZE, true);
	struct outfile *f = open_file("p", false);

	umask(0277);
	outfile_write(f, data, SIZE);
	assert_int_equal(access("p", F_OK), -1);
	commit(f);
	check_content("p", data, SIZE);
	f = open_file("p", false);
	outfile_write(f, "second", 6);
	check_content("p", data, SIZE);
	commit(f);
	check_content("p", "second", 6);
	check_mode("p");
	assert_int_equal(count_names(), 1);
	free(data);
}

static void without_such_files(void)
{
	refuse(SYS_openat, TMPFILE_BIT, EOPNOTSUPP);
	assert_false(has_unnamed_files());
	struct outfile *f = open_file("p", false);

	assert_int_equal(count_names(), 1);
	outfile_free(f);
	assert_int_equal(count_names(), 0);
	write_twice();
}

static void without_links(void)
{
	refuse(SYS_linkat, 0, EPERM);
	write_twice();
}

IN_FOLDER(test_without_such_files)
{
	in_child(without_such_files);
}

IN_FOLDER(test_without_links)
{
	in_child(without_links);
}

IN_FOLDER(test_with_such_files)
{
	in_child(write_twice);
}

/* Dies as a program does that the kernel kills for its use of memory. */
static void die(void)
{
	struct outfile *f = open_file("p", false), *g = open_file("q", true);

	outfile_write(f, "half of it", 10);
	outfile_write(g, "half of it", 10);
	raise(SIGKILL);
}

IN_FOLDER(test_nothing_is_left_of_the_killed)
{
	pid_t child = fork();
	int status;

	put_file("q", "old");
	if (!child)
		die();
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	assert_int_equal(count_names(), has_unnamed_files() ? 1 : 3);
	check_content("q", "old", 3);
}

IN_FOLDER(test_a_name_that_was_taken_meanwhile)
{
	struct outfile *f = open_file("p", false), *g = open_file("q", false);

	outfile_write(f, "x", 1);
	outfile_write(g, "y", 1);
	put_file("precious", "old");
	assert_int_equal(symlink("precious", "p"), 0);
	put_file("q", "other");
	commit(f);
	commit(g);
	check_content("precious", "old", 3);
	check_content("p", "x", 1);
	check_content("q", "y", 1);
	check_mode("p");
	check_mode("q");
	assert_int_equal(count_names(), 3);
}
