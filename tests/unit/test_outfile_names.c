/* SPDX-License-Identifier: MIT */
/* Results on disk: their name, folder and user. */

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/unit/outfile_fixture.h"
#include "tests/unit/process_state.h"
#include "tests/unit/test.h"

IN_FOLDER(test_link_is_replaced)
{
	struct outfile *f;
	struct stat st;

	put_file("target", "precious");
	assert_int_equal(symlink("target", "p"), 0);
	f = open_file("p", false);
	outfile_write(f, "x", 1);
	commit(f);
	assert_int_equal(lstat("p", &st), 0);
	assert_true(S_ISREG(st.st_mode));
	check_content("target", "precious", 8);
	check_content("p", "x", 1);
	/* A link that points nowhere, too. */
	assert_int_equal(symlink("nowhere", "q"), 0);
	commit(open_file("q", false));
	assert_int_equal(access("nowhere", F_OK), -1);
	check_content("q", "", 0);
}

IN_FOLDER(test_two_names_of_a_place)
{
	struct outfile *plain, *dotted, *other, *device;

	assert_int_equal(mkdir("below", 0700), 0);
	plain = open_file("p", false);
	dotted = open_file("below/../p", false);
	other = open_file("below/p", false);
	device = open_file("/dev/null", false);
	assert_true(outfile_is_same(plain, dotted));
	assert_false(outfile_is_same(plain, other));
	assert_false(outfile_is_same(device, device));
	outfile_free(plain);
	outfile_free(dotted);
	outfile_free(other);
	outfile_free(device);
}

IN_FOLDER(test_refusals)
{
	char name[NAME_MAX + 2], text[512];
	int folder = open(".", O_PATH);

	assert_int_equal(mkdir("folder", 0700), 0);
	assert_int_equal(symlink("folder", "link"), 0);
	put_file("file", "");
	check_refused("folder", -EISDIR, "cannot write folder: Is a directory");
	check_refused("folder/", -EISDIR, "cannot write folder/: Is a directory");
	check_refused(".", -EISDIR, "cannot write .: Is a directory");
	check_refused("/", -EISDIR, "cannot write /: Is a directory");
	check_refused("none/p", -ENOENT, "cannot write none/p: the folder none does not exist");
	assert_int_equal(mkdir("gone", 0700), 0);
	assert_int_equal(chdir("gone"), 0);
	assert_int_equal(rmdir("../gone"), 0);
	check_refused("p", -ENOENT, "cannot write p: the folder . does not exist");
	assert_int_equal(fchdir(folder), 0);
	close(folder);
	check_refused("file/p", -ENOTDIR, "cannot open the folder of file/p: Not a directory");
	check_refused("", -ENOENT, "the name of the output file is empty");
	memset(name, 'n', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	snprintf(text, sizeof(text), "cannot write %s: File name too long", name);
	check_refused(name, -ENAMETOOLONG, text);
	assert_int_equal(count_names(), 3);
	/* A link is replaced, wherever it leads; the longest name, too, has a temporary file. */
	commit(open_file("link", false));
	name[NAME_MAX] = '\0';
	commit(open_file(name, false));
	assert_int_equal(access(name, F_OK), 0);
}

IN_FOLDER(test_folder_without_permission)
{
	/* Root tests with /proc, where nobody can create anything. */
	bool is_root = !geteuid();

	assert_int_equal(mkdir("locked", 0500), 0);
	if (is_root)
		check_refused("/proc/p", -ENOENT,
			      "cannot write /proc/p: No such file or directory");
	else
		check_refused("locked/p", -EACCES, "cannot write locked/p: Permission denied");
}

IN_FOLDER(test_fifo_is_written_directly)
{
	struct outfile *f;
	struct stat st;
	char buf[16];
	int reader;

	assert_int_equal(mkfifo("fifo", 0600), 0);
	reader = open("fifo", O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	assert_true(reader >= 0);
	f = open_file("fifo", false);
	outfile_write(f, "abc", 3);
	commit(f);
	assert_int_equal(read(reader, buf, sizeof(buf)), 3);
	assert_memory_equal(buf, "abc", 3);
	close(reader);
	assert_int_equal(lstat("fifo", &st), 0);
	assert_true(S_ISFIFO(st.st_mode));
	assert_int_equal(count_names(), 1);
}

/* Run by root for another user: in a folder where everybody may write, somebody has put a FIFO. */
IN_FOLDER(test_fifo_of_another_user)
{
	struct identity user = identity_of_invoker();
	struct stat st;
	int reader;

	if (geteuid())
		return;
	assert_int_equal(mkdir("shared", 0700), 0);
	assert_int_equal(chmod("shared", 01777), 0);
	assert_int_equal(mkfifo("shared/p", 0666), 0);
	assert_int_equal(chown("shared/p", 54321, 54321), 0);
	check_refused_as(user, "shared/p", -EPERM,
			 "cannot write shared/p: the FIFO belongs to another user");
	assert_int_equal(stat("shared/p", &st), 0);
	assert_true(S_ISFIFO(st.st_mode));
	/* Files of the folder's owner are trusted. */
	assert_int_equal(chown("shared", 54321, 54321), 0);
	reader = open("shared/p", O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	commit(open_file("shared/p", false));
	close(reader);
}

static void on_signal(int number)
{
}

IN_FOLDER(test_fifo_without_a_reader_is_interruptible)
{
	struct sigaction action = {.sa_handler = on_signal};
	pid_t parent = getpid(), sender;

	assert_int_equal(mkfifo("fifo", 0600), 0);
	sigaction(SIGUSR1, &action, NULL);
	sender = fork();
	assert_true(sender >= 0);
	while (sender == 0) {
		process_await_sleep(parent);
		kill(parent, SIGUSR1);
	}
	check_refused("fifo", -EINTR, "cannot open fifo: Interrupted system call");
	kill(sender, SIGKILL);
	while (waitpid(sender, NULL, 0) < 0 && errno == EINTR)
		continue;
	signal(SIGUSR1, SIG_DFL);
}

IN_FOLDER(test_device_is_written_directly)
{
	struct outfile *f = open_file("/dev/null", true);
	struct stat st;

	outfile_write(f, "abc", 3);
	commit(f);
	assert_int_equal(stat("/dev/null", &st), 0);
	assert_true(S_ISCHR(st.st_mode));
}

/* /dev/stdout and a shell's >(command) are such links. */
IN_FOLDER(test_link_to_descriptor_is_followed)
{
	char path[64], buf[16];
	struct outfile *f;
	int fds[2], fd;

	assert_int_equal(pipe(fds), 0);
	snprintf(path, sizeof(path), "/dev/fd/%d", fds[1]);
	f = open_file(path, false);
	outfile_write(f, "abc", 3);
	commit(f);
	assert_int_equal(read(fds[0], buf, sizeof(buf)), 3);
	close(fds[0]);
	close(fds[1]);
	fd = open("regular", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	assert_int_equal(write(fd, "longer", 6), 6);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	f = open_file(path, false);
	outfile_write(f, "abc", 3);
	commit(f);
	check_content("regular", "abc", 3);
	close(fd);
}

IN_FOLDER(test_folder_is_swapped_meanwhile)
{
	struct outfile *f;

	assert_int_equal(mkdir("a", 0700), 0);
	f = open_file("a/p", false);
	outfile_write(f, "x", 1);
	assert_int_equal(rename("a", "b"), 0);
	assert_int_equal(mkdir("a", 0700), 0);
	commit(f);
	check_content("b/p", "x", 1);
	/* An empty folder. */
	assert_int_equal(rmdir("a"), 0);
}

IN_FOLDER(test_rename_that_fails)
{
	struct outfile *f = open_file("p", false);
	struct error err = {0};

	assert_int_equal(mkdir("p", 0700), 0);
	assert_int_equal(outfile_commit(f, &err), -EISDIR);
	assert_int_equal(count_names(), 1);
	outfile_free(f);
	assert_int_equal(count_names(), 1);
}

/* The file is the user's own: the folder's permissions decide, not root's. */
static void check_as_user(struct identity user)
{
	struct outfile_options options = {.path = "mine/p", .fd = -1, .owner = user};
	struct outfile *f = NULL;
	struct stat st;

	assert_int_equal(chmod(".", 0755), 0);
	check_refused_as(user, "p", -EACCES, "cannot write p: Permission denied");
	assert_int_equal(mkdir("mine", 0700), 0);
	assert_int_equal(chown("mine", user.uid, user.gid), 0);
	assert_int_equal(outfile_open(&f, &options, NULL), 0);
	outfile_write(f, "x", 1);
	assert_int_equal(geteuid(), 0);
	commit(f);
	assert_int_equal(stat("mine/p", &st), 0);
	assert_int_equal(st.st_uid, user.uid);
	assert_int_equal(st.st_gid, user.gid);
	/*
	 * Another user's file in a folder like /tmp cannot be replaced, which is reported at once.
	 */
	assert_int_equal(mkdir("shared", 0700), 0);
	assert_int_equal(chmod("shared", 01777), 0);
	put_file("shared/p", "root's");
	check_refused_as(
		user, "shared/p", -EPERM,
		"cannot replace shared/p: it belongs to another user: Operation not permitted");
	assert_int_equal(mkdir("closed", 0700), 0);
	check_refused_as(user, "closed/p", -EACCES, "cannot write closed/p: Permission denied");
}

IN_FOLDER(test_as_another_user)
{
	struct identity user = {.uid = 54321, .gid = 43210};

	if (geteuid())
		check_refused_as(user, "p", -EPERM,
				 "cannot write p as user 54321: Operation not permitted");
	else
		check_as_user(user);
	assert_int_equal(access("p", F_OK), -1);
}
