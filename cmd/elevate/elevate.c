/* SPDX-License-Identifier: MIT */
#include "cmd/elevate/elevation.h"

#include <poll.h>
#include <sys/wait.h>

#include "cmd/command.h"
#include "cmd/options/pipeline_options.h"
#include "cmd/elevate/control_socket.h"
#include "lib/recording/workplace/naming.h"
#include "lib/recording/meta.h"
#include "cmd/elevate/privileges.h"
#include "lib/base/program.h"
#include "lib/live/machine/child.h"
#include "symbolize/debuginfo/debug_fetch.h"

/* Time limit for sudo to end after the helper. */
#define SUDO_END_MS 10000
#define AS_ROOT "as root (in a container: --user 0) run"

struct front {
	const struct pipeline_options *options;
	char *program; /* path of prof's executable */
	struct signals signals;
	struct sudo sudo;
	struct child *child;
	bool executed, ended; /* state of the command */
	pid_t fetcher; /* 0: none */
	struct control_socket control; /* control socket, on which the helper accepts connections */
	struct preload preload; /* library that the command loads */
	int fetch_socket; /* socket until it is passed to the helper; -1: none */
	int interrupted; /* signal received before the helper started; 0: none */
};

static void front_release(struct front *f)
{
	free(f->preload.path);
	free(f->preload.variable);
	free(f->program);
	child_free(f->child);
	fd_close(f->fetch_socket);
	if (f->fetcher > 0) {
		kill(f->fetcher, SIGKILL);
		waitpid(f->fetcher, NULL, 0);
	}
	sudo_release(&f->sudo);
	control_socket_close(&f->control);
	signals_release(&f->signals);
}

/* Finds the path of the running program, for sudo. */
static int find_program(struct front *f, struct error *err)
{
	struct stat running, named;

	f->program = program_path();
	if (!f->program)
		return error_set(err, -errno, "cannot read /proc/self/exe");
	if (program_is_launched())
		return 0;
	if (stat("/proc/self/exe", &running) || stat(f->program, &named) ||
	    running.st_dev != named.st_dev || running.st_ino != named.st_ino)
		return error_text(err, -ENOENT, "prof was replaced in the meantime: run it again");
	return 0;
}

/*
 * Builds an argv of program, `first` (NULL: none) and prof's own arguments. NULL-terminated; the
 * caller frees it.
 */
static char **make_argv(struct front *f, char *first)
{
	VEC(char *) words = {0};

	vec_push(&words, f->program);
	if (first)
		vec_push(&words, first);
	for (char *const *word = f->options->own_argv; *word; word++)
		vec_push(&words, *word);
	vec_push(&words, NULL);
	return words.items;
}

/* Prints the reason and the command to type instead, in one line of any length. */
static int refuse(struct front *f, const char *why, const char *prefix)
{
	_cleanup_free_ char **argv = make_argv(f, NULL);
	_cleanup_free_ char *line = meta_quote_command(argv);

	if (sudo_is_powerless()) {
		why = "recording needs root, and sudo cannot provide it: no_new_privs is set, by a "
		      "unit's "
		      "NoNewPrivileges= or a container's no-new-privileges; " AS_ROOT;
		prefix = "";
	}
	command_say_as(f->options->command, "%s: %s%s", why, prefix, line);
	return EXIT_REFUSED;
}

static bool is_on_terminal(void)
{
	_cleanup_close_ int fd = open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY);

	return fd >= 0 && isatty(STDERR_FILENO);
}

/* Returns 0 if elevation is possible. */
static int check(struct front *f)
{
	const struct pipeline_options *options = f->options;
	struct error err = {0};

	if (find_program(f, &err) || ready_check(options->live, &err))
		return command_fail(options->command, EXIT_REFUSED, &err);
	if (!sudo_is_installed())
		return refuse(f, "recording needs root, and sudo is not installed; " AS_ROOT, "");
	if (options->live->as_root)
		return refuse(f, "--as-root needs root; run", "sudo ");
	if (!is_on_terminal())
		return refuse(
			f,
			"recording needs root for its programs in the kernel (eBPF), and sudo is used "
			"only on a terminal; run",
			"sudo ");
	return 0;
}

static void announce(const struct front *f, const char *text)
{
	if (!f->options->output->quiet)
		command_say("%s%s", text,
			    f->options->argv ? "; the command itself runs as you" : "");
}

/* True after a signal that ends the recording. */
static bool is_interrupted(struct front *f)
{
	struct signal_event event;

	while (signals_next(&f->signals, &event)) {
		if (!signal_is_request(event.signal))
			f->interrupted = event.signal;
	}
	return f->interrupted;
}

/* Starts the helper. True once it sends HELLO. */
static bool start_helper(struct front *f, struct error *err)
{
	static char helper[] = COMMAND_HELPER;
	_cleanup_free_ char **argv = make_argv(f, helper);
	struct elevation_message message;

	if (sudo_start(&f->sudo, argv, &f->signals, err))
		return false;
	for (;;) {
		struct pollfd fds[] = {
			{.fd = f->sudo.socket, .events = POLLIN},
			{.fd = f->signals.fd, .events = POLLIN},
		};

		poll(fds, 2, -1);
		if (is_interrupted(f))
			return false;
		if (fds[0].revents)
			break;
	}
	if (elevation_receive(f->sudo.socket, &message, NULL) == 0 &&
	    message.kind == ELEVATION_HELLO)
		return true;
	sudo_wait(&f->sudo);
	return false;
}

/* Returns 0, or an exit status after reporting the failure. */
static int elevate(struct front *f)
{
	struct error err = {0};
	char words[256];

	if (start_helper(f, &err)) {
		announce(f, "recording as root, by sudo");
		return 0;
	}
	sudo_release(&f->sudo);
	if (!f->interrupted && !err.code && !sudo_is_powerless()) {
		announce(f, "recording needs root: sudo asks for your password");
		if (!sudo_authenticate(&f->signals)) {
			if (is_interrupted(f))
				return EXIT_SIGNAL_BASE + f->interrupted;
			return refuse(f, "sudo did not allow it; as root run", "");
		}
		if (!is_interrupted(f) && start_helper(f, &err))
			return 0;
	}
	if (f->interrupted)
		return EXIT_SIGNAL_BASE + f->interrupted;
	if (err.code)
		return command_fail(f->options->command, EXIT_REFUSED, &err);
	sudo_last_words(&f->sudo, words, sizeof(words));
	command_say_as(f->options->command, "sudo could not start the recorder: %s",
		       words[0] ? words : "no message");
	return refuse(f, "run", "sudo ");
}

static int fork_command(struct front *f, char *const *argv, struct error *err)
{
	const struct pipeline_options *options = f->options;
	const struct child_options child = {
		.argv = argv,
		.identity = {.uid = getuid(), .gid = getgid(), .is_self = true},
		.preload = f->preload.path,
		.variable = f->preload.variable,
		.stdout_fd = output_is_stdout(options->output) ? STDERR_FILENO : -1,
		.signal_mask = f->signals.inherited_mask,
		.ignored_signals = f->signals.inherited_ignored,
	};

	return child_new(&f->child, &child, err);
}

/*
 * Starts the downloading process here, because the user's environment defines servers, proxies and
 * the cache.
 */
static void start_fetcher(struct front *f)
{
	const struct debug_fetcher_options fetcher = {.command = naming_fetch_command};

	if (f->options->output->no_symbols || !naming_downloads())
		return;
	if (debug_fetch_run(&fetcher, &f->fetcher, &f->fetch_socket)) {
		f->fetcher = 0;
		f->fetch_socket = -1;
	}
}

static int give_descriptors(struct front *f, struct error *err)
{
	const struct live_options *live = f->options->live;
	struct elevation_message message = {.kind = ELEVATION_START};
	_cleanup_close_ int folder = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC);
	const int fds[ELEVATION_FD_COUNT] = {
		[ELEVATION_STDERR] = STDERR_FILENO,
		[ELEVATION_STDOUT] = STDOUT_FILENO,
		[ELEVATION_FOLDER] = folder,
		[ELEVATION_COMMAND] = f->child ? child_fd(f->child) : -1,
		[ELEVATION_READY_FD] = live->ready_fd,
		[ELEVATION_FETCHER] = f->fetch_socket,
		[ELEVATION_CONTROL] = f->control.fd,
		[ELEVATION_CONTROL_FD] = live->control_fd,
		[ELEVATION_ACK_FD] = live->ack_fd,
	};
	int ret = elevation_send(f->sudo.socket, &message, fds);

	if (ret)
		return error_set(err, ret, "cannot reach the recorder");
	/* Only the helper accepts connections. */
	fd_close(steal_fd(&f->control.fd));
	/* The reader of --ready-fd waits until the last copy is closed. */
	if (live->ready_fd > STDERR_FILENO)
		close(live->ready_fd);
	fd_close(f->fetch_socket);
	f->fetch_socket = -1;
	return 0;
}

static int hand_over(struct front *f, struct error *err)
{
	const struct live_options *live = f->options->live;
	const int fds[] = {live->ready_fd, live->control_fd, live->ack_fd};
	const struct identity owner = identity_of_invoker();
	int ret = 0;

	for (size_t i = 0; i < sizeof(fds) / sizeof(*fds); i++) {
		if (fds[i] >= 0)
			fcntl(fds[i], F_SETFD, FD_CLOEXEC);
	}
	control_socket_listen(&f->control, getpid(), &owner);
	f->preload = instrument_settings_preload(&live->instruments);
	/* Runs are forked one by one on the helper's request. */
	if (f->options->argv && !f->options->iterations)
		ret = fork_command(f, f->options->argv, err);
	if (ret)
		return ret;
	start_fetcher(f);
	return give_descriptors(f, err);
}

/* Ignores failures: the helper then reads end of file. */
static void send_message(struct front *f, struct elevation_message message)
{
	elevation_send(f->sudo.socket, &message, NULL);
}

static void execute_command(struct front *f)
{
	struct elevation_message message = {.kind = ELEVATION_EXECUTED};
	struct error err = {0};

	message.value = f->child ? child_execute(f->child, &err) : -EPROTO;
	f->executed = message.value == 0;
	snprintf(message.text, sizeof(message.text), "%s", err.text);
	send_message(f, message);
}

static char *const *argv_of(const struct front *f, uint32_t variant)
{
	const struct iteration_options *iterations = f->options->iterations;

	if (!iterations || (variant && variant >= iterations->variant_count))
		return NULL;
	return iterations->variant_count ? iterations->variants[variant].argv : f->options->argv;
}

/* Forks the next run. The previous one has ended if it was executed. */
static void fork_next(struct front *f, uint32_t variant)
{
	struct elevation_message message = {.kind = ELEVATION_FORKED};
	char *const *argv = argv_of(f, variant);
	int fds[ELEVATION_FD_COUNT];
	struct error err = {0};

	child_free(f->child);
	f->child = NULL;
	f->executed = f->ended = false;
	if (!argv)
		error_text(&err, -EPROTO, "no such variant");
	else if (fork_command(f, argv, &err))
		f->child = NULL;
	for (int i = 0; i < ELEVATION_FD_COUNT; i++)
		fds[i] = i == ELEVATION_COMMAND && f->child ? child_fd(f->child) : -1;
	snprintf(message.text, sizeof(message.text), "%s", err.text);
	elevation_send(f->sudo.socket, &message, fds);
}

static void pass_signals(struct front *f)
{
	struct signal_event event;

	while (signals_next(&f->signals, &event))
		send_message(f, (struct elevation_message){
					.kind = ELEVATION_SIGNAL,
					.value = event.signal,
					.from_terminal = event.from_terminal,
				});
}

static void poll_command(struct front *f)
{
	int status;

	if (!f->executed || f->ended || child_poll(f->child, &status) != CHILD_EXITED)
		return;
	f->ended = true;
	send_message(f, (struct elevation_message){
				.kind = ELEVATION_ENDED,
				.value = status,
				.cpu_ns = child_cpu_ns(f->child),
			});
}

/* Serves the helper until it has written its output. False if it died before. */
static bool serve(struct front *f, int *status)
{
	struct elevation_message message;

	for (;;) {
		struct pollfd fds[] = {
			{.fd = f->sudo.socket, .events = POLLIN},
			{.fd = f->signals.fd, .events = POLLIN},
			{.fd = f->executed && !f->ended ? child_fd(f->child) : -1,
			 .events = POLLIN},
		};

		poll(fds, 3, -1);
		/*
		 * Check the command first: its own end takes precedence over simultaneous events.
		 */
		poll_command(f);
		pass_signals(f);
		if (!fds[0].revents)
			continue;
		if (elevation_receive(f->sudo.socket, &message, NULL))
			return false;
		if (message.kind == ELEVATION_READY && !f->executed) {
			execute_command(f);
		} else if (message.kind == ELEVATION_FORK) {
			fork_next(f, (uint32_t)message.value);
		} else if (message.kind == ELEVATION_DONE) {
			*status = message.value & 0xff;
			return true;
		}
	}
}

/*
 * Waits for sudo to end; a signal or SUDO_END_MS ends the wait. Returns -1 if sudo is still
 * running.
 */
static int await_sudo(struct front *f)
{
	struct pollfd fds[] = {
		{.fd = f->sudo.pidfd, .events = POLLIN},
		{.fd = f->signals.fd, .events = POLLIN},
	};

	poll(fds, 2, SUDO_END_MS);
	return fds[0].revents ? sudo_wait(&f->sudo) : -1;
}

static int fail_without_helper(struct front *f)
{
	char why[300] = "", fate[64] = "";
	int status = await_sudo(f);

	if (status >= 0 && WIFSIGNALED(status))
		snprintf(why, sizeof(why), " (signal %d)", WTERMSIG(status));
	if (f->child && !f->executed)
		snprintf(fate, sizeof(fate), "; the command was not run");
	else if (f->child && !f->ended)
		snprintf(fate, sizeof(fate), "; the command continues with pid %d",
			 (int)child_pid(f->child));
	command_say_as(f->options->command, "the recorder ended early%s: no profile was written%s",
		       why, fate);
	return EXIT_REFUSED;
}

static int run(struct front *f)
{
	struct error err = {0};
	int status = check(f);

	if (status)
		return status;
	if (signals_init(&f->signals, &err))
		return command_fail(f->options->command, EXIT_REFUSED, &err);
	status = elevate(f);
	if (status)
		return status;
	if (hand_over(f, &err))
		return command_fail(f->options->command, EXIT_REFUSED, &err);
	if (!serve(f, &status))
		return fail_without_helper(f);
	await_sudo(f);
	return status;
}

int elevate_run(const struct pipeline_options *options)
{
	struct front f = {
		.options = options,
		.signals.fd = -1,
		.sudo = {.pidfd = -1, .socket = -1, .errors = -1},
		.fetch_socket = -1,
		.control = CONTROL_SOCKET_INIT,
	};
	int status = run(&f);

	front_release(&f);
	return status;
}
