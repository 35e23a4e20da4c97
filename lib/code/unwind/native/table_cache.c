/* SPDX-License-Identifier: MIT */
#include "lib/code/unwind/native/table_cache.h"

#include <sys/sysmacros.h>

#include "lib/base/identity.h"
#include "lib/base/open_file.h"
#include "lib/code/unwind/native/table_file.h"

/* Version of struct label; the program itself determines the version of the rest. */
#define MAGIC 0x31306c6261746e55ull
/* A change within this time may leave the time of the last one as it is. */
#define RECENT_NS 2000000000ull
/* Larger results would push out many others. */
#define FILE_BYTES_MAX (CACHE_FOLDER_BYTES / 4)

/* Since Linux 6.8; newer than glibc's headers. */
#ifndef STATX_MNT_ID_UNIQUE
#define STATX_MNT_ID_UNIQUE 0x4000
#endif

/* File systems that stay mounted until the machine stops, so that their numbers are unique. */
static const char *const lasting[] = {"/", "/usr", "/home", "/opt", "/nix/store"};
#define LASTING_COUNT (sizeof(lasting) / sizeof(lasting[0]))

/* The start of a file: where its contents come from. */
struct label {
	uint64_t magic;
	uint8_t boot[BOOT_ID_SIZE];
	struct table_origin maker; /* this program */
	struct table_origin origin;
};

struct table_cache {
	int folder;
	uint64_t devices[LASTING_COUNT]; /* UINT64_MAX: none */
	struct label label; /* of all files, without the origin */
	uint32_t serial; /* of names; atomic */
};

static bool find_origin(int fd, struct table_origin *origin, struct statx *stx)
{
	if (statx(fd, "", AT_EMPTY_PATH, STATX_BASIC_STATS | STATX_MNT_ID_UNIQUE, stx) ||
	    !S_ISREG(stx->stx_mode))
		return false;
	*origin = (struct table_origin){
		.device = makedev(stx->stx_dev_major, stx->stx_dev_minor),
		.inode = stx->stx_ino,
		.size = stx->stx_size,
		.changed_s = (uint64_t)stx->stx_ctime.tv_sec,
		.changed_ns = stx->stx_ctime.tv_nsec,
	};
	return true;
}

static bool find_maker(struct table_origin *maker)
{
	_cleanup_close_ int fd = open("/proc/self/exe", O_PATH | O_CLOEXEC);
	struct statx stx;

	return fd >= 0 && find_origin(fd, maker, &stx);
}

struct table_cache *table_cache_new(const char *folder)
{
	struct table_cache *c = xcalloc(1, sizeof(*c));
	struct stat st;

	c->folder = -1;
	c->label.magic = MAGIC;
	for (size_t i = 0; i < LASTING_COUNT; i++)
		c->devices[i] = stat(lasting[i], &st) ? UINT64_MAX : st.st_dev;
	if (boot_id_read(c->label.boot) && find_maker(&c->label.maker))
		c->folder = cache_folder_open(folder, true);
	if (c->folder >= 0)
		return c;
	free(c);
	return NULL;
}

void table_cache_free(struct table_cache *c)
{
	if (!c)
		return;
	close(c->folder);
	free(c);
}

static bool was_just_changed(const struct table_origin *origin)
{
	uint64_t now = clock_realtime_ns();

	return origin->changed_s >= (now - RECENT_NS) / 1000000000;
}

bool table_cache_identify(const struct table_cache *c, int fd, const struct table_probe *probe,
			  struct table_origin *origin)
{
	struct statx stx;

	if (!c || !find_origin(fd, origin, &stx) || !stx.stx_nlink || was_just_changed(origin))
		return false;
	/* The recorder may have rights that its user lacks. */
	if (geteuid() != 0 && geteuid() != stx.stx_uid && !(stx.stx_mode & S_IROTH))
		return false;
	origin->probes = probe ? probe->number : 0;
	if (items_find(c->devices, LASTING_COUNT, it, *it == origin->device))
		return true;
	origin->mount = stx.stx_mnt_id;
	return stx.stx_mask & STATX_MNT_ID_UNIQUE;
}

#define NAME_SIZE 64

static void write_name(char *name, const struct table_origin *origin)
{
	snprintf(name, NAME_SIZE, "%llx-%llx.table", (unsigned long long)origin->device,
		 (unsigned long long)origin->inode);
}

static struct label label_of(const struct table_cache *c, const struct table_origin *origin)
{
	struct label label = c->label;

	label.origin = *origin;
	return label;
}

/* Returns a descriptor, or -1. */
static int open_kept(const struct table_cache *c, const struct table_origin *origin)
{
	struct label wanted = label_of(c, origin), found;
	_cleanup_close_ int fd = -1;
	char name[NAME_SIZE];
	struct stat st;

	write_name(name, origin);
	fd = openat(c->folder, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (fd < 0 || fstat(fd, &st) || !cache_file_is_own(&st) ||
	    read_at(fd, &found, sizeof(found), 0) != (ssize_t)sizeof(found) ||
	    memcmp(&found, &wanted, sizeof(found)) != 0)
		return -1;
	/* Record the time of its last use. */
	futimens(fd, NULL);
	return steal_fd(&fd);
}

bool table_cache_load(const struct table_cache *c, const struct table_origin *origin,
		      struct rule_store *store, struct rule_numbers *own, table_sane_fn *is_sane,
		      struct table_result *result)
{
	_cleanup_close_ int fd = open_kept(c, origin);

	return fd >= 0 && table_file_read(fd, sizeof(struct label), store, own, is_sane, result);
}

bool table_cache_load_layout(const struct table_cache *c, const struct table_origin *origin,
			     table_sane_fn *is_sane, struct runtime_layout *layout)
{
	_cleanup_close_ int fd = open_kept(c, origin);

	return fd >= 0 && table_file_read_layout(fd, sizeof(struct label), is_sane, layout);
}

static bool is_unchanged(int fd, const struct table_origin *before)
{
	struct table_origin now;
	struct statx stx;

	return find_origin(fd, &now, &stx) && now.size == before->size &&
	       now.changed_s == before->changed_s && now.changed_ns == before->changed_ns;
}

static void copy_without_rows(const struct table_result *from, struct table_result *to)
{
	const struct unwind_table *table = &from->table;

	*to = *from;
	to->table.rows.items = NULL;
	to->table.rows.capacity = 0;
	if (table->index.count)
		to->table.index.items = xmemdup(table->index.items,
						table->index.count * sizeof(*table->index.items));
	to->table.index.capacity = table->index.count;
	to->layout = from->layout ? xmemdup(from->layout, sizeof(*from->layout)) : NULL;
	to->refusal = from->refusal ? xstrdup(from->refusal) : NULL;
}

bool table_cache_prepare(int fd, const struct table_origin *origin,
			 const struct table_result *result, struct table_write *write)
{
	if (!is_unchanged(fd, origin) ||
	    result->table.rows.count * sizeof(*result->table.rows.items) > FILE_BYTES_MAX)
		return false;
	write->origin = *origin;
	copy_without_rows(result, &write->result);
	return true;
}

/* Returns the size of the new file; 0: it could not be written. */
static uint64_t write_file(const struct table_cache *c, const char *name,
			   const struct table_write *write, struct unwind_row *rows,
			   const struct unwind_rules *rules)
{
	_cleanup_close_ int fd = openat(c->folder, name,
					O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	struct label label = label_of(c, &write->origin);
	struct stat st;

	if (fd < 0 || write_at(fd, &label, sizeof(label), 0) ||
	    !table_file_write(fd, sizeof(label), &write->result, rows, rules) || fstat(fd, &st))
		return 0;
	return (uint64_t)st.st_size;
}

void table_cache_store(struct table_cache *c, struct table_write *write, struct unwind_row *rows,
		       const struct unwind_rules *rules)
{
	char name[NAME_SIZE], new[NAME_SIZE];
	uint64_t size;

	write_name(name, &write->origin);
	snprintf(new, sizeof(new), "%d-%u.new", (int)getpid(),
		 __atomic_add_fetch(&c->serial, 1, __ATOMIC_RELAXED));
	size = write_file(c, new, write, rows, rules);
	if (!size || renameat(c->folder, new, c->folder, name))
		unlinkat(c->folder, new, 0);
	table_result_release(&write->result);
	if (size)
		cache_folder_added(c->folder, size, CACHE_FOLDER_BYTES);
}
