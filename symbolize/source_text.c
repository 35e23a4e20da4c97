/* SPDX-License-Identifier: MIT */
#include "symbolize/source_text.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/fsuid.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/alloc.h"
#include "lib/base/cleanup.h"
#include "lib/base/text.h"

/* Links on the way to a file. */
#define LINKS_MAX 16

/* Endings for compiled languages, and those whose interpreters tell a profiler their place. */
static const char *const endings[] = {
	"ada", "adb", "ads", "asm", "bas", "c",	   "c++", "cc",	   "cjs",    "clj",   "cpp", "cr",
	"cs",  "cu",  "cuh", "cxx", "d",   "def",  "erl", "ex",	   "exs",    "f",     "f03", "f08",
	"f77", "f90", "f95", "for", "fs",  "go",   "h",	  "h++",   "hh",     "hpp",   "hs",  "hxx",
	"inc", "inl", "ino", "ipp", "ixx", "jl",   "js",  "jsx",   "java",   "kt",    "l",   "ll",
	"lua", "m",   "mjs", "ml",  "mli", "mm",   "nim", "pas",   "php",    "pl",    "pm",  "pp",
	"py",  "pyx", "rb",  "re",  "rs",  "s",	   "sx",  "scala", "svelte", "swift", "tbl", "tcc",
	"tpp", "ts",  "tsx", "txx", "v",   "vala", "vue", "y",	   "yy",     "zig",
};

static const char *const outcome_texts[SOURCE_OUTCOME_COUNT] = {
	[SOURCE_MISSING] = "not here",
	[SOURCE_FORBIDDEN] = "not readable",
	[SOURCE_NOT_THEIRS] = "not readable by the users who ran it",
	[SOURCE_NO_CODE] = "no source code",
	[SOURCE_TOO_LARGE] = "too large",
	[SOURCE_NO_ROOM] = "beyond the limit of all",
	[SOURCE_SILENT] = "on a file system that does not answer",
};

bool source_texts_is_code(const char *path)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	const char *ending = strrchr(name, '.'), *folder = NULL;

	/* Headers of the C++ standard library have no ending. ".." could lead elsewhere. */
	if (!ending) {
		for (const char *next; (next = strstr(path, "/include/")); path = next + 8)
			folder = next + 8;
		return folder && !strstr(folder, "/../");
	}
	for (size_t i = 0; i < sizeof(endings) / sizeof(*endings); i++) {
		if (strcasecmp(ending + 1, endings[i]) == 0)
			return true;
	}
	return false;
}

static int64_t modified_ns(const struct stat *st)
{
	return st->st_mtim.tv_sec * 1000000000ll + st->st_mtim.tv_nsec;
}

const char *source_outcome_text(enum source_outcome outcome)
{
	return outcome_texts[outcome];
}

static bool is_of_kernel(const char *path)
{
	static const char *const folders[] = {"/proc/", "/sys/", "/dev/"};

	for (size_t i = 0; i < sizeof(folders) / sizeof(*folders); i++) {
		if (text_starts_with(path, folders[i]))
			return true;
	}
	return false;
}

static bool may_lead(const struct readers *readers, const struct stat *link)
{
	if (!link->st_uid || link->st_uid == (uid_t)setfsuid((uid_t)-1))
		return true;
	for (size_t i = 0; readers && i < readers->rows.count; i++) {
		if (link->st_uid == readers->rows.items[i].uid)
			return true;
	}
	return false;
}

/*
 * Replaces the first link in an absolute path by what it leads to. Returns NULL if there is none,
 * or if its owner could lead us anywhere; *is_path says which.
 */
static char *follow_link(const struct readers *readers, const char *path, bool *is_path)
{
	_cleanup_free_ char *part = xstrdup(path);
	char target[PATH_MAX];

	*is_path = true;
	for (size_t end = 1; part[end - 1]; end++) {
		struct stat st;
		ssize_t size;
		size_t folder = end;

		if (path[end] && path[end] != '/')
			continue;
		part[end] = '\0';
		if (lstat(part, &st) == 0 && S_ISLNK(st.st_mode)) {
			size = readlink(part, target, sizeof(target) - 1);
			*is_path = size > 0 && may_lead(readers, &st);
			if (!*is_path)
				return NULL;
			target[size] = '\0';
			while (part[folder - 1] != '/')
				folder--;
			return xasprintf("%.*s%s%s", *target == '/' ? 0 : (int)folder, part, target,
					 path + end);
		}
		part[end] = path[end];
	}
	return NULL;
}

/* Follows all links of a path, so that what is opened has none. NULL: it leads astray. */
static char *resolve(const struct readers *readers, const char *path)
{
	char *at = xstrdup(path);

	for (unsigned int links = 0; links < LINKS_MAX; links++) {
		bool is_path = false;
		char *next = is_of_kernel(at) ? NULL : follow_link(readers, at, &is_path);

		if (!next && is_path)
			return at;
		free(at);
		at = next;
		if (!at)
			return NULL;
	}
	free(at);
	return NULL;
}

enum source_outcome source_text_read_at(const struct readers *readers, int root, const char *path,
					uint64_t max, struct source_text *source)
{
	_cleanup_close_ int fd = -1;
	struct stat st;

	if (*path != '/')
		return SOURCE_MISSING;
	if (!source_texts_is_code(path))
		return SOURCE_NO_CODE;
	fd = readers_open(readers, root, path);
	if (fd == READERS_REFUSED)
		return SOURCE_NOT_THEIRS;
	if (fd == -EACCES || fd == -EPERM)
		return SOURCE_FORBIDDEN;
	if (fd < 0 || fstat(fd, &st))
		return SOURCE_MISSING;
	if ((uint64_t)st.st_size > max)
		return SOURCE_TOO_LARGE;
	/* Read no more than this size even if the file grows meanwhile. */
	source->text = text_read_fd(fd, (size_t)st.st_size, &source->size);
	source->modified_ns = modified_ns(&st);
	if (!source->text)
		return SOURCE_MISSING;
	if (!memchr(source->text, '\0', source->size))
		return SOURCE_TAKEN;
	free(steal(source->text));
	return SOURCE_NO_CODE;
}

enum source_outcome source_text_read(const struct readers *readers, const char *path, uint64_t max,
				     struct source_text *source)
{
	_cleanup_free_ char *resolved = NULL;

	if (*path != '/')
		return SOURCE_MISSING;
	if (!source_texts_is_code(path))
		return SOURCE_NO_CODE;
	resolved = resolve(readers, path);
	return resolved ? source_text_read_at(readers, 0, resolved, max, source) : SOURCE_FORBIDDEN;
}
