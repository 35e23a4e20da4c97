/* SPDX-License-Identifier: MIT */
#include "cmd/elevate/sudo.h"

#include <limits.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "lib/live/machine/host.h"

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
