/* SPDX-License-Identifier: MIT */
#include "lib/stream/session/sample_feed.h"

#include <elf.h>
#include <sys/mman.h>

#include "lib/stream/record/records.h"
#include "lib/stream/session/code/code_table.h"

/*
 * Bounds for hostile records. In a real stream, each continuation adds frames, and no stack is
 * deeper than the walker's limit.
 */
#define LINKS_MAX 2000
#define DEPTH_MAX UINT16_MAX
/*
 * Maximum number of stacks kept for waits that have not ended; further ones are dropped like
 * others.
 */
#define UNASKED_MAX 16384

struct content_key {
	const struct rec_stack *rec;
	raw_stack_id outer;
	size_t body_size;
};

void raw_stacks_release(struct raw_stacks *s)
{
	vec_release(&s->words);
	vec_release(&s->rows);
	vec_release(&s->sent);
	index_release(&s->by_content);
	index_release(&s->by_stack_id);
}

static size_t body_size(const struct raw_stack *row)
{
	return stack_record_body_size((uint32_t)row->kernel_depth + row->user_depth,
				      row->run_count);
}

static uint32_t raw_stacks_unpack(const struct raw_stacks *s, const struct raw_stack *row,
				  uint32_t skip, uint64_t *addrs, uint8_t *kinds)
{
	struct stack_body body = stack_body_at(s->words.items + row->first_word,
					       (uint32_t)row->kernel_depth + row->user_depth,
					       row->run_count);

	return stack_body_unpack(&body, skip, addrs, kinds);
}

void raw_stack_unpack(const struct raw_stacks *s, const struct raw_stack *stack, uint64_t *addrs,
		      uint8_t *kinds)
{
	const struct raw_stack *row = stack;
	uint32_t skip = 0, done = 0;

	if (!stack->depth)
		return; /* the caller has no memory for the stack either */
	for (;;) {
		uint32_t own = (uint32_t)row->kernel_depth + row->user_depth;

		done += raw_stacks_unpack(s, row, skip, addrs + done, kinds + done);
		if (row->outer == NO_RAW_STACK)
			break;
		skip = (skip > own ? skip - own : 0) + row->prefix_skip;
		row = &s->rows.items[row->outer];
	}
}

static bool content_equal(const void *table, uint32_t id, const void *key)
{
	const struct raw_stacks *s = table;
	const struct content_key *wanted = key;
	const struct rec_stack *rec = wanted->rec;
	const struct raw_stack *row = &s->rows.items[id];

	return row->kernel_depth == rec->kernel_depth && row->user_depth == rec->user_depth &&
	       row->run_count == rec->run_count && row->flags == rec->rec.flags &&
	       row->outer == wanted->outer && row->prefix_skip == rec->prefix_skip &&
	       !memcmp(s->words.items + row->first_word, rec->lows, wanted->body_size);
}

/*
 * Ends a stack that would be too deep or whose continuation is unknown; only hostile records have
 * either.
 */
static void link_outer(const struct raw_stacks *s, struct raw_stack *row)
{
	const struct raw_stack *outer;
	uint32_t more;

	if (row->outer == NO_RAW_STACK)
		return;
	outer = &s->rows.items[row->outer];
	more = outer->depth > row->prefix_skip ? outer->depth - row->prefix_skip : 0;
	if (!more || outer->links >= LINKS_MAX || row->depth + more > DEPTH_MAX) {
		row->outer = NO_RAW_STACK;
		row->flags |= STACK_TRUNCATED;
		return;
	}
	row->links = outer->links + 1;
	row->depth += more;
}

/* `row` holds the fields of its record. */
static uint64_t content_hash(const struct raw_stack *row, const void *body, size_t size)
{
	uint64_t shape = (uint64_t)row->outer << 32 | (uint64_t)row->prefix_skip << 16 |
			 (uint64_t)row->flags << 8 | (row->kernel_depth & 0xff);

	return hash_bytes(body, size, shape);
}

static raw_stack_id raw_stacks_intern(struct raw_stacks *s, const struct rec_stack *rec,
				      raw_stack_id outer)
{
	struct raw_stack row = {
		.first_word = s->words.count,
		.outer = outer,
		.prefix_skip = rec->prefix_skip,
		.run_count = rec->run_count,
		.kernel_depth = rec->kernel_depth,
		.user_depth = rec->user_depth,
		.flags = rec->rec.flags,
		.depth = stack_record_depth(rec),
	};
	size_t size = body_size(&row);
	const struct content_key key = {rec, outer, size};
	uint64_t hash = content_hash(&row, rec->lows, size);
	raw_stack_id id = index_find(&s->by_content, hash, content_equal, s, &key);

	if (id != INDEX_NONE)
		return id;
	link_outer(s, &row);
	/* At least one word, so that even an empty stack has a place. */
	memcpy(vec_add_zeroed(&s->words, size ? size / 8 : 1), rec->lows, size);
	id = (raw_stack_id)s->rows.count;
	vec_push(&s->rows, row);
	index_add(&s->by_content, hash, id);
	return id;
}

INDEX_HAS(stack_id_equal, struct raw_stacks, sent, stack_id)

static uint32_t find_cached(const struct raw_stacks *s, uint32_t wire_id)
{
	return index_find(&s->by_stack_id, wire_id, stack_id_equal, s, &wire_id);
}

raw_stack_id raw_stacks_add(struct raw_stacks *s, const struct rec_stack *rec)
{
	raw_stack_id outer = rec->prefix_id ? raw_stacks_find(s, rec->prefix_id) : NO_RAW_STACK,
		     stack;
	struct stack_cache_entry entry;
	uint32_t sent;

	if (rec->prefix_id && outer == NO_RAW_STACK)
		return NO_RAW_STACK;
	stack = raw_stacks_intern(s, rec, outer);
	entry = (struct stack_cache_entry){rec->stack_id, stack, true, true};
	sent = find_cached(s, rec->stack_id);
	if (sent != INDEX_NONE) {
		s->sent.items[sent] = entry;
		return stack;
	}
	index_add(&s->by_stack_id, rec->stack_id, (uint32_t)s->sent.count);
	vec_push(&s->sent, entry);
	return stack;
}

raw_stack_id raw_stacks_find(struct raw_stacks *s, uint32_t wire_id)
{
	uint32_t sent = find_cached(s, wire_id);

	if (sent == INDEX_NONE)
		return NO_RAW_STACK;
	s->sent.items[sent].is_unasked = false;
	return s->sent.items[sent].stack;
}

static void forget_sent(struct raw_stacks *s)
{
	size_t kept = 0, unasked = 0;

	index_release(&s->by_stack_id);
	for (size_t i = 0; i < s->sent.count; i++) {
		struct stack_cache_entry entry = s->sent.items[i];

		if (!entry.is_recent && !(entry.is_unasked && unasked++ < UNASKED_MAX))
			continue;
		entry.is_recent = false;
		index_add(&s->by_stack_id, entry.stack_id, (uint32_t)kept);
		s->sent.items[kept++] = entry;
	}
	s->sent.count = kept;
	vec_fit(&s->sent);
}

/* Gives new ids to the used rows and to those they continue. */
static void move_rows(struct raw_stacks *s, raw_stack_id *ids)
{
	size_t words = 0;
	raw_stack_id kept = 0;

	for (raw_stack_id id = 0; id < s->rows.count; id++) {
		struct raw_stack row = s->rows.items[id];
		size_t size = body_size(&row), count = size ? size / 8 : 1;

		if (ids[id] == NO_RAW_STACK)
			continue;
		memmove(s->words.items + words, s->words.items + row.first_word,
			count * sizeof(*s->words.items));
		row.first_word = words;
		words += count;
		/* A row continues an older row, which has already moved. */
		row.outer = row.outer == NO_RAW_STACK ? NO_RAW_STACK : ids[row.outer];
		index_add(&s->by_content, content_hash(&row, s->words.items + row.first_word, size),
			  kept);
		s->rows.items[kept] = row;
		ids[id] = kept++;
	}
	s->rows.count = kept;
	s->words.count = words;
	vec_fit(&s->rows);
	vec_fit(&s->words);
}

/*
 * Drops stacks sent before the last call, except those not looked up yet. All ids change. The
 * recorder resends the stacks it still needs in each epoch.
 */
static void raw_stacks_forget(struct raw_stacks *s)
{
	_cleanup_free_ raw_stack_id *ids = xmalloc((s->rows.count + 1) * sizeof(*ids));

	forget_sent(s);
	index_release(&s->by_content);
	memset(ids, 0xff, (s->rows.count + 1) * sizeof(*ids));
	vec_for_each(&s->sent, const struct stack_cache_entry *, entry) {
		for (raw_stack_id id = entry->stack; id != NO_RAW_STACK && ids[id] == NO_RAW_STACK;
		     id = s->rows.items[id].outer)
			ids[id] = 0;
	}
	move_rows(s, ids);
	vec_for_each(&s->sent, struct stack_cache_entry *, entry)
		entry->stack = ids[entry->stack];
}

/*
 * The caches: each key has a pair of lines, which share a hardware cache line; a new result
 * replaces the older one. A miss costs only one walk over the stack. The fixed size protects memory
 * from machines full of short-lived processes, and short recordings touch few lines.
 */
#define FIRST_LINES (1u << 12)
#define LINES_MAX (1u << 15)
/* Number of sets of children of stacks, 2 MB, and of children in a set. */
#define CHILD_SETS (1u << 16)
#define CHILDREN 2

struct resolved {
	uint64_t stamp; /* stamp of the mappings used */
	uint32_t key; /* raw_stack_id plus one; 0: empty */
	stack_id stack;
	struct stack_extent extent;
};

/* A stack and its leaf. */
struct resolved_leaf {
	uint64_t stamp, addr;
	stack_id base, stack;
	uint8_t kind;
	bool is_used;
};

#define LINE_BYTES 32
_Static_assert(sizeof(struct resolved) == LINE_BYTES, "");
_Static_assert(sizeof(struct resolved_leaf) == LINE_BYTES, "");

/*
 * A frame that was added to a stack. Stacks of a program resemble each other from the root on, in
 * all its processes, so one of the last frames that were added is mostly the next one needed, which
 * saves two searches. The children of stacks with neighbouring ids are neighbours in memory.
 */
struct child {
	uint64_t place; /* see child_place() */
	module_id module;
	stack_id stack; /* its id plus 1; 0: no child yet */
};

#define CHILDREN_BYTES (CHILD_SETS * CHILDREN * sizeof(struct child))

/* A user frame as it was received, with the stack from the root to it. */
struct last_frame {
	uint64_t addr;
	stack_id stack;
	uint8_t kind;
};

/* The location of a frame. */
struct located_frame {
	uint64_t addr; /* address that represents the frame */
	const struct frame_kind_info *info;
	const struct mapping *mapping; /* NULL: not in any mapping */
};

/* Allocates an empty cache; untouched pages use no memory. */
static void *make_cache(size_t size)
{
	void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (memory == MAP_FAILED)
		alloc_failed();
	return memory;
}

static void make_caches(struct resolver *r)
{
	uint8_t *memory = make_cache(2 * (size_t)r->lines * LINE_BYTES);

	r->cache = (void *)memory;
	r->leaves = (void *)(memory + (size_t)r->lines * LINE_BYTES);
}

static void drop_caches(struct resolver *r)
{
	munmap(r->cache, 2 * (size_t)r->lines * LINE_BYTES);
}

void resolver_init(struct resolver *r, struct profile *profile)
{
	*r = (struct resolver){.profile = profile};
	r->kernel = mapping_table_new();
	r->lines = FIRST_LINES;
	make_caches(r);
	r->children = make_cache(CHILDREN_BYTES);
}

/* Enlarges and empties the caches after as many misses as they have lines. */
static void note_miss(struct resolver *r)
{
	if (++r->misses < r->lines || r->lines == LINES_MAX)
		return;
	r->misses = 0;
	drop_caches(r);
	r->lines *= 2;
	make_caches(r);
}

/* Clears all cached results. */
static void clear_found(struct resolver *r)
{
	memset(r->cache, 0, 2 * (size_t)r->lines * LINE_BYTES);
	for (size_t i = 0; i < LAST_STACKS; i++)
		vec_clear(&r->last[i].frames);
}

/* Clears the caches if the kernel's mappings have changed, which is rare. */
static void check_kernel(struct resolver *r)
{
	if (r->kernel_stamp == r->kernel->stamp)
		return;
	clear_found(r);
	r->kernel_stamp = r->kernel->stamp;
}

void resolver_release(struct resolver *r)
{
	mapping_table_drop(r->kernel);
	raw_stacks_release(&r->raw);
	vec_release(&r->addrs);
	vec_release(&r->kinds);
	vec_release(&r->located);
	munmap(r->children, CHILDREN_BYTES);
	for (size_t i = 0; i < LAST_STACKS; i++)
		vec_release(&r->last[i].frames);
	drop_caches(r);
}

/*
 * Returns the address to resolve for a frame. A return address belongs to the instruction after the
 * call, which may be in another line or even another function; one less is within the call. Nothing
 * else subtracts it.
 */
static uint64_t frame_addr(uint64_t addr, bool is_pc)
{
	return is_pc || !addr ? addr : addr - 1;
}

/* Created with the first frame in it: most anonymous memory is never executed. */
static module_id anon_module(struct profile *p, struct process *process)
{
	if (process->anon == NO_MODULE) {
		string_id name = strings_intern(&p->strings, "[anon]");

		process->anon = modules_add(&p->modules, PROFILE_MODULE_ANON, name, name);
		modules_get(&p->modules, process->anon)->pid = process->pid;
	}
	return process->anon;
}

/*
 * Packs the frame's offset and kind, and the part of the parent's id that the set does not tell.
 * Returns false if there are too few bits: for that many stacks, and for offsets that are no
 * addresses.
 */
static bool child_place(stack_id parent, const struct frame *frame, uint64_t *place)
{
	uint32_t rest = (parent + 1u) / CHILD_SETS;

	*place = frame->offset << 16 | (uint64_t)frame->kind << 8 | rest;
	return rest <= UINT8_MAX && (uint64_t)((int64_t)*place >> 16) == frame->offset;
}

static stack_id intern(struct resolver *r, stack_id parent, const struct frame *frame)
{
	struct child *set = &r->children[(parent + 1u) % CHILD_SETS * CHILDREN]; /* NO_STACK: 0 */
	uint64_t place;
	bool fits = child_place(parent, frame, &place);
	stack_id stack;

	for (size_t i = 0; fits && i < CHILDREN; i++) {
		if (set[i].place == place && set[i].module == frame->module && set[i].stack)
			return set[i].stack - 1;
	}
	stack = stacks_intern(&r->profile->stacks, parent,
			      frames_intern(&r->profile->frames, frame));
	if (!fits)
		return stack;
	memmove(set + 1, set, (CHILDREN - 1) * sizeof(*set));
	set[0] = (struct child){.place = place, .module = frame->module, .stack = stack + 1};
	return stack;
}

static void find_mapping(const struct resolver *r, struct located_frame *place,
			 const struct mapping_table *mappings)
{
	place->mapping = NULL;
	if (place->info->place != FRAME_PLACE_NONE)
		place->mapping = mapping_table_find(
			place->info->place == FRAME_PLACE_KERNEL ? r->kernel : mappings,
			place->addr);
}

static stack_id push_frame(struct resolver *r, stack_id parent, const struct located_frame *place,
			   struct process *process)
{
	const struct mapping *mapping = place->mapping;
	struct frame frame = {
		.module = NO_MODULE,
		.func = NO_FUNC,
		.offset = place->addr,
		.symbol = NO_SYMBOL,
		.kind = (uint8_t)place->info->kind,
	};

	if (mapping) {
		frame.offset = place->addr - mapping->start + mapping->file_offset;
		frame.module = mapping->module;
		if (mapping->module == MAPPING_ANON)
			frame.module = anon_module(r->profile, process);
	}
	return intern(r, parent, &frame);
}

static bool is_interrupted(const struct resolver *r, uint32_t i)
{
	return frame_kind_info(r->kinds.items[i], false)->is_interrupted;
}

/*
 * True if the address of user frame `i` is the instruction's own and not a return address. That
 * includes signal trampolines, which are not called: the kernel makes the handler return to their
 * first instruction. Their frame comes just before the interrupted one.
 */
static bool is_pc(const struct resolver *r, const struct raw_stack *stack, uint32_t i)
{
	if (is_interrupted(r, i) || (i == stack->kernel_depth && stack->flags & STACK_USER_PC))
		return true;
	return i + 1 < stack->depth && is_interrupted(r, i + 1);
}

/* Locates frame `i`. `near`: location of an adjacent frame, or NULL. */
static const struct located_frame *locate(struct resolver *r, const struct raw_stack *stack,
					  uint32_t i, const struct mapping_table *mappings,
					  const struct located_frame *near)
{
	bool is_kernel = i < stack->kernel_depth;
	struct located_frame *place = &r->located.items[i];

	place->info = frame_kind_info(r->kinds.items[i], is_kernel);
	place->addr = r->addrs.items[i];
	if (place->info->place != FRAME_PLACE_NONE)
		place->addr = frame_addr(place->addr, !is_kernel && is_pc(r, stack, i));
	if (near && near->mapping && near->info->place == place->info->place &&
	    place->addr >= near->mapping->start && place->addr < near->mapping->end)
		place->mapping = near->mapping;
	else
		find_mapping(r, place, mappings);
	return place;
}

/*
 * Locates the frames before `end`. Returns the number of user frames up to the first one that is
 * not code, according to the mappings: a frame pointer register with other contents leads the
 * walker into data, and if the first native address is in no executable mapping, the rest is not a
 * call chain either.
 */
static uint32_t code_depth(struct resolver *r, const struct raw_stack *stack, uint32_t end,
			   const struct mapping_table *mappings)
{
	const struct located_frame *place = NULL;
	uint32_t i = 0;

	while (i < end) {
		place = locate(r, stack, i, mappings, place);
		if (i >= stack->kernel_depth && place->info->place == FRAME_PLACE_PROCESS &&
		    !place->mapping && mappings->rows.count)
			break;
		i++;
	}
	return i - stack->kernel_depth;
}

/*
 * Remembers frame `i` if all frames outside of it are remembered; the innermost may be an address
 * of another kind in the next stack.
 */
static void remember(const struct resolver *r, const struct raw_stack *stack, uint32_t i,
		     stack_id id, struct last_stack *last)
{
	if (i > stack->kernel_depth && last->frames.count == stack->depth - 1 - i)
		vec_push(&last->frames,
			 (struct last_frame){r->addrs.items[i], id, r->kinds.items[i]});
}

/* Adds the `count` innermost frames, already located, to `base`, except those of unknown kinds. */
static stack_id walk(struct resolver *r, const struct raw_stack *stack, stack_id base,
		     uint32_t count, struct process *process, struct stack_extent *extent,
		     struct last_stack *last)
{
	stack_id id = base;

	while (count-- > 0) {
		const struct located_frame *place = &r->located.items[count];

		if (place->info->place == FRAME_PLACE_UNKNOWN) {
			extent->unknown_depth++;
			continue;
		}
		extent->has_user_frame |= count >= stack->kernel_depth;
		id = push_frame(r, id, place, process);
		remember(r, stack, count, id, last);
	}
	return id;
}

static void unpack(struct resolver *r, const struct raw_stack *stack)
{
	vec_reserve(&r->addrs, stack->depth);
	vec_reserve(&r->kinds, stack->depth);
	vec_reserve(&r->located, stack->depth);
	raw_stack_unpack(&r->raw, stack, r->addrs.items, r->kinds.items);
}

/* Returns the first line of a pair. */
static struct resolved *pair_of(const struct resolver *r, raw_stack_id raw,
				const struct mapping_table *mappings)
{
	uint64_t hash = hash_u64(mappings->stamp << 32 | raw);

	return &r->cache[hash % r->lines & ~1u];
}

static bool is_line_of(const struct resolved *line, raw_stack_id raw,
		       const struct mapping_table *mappings)
{
	return line->key == raw + 1 && line->stamp == mappings->stamp;
}

/* Returns the entry of the last stack with these mappings, without frames if there was none. */
static struct last_stack *last_stack_of(struct resolver *r, const struct mapping_table *mappings)
{
	struct last_stack *last = &r->last[mappings->stamp % LAST_STACKS];

	if (last->stamp == mappings->stamp)
		return last;
	last->stamp = mappings->stamp;
	vec_clear(&last->frames);
	return last;
}

/*
 * Returns the number of outermost frames that both stacks share, without the innermost user frame.
 */
static uint32_t count_common(const struct resolver *r, const struct raw_stack *stack,
			     const struct last_stack *last)
{
	uint32_t count = 0, user_depth = raw_stack_user_depth(stack);

	while (count < last->frames.count && count + 1 < user_depth) {
		const struct last_frame *frame = &last->frames.items[count];
		uint32_t i = stack->depth - 1 - count;

		if (frame->addr != r->addrs.items[i] || frame->kind != r->kinds.items[i])
			break;
		count++;
	}
	return count;
}

static void resolve(struct resolver *r, const struct raw_stack *stack, struct process *process,
		    const struct mapping_table *mappings, struct resolved *line)
{
	struct last_stack *last = last_stack_of(r, mappings);
	struct stack_extent *extent = &line->extent;
	uint32_t common, user_depth = raw_stack_user_depth(stack);

	unpack(r, stack);
	common = count_common(r, stack, last);
	extent->user_depth = common + code_depth(r, stack, stack->depth - common, mappings);
	/* End the stack before the first frame that is not code. */
	if (extent->user_depth < user_depth) {
		extent->user_depth -= common;
		common = 0;
	}
	if (stack->depth)
		extent->has_guess = memchr(r->kinds.items, FRAME_GUESS,
					   stack->kernel_depth + extent->user_depth);
	last->frames.count = common;
	extent->has_user_frame = common;
	line->stack = walk(r, stack, common ? vec_last(&last->frames).stack : NO_STACK,
			   stack->kernel_depth + extent->user_depth - common, process, extent,
			   last);
}

stack_id resolver_stack(struct resolver *r, raw_stack_id raw, struct process *process,
			const struct mapping_table *mappings, struct stack_extent *extent)
{
	struct resolved *line, new;

	check_kernel(r);
	line = pair_of(r, raw, mappings);
	if (!is_line_of(line, raw, mappings) && !is_line_of(++line, raw, mappings)) {
		new = (struct resolved){.stamp = mappings->stamp, .key = raw + 1};
		resolve(r, &r->raw.rows.items[raw], process, mappings, &new);
		note_miss(r);
		line = pair_of(r, raw, mappings);
		line[1] = line[0];
		line[0] = new;
	}
	*extent = line->extent;
	return line->stack;
}

/* Returns the first line of a pair. */
static struct resolved_leaf *leaf_pair_of(const struct resolver *r,
					  const struct resolved_leaf *wanted)
{
	uint64_t hash = hash_pair(wanted->addr, wanted->stamp << 32 | wanted->base);

	return &r->leaves[hash % r->lines & ~1u];
}

static bool is_leaf(const struct resolved_leaf *line, const struct resolved_leaf *wanted)
{
	return line->is_used && line->addr == wanted->addr && line->base == wanted->base &&
	       line->stamp == wanted->stamp && line->kind == wanted->kind;
}

stack_id resolver_leaf(struct resolver *r, stack_id base, uint64_t addr, uint8_t kind,
		       struct process *process, const struct mapping_table *mappings)
{
	struct located_frame place = {
		.addr = frame_addr(addr, true),
		.info = frame_kind_info(kind, kind == FRAME_KERNEL),
	};
	struct resolved_leaf new = {
		.stamp = mappings ? mappings->stamp : 0,
		.addr = addr,
		.base = base,
		.kind = kind,
		.is_used = true,
	};
	struct resolved_leaf *line;

	check_kernel(r);
	line = leaf_pair_of(r, &new);
	if (is_leaf(line, &new) || is_leaf(++line, &new))
		return line->stack;
	note_miss(r);
	find_mapping(r, &place, mappings);
	new.stack = push_frame(r, base, &place, process);
	line = leaf_pair_of(r, &new);
	line[1] = line[0];
	line[0] = new;
	return new.stack;
}

void resolver_forget(struct resolver *r)
{
	raw_stacks_forget(&r->raw);
	memset(r->cache, 0, (size_t)r->lines * LINE_BYTES);
}

void resolver_clear(struct resolver *r)
{
	clear_found(r);
	munmap(r->children, CHILDREN_BYTES);
	r->children = make_cache(CHILDREN_BYTES);
}

bool resolver_is_32bit(const struct resolver *r, const struct mapping_table *mappings)
{
	bool is_32bit = false;

	vec_for_each(&mappings->rows, const struct mapping *, mapping) {
		uint16_t machine = 0;

		if (mapping->module < r->profile->modules.rows.count)
			machine = r->profile->modules.rows.items[mapping->module].machine;
		/* The first mapping nearly always decides. */
		if (machine == EM_X86_64 || machine == EM_AARCH64)
			return false;
		is_32bit |= machine == EM_386 || machine == EM_ARM;
	}
	return is_32bit;
}
