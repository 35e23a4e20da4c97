/* SPDX-License-Identifier: MIT */
#include <limits.h>
#include <malloc.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "cmd/command.h"
#include "cmd/elevate/elevation.h"
#include "cmd/elevate/privileges.h"
#include "cmd/net/bounded.h"
#include "cmd/net/engine_client.h"
#include "cmd/net/viewer.h"
#include "cmd/options/output_options.h"
#include "lib/fleet/server/server.h"
#include "lib/query/statistics.h"

/* Opens an address in the user's browser. */

struct browser {
	char *folder, *page; /* folder and page that redirects to the address; owned */
	bool is_missing; /* there is a display, but no program to open a browser */
	int starter; /* receives the path of the page; 0: none */
};

#define ANCESTORS_MAX 32
#define FILE_MAX ((size_t)1 << 20)

static const char variable[] = "SSH_CONNECTION=";

static char *read_file(pid_t pid, const char *name, size_t *size)
{
	_cleanup_free_ char *path = xasprintf("/proc/%d/%s", (int)pid, name);

	return text_read_file(path, FILE_MAX, size);
}

/* Parses the parent's pid. The name, in parentheses, may contain anything. */
static pid_t parent_of(pid_t pid)
{
	size_t size;
	_cleanup_free_ char *text = read_file(pid, "stat", &size);
	const char *end = text ? strrchr(text, ')') : NULL;
	int parent = 0;

	return end && sscanf(end, ") %*c %d", &parent) == 1 ? parent : 0;
}

static bool take_connection(pid_t pid)
{
	size_t size = 0;
	_cleanup_free_ char *text = read_file(pid, "environ", &size);

	for (size_t at = 0; text && at < size; at += strnlen(text + at, size - at) + 1) {
		if (!text_starts_with(text + at, variable))
			continue;
		setenv("SSH_CONNECTION", text + at + strlen(variable), 1);
		return true;
	}
	return false;
}

/*
 * Sets SSH_CONNECTION for users who are logged in over ssh, because sudo removes the variable.
 * Reads the environments of this process's ancestors, with the process's rights.
 */
static void ssh_find_connection(void)
{
	pid_t pid = getppid();

	if (getenv("SSH_CONNECTION") || !getenv("SUDO_UID"))
		return;
	for (int i = 0; i < ANCESTORS_MAX && pid > 1 && !take_connection(pid); i++)
		pid = parent_of(pid);
}

static bool is_set(const char *name)
{
	const char *value = getenv(name);

	return value && *value;
}

static bool write_page(struct browser *b, const char *url)
{
	const char *runtime = getenv("XDG_RUNTIME_DIR"), *tmp = getenv("TMPDIR");
	_cleanup_fclose_ FILE *page = NULL;

	b->folder = xasprintf("%s/prof-view-XXXXXX", runtime && *runtime ? runtime
						     : tmp && *tmp	 ? tmp
									 : "/tmp");
	if (!mkdtemp(b->folder)) {
		free(b->folder);
		b->folder = NULL;
		return false;
	}
	b->page = xasprintf("%s/open.html", b->folder);
	page = fopen(b->page, "wxe");
	if (!page)
		return false;
	fprintf(page, "<!doctype html><meta charset=utf-8><title>prof view</title>"
		      "<meta http-equiv=refresh content=\"0;url=");
	for (; *url; url++)
		*url == '&' ? fputs("&amp;", page) : fputc(*url, page);
	fprintf(page, "\">\n");
	return true;
}

static const char *program_name(void)
{
	return is_set("BROWSER") ? getenv("BROWSER") : "xdg-open";
}

/* Searches the same folders as execlp(). */
static bool is_installed(const char *program)
{
	const char *path = getenv("PATH");

	if (strchr(program, '/'))
		return access(program, X_OK) == 0;
	while (path) {
		size_t size = strcspn(path, ":");
		_cleanup_free_ char *file = xasprintf("%.*s/%s", (int)size, path, program);

		if (access(file, X_OK) == 0)
			return true;
		path = path[size] ? path + size + 1 : NULL;
	}
	return false;
}

static void await_page(int from)
{
	const char *program = program_name();
	char page[PATH_MAX];
	ssize_t size = 0, got;

	while ((got = read(from, page + size, sizeof(page) - 1 - (size_t)size)) > 0)
		size += got;
	if (!size)
		return;
	page[size] = '\0';
	execlp(program, program, page, (char *)NULL);
}

/* Starts a session, so that Ctrl-C here does not end the process. Its parent becomes init. */
static void become_starter(int from)
{
	sigset_t none;
	int null;

	if (setsid() < 0 || fork())
		_exit(0);
	/* Keep the modes of files from restoring privileges to root's browser. */
	if (!geteuid())
		prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	signal(SIGPIPE, SIG_DFL);
	null = open("/dev/null", O_RDWR);
	if (null >= 0) {
		dup2(null, STDIN_FILENO);
		dup2(null, STDOUT_FILENO);
		dup2(null, STDERR_FILENO);
	}
	await_page(from);
	_exit(127);
}

/*
 * Starts a process that later becomes the browser. Call before drop_new_privileges(): the sandboxes
 * of many browsers need a set-user-id program. Does nothing without a display.
 */
static void browser_prepare(struct browser *b)
{
	int ends[2];
	pid_t pid;

	if (!is_set("BROWSER") && !is_set("DISPLAY") && !is_set("WAYLAND_DISPLAY"))
		return;
	b->is_missing = !is_installed(program_name());
	if (b->is_missing)
		return;
	if (pipe2(ends, O_CLOEXEC))
		return;
	pid = fork();
	if (pid == 0) {
		close(ends[1]);
		become_starter(ends[0]);
	}
	close(ends[0]);
	if (pid < 0) {
		close(ends[1]);
		return;
	}
	waitpid(pid, NULL, 0);
	b->starter = ends[1];
}

static void browser_release(struct browser *b);

/*
 * Opens the browser with the name of a page that only this user can read, because every user of the
 * machine can read command lines. False if there is no browser or display, or it was not prepared.
 */
static bool browser_open(struct browser *b, const char *url)
{
	size_t size;
	bool is_told;

	if (!b->starter)
		return false;
	if (!write_page(b, url)) {
		browser_release(b);
		return false;
	}
	size = strlen(b->page);
	is_told = size < PATH_MAX && write(b->starter, b->page, size) == (ssize_t)size;
	close(b->starter);
	b->starter = 0;
	return is_told;
}

/* Removes the page. A browser that is not open yet will not be opened. */
static void browser_release(struct browser *b)
{
	if (b->starter)
		close(b->starter);
	if (b->page)
		unlink(b->page);
	if (b->folder)
		rmdir(b->folder);
	free(b->page);
	free(b->folder);
	*b = (struct browser){0};
}

/* prof view: shows a profile in a browser, together with its code. */

#define FILES_MAX 8
#define FRONT_END "https://profiler.firefox.com"
#define IDLE_ALONE_NS (1800 * 1000000000ull)
#define POLL_MS 1000

static const char name[] = "view";

struct view {
	struct output_options options;
	VEC(const char *) paths;
	const char *front_end; /* address or folder; NULL: the public front-end */
	uint64_t idle_ns; /* 0: never exit */
	bool is_alone; /* no terminal and no --idle */
	uint16_t port; /* 0: any free port */
	bool no_open;
	bool is_page, is_firefox; /* show the page of an .html file; show the front-end */
	struct viewer viewer;
	struct server *server;
	struct signals signals;
	struct browser browser;
};

static int set_idle(void *at, const char *value, struct error *err)
{
	struct view *v = at;
	static const char units[] = "smh";
	static const uint64_t seconds[] = {1, 60, 3600};
	size_t size = strlen(value);
	const char *unit = size ? strchr(units, value[size - 1]) : NULL;
	_cleanup_free_ char *number = xstrndup(value, unit && *unit ? size - 1 : size);
	uint64_t count;

	if (!text_to_u64(number, 10, &count) || !count || count > 1000000)
		return error_text(err, -EINVAL, "--idle %s: must be a time such as 90, 30m or 2h",
				  value);
	v->idle_ns = count * (unit && *unit ? seconds[unit - units] : 1) * 1000000000ull;
	return 0;
}

static const struct size_range ports = {0, UINT16_MAX, "must be a number from 0 to 65535"};

static int take(void *ctx, const char *operand, struct error *err)
{
	struct view *v = ctx;

	if (!*operand)
		return error_text(err, -EINVAL, "the file name must not be empty");
	if (v->paths.count == FILES_MAX)
		return error_text(err, -EINVAL, "more than %d files", FILES_MAX);
	vec_push(&v->paths, operand);
	return 0;
}

#define AT(member) OPTION_AT(view, member)

static const struct option_row rows[] = {
	{0, "firefox", NULL, "show the profile in the Firefox Profiler, a page on the internet",
	 OPTION_FLAG, AT(is_firefox)},
	{0, "frontend", "URL|DIR",
	 "front-end to use: its address, or a folder with a built one;\n"
	 "default: " FRONT_END,
	 OPTION_WORD, AT(front_end)},
	{0, "page", NULL, "show the profile as a page that needs no internet (default)",
	 OPTION_FLAG, AT(is_page)},
	{0, "port", "N", "listen on that port of 127.0.0.1; default: a free one", OPTION_NUMBER,
	 AT(port), .range = &ports},
	{0, "idle", "TIME", "end after that time without a request: 90, 30m, 2h", OPTION_CALL,
	 .set = set_idle},
	{0, "no-open", NULL, "only print the address", OPTION_FLAG, AT(no_open)},
	{0, "debug-dir", "DIR",
	 "look for programs and .build-id/xx/yyy.debug there; may be\n"
	 "repeated",
	 OPTION_CALL, AT(options), .set = output_add_debug_dir},
	{'v', "verbose", NULL, "print more messages; twice: all", OPTION_COUNTED,
	 AT(options.verbose)},
	{'q', "quiet", NULL, "print nothing but the address", OPTION_FLAG, AT(options.quiet)},
	{0},
};

void view_options(struct option_table *t, void *ctx)
{
	t->usage =
		"Usage: prof view [OPTION]... FILE...\n"
		"Show a profile in a browser, with names, source and assembly of the code here.\n"
		"\n";
	t->take = take;
	option_table_add(t, rows, ctx);
	option_table_add(t, option_help, NULL);
	t->after =
		"\n"
		"FILE is a profile or a capture; two are compared. Ctrl-C ends it.\n"
		"Exit status: 0, 125 if a file or the machine prevents it, 2 for a usage error.\n";
}

static bool is_address(const char *front_end)
{
	return text_starts_with(front_end, "https://") || text_starts_with(front_end, "http://");
}

static int open_front_end(struct view *v, struct error *err)
{
	struct stat st;

	if (!v->front_end || is_address(v->front_end))
		return 0;
	v->viewer.folder = open(v->front_end, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (v->viewer.folder < 0) {
		error_set(err, -errno, "cannot open the front-end %s", v->front_end);
		error_hint(err, "use a folder with a built front-end, or an address: https://...");
		return -ENOENT;
	}
	if (fstatat(v->viewer.folder, "index.html", &st, 0))
		return error_text(err, -ENOENT, "--frontend %s: index.html is missing",
				  v->front_end);
	return 0;
}

struct opening {
	struct viewed_profile *profile;
	const char *const *paths;
	size_t count;
	const struct output_options *options;
	struct error err;
	int ret;
};

static void open_profile(void *ctx)
{
	struct opening *o = ctx;

	o->ret = viewed_profile_open(o->profile, o->paths, o->count, o->options, &o->err);
}

/* Opens with a time limit: module files may be on any file system. */
static int open_bounded(struct view *v, size_t i, size_t count, struct error *err)
{
	struct opening *o = xcalloc(1, sizeof(*o));
	int ret;

	*o = (struct opening){
		&v->viewer.api.profiles[i], &v->paths.items[i], count, &v->options, {0}, 0};
	if (bounded_run(open_profile, free, o, err))
		return error_wrap(err, "%s, or a file of its code", v->paths.items[i]);
	ret = o->ret;
	*err = o->err;
	free(o);
	return ret;
}

/* Opens `count` files as one profile, beginning with file i. */
static int open_next(struct view *v, size_t i, size_t count, struct error *err)
{
	struct api *api = &v->viewer.api;
	_cleanup_(strbuf_release) struct strbuf missing = {0};
	int ret;

	api->count = i + 1;
	ret = open_bounded(v, i, count, err);
	if (ret)
		return ret;
	viewed_profile_missing(&api->profiles[i], &missing);
	if (missing.size && !v->options.quiet)
		command_say_as(name, "%s: no code is available for %s", v->paths.items[i],
			       strbuf_text(&missing));
	return 0;
}

/* Compares two profiles. Shows incomparable profiles, or more than two, side by side. */
static int open_profiles(struct view *v, struct error *err)
{
	int ret = -EXDEV;

	v->viewer.api.profiles = xcalloc(v->paths.count, sizeof(*v->viewer.api.profiles));
	if (v->paths.count == SIDE_COUNT) {
		ret = open_next(v, 0, SIDE_COUNT, err);
		if (ret != -EXDEV)
			return ret;
		if (!v->options.quiet)
			command_say_as(
				name,
				"cannot show a difference, only the profiles side by side: %s",
				err->text);
		viewed_profile_close(&v->viewer.api.profiles[0]);
		*err = (struct error){0};
	}
	for (size_t i = 0; i < v->paths.count; i++) {
		ret = open_next(v, i, 1, err);
		if (ret)
			return ret;
	}
	return 0;
}

/* Prints "ssh -L …" with this machine's address as seen from the other end. */
static void say_tunnel(const struct view *v)
{
	const char *connection = getenv("SSH_CONNECTION"), *user = getenv("USER");
	char here[64] = "";

	if (!connection || sscanf(connection, "%*s %*s %63s", here) != 1)
		return;
	command_say_as(name,
		       "on the machine with the browser: ssh -N -L %" PRIu16 ":127.0.0.1:%" PRIu16
		       " %s%s%s",
		       v->viewer.port, v->viewer.port, user ? user : "", user ? "@" : "", here);
}

static int show(struct view *v, struct error *err)
{
	_cleanup_free_ char *url = viewer_url(&v->viewer);

	if (printf("%s\n", url) < 0 || fflush(stdout))
		return error_set(err, -errno, "cannot write the address");
	if (!v->options.quiet)
		say_tunnel(v);
	if (!v->no_open && !getenv("SSH_CONNECTION") && !browser_open(&v->browser, url) &&
	    !v->options.quiet)
		command_say_as(name, "cannot open a browser%s: open the address by hand",
			       v->browser.is_missing ? " (is xdg-open installed?)" : "");
	if (!v->options.quiet)
		command_say_as(name, v->is_alone ? "exits after 30 minutes without a request"
						 : "press Ctrl-C to exit");
	return 0;
}

static void wait_for_end(struct view *v)
{
	struct signal_event event;
	struct pollfd fd = {.fd = v->signals.fd, .events = POLLIN};

	while (!signals_next(&v->signals, &event)) {
		if (v->idle_ns && clock_monotonic_ns() - server_last_ns(v->server) >= v->idle_ns) {
			if (!v->options.quiet)
				command_say_as(name, "no requests for a while: exiting");
			return;
		}
		poll(&fd, 1, POLL_MS);
	}
}

/* Falls back to the front-end for profiles that a page cannot show, and if prof has no pages. */
static int make_page(struct view *v, struct error *err)
{
	bool is_one = v->viewer.api.count == 1;
	int ret;

	if (v->is_firefox || v->front_end || (!is_one && !v->is_page))
		return 0;
	if (!is_one)
		return error_text(err, -EINVAL, "--page: cannot put these files on one page");
	ret = viewer_make_page(&v->viewer, v->paths.items, v->paths.count, err);
	if (ret != -ENOTSUP || v->is_page)
		return ret;
	v->viewer.page = 0;
	*err = (struct error){0};
	return 0;
}

/*
 * Maximum number of malloc's arenas: threads that answer allocate little, but each arena keeps most
 * of its memory.
 */
#define ARENAS_MAX 2

static int serve(struct view *v, struct error *err)
{
	int ret = drop_privileges(err), listener;

	mallopt(M_ARENA_MAX, ARENAS_MAX);
	ssh_find_connection();
	if (!ret && !v->no_open && !getenv("SSH_CONNECTION"))
		browser_prepare(&v->browser);
	if (!ret)
		ret = drop_new_privileges(err);
	if (!ret)
		ret = open_front_end(v, err);
	if (!ret)
		ret = open_profiles(v, err);
	if (!ret)
		ret = make_page(v, err);
	if (!ret)
		ret = viewer_init(&v->viewer, err);
	if (!ret)
		ret = signals_init(&v->signals, err);
	if (ret)
		return ret;
	listener = server_listen(&v->port, err);
	if (listener < 0)
		return listener;
	v->viewer.port = v->port;
	viewer_set_front_end(&v->viewer, v->viewer.folder ? NULL
					 : v->front_end	  ? v->front_end
							  : FRONT_END);
	return server_start(&v->server, listener, viewer_answer, &v->viewer, err);
}

static void release(struct view *v)
{
	server_stop(v->server);
	browser_release(&v->browser);
	viewer_release(&v->viewer);
	for (size_t i = 0; i < v->viewer.api.count; i++)
		viewed_profile_close(&v->viewer.api.profiles[i]);
	free(v->viewer.api.profiles);
	signals_release(&v->signals);
	vec_release(&v->paths);
	output_options_release(&v->options);
}

int view_run(int argc, char **argv)
{
	struct view v = {.signals.fd = -1};
	struct error err = {0};
	int ret, status = 0;

	output_options_init(&v.options);
	ret = command_parse(argc, argv, view_options, &v, &err);
	if (!ret && !v.paths.count)
		ret = error_text(&err, -EINVAL, "no file to view");
	if (!ret && v.is_page && (v.front_end || v.is_firefox))
		ret = error_text(&err, -EINVAL, "--page: cannot be combined with a front-end");
	output_options_end_dirs(&v.options);
	if (ret) {
		status = command_fail_usage(name, &err);
	} else {
		if (v.options.verbose)
			log_set_level(v.options.verbose > 1 ? LOG_DEBUG : LOG_INFO);
		/* Without a terminal, Ctrl-C is impossible. */
		v.is_alone = !v.idle_ns && !isatty(STDIN_FILENO) && !isatty(STDERR_FILENO);
		if (v.is_alone)
			v.idle_ns = IDLE_ALONE_NS;
		if (serve(&v, &err) || show(&v, &err))
			status = command_fail(name, EXIT_REFUSED, &err);
		else
			wait_for_end(&v);
	}
	if (bounded_stop()) {
		/* Keep data of stalled threads, which end with the process. */
		browser_release(&v.browser);
		_exit(status);
	}
	release(&v);
	return status;
}
