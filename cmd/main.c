/* SPDX-License-Identifier: MIT */
/* The table of commands; each has its own file. */
#include <signal.h>

#include "lib/recording/workplace/naming.h"
#include "cmd/command.h"
#include "cmd/elevate/elevation.h"
#include "cmd/elevate/caller.h"
#include "cmd/options/defaults.h"
#include "cmd/options/option_table.h"
#include "cmd/run/kept_capture.h"
#include "cmd/run/child_programs.h"
#include "lib/base/program.h"
#include "lib/base/workers.h"
#include "lib/stream/capture/capture_format.h"
#include "lib/format/firefox/version.h"
#include "symbolize/debuginfo/debug_fetch.h"

/* In the order of the help. ROW(NAME) refers to command_NAME, in a file of its own. */
#define COMMANDS(ROW) \
	ROW(record) \
	ROW(attach) \
	ROW(top) \
	ROW(agent) \
	ROW(status) \
	ROW(pause) \
	ROW(resume) \
	ROW(snapshot) \
	ROW(stop) \
	ROW(config) \
	ROW(check) \
	ROW(report) \
	ROW(browse) \
	ROW(diff) \
	ROW(convert) \
	ROW(explain) \
	ROW(script) \
	ROW(info) ROW(mcp) ROW(symbolize) ROW(recover) ROW(view) ROW(share) ROW(push) ROW(fleet)

#define COMMAND_DECLARE(name) extern const struct command command_##name;
#define COMMAND_ROW(name) &command_##name,
COMMANDS(COMMAND_DECLARE)
static const struct command *const commands[] = {COMMANDS(COMMAND_ROW)};

#define COMMAND_COUNT (sizeof(commands) / sizeof(commands[0]))

static void print_help(void)
{
	printf("Usage: prof COMMAND [OPTION]... [ARGUMENT]...\n"
	       "Record where programs spend their time, for the Firefox Profiler.\n"
	       "\n"
	       "Commands:\n");
	for (size_t i = 0; i < COMMAND_COUNT; i++)
		printf("  %-18s %s\n", commands[i]->name, commands[i]->summary);
	printf("  %-18s %s\n", "help [COMMAND]", "the same as --help of that command");
	printf("  %-18s %s\n", "version", "the same as --version");
	printf("\n"
	       "Options:\n"
	       "  -h, --help         show this and exit\n"
	       "  -V, --version      show the version and exit\n"
	       "\n"
	       "More: 'prof COMMAND --help', 'man prof', 'man prof-COMMAND'.\n");
}

const struct command *find_command(const char *name)
{
	for (size_t i = 0; i < COMMAND_COUNT; i++) {
		if (strcmp(commands[i]->name, name) == 0)
			return commands[i];
	}
	return NULL;
}

const struct command *command_at(size_t n)
{
	return n < COMMAND_COUNT ? commands[n] : NULL;
}

static bool is_one_of(const char *word, const char *one, const char *other)
{
	return strcmp(word, one) == 0 || strcmp(word, other) == 0;
}

static int fail_unknown(const char *name)
{
	const char *names[COMMAND_COUNT + 2] = {"help", "version"};
	struct error err = {0};

	for (size_t i = 0; i < COMMAND_COUNT; i++)
		names[i + 2] = commands[i]->name;
	hint_unknown_command(&err, name, names, COMMAND_COUNT + 2);
	return command_fail_usage(NULL, &err);
}

/* Runs the command with the defaults of the user and the machine. */
static int run_command(const char *name, int argc, char **argv)
{
	const struct command *command = find_command(name);
	_cleanup_(defaults_release) struct defaults defaults = {0};
	_cleanup_free_ char **words = NULL;
	struct error err = {0};

	if (!command)
		return fail_unknown(name);
	/*
	 * A limit of files' sizes makes write() fail, which is reported. Commands that record
	 * ignore the signal later, so that the recorded command does not inherit that.
	 */
	if (!command->run_for)
		signal(SIGXFSZ, SIG_IGN);
	if (!command->options)
		return command->run(argc, argv);
	if (config_read(&defaults, command, argc, argv, &err))
		return command_fail_usage(name, &err);
	words = defaults_expand(&defaults, &argc, argv);
	return command->run(argc, words);
}

static int fail_unexpected(const char *argument)
{
	struct error err = {0};

	error_text(&err, -EINVAL, "unexpected argument '%s'", argument);
	return command_fail_usage(NULL, &err);
}

/* argv: the command and its options, as given to the caller. */
static int run_helper(int argc, char **argv)
{
	const struct command *command = argc ? find_command(argv[0]) : NULL;
	struct caller front;
	struct error err = {0};
	int status;

	if (caller_accept(&front, &err))
		status = command_fail(NULL, EXIT_REFUSED, &err);
	else if (command && command->run_for)
		status = command->run_for(&front, argc, argv);
	else
		status = EXIT_USAGE;
	if (fflush(stdout))
		status = EXIT_REFUSED;
	caller_finish(&front, status);
	caller_release(&front);
	return status;
}

static int run_help(int argc, char **argv)
{
	char help[] = "--help";
	char *args[] = {argv[0], help, NULL};

	if (argc > 2)
		return fail_unexpected(argv[2]);
	if (argc < 2 || is_one_of(argv[1], "help", "version")) {
		print_help();
		return 0;
	}
	args[0] = argv[1];
	return run_command(argv[1], 2, args);
}

static int run_version(int argc, char **argv)
{
	if (argc > 1)
		return fail_unexpected(argv[1]);
	printf("prof %s\n", PROF_VERSION);
	if (*PROF_COMMIT)
		puts("commit " PROF_COMMIT);
	printf("formats: profile %d, capture %d\n", FIREFOX_FORMAT_VERSION, CAPTURE_VERSION);
	printf("debuginfod: %s\n",
	       debug_fetch_is_installed() ? "yes" : "no: install libdebuginfod1");
	printf("view, share, push: %s\n", companion_program_is_installed(&program_view)
						  ? "yes"
						  : "no: built without libmicrohttpd or libcurl");
	return 0;
}

/* argv: a command and its words, the last of which is incomplete. */
static int run_complete(int argc, char **argv)
{
	const struct command *command = argc > 1 ? find_command(argv[0]) : NULL;

	for (size_t i = 0; argc == 1 && i < COMMAND_COUNT; i++) {
		if (strncmp(commands[i]->name, argv[0], strlen(argv[0])) == 0)
			printf("%s\n", commands[i]->name);
	}
	if (command && command->options)
		command_complete(command->options, argc - 1, argv + 1);
	else if (command)
		return command->run(argc + 1, argv - 1);
	return 0;
}

static int run(int argc, char **argv)
{
	bool wants_help = false, wants_version = false;
	static const struct option_row help[] = {{'h', "help", .type = OPTION_FLAG}, {0}};
	static const struct option_row version[] = {{'V', "version", .type = OPTION_FLAG}, {0}};
	_cleanup_(option_table_release) struct option_table table = {0};
	struct error err = {0};

	if (argc < 2) {
		print_help();
		return EXIT_USAGE;
	}
	if (strcmp(argv[1], NAMING_FETCH) == 0)
		return debug_fetch_serve();
	if (strcmp(argv[1], COMMAND_HELPER) == 0)
		return run_helper(argc - 2, argv + 2);
	if (strcmp(argv[1], COMMAND_SNAPSHOT) == 0)
		return kept_capture_run(argc - 1, argv + 1);
	if (strcmp(argv[1], COMMAND_COMPLETE) == 0)
		return run_complete(argc - 2, argv + 2);
	if (strcmp(argv[1], "help") == 0)
		return run_help(argc - 1, argv + 1);
	if (strcmp(argv[1], "version") == 0)
		return run_version(argc - 1, argv + 1);
	if (argv[1][0] != '-')
		return run_command(argv[1], argc - 1, argv + 1);
	option_table_add(&table, help, &wants_help);
	option_table_add(&table, version, &wants_version);
	if (option_table_next(&table, argc, argv, &err) < 0)
		return command_fail_usage(NULL, &err);
	if (wants_help) {
		print_help();
		return 0;
	}
	return wants_version ? run_version(0, NULL) : fail_unexpected(argv[1]);
}

/*
 * Fills closed descriptors 0, 1 and 2: otherwise the next opened file would take their number, and
 * get text meant for a terminal. Reading from 0 and writing to 1 and 2 fail, as on a closed
 * descriptor. Close-on-exec, so that the recorded command finds them closed as well.
 */
static void occupy_standard_fds(void)
{
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
		if (fcntl(fd, F_GETFD) < 0)
			open("/dev/null", (fd == STDIN_FILENO ? O_WRONLY : O_RDONLY) | O_CLOEXEC);
	}
}

int main(int argc, char **argv)
{
	struct error err = {0};
	bool is_fine;
	int status;

	program_begin(PROGRAM_PROF, environ);
	occupy_standard_fds();
	status = run(argc, argv);
	/*
	 * Check output printed on purpose; the profile has its own descriptor. A failure before the
	 * last buffer is known only as such.
	 */
	is_fine = !ferror(stdout);
	errno = EIO;
	if (fflush(stdout) || !is_fine) {
		error_set(&err, -errno, "cannot write to standard output");
		status = command_fail(NULL, EXIT_REFUSED, &err);
	}
	/* Threads that were left behind may still use any data. */
	if (threads_are_left())
		_exit(status);
	return status;
}
