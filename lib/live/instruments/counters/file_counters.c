/* SPDX-License-Identifier: MIT */
#include "lib/live/instruments/counters/file_counters.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/alloc.h"
#include "lib/base/identity.h"
#include "lib/base/open_regular.h"
#include "lib/base/text.h"

/* Numbers further on are not found. */
#define TEXT_MAX 65536

static void release(struct file_counter *row)
{
	free(row->name);
	free(row->path);
	free(row->key);
	free(row->unit);
	if (row->fd >= 0)
		close(row->fd);
}

/*
 * Cuts the path at the last `c` in its last component. Returns what follows it, NULL if it does not
 * occur.
 */
static char *cut_at(char *path, char c)
{
	char *at = strrchr(path, c);

	if (!at || strchr(at, '/'))
		return NULL;
	*at++ = '\0';
	return at;
}

static bool parse(const char *value, struct file_counter *row)
{
	const char *equals = strchr(value, '=');
	char *extra, *key;

	*row = (struct file_counter){.fd = -1, .graph = COUNTER_LEVEL};
	if (!equals || equals == value)
		return false;
	row->name = xstrndup(value, (size_t)(equals - value));
	row->path = xstrdup(equals + 1);
	/* From the end: at most a unit and a word before. */
	for (int i = 0; i < 2 && (extra = cut_at(row->path, ',')); i++) {
		if (strcmp(extra, "rate") == 0) {
			row->graph = COUNTER_RATE;
		} else if (strcmp(extra, "level") != 0) {
			free(row->unit);
			row->unit = xstrdup(extra);
		}
	}
	key = cut_at(row->path, ':');
	if (key)
		row->key = xstrdup(key);
	if (!row->unit)
		row->unit = xstrdup("");
	return row->path[0] && (!row->key || row->key[0]);
}

int file_counter_add(struct file_counter_settings *s, const char *value, struct error *err)
{
	struct file_counter row;
	bool is_valid = parse(value, &row);

	release(&row);
	if (!is_valid)
		return error_text(err, -EINVAL,
				  "--counter %s: expected NAME=FILE[:KEY][,rate|level][,UNIT]",
				  value);
	if (s->count == FILE_COUNTERS_MAX)
		return error_text(err, -EINVAL, "--counter %s: at most %d are recorded", value,
				  FILE_COUNTERS_MAX);
	s->values[s->count++] = value;
	return 0;
}

/* Finds the text after the key: a line's first word, which a ':' or '=' may end. */
static const char *find_key(const char *text, const char *key)
{
	size_t size = strlen(key);

	for (const char *at = text; at; at = strchr(at, '\n')) {
		at += *at == '\n';
		at += strspn(at, " \t");
		if (strncmp(at, key, size) == 0 && at[size] && strchr(" \t:=", at[size]))
			return at + size;
	}
	return NULL;
}

/* Reads the first number of a text, or of a line if it has a key. "kB" after it is a unit. */
static bool find_number(const char *text, bool is_line, int64_t *value)
{
	const char *at = text;
	double number;
	char *end;

	while (*at && !isdigit((unsigned char)*at) && !(is_line && *at == '\n'))
		at++;
	if (!isdigit((unsigned char)*at))
		return false;
	if (at > text && at[-1] == '-')
		at--;
	number = strtod(at, &end);
	if (strncmp(end, " kB", 3) == 0)
		number *= 1024;
	if (!(fabs(number) < 9e18))
		return false;
	*value = (int64_t)llround(number);
	return true;
}

static bool read_row(const struct file_counter *row, int64_t *value)
{
	char *text = xmalloc(TEXT_MAX);
	size_t filled = 0;
	ssize_t size = 1;
	const char *at;
	bool is_found;

	while (size > 0 && filled < TEXT_MAX - 1) {
		size = pread(row->fd, text + filled, TEXT_MAX - 1 - filled, (off_t)filled);
		filled += size > 0 ? (size_t)size : 0;
	}
	text[filled] = '\0';
	at = row->key ? find_key(text, row->key) : text;
	is_found = at && find_number(at, row->key, value);
	free(text);
	return is_found;
}

static int open_row(struct file_counter *row, const char *value, struct error *err)
{
	int64_t number;

	row->fd = open_regular(row->path);
	if (row->fd == -ENXIO)
		return error_text(err, -EINVAL, "--counter %s: %s is not a file that can be read",
				  value, row->path);
	if (row->fd < 0)
		return error_set(err, row->fd, "--counter %s: cannot open %s", value, row->path);
	if (!read_row(row, &number))
		return error_text(err, -EINVAL, "--counter %s: no number%s%s in %s", value,
				  row->key ? " behind " : "", row->key ? row->key : "", row->path);
	return 0;
}

int file_counters_open(struct file_counters *f, const struct file_counter_settings *settings,
		       struct error *err)
{
	struct identity invoker = identity_of_invoker();
	struct identity before = identity_assume_all(&invoker);
	int code = before.failure;

	if (code)
		error_set(err, code, "cannot open the files of counters as the invoking user");
	while (!code && f->count < settings->count) {
		struct file_counter *row = &f->rows[f->count];
		const char *value = settings->values[f->count++];

		parse(value, row);
		code = open_row(row, value, err);
	}
	identity_restore_files(&before);
	return code;
}

void file_counters_close(struct file_counters *f)
{
	for (size_t i = 0; i < f->count; i++)
		release(&f->rows[i]);
	f->count = 0;
}

void file_counters_read(struct file_counters *f, struct counter_values *t, uint64_t now)
{
	struct identity invoker, before;

	if (!f->count)
		return;
	invoker = identity_of_invoker();
	before = identity_assume_all(&invoker);
	for (size_t i = 0; i < f->count; i++) {
		struct file_counter *row = &f->rows[i];
		const struct counter_schema text = {row->name, "Other", row->path,
						    row->unit, "ink",	row->graph};
		int64_t value;

		if (!before.failure && read_row(row, &value))
			counter_values_send(t, &row->counter, &text, 0, value, now);
		else
			f->missing++;
	}
	identity_restore_files(&before);
}
