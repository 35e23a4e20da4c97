/* SPDX-License-Identifier: MIT */
#include "lib/code/unwind/compile.h"

#include "bpf/walk_table.h"

/* Maximum number of places for signal handlers to return to. */
#define RESTORERS_MAX 4

struct compile {
	const struct compile_input *input;
	struct eh_frame frame, more;
	struct fde more_fde; /* the next FDE of `more` */
	bool has_more;
	struct rows rows;
	size_t next_stub;
	const struct code_range *code; /* range of the last FDE */
	uint64_t end; /* end of the last FDE's rows */
	uint64_t gap_size; /* of the gap between FDEs that is being filled, with stubs in it */
	uint64_t derived; /* bytes of code whose instructions were read */
	bool is_all_derived; /* then `frames` has the rows for all code, in order */
	struct stubs frames;
	size_t next_frame;
	uint64_t restorers[RESTORERS_MAX]; /* the bytes before them */
	size_t restorer_count;
};

/* jmp *0(%rbp): Haskell's code returns to the address on top of its own stack. */
static const uint8_t haskell_return[] = {0xff, 0x65, 0x00};

static bool lies_in(const struct code_range *code, uint64_t vaddr)
{
	return vaddr >= code->start && vaddr < code->end;
}

/* Returns the executable range of a vaddr, usually the one found last; NULL: not executable. */
static const struct code_range *find_code(struct compile *c, uint64_t vaddr)
{
	if (c->code && lies_in(c->code, vaddr))
		return c->code;
	for (size_t i = 0; i < c->input->code_count; i++) {
		if (!lies_in(&c->input->code[i], vaddr))
			continue;
		c->code = &c->input->code[i];
		return c->code;
	}
	return NULL;
}

/*
 * Returns whether signal handlers return to the byte after `vaddr`. CFI of that code, if any,
 * describes a function.
 */
static bool is_before_restorer(const struct compile *c, uint64_t vaddr)
{
	return items_find(c->restorers, c->restorer_count, it, *it == vaddr);
}

static void find_restorers(struct compile *c)
{
	const struct compile_input *input = c->input;

	for (size_t i = 0; i < input->stub_count && c->restorer_count < RESTORERS_MAX; i++) {
		if (input->stubs[i].rule.flags & UNWIND_SIGNAL_FRAME)
			c->restorers[c->restorer_count++] = input->stubs[i].vaddr;
	}
}

/*
 * Returns the next FDE in executable code whose start differs from the last one's, cut to the
 * executable range. False at the end.
 */
static bool next_fde(struct compile *c, struct eh_frame *frame, const struct fde *before,
		     struct fde *fde)
{
	struct unwind_table_stats *stats = &c->rows.table->stats;

	while (eh_frame_next(frame, fde)) {
		const struct code_range *code = find_code(c, fde->start);

		if (!code) {
			stats->outside++;
			continue;
		}
		if (fde->end > code->end)
			fde->end = code->end;
		if (is_before_restorer(c, fde->start - 1))
			continue;
		if (fde->end - fde->start > 1 && is_before_restorer(c, fde->end - 1))
			fde->end--;
		if (before && fde->start < before->end) {
			stats->overlapping++;
			if (fde->start == before->start)
				continue;
		}
		return true;
	}
	return false;
}

static uint16_t stub_rule(struct compile *c, const struct stub_row *stub)
{
	if (stub->rule.cfa_kind == UNWIND_CFA_NONE)
		return UNWIND_RULE_NONE;
	return rows_rule(&c->rows, rule_pack(&stub->rule));
}

/* Sizes of gaps between FDEs to examine for code with a known rule. */
#define GAP_SIZE_MIN 8
#define GAP_SIZE_MAX 24

/*
 * Returns the rule of the code in a gap. Compilers pad up to a function's alignment; such gaps, by
 * far the most, are not read.
 */
static uint16_t gap_rule(struct compile *c, uint64_t from, uint64_t to)
{
	const struct compile_input *input = c->input;
	uint8_t code[GAP_SIZE_MAX];
	struct unwind_rule rule;

	if (!input->arch->gap_rule || !input->read_code || to - from < GAP_SIZE_MIN ||
	    to - from > sizeof(code) || to % 16 == 0 ||
	    !input->read_code(input->ctx, from, code, to - from) ||
	    !input->arch->gap_rule(code, to - from, &rule))
		return UNWIND_RULE_NONE;
	return rows_rule(&c->rows, rule_pack(&rule));
}

/* Sizes of gaps to examine for code at the end of stacks: up to a few functions. */
#define END_GAP_MIN 32
#define END_GAP_MAX 4096

/* Finds the part of a gap, if any, at which stacks created by the program end. */
static bool find_gap_end(struct compile *c, uint64_t from, uint64_t to, struct code_range *found)
{
	const struct compile_input *input = c->input;
	uint8_t code[END_GAP_MAX];
	size_t start, end;

	if (!input->arch->gap_end || !input->read_code || to - from < END_GAP_MIN ||
	    to - from > sizeof(code) || !input->read_code(input->ctx, from, code, to - from) ||
	    !input->arch->gap_end(code, to - from, &start, &end))
		return false;
	*found = (struct code_range){from + start, from + end};
	return true;
}

/* Sizes of code whose instructions are read: more than filler, and at once. */
#define DERIVED_MIN 16
#define DERIVED_MAX (64u << 20)
#define SAMPLE_SIZE ((size_t)64 << 10)
/* Bytes of a function, on average, in code that has frame pointers. */
#define FRAME_POINTER_DISTANCE 512

/* push %rbp; mov %rsp,%rbp */
static const uint8_t frame_pointer[] = {0x55, 0x48, 0x89, 0xe5};

/* Returns whether the code is Haskell's, which has its own stacks and returns by jumps. */
static bool has_own_stacks(const uint8_t *code, size_t size)
{
	return memmem(code, MIN(size, SAMPLE_SIZE), haskell_return, sizeof(haskell_return));
}

static bool has_frame_pointers(const uint8_t *code, size_t size)
{
	const uint8_t *at = code, *end = code + MIN(size, SAMPLE_SIZE);
	size_t count = 0;

	while ((at = memmem(at, (size_t)(end - at), frame_pointer, sizeof(frame_pointer)))) {
		count++;
		at++;
	}
	/* One alone may be crtbegin.o's, in front of a small program without them. */
	return count > 1 && count * FRAME_POINTER_DISTANCE >= (size_t)(end - code);
}

/*
 * Finds the frames of functions in a part of the code by their instructions. Frame pointers suffice
 * for pieces, as V8's in node; all code of a file may have functions without one that call nothing.
 */
static void derive_part(struct compile *c, uint64_t from, uint64_t to, struct stubs *frames)
{
	const struct compile_input *input = c->input;
	_cleanup_free_ uint8_t *bytes = NULL;
	struct stub_code code;

	if (to - from < DERIVED_MIN || to - from > DERIVED_MAX - c->derived)
		return;
	c->derived += to - from;
	bytes = xmalloc(to - from);
	if (!input->read_code(input->ctx, from, bytes, to - from) ||
	    has_own_stacks(bytes, to - from) ||
	    (!c->is_all_derived && has_frame_pointers(bytes, to - from)))
		return;
	code = (struct stub_code){.code = bytes, .size = to - from, .vaddr = from};
	input->arch->add_frames(frames, &code);
}

/*
 * Finds the frames of functions in a gap. Calls show where functions begin: if the gap is most of
 * the code, all code is analysed, once.
 */
static void derive_frames(struct compile *c, uint64_t from, uint64_t to, struct stubs *frames)
{
	const struct code_range *all = &c->input->derived;

	if (from < all->start)
		from = all->start;
	if (to > all->end)
		to = all->end;
	if (!c->input->arch->add_frames || !c->input->read_code || from >= to)
		return;
	if (!c->is_all_derived && c->gap_size > (all->end - all->start) / 2) {
		c->is_all_derived = true;
		derive_part(c, all->start, all->end, &c->frames);
	}
	if (!c->is_all_derived)
		derive_part(c, from, to, frames);
	/* Gaps come in order. */
	for (; c->next_frame < c->frames.rows.count; c->next_frame++) {
		const struct stub_row row = c->frames.rows.items[c->next_frame];

		if (row.vaddr >= to)
			break;
		if (row.vaddr >= from)
			vec_push(&frames->rows, row);
	}
}

/* Adds rows for code that has neither an FDE nor a stub's rule. */
static void add_bare(struct compile *c, uint64_t from, uint64_t to)
{
	uint16_t rule = gap_rule(c, from, to);
	struct code_range end = {from, from};
	struct stubs frames = {0};

	if (rule == UNWIND_RULE_NONE && !find_gap_end(c, from, to, &end))
		derive_frames(c, from, to, &frames);
	if (!frames.rows.count || frames.rows.items[0].vaddr > from)
		rows_add(&c->rows, from, rule);
	if (end.start < end.end) {
		rows_add(&c->rows, end.start, UNWIND_RULE_END);
		rows_add(&c->rows, end.end, UNWIND_RULE_NONE);
	}
	vec_for_each(&frames.rows, const struct stub_row *, row) {
		/* A row at the end describes the code after the gap. */
		if (row->vaddr < to)
			rows_add(&c->rows, row->vaddr, stub_rule(c, row));
	}
	stubs_release(&frames);
}

/* Adds rows for code without an FDE. */
static void add_stubs(struct compile *c, uint64_t from, uint64_t to)
{
	const struct stub_row *stubs = c->input->stubs;
	size_t at = c->next_stub, count = c->input->stub_count;

	while (at < count && stubs[at].vaddr < from)
		at++;
	if (at == count || stubs[at].vaddr > from)
		add_bare(c, from, at < count && stubs[at].vaddr < to ? stubs[at].vaddr : to);
	for (; at < count && stubs[at].vaddr < to; at++) {
		uint16_t rule = stub_rule(c, &stubs[at]);
		uint64_t next = at + 1 < count && stubs[at + 1].vaddr < to ? stubs[at + 1].vaddr
									   : to;

		if (rule == UNWIND_RULE_NONE)
			add_bare(c, stubs[at].vaddr, next);
		else
			rows_add(&c->rows, stubs[at].vaddr, rule);
	}
	c->next_stub = at;
}

/* Returns the size of the function at the entry, as far as its code is known: at most `size`. */
static uint64_t entry_size(const struct compile_input *input, uint64_t size)
{
	uint8_t bytes[WALK_ENTRY_SIZE];
	struct stub_code code = {.code = bytes, .size = size, .vaddr = input->entry};

	if (!input->arch->function_size || !input->read_code ||
	    !input->read_code(input->ctx, input->entry, bytes, size))
		return size;
	return input->arch->function_size(&code);
}

/*
 * Adds rows for code without an FDE. Stacks end at the entry, which has no FDE in musl's crt1.o;
 * the program's own functions may follow at once.
 */
static void add_around_entry(struct compile *c, uint64_t from, uint64_t to)
{
	uint64_t entry = c->input->entry, size;

	c->gap_size = to - from;
	if (entry < from || entry >= to) {
		add_stubs(c, from, to);
		return;
	}
	if (from < entry)
		add_stubs(c, from, entry);
	rows_add(&c->rows, entry, UNWIND_RULE_END);
	size = entry_size(c->input, MIN(to - entry, WALK_ENTRY_SIZE));
	if (to - entry > size)
		add_stubs(c, entry + size, to);
}

/* Linkers set the addresses of omitted functions to 0. */
static void next_more(struct compile *c)
{
	do {
		const struct fde before = c->more_fde;

		c->has_more = next_fde(c, &c->more, &before, &c->more_fde);
	} while (c->has_more && !c->more_fde.start);
}

/* Adds rows for code without an FDE in the first section. */
static void fill_gap(struct compile *c, uint64_t from, uint64_t to)
{
	for (; c->has_more && c->more_fde.start < to; next_more(c)) {
		struct fde fde = c->more_fde;

		if (fde.start < from || fde.start == fde.end)
			continue;
		if (fde.start > from)
			add_around_entry(c, from, fde.start);
		if (fde.end > to)
			fde.end = to;
		if (!cfi_run_fde(c->input->arch, eh_frame_cie(&c->more, &fde), &fde, to, &c->rows))
			c->rows.table->stats.malformed++;
		from = fde.end;
	}
	if (from < to)
		add_around_entry(c, from, to);
}

/*
 * True if stacks end there although CFI does not state it: Zig's at the entry, and those of
 * greenlets before callers that others overwrite meanwhile.
 */
static bool ends_stacks(const struct compile_input *input, const struct fde *fde, uint64_t limit)
{
	if (input->greenlet && fde->start == input->greenlet)
		return true;
	return input->is_program && input->entry >= fde->start &&
	       input->entry < MIN(fde->end, limit);
}

static void add_fde(struct compile *c, const struct fde *fde, uint64_t limit)
{
	if (fde->start > c->end)
		fill_gap(c, c->end, fde->start);
	c->end = fde->end;
	if (ends_stacks(c->input, fde, limit))
		rows_add(&c->rows, fde->start, UNWIND_RULE_END);
	else if (!cfi_run_fde(c->input->arch, eh_frame_cie(&c->frame, fde), fde, limit, &c->rows))
		c->rows.table->stats.malformed++;
}

/* Stubs often lie outside all FDEs: the first and the last extend the table. */
static uint64_t first_stub(const struct compile_input *input)
{
	return input->stub_count ? input->stubs[0].vaddr : UINT64_MAX;
}

static uint64_t last_stub(const struct compile_input *input)
{
	return input->stub_count ? input->stubs[input->stub_count - 1].vaddr : 0;
}

static void add_all(struct compile *c)
{
	/* Reads one FDE ahead, because an FDE ends at the start of the next. */
	struct fde fdes[2], *fde = &fdes[0], *next = &fdes[1];
	bool more = next_fde(c, &c->frame, NULL, fde);
	uint64_t start, end, entry = c->input->entry;

	next_more(c);
	c->end = first_stub(c->input);
	if (more && fde->start < c->end)
		c->end = fde->start;
	if (c->has_more && c->more_fde.start < c->end)
		c->end = c->more_fde.start;
	if (c->input->derived.end && c->input->derived.start < c->end)
		c->end = c->input->derived.start;
	start = c->end;
	while (more && !c->rows.overflowed) {
		struct fde *done = fde;

		more = next_fde(c, &c->frame, fde, next);
		add_fde(c, fde, more ? next->start : UINT64_MAX);
		fde = next;
		next = done;
	}
	while (c->has_more && !c->rows.overflowed) {
		end = c->more_fde.end;
		if (c->more_fde.start < c->end || end <= c->end) {
			next_more(c);
			continue;
		}
		fill_gap(c, c->end, end);
		c->end = end;
	}
	/* The last stub row only marks the end of the stubs. */
	end = last_stub(c->input) > c->input->derived.end ? last_stub(c->input)
							  : c->input->derived.end;
	if (end > c->end) {
		fill_gap(c, c->end, end);
		c->end = end;
	}
	rows_finish(&c->rows, c->end);
	c->rows.table->has_entry = entry >= start && entry < c->end;
}

/* Bytes of code to search at once. */
#define HASKELL_BLOCK 4096

/* Returns whether the code returns as Haskell's does. */
static bool is_haskell(const struct compile_input *input, uint64_t from, uint64_t to)
{
	uint8_t code[HASKELL_BLOCK];

	while (to - from >= sizeof(haskell_return)) {
		size_t size = to - from < sizeof(code) ? to - from : sizeof(code);

		if (!input->read_code(input->ctx, from, code, size))
			return false;
		if (memmem(code, size, haskell_return, sizeof(haskell_return)))
			return true;
		from += size - (sizeof(haskell_return) - 1);
	}
	return false;
}

/* Sets the rule of Haskell's code, which has no CFI. */
static void fill_haskell(struct compile *c)
{
	struct unwind_table *table = c->rows.table;
	struct unwind_row *without = NULL;
	uint64_t from = 0;

	for (size_t page = 0; page < table->page_count; page++) {
		for (size_t i = table->index.items[page]; i < table->index.items[page + 1]; i++) {
			struct unwind_row *row = &table->rows.items[i];
			uint64_t vaddr = table->start + page * UNWIND_PAGE_SIZE + row->pc_low;

			if (without && is_haskell(c->input, from, vaddr))
				without->rule = c->rows.mutator;
			without = row->rule == UNWIND_RULE_NONE ? row : NULL;
			from = vaddr;
		}
	}
}

/* Returns an upper bound: overlapping ranges count twice. */
static uint64_t code_size(const struct compile_input *input)
{
	uint64_t size = 0;

	for (size_t i = 0; i < input->code_count; i++) {
		if (__builtin_add_overflow(size, input->code[i].end - input->code[i].start, &size))
			return UINT64_MAX;
	}
	return size;
}

int compile_table(const struct compile_input *input, struct unwind_rules *rules,
		  struct unwind_table *table, struct error *err)
{
	struct compile c = {.input = input};

	/*
	 * In compilers' output a row takes at least five bytes of CFI, including its share of the
	 * FDE's header.
	 */
	find_restorers(&c);
	vec_reserve(&table->rows, input->cfi.size / 4 + 1);
	rows_init(&c.rows, table, rules, code_size(input));
	eh_frame_init(&c.frame, input->arch, &input->cfi, &input->hdr, input->is_debug_frame,
		      &table->stats);
	eh_frame_init(&c.more, input->arch, &input->more, &(struct cfi_section){0}, true,
		      &table->stats);
	add_all(&c);
	eh_frame_release(&c.frame);
	eh_frame_release(&c.more);
	stubs_release(&c.frames);
	if (c.rows.mutator != UNWIND_RULE_NONE && input->read_code)
		fill_haskell(&c);
	if (c.rows.overflowed)
		return error_text(err, -EFBIG, "too much call frame information");
	return 0;
}
