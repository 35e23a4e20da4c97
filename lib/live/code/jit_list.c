/* SPDX-License-Identifier: MIT */
#include "lib/live/code/jit_list.h"

#include <elf.h>

#include "lib/base/bytes.h"
#include "lib/code/binary/code_object.h"

/* Returns false for garbage, which some writers store there. */
static bool is_path(const char *text, size_t size)
{
	for (size_t at = 0; at < size;) {
		size_t length = text_utf8_length(text + at, size - at);

		if (!length || (uint8_t)text[at] < ' ')
			return false;
		at += length;
	}
	return size;
}

static bool same_file(struct code_lines *l, const char *name, uint32_t *file)
{
	const char *last = l->files + l->rows[l->count - 1].file;

	if (strcmp(name, "\xff") != 0 && strcmp(name, last) != 0)
		return false;
	*file = l->rows[l->count - 1].file;
	return true;
}

bool code_lines_add(struct code_lines *l, uint64_t offset, uint32_t line, const char *name)
{
	struct rec_code_line row = {.offset = (uint32_t)offset, .line = line};
	size_t size = strlen(name);

	if (offset > UINT32_MAX || l->count == CODE_LINES_MAX ||
	    (l->count && offset < l->rows[l->count - 1].offset))
		return false;
	if (!l->count || !same_file(l, name, &row.file)) {
		if (!is_path(name, size) || size >= CODE_FILES_SIZE_MAX - l->files_size)
			return false;
		row.file = (uint32_t)l->files_size;
		memcpy(l->files + l->files_size, name, size + 1);
		l->files_size += size + 1;
	}
	l->rows[l->count++] = row;
	return true;
}

#define VERSION 1
#define REGISTERED 1 /* action: `relevant` was added */
#define ACTION_MAX 2
#define ENTRY_SIZE 32
/* Maximum per list. */
#define ENTRIES_MAX 16384
/* Real objects have some hundred kilobytes at most. */
#define OBJECT_MAX ((uint64_t)16 << 20)
/* Larger code is not read: an emulator's has a gigabyte. */
#define CODE_MAX ((uint64_t)4 << 20)
/* Minimum cost of a read, in bytes: a page. */
#define READ_COST 4096
/* Maximum restarts per list, each caused by a change during the read. */
#define RESTARTS_MAX 16
/* Bytes of variables to read at once; fewer where some are unreadable. */
#define SEARCH_STEP ((size_t)512 << 10)
#define SEARCH_STEP_MIN ((size_t)64 << 10)
/* Nothing is mapped beyond, unless a program asks for it. */
#define ADDRESS_BITS 48
/* Pairs of small numbers are far more common than addresses whose lower half is smaller. */
#define LOWER_HALF_MIN 4096

struct descriptor {
	uint64_t version_action; /* version, and in the upper half the action */
	uint64_t relevant, first; /* entries */
};

struct entry {
	uint64_t next, previous, object, size;
};

_Static_assert(sizeof(struct descriptor) == JIT_DESCRIPTOR_SIZE, "defined by the interface");
_Static_assert(sizeof(struct entry) == ENTRY_SIZE, "defined by the interface");

struct reader {
	struct jit_list *list;
	const struct jit_memory *memory;
	uint64_t until; /* end of the budget, as a value of the statistics' byte count */
	bool has_taken; /* a new entry; needed even if the rest takes the whole budget */
	code_piece_fn *fn;
	void *ctx;
	struct code_lines *lines;
};

void jit_list_release(struct jit_list *list)
{
	vec_release(&list->entries);
	index_release(&list->by_addr);
}

INDEX_HAS(equal_addr, struct jit_list, entries, addr)

static void add_entry(struct jit_list *list, const struct jit_entry *entry)
{
	index_add(&list->by_addr, hash_u64(entry->addr), (uint32_t)list->entries.count);
	vec_push(&list->entries, *entry);
}

void jit_list_copy(struct jit_list *copy, const struct jit_list *list)
{
	*copy = (struct jit_list){
		.descriptor = list->descriptor, .seen = list->seen, .walks = list->walks};
	vec_for_each(&list->entries, const struct jit_entry *, entry)
		add_entry(copy, entry);
}

static struct jit_entry *find_entry(const struct jit_list *list, uint64_t addr)
{
	uint32_t row = index_find(&list->by_addr, hash_u64(addr), equal_addr, list, &addr);

	return row == INDEX_NONE ? NULL : &list->entries.items[row];
}

static bool read_memory(const struct reader *r, uint64_t addr, void *to, size_t size)
{
	r->list->stats.bytes += size > READ_COST ? size : READ_COST;
	return r->memory->read(r->memory->ctx, addr, to, size);
}

/* The functions and the call frame information of an object. */

static void set_lines(struct reader *r, const struct code_object *object, struct code_piece *piece)
{
	size_t at = vec_count_front(&object->lines, it, it->addr < piece->start);

	if (!r->lines)
		r->lines = xmalloc(sizeof(*r->lines));
	r->lines->count = r->lines->files_size = 0;
	for (; at < object->lines.count; at++) {
		const struct object_line *line = &object->lines.items[at];

		if (line->addr - piece->start >= piece->size ||
		    !code_lines_add(r->lines, line->addr - piece->start, line->line,
				    object->files.text + line->file))
			break;
	}
	piece->lines = r->lines->rows;
	piece->line_count = r->lines->count;
	piece->files = r->lines->files;
	piece->files_size = r->lines->files_size;
}

static void send_functions(struct reader *r, const struct code_object *object)
{
	vec_for_each(&object->functions, const struct object_function *, function) {
		struct code_piece piece = {
			.start = function->start,
			.size = function->size,
			.name = function->name,
			.name_size = function->name_size < CODE_NAME_MAX ? function->name_size
									 : CODE_NAME_MAX,
		};

		if (object->lines.count)
			set_lines(r, object, &piece);
		r->list->stats.pieces++;
		r->fn(r->ctx, &piece);
	}
}

/* Returns the object's code, the caller's to free; NULL: it is large, or not there. */
static uint8_t *read_code(struct reader *r, const struct code_object *object, uint64_t start,
			  uint64_t size)
{
	uint8_t *code;

	if ((!object->has_frames && !object->is_erlang) || size > CODE_MAX)
		return NULL;
	code = xmalloc(size);
	if (read_memory(r, start, code, size))
		return code;
	free(code);
	return NULL;
}

/*
 * Returns whether the code of a newer object, found earlier on the same walk, lies in the row's.
 * OTP 25 does not remove modules from the list when it unloads them.
 */
static bool is_replaced(const struct jit_list *list, const struct jit_entry *row)
{
	return vec_find(&list->entries, it,
			it->walk == row->walk && it->start < row->end && row->start < it->end);
}

/*
 * Objects have one section of call frame information for all their code. LLVM leaves functions out
 * that raise no exceptions. False: the code cannot be read now.
 */
static bool send_object(struct reader *r, const struct code_object *object, struct jit_entry *row)
{
	_cleanup_free_ uint8_t *code = NULL;
	uint64_t start, end = 0;

	if (!object->ranges.count)
		return true;
	start = object->ranges.items[0].start;
	vec_for_each(&object->ranges, const struct object_range *, range)
		end = range->end > end ? range->end : end;
	row->start = start;
	row->end = end;
	if (is_replaced(r->list, row))
		return true;
	code = read_code(r, object, start, end - start);
	if (r->memory->is_busy(r->memory->ctx))
		return false;
	r->fn(r->ctx, &(struct code_piece){
			      .start = start,
			      .size = end - start,
			      .eh_frame = object->eh_frame,
			      .eh_frame_size = object->eh_frame_size,
			      .eh_frame_addr = object->eh_frame_addr,
			      .is_debug_frame = object->is_debug_frame,
			      .code = code,
			      .is_erlang = object->is_erlang,
			      .outermost = object->outermost.start,
			      .outermost_size = object->outermost.end - object->outermost.start,
		      });
	send_functions(r, object);
	return true;
}

/* Returns false if the process has changed the entry meanwhile. */
static bool is_unchanged(const struct reader *r, uint64_t addr, const struct entry *entry)
{
	struct entry now;

	r->memory->renew(r->memory->ctx);
	return read_memory(r, addr, &now, sizeof(now)) && now.object == entry->object &&
	       now.size == entry->size;
}

/* Sends an object, unless it is already known. Returns false if it cannot be read now. */
static bool take_object(struct reader *r, uint64_t addr, const struct entry *entry)
{
	struct jit_entry *known = find_entry(r->list, addr);
	struct jit_entry row = {
		.addr = addr, .object = entry->object, .size = entry->size, .walk = r->list->walks};
	struct code_object object = {0};
	_cleanup_free_ uint8_t *data = NULL;
	bool is_fine = entry->size && entry->size <= OBJECT_MAX, is_sent = true;

	if (is_fine) {
		data = xmalloc(entry->size);
		is_fine = read_memory(r, entry->object, data, entry->size) &&
			  is_unchanged(r, addr, entry);
	}
	if (r->memory->is_busy(r->memory->ctx))
		return false;
	if (is_fine)
		row.hash = hash_bytes(data, entry->size, 0);
	if (known && known->hash == row.hash && known->object == row.object &&
	    known->size == row.size)
		return true;
	if (is_fine && code_object_parse(&object, data, entry->size))
		is_sent = send_object(r, &object, &row);
	else
		r->list->stats.malformed++;
	code_object_release(&object);
	if (!is_sent)
		return false;
	if (known)
		*known = row;
	else
		add_entry(r->list, &row);
	return true;
}

static bool is_known(const struct reader *r, uint64_t addr, const struct entry *entry)
{
	const struct jit_entry *known = find_entry(r->list, addr);

	return known && known->object == entry->object && known->size == entry->size;
}

/* A walk along a list, up to the first known entry. */
struct walk {
	uint64_t at, from; /* the next entry, and the one before it */
	bool is_backwards;
	bool is_torn; /* the next entry does not lead back */
};

/* Returns false if interrupted before walk->at. */
static bool follow(struct reader *r, struct walk *walk)
{
	struct jit_list *list = r->list;

	while (walk->at) {
		struct entry entry;

		if (!read_memory(r, walk->at, &entry, sizeof(entry))) {
			walk->is_torn = true;
			return !r->memory->is_busy(r->memory->ctx);
		}
		walk->is_torn = walk->from != (walk->is_backwards ? entry.next : entry.previous);
		if (walk->is_torn || is_known(r, walk->at, &entry))
			return true;
		if (list->entries.count >= ENTRIES_MAX) {
			list->is_cut = true;
			return true;
		}
		if ((r->has_taken && list->stats.bytes >= r->until) ||
		    !take_object(r, walk->at, &entry))
			return false;
		r->has_taken = true;
		walk->from = walk->at;
		walk->at = walk->is_backwards ? entry.previous : entry.next;
	}
	return true;
}

/* Returns false if interrupted. */
static bool follow_from(struct reader *r, struct walk walk)
{
	struct jit_list *list = r->list;
	bool is_resumed = list->resume, is_whole;

	list->walks += !is_resumed;
	is_whole = follow(r, &walk);
	/* A walk that has not begun starts over. */
	list->resume = is_whole || !walk.from ? 0 : walk.at;
	list->resume_from = walk.from;
	list->resumes_backwards = walk.is_backwards;
	if (!is_whole || !is_resumed || !walk.is_torn)
		return is_whole;
	/*
	 * The rest of the list is lost if its entry is gone: start over, but not forever, as forged
	 * lists never end.
	 */
	list->is_cut |= list->restarts == RESTARTS_MAX;
	if (!list->is_cut) {
		list->restarts++;
		vec_clear(&list->entries);
		index_clear(&list->by_addr);
	}
	return true;
}

/* Most programs add new objects at the head of the list, the others at its end. */
static bool read_entries(struct reader *r, const struct descriptor *head, const struct entry *first)
{
	struct jit_list *list = r->list;
	bool is_known_first = head->first && is_known(r, head->first, first);

	if (list->resume && !follow_from(r, (struct walk){.at = list->resume,
							  .from = list->resume_from,
							  .is_backwards = list->resumes_backwards}))
		return false;
	if (!follow_from(r, (struct walk){.at = head->first}))
		return false;
	/* An object may have replaced an earlier one in the same entry. */
	if (is_known_first && !take_object(r, head->first, first))
		return false;
	return head->version_action != (VERSION | (uint64_t)REGISTERED << 32) ||
	       follow_from(r, (struct walk){.at = head->relevant, .is_backwards = true});
}

static bool is_descriptor(const struct descriptor *head)
{
	return (uint32_t)head->version_action == VERSION &&
	       head->version_action >> 32 <= ACTION_MAX;
}

bool jit_list_read(struct jit_list *list, const struct jit_memory *memory, uint64_t budget,
		   code_piece_fn *fn, void *ctx)
{
	struct reader r = {.list = list,
			   .memory = memory,
			   .until = list->stats.bytes + budget,
			   .fn = fn,
			   .ctx = ctx};
	struct descriptor head;
	struct entry first = {0};
	uint64_t seen;
	bool is_whole;

	memory->renew(memory->ctx);
	if (!read_memory(&r, list->descriptor, &head, sizeof(head)) ||
	    (is_descriptor(&head) && head.first &&
	     !read_memory(&r, head.first, &first, sizeof(first))))
		return memory->is_busy(memory->ctx);
	if (!is_descriptor(&head))
		return false;
	seen = hash_bytes(&first, sizeof(first), hash_bytes(&head, sizeof(head), 0));
	if (seen == list->seen)
		return false;
	is_whole = read_entries(&r, &head, &first);
	free(r.lines);
	if (is_whole)
		list->seen = seen;
	return !is_whole;
}

/* Variables that are searched. */
struct part {
	uint64_t addr;
	const uint8_t *data;
	size_t size;
};

/* Most words that look like a descriptor lead to other variables. */
static bool read_entry(const struct jit_memory *memory, const struct part *part, uint64_t addr,
		       struct entry *entry)
{
	uint64_t at = addr - part->addr;

	if (at >= part->size || part->size - at < sizeof(*entry))
		return memory->read(memory->ctx, addr, entry, sizeof(*entry));
	memcpy(entry, part->data + at, sizeof(*entry));
	return true;
}

/* Returns whether it points to an entry at the start of a list. */
static bool begins_list(const struct jit_memory *memory, const struct part *part, uint64_t addr)
{
	struct entry entry, next;
	char magic[SELFMAG];

	if (!read_entry(memory, part, addr, &entry) || entry.previous || !entry.object ||
	    !entry.size || entry.size > OBJECT_MAX)
		return false;
	if (entry.next)
		return memory->read(memory->ctx, entry.next, &next, sizeof(next)) &&
		       next.previous == addr;
	return memory->read(memory->ctx, entry.object, magic, SELFMAG) &&
	       memcmp(magic, ELFMAG, SELFMAG) == 0;
}

static bool is_pointer(uint64_t value)
{
	return !value ||
	       (value % 8 == 0 && value >> ADDRESS_BITS == 0 && (uint32_t)value >= LOWER_HALF_MIN);
}

static void search_part(struct jit_search *search, const struct jit_memory *memory,
			const struct part *part)
{
	for (size_t at = 0; at + JIT_DESCRIPTOR_SIZE <= part->size && search->tries; at += 8) {
		struct descriptor head;

		memcpy(&head, part->data + at, sizeof(head));
		if (!is_descriptor(&head) || !head.first || !is_pointer(head.first) ||
		    !is_pointer(head.relevant) ||
		    (head.first >= search->constants_start && head.first < search->constants_end))
			continue;
		search->tries--;
		if (!begins_list(memory, part, head.first))
			continue;
		search->is_ambiguous |= search->found;
		search->found = part->addr + at;
	}
}

void jit_list_search(struct jit_search *search, const struct jit_memory *memory, uint64_t start,
		     uint64_t end)
{
	const size_t overlap = JIT_DESCRIPTOR_SIZE - 8;
	_cleanup_free_ uint8_t *data = xmalloc(SEARCH_STEP + overlap);
	size_t step = SEARCH_STEP;

	for (uint64_t at = (start + 7) & ~7ull; at < end && search->left && search->tries;) {
		size_t size = end - at < step ? (size_t)(end - at) : step;
		size_t more = end - at - size < overlap ? (size_t)(end - at - size) : overlap;
		bool is_read = memory->read(memory->ctx, at, data, size + more);

		if (!is_read && size > SEARCH_STEP_MIN) {
			step = SEARCH_STEP_MIN;
			continue;
		}
		if (is_read)
			search_part(search, memory, &(struct part){at, data, size + more});
		search->left -= size < search->left ? size : search->left;
		at += size;
	}
}
