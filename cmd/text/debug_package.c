/* SPDX-License-Identifier: MIT */
#include "cmd/text/debug_package.h"

#include <dirent.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "lib/base/cleanup.h"
#include "lib/base/clock.h"
#include "lib/base/strbuf.h"
#include "lib/base/text.h"

#define SMALL_FILE_MAX 65536
#define LIST_MAX ((size_t)16 << 20)
/* Reading the package lists of a machine with some thousand packages takes a tenth of this. */
#define SEARCH_NS 500000000ull

/* Folders that link into /usr on systems with a merged /usr. */
static const char *const merged[] = {"/bin/", "/sbin/", "/lib/", "/lib32/", "/lib64/", "/libx32/"};

static bool is_merged_folder(const char *path)
{
	for (size_t i = 0; i < sizeof(merged) / sizeof(merged[0]); i++) {
		if (text_starts_with(path, merged[i]))
			return true;
	}
	return false;
}

bool debug_package_may_have(const char *path)
{
	if (text_starts_with(path, "/usr/"))
		return !text_starts_with(path, "/usr/local/");
	return is_merged_folder(path);
}

/* True if the text has this line. */
static bool has_line(const char *text, const char *line)
{
	size_t size = strlen(line);

	for (const char *at = text; (at = strstr(at, line)); at++) {
		if ((at == text || at[-1] == '\n') && (at[size] == '\n' || !at[size]))
			return true;
	}
	return false;
}

/* True if the package's list has the file, under / or under /usr. */
static bool lists(const char *list, const char *path)
{
	_cleanup_free_ char *text = text_read_file(list, LIST_MAX, NULL), *other = NULL;

	if (!text)
		return false;
	if (has_line(text, path))
		return true;
	if (is_merged_folder(path))
		other = xasprintf("/usr%s", path);
	else if (is_merged_folder(path + strlen("/usr")))
		other = xstrdup(path + strlen("/usr"));
	return other && has_line(text, other);
}

/* Returns the Debian package of the file; NULL if not found in time. The caller frees. */
static char *find_package(const char *root, const char *path)
{
	_cleanup_free_ char *folder = xasprintf("%s/var/lib/dpkg/info", root);
	_cleanup_closedir_ DIR *dir = opendir(folder);
	uint64_t end = clock_monotonic_ns() + SEARCH_NS;
	const struct dirent *entry;

	while (dir && (entry = readdir(dir)) && clock_monotonic_ns() < end) {
		_cleanup_free_ char *list = NULL;

		if (!text_ends_with(entry->d_name, ".list"))
			continue;
		list = xasprintf("%s/%s", folder, entry->d_name);
		if (lists(list, path))
			return xstrndup(entry->d_name, strlen(entry->d_name) - strlen(".list"));
	}
	return NULL;
}

/* Names the package "bash-dbgsym"; the C library's has an older suffix. */
static void add_debian(struct strbuf *out, const char *root, const char *path)
{
	_cleanup_free_ char *package = find_package(root, path);

	if (!package) {
		strbuf_adds(out, "install the -dbgsym package of the one that it is in");
		return;
	}
	package[strcspn(package, ":")] = '\0';
	strbuf_addf(out, "install %s-%s", package,
		    strcmp(package, "libc6") == 0 ? "dbg" : "dbgsym");
}

/* True if ID or ID_LIKE in os-release contains it. */
static bool is_like(const char *os_release, const char *name)
{
	for (const char *line = os_release; line; line = strchr(line, '\n')) {
		_cleanup_free_ char *words = NULL;
		char *rest, *word;

		line += *line == '\n';
		if (!text_starts_with(line, "ID=") && !text_starts_with(line, "ID_LIKE="))
			continue;
		rest = words = xstrndup(line, strcspn(line, "\n"));
		while ((word = strsep(&rest, "= \"'"))) {
			if (strcmp(word, name) == 0)
				return true;
		}
	}
	return false;
}

static void add_package(struct strbuf *out, const char *root, const char *path)
{
	_cleanup_free_ char *file = xasprintf("%s/etc/os-release", root);
	_cleanup_free_ char *os_release = text_read_file(file, SMALL_FILE_MAX, NULL);

	if (!os_release)
		return;
	if (is_like(os_release, "debian") || is_like(os_release, "ubuntu"))
		add_debian(out, root, path);
	else if (is_like(os_release, "fedora") || is_like(os_release, "rhel"))
		strbuf_addf(out, "run: sudo dnf debuginfo-install \"$(rpm -qf %s)\"", path);
	else if (is_like(os_release, "suse") || is_like(os_release, "opensuse"))
		strbuf_adds(out, "install the -debuginfo package of the one that it is in");
}

/* Returns a file in which the distribution lists servers, or NULL; the caller frees. */
static char *find_servers(const char *root)
{
	_cleanup_free_ char *folder = xasprintf("%s/etc/debuginfod", root);
	_cleanup_closedir_ DIR *dir = opendir(folder);
	const struct dirent *entry;

	while (dir && (entry = readdir(dir))) {
		if (text_ends_with(entry->d_name, ".urls"))
			return xasprintf("/etc/debuginfod/%s", entry->d_name);
	}
	return NULL;
}

char *debug_package_remedy(const char *root, const char *path, bool has_servers)
{
	_cleanup_free_ char *servers = has_servers ? NULL : find_servers(root);
	struct strbuf out = {0};

	add_package(&out, root, path);
	if (!has_servers) {
		strbuf_addf(&out, "%sset DEBUGINFOD_URLS to ", out.size ? ", or " : "");
		if (servers)
			strbuf_addf(&out, "what is in %s", servers);
		else
			strbuf_adds(&out, "the debuginfod server of your distribution");
	}
	return out.size ? strbuf_take(&out) : NULL;
}

/* Returns the name of the source package, mostly that of the package. The caller frees. */
static char *find_source_package(const char *root, const char *package)
{
	_cleanup_free_ char *file = xasprintf("%s/var/lib/dpkg/status", root);
	_cleanup_free_ char *status = text_read_file(file, LIST_MAX, NULL);
	_cleanup_free_ char *wanted = xasprintf("Package: %s\n", package);
	const char *at = status;

	while (at && (at = strstr(at, wanted)) && at > status && at[-1] != '\n')
		at++;
	/* A paragraph ends with an empty line. */
	while (at && (at = strchr(at, '\n')) && *++at != '\n') {
		if (text_starts_with(at, "Source: "))
			return xstrndup(at + 8, strcspn(at + 8, " \n"));
	}
	return xstrdup(package);
}

char *debug_package_sources(const char *root, const char *path)
{
	_cleanup_free_ char *package = NULL, *source = NULL;

	if (!debug_package_may_have(path))
		return NULL;
	package = find_package(root, path);
	if (!package)
		return NULL;
	package[strcspn(package, ":")] = '\0';
	source = find_source_package(root, package);
	return xasprintf("sources of %s are not on this machine: apt source %s", package, source);
}
