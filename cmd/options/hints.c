/* SPDX-License-Identifier: MIT */
#include "cmd/options/hints.h"

/* Maximum number of options of a command. */
#define OPTIONS_MAX 96

/* Options of perf(1) and their counterparts in prof; letter 0: long name only. */
static const struct {
	char letter;
	const char *name, *text;
} perf_options[] = {
	{'g', "call-graph", "stacks are always recorded; --unwind chooses how"},
	{'c', "count",
	 "-F and -i set the rate of the clock, -e EVENT/period=N samples other events"},
	{'C', NULL, "CPUs are chosen by --cpu"},
	{'t', NULL, "threads are chosen by --tid with -a, or by --thread"},
	{'u', NULL, "users are chosen by --uid with -a"},
	{'G', NULL, "control groups are chosen by --cgroup with -a"},
	{'m', "mmap-pages", "the size of buffers is set by --ring-size"},
};

static const struct {
	const char *name, *text;
} perf_commands[] = {
	{"annotate", "for the lines of a function, run: prof report --annotate NAME"},
	{"stat", "to sample an event, run: prof record -e EVENT -- COMMAND"},
	{"list", "for a list of events, run: man prof-events"},
};

/* True if a shell would find a program of that name. */
static bool is_program(const char *word)
{
	_cleanup_free_ char *dirs = NULL;
	const char *path = getenv("PATH");
	char *rest, *dir;

	if (strchr(word, '/'))
		return access(word, X_OK) == 0;
	rest = dirs = xstrdup(path ? path : "/usr/bin:/bin");
	while ((dir = strsep(&rest, ":"))) {
		_cleanup_free_ char *file = xasprintf("%s/%s", *dir ? dir : ".", word);

		if (access(file, X_OK) == 0)
			return true;
	}
	return false;
}

void hint_unknown_command(struct error *err, const char *word, const char *const *names,
			  size_t count)
{
	const char *nearest = near_miss(word, names, count);

	for (size_t i = 0; i < sizeof(perf_commands) / sizeof(perf_commands[0]); i++) {
		if (strcmp(word, perf_commands[i].name) != 0)
			continue;
		error_text(err, -EINVAL, "unknown command '%s': %s", word, perf_commands[i].text);
		return;
	}
	if (nearest)
		error_text(err, -EINVAL, "unknown command '%s': did you mean '%s'?", word, nearest);
	else if (*word && is_program(word))
		error_text(err, -EINVAL,
			   "unknown command '%s': to record it, run: prof record -- %s", word,
			   word);
	else
		error_text(err, -EINVAL, "unknown command '%s'", word);
}

static bool has_option(const struct option *longs, const char *name)
{
	for (; longs->name; longs++) {
		if (strcmp(longs->name, name) == 0)
			return true;
	}
	return false;
}

static const char *perf_hint(int letter, const char *name)
{
	for (size_t i = 0; i < sizeof(perf_options) / sizeof(perf_options[0]); i++) {
		const char *other = perf_options[i].name;

		if (letter ? perf_options[i].letter == letter : other && strcmp(name, other) == 0)
			return perf_options[i].text;
	}
	return NULL;
}

/* Reports "--no: --no-symbols or --no-children" if the name is ambiguous. */
static bool say_ambiguous(struct error *err, const char *name, const struct option *longs)
{
	_cleanup_(strbuf_release) struct strbuf list = {0};
	unsigned int count = 0;

	for (; longs->name; longs++) {
		if (strncmp(longs->name, name, strlen(name)) != 0)
			continue;
		count++;
		strbuf_addf(&list, "%s--%s", list.size ? ", " : "", longs->name);
	}
	if (count < 2 || !*name)
		return false;
	error_text(err, -EINVAL, "--%s is ambiguous: %s", name, strbuf_text(&list));
	return true;
}

void hint_unknown_option(struct error *err, int letter, const char *word,
			 const struct option *longs)
{
	_cleanup_free_ char *name = NULL;
	const char *names[OPTIONS_MAX], *found;
	size_t count = 0;

	if (strncmp(word, "--", 2) == 0)
		word += 2;
	name = letter ? xasprintf("-%c", letter) : xstrndup(word, strcspn(word, "="));
	found = has_option(longs, "unwind") ? perf_hint(letter, name) : NULL;
	if (found) {
		error_text(err, -EINVAL, "unknown option %s%s: %s", letter ? "" : "--", name,
			   found);
		return;
	}
	if (letter) {
		error_text(err, -EINVAL, "unknown option %s", name);
		return;
	}
	if (say_ambiguous(err, name, longs))
		return;
	for (const struct option *it = longs; it->name && count < OPTIONS_MAX; it++)
		names[count++] = it->name;
	found = near_miss(name, names, count);
	if (found)
		error_text(err, -EINVAL, "unknown option --%s: did you mean --%s?", name, found);
	else
		error_text(err, -EINVAL, "unknown option --%s", name);
}
