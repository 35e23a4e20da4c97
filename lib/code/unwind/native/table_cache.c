/* SPDX-License-Identifier: MIT */
#include "lib/code/unwind/native/table_cache.h"

#include <limits.h>
#include <sys/sysmacros.h>
#include <sys/uio.h>

#include "lib/base/identity.h"
#include "lib/base/open_file.h"
#include "lib/code/unwind/unwind_rows.h"

/* Length of a path, and of an error's text. */
#define REFUSAL_MAX (PATH_MAX + 1024)
/* Maximum registers of a machine that rules may name. */
#define REGISTERS_MAX 32

/* Rules, index, rows and refusal follow, in this order. */
struct table_head {
	uint64_t start, entry;
	uint32_t page_count, row_count;
	uint32_t rule_count; /* without those that have fixed numbers */
	uint32_t refusal_size; /* with its end; 0: none */
	uint32_t has_entry;
	struct runtime_layout layout; /* RUNTIME_NONE: no runtime, or a refused one */
};

static size_t index_count(const struct table_head *head)
{
	return head->page_count ? head->page_count + 1ull : 0;
}

/* The sums and products of checked numbers. */
static uint64_t size_of(const struct table_head *head)
{
	return sizeof(*head) + head->rule_count * sizeof(struct unwind_rule) +
	       index_count(head) * sizeof(uint32_t) + head->row_count * sizeof(struct unwind_row) +
	       head->refusal_size;
}

/* Renumbers the rules of a table, in the order in which its rows use them. */
struct renumbering {
	uint16_t *numbers; /* by the old number; 0: not used yet */
	struct unwind_rule *used;
	uint32_t count;
};

static uint16_t new_number(struct renumbering *r, const struct unwind_rules *rules, uint16_t old)
{
	if (old < UNWIND_RULE_FIRST)
		return old;
	if (!r->numbers[old]) {
		r->used[r->count] = rules->rows.items[old];
		r->numbers[old] = (uint16_t)(UNWIND_RULE_FIRST + r->count++);
	}
	return r->numbers[old];
}

static bool write_parts(int fd, uint64_t offset, const struct table_head *head,
			struct unwind_rule *rules, const struct table_result *result,
			struct unwind_row *rows)
{
	const struct iovec parts[] = {
		{(void *)head, sizeof(*head)},
		{rules, head->rule_count * sizeof(*rules)},
		{result->table.index.items, index_count(head) * sizeof(uint32_t)},
		{rows, head->row_count * sizeof(*rows)},
		{result->refusal, head->refusal_size},
	};

	return pwritev(fd, parts, sizeof(parts) / sizeof(*parts), (off_t)offset) ==
	       (ssize_t)size_of(head);
}

bool table_file_write(int fd, uint64_t offset, const struct table_result *result,
		      struct unwind_row *rows, const struct unwind_rules *rules)
{
	const struct unwind_table *table = &result->table;
	_cleanup_free_ uint16_t *numbers = xcalloc(rules->rows.count, sizeof(*numbers));
	_cleanup_free_ struct unwind_rule *used = xcalloc(rules->rows.count, sizeof(*used));
	struct renumbering r = {numbers, used, 0};
	struct table_head head = {
		.start = table->start,
		.entry = table->entry,
		.has_entry = table->has_entry,
		.page_count = table->page_count,
		.row_count = table->page_count ? (uint32_t)table->rows.count : 0,
		.refusal_size = result->refusal ? (uint32_t)strlen(result->refusal) + 1 : 0,
	};

	for (uint32_t i = 0; i < head.row_count; i++)
		rows[i].rule = new_number(&r, rules, rows[i].rule);
	head.rule_count = r.count;
	if (result->layout)
		head.layout = *result->layout;
	return write_parts(fd, offset, &head, used, result, rows);
}

static bool rule_is_valid(const struct unwind_rule *rule)
{
	return rule->cfa_kind > UNWIND_CFA_END && rule->cfa_kind <= UNWIND_CFA_LAST &&
	       rule->cfa_reg < UNWIND_REG_OTHER + REGISTERS_MAX &&
	       UNWIND_RA_KIND(rule->kinds) != UNWIND_UNKNOWN &&
	       UNWIND_AT_REG_BASE(rule->kinds) <= UNWIND_AT_REG_LAST;
}

static bool head_is_valid(const struct table_head *head, uint64_t size, table_sane_fn *is_sane)
{
	uint64_t pages = (uint64_t)head->page_count * UNWIND_PAGE_SIZE;

	return head->row_count <= ROWS_MAX && head->page_count <= ROWS_MAX_PAGES &&
	       head->rule_count <= ROWS_MAX_NEW_RULES && head->refusal_size <= REFUSAL_MAX &&
	       size_of(head) == size && !head->page_count == !head->row_count &&
	       head->start % UNWIND_PAGE_SIZE == 0 && head->start <= UINT64_MAX - pages &&
	       (head->layout.kind == RUNTIME_NONE || (is_sane && is_sane(&head->layout)));
}

/* Checks a page's rows and gives their rules other numbers. */
static bool number_page(struct unwind_row *rows, const struct unwind_row *end,
			const uint16_t *numbers, uint32_t number_count)
{
	int last = -1;

	for (struct unwind_row *row = rows; row < end; row++) {
		if (row->rule >= number_count || row->pc_low >= UNWIND_PAGE_SIZE ||
		    row->pc_low <= last)
			return false;
		last = row->pc_low;
		row->rule = numbers[row->rule];
	}
	return true;
}

/* The same for all of them. */
static bool number_rows(struct unwind_table *table, const uint16_t *numbers, uint32_t number_count)
{
	const uint32_t *index = table->index.items;
	struct unwind_row *rows = table->rows.items;

	if (!table->page_count)
		return true;
	/* No row precedes the first one. */
	if (index[0] || rows[0].pc_low || index[table->page_count] != table->rows.count)
		return false;
	for (uint32_t page = 0; page < table->page_count; page++) {
		if (index[page] > index[page + 1] || index[page + 1] > table->rows.count ||
		    !number_page(rows + index[page], rows + index[page + 1], numbers, number_count))
			return false;
	}
	return index[1];
}

/* Returns the numbers of the rules in the store, to be freed; NULL: one is invalid. */
static uint16_t *numbers_of(const struct unwind_rule *rules, uint32_t count,
			    struct rule_store *store, struct rule_numbers *own)
{
	uint16_t *numbers;

	for (uint32_t i = 0; i < count; i++) {
		if (!rule_is_valid(&rules[i]))
			return NULL;
	}
	numbers = xcalloc(UNWIND_RULE_FIRST + count, sizeof(*numbers));
	for (uint16_t i = 0; i < UNWIND_RULE_FIRST; i++)
		numbers[i] = i;
	for (uint32_t i = 0; i < count; i++)
		numbers[UNWIND_RULE_FIRST + i] = unwind_rules_intern(&own->rules, &rules[i]);
	rule_store_number(store, own);
	for (uint32_t i = 0; i < count; i++)
		numbers[UNWIND_RULE_FIRST + i] = own->numbers.items[numbers[UNWIND_RULE_FIRST + i]];
	return numbers;
}

static bool read_head(int fd, uint64_t offset, table_sane_fn *is_sane, struct table_head *head)
{
	struct stat st;

	return fstat(fd, &st) == 0 && st.st_size >= 0 && (uint64_t)st.st_size >= offset &&
	       read_at(fd, head, sizeof(*head), offset) == (ssize_t)sizeof(*head) &&
	       head_is_valid(head, (uint64_t)st.st_size - offset, is_sane);
}

/* Reads the parts after the head. */
static bool read_rest(int fd, uint64_t offset, const struct table_head *head,
		      struct unwind_rule *rules, struct table_result *read)
{
	struct unwind_table *table = &read->table;
	const struct iovec parts[] = {
		{rules, head->rule_count * sizeof(*rules)},
		{table->index.items, table->index.count * sizeof(*table->index.items)},
		{table->rows.items, table->rows.count * sizeof(*table->rows.items)},
		{read->refusal, head->refusal_size},
	};

	return preadv(fd, parts, sizeof(parts) / sizeof(*parts), (off_t)(offset + sizeof(*head))) ==
		       (ssize_t)(size_of(head) - sizeof(*head)) &&
	       (!head->refusal_size || !read->refusal[head->refusal_size - 1]);
}

bool table_file_read(int fd, uint64_t offset, struct rule_store *store, struct rule_numbers *own,
		     table_sane_fn *is_sane, struct table_result *result)
{
	_cleanup_free_ struct unwind_rule *rules = NULL;
	_cleanup_free_ uint16_t *numbers = NULL;
	struct table_result read = {.module_id = result->module_id};
	struct table_head head;

	if (!read_head(fd, offset, is_sane, &head))
		return false;
	read.table.start = head.start;
	read.table.entry = head.entry;
	read.table.has_entry = head.has_entry;
	read.table.page_count = head.page_count;
	read.table.stats.rows = head.row_count;
	rules = xcalloc(head.rule_count + 1, sizeof(*rules));
	vec_reserve(&read.table.index, index_count(&head));
	read.table.index.count = index_count(&head);
	vec_reserve(&read.table.rows, head.row_count);
	read.table.rows.count = head.row_count;
	if (head.refusal_size)
		read.refusal = xmalloc(head.refusal_size);
	if (head.layout.kind != RUNTIME_NONE)
		read.layout = xmemdup(&head.layout, sizeof(head.layout));
	if (read_rest(fd, offset, &head, rules, &read))
		numbers = numbers_of(rules, head.rule_count, store, own);
	if (!numbers || !number_rows(&read.table, numbers, UNWIND_RULE_FIRST + head.rule_count)) {
		table_result_release(&read);
		return false;
	}
	*result = read;
	return true;
}

bool table_file_read_layout(int fd, uint64_t offset, table_sane_fn *is_sane,
			    struct runtime_layout *layout)
{
	struct table_head head;

	if (!read_head(fd, offset, is_sane, &head))
		return false;
	*layout = head.layout;
	return true;
}

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
