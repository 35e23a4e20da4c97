/* SPDX-License-Identifier: MIT */
#include "lib/live/machine/tracefs.h"

#include <glob.h>

#define NAMES_MAX (4u << 20)
#define ID_FILE_MAX 32
#define FORMAT_FILE_MAX 65536

bool tracefs_is_name(const char *name)
{
	size_t colons = 0;

	for (const char *at = name; *at; at++) {
		if (*at == ':')
			colons++;
		else if (!isalnum((unsigned char)*at) && *at != '_' && *at != '-')
			return false;
	}
	return *name && *name != ':' && name[strlen(name) - 1] != ':' && colons <= 1;
}

/* Returns the folder of events; NULL with err if it is unreadable. */
static const char *find_events(struct error *err)
{
	static const char *const paths[] = {
		"/sys/kernel/tracing/events",
		"/sys/kernel/debug/tracing/events",
	};
	int code = -ENOENT;

	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
		/* Check with prof's current privileges: access() ignores its capabilities. */
		if (faccessat(AT_FDCWD, paths[i], R_OK | X_OK, AT_EACCESS) == 0)
			return paths[i];
		if (errno != ENOENT)
			code = -errno;
	}
	if (code == -ENOENT) {
		error_text(err, code, "tracepoints need tracefs, which is not mounted");
		error_hint(err, "run: mount -t tracefs tracefs /sys/kernel/tracing");
	} else {
		error_set(err, code, "cannot read %s", paths[0]);
		error_hint(err, "run prof as root");
	}
	return NULL;
}

static int refuse_unknown(const char *events, const char *name, struct error *err)
{
	const char *colon = strchr(name, ':');
	int category_size = colon ? (int)(colon - name) : 1;

	error_text(err, -ENOENT, "%s: this kernel has no such tracepoint", name);
	error_hint(err, "to list tracepoints, run: ls %s/%.*s", events, category_size,
		   colon ? name : "*");
	return -ENOENT;
}

/* Returns "CATEGORY" from ".../events/CATEGORY/NAME/id". */
static char *category_of(const char *events, const char *path)
{
	const char *start = path + strlen(events) + 1;

	return xstrndup(start, strcspn(start, "/"));
}

/* Adds the category to the name. Returns -ENOTUNIQ if several categories have that name. */
static int complete(char *name, size_t size, const char *events, const glob_t *found,
		    struct error *err)
{
	_cleanup_free_ char *category = category_of(events, found->gl_pathv[0]);
	_cleanup_free_ char *full = xasprintf("%s:%s", category, name);

	if (found->gl_pathc > 1) {
		_cleanup_free_ char *other = category_of(events, found->gl_pathv[1]);

		return error_text(err, -ENOTUNIQ, "%s: ambiguous: use %s:%s or %s:%s", name,
				  category, name, other, name);
	}
	if (strlen(full) >= size)
		return error_text(err, -ENAMETOOLONG, "%s: the name is too long", full);
	strcpy(name, full);
	return 0;
}

static int read_id(const char *path, const char *name, uint64_t *id, struct error *err)
{
	_cleanup_free_ char *text = text_read_file(path, ID_FILE_MAX, NULL);

	if (!text)
		return error_set(err, -errno, "cannot read %s", path);
	text[strcspn(text, "\n")] = '\0';
	if (!text_to_u64(text, 10, id))
		return error_text(err, -EINVAL, "%s: %s has no number", name, path);
	return 0;
}

int tracefs_find(char *name, size_t size, uint64_t *id, struct error *err)
{
	const char *events = find_events(err), *colon = strchr(name, ':');
	_cleanup_free_ char *pattern = NULL;
	glob_t found = {0};
	int ret;

	if (!events)
		return err ? err->code : -ENOENT;
	/* Names contain no characters that are special in a pattern or path. */
	if (colon)
		pattern = xasprintf("%s/%.*s/%s/id", events, (int)(colon - name), name, colon + 1);
	else
		pattern = xasprintf("%s/*/%s/id", events, name);
	if (glob(pattern, 0, NULL, &found) == 0)
		ret = colon ? 0 : complete(name, size, events, &found, err);
	else
		ret = refuse_unknown(events, name, err);
	if (!ret)
		ret = read_id(found.gl_pathv[0], name, id, err);
	globfree(&found);
	return ret;
}

char *tracefs_read_format(const char *name, size_t *size, struct error *err)
{
	const char *events = find_events(err), *colon = strchr(name, ':');
	_cleanup_free_ char *path = NULL;
	char *text;

	if (!events)
		return NULL;
	path = xasprintf("%s/%.*s/%s/format", events, (int)strcspn(name, ":"), name,
			 colon ? colon + 1 : "");
	text = text_read_file(path, FORMAT_FILE_MAX, size);
	if (!text)
		error_set(err, -errno, "cannot read %s", path);
	return text;
}

char *tracefs_read_names(void)
{
	const char *events = find_events(NULL);
	_cleanup_free_ char *path = events ? xasprintf("%s/../available_events", events) : NULL;

	return path ? text_read_file(path, NAMES_MAX, NULL) : NULL;
}
