/* SPDX-License-Identifier: MIT */
#include "lib/code/binary/kept_sections.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/alloc.h"
#include "lib/base/boot_id.h"
#include "lib/base/cleanup.h"
#include "lib/base/read_at.h"
#include "lib/base/vec.h"

/* Names the layout below, and the table of sections. */
#define MAGIC 0x3230646e754b5250ull
#define SECTIONS_MAX 16
/* Pages of any machine are a divisor of it. */
#define ALIGNMENT ((uint64_t)64 << 10)
/* Less is unpacked as fast as a file is opened; more would push out all others. */
#define FILE_BYTES_MIN ((uint64_t)64 << 10)
#define FILE_BYTES_MAX (KEPT_SECTIONS_BYTES / 2)

/*
 * Says which file it was, and since when the machine runs: numbers of devices change with a start,
 * and what was written shortly before a crash may never have reached the disk.
 */
struct origin {
	uint64_t device, inode, size, changed_s, changed_ns;
	uint8_t boot[BOOT_ID_SIZE];
};

/* A section has room for all of its bytes, so that more of them can be added. */
struct place {
	uint64_t offset, size, there;
};

struct header {
	uint64_t magic, count;
	struct origin origin;
	struct place places[SECTIONS_MAX];
};

_Static_assert(sizeof(struct header) <= ALIGNMENT, "the header stands before the first section");

struct kept_sections {
	char *folder, *path;
	int fd; /* -1: nothing is kept */
	struct header header; /* without places if nothing is kept */
};

static uint64_t align(uint64_t size)
{
	return (size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

/* Accepts only what this user alone can have written. */
static bool is_own(const struct stat *st, mode_t type)
{
	return (st->st_mode & S_IFMT) == type && st->st_uid == geteuid() && !(st->st_mode & 022);
}

static bool is_own_folder(const char *path)
{
	struct stat st;

	return lstat(path, &st) == 0 && is_own(&st, S_IFDIR);
}

static bool places_are_valid(const struct header *h, uint64_t file_size)
{
	for (size_t i = 0; i < SECTIONS_MAX; i++) {
		const struct place *p = &h->places[i];

		if (p->there > p->size || p->size > file_size || p->offset % ALIGNMENT ||
		    p->offset > file_size || align(p->size) > file_size - p->offset)
			return false;
	}
	return true;
}

/* Returns a descriptor and fills the header, or -1. */
static int open_kept(const struct kept_sections *k, struct header *found)
{
	_cleanup_close_ int fd = open(k->path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	const struct header *wanted = &k->header;
	struct stat st;

	if (fd < 0 || fstat(fd, &st) || !is_own(&st, S_IFREG) ||
	    read_at(fd, found, sizeof(*found), 0) != (ssize_t)sizeof(*found))
		return -1;
	if (found->magic != wanted->magic || found->count != wanted->count ||
	    memcmp(&found->origin, &wanted->origin, sizeof(found->origin)) != 0 ||
	    !places_are_valid(found, (uint64_t)st.st_size))
		return -1;
	/* The time of its last use. */
	futimens(fd, NULL);
	return steal_fd(&fd);
}

/* False: the boot id cannot be read. */
static bool set_origin(struct origin *origin, const struct stat *st)
{
	*origin = (struct origin){.device = st->st_dev,
				  .inode = st->st_ino,
				  .size = (uint64_t)st->st_size,
				  .changed_s = (uint64_t)st->st_ctim.tv_sec,
				  .changed_ns = (uint64_t)st->st_ctim.tv_nsec};
	return boot_id_read(origin->boot);
}

struct kept_sections *kept_sections_open(const char *folder, int fd, unsigned int count)
{
	struct kept_sections *k = xcalloc(1, sizeof(*k));
	struct header found = {0};
	struct stat st = {0};

	k->fd = -1;
	if (count > SECTIONS_MAX || fstat(fd, &st) || !set_origin(&k->header.origin, &st))
		return k;
	k->header.magic = MAGIC;
	k->header.count = count;
	k->folder = xstrdup(folder);
	k->path = xasprintf("%s/%llx-%llx", folder, (unsigned long long)st.st_dev,
			    (unsigned long long)st.st_ino);
	if (is_own_folder(folder))
		k->fd = open_kept(k, &found);
	if (k->fd >= 0)
		k->header = found;
	return k;
}

void kept_sections_free(struct kept_sections *k)
{
	if (!k)
		return;
	if (k->fd >= 0)
		close(k->fd);
	free(k->folder);
	free(k->path);
	free(k);
}

uint64_t kept_sections_map(const struct kept_sections *k, unsigned int section, uint64_t size,
			   void *memory)
{
	const struct place *p = &k->header.places[section];

	if (k->fd < 0 || p->size != size || !p->there)
		return 0;
	if (mmap(memory, (size_t)p->there, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_FIXED, k->fd,
		 (off_t)p->offset) == MAP_FAILED)
		return 0;
	return p->there;
}

/* Makes the folder and the one that it is in. */
static bool make_folder(const char *folder)
{
	_cleanup_free_ char *parent = xstrdup(folder);
	char *slash = strrchr(parent, '/');

	if (slash && slash != parent) {
		*slash = '\0';
		mkdir(parent, 0700);
	}
	return (mkdir(folder, 0700) == 0 || errno == EEXIST) && is_own_folder(folder);
}

/* Lays the parts out in a new file. Returns its size, 0 if it is not worth one. */
static uint64_t lay_out(const struct kept_part *parts, struct header *header)
{
	uint64_t end = ALIGNMENT, there = 0;

	for (unsigned int i = 0; i < header->count; i++) {
		header->places[i] = (struct place){.offset = end, .size = parts[i].size};
		end += align(parts[i].size);
		there += parts[i].there;
		if (parts[i].size > FILE_BYTES_MAX || end > FILE_BYTES_MAX)
			return 0;
	}
	return there < FILE_BYTES_MIN ? 0 : end;
}

/* Returns a descriptor of a new, empty file, or -1. */
static int make_file(const struct kept_sections *k, const struct kept_part *parts,
		     struct header *header)
{
	uint64_t size = lay_out(parts, header);
	_cleanup_close_ int fd = -1;

	if (!size || !make_folder(k->folder))
		return -1;
	/* Another run may still use the old one. */
	unlink(k->path);
	fd = open(k->path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0 || ftruncate(fd, (off_t)size))
		return -1;
	return steal_fd(&fd);
}

struct kept_file {
	char *name;
	uint64_t bytes;
	struct timespec used;
};

static int compare_use(const void *a, const void *b)
{
	const struct timespec *left = &((const struct kept_file *)a)->used;
	const struct timespec *right = &((const struct kept_file *)b)->used;

	if (left->tv_sec != right->tv_sec)
		return left->tv_sec < right->tv_sec ? 1 : -1;
	return left->tv_nsec < right->tv_nsec ? 1 : left->tv_nsec > right->tv_nsec ? -1 : 0;
}

/* Removes those used longest ago until the rest fits. */
static void make_room(const char *folder)
{
	VEC(struct kept_file) files = {0};
	DIR *dir = opendir(folder);
	struct dirent *entry;
	uint64_t bytes = 0;

	while (dir && (entry = readdir(dir))) {
		struct stat st;

		/* Files have holes where a section has room. */
		if (fstatat(dirfd(dir), entry->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
		    S_ISREG(st.st_mode))
			vec_push(&files,
				 (struct kept_file){xstrdup(entry->d_name),
						    (uint64_t)st.st_blocks * 512, st.st_mtim});
	}
	if (files.count)
		qsort(files.items, files.count, sizeof(*files.items), compare_use);
	vec_for_each(&files, struct kept_file *, file) {
		bytes += file->bytes;
		if (bytes > KEPT_SECTIONS_BYTES)
			unlinkat(dirfd(dir), file->name, 0);
		free(file->name);
	}
	vec_release(&files);
	if (dir)
		closedir(dir);
}

void kept_sections_store(const struct kept_sections *k, const struct kept_part *parts)
{
	struct header header = k->header;
	bool is_new = k->fd < 0, is_fine = true, is_more = false;
	_cleanup_close_ int own = -1;
	int fd = k->fd;

	if (!k->path)
		return;
	if (is_new)
		fd = own = make_file(k, parts, &header);
	for (unsigned int i = 0; fd >= 0 && i < header.count && is_fine; i++) {
		struct place *p = &header.places[i];
		uint64_t from = p->there;

		if (parts[i].size != p->size || parts[i].there <= from)
			continue;
		is_more = true;
		p->there = parts[i].there;
		is_fine = write_at(fd, (const uint8_t *)parts[i].data + from, p->there - from,
				   p->offset + from) == 0;
	}
	/* The header comes last: until then, nobody reads what is there. */
	if (is_more && is_fine)
		is_fine = write_at(fd, &header, sizeof(header), 0) == 0;
	if (is_new && fd >= 0 && !is_fine)
		unlink(k->path);
	if (is_new && is_more)
		make_room(k->folder);
}
