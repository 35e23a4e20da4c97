/* SPDX-License-Identifier: MIT */
#include "lib/code/unwind/user_walk.h"

#include "bpf/config.h"

#ifdef __aarch64__
#define OWN_ARCH unwind_arch_aarch64
#else
#define OWN_ARCH unwind_arch_x86_64
#endif

struct unwind_machine unwind_machine_own(void)
{
	return (struct unwind_machine){
		.arch = &OWN_ARCH,
		.pc_mask = walk_own_pc_mask(),
		.page_size = (uint32_t)sysconf(_SC_PAGESIZE),
	};
}

bool unwind_machine_is_arm64(const struct unwind_machine *machine)
{
	return machine->arch == &unwind_arch_aarch64;
}

struct walk_frame;

static int read_words(const struct walk_frame *frame, __u64 *to, uint64_t addr, size_t count);
static uint32_t word_size(const struct walk_frame *frame);
static bool is_arm64(const struct walk_frame *frame);
static uint64_t pc_mask(const struct walk_frame *frame);
static uint64_t thread_pointer(const struct walk_frame *frame);

#define walk_word(frame) word_size(frame)
#define walk_read_word(frame, to, addr) read_words(frame, to, addr, 1)
#define walk_read_pair(frame, to, addr) read_words(frame, to, addr, 2)
#define walk_read_words(frame, to, addr, count) read_words(frame, to, addr, count)
#define walk_is_arm64(frame) is_arm64(frame)
#define walk_pc_mask(frame) pc_mask(frame)
#define walk_thread_pointer(frame) thread_pointer(frame)
#include "bpf/walk.h"

/* Limit of guesses about a stack that are followed to their end. */
#define TRIALS_MAX 256

struct walk {
	struct walk_frame frame; /* must be first: steps get only a pointer to it */
	const struct walk_target *target;
	struct walk_path *path;
	uint64_t top_sp; /* sp at the start of the walk */
	bool leaves_stack; /* this step leads to another stack */
	bool left_copy; /* this step read outside the copy, probably on a stack */
	uint32_t trials; /* guesses followed so far */
	struct unwind_mapping mapping; /* the mapping found last */
	struct unwind_rule rule;
};

static bool read_piece(const struct walk_piece *piece, void *to, uint64_t addr, size_t size)
{
	uint64_t offset = addr - piece->start;

	if (addr < piece->start || offset > piece->size || size > piece->size - offset)
		return false;
	memcpy(to, (const char *)piece->bytes + offset, size);
	return true;
}

/* Returns true if the address probably lies in the stack whose inner end is this piece. */
static bool is_beyond(const struct walk_piece *piece, uint64_t addr)
{
	return piece->is_stack && addr >= piece->start &&
	       addr - piece->start < piece->size + WALK_FRAME_SIZE_MAX;
}

static int read_stack(const struct walk_frame *frame, void *to, uint64_t addr, size_t size)
{
	struct walk *w = (struct walk *)frame;
	const struct walk_target *t = w->target;
	const struct walk_piece stack = {t->stack_start, t->stack, t->stack_size, true};
	bool left = w->leaves_stack || is_beyond(&stack, addr);

	if (read_piece(&stack, to, addr, size))
		return 0;
	for (size_t i = 0; i < t->piece_count; i++) {
		if (read_piece(&t->pieces[i], to, addr, size))
			return 0;
		left |= is_beyond(&t->pieces[i], addr);
	}
	w->left_copy |= left;
	return -1;
}

static uint32_t word_size(const struct walk_frame *frame)
{
	return ((const struct walk *)frame)->target->is_32bit ? 4 : 8;
}

/* Reads one or two words. */
static int read_words(const struct walk_frame *frame, __u64 *to, uint64_t addr, size_t count)
{
	uint32_t narrow[2];

	if (word_size(frame) == 8)
		return read_stack(frame, to, addr, count * 8);
	if (read_stack(frame, narrow, addr, count * 4))
		return -1;
	for (size_t i = 0; i < count; i++)
		to[i] = narrow[i];
	return 0;
}

static bool is_arm64(const struct walk_frame *frame)
{
	return ((const struct walk *)frame)->target->is_arm64;
}

static uint64_t pc_mask(const struct walk_frame *frame)
{
	uint64_t mask = ((const struct walk *)frame)->target->pc_mask;

	return mask ? mask : UINT64_MAX;
}

static uint64_t thread_pointer(const struct walk_frame *frame)
{
	return ((const struct walk *)frame)->target->thread_pointer;
}

static bool find_mapping(struct walk *w, uint64_t addr)
{
	const struct walk_target *t = w->target;
	size_t low;

	if (addr >= w->mapping.start && addr < w->mapping.end)
		return true;
	low = count_front(t->mappings, t->mapping_count, it, it->start <= addr);
	if (!low || addr >= t->mappings[low - 1].end)
		return false;
	w->mapping = t->mappings[low - 1];
	return true;
}

/* Finds the rule of the frame's pc minus `back` bytes. */
static bool find_rule(struct walk *w, uint32_t back)
{
	const struct walk_target *t = w->target;
	uint64_t addr = w->frame.pc - back;
	uint32_t number = UNWIND_RULE_NONE;
	uint64_t vaddr;

	if (!find_mapping(w, addr))
		return false;
	vaddr = addr - w->mapping.bias;
	if (w->mapping.flags & UNWIND_HAS_TABLE && w->mapping.shard < t->shard_count)
		number = walk_find_rule(&w->mapping, t->shards[w->mapping.shard].words,
					t->shards[w->mapping.shard].size, vaddr);
	if (walk_is_entry(&w->mapping, number, vaddr))
		number = UNWIND_RULE_END;
	if (number >= t->rule_count)
		return false;
	w->rule = t->rules[number];
	return true;
}

static bool step_by_link_register(struct walk *w)
{
	uint64_t pc = w->frame.pc, start = w->mapping.start;
	__u64 ra;

	if (!w->target->is_arm64 || !walk_link_register(&w->frame, &ra))
		return false;
	w->frame.pc = ra;
	if (find_rule(w, 1) && (w->rule.cfa_kind != UNWIND_CFA_NONE || w->mapping.start != start)) {
		walk_to_return(&w->frame, ra, w->frame.sp);
		return true;
	}
	w->frame.pc = pc;
	return false;
}

static bool step_by_frame_pointer(struct walk *w)
{
	__u64 pair[2];

	if (!walk_frame_pointer(&w->frame, pair) || !find_mapping(w, pair[1] - 1))
		return false;
	walk_to_frame_pointer(&w->frame, pair);
	return true;
}

static int find_call(struct walk *w, uint64_t word, uint64_t *target);

/* Finds the end of the Erlang process's stack. 0: unknown. */
static uint64_t find_erlang_stack(struct walk *w)
{
	const struct walk_frame *f = &w->frame;
	__u64 process[WALK_ERLANG_WORDS_READ];
	uint64_t stack = 0;

	if (!walk_is_on_scheduler(f, &w->rule))
		return f->sp + (__u64)((__s64)w->rule.ra_offset * 8);
	if (!w->rule.cfa_deref)
		return f->fp;
	for (uint64_t i = 3; i < WALK_ERLANG_SAVED_WORDS + 3 && !stack; i++) {
		uint64_t at = f->sp - i * 8;

		if (at >= w->top_sp)
			stack = walk_erlang_stack(f, &w->rule, at, process);
	}
	return stack ? stack : walk_erlang_stack(f, &w->rule, 0, process);
}

/* Steps to the caller of Erlang code. */
static enum walk_result step_by_terms(struct walk *w)
{
	uint64_t stack = find_erlang_stack(w);
	__u64 word;

	for (uint32_t i = 0; i < WALK_ERLANG_WORDS; i++, stack += 8) {
		uint64_t target;

		if (!stack || read_words(&w->frame, &word, stack, 1))
			return WALK_BAD_READ;
		if (!walk_may_be_erlang_return(&w->frame, word, i) || !find_mapping(w, word - 1) ||
		    (word & 3 && !(w->target->read_code && find_call(w, word, &target))))
			continue;
		walk_to_return(&w->frame, word, stack + 8);
		return find_rule(w, 1) && w->rule.cfa_kind == UNWIND_CFA_END ? WALK_END
									     : WALK_STEPPED;
	}
	return WALK_BAD_READ;
}

static bool push(struct walk *w, uint8_t kind)
{
	struct walk_path *path = w->path;

	if (path->depth >= path->capacity) {
		path->flags |= STACK_TRUNCATED;
		return false;
	}
	path->addrs[path->depth] = w->frame.pc;
	if (path->sps)
		path->sps[path->depth] = w->frame.sp;
	path->kinds[path->depth++] = kind;
	return true;
}

static bool end(struct walk *w, uint8_t flag)
{
	w->path->flags |= flag;
	return false;
}

static bool end_broken(struct walk *w)
{
	return end(w, w->left_copy ? STACK_TRUNCATED : STACK_BROKEN);
}

static bool step(struct walk *w, uint32_t methods);

/*
 * Returns the effects of a function's code, flags of enum walk_callee. Unreadable code may jump
 * elsewhere.
 */
static uint32_t callee_effects(const struct walk *w, uint64_t start)
{
	const struct walk_target *t = w->target;
	uint8_t code[WALK_CALLEE_SIZE + 8] = {0};
	uint32_t found = 0;

	if (!t->read_code(t->ctx, start, code + 1, WALK_CALLEE_SIZE))
		return WALK_JUMPS_ON;
	for (size_t i = 0; i < WALK_CALLEE_SIZE && !(found & WALK_JUMPS_ON); i++) {
		__u64 word;

		memcpy(&word, code + i, sizeof(word));
		found |= walk_callee_effects(word, start + i, w->frame.pc, t->is_arm64);
	}
	return found;
}

/*
 * Returns whether a call of `target`, with its return address at `at`, can have led to the frame
 * without a jump. Sets *is_known to whether the called code is mapped.
 */
static bool may_be_callee(struct walk *w, uint64_t target, uint64_t at, bool *is_known)
{
	const struct unwind_rule own = w->rule;
	const uint64_t pc = w->frame.pc;
	bool may_be;

	w->frame.pc = target;
	*is_known = find_rule(w, 0);
	w->frame.pc = pc;
	may_be = *is_known &&
		 walk_may_be_callee(&w->frame, &own, &w->mapping, &w->rule, target, at);
	w->rule = own;
	return may_be;
}

/* Returns the enum walk_call before an address. Stores the target of a direct call. */
static int find_call(struct walk *w, uint64_t word, uint64_t *target)
{
	const struct walk_target *t = w->target;
	uint8_t code[WALK_CALL_SIZE];
	uint32_t offset;
	int call;

	if (!find_mapping(w, word - 1) ||
	    !t->read_code(t->ctx, word - sizeof(code), code, sizeof(code)))
		return 0;
	call = walk_is_call(code, t->is_arm64);
	memcpy(&offset, code + 4, sizeof(offset));
	*target = walk_target(offset, word, t->is_arm64);
	if (t->is_32bit)
		*target = (uint32_t)*target;
	return call;
}

/*
 * Handles a return address without a rule for the code before it. Returns true if it is a
 * function's first byte, not left by a call: the stack ends there. After a guess, it may be any
 * pointer.
 */
static bool find_start(struct walk *w)
{
	uint64_t target;

	if (!w->target->read_code || w->frame.by_scan || !(w->mapping.flags & UNWIND_HAS_TABLE) ||
	    !find_rule(w, 0) || w->rule.cfa_kind == UNWIND_CFA_NONE)
		return false;
	if (!find_call(w, w->frame.pc, &target))
		return !(w->rule.flags & UNWIND_SIGNAL_FRAME);
	find_rule(w, 1);
	return false;
}

/*
 * Returns whether the return address is a function's first byte, after a call of that function, but
 * the frame's callee is of another file. libcoro's contexts begin with the address of abort(),
 * before which glibc has such calls.
 */
static bool is_pushed_start(struct walk *w)
{
	const struct walk_path *path = w->path;
	uint64_t pc = w->frame.pc, target;

	return path->depth > 1 && w->target->read_code && !w->frame.by_scan &&
	       find_mapping(w, pc - 1) &&
	       path->addrs[path->depth - 2] - w->mapping.start >=
		       w->mapping.end - w->mapping.start &&
	       find_call(w, pc, &target) == WALK_CALL_DIRECT && target == pc;
}

/* Returns whether the word at the address `at` can be the frame's return address. */
static bool may_be_return(struct walk *w, uint64_t word, uint64_t at)
{
	uint64_t target;
	int call = find_call(w, word, &target);
	bool is_known;

	if (call != WALK_CALL_DIRECT || may_be_callee(w, target, at, &is_known))
		return call;
	return is_known && callee_effects(w, target) & WALK_JUMPS_ON;
}

/*
 * x86-64: returns whether the frame pointer belongs to a caller of interrupted code without a rule:
 * the call at its return address enters another function, which sets it.
 */
static bool is_callers_pair(struct walk *w)
{
	uint64_t target;
	bool is_known;
	__u64 pair[2];

	return !w->target->is_arm64 && w->frame.is_pc && walk_frame_pointer(&w->frame, pair) &&
	       w->frame.fp - w->frame.sp < (WALK_SCAN_WORDS - 1) * sizeof(*pair) &&
	       find_call(w, pair[1], &target) == WALK_CALL_DIRECT &&
	       !may_be_callee(w, target, w->frame.fp + word_size(&w->frame), &is_known) &&
	       is_known && callee_effects(w, target) == WALK_SETS_FP;
}

/*
 * Steps out of an interrupted function without a rule that has no frame yet, or needs none: a
 * guess, except at its first byte.
 */
static bool step_by_leaf(struct walk *w)
{
	const struct walk_target *t = w->target;
	uint64_t callee, code;
	__u64 word;

	if (t->is_arm64 || t->is_32bit || !w->frame.is_pc ||
	    read_words(&w->frame, &word, w->frame.sp, 1) ||
	    find_call(w, word, &callee) != WALK_CALL_DIRECT ||
	    !t->read_code(t->ctx, callee, &code, sizeof(code)) ||
	    !walk_is_leaf(&w->frame, callee, code))
		return false;
	if (callee == w->frame.pc) {
		walk_to_return(&w->frame, word, w->frame.sp + sizeof(word));
		return true;
	}
	walk_to_guess(&w->frame, word, w->frame.sp);
	w->path->flags |= STACK_GUESSED;
	return true;
}

/*
 * Steps out of code without a rule by its return instruction. Returns an enum walk_return.
 */
static enum walk_return step_by_return(struct walk *w)
{
	const struct walk_target *t = w->target;
	uint8_t code[WALK_RETURN_SIZE + 8] = {0};
	struct walk_way_back way = {0};
	uint64_t callee, at;
	__u64 word;

	if (t->is_arm64 || t->is_32bit || !t->read_code)
		return WALK_RETURN_UNKNOWN;
	if (!t->read_code(t->ctx, w->frame.pc, code, WALK_RETURN_SIZE))
		t->read_code(t->ctx, w->frame.pc, code, -w->frame.pc & (WALK_RETURN_SIZE - 1));
	for (uint32_t i = 0; i < WALK_RETURN_SIZE; i++) {
		memcpy(&word, code + i, sizeof(word));
		if (walk_examine_code(&way, word, i))
			break;
	}
	if (way.kind != WALK_RETURN_BY_SP)
		return WALK_RETURN_UNKNOWN;
	at = w->frame.sp + way.bytes;
	if (read_words(&w->frame, &word, at, 1) || !find_call(w, word, &callee))
		return WALK_RETURN_BY_SP;
	walk_leave(&w->frame, &way, word, at);
	return WALK_RETURN_STEPPED;
}

/* Returns whether rules alone lead from a guess to the end of the stack. Keeps the frames if so. */
static bool rules_lead_on(struct walk *w)
{
	struct walk_path *path = w->path;
	struct walk before = *w;
	const uint32_t depth = path->depth;
	const uint8_t flags = path->flags;

	before.trials++;
	if (push(w, FRAME_GUESS)) {
		while (step(w, UNWIND_BY_CFI))
			;
	}
	if (path->flags & STACK_WHOLE)
		return true;
	*w = before;
	path->depth = depth;
	path->flags = flags;
	return false;
}

/*
 * Guesses the caller. Of the words on the stack that can be its return address, takes the nearest
 * one from which rules lead to the end of the stack or, if there is none, the nearest. Returns
 * false if the stack ends.
 */
static bool step_by_scan(struct walk *w)
{
	struct walk_frame nearest, frame = w->frame;
	uint32_t size = word_size(&w->frame);
	bool is_found = false;

	for (uint32_t i = 0; i < WALK_SCAN_WORDS; i++) {
		uint64_t at = frame.sp + i * (uint64_t)size;
		__u64 word;

		if (read_words(&w->frame, &word, at, 1))
			break;
		word &= pc_mask(&w->frame);
		if (!may_be_return(w, word, at))
			continue;
		w->path->flags |= STACK_GUESSED;
		walk_to_guess(&w->frame, word, at);
		if (!is_found)
			nearest = w->frame;
		is_found = true;
		if (w->trials == TRIALS_MAX)
			break;
		if (rules_lead_on(w))
			return false;
		w->frame = frame;
	}
	if (!is_found)
		return end_broken(w);
	w->frame = nearest;
	return push(w, FRAME_GUESS);
}

/*
 * Steps one frame outwards, in the same order as the kernel's walker. Returns false at the end of
 * the stack.
 */
static bool step(struct walk *w, uint32_t methods)
{
	bool may_scan = methods & UNWIND_BY_SCAN && w->target->read_code;
	uint32_t back = w->frame.is_pc ? 0 : 1;
	enum walk_return way = WALK_RETURN_UNKNOWN;
	struct walk_caller caller;
	enum walk_result result;

	if (back && is_pushed_start(w)) {
		w->path->depth--;
		return end(w, STACK_WHOLE);
	}
	if (!find_rule(w, back))
		return end(w, w->path->depth ? STACK_BROKEN : STACK_UNKNOWN);
	if (!back && w->rule.cfa_kind == UNWIND_CFA_NONE)
		find_rule(w, 1);
	if (back && w->rule.cfa_kind == UNWIND_CFA_NONE && find_start(w))
		return end(w, STACK_WHOLE);
	w->left_copy = false;
	walk_load_needed(&w->frame, &w->rule);
	w->leaves_stack = walk_may_switch(&w->rule);
	result = walk_find_caller(&w->frame, &w->rule, &caller);
	w->leaves_stack = false;
	if (w->rule.cfa_kind == UNWIND_CFA_ERLANG) {
		w->leaves_stack = walk_is_on_scheduler(&w->frame, &w->rule);
		result = step_by_terms(w);
		w->leaves_stack = false;
		if (result == WALK_STEPPED)
			return push(w, FRAME_NATIVE);
	} else if (result == WALK_NO_RULE && w->rule.cfa_kind != UNWIND_CFA_NONE) {
		w->leaves_stack = true;
		result = walk_find_other_stack(&w->frame, &w->rule, &caller);
		w->leaves_stack = false;
	}
	if (result == WALK_END ||
	    (result == WALK_NO_RULE && walk_is_chain_end(&w->frame, &w->mapping, UNWIND_PENDING)))
		return end(w, STACK_WHOLE);
	if (result == WALK_STEPPED) {
		walk_to_caller(&w->frame, &w->rule, &caller);
		return push(w, w->frame.is_pc ? FRAME_SIGNAL : FRAME_NATIVE);
	}
	if (w->mapping.flags & UNWIND_PENDING)
		return end(w, STACK_UNKNOWN);
	/* The rule is right, but the copy ends: other methods would find something wrong. */
	if (result == WALK_BAD_READ && w->left_copy)
		return end_broken(w);
	/* Other methods would miss the switch to another stack. */
	if (w->rule.cfa_kind >= UNWIND_CFA_OTHER_STACK)
		return end_broken(w);
	if (methods & UNWIND_BY_FRAME_POINTER && result == WALK_NO_RULE)
		way = step_by_return(w);
	if (way == WALK_RETURN_STEPPED)
		return push(w, FRAME_NATIVE);
	if (may_scan && result == WALK_NO_RULE && step_by_leaf(w))
		return push(w, w->frame.by_scan ? FRAME_GUESS : FRAME_NATIVE);
	if (methods & UNWIND_BY_FRAME_POINTER && way == WALK_RETURN_UNKNOWN &&
	    !(may_scan && result == WALK_NO_RULE && is_callers_pair(w)) &&
	    ((result == WALK_NO_RULE && step_by_link_register(w)) || step_by_frame_pointer(w)))
		return push(w, FRAME_NATIVE);
	return may_scan ? step_by_scan(w) : end_broken(w);
}

uint64_t walk_own_pc_mask(void)
{
#if defined(__aarch64__)
	/* xpaclri strips a signature: the bits left, below the sign bit, are not part of it. */
	register uint64_t lr __asm__("x30") = (1ull << 55) - 1;

	__asm__("hint #7" : "+r"(lr));
	return lr;
#else
	return UINT64_MAX;
#endif
}

void walk_stack(const struct walk_target *target, const struct walk_regs *regs,
		struct walk_path *path)
{
	int fp = target->is_arm64 ? 29 : target->is_32bit ? 5 : 6;
	struct walk w = {
		.frame.pc = regs->pc,
		.frame.sp = regs->sp,
		.frame.fp = regs->general[fp],
		.frame.base = regs->general[target->is_arm64 ? 19 : 3],
		.frame.ra = target->is_arm64 ? regs->general[30] : 0,
		.frame.has_sp = 1,
		.frame.has_others = 1,
		.frame.is_pc = 1,
		.target = target,
		.top_sp = regs->sp,
		.path = path,
	};

	memcpy(w.frame.other, regs->general, sizeof(w.frame.other));
	path->depth = 0;
	path->flags = 0;
	while (step(&w, target->methods))
		;
}
