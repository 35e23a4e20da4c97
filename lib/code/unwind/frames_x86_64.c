/* SPDX-License-Identifier: MIT */
/*
 * Frames of x86-64 code without CFI, from its instructions: each path through a function is
 * followed from its first byte, with the bytes that it has pushed. The rules hold only if the
 * function's returns agree: there, everything must have been popped again. All code is untrusted.
 */
#include "lib/code/unwind/frames_x86_64.h"

#include "lib/code/unwind/arch.h"
#include "lib/code/unwind/insn_x86_64.h"

#define WORD 8
#define STACK_ALIGNMENT 16
#define FUNCTION_ALIGNMENT 16 /* unless optimized for size */
#define RSP 4
#define RBP 5
#define RBX 3
/* Maximum bytes of a frame with a copy of sp. */
#define FRAME_MAX 0x7fff

/* Opcodes of one byte that write the register of ModRM's middle bits. */
static bool writes_reg(uint8_t op)
{
	if (op < 0x40)
		return (op & 7) == 3 && op != 0x3b;
	return op == 0x63 || op == 0x69 || op == 0x6b || op == 0x87 || op == 0x8b || op == 0x8d;
}

/* Opcodes of one byte that write the register of ModRM's last bits. */
static bool writes_rm(uint8_t op, uint8_t operation)
{
	if (op < 0x40)
		return (op & 7) == 1 && op != 0x39;
	if (op == 0x81 || op == 0x83)
		return operation != 7;
	if (op == 0xf7)
		return operation == 2 || operation == 3;
	if (op == 0xff)
		return operation < 2;
	return op == 0x87 || op == 0x89 || op == 0x8f || op == 0xc7 || op == 0xc1 || op == 0xd1 ||
	       op == 0xd3;
}

static bool writes_reg_0f(uint8_t op)
{
	return op >> 4 == 4 || op == 0xaf || op == 0xb6 || op == 0xb7 || op == 0xb8 || op == 0xbc ||
	       op == 0xbd || op == 0xbe || op == 0xbf || op == 0xc1;
}

static bool writes_rm_0f(uint8_t op)
{
	return op == 0xa4 || op == 0xa5 || op == 0xab || op == 0xac || op == 0xad || op == 0xb1 ||
	       op == 0xb3 || op == 0xba || op == 0xbb || op == 0xc1;
}

/* Returns whether it writes a register, apart from its effect on the stack; 64-bit ones only. */
static bool writes(const struct insn *insn, uint8_t reg)
{
	uint8_t op = insn->opcode;

	if (insn->is_vector)
		return false;
	if (insn->map == MAP_ONE && !insn->has_modrm)
		return (op >> 3 == 0x17 || (op >> 3 == 0x12 && op != 0x90)) &&
		       ((op & 7) | (insn->rex & 1) << 3) == reg;
	if (!insn->has_modrm || insn->map > MAP_0F)
		return false;
	if (reg_of(insn) == reg && (insn->map ? writes_reg_0f(op) : writes_reg(op)))
		return true;
	return is_register(insn) && rm_of(insn) == reg &&
	       (insn->map ? writes_rm_0f(op) : writes_rm(op, operation_of(insn)));
}

/* State before an instruction; offsets in bytes down from the CFA. */
struct frame {
	int32_t depth; /* of sp; 0: unknown */
	int32_t pointer; /* of the word that the frame pointer points to; 0: not a frame pointer */
	int32_t fp_at, base_at; /* of the caller's values; 0: in their registers */
	/*
	 * Assembler code that aligns the stack keeps the previous sp in a register or in a word of
	 * memory: depths of these values; 0: none.
	 */
	int32_t copy_depth, word_depth;
	int32_t word; /* offset from word_reg, rsp or rbp */
	uint8_t copy, word_reg; /* valid only with a depth */
	bool is_known; /* the instruction is reached */
	uint8_t size; /* of the instruction; 0: it was not followed yet */
};

/* Control flow after an instruction. */
enum flow {
	FLOW_NEXT,
	FLOW_CALL, /* also next, unless the called function does not return */
	FLOW_BRANCH, /* also next */
	FLOW_JUMP,
	FLOW_JUMP_AWAY, /* to an address in memory or a register */
	FLOW_RETURN,
	FLOW_STOP,
	FLOW_UNKNOWN, /* the stack cannot be followed */
};

static enum flow flow_of_one(const struct insn *insn)
{
	uint8_t op = insn->opcode;

	if (op >> 4 == 7 || (op >= 0xe0 && op <= 0xe3))
		return FLOW_BRANCH;
	if (op == 0xe9 || op == 0xeb)
		return FLOW_JUMP;
	if (op == 0xe8)
		return FLOW_CALL;
	if (op == 0xc3 || op == 0xc2)
		return FLOW_RETURN;
	if (op == 0xcc || op == 0xf4)
		return FLOW_STOP;
	if (op == 0xff && insn->has_modrm) {
		if (operation_of(insn) == 2)
			return FLOW_CALL;
		if (operation_of(insn) == 4)
			return FLOW_JUMP_AWAY;
		return operation_of(insn) == 3 || operation_of(insn) == 5 ? FLOW_UNKNOWN
									  : FLOW_NEXT;
	}
	/* Far returns, interrupts, enter. */
	return (op >= 0xc8 && op <= 0xcf && op != 0xc9) ? FLOW_UNKNOWN : FLOW_NEXT;
}

static enum flow flow_of(const struct insn *insn)
{
	if (insn->is_vector || insn->map > MAP_0F)
		return FLOW_NEXT;
	if (insn->map == MAP_ONE)
		return flow_of_one(insn);
	if (insn->opcode >> 4 == 8)
		return FLOW_BRANCH;
	return insn->opcode == 0x0b || insn->opcode == 0xb9 ? FLOW_STOP : FLOW_NEXT;
}

/* Keeps the distance of the word from sp, which moves down by some bytes. */
static void move_word_from_sp(struct frame *f, int64_t bytes)
{
	if (!f->word_depth || f->word_reg != RSP)
		return;
	bytes += f->word;
	if (bytes < 0 || bytes > FRAME_MAX || bytes % WORD)
		f->word_depth = 0;
	f->word = (int32_t)bytes;
}

static void push(struct frame *f, uint8_t reg)
{
	move_word_from_sp(f, WORD);
	if (!f->depth)
		return;
	f->depth += WORD;
	if (reg == RBP && !f->fp_at)
		f->fp_at = f->depth;
	else if (reg == RBX && !f->base_at)
		f->base_at = f->depth;
}

static void pop(struct frame *f, uint8_t reg)
{
	move_word_from_sp(f, -WORD);
	if (reg == RBP) {
		f->fp_at = f->fp_at == f->depth ? 0 : f->fp_at;
		f->pointer = 0;
		if (f->word_reg == RBP)
			f->word_depth = 0;
	} else if (reg == RBX && f->base_at == f->depth) {
		f->base_at = 0;
	}
	if (f->depth)
		f->depth -= WORD;
}

/* Loads sp from the word that holds the previous one. */
static void load_sp(struct frame *f, uint8_t base, int32_t displacement)
{
	bool is_word = f->word_depth && f->word_reg == base && f->word == displacement;

	f->depth = is_word ? f->word_depth : 0;
	f->word_depth = 0;
	f->is_known = is_word;
}

/* Applies push and pop. False: another instruction. */
static bool move_word(struct frame *f, const struct insn *insn)
{
	uint8_t op = insn->opcode;

	if (insn->map == MAP_ONE && op == 0x5c && !(insn->rex & 1)) {
		load_sp(f, RSP, 0);
		return true;
	}
	if (insn->map == MAP_0F && (op == 0xa0 || op == 0xa8))
		push(f, NO_REG);
	else if (insn->map == MAP_0F && (op == 0xa1 || op == 0xa9))
		pop(f, NO_REG);
	else if (insn->map != MAP_ONE)
		return false;
	else if (op >> 3 == 0x0a)
		push(f, (op & 7) | (insn->rex & 1) << 3);
	else if (op >> 3 == 0x0b)
		pop(f, (op & 7) | (insn->rex & 1) << 3);
	else if (op == 0x68 || op == 0x6a || op == 0x9c || (op == 0xff && operation_of(insn) == 6))
		push(f, NO_REG);
	else if (op == 0x9d || op == 0x8f)
		pop(f, is_register(insn) ? rm_of(insn) : NO_REG);
	else
		return false;
	if (insn->is_16bit)
		f->is_known = false;
	return true;
}

/* Applies add, sub and and to rsp. */
static void add_to_sp(struct frame *f, const struct insn *insn)
{
	uint8_t op = insn->opcode;
	bool is_immediate = (op == 0x81 || op == 0x83) &&
			    (operation_of(insn) == 0 || operation_of(insn) == 5);
	int64_t bytes = operation_of(insn) ? insn->immediate : -insn->immediate;
	int64_t depth = f->depth;

	if (is_immediate && f->depth)
		depth += bytes;
	else
		depth = 0; /* aligned, or with room for an array */
	if (is_immediate)
		move_word_from_sp(f, bytes);
	else if (f->word_reg == RSP)
		f->word_depth = 0;
	if (f->depth && depth && (depth < WORD || depth > INT32_MAX / 2))
		f->is_known = false;
	f->depth = (int32_t)depth;
}

/* Applies a mov of a register to rsp, from any at the end of an array's scope. */
static void copy_to_sp(struct frame *f, uint8_t reg)
{
	f->depth = 0;
	if (reg == RBP)
		f->depth = f->pointer;
	else if (f->copy_depth && f->copy == reg)
		f->depth = f->copy_depth;
	if (f->word_depth && (reg == RBP || f->word_reg == RSP)) {
		f->word_depth = reg == f->word_reg ? f->word_depth : 0;
		f->word_reg = RSP;
	}
}

/* Applies a write to rsp other than push and pop. */
static void write_sp(struct frame *f, const struct insn *insn)
{
	uint8_t op = insn->opcode;
	int64_t depth = 0;

	if (insn->map != MAP_ONE || !(insn->rex & 8)) {
		f->is_known = false;
	} else if (op == 0x8d && insn->base == RSP) {
		depth = f->depth ? (int64_t)f->depth - insn->displacement : 0;
		move_word_from_sp(f, -(int64_t)insn->displacement);
	} else if (op == 0x8d && insn->base == RBP && f->pointer) {
		depth = (int64_t)f->pointer - insn->displacement;
	} else if (op == 0x8d && insn->base == f->copy && f->copy_depth) {
		depth = (int64_t)f->copy_depth - insn->displacement;
	} else if (op == 0x8d && insn->base == RBP && f->word_depth && f->word_reg == RBP) {
		depth = 0;
	} else if (op == 0x89 || (op == 0x8b && is_register(insn))) {
		copy_to_sp(f, op == 0x89 ? reg_of(insn) : rm_of(insn));
		return;
	} else if (op == 0x8b) {
		load_sp(f, insn->base, insn->displacement);
		return;
	} else if (op == 0x81 || op == 0x83 || op == 0x29 || op == 0x2b) {
		add_to_sp(f, insn);
		return;
	} else {
		f->is_known = false;
	}
	if (depth && (depth < WORD || depth > INT32_MAX / 2))
		f->is_known = false;
	f->depth = (int32_t)depth;
}

/* Applies mov and lea that make rbp a frame pointer, and other writes. */
static void write_fp(struct frame *f, const struct insn *insn)
{
	uint8_t op = insn->opcode;
	bool is_move = (op == 0x89 && reg_of(insn) == RSP) ||
		       (op == 0x8b && is_register(insn) && rm_of(insn) == RSP);

	f->pointer = 0;
	if (f->word_reg == RBP)
		f->word_depth = 0;
	if (insn->map != MAP_ONE || !(insn->rex & 8))
		return;
	if (is_move && !f->depth)
		f->word_reg = RBP;
	if (!f->depth)
		return;
	if (is_move)
		f->pointer = f->depth;
	else if (op == 0x8d && insn->base == RSP)
		f->pointer = f->depth - insn->displacement;
	if (f->pointer < WORD)
		f->pointer = 0;
}

/* Notes a register that is saved in the frame, or loaded again, by mov. */
static void save(struct frame *f, const struct insn *insn)
{
	uint8_t reg = reg_of(insn);
	int32_t *at = reg == RBP ? &f->fp_at : &f->base_at;
	int64_t place = f->depth;

	if (insn->map != MAP_ONE || insn->is_vector || (reg != RBP && reg != RBX) ||
	    !(insn->rex & 8) || !f->depth || insn->base != RSP)
		return;
	place -= insn->displacement;
	if (place <= WORD || place % WORD || place > INT16_MAX)
		return;
	if (insn->opcode == 0x89 && !*at)
		*at = (int32_t)place;
	else if (insn->opcode == 0x8b && *at == place)
		*at = 0;
}

/* Notes a copy of sp in a register, and a copy of that register in an aligned frame. */
static void keep_sp(struct frame *f, const struct insn *insn)
{
	uint8_t op = insn->opcode, from, to;

	if (f->copy_depth && writes(insn, f->copy))
		f->copy_depth = 0;
	if (insn->map != MAP_ONE || insn->is_vector || !(insn->rex & 8) ||
	    (op != 0x89 && op != 0x8b))
		return;
	from = op == 0x89 ? reg_of(insn) : rm_of(insn);
	to = op == 0x89 ? rm_of(insn) : reg_of(insn);
	if (is_register(insn) && from == RSP && to != RSP && to != RBP && f->depth <= FRAME_MAX) {
		f->copy = to;
		f->copy_depth = f->depth;
	} else if (op == 0x89 && insn->base == RSP && !f->depth && f->copy_depth &&
		   from == f->copy && insn->displacement >= 0 && insn->displacement <= FRAME_MAX &&
		   insn->displacement % WORD == 0) {
		f->word_depth = f->copy_depth;
		f->word_reg = RSP;
		f->word = insn->displacement;
	}
}

static void leave(struct frame *f)
{
	f->depth = f->pointer;
	if (f->depth)
		pop(f, RBP);
	else
		f->is_known = false;
}

/* Applies an instruction; is_known becomes false if the stack cannot be followed any more. */
static void step(struct frame *f, const struct insn *insn)
{
	if (insn->map == MAP_ONE && insn->opcode == 0xc9 && !insn->is_vector) {
		leave(f);
	} else if (insn->is_vector || !move_word(f, insn)) {
		save(f, insn);
		keep_sp(f, insn);
		if (writes(insn, RSP))
			write_sp(f, insn);
		if (writes(insn, RBP))
			write_fp(f, insn);
	}
	if (!f->depth && !f->pointer && !f->copy_depth && !f->word_depth)
		f->is_known = false;
}

static bool has_same_copy(const struct frame *a, const struct frame *b)
{
	return a->copy_depth == b->copy_depth && (!a->copy_depth || a->copy == b->copy);
}

static bool has_same_word(const struct frame *a, const struct frame *b)
{
	return a->word_depth == b->word_depth &&
	       (!a->word_depth || (a->word_reg == b->word_reg && a->word == b->word));
}

static bool is_same(const struct frame *a, const struct frame *b)
{
	return a->depth == b->depth && a->pointer == b->pointer && a->fp_at == b->fp_at &&
	       a->base_at == b->base_at && has_same_copy(a, b) && has_same_word(a, b);
}

/* Returns whether the state is that at a function's entry: everything saved is restored. */
static bool is_at_entry(const struct frame *f)
{
	return f->depth == WORD;
}

/* Longer functions are not analysed. */
#define FUNCTION_MAX 131072
/* Longer jumps without a frame lead to other functions. */
#define NEAR_MAX 4096
/* Maximum number of instructions followed per byte of code. */
#define STEPS_PER_BYTE 8
#define PLACE_MAX 5 /* times that a place is noted */
#define BYTES_PER_STEP 4 /* cleared in the time of a step */

/* Assumptions about a function, tried in turn. */
enum {
	WAY_SWITCH = 1 << 0, /* code to which nothing leads is reached by an indirect jump */
	WAY_CALL_ENDS = 1 << 1, /* from `cut` on, calls before an aligned place may not return */
};

struct analysis {
	const struct stub_code *code;
	struct stubs *rows;
	uint64_t steps; /* left */
	uint8_t *entries; /* a bit for each byte of the code that a call leads to */
	struct frame *frames; /* before each byte from `start` on */
	uint32_t *todo; /* bytes from `start` on that are to be followed */
	size_t todo_count;
	/* The function. */
	size_t start, reached; /* end of the code that was reached */
	bool is_next; /* follows a function that was analysed, or is the first one */
	unsigned int way;
	size_t cut; /* see WAY_CALL_ENDS */
	size_t first_cut; /* first end assumed in this way; SIZE_MAX: none */
	size_t returns, tail_calls, calls;
	size_t last_calls; /* of functions that do not return */
	bool is_unaligned; /* the stack, at a call */
	struct frame away; /* before an indirect jump */
	bool failed;
};

static bool is_entry(const struct analysis *a, size_t at)
{
	return a->entries[at / 8] & 1 << at % 8;
}

static void find_entries(struct analysis *a)
{
	const struct stub_code *code = a->code;

	for (size_t at = 0; code->size - at >= 5; at++) {
		const uint8_t *call = memchr(code->code + at, 0xe8, code->size - at - 4);
		int32_t distance;
		int64_t target;

		if (!call)
			break;
		at = (size_t)(call - code->code);
		memcpy(&distance, call + 1, sizeof(distance));
		target = (int64_t)at + 5 + distance;
		if (target >= 0 && target < (int64_t)code->size)
			a->entries[target / 8] |= (uint8_t)(1 << target % 8);
	}
}

/* Returns the size of a filler instruction; 0: another one. */
static size_t filler_size(const struct stub_code *code, size_t at)
{
	struct insn insn;

	if (at >= code->size)
		return 0;
	if (code->code[at] == 0xcc || code->code[at] == 0)
		return 1;
	insn = insn_x86_64_read(code, at);
	if (insn.is_vector || insn.rex & 1)
		return 0;
	return (insn.map == MAP_ONE && insn.opcode == 0x90) ||
			       (insn.map == MAP_0F && insn.opcode == 0x1f)
		       ? insn.size
		       : 0;
}

/* Maximum filler before the next function. */
#define FILLER_MAX 128

static size_t skip_filler(const struct stub_code *code, size_t at, size_t max)
{
	size_t start = at, size;

	while (at - start < max && (size = filler_size(code, at)))
		at += size;
	return at;
}

static struct frame *frame_at(const struct analysis *a, size_t at)
{
	return &a->frames[at - a->start];
}

static bool is_in_reach(const struct analysis *a, int64_t at)
{
	return at >= (int64_t)a->start && at < (int64_t)a->code->size &&
	       at < (int64_t)(a->start + FUNCTION_MAX);
}

/*
 * Joins two paths, of which one has room for an array, or one has changed the frame pointer. Keeps
 * in *known only facts that hold on both. Returns whether any was dropped.
 */
static bool join(struct frame *known, struct frame *frame)
{
	const struct frame before = *known;
	bool has_pointer = known->pointer == frame->pointer && known->pointer;
	bool has_copy = has_same_copy(known, frame) && known->copy_depth;
	bool has_word = has_same_word(known, frame) && known->word_depth;

	if (has_pointer || has_copy || has_word) {
		if (!known->depth != !frame->depth)
			known->depth = frame->depth = 0;
	} else if (known->depth != frame->depth || !known->depth) {
		return false;
	}
	if (!has_pointer)
		known->pointer = frame->pointer = 0;
	if (!has_copy)
		known->copy_depth = frame->copy_depth = 0;
	if (!has_word)
		known->word_depth = frame->word_depth = 0;
	return !is_same(known, &before);
}

/* Notes the frame before an instruction. False: it is known already. */
static bool reach(struct analysis *a, size_t at, struct frame frame)
{
	struct frame *known = frame_at(a, at);

	if (known->is_known) {
		bool is_less = join(known, &frame);

		a->failed |= !is_same(known, &frame);
		known->size = is_less ? 0 : known->size;
		return is_less;
	}
	frame.size = 0;
	*known = frame;
	if (at >= a->reached)
		a->reached = at + 1;
	return true;
}

/* Numbers that DWARF gives to registers. */
static const uint8_t dwarf_numbers[] = {0, 2, 1, 3, 7, 6, 4, 5, 8, 9, 10, 11, 12, 13, 14, 15};

/* sp is less certain than a frame pointer: callees of V8's remove their arguments. */
static struct unwind_rule rule_of(const struct frame *f)
{
	struct unwind_rule rule = stubs_rule_at_entry(&unwind_arch_x86_64, f->depth);

	if (f->pointer && (!f->depth || (f->pointer == 2 * WORD && f->fp_at == 2 * WORD))) {
		rule.cfa_reg = UNWIND_REG_FP;
		rule.cfa_offset = f->pointer;
	} else if (!f->depth && f->word_depth) {
		rule.cfa_kind = UNWIND_CFA_DEREF;
		rule.cfa_reg = f->word_reg == RBP ? UNWIND_REG_FP : UNWIND_REG_SP;
		rule.cfa_deref = (int16_t)(f->word / WORD);
		rule.cfa_offset = f->word_depth;
	} else if (!f->depth) {
		rule.cfa_reg = f->copy == RBX ? UNWIND_REG_BASE
					      : UNWIND_REG_OTHER + dwarf_numbers[f->copy & 15];
		rule.cfa_offset = f->copy_depth;
	}
	if (f->fp_at && f->fp_at <= INT16_MAX) {
		rule.kinds |= UNWIND_AT_CFA << 2;
		rule.fp_offset = (int16_t)(-f->fp_at / WORD);
	}
	if (f->base_at && f->base_at <= INT16_MAX) {
		rule.kinds |= UNWIND_AT_CFA << 4;
		rule.base_offset = (int16_t)(-f->base_at / WORD);
	}
	return rule;
}

/* Returns whether the frame is the one at `at` in a function that was analysed before. */
static bool is_as_before(const struct analysis *a, int64_t at, const struct frame *frame)
{
	const struct unwind_rule rule = rule_of(frame);
	const struct stub_row *rows = a->rows->rows.items;
	uint64_t vaddr = a->code->vaddr + (uint64_t)at;
	size_t low = count_front(rows, a->rows->rows.count, it, it->vaddr <= vaddr);

	return at >= 0 && at < (int64_t)a->start && low &&
	       memcmp(&rows[low - 1].rule, &rule, sizeof(rule)) == 0;
}

static void add_todo(struct analysis *a, size_t at, struct frame frame)
{
	if (reach(a, at, frame))
		a->todo[a->todo_count++] = (uint32_t)(at - a->start);
}

/*
 * Follows a jump. One that leads far away, or to a called address, is to another function:
 * everything must be popped, unless it branches to a cold part, which compilers put elsewhere.
 */
static void jump(struct analysis *a, const struct insn *insn, size_t end, const struct frame *frame)
{
	int64_t to = (int64_t)end + insn->immediate;
	bool is_far = !is_in_reach(a, to);
	bool is_other = !is_far && to > (int64_t)a->start && is_entry(a, (size_t)to);

	if (is_far && is_as_before(a, to, frame)) {
		a->returns++;
		return;
	}
	if (is_at_entry(frame))
		is_far |= is_other || insn->immediate > NEAR_MAX;
	else if (is_other || (is_far && flow_of(insn) == FLOW_JUMP))
		a->failed = true;
	if (!is_far)
		add_todo(a, (size_t)to, *frame);
	else
		a->tail_calls += is_at_entry(frame);
}

/* jmp *there(%rip): to a function of another file */
static bool is_import(const struct insn *insn)
{
	return (insn->modrm & 0xc7) == 5;
}

/* endbr64, push of a register that functions keep, sub of rsp */
static bool is_prologue(const struct stub_code *code, size_t at)
{
	struct insn insn = at < code->size ? insn_x86_64_read(code, at) : (struct insn){0};
	uint8_t reg = (insn.opcode & 7) | (insn.rex & 1) << 3;

	if (insn.is_vector || !insn.size)
		return false;
	if (insn.map == MAP_0F)
		return insn.opcode == 0x1e;
	return (insn.opcode >> 3 == 0x0a && (reg == RBP || reg == RBX || reg >= 12)) ||
	       ((insn.opcode == 0x81 || insn.opcode == 0x83) && is_register(&insn) &&
		operation_of(&insn) == 5 && rm_of(&insn) == RSP);
}

/* Returns whether another function begins after a call, because the called one does not return. */
static bool ends_at_call(struct analysis *a, size_t at)
{
	size_t next = skip_filler(a->code, at, FILLER_MAX);

	/* hlt */
	if (at >= a->code->size || is_entry(a, at) || a->code->code[at] == 0xf4)
		return true;
	if ((a->code->vaddr + next) % FUNCTION_ALIGNMENT != 0)
		return false;
	if (is_prologue(a->code, next))
		return true;
	if (!(a->way & WAY_CALL_ENDS) || at < a->cut)
		return false;
	if (at < a->first_cut)
		a->first_cut = at;
	return true;
}

/* Continues after an instruction that ends at `end`. False: nothing follows it. */
static bool go_on(struct analysis *a, const struct insn *insn, size_t end,
		  const struct frame *frame)
{
	switch (flow_of(insn)) {
	case FLOW_RETURN:
		a->failed |= !is_at_entry(frame);
		a->returns++;
		return false;
	case FLOW_JUMP:
		jump(a, insn, end, frame);
		return false;
	case FLOW_JUMP_AWAY:
		a->failed |= !is_at_entry(frame) && is_import(insn);
		a->tail_calls += is_at_entry(frame);
		a->away = *frame;
		return false;
	case FLOW_STOP:
		/* Compilers treat hlt in a branch, as in musl's checks, as ordinary. */
		return insn->opcode == 0xf4 && !ends_at_call(a, end);
	case FLOW_UNKNOWN:
		a->failed = true;
		return false;
	case FLOW_CALL:
		a->calls++;
		a->is_unaligned |= frame->depth % STACK_ALIGNMENT != 0;
		if (!ends_at_call(a, end))
			return true;
		a->last_calls++;
		return false;
	case FLOW_BRANCH:
		jump(a, insn, end, frame);
		return true;
	case FLOW_NEXT:
		return true;
	}
	return true;
}

/*
 * Returns whether a function begins by reading its return address: pop and push of a register, as
 * in the main program of Free Pascal.
 */
static bool is_peek(const struct analysis *a, size_t at)
{
	const uint8_t *code = a->code->code + at;

	return at == a->start && a->code->size - at >= 2 && code[0] >> 3 == 0x0b &&
	       code[0] == (code[1] | 8) && code[0] != 0x5c;
}

/* Follows the code from one place until it ends or is known. */
static void follow(struct analysis *a, size_t at)
{
	while (!a->failed) {
		struct frame *before = frame_at(a, at), after = *before;
		struct insn insn = insn_x86_64_read(a->code, at);
		size_t end;

		if (is_peek(a, at))
			insn = (struct insn){.size = 2, .opcode = 0x90, .base = NO_REG};
		else if (insn.size)
			step(&after, &insn);
		end = at + insn.size;
		if (!insn.size || !after.is_known || !a->steps) {
			a->failed = true;
			return;
		}
		a->steps--;
		before->size = (uint8_t)insn.size;
		if (!go_on(a, &insn, end, &after))
			return;
		if (!is_in_reach(a, (int64_t)end)) {
			a->failed = true;
			return;
		}
		if (!reach(a, end, after))
			return;
		at = end;
	}
}

static void follow_all(struct analysis *a)
{
	while (a->todo_count && !a->failed)
		follow(a, a->start + a->todo[--a->todo_count]);
}

/*
 * Returns the size of an unreachable instruction: filler, or a jump after another one, as Free
 * Pascal emits it; 0: another one.
 */
static size_t dead_size(const struct analysis *a, size_t at)
{
	size_t size = filler_size(a->code, at);
	struct insn insn;
	int64_t to;

	if (size || at >= a->code->size)
		return size;
	insn = insn_x86_64_read(a->code, at);
	to = (int64_t)(at + insn.size) + insn.immediate;
	return insn.size && flow_of(&insn) == FLOW_JUMP && is_in_reach(a, to) &&
			       frame_at(a, (size_t)to)->size
		       ? insn.size
		       : 0;
}

/* Returns the end of the code from `at` on that was followed, without gaps except dead code. */
static size_t followed_end(const struct analysis *a, size_t at)
{
	size_t end = at;

	while (at < a->reached) {
		if (frame_at(a, at)->size)
			end = at += frame_at(a, at)->size;
		else if (dead_size(a, at))
			at += dead_size(a, at);
		else
			break;
	}
	return end;
}

/* Follows the code after indirect jumps that nothing else leads to. Returns the end. */
static size_t follow_switch(struct analysis *a)
{
	size_t end = followed_end(a, a->start);

	while (!a->failed && a->way & WAY_SWITCH && a->away.is_known && !is_at_entry(&a->away)) {
		size_t next = skip_filler(a->code, end, FILLER_MAX);

		if (!is_in_reach(a, (int64_t)next) || is_entry(a, next) ||
		    (next >= a->reached && (a->code->vaddr + next) % FUNCTION_ALIGNMENT == 0))
			break;
		add_todo(a, next, a->away);
		follow_all(a);
		end = followed_end(a, end);
	}
	return end;
}

/*
 * Returns whether the function's ends, all of which agree, confirm its start. If it never
 * returns, the stack is aligned at its calls at least.
 */
static bool is_confirmed(const struct analysis *a)
{
	bool is_aligned = (a->code->vaddr + a->start) % FUNCTION_ALIGNMENT == 0;
	bool is_called = is_entry(a, a->start), is_usual = is_prologue(a->code, a->start);

	if (is_called && (is_aligned || is_usual || a->is_next))
		return a->returns || a->tail_calls || a->last_calls;
	/* Code between returns is an unaligned function, or dead code. */
	if (a->is_next &&
	    (a->returns || ((is_aligned || is_usual) && a->tail_calls) ||
	     ((a->last_calls || (a->calls && is_aligned && is_usual)) && !a->is_unaligned)))
		return true;
	/* Compilers may disregard the ABI in calls of functions whose code they see. */
	if (a->is_unaligned && !(a->is_next && is_aligned))
		return false;
	if (is_usual)
		return a->returns || (is_aligned && a->last_calls);
	return a->returns && (is_aligned || is_called);
}

/* Resets the reached part, in time proportional to its size. */
static void forget(struct analysis *a)
{
	size_t size = a->reached - a->start;

	memset(a->frames, 0, size * sizeof(*a->frames));
	a->reached = a->start;
	a->steps -= size / BYTES_PER_STEP < a->steps ? size / BYTES_PER_STEP : a->steps;
}

/* Returns the end of the function; 0: the results are inconsistent, or leave out a part. */
static size_t analyse(struct analysis *a, unsigned int way)
{
	const struct frame entry = {.depth = WORD, .is_known = true};
	size_t end;

	forget(a);
	a->way = way;
	a->returns = a->tail_calls = a->calls = a->last_calls = a->todo_count = 0;
	a->away.is_known = a->is_unaligned = a->failed = false;
	a->first_cut = SIZE_MAX;
	add_todo(a, a->start, entry);
	follow_all(a);
	end = follow_switch(a);
	return !a->failed && end >= a->reached && is_confirmed(a) ? end : 0;
}

/* Maximum number of calls tried as the end. */
#define CUTS_MAX 8

/* Tries each call before an aligned place as the function's end, from the first on. */
static size_t analyse_cuts(struct analysis *a)
{
	a->cut = a->start;
	for (int i = 0; i < CUTS_MAX; i++) {
		size_t end = analyse(a, WAY_SWITCH | WAY_CALL_ENDS);

		if (end && a->returns)
			return end;
		if (a->first_cut == SIZE_MAX)
			break;
		a->cut = a->first_cut + 1;
	}
	return 0;
}

/* Returns the end of the function that begins at `start`; 0: unknown. */
static size_t analyse_function(struct analysis *a)
{
	size_t end = analyse(a, WAY_SWITCH);

	if (!end && a->away.is_known)
		end = analyse(a, 0);
	return end ? end : analyse_cuts(a);
}

/* A row replaces one at the same address: the end of the function before. */
static void add_row(struct analysis *a, size_t at, struct unwind_rule rule)
{
	uint64_t vaddr = a->code->vaddr + at;

	if (a->rows->rows.count && vec_last(&a->rows->rows).vaddr == vaddr)
		a->rows->rows.count--;
	stubs_add_row(a->rows, vaddr, rule);
}

static void add_rows(struct analysis *a, size_t end)
{
	struct unwind_rule last = {.cfa_kind = UNWIND_CFA_NONE};

	for (size_t at = a->start; at < end;) {
		const struct frame *frame = frame_at(a, at);
		struct unwind_rule rule;

		if (!frame->size) {
			at += dead_size(a, at);
			continue;
		}
		rule = rule_of(frame);
		if (memcmp(&rule, &last, sizeof(rule)) != 0)
			add_row(a, at, rule);
		last = rule;
		at += frame->size;
	}
	add_row(a, end, (struct unwind_rule){.cfa_kind = UNWIND_CFA_NONE});
}

static bool is_end(const struct insn *insn)
{
	enum flow flow = flow_of(insn);

	return flow != FLOW_NEXT && flow != FLOW_BRANCH;
}

/*
 * Returns the next place where a function may begin, after code that could not be analysed: a
 * called one, or an aligned one after an end.
 */
static size_t next_start(const struct analysis *a)
{
	const struct stub_code *code = a->code;
	bool ended = false;

	for (size_t at = a->start; at < code->size;) {
		struct insn insn = insn_x86_64_read(code, at);

		if (at > a->start && is_entry(a, at))
			return at;
		if (ended)
			at = skip_filler(code, at, SIZE_MAX);
		if (ended && at < code->size && (code->vaddr + at) % FUNCTION_ALIGNMENT == 0)
			return at;
		if (ended)
			insn = at < code->size ? insn_x86_64_read(code, at) : insn;
		ended = !insn.size || is_end(&insn);
		at += insn.size ? insn.size : 1;
	}
	return code->size;
}

void frames_x86_64(struct stubs *rows, const struct stub_code *code)
{
	struct analysis a = {.code = code, .rows = rows, .steps = code->size * STEPS_PER_BYTE};
	size_t room = code->size < FUNCTION_MAX ? code->size : FUNCTION_MAX;

	a.entries = xcalloc(1, code->size / 8 + 1);
	a.frames = xcalloc(room + 1, sizeof(*a.frames));
	/* Each place is added again when join() drops one of its ways to find the CFA. */
	a.todo = xreallocarray(NULL, PLACE_MAX * (room + 1), sizeof(*a.todo));
	find_entries(&a);
	a.is_next = true;
	for (size_t start = skip_filler(code, 0, SIZE_MAX); start < code->size && a.steps;) {
		size_t end;

		forget(&a);
		a.start = a.reached = start;
		end = analyse_function(&a);
		if (end)
			add_rows(&a, end);
		a.is_next = end;
		start = end ? skip_filler(code, end, SIZE_MAX) : next_start(&a);
	}
	free(a.entries);
	free(a.frames);
	free(a.todo);
}

size_t frames_x86_64_size(const struct stub_code *code)
{
	int64_t reached = 0;
	size_t end = code->size;

	for (size_t at = 0; at < end;) {
		struct insn insn = insn_x86_64_read(code, at);
		enum flow flow = flow_of(&insn);
		int64_t target;

		if (!insn.size)
			break;
		at += insn.size;
		target = (int64_t)at + insn.immediate;
		if (flow == FLOW_CALL && insn.opcode == 0xe8 && target >= (int64_t)at &&
		    target < (int64_t)end)
			end = (size_t)target;
		if ((flow == FLOW_BRANCH || flow == FLOW_JUMP) && target < (int64_t)code->size &&
		    target > reached)
			reached = target;
		if (flow != FLOW_CALL && is_end(&insn) && (int64_t)at > reached)
			return at < end ? at : end;
	}
	return end;
}
