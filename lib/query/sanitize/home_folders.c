/* SPDX-License-Identifier: MIT */
#include "lib/query/sanitize/home_folders.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "lib/base/alloc.h"
#include "lib/query/sanitize/path_text.h"

/* Folders whose next part is a user's name. */
static const char *const parents[] = {"/home/", "/Users/", "/var/home/", "/export/home/",
				      "/usr/home/"};
/* Folders in these with those of the users of one kind, or of one domain. */
static const char *const groups[] = {"users", "staff",	"students", "people",
				     "nfs",   "domain", "domains"};
/* Folders with one for each domain. */
static const char *const joined[] = {"local", "likewise-open", "pbis"};
/* Ends of domains that no user's name has. */
static const char *const suffixes[] = {".com",	".org",	 ".net",  ".edu",  ".gov",	".local",
				       ".lan",	".corp", ".priv", ".int",  ".internal", ".intra",
				       ".home", ".ad",	 ".test", ".arpa", ".example"};

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

void home_folders_release(struct home_folders *h)
{
	vec_for_each(&h->rows, char **, home)
		free(*home);
	vec_release(&h->rows);
	vec_for_each(&h->groups, char **, group)
		free(*group);
	vec_release(&h->groups);
}

static bool is_one_of(const char *text, size_t size, const char *const *list, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (strlen(list[i]) == size && memcmp(list[i], text, size) == 0)
			return true;
	}
	return false;
}

static bool is_domain(const char *name, size_t size)
{
	size_t upper = 0;

	if (memchr(name, '@', size))
		return false;
	for (size_t i = 0; i < COUNT_OF(suffixes); i++) {
		size_t length = strlen(suffixes[i]);

		if (size > length && strncasecmp(name + size - length, suffixes[i], length) == 0)
			return true;
	}
	/* Upper case is Windows'; useradd refuses it. */
	for (size_t i = 0; i < size; i++) {
		if (islower((unsigned char)name[i]))
			return false;
		upper += isupper((unsigned char)name[i]) != 0;
	}
	return upper > 1;
}

static bool is_group(const struct home_folders *h, const char *name, size_t size)
{
	vec_for_each(&h->groups, char *const *, group) {
		if (strlen(*group) == size && memcmp(*group, name, size) == 0)
			return true;
	}
	return is_one_of(name, size, groups, COUNT_OF(groups)) || is_domain(name, size);
}

static size_t part_end(const char *path, size_t size, size_t at)
{
	while (at < size && path[at] != '/')
		at++;
	return at;
}

/* Returns the end of the next part if there is one, else `at`. */
static size_t next_part(const char *path, size_t size, size_t at)
{
	size_t start = at;

	while (start < size && path[start] == '/')
		start++;
	return start < size ? part_end(path, size, start) : at;
}

static size_t usual_size(const struct home_folders *h, const char *path, size_t size, size_t start)
{
	size_t end = part_end(path, size, start), group = start;

	if (end == start)
		return 0;
	if (is_one_of(path + start, end - start, joined, COUNT_OF(joined))) {
		size_t domain = next_part(path, size, end);

		/* A user may have such a name, and a domain has folders of users. */
		if (domain == size || domain == end)
			return end;
		return next_part(path, size, domain);
	}
	if (is_group(h, path + group, end - group))
		end = next_part(path, size, end);
	return end;
}

size_t home_folders_size(const struct home_folders *h, const char *path, size_t size)
{
	vec_for_each(&h->rows, char *const *, home) {
		size_t length = strlen(*home);

		if (path_begins_with(path, size, *home) && path_is_name_end(path, size, length))
			return length;
	}
	if (path_begins_with(path, size, "/root") && path_is_name_end(path, size, 5))
		return 5;
	for (size_t i = 0; i < COUNT_OF(parents); i++) {
		if (path_begins_with(path, size, parents[i]))
			return usual_size(h, path, size, strlen(parents[i]));
	}
	return 0;
}

size_t home_folders_last_end(const struct home_folders *h, const char *path, size_t size)
{
	size_t end = 0;

	for (size_t at = 0; at < size; at++) {
		size_t home = path[at] == '/' ? home_folders_size(h, path + at, size - at) : 0;

		if (home)
			end = at + home;
	}
	return end;
}

static size_t parent_size(const char *path, size_t size)
{
	for (size_t i = 0; i < COUNT_OF(parents); i++) {
		if (path_begins_with(path, size, parents[i]))
			return strlen(parents[i]);
	}
	return 0;
}

void home_folders_add(struct home_folders *h, const char *path, size_t size)
{
	size_t group = parent_size(path, size), end;

	vec_push(&h->rows, xstrndup(path, size));
	if (!group)
		return;
	end = part_end(path, size, group);
	if (end < size && end > group)
		vec_push(&h->groups, xstrndup(path + group, end - group));
}

size_t home_folders_owner_start(const char *path, size_t size)
{
	size_t start = parent_size(path, size);

	if (start)
		return start;
	for (start = size; start && path[start - 1] != '/';)
		start--;
	return start;
}
