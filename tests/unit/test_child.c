/* SPDX-License-Identifier: MIT */
/* The recorded command: how it starts, what it inherits, how it ends. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "lib/base/cleanup.h"
#include "lib/live/machine/child.h"
#include "tests/unit/process_state.h"
#include "tests/unit/test.h"

DEFINE_CLEANUP(struct child *, child_free)

static struct child *new_child(char *const *argv, int stdout_fd)
{
	struct child_options options = {
		.argv = argv,
		.identity.is_self = true,
		.keep_capabilities = true,
		.stdout_fd = stdout_fd,
	};
	struct error err = {0};
	struct child *c;

	sigemptyset(&options.signal_mask);
	sigaddset(&options.signal_mask, SIGUSR1);
	sigemptyset(&options.ignored_signals);
	sigaddset(&options.ignored_signals, SIGINT);
	if (child_new(&c, &options, &err))
		fail_msg("%s", err.text);
	return c;
}

static int wait_status_of(struct child *c)
{
	struct pollfd fd = {.fd = child_fd(c), .events = POLLIN};
	int status = -1;

	assert_int_equal(poll(&fd, 1, -1), 1);
	assert_int_equal(child_poll(c, &status), CHILD_EXITED);
	return status;
}

static int run_shell(const char *script, int stdout_fd)
{
	char *argv[] = {"sh", "-c", (char *)script, NULL};
	_cleanup_(child_free) struct child *c = new_child(argv, stdout_fd);

	assert_int_equal(child_execute(c, NULL), 0);
	return wait_status_of(c);
}

TEST(its_status_is_told)
{
	assert_int_equal(WEXITSTATUS(run_shell("exit 42", -1)), 42);
	assert_int_equal(run_shell("exit 0", -1), 0);
	assert_int_equal(WTERMSIG(run_shell("kill -9 $$", -1)), SIGKILL);
}

TEST(it_waits_until_it_is_told)
{
	char *argv[] = {"sh", "-c", "exit 1", NULL};
	_cleanup_(child_free) struct child *c = new_child(argv, -1);
	struct pollfd fd = {.fd = child_fd(c), .events = POLLIN};
	int status;

	assert_true(child_pid(c) > 0);
	process_await_sleep(child_pid(c));
	assert_int_equal(poll(&fd, 1, 0), 0);
	assert_int_equal(child_poll(c, &status), CHILD_RUNNING);
	assert_int_equal(child_execute(c, NULL), 0);
	assert_int_equal(WEXITSTATUS(wait_status_of(c)), 1);
	/* Later polls say the same; the pid may be another process's by now. */
	assert_int_equal(child_poll(c, &status), CHILD_EXITED);
	assert_int_equal(WEXITSTATUS(status), 1);
	assert_int_equal(child_kill(c, SIGKILL), -ESRCH);
}

static void expect_refusal(const char *program, int code, const char *text)
{
	char *argv[] = {(char *)program, NULL};
	_cleanup_(child_free) struct child *c = new_child(argv, -1);
	struct error err = {0};

	assert_int_equal(child_execute(c, &err), code);
	assert_string_equal(err.text, text);
	assert_string_equal(err.hint, "");
}

static void write_script(char *path, const char *text)
{
	int fd = mkstemp(path);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	assert_int_equal(fchmod(fd, 0700), 0);
	close(fd);
}

TEST(failed_execs_read_like_a_shells)
{
	char bad[] = "/tmp/test_child.XXXXXX", expected[128];

	expect_refusal("no-such-command-anywhere", -ENOENT,
		       "no-such-command-anywhere: command not found");
	expect_refusal("", -ENOENT, "the name of the command is empty");
	expect_refusal("./no/such/file", -ENOENT, "./no/such/file: No such file or directory");
	expect_refusal("/etc/passwd", -EACCES, "/etc/passwd: Permission denied");
	expect_refusal("/tmp", -EISDIR, "/tmp: Is a directory");

	write_script(bad, "#!/no/such/interpreter\n");
	snprintf(expected, sizeof(expected), "%s: bad interpreter: No such file or directory", bad);
	expect_refusal(bad, -ENOEXEC, expected);
	unlink(bad);
}

TEST(a_script_without_interpreter_is_run_by_the_shell)
{
	char path[] = "/tmp/test_child.XXXXXX", *argv[] = {path, NULL};
	struct child *c;

	write_script(path, "exit 7\n");
	c = new_child(argv, -1);
	assert_int_equal(child_execute(c, NULL), 0);
	assert_int_equal(WEXITSTATUS(wait_status_of(c)), 7);
	child_free(c);
	unlink(path);
}

static uint64_t status_field(const char *status, const char *name)
{
	const char *at = strstr(status, name);

	assert_non_null(at);
	return strtoull(at + strlen(name), NULL, 16);
}

TEST(signals_are_given_back)
{
	_cleanup_close_ int fd = memfd_create("out", MFD_CLOEXEC);
	_cleanup_free_ char *status = NULL;
	char *argv[] = {"cat", "/proc/self/status", NULL};
	sigset_t blocked, before;
	struct child *c;

	sigemptyset(&blocked);
	sigaddset(&blocked, SIGTERM);
	sigprocmask(SIG_BLOCK, &blocked, &before);
	signal(SIGPIPE, SIG_IGN);
	c = new_child(argv, fd);
	assert_int_equal(child_execute(c, NULL), 0);
	assert_int_equal(wait_status_of(c), 0);
	child_free(c);
	signal(SIGPIPE, SIG_DFL);
	sigprocmask(SIG_SETMASK, &before, NULL);

	lseek(fd, 0, SEEK_SET);
	status = text_read_fd(fd, 1 << 16, NULL);
	assert_non_null(status);
	assert_int_equal(status_field(status, "SigBlk:"), 1u << (SIGUSR1 - 1));
	/* posix_spawn() leaves the C library's own two signals ignored. */
	assert_int_equal(status_field(status, "SigIgn:") & ~(3ull << 31), 1u << (SIGINT - 1));
}

TEST(it_inherits_no_descriptor)
{
	static const char list[] = "cd /proc/self/fd && echo *";
	_cleanup_close_ int fd = memfd_create("out", MFD_CLOEXEC);
	_cleanup_free_ char *listing = NULL;
	char expected[1024];
	FILE *plain;

	/* Descriptors of any command started here: the tester may have open files, too. */
	plain = popen(list, "re");
	assert_non_null(plain);
	assert_non_null(fgets(expected, sizeof(expected), plain));
	assert_int_equal(pclose(plain), 0);

	assert_int_equal(run_shell(list, fd), 0);
	lseek(fd, 0, SEEK_SET);
	listing = text_read_fd(fd, sizeof(expected), NULL);
	assert_non_null(listing);
	assert_string_equal(listing, expected);
}

TEST(never_executed_it_leaves_nothing)
{
	char *argv[] = {"true", NULL};
	struct child *c = new_child(argv, -1);
	pid_t pid = child_pid(c);

	assert_int_equal(kill(pid, 0), 0);
	child_free(c);
	assert_int_equal(kill(pid, 0), -1);
	assert_int_equal(errno, ESRCH);
}

TEST(it_goes_away_with_its_parent)
{
	char *argv[] = {"true", NULL};
	int pipe_fds[2];
	pid_t parent, pid = 0;

	assert_int_equal(pipe(pipe_fds), 0);
	parent = fork();
	if (parent == 0) {
		pid = child_pid(new_child(argv, -1));
		_exit(write(pipe_fds[1], &pid, sizeof(pid)) == sizeof(pid) ? 0 : 1);
	}
	assert_int_equal(read(pipe_fds[0], &pid, sizeof(pid)), sizeof(pid));
	assert_int_equal(waitpid(parent, NULL, 0), parent);
	process_await_end(pid);
	close(pipe_fds[0]);
	close(pipe_fds[1]);
}

TEST(killed_before_its_start_is_no_failure)
{
	char *argv[] = {"true", NULL};
	_cleanup_(child_free) struct child *c = new_child(argv, -1);
	struct pollfd fd = {.fd = child_fd(c), .events = POLLIN};

	assert_int_equal(child_kill(c, SIGKILL), 0);
	assert_int_equal(poll(&fd, 1, -1), 1);
	assert_int_equal(child_execute(c, NULL), 0);
	assert_int_equal(WTERMSIG(wait_status_of(c)), SIGKILL);
}

static const char *variable(char *const *env, const char *name)
{
	const char *found = NULL;
	size_t size = strlen(name);

	for (; *env; env++) {
		if (strncmp(*env, name, size) == 0 && (*env)[size] == '=') {
			assert_null(found);
			found = *env + size + 1;
		}
	}
	return found;
}

TEST(the_environment_is_the_users)
{
	char *env[] = {"PATH=/bin",   "HOME=/root", "USER=root",  "LOGNAME=root", "SUDO_UID=1000",
		       "SUDO_USER=a", "HOMEPAGE=x", "SUDOKU=yes", "EMPTY=",	  NULL};
	char **own = user_env_new(env, "anna", "/home/anna");

	assert_string_equal(variable(own, "PATH"), "/bin");
	assert_string_equal(variable(own, "HOME"), "/home/anna");
	assert_string_equal(variable(own, "USER"), "anna");
	assert_string_equal(variable(own, "LOGNAME"), "anna");
	assert_string_equal(variable(own, "HOMEPAGE"), "x");
	assert_string_equal(variable(own, "SUDOKU"), "yes");
	assert_string_equal(variable(own, "EMPTY"), "");
	assert_null(variable(own, "SUDO_UID"));
	assert_null(variable(own, "SUDO_USER"));
	user_env_free(own);

	own = user_env_new(env, NULL, NULL);
	assert_string_equal(variable(own, "HOME"), "/root");
	assert_string_equal(variable(own, "USER"), "root");
	assert_null(variable(own, "SUDO_UID"));
	user_env_free(own);
}
