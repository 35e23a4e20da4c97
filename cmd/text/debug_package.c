/* SPDX-License-Identifier: MIT */
#include "cmd/text/debug_package.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "lib/base/alloc.h"
#include "lib/base/cleanup.h"
#include "lib/base/clock.h"
#include "lib/base/open_regular.h"
#include "lib/base/strbuf.h"
#include "lib/base/text.h"

#define SMALL_FILE_MAX 65536
#define LIST_MAX ((size_t)16 << 20)
/* Reading the package lists of a machine with some thousand packages takes a tenth of this. */
#define SEARCH_NS 500000000ull
/* Bytes of a list that are read at once. */
#define PART_BYTES ((size_t)64 << 10)

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

/* No link leads out of a root, whose files are those of a container. */
static int open_place(const char *root, const char *path, int flags)
{
	_cleanup_close_ int folder = open(*root ? root : "/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct open_how how = {
		.flags = (uint64_t)flags | O_CLOEXEC,
		.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS,
	};

	return folder < 0 ? -1 : (int)syscall(SYS_openat2, folder, path, &how, sizeof(how));
}

static DIR *open_folder(const char *root, const char *path)
{
	int fd = open_place(root, path, O_RDONLY | O_DIRECTORY);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);

	if (fd >= 0 && !dir)
		close(fd);
	return dir;
}

static char *read_text(const char *root, const char *path, size_t max)
{
	_cleanup_close_ int place = open_place(root, path, O_PATH);
	_cleanup_close_ int fd = place < 0 ? -1 : open_regular_place(place);

	return fd < 0 ? NULL : text_read_fd(fd, max, NULL);
}

/* A search of the lists of packages for a file. */
struct search {
	const char *lines[2]; /* with a newline before and after: under / and under /usr, or NULL */
	const char *stem; /* of the file's name: such packages come first */
	size_t stem_size;
	char part[PART_BYTES + 1];
};

static bool has_lines(const struct search *s, size_t size)
{
	for (size_t i = 0; i < 2; i++) {
		if (s->lines[i] && memmem(s->part, size, s->lines[i], strlen(s->lines[i])))
			return true;
	}
	return false;
}

/* True if the package's list has the file. */
static bool lists(struct search *s, int folder, const char *list)
{
	_cleanup_close_ int fd = openat(folder, list,
					O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NOFOLLOW | O_NONBLOCK);
	size_t size = 1;
	ssize_t got;

	if (fd < 0)
		return false;
	s->part[0] = '\n';
	while ((got = read(fd, s->part + size, PART_BYTES - size)) > 0) {
		const char *rest;

		size += (size_t)got;
		if (has_lines(s, size))
			return true;
		/* The last line goes on in the next part, and none is as long as a part. */
		rest = memrchr(s->part, '\n', size);
		if (!rest || rest == s->part)
			break;
		size -= (size_t)(rest - s->part);
		memmove(s->part, rest, size);
	}
	s->part[size] = '\n';
	return has_lines(s, size + 1);
}

/* Returns the first package with the file, of those named like it or of the others. */
static char *find_among(struct search *s, DIR *dir, bool like_file, uint64_t end)
{
	const struct dirent *entry;

	rewinddir(dir);
	while ((entry = readdir(dir)) && clock_monotonic_ns() < end) {
		const char *name = entry->d_name;

		if (text_ends_with(name, ".list") &&
		    (strncasecmp(name, s->stem, s->stem_size) == 0) == like_file &&
		    lists(s, dirfd(dir), name))
			return xstrndup(name, strlen(name) - strlen(".list"));
	}
	return NULL;
}

/* Returns the Debian package of the file; NULL if not found in time. The caller frees. */
static char *find_package(const char *root, const char *path)
{
	_cleanup_closedir_ DIR *dir = open_folder(root, "/var/lib/dpkg/info");
	uint64_t end = clock_monotonic_ns() + SEARCH_NS;
	const char *file = strrchr(path, '/');
	_cleanup_free_ char *line = xasprintf("\n%s\n", path), *other = NULL;
	struct search s = {.stem = file ? file + 1 : path};
	char *package;

	if (!dir)
		return NULL;
	/* "libdw.so.1" is in libdw1, "python3.11" in python3.11-minimal. */
	s.stem_size = text_starts_with(s.stem, "lib") ? strcspn(s.stem, ".-") : strlen(s.stem);
	if (is_merged_folder(path))
		other = xasprintf("\n/usr%s\n", path);
	else if (is_merged_folder(path + strlen("/usr")))
		other = xasprintf("\n%s\n", path + strlen("/usr"));
	s.lines[0] = line;
	s.lines[1] = other;
	package = find_among(&s, dir, true, end);
	return package ? package : find_among(&s, dir, false, end);
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
	_cleanup_free_ char *os_release = read_text(root, "/etc/os-release", SMALL_FILE_MAX);

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
	_cleanup_closedir_ DIR *dir = open_folder(root, "/etc/debuginfod");
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
			strbuf_addf(&out, "the debuginfod server of %s distribution",
				    *root ? "its" : "your");
	}
	return out.size ? strbuf_take(&out) : NULL;
}

/* Returns the name of the source package, mostly that of the package. The caller frees. */
static char *find_source_package(const char *root, const char *package)
{
	_cleanup_free_ char *status = read_text(root, "/var/lib/dpkg/status", LIST_MAX);
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
