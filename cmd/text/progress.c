/* SPDX-License-Identifier: MIT */
#include "cmd/text/progress.h"

#include <sys/ioctl.h>

#define REFRESH_NS 50000000ull
/* Shorter steps are not shown. */
#define PATIENCE_NS 200000000ull
#define RECORDING_REFRESH_NS 1000000000ull
#define PLAIN_REFRESH_NS 10000000000ull
/* Most commands end right after an interrupt. */
#define INTERRUPT_GRACE_NS 500000000ull
#define COLUMNS_DEFAULT 80
#define NAME_MAX_SHOWN 48
#define ERASE "\r\033[K"
#define ERASE_LINE_ABOVE "\033[A" ERASE

static const struct {
	const char *name, *text, *unit;
} phases[] = {
	[PROGRESS_DRAIN] = {"drain", "reading the last records", ""},
	[PROGRESS_NAMES] = {"names", "naming", " modules"},
	[PROGRESS_SOURCES] = {"sources", "reading", " source files"},
	[PROGRESS_WRITE] = {"write", "writing", ""},
};

void progress_init(struct progress *progress, bool quiet, enum progress_style style, pid_t front)
{
	const char *name = getenv("TERM");
	bool is_terminal = !quiet && style == PROGRESS_AUTO && isatty(STDERR_FILENO);

	*progress = (struct progress){
		.style = quiet ? PROGRESS_AUTO : style,
		.enabled = is_terminal && name && *name && strcmp(name, "dumb") != 0,
		.says_interrupts = is_terminal,
		.group = getpgid(front),
		.next_ns = clock_monotonic_ns() + PATIENCE_NS,
	};
}

/* False for a background job, which leaves the terminal to the foreground. */
static bool is_in_front(const struct progress *progress)
{
	pid_t group = tcgetpgrp(STDERR_FILENO);

	return group < 0 || group == progress->group;
}

bool progress_is_same_terminal(int a, int b)
{
	struct stat x, y;

	return isatty(a) && isatty(b) && fstat(a, &x) == 0 && fstat(b, &y) == 0 &&
	       x.st_rdev == y.st_rdev;
}

static size_t columns(void)
{
	struct winsize size = {0};

	return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 1 ? size.ws_col
									       : COLUMNS_DEFAULT;
}

/*
 * Keeps the last line of the command's output, even without a newline: a full line of blanks moves
 * to the next line unless the cursor is in the first column.
 */
static void leave_line(void)
{
	_cleanup_free_ char *blanks = xasprintf("%*s\r", (int)columns(), "");

	log_write(blanks);
}

/* Cuts the line to the terminal's width, because a wrapped line could not be erased. */
static void cut_to_width(char *line)
{
	size_t width = columns() - 1;

	if (strlen(line) <= width)
		return;
	while (width && ((unsigned char)line[width] & 0xc0) == 0x80)
		width--;
	line[width] = '\0';
}

/* Replaces the shown line in one write. */
__attribute__((format(printf, 2, 3))) static void show(struct progress *progress, const char *fmt,
						       ...)
{
	_cleanup_free_ char *line = NULL, *text = NULL;
	va_list args;

	va_start(args, fmt);
	line = xvasprintf(fmt, args);
	va_end(args);
	text_to_line(line);
	cut_to_width(line);
	text = xasprintf(ERASE "%s", line);
	if (!progress->shown)
		leave_line();
	log_write(text);
	progress->shown = true;
}

/* True if the line is due for an update. */
static bool is_due(struct progress *progress, uint64_t period_ns)
{
	uint64_t now;

	if (!progress->enabled)
		return false;
	now = clock_monotonic_ns();
	if (now < progress->next_ns)
		return false;
	progress->next_ns = now + period_ns;
	return is_in_front(progress);
}

void progress_begin(struct progress *progress, const char *what, uint64_t duration_ns, bool shared)
{
	_cleanup_free_ char *line = NULL, *limit = NULL;

	progress->start_ns = clock_monotonic_ns();
	if (progress->says_interrupts && !is_in_front(progress))
		progress->enabled = progress->says_interrupts = false;
	if (!progress->enabled)
		return;
	progress->in_place = !shared;
	progress->next_ns = progress->start_ns + RECORDING_REFRESH_NS;
	limit = duration_ns ? xasprintf(" for %g s", (double)duration_ns / 1e9) : xstrdup("");
	line = xasprintf("prof: recording %.*s%s, Ctrl-C ends it", NAME_MAX_SHOWN, what, limit);
	text_to_line(line);
	log_write(line);
	log_write("\n");
}

void progress_withdraw(struct progress *progress)
{
	if (progress->enabled && progress->start_ns)
		log_write(ERASE_LINE_ABOVE);
}

/* Reports once that the command is still running, if it takes longer than usual to end. */
static void say_interrupted(struct progress *progress)
{
	uint64_t now = clock_monotonic_ns();

	if (!progress->interrupt_ns)
		progress->interrupt_ns = now;
	if (progress->interrupt_ns == UINT64_MAX ||
	    now - progress->interrupt_ns < INTERRUPT_GRACE_NS)
		return;
	progress->interrupt_ns = UINT64_MAX;
	progress_erase(progress);
	log_write("prof: recording until the command has ended, Ctrl-C once more ends it now\n");
}

static bool is_line_due(struct progress *progress, uint64_t period_ns)
{
	uint64_t now = clock_monotonic_ns();

	if (now < progress->next_ns)
		return false;
	progress->next_ns = now + period_ns;
	return true;
}

/* Prints progress as lines. */
static void print_recording(struct progress *progress, uint64_t samples, uint64_t lost)
{
	bool is_json = progress->style == PROGRESS_JSON;
	const char *state = progress->is_paused ? "paused" : "recording";
	_cleanup_free_ char *line = NULL;
	double seconds;

	if (!is_line_due(progress, is_json ? RECORDING_REFRESH_NS : PLAIN_REFRESH_NS))
		return;
	seconds = (double)(clock_monotonic_ns() - progress->start_ns) / 1e9;
	if (is_json)
		line = xasprintf("{\"phase\":\"%s\",\"seconds\":%.1f,\"samples\":%" PRIu64
				 ",\"lost\":%" PRIu64 "}\n",
				 state, seconds, samples, lost);
	else
		line = xasprintf("prof: %s, %.0f s, %" PRIu64 " %s, %" PRIu64 " lost\n", state,
				 seconds, samples, text_counted(samples, "sample", "samples"),
				 lost);
	log_write(line);
}

void progress_recording(struct progress *progress, uint64_t samples, uint64_t lost,
			bool interrupted)
{
	_cleanup_(strbuf_release) struct strbuf line = {0};

	if (interrupted && progress->says_interrupts)
		say_interrupted(progress);
	if (progress->style != PROGRESS_AUTO) {
		print_recording(progress, samples, lost);
		return;
	}
	if (!progress->enabled || !progress->in_place || !is_due(progress, RECORDING_REFRESH_NS))
		return;
	strbuf_addf(&line, "%.0f s, ", (double)(clock_monotonic_ns() - progress->start_ns) / 1e9);
	strbuf_add_grouped(&line, samples);
	strbuf_addf(&line, " %s, ", text_counted(samples, "sample", "samples"));
	strbuf_add_grouped(&line, lost);
	strbuf_adds(&line, progress->is_paused ? " lost, paused" : " lost");
	show(progress, "prof: %s", strbuf_text(&line));
}

void progress_paused(struct progress *progress, bool is_paused)
{
	progress->is_paused = is_paused;
	progress->next_ns = 0;
}

static void print_step(struct progress *progress, enum progress_phase phase, size_t done,
		       size_t count)
{
	bool is_json = progress->style == PROGRESS_JSON;
	_cleanup_free_ char *line = NULL, *numbers = NULL;
	double seconds;

	if (progress->phase != 1 + (unsigned int)phase) {
		progress->phase = 1 + (unsigned int)phase;
		progress->phase_ns = clock_monotonic_ns();
		progress->next_ns = 0;
	}
	if (!is_line_due(progress, RECORDING_REFRESH_NS))
		return;
	seconds = (double)(clock_monotonic_ns() - progress->phase_ns) / 1e9;
	if (count)
		numbers = xasprintf(is_json ? "\"done\":%zu,\"count\":%zu," : " %zu/%zu", done,
				    count);
	line = xasprintf(is_json ? "{\"phase\":\"%s\",%s\"seconds\":%.1f}\n"
				 : "prof: %s%s, %.1f s\n",
			 phases[phase].name, numbers ? numbers : "", seconds);
	log_write(line);
}

void progress_step(struct progress *progress, enum progress_phase phase, size_t done, size_t count)
{
	if (progress->style != PROGRESS_AUTO)
		print_step(progress, phase, done, count);
	else if (!is_due(progress, REFRESH_NS))
		return;
	else if (count)
		show(progress, "%s %zu/%zu%s…", phases[phase].text, done, count,
		     phases[phase].unit);
	else
		show(progress, "%s…", phases[phase].text);
}

void progress_download(struct progress *progress, const char *path, uint64_t done, uint64_t size)
{
	char done_text[32], size_text[32];

	if (progress->style != PROGRESS_AUTO || !is_due(progress, REFRESH_NS))
		return;
	text_format_bytes(done_text, sizeof(done_text), done);
	text_format_bytes(size_text, sizeof(size_text), size);
	show(progress, "downloading symbols of %.*s: %s%s%s…", NAME_MAX_SHOWN, basename(path),
	     done_text, size ? " of " : "", size ? size_text : "");
}

void progress_erase(struct progress *progress)
{
	if (progress->shown)
		log_write(ERASE);
	progress->shown = false;
}

static enum workers_wish wish(const struct progress_naming *p)
{
	return p->wish ? p->wish(p->ctx) : WORKERS_GO_ON;
}

static enum workers_wish on_names(void *ctx, size_t done, size_t count)
{
	struct progress_naming *p = ctx;

	progress_step(&p->progress, PROGRESS_NAMES, done, count);
	return wish(p);
}

static enum workers_wish on_sources(void *ctx, size_t done, size_t count)
{
	struct progress_naming *p = ctx;

	progress_step(&p->progress, PROGRESS_SOURCES, done, count);
	return wish(p);
}

static bool on_download(void *ctx, const char *path, uint64_t done, uint64_t size)
{
	struct progress_naming *p = ctx;

	progress_download(&p->progress, path, done, size);
	return wish(p) != WORKERS_GO_ON;
}

void progress_naming_begin(struct progress_naming *p, bool quiet, enum progress_style style,
			   pid_t front, struct naming *naming, struct sources_options *sources)
{
	progress_init(&p->progress, quiet, style, front);
	naming->on_names = on_names;
	naming->on_download = on_download;
	naming->ctx = p;
	if (!sources)
		return;
	sources->progress = on_sources;
	sources->ctx = p;
}

void progress_naming_end(struct progress_naming *p)
{
	progress_erase(&p->progress);
}
