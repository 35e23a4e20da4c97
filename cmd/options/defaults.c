/* SPDX-License-Identifier: MIT */
#include "cmd/options/defaults.h"

#include <pwd.h>
#include <sys/auxv.h>

#include "lib/base/identity.h"

#define SYSTEM_FILE "/etc/prof.conf"
#define FILE_MAX ((size_t)1 << 20)
#define VARIABLE "PROF_OPTIONS"

/* Source of a default. */
struct origin {
	const char *file; /* file name, or variable */
	unsigned int line; /* line number; 0: none */
	unsigned int weight;
	bool is_callers; /* given by a caller with fewer rights: only plain options apply */
};

struct reading {
	struct defaults *defaults;
	struct option_table *table;
	const char *command, *others;
	is_command_fn *is_command;
	struct origin origin;
	bool is_within; /* a section has begun */
	bool is_meant, is_others; /* the section is that of the command, or of `others` */
};

void defaults_release(struct defaults *d)
{
	vec_for_each(&d->rows, struct default_option *, row) {
		free(row->name);
		free(row->value);
		free(row->origin);
		free(row->left_out);
	}
	vec_for_each(&d->sources, char **, source)
		free(*source);
	vec_release(&d->rows);
	vec_release(&d->sources);
}

static char *describe(const struct origin *o)
{
	return o->line ? xasprintf("%s:%u", o->file, o->line) : xstrdup(o->file);
}

static int fail(const struct origin *o, struct error *err)
{
	_cleanup_free_ char *origin = describe(o);

	error_wrap(err, "%s", origin);
	return -EINVAL;
}

static void leave_out(struct default_option *row, const char *why)
{
	free(row->left_out);
	row->left_out = xstrdup(why);
}

/* Removes values from sources of lower precedence. Repeated options of one source accumulate. */
static void replace(const struct reading *r, const char *name)
{
	_cleanup_free_ char *why = xasprintf("replaced by %s", r->origin.file);

	vec_for_each(&r->defaults->rows, struct default_option *, row) {
		if (strcmp(row->name, name) == 0 && !row->left_out &&
		    row->weight < r->origin.weight)
			leave_out(row, why);
	}
}

static void add(struct reading *r, const struct option_row *row, const char *value)
{
	struct default_option option = {
		.name = xstrdup(row->name),
		.value = value ? xstrdup(value) : NULL,
		.origin = describe(&r->origin),
		.weight = r->origin.weight,
	};

	if (r->origin.is_callers && !option_is_plain(row))
		option.left_out = xstrdup("ignored from a caller with fewer rights");
	else
		replace(r, row->name);
	vec_push(&r->defaults->rows, option);
}

static bool is_one_of(const char *word, const char *const *words)
{
	while (*words && strcasecmp(word, *words) != 0)
		words++;
	return *words;
}

static int take_option(struct reading *r, const char *name, const char *value, struct error *err)
{
	static const char *const yes[] = {"yes", "true", "on", "1", NULL};
	static const char *const no[] = {"no", "false", "off", "0", NULL};
	const struct option_row *row = option_table_find(r->table, name);

	if (!row && r->is_others)
		return 0;
	if (!row)
		return error_text(err, -EINVAL, "prof %s has no option --%s", r->command, name);
	if (row->argument) {
		if (!value && *row->argument != '[')
			return error_text(err, -EINVAL, "%s: a value is missing", name);
		add(r, row, value);
		return 0;
	}
	if (value && is_one_of(value, no)) {
		add(r, row, NULL);
		if (!vec_last(&r->defaults->rows).left_out)
			leave_out(&vec_last(&r->defaults->rows), "switched off");
		return 0;
	}
	if (value && !is_one_of(value, yes))
		return error_text(err, -EINVAL, "%s: must be yes or no", name);
	add(r, row, NULL);
	return 0;
}

static char *trim(char *text)
{
	size_t size;

	while (isspace((unsigned char)*text))
		text++;
	size = strlen(text);
	while (size && isspace((unsigned char)text[size - 1]))
		text[--size] = '\0';
	return text;
}

static int take_section(struct reading *r, char *line, struct error *err)
{
	char *end = strchr(line, ']');

	if (!end || end[1])
		return error_text(err, -EINVAL, "a section must be [COMMAND]");
	*end = '\0';
	if (!r->is_command(line + 1))
		return error_text(err, -EINVAL, "[%s]: no such command", line + 1);
	r->is_others = r->others && strcmp(line + 1, r->others) == 0;
	r->is_meant = r->is_others || strcmp(line + 1, r->command) == 0;
	r->is_within = true;
	return 0;
}

static int take_line(struct reading *r, char *line, struct error *err)
{
	char *value;

	line = trim(line);
	if (!*line || *line == '#')
		return 0;
	if (*line == '[')
		return take_section(r, line, err);
	value = strchr(line, '=');
	if (value)
		*value++ = '\0';
	line = trim(line);
	if (!*line || strpbrk(line, " \t"))
		return error_text(err, -EINVAL, "a line must be \"option = value\"");
	if (*line == '-')
		return error_text(err, -EINVAL, "%s: write options without dashes", line);
	if (!r->is_within)
		return error_text(err, -EINVAL, "%s: belongs to a section, such as [record]", line);
	return r->is_meant ? take_option(r, line, value ? trim(value) : NULL, err) : 0;
}

static int take_text(struct reading *r, char *text, struct error *err)
{
	char *line;

	r->is_within = r->is_meant = r->is_others = false;
	r->origin.line = 0;
	while ((line = strsep(&text, "\n"))) {
		r->origin.line++;
		if (take_line(r, line, err))
			return fail(&r->origin, err);
	}
	return 0;
}

/* Returns the text of a file. NULL if the file is skipped; the reason goes to `sources`. */
static char *read_file(struct defaults *d, const char *path, bool needs_root)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	const char *why = NULL;
	char *text = NULL;
	struct stat st;
	size_t size;

	if (fd < 0 || fstat(fd, &st))
		why = errno == ENOENT ? "no such file" : strerror(errno);
	else if (!S_ISREG(st.st_mode))
		why = "not a regular file";
	else if (needs_root && (st.st_uid != 0 || st.st_mode & (S_IWGRP | S_IWOTH)))
		why = "ignored: users other than root may write it";
	else if (!(text = text_read_fd(fd, FILE_MAX, &size)))
		why = "cannot be read";
	else if (strlen(text) != size)
		why = "not a text";
	if (why && fd >= 0)
		log_warn("%s: %s", path, why);
	vec_push(&d->sources, why ? xasprintf("%s: %s", path, why) : xstrdup(path));
	if (why)
		free(steal(text));
	return text;
}

/* True if this process has more rights than its caller. */
static bool is_raised(const struct identity *owner)
{
	return !owner->is_self || getauxval(AT_SECURE);
}

/* Returns the path in the owner's home, which the caller frees; NULL without a home. */
static char *own_path(const struct identity *owner)
{
	const char *config = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");
	const struct passwd *entry = is_raised(owner) ? getpwuid(owner->uid) : NULL;

	if (is_raised(owner))
		return entry && entry->pw_dir ? xasprintf("%s/.config/prof/config", entry->pw_dir)
					      : NULL;
	if (config && *config == '/')
		return xasprintf("%s/prof/config", config);
	return home && *home == '/' ? xasprintf("%s/.config/prof/config", home) : NULL;
}

static int take_file(struct reading *r, const char *path, bool needs_root, struct error *err)
{
	_cleanup_free_ char *text = read_file(r->defaults, path, needs_root);

	r->origin.file = path;
	return text ? take_text(r, text, err) : 0;
}

static int take_own_file(struct reading *r, const struct identity *owner, struct error *err)
{
	_cleanup_free_ char *path = own_path(owner);
	struct identity before = identity_assume_files(owner);
	int ret = path && !before.failure ? take_file(r, path, false, err) : 0;

	identity_restore_files(&before);
	return ret;
}

/*
 * Cuts the next word from the text by a shell's quoting rules. Returns NULL at the end, or if err
 * is set.
 */
static char *next_word(char **text, struct error *err)
{
	char *in = *text, *out, *word, quote = '\0';

	while (isspace((unsigned char)*in))
		in++;
	if (!*in)
		return NULL;
	word = out = in;
	for (; *in && (quote || !isspace((unsigned char)*in)); in++) {
		if (quote ? *in == quote : *in == '\'' || *in == '"')
			quote = quote ? '\0' : *in;
		else if (*in == '\\' && quote != '\'' && in[1])
			*out++ = *++in;
		else
			*out++ = *in;
	}
	if (quote) {
		error_text(err, -EINVAL, "a quotation mark is missing");
		return NULL;
	}
	*text = in + (*in != '\0');
	*out = '\0';
	return word;
}

static int take_word(void *ctx, const struct option_row *row, const char *value)
{
	struct reading *r = ctx;

	add(r, row, value);
	return 0;
}

static int take_variable(struct reading *r, const char *value, struct error *err)
{
	_cleanup_free_ char *copy = xstrdup(value);
	char command[] = VARIABLE, *text = copy, *word;
	VEC(char *) words = {0};
	int ret = 0, count, taken;

	vec_push(&words, command);
	while ((word = next_word(&text, err)))
		vec_push(&words, word);
	ret = err->code;
	count = (int)words.count;
	vec_push(&words, NULL);
	if (!ret)
		ret = option_table_scan(r->table, count, words.items, take_word, r, &taken, err);
	if (!ret && taken < count)
		ret = error_text(err, -EINVAL, "%s: not an option", words.items[taken]);
	vec_release(&words);
	return ret ? fail(&r->origin, err) : 0;
}

int defaults_read(struct defaults *d, const char *command, const char *others,
		  struct option_table *table, is_command_fn *is_command, struct error *err)
{
	const struct identity owner = identity_of_invoker();
	const char *variable = getenv(VARIABLE);
	struct reading r = {
		.defaults = d,
		.table = table,
		.command = command,
		.others = others,
		.is_command = is_command,
	};
	bool records = others || strcmp(command, "record") == 0;
	int ret = take_file(&r, SYSTEM_FILE, true, err);

	r.origin.is_callers = is_raised(&owner);
	r.origin.weight = 1;
	if (!ret)
		ret = take_own_file(&r, &owner, err);
	vec_push(&d->sources, xasprintf("%s%s", VARIABLE, variable ? "" : ": not set"));
	r.origin.file = VARIABLE;
	r.origin.line = 0;
	r.origin.weight = 2;
	if (!ret && variable && records)
		ret = take_variable(&r, variable, err);
	return ret;
}

/* True for pairs not covered by a rule: two ways to express the same. */
static bool excludes(const char *one, const char *other)
{
	static const char *const pairs[][2] = {
		{"frequency", "interval"},
		{"off-cpu", "no-off-cpu"},
	};

	return array_find(pairs, it,
			  (strcmp(one, (*it)[0]) == 0 && strcmp(other, (*it)[1]) == 0) ||
				  (strcmp(one, (*it)[1]) == 0 && strcmp(other, (*it)[0]) == 0));
}

struct fitting {
	struct defaults *defaults;
	const struct option_table *table;
};

static int fit_word(void *ctx, const struct option_row *row, const char *value)
{
	const struct fitting *f = ctx;

	vec_for_each(&f->defaults->rows, struct default_option *, option) {
		if (option->left_out)
			continue;
		if (strcmp(option->name, row->name) == 0)
			leave_out(option, "replaced by the command line");
		else if (excludes(option->name, row->name) ||
			 option_table_excludes(f->table, option->name, row->name))
			leave_out(option, "conflicts with the command line");
	}
	return 0;
}

void defaults_fit(struct defaults *d, struct option_table *table, int argc, char **argv)
{
	struct fitting f = {d, table};
	struct error err = {0};
	int taken;

	/* A wrong word is reported later. */
	option_table_scan(table, argc, argv, fit_word, &f, &taken, &err);
	vec_for_each(&d->rows, const struct default_option *, option) {
		if (!option->left_out)
			option_table_give(table, option->name);
	}
	vec_for_each(&d->rows, struct default_option *, option) {
		if (!option->left_out && option_table_lacks(table, option->name))
			leave_out(option, "needs another option");
		if (option->left_out && strcmp(option->left_out, "switched off") != 0)
			log_debug("%s: %s: %s", option->origin, option->name, option->left_out);
	}
}

/* Words in the current command line that are defaults, and their origins. */
static struct {
	char **words;
	const struct defaults *defaults;
} current;

char **defaults_expand(const struct defaults *d, int *argc, char **argv)
{
	char **words = xcalloc(d->rows.count + (size_t)*argc + 1, sizeof(*words));
	size_t count = 0;

	words[count++] = argv[0];
	vec_for_each(&d->rows, const struct default_option *, row) {
		if (!row->left_out)
			words[count++] = row->value ? xasprintf("--%s=%s", row->name, row->value)
						    : xasprintf("--%s", row->name);
	}
	for (int i = 1; i < *argc; i++)
		words[count++] = argv[i];
	*argc = (int)count;
	current.words = words;
	current.defaults = d;
	return words;
}

void defaults_blame(const char *word, struct error *err)
{
	char **at = current.words;

	if (!at)
		return;
	vec_for_each(&current.defaults->rows, const struct default_option *, row) {
		if (!row->left_out && *++at == word)
			error_wrap(err, "%s", row->origin);
	}
}
