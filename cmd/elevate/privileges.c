/* SPDX-License-Identifier: MIT */
#include "cmd/elevate/privileges.h"

#include <grp.h>
#include <limits.h>
#include <pwd.h>
#include <sys/capability.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "lib/base/identity.h"
#include "lib/live/machine/host.h"

static const cap_value_t recording[] = {
	CAP_BPF, /* to enlarge maps while recording */
	CAP_PERFMON, /* to sample CPUs that come online */
	CAP_IPC_LOCK, /* for the rings of several recorders at once */
	CAP_SYS_PTRACE, /* to read other users' /proc/PID/maps and root */
	CAP_DAC_READ_SEARCH, /* to read mapped files */
	CAP_CHECKPOINT_RESTORE, /* to follow /proc/PID/map_files, for deleted files */
	CAP_SYSLOG, /* to read addresses in /proc/kallsyms */
	CAP_KILL, /* to signal a command that runs as the invoking user */
	CAP_SETUID, /* to write files as the invoking user */
	CAP_SETGID,
};

static const cap_value_t writing_as_root[] = {
	CAP_DAC_OVERRIDE, CAP_FOWNER, /* to replace a file in a sticky folder */
};

/*
 * Perf events need CAP_SYS_ADMIN from this level on, which exists in some distributions' kernels.
 */
#define PARANOID_ADMIN 3

static bool perf_takes_admin(void)
{
	_cleanup_free_ char *text = text_read_file("/proc/sys/kernel/perf_event_paranoid", 64,
						   NULL);

	return text && strtol(text, NULL, 10) >= PARANOID_ADMIN;
}

DEFINE_CLEANUP(cap_t, cap_free)

static bool has(cap_t set, cap_value_t capability)
{
	cap_flag_value_t value = CAP_CLEAR;

	/* Older kernels lack newer capabilities. */
	return cap_get_flag(set, capability, CAP_PERMITTED, &value) == 0 && value == CAP_SET;
}

/* Keeps the listed capabilities that the thread is permitted. */
static int keep(cap_t kept, cap_t permitted, const cap_value_t *list, size_t count)
{
	static const cap_flag_t flags[] = {CAP_PERMITTED, CAP_EFFECTIVE};

	for (size_t i = 0; i < count; i++) {
		if (!has(permitted, list[i]))
			continue;
		for (size_t j = 0; j < sizeof(flags) / sizeof(flags[0]); j++) {
			if (cap_set_flag(kept, flags[j], 1, &list[i], CAP_SET))
				return -errno;
		}
	}
	return 0;
}

bool privileges_are_missing(void)
{
	_cleanup_(cap_free) cap_t permitted = geteuid() ? cap_get_proc() : NULL;

	return permitted && !has(permitted, CAP_SYS_ADMIN) && !has(permitted, CAP_BPF) &&
	       !has(permitted, CAP_PERFMON);
}

int privileges_reduce(bool writes_as_root, struct error *err)
{
	/* Older programs have only this capability, from which the newer ones were split off. */
	static const cap_value_t admin = CAP_SYS_ADMIN;
	_cleanup_(cap_free) cap_t permitted = cap_get_proc();
	_cleanup_(cap_free) cap_t kept = cap_init();
	int ret;

	if (!permitted || !kept)
		return error_set(err, -errno, "cannot read the capabilities");
	ret = keep(kept, permitted, recording, sizeof(recording) / sizeof(recording[0]));
	if (!ret && writes_as_root)
		ret = keep(kept, permitted, writing_as_root,
			   sizeof(writing_as_root) / sizeof(writing_as_root[0]));
	if (!ret && (perf_takes_admin() || !has(kept, CAP_BPF) || !has(kept, CAP_PERFMON)))
		ret = keep(kept, permitted, &admin, 1);
	if (ret)
		return error_set(err, ret, "cannot set the capabilities");
	/* Clear the ambient set first: it must stay a subset of the inheritable one. */
	if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) || cap_set_proc(kept))
		return error_set(err, -errno, "cannot drop capabilities");
	return 0;
}

static int become(const struct identity *who, struct error *err)
{
	const struct passwd *entry = getpwuid(who->uid);
	gid_t gid = who->gid;

	if ((entry ? initgroups(entry->pw_name, gid) : setgroups(1, &gid)) ||
	    setresgid(gid, gid, gid) || setresuid(who->uid, who->uid, who->uid))
		return error_set(err, -errno, "cannot become user %u", who->uid);
	if (entry) {
		setenv("HOME", entry->pw_dir, 1);
		setenv("USER", entry->pw_name, 1);
		setenv("LOGNAME", entry->pw_name, 1);
	}
	return 0;
}

static int drop_capabilities(struct error *err)
{
	cap_t none = cap_init();
	int failure = 0;

	if (!none || prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) || cap_set_proc(none))
		failure = errno;
	if (none)
		cap_free(none);
	return failure ? error_set(err, -failure, "cannot drop capabilities") : 0;
}

int drop_privileges(struct error *err)
{
	struct identity who = identity_of_invoker();

	return (who.is_self ? 0 : become(&who, err)) ?: drop_capabilities(err);
}

int drop_new_privileges(struct error *err)
{
	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
		       ? error_set(err, -errno, "cannot give up privileges")
		       : 0;
}

#define SUDO "sudo"

bool sudo_is_installed(void)
{
	const char *path = getenv("PATH");
	char file[PATH_MAX];

	while (path) {
		size_t size = strcspn(path, ":");

		snprintf(file, sizeof(file), "%.*s/" SUDO, (int)size, path);
		if (size && access(file, X_OK) == 0)
			return true;
		path = path[size] ? path + size + 1 : NULL;
	}
	return false;
}

bool sudo_is_powerless(void)
{
	return proc_status_own("NoNewPrivs") != 0;
}

/* Executes sudo in the child. */
static void run(const struct signals *signals, int input, int errors, const char *const *argv)
{
	int null = open("/dev/null", O_WRONLY | O_CLOEXEC);

	/* Keystrokes are meant for the command, but sudo would pass their signals to the helper. */
	setpgid(0, 0);
	if (null < 0 || dup2(input, STDIN_FILENO) < 0 || dup2(null, STDOUT_FILENO) < 0 ||
	    dup2(errors, STDERR_FILENO) < 0)
		_exit(EXIT_FAILURE);
	signals_restore(signals);
	execvp(argv[0], (char *const *)argv);
	_exit(EXIT_FAILURE);
}

int sudo_start(struct sudo *s, char *const *argv, const struct signals *signals, struct error *err)
{
	VEC(const char *) words = {0};
	int ends[2] = {-1, -1}, errors[2] = {-1, -1}, ret = 0;

	*s = (struct sudo){.pidfd = -1, .socket = -1, .errors = -1};
	vec_push(&words, SUDO);
	vec_push(&words, "-n");
	vec_push(&words, "--");
	for (; *argv; argv++)
		vec_push(&words, *argv);
	vec_push(&words, NULL);
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) ||
	    pipe2(errors, O_CLOEXEC) || fcntl(errors[0], F_SETFL, O_NONBLOCK))
		ret = error_set(err, -errno, "cannot create a socket pair");
	if (!ret) {
		s->pid = fork();
		if (s->pid == 0)
			run(signals, ends[1], errors[1], words.items);
		if (s->pid > 0)
			s->pidfd = (int)syscall(SYS_pidfd_open, s->pid, 0);
		if (s->pidfd < 0)
			ret = error_set(err, -errno, "cannot start sudo");
	}
	s->socket = ends[0];
	s->errors = errors[0];
	fd_close(ends[1]);
	fd_close(errors[1]);
	vec_release(&words);
	return ret;
}

bool sudo_authenticate(const struct signals *signals)
{
	int status = 0;
	pid_t pid = fork();

	if (pid == 0) {
		signals_restore(signals);
		execlp(SUDO, SUDO, "-v", (char *)NULL);
		_exit(EXIT_FAILURE);
	}
	if (pid < 0)
		return false;
	while (waitpid(pid, &status, 0) < 0) {
		if (errno != EINTR)
			return false;
	}
	return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

void sudo_last_words(const struct sudo *s, char *line, size_t size)
{
	char text[4096], *end;
	ssize_t got = read(s->errors, text, sizeof(text) - 1);

	text[got > 0 ? got : 0] = '\0';
	end = text + strlen(text);
	while (end > text && (end[-1] == '\n' || end[-1] == '\r'))
		*--end = '\0';
	end = strrchr(text, '\n');
	snprintf(line, size, "%s", end ? end + 1 : text);
	text_to_line(line);
}

int sudo_wait(struct sudo *s)
{
	int status = 0;

	if (s->pid > 0) {
		while (waitpid(s->pid, &status, 0) < 0 && errno == EINTR)
			continue;
	}
	s->pid = 0;
	return status;
}

void sudo_release(struct sudo *s)
{
	int *const fds[] = {&s->pidfd, &s->socket, &s->errors};

	for (size_t i = 0; i < sizeof(fds) / sizeof(fds[0]); i++) {
		fd_close(*fds[i]);
		*fds[i] = -1;
	}
}
