/* SPDX-License-Identifier: MIT */
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>

#include "cmd/command.h"
#include "cmd/elevate/privileges.h"
#include "cmd/options/filter_options.h"
#include "cmd/options/live_options.h"
#include "cmd/options/output_options.h"
#include "cmd/options/pipeline_options.h"
#include "cmd/run/pipeline.h"
#include "lib/base/program.h"
#include "lib/recording/spool.h"

/* Reports a service's state to systemd, see sd_notify(3). */

/* Sends a state such as "READY=1". Does nothing without NOTIFY_SOCKET. */
static void notify(const char *state)
{
	const char *path = getenv("NOTIFY_SOCKET");
	struct sockaddr_un to = {.sun_family = AF_UNIX};
	size_t size = path ? strlen(path) : 0;
	int fd;

	if (!size || size >= sizeof(to.sun_path) || (*path != '/' && *path != '@'))
		return;
	memcpy(to.sun_path, path, size);
	/* An abstract name begins with NUL. */
	if (*path == '@')
		to.sun_path[0] = '\0';
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return;
	sendto(fd, state, strlen(state), MSG_NOSIGNAL, (const struct sockaddr *)&to,
	       (socklen_t)(offsetof(struct sockaddr_un, sun_path) + size));
	close(fd);
}

/*
 * prof agent: records a machine for months and sends the data. The initial process keeps its
 * privileges and only supervises the recorder, which drops them. SIGHUP restarts the recorder.
 */

extern const struct command command_agent;

static const char name[] = "agent";

/* Delay before a killed recorder is replaced. */
#define RESTART_US 1000000
#define OWN_FOLDER "/var/lib/prof/agent"

struct agent {
	struct filter_options filter;
	struct live_options live;
	struct output_options output; /* only some of its members have options here */
	struct push_options push;
};

#define AT(member) OPTION_AT(agent, member)

static const struct option_row rows[] = {
	{0, "spool-dir", "DIR",
	 "folder of windows that wait for their engine (default: " OWN_FOLDER ")", OPTION_NAME,
	 AT(push.spool_dir)},
	{0, "status", "FILE",
	 "after each window, write counts of sent and lost samples there, as JSON", OPTION_NAME,
	 AT(push.status_path)},
	{0, "debug-dir", "DIR", "look for .build-id/xx/yyy.debug there; may be repeated",
	 OPTION_CALL, AT(output), .set = output_add_debug_dir},
	{0, "no-symbols", NULL, "leave addresses unnamed", OPTION_FLAG, AT(output.no_symbols)},
	{'v', "verbose", NULL, "print more messages; twice: all", OPTION_COUNTED,
	 AT(output.verbose)},
	{'q', "quiet", NULL, "no progress, and no summary at the end", OPTION_FLAG,
	 AT(output.quiet)},
	{0},
};

static void make_table(struct option_table *t, void *ctx)
{
	struct agent *a = ctx;

	t->operands = live_nothing;
	t->usage =
		"Usage: prof agent [OPTION]... --push URL...\n"
		"Record the machine until a signal ends it, at 19 samples per second and CPU, and "
		"send\n"
		"the samples to engines that store those of many machines.\n"
		"\n";
	option_table_add(t, push_options_windows, &a->push);
	option_table_add(t, push_options_who, &a->push);
	option_table_add(t, rows, a);
	live_options_table(t, &a->live);
	option_table_add(t, filter_options, &a->filter);
	option_table_add(t, system_options, &a->filter);
	option_table_add(t, option_common, NULL);
	t->after =
		"\n"
		"URL is as in prof push. SIGTERM ends the agent, SIGHUP reloads its configuration.\n"
		"Exit status: 0, 125 if prof failed, 2 for a usage error.\n";
}

static void init(struct agent *a)
{
	*a = (struct agent){0};
	live_options_init(&a->live);
	output_options_init(&a->output);
	push_options_init(&a->push);
	a->filter.filter.all = true;
}

static void release(struct agent *a)
{
	live_options_release(&a->live);
	filter_options_release(&a->filter);
	output_options_release(&a->output);
	push_options_release(&a->push);
}

/* Returns -ECANCELED if --help was printed. */
static int parse(struct agent *a, int argc, char **argv, struct error *err)
{
	static char rate[] = "--frequency=19";
	_cleanup_free_ char **words = xcalloc((size_t)argc + 2, sizeof(*words));
	int ret;

	/* Words of the command line follow and take precedence. */
	words[0] = argv[0];
	words[1] = rate;
	memcpy(words + 2, argv + 1, (size_t)argc * sizeof(*words));
	ret = command_parse(argc + 1, words, make_table, a, err);
	if (!ret && optind < argc + 1)
		ret = error_text(err, -EINVAL, "unexpected argument %s", words[optind]);
	if (!ret)
		ret = instrument_settings_judge(&a->live.instruments, err);
	a->output.no_file = true;
	if (!ret)
		ret = output_options_check(&a->output, err);
	if (!ret)
		ret = push_options_check(&a->push, err);
	if (!ret && !a->push.urls.count)
		ret = error_text(err, -EINVAL, "a destination is missing: use --push URL");
	return ret;
}

static char *own_folder(void)
{
	const struct identity owner = identity_of_invoker();
	const char *state = getenv("STATE_DIRECTORY");
	_cleanup_free_ char *home = NULL;

	if (state && *state == '/')
		return xasprintf("%s/agent", state);
	if (geteuid() == 0)
		return xstrdup(OWN_FOLDER);
	home = spool_state_folder(&owner);
	return home ? xasprintf("%s/agent", home) : NULL;
}

static int record(struct agent *a, char **argv)
{
	struct pipeline_options options = {
		.command = name,
		.live = &a->live,
		.filter = &a->filter.filter,
		.output = &a->output,
		.push = &a->push,
		.own_argv = argv,
	};
	_cleanup_free_ char *filter_text = NULL, *folder = own_folder();
	struct error err = {0};

	if (!a->push.spool_dir)
		a->push.spool_dir = folder;
	if (a->output.verbose)
		log_set_level(a->output.verbose > 1 ? LOG_DEBUG : LOG_INFO);
	if (filter_options_resolve(&a->filter, NULL, &err))
		return command_fail(name, EXIT_REFUSED, &err);
	filter_text = filter_options_describe(&a->filter);
	options.filter_text = filter_text;
	return pipeline_run(&options);
}

/* The initial process. */
struct keeper {
	struct agent *agent;
	char **argv;
	int signals;
	int alive; /* written by the recorder while it records; -1: the recorder has ended */
	pid_t recorder;
	bool is_ready, is_ending, is_reloading;
};

static void start(struct keeper *k, const sigset_t *mask)
{
	pid_t keeper = getpid();
	int ends[2] = {-1, -1};

	(void)!pipe2(ends, O_CLOEXEC | O_NONBLOCK);
	k->recorder = fork();
	if (k->recorder == 0) {
		sigprocmask(SIG_SETMASK, mask, NULL);
		prctl(PR_SET_PDEATHSIG, SIGTERM);
		if (getppid() != keeper)
			_exit(EXIT_REFUSED);
		close(k->signals);
		close(ends[0]);
		k->agent->push.alive_fd = ends[1];
		exit(record(k->agent, k->argv));
	}
	close(ends[1]);
	fd_close(k->alive);
	k->alive = ends[0];
	k->is_ready = false;
}

/* Waits for a signal or for the recorder, and passes its signs of life to systemd. */
static int next_signal(struct keeper *k)
{
	struct pollfd fds[] = {{.fd = k->signals, .events = POLLIN},
			       {.fd = k->alive, .events = POLLIN}};
	struct signalfd_siginfo info;
	char bytes[64];

	poll(fds, 2, -1);
	if (fds[1].revents) {
		if (read(k->alive, bytes, sizeof(bytes)) > 0)
			notify(k->is_ready ? "WATCHDOG=1" : "READY=1");
		else
			close(steal_fd(&k->alive));
		k->is_ready = true;
	}
	return fds[0].revents && read(k->signals, &info, sizeof(info)) == (ssize_t)sizeof(info)
		       ? (int)info.ssi_signo
		       : 0;
}

static void obey(struct keeper *k, int signal)
{
	switch (signal) {
	case SIGHUP:
		k->is_reloading = true;
		notify("RELOADING=1");
		break;
	case SIGTERM:
	case SIGINT:
	case SIGQUIT:
		k->is_ending = true;
		notify("STOPPING=1");
		break;
	default:
		kill(k->recorder, signal);
		return;
	}
	kill(k->recorder, SIGTERM);
}

/* Returns the exit status for a requested end or a failure. */
static int status_of(const struct keeper *k, int status)
{
	if (!WIFEXITED(status))
		return EXIT_REFUSED;
	return WEXITSTATUS(status) == EXIT_SIGNAL_BASE + SIGTERM && k->is_ending
		       ? 0
		       : WEXITSTATUS(status);
}

static int keep(struct keeper *k, const sigset_t *mask)
{
	int status, signal;

	for (start(k, mask);;) {
		signal = next_signal(k);
		if (signal && signal != SIGCHLD)
			obey(k, signal);
		if (k->recorder > 0 && waitpid(k->recorder, &status, WNOHANG) != k->recorder)
			continue;
		if (k->is_ending || k->is_reloading || k->recorder < 0 || WIFEXITED(status))
			break;
		command_say_as(name, "the recorder was killed by signal %d: restarting it",
			       WTERMSIG(status));
		usleep(RESTART_US);
		start(k, mask);
	}
	if (!k->is_reloading || k->is_ending)
		return status_of(k, status);
	sigprocmask(SIG_SETMASK, mask, NULL);
	close(k->signals);
	return -1;
}

static int supervise(struct agent *a, char **argv)
{
	static const int numbers[] = {SIGCHLD, SIGHUP, SIGTERM, SIGINT, SIGQUIT, SIGUSR1, SIGUSR2};
	struct keeper k = {.agent = a, .argv = argv, .alive = -1};
	sigset_t signals, mask;

	sigemptyset(&signals);
	for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++)
		sigaddset(&signals, numbers[i]);
	sigprocmask(SIG_BLOCK, &signals, &mask);
	k.signals = signalfd(-1, &signals, SFD_CLOEXEC);
	return keep(&k, &mask);
}

/* Executes the program's current file again with the original arguments. */
static int start_over(void)
{
	_cleanup_free_ char *words = NULL;
	VEC(char *) argv = {0};
	struct error err = {0};
	size_t size;

	words = text_read_file("/proc/self/cmdline", 1 << 20, &size);
	for (size_t at = 0; words && at < size; at += strlen(words + at) + 1)
		vec_push(&argv, words + at);
	vec_push(&argv, NULL);
	if (argv.count > program_first_word() + 1)
		execv(program_again, argv.items + program_first_word());
	error_set(&err, -errno, "cannot run the new program");
	return command_fail(name, EXIT_REFUSED, &err);
}

static int run(int argc, char **argv)
{
	struct agent a;
	struct error err = {0};
	int ret;

	init(&a);
	ret = parse(&a, argc, argv, &err);
	if (ret) {
		ret = command_fail_usage(name, &err);
	} else if (privileges_are_missing()) {
		error_text(&err, -EPERM, "recording the machine needs root");
		error_hint(&err, "sudo prof agent ...");
		ret = command_fail(name, EXIT_REFUSED, &err);
	} else {
		ret = supervise(&a, argv);
	}
	release(&a);
	return ret < 0 ? start_over() : ret;
}

const struct command command_agent = {
	.name = name,
	.summary = "record a machine for months, and send its samples to engines",
	.options = make_table,
	.run = run,
};
