/* SPDX-License-Identifier: MIT */
#include "symbolize/debuginfo/debug_file.h"

#include "lib/base/open_file.h"
#include "lib/code/binary/binary.h"
#include "lib/code/binary/debug_sections.h"
#include "lib/code/binary/paged_section.h"
#include "symbolize/debuginfo/debug_fetch.h"

/*
 * Maximum sizes for computing the checksum of a file and for unpacking one; a gigabyte takes a
 * second.
 */
#define MAX_CRC_BYTES ((uint64_t)4 << 30)
#define MAX_PACKED ((off_t)256 << 20)
#define MAX_UNPACKED ((uint64_t)1 << 30)
#define MAX_FILE_NS 10000000000ull

struct hunt {
	struct debug_file *file;
	const struct debug_wanted *wanted;
	const struct debug_search *search;
	enum symbol_reason refused; /* reason for rejecting the first existing file */
	char id[2 * BUILD_ID_MAX + 1];
	int root; /* root of the current paths; 0: prof's own root */
};

static bool refuse(struct hunt *h, enum symbol_reason reason, const char *path)
{
	log_debug("%s: %s", path, symbol_reason_text(reason));
	if (h->refused == SYMBOLS_UNASKED)
		h->refused = reason;
	return false;
}

static bool has_link_checksum(struct hunt *h, int fd, const char *path)
{
	uint32_t crc = 0;
	int ret = crc32_of_file(fd, MAX_CRC_BYTES, clock_monotonic_ns() + MAX_FILE_NS, &crc);

	if (ret == -EFBIG || ret == -ETIME)
		return refuse(h, SYMBOLS_TOO_LARGE, path);
	if (ret)
		return refuse(h, SYMBOLS_UNREADABLE, path);
	return crc == h->wanted->link->crc || refuse(h, SYMBOLS_CRC_MISMATCH, path);
}

/* Compares the build ids, if both files have one. */
static bool belongs(struct hunt *h, const struct binary *b, int fd, const char *path)
{
	const struct debug_wanted *wanted = h->wanted;
	uint8_t build_id[BUILD_ID_MAX];
	size_t size = binary_build_id(b, build_id);

	if (wanted->build_id_size && (size || !wanted->link))
		return (size == wanted->build_id_size &&
			memcmp(build_id, wanted->build_id, size) == 0) ||
		       refuse(h, SYMBOLS_BUILD_ID_MISMATCH, path);
	return wanted->link && has_link_checksum(h, fd, path);
}

/* False if the link by build id leads to the module's file itself, which adds nothing. */
static bool says_something(const struct hunt *h, const struct binary *b)
{
	return binary_has_section(b, ".debug_info") || binary_has_section(b, ".zdebug_info") ||
	       (!h->wanted->needs_lines && binary_has_section(b, ".symtab")) ||
	       (h->wanted->is_shared_part &&
		(binary_has_section(b, ".debug_str") || binary_has_section(b, ".zdebug_str")));
}

/*
 * Returns a descriptor of the unpacked content and closes fd, or returns fd itself if it is not
 * packed.
 */
static int unpack_file(int fd, struct error *err)
{
	_cleanup_close_ int packed = fd;
	uint8_t start[8];
	ssize_t n = pread(fd, start, sizeof(start), 0);
	enum packing packing = packing_of(start, n > 0 ? (size_t)n : 0);
	struct stat st;
	void *data;
	int ret;

	if (packing == PACKING_NONE)
		return steal_fd(&packed);
	if (fstat(fd, &st) != 0)
		return error_set(err, -errno, "cannot stat a file");
	if (st.st_size > MAX_PACKED)
		return error_text(err, -EFBIG, "too large");
	data = xmalloc((size_t)st.st_size);
	n = pread(fd, data, (size_t)st.st_size, 0);
	ret = unpack_to_file(packing, data, n > 0 ? (size_t)n : 0, MAX_UNPACKED,
			     clock_monotonic_ns() + MAX_FILE_NS, err);
	free(data);
	return ret;
}

/* Takes ownership of `opened`. */
static bool take(struct hunt *h, int opened, const char *path)
{
	struct error err = {0};
	_cleanup_close_ int fd = h->wanted->may_be_packed ? unpack_file(opened, &err) : opened;
	struct binary *b = NULL;
	bool is_taken;

	if (fd < 0 || binary_open(&b, fd, &err) != 0)
		return refuse(h, err.code == -EFBIG ? SYMBOLS_TOO_LARGE : SYMBOLS_UNREADABLE, path);
	is_taken = says_something(h, b) && belongs(h, b, fd, path);
	binary_free(b);
	if (!is_taken)
		return false;
	*h->file = (struct debug_file){.fd = steal_fd(&fd), .path = xstrdup(path), .root = h->root};
	return true;
}

static bool try_opened(struct hunt *h, int fd, const char *path)
{
	if (fd >= 0)
		return take(h, fd, path);
	if (fd == READERS_REFUSED)
		return refuse(h, SYMBOLS_NOT_THEIRS, path);
	if (fd == -EACCES || fd == -EPERM || fd == -EIO)
		return refuse(h, SYMBOLS_UNREADABLE, path);
	return false;
}

/* Tries a path named by the program, or in a folder that the program may have modified. */
static bool try(struct hunt *h, const char *path)
{
	return try_opened(h, readers_open(h->wanted->readers, h->root, path), path);
}

/* Tries a path in a folder that the invoking user named or owns. */
static bool try_trusted(struct hunt *h, const char *path)
{
	return try_opened(h, open_regular(path), path);
}

static char *build_id_path(const struct hunt *h, const char *dir)
{
	return xasprintf("%s/.build-id/%.2s/%s.debug", dir, h->id, h->id + 2);
}

static bool try_cache(struct hunt *h)
{
	_cleanup_free_ char *path = NULL;

	if (!h->search->cache)
		return false;
	path = xasprintf("%s/%s/debuginfo", h->search->cache, h->id);
	return try_trusted(h, path);
}

static bool try_build_id(struct hunt *h)
{
	const char *const *dirs = h->search->dirs;
	_cleanup_free_ char *system = NULL;

	/* A single byte cannot be split into a folder and a name. */
	if (h->wanted->build_id_size < 2)
		return false;
	/* Folders that the user names or owns are in prof's own root. */
	for (; h->root <= 0 && dirs && *dirs; dirs++) {
		_cleanup_free_ char *path = build_id_path(h, *dirs);

		if (try_trusted(h, path))
			return true;
	}
	system = build_id_path(h, DEBUG_SYSTEM_DIR);
	return try(h, system) || (h->root <= 0 && try_cache(h));
}

static bool try_link(struct hunt *h)
{
	const struct debug_wanted *wanted = h->wanted;
	const char *slash = wanted->path ? strrchr(wanted->path, '/') : NULL;
	static const char *const patterns[] = {
		"%2$.*1$s/%3$s",
		"%2$.*1$s/.debug/%3$s",
		DEBUG_SYSTEM_DIR "%2$.*1$s/%3$s",
	};

	if (!wanted->link || !slash)
		return false;
	for (size_t i = 0; i < sizeof(patterns) / sizeof(*patterns); i++) {
		_cleanup_free_ char *path = xasprintf(patterns[i], (int)(slash - wanted->path),
						      wanted->path, wanted->link->name);

		if (try(h, path))
			return true;
	}
	return false;
}

/* Resolves a relative path from the folder of the file that it belongs to, if that is known. */
static bool try_alt_path(struct hunt *h, const char *alt_path)
{
	const struct debug_wanted *wanted = h->wanted;
	const char *slash = wanted->path ? strrchr(wanted->path, '/') : NULL;
	_cleanup_free_ char *path = NULL;

	if (*alt_path == '/')
		return try(h, alt_path);
	if (!slash)
		return h->root <= 0 && try(h, alt_path);
	path = xasprintf("%.*s/%s", (int)(slash - wanted->path), wanted->path, alt_path);
	return try(h, path);
}

static bool try_alt_paths(struct hunt *h)
{
	for (const char *const *path = h->wanted->alt_paths; path && *path; path++) {
		if (try_alt_path(h, *path))
			return true;
	}
	return false;
}

static bool try_everywhere(struct hunt *h)
{
	/* Paths are valid in the process's root; an id is valid everywhere. */
	h->root = h->wanted->root;
	if (try_build_id(h) || try_link(h) || try_alt_paths(h))
		return true;
	if (h->root <= 0)
		return false;
	h->root = 0;
	return try_build_id(h);
}

static bool try_download(struct hunt *h)
{
	enum symbol_reason reason = SYMBOLS_DOWNLOAD_FAILED;
	const struct debug_request request = {.build_id = h->id, .path = h->wanted->path};
	int fd;

	if (!h->search->fetcher || h->wanted->is_never_fetched || h->wanted->build_id_size < 2)
		return false;
	h->root = 0;
	fd = debug_fetch(h->search->fetcher, &request, &reason);
	if (fd >= 0)
		return take(h, fd, h->id);
	/* SYMBOLS_NO_DEBUG_FILE is the default reason and must not hide a better one. */
	if (reason != SYMBOLS_NO_DEBUG_FILE)
		refuse(h, reason, h->id);
	return false;
}

int debug_file_find(struct debug_file *f, const struct debug_wanted *wanted,
		    const struct debug_search *search, enum symbol_reason *reason)
{
	struct hunt h = {.file = f, .wanted = wanted, .search = search};
	struct identity before = {.is_self = true};
	bool is_found;

	*f = (struct debug_file){.fd = -1};
	if (wanted->build_id_size > BUILD_ID_MAX)
		return -ENOENT;
	build_id_to_text(wanted->build_id, wanted->build_id_size, h.id);
	if (search->owner)
		before = identity_assume_files(search->owner);
	is_found = !before.failure && try_everywhere(&h);
	identity_restore_files(&before);
	if (is_found || try_download(&h)) {
		*reason = SYMBOLS_FOUND;
		return 0;
	}
	*reason = h.refused != SYMBOLS_UNASKED ? h.refused
		  : wanted->build_id_size      ? SYMBOLS_NO_DEBUG_FILE
					       : SYMBOLS_STRIPPED;
	return -ENOENT;
}

int debug_file_open(const struct debug_search *search, const struct readers *readers, int root,
		    const char *path)
{
	struct identity before = {.is_self = true};
	int fd = -EPERM;

	if (search->owner)
		before = identity_assume_files(search->owner);
	if (!before.failure)
		fd = readers_open(readers, root, path);
	identity_restore_files(&before);
	return fd;
}

void debug_file_close(struct debug_file *f)
{
	fd_close(f->fd);
	free(f->path);
	*f = (struct debug_file){.fd = -1};
}
