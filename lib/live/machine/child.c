/* SPDX-License-Identifier: MIT */
#include "lib/live/machine/child.h"

#include <grp.h>
#include <limits.h>
#include <linux/capability.h>
#include <pwd.h>
#include <stdnoreturn.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

#include "lib/base/program.h"
#include "lib/live/machine/host.h"

/* Maximum size in bytes; above the kernel's limit for a new program. */
#define ENVIRON_MAX (8u << 20)

static bool is_variable(const char *entry, const char *name)
{
	size_t size = strlen(name);

	return strncmp(entry, name, size) == 0 && entry[size] == '=';
}

static bool is_replaced(const char *entry, const char *user, const char *home)
{
	if (text_starts_with(entry, "SUDO_"))
		return true;
	if (home && is_variable(entry, "HOME"))
		return true;
	return user && (is_variable(entry, "USER") || is_variable(entry, "LOGNAME"));
}

char **user_env_new(char *const *env, const char *user, const char *home)
{
	VEC(char *) list = {0};

	for (; *env; env++) {
		if (!is_replaced(*env, user, home))
			vec_push(&list, xstrdup(*env));
	}
	if (home)
		vec_push(&list, xasprintf("HOME=%s", home));
	if (user) {
		vec_push(&list, xasprintf("USER=%s", user));
		vec_push(&list, xasprintf("LOGNAME=%s", user));
	}
	vec_push(&list, NULL);
	return list.items;
}

/*
 * Compares the real, effective, saved and file system ids: sudo runs as root on behalf of its
 * caller.
 */
static bool is_sudo_of(pid_t pid, uid_t uid)
{
	_cleanup_free_ char *status = proc_status_read((uint32_t)pid);
	uint32_t uids[PROC_STATUS_NUMBERS_MAX];
	char path[48], program[PATH_MAX];
	ssize_t size;

	snprintf(path, sizeof(path), "/proc/%d/exe", (int)pid);
	size = readlink(path, program, sizeof(program) - 1);
	if (size < 0 || !status)
		return false;
	program[size] = '\0';
	return text_ends_with(program, "/sudo") && proc_status_numbers(status, "Uid", uids) == 4 &&
	       uids[0] == uid && uids[1] == 0;
}

char **user_env_of_caller(uid_t uid)
{
	_cleanup_free_ char *text = NULL;
	VEC(char *) list = {0};
	pid_t parent = getppid();
	char path[48];
	size_t size;

	if (!is_sudo_of(parent, uid))
		return NULL;
	/* This works even if sudo forked in between a second process that did not exec. */
	snprintf(path, sizeof(path), "/proc/%d/environ", (int)parent);
	text = text_read_file(path, ENVIRON_MAX, &size);
	if (!text || getppid() != parent)
		return NULL;
	for (size_t at = 0; at < size; at += strlen(text + at) + 1) {
		if (strchr(text + at, '='))
			vec_push(&list, xstrdup(text + at));
	}
	vec_push(&list, NULL);
	return list.items;
}

static bool is_same_variable(const char *one, const char *other)
{
	size_t size = strcspn(one, "=");

	return strncmp(one, other, size) == 0 && other[size] == '=';
}

static const char *find_variable(char *const *env, const char *entry)
{
	for (; *env; env++) {
		if (is_same_variable(entry, *env))
			return *env;
	}
	return NULL;
}

static bool is_reset_by_sudo(const char *entry)
{
	return is_variable(entry, "PATH") || is_variable(entry, "SHELL") ||
	       is_variable(entry, "MAIL");
}

char **user_env_merge(char *const *caller, char *const *own)
{
	VEC(char *) list = {0};

	for (char *const *it = caller; *it; it++) {
		const char *now = is_reset_by_sudo(*it) ? NULL : find_variable(own, *it);

		vec_push(&list, xstrdup(now ? now : *it));
	}
	for (; *own; own++) {
		if (!find_variable(caller, *own))
			vec_push(&list, xstrdup(*own));
	}
	vec_push(&list, NULL);
	return list.items;
}

void user_env_free(char **env)
{
	if (!env)
		return;
	for (char **it = env; *it; it++)
		free(*it);
	free(env);
}

/*
 * Parent and child talk over a socket pair; both ends close on exec. The child sends a report when
 * it is ready (or why it cannot be), waits for one byte, and sends a second report only if the exec
 * fails. To the parent, end of file means that the exec succeeded; to the child, that prof is gone.
 */

extern char **environ;

struct child {
	const char *name; /* argv[0] */
	pid_t pid;
	int pidfd;
	int socket;
	struct child_keeper keeper; /* all NULL: the child belongs to this process */
	bool executed; /* the command was requested to execute */
	bool collected;
	int wait_status;
	uint64_t cpu_before_ns; /* CPU time used by prof's own code before the exec */
	uint64_t cpu_ns; /* valid once the child has been reaped */
};

enum stage {
	STAGE_READY,
	STAGE_STDOUT,
	STAGE_GROUPS,
	STAGE_USER,
	STAGE_CAPABILITIES,
	STAGE_EXEC,
};

struct report {
	int stage; /* enum stage */
	int code; /* errno; 0: success */
};

/* Everything the child needs, prepared before the fork because the child must not allocate. */
#define PRELOAD_VARIABLE "LD_PRELOAD"

struct plan {
	const struct child_options *options;
	gid_t *groups;
	int group_count;
	char **env; /* NULL: environment unchanged */
	int socket;
};

static void find_groups(struct plan *plan, const char *user, gid_t gid)
{
	int room = 64;

	plan->groups = xreallocarray(NULL, (size_t)room, sizeof(gid_t));
	plan->group_count = room;
	while (getgrouplist(user, gid, plan->groups, &plan->group_count) < 0) {
		room = plan->group_count > room ? plan->group_count : room * 2;
		plan->groups = xreallocarray(plan->groups, (size_t)room, sizeof(gid_t));
		plan->group_count = room;
	}
}

static void plan_user(struct plan *plan, const struct identity *who)
{
	const struct passwd *pw = getpwuid(who->uid);
	char **caller = user_env_of_caller(who->uid);
	char **merged = caller ? user_env_merge(caller, environ) : NULL;
	char *const *env = merged ? merged : environ;

	if (pw) {
		find_groups(plan, pw->pw_name, who->gid);
		plan->env = user_env_new(env, pw->pw_name, pw->pw_dir);
	} else {
		/* A uid without a user name: keep only its gid, and leave the variables. */
		plan->groups = xmemdup(&who->gid, sizeof(who->gid));
		plan->group_count = 1;
		plan->env = user_env_new(env, NULL, NULL);
	}
	user_env_free(merged);
	user_env_free(caller);
}

static noreturn void child_fail(int socket, enum stage stage)
{
	struct report report = {.stage = stage, .code = errno};

	(void)!send(socket, &report, sizeof(report), MSG_NOSIGNAL);
	_exit(stage == STAGE_EXEC && report.code == ENOENT ? 127 : 126);
}

/* setuid() is not enough: a container's securebits may have disabled its effect on capabilities. */
static int drop_capabilities(void)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = {0};

	if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0))
		return -1;
	return (int)syscall(SYS_capset, &header, none);
}

static void child_become_user(const struct plan *plan)
{
	const struct child_options *options = plan->options;
	const struct identity *who = &options->identity;

	if (!who->is_self) {
		if (setgroups((size_t)plan->group_count, plan->groups) ||
		    setresgid(who->gid, who->gid, who->gid))
			child_fail(plan->socket, STAGE_GROUPS);
		if (setresuid(who->uid, who->uid, who->uid))
			child_fail(plan->socket, STAGE_USER);
	}
	if (options->keep_capabilities)
		return;
	/* A command that runs as root keeps root's privileges. */
	if (geteuid() != 0 && drop_capabilities())
		child_fail(plan->socket, STAGE_CAPABILITIES);
}

static void child_restore_signals(const struct child_options *options)
{
	/* Pending signals are delivered by the last call, as if sent after the exec. */
	for (int sig = 1; sig < NSIG; sig++)
		signal(sig, sigismember(&options->ignored_signals, sig) == 1 ? SIG_IGN : SIG_DFL);
	sigprocmask(SIG_SETMASK, &options->signal_mask, NULL);
}

static noreturn void child_exec(const struct plan *plan)
{
	char *const *argv = plan->options->argv;
	char file[PATH_MAX];

	execvp(argv[0], argv);
	/*
	 * If the user may not search a folder of PATH (root's, kept under sudo), execvpe() fails
	 * with EACCES for every missing command. Report those as missing, as a shell does.
	 */
	if (errno == EACCES && !strchr(argv[0], '/'))
		errno = search_path_find(argv[0], file) ? EACCES : ENOENT;
	child_fail(plan->socket, STAGE_EXEC);
}

/* Prepends the library to the user's own value. */
static void child_preload(const struct child_options *options)
{
	const char *others = getenv(PRELOAD_VARIABLE);
	char *value = NULL;

	if (!options->preload || access(options->preload, R_OK) != 0)
		return;
	if (others && *others && asprintf(&value, "%s:%s", options->preload, others) < 0)
		_exit(126);
	setenv(PRELOAD_VARIABLE, value ? value : options->preload, 1);
	putenv((char *)options->variable);
}

static noreturn void child_main(const struct plan *plan)
{
	const struct child_options *options = plan->options;
	struct report ready = {.stage = STAGE_READY};
	ssize_t got;
	char go;

	if (options->stdout_fd >= 0 && dup2(options->stdout_fd, STDOUT_FILENO) < 0)
		child_fail(plan->socket, STAGE_STDOUT);
	child_become_user(plan);
	/* Set the environment last: the user may have put anything into it. */
	if (plan->env)
		environ = plan->env;
	child_preload(options);
	if (send(plan->socket, &ready, sizeof(ready), MSG_NOSIGNAL) != sizeof(ready))
		_exit(126);
	do {
		got = recv(plan->socket, &go, 1, 0);
	} while (got < 0 && errno == EINTR);
	if (got != 1)
		_exit(126);
	child_restore_signals(options);
	child_exec(plan);
}

/* Returns false at the end of file: the peer has closed its end. */
static bool receive_report(const struct child *c, struct report *report)
{
	ssize_t got;

	do {
		got = recv(c->socket, report, sizeof(*report), 0);
	} while (got < 0 && errno == EINTR);
	return got == sizeof(*report);
}

static int wait_until_ready(const struct child *c, const struct child_options *options,
			    struct error *err)
{
	const struct identity *who = &options->identity;
	struct report report;

	if (!receive_report(c, &report))
		return error_text(err, -ECHILD, "the process for %s died before it started",
				  c->name);
	switch (report.stage) {
	case STAGE_READY:
		return 0;
	case STAGE_STDOUT:
		return error_set(err, -report.code, "cannot redirect the output of %s", c->name);
	case STAGE_GROUPS:
		return error_set(err, -report.code, "cannot assume the groups of user %u",
				 who->uid);
	case STAGE_USER:
		return error_set(err, -report.code, "cannot become user %u", who->uid);
	default:
		return error_set(err, -report.code, "cannot drop capabilities");
	}
}

int child_new(struct child **out, const struct child_options *options, struct error *err)
{
	struct plan plan = {.options = options};
	int sockets[2];
	struct child *c;
	int ret;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets))
		return error_set(err, -errno, "cannot create a socket pair");
	if (!options->identity.is_self)
		plan_user(&plan, &options->identity);
	plan.socket = sockets[1];

	c = xcalloc(1, sizeof(*c));
	c->name = options->argv[0];
	c->socket = sockets[0];
	c->pidfd = -1;
	c->pid = fork();
	if (c->pid == 0) {
		/* Otherwise the child would not see end of file when prof dies. */
		close(sockets[0]);
		child_main(&plan);
	}
	ret = c->pid < 0 ? error_set(err, -errno, "cannot start a process") : 0;
	close(sockets[1]);
	free(plan.groups);
	user_env_free(plan.env);
	if (!ret) {
		c->pidfd = (int)syscall(SYS_pidfd_open, c->pid, 0);
		if (c->pidfd < 0)
			ret = error_set(err, -errno, "cannot open the process");
	}
	if (!ret)
		ret = wait_until_ready(c, options, err);
	if (ret) {
		child_free(c);
		return ret;
	}
	*out = c;
	return 0;
}

struct child *child_adopt(pid_t pid, int pidfd, const struct child_keeper *keeper)
{
	struct child *c = xcalloc(1, sizeof(*c));

	c->pid = pid;
	c->pidfd = pidfd;
	c->socket = -1;
	c->keeper = *keeper;
	return c;
}

pid_t child_pid(const struct child *c)
{
	return c->pid;
}

int child_fd(const struct child *c)
{
	return c->keeper.fd ? c->keeper.fd(c->keeper.ctx) : c->pidfd;
}

static int exec_error(const struct child *c, int code, struct error *err)
{
	bool has_path = strchr(c->name, '/');
	struct stat st;

	if (!*c->name)
		return error_text(err, -ENOENT, "the name of the command is empty");
	if (code == ENOENT && !has_path)
		return error_text(err, -ENOENT, "%s: command not found", c->name);
	/* The file exists, so its interpreter was not found. */
	if (code == ENOENT && stat(c->name, &st) == 0)
		return error_text(err, -ENOEXEC, "%s: bad interpreter: %s", c->name,
				  strerror(code));
	if (code == EACCES && has_path && stat(c->name, &st) == 0 && S_ISDIR(st.st_mode))
		code = EISDIR;
	return error_set(err, -code, "%s", c->name);
}

static uint64_t cpu_clock_ns(pid_t pid)
{
	struct timespec used;
	clockid_t clock;

	if (clock_getcpuclockid(pid, &clock) || clock_gettime(clock, &used))
		return 0;
	return (uint64_t)used.tv_sec * 1000000000 + (uint64_t)used.tv_nsec;
}

static uint64_t time_ns(struct timeval time)
{
	return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_usec * 1000;
}

int child_execute(struct child *c, struct error *err)
{
	struct report report;
	ssize_t sent;

	if (c->keeper.execute)
		return c->keeper.execute(c->keeper.ctx, err);
	c->cpu_before_ns = cpu_clock_ns(c->pid);
	do {
		sent = send(c->socket, "", 1, MSG_NOSIGNAL);
	} while (sent < 0 && errno == EINTR);
	if (sent == 1 && receive_report(c, &report)) {
		waitpid(c->pid, &c->wait_status, 0);
		c->collected = true;
		return exec_error(c, report.code, err);
	}
	c->executed = true;
	return 0;
}

enum child_result child_poll(struct child *c, int *wait_status)
{
	if (c->keeper.has_ended && !c->collected) {
		if (!c->keeper.has_ended(c->keeper.ctx, &c->wait_status, &c->cpu_ns))
			return CHILD_RUNNING;
		c->collected = true;
	} else if (!c->collected) {
		struct rusage usage = {0};
		pid_t got = wait4(c->pid, &c->wait_status, WNOHANG, &usage);

		if (got == c->pid)
			c->cpu_ns = time_ns(usage.ru_utime) + time_ns(usage.ru_stime);
		if (got < 0 && errno == ECHILD)
			c->wait_status = 0; /* reaped by other code: status unknown */
		else if (got != c->pid)
			return CHILD_RUNNING;
		c->collected = true;
	}
	*wait_status = c->wait_status;
	return CHILD_EXITED;
}

uint64_t child_cpu_ns(const struct child *c)
{
	return c->cpu_ns > c->cpu_before_ns ? c->cpu_ns - c->cpu_before_ns : 0;
}

int child_kill(struct child *c, int signal)
{
	if (c->collected)
		return -ESRCH;
	/* Use the pidfd: if the child was reaped elsewhere, its pid may be another process's. */
	return syscall(SYS_pidfd_send_signal, c->pidfd, signal, NULL, 0) ? -errno : 0;
}

void child_free(struct child *c)
{
	if (!c)
		return;
	if (c->pid > 0 && !c->keeper.execute && !c->executed && !c->collected) {
		kill(c->pid, SIGKILL);
		while (waitpid(c->pid, &c->wait_status, 0) < 0 && errno == EINTR)
			;
	}
	fd_close(c->socket);
	fd_close(c->pidfd);
	free(c);
}
