/* SPDX-License-Identifier: MIT */
/*
 * Go on x86-64 (src/runtime/asm_amd64.s and sys_linux_amd64.s in Go's source). The frame pointer is
 * saved below the return address; "g", the goroutine, is a thread-local variable.
 */
#include <elf.h>

#include "lib/code/unwind/arch.h"
#include "lib/code/unwind/go_code.h"
#include "lib/code/unwind/go_file.h"

#define WORD 8

/* Register that holds g in Go's compiled code (src/cmd/compile/abi-internal.md in Go's source). */
#define G_REG (UNWIND_REG_OTHER + 14)

#define NOT_FOUND SIZE_MAX

static bool has_bytes(const struct go_code *code, size_t at, const char *bytes, size_t count)
{
	return at <= code->size && count <= code->size - at &&
	       memcmp(code->bytes + at, bytes, count) == 0;
}

#define has(code, at, bytes) has_bytes(code, at, bytes, sizeof(bytes) - 1)

static int32_t read_i32(const struct go_code *code, size_t at)
{
	uint32_t value;

	if (at > code->size || code->size - at < sizeof(value))
		return 0;
	memcpy(&value, code->bytes + at, sizeof(value));
	return (int32_t)value;
}

/* Returns the size of a memory operand's displacement. */
static size_t displacement_size(uint8_t modrm)
{
	return modrm >> 6 == 1 ? 1 : modrm >> 6 == 2 ? 4 : 0;
}

static int32_t displacement(const struct go_code *code, size_t at, uint8_t modrm)
{
	size_t size = displacement_size(modrm);

	if (size == 1)
		return at < code->size ? (int8_t)code->bytes[at] : 0;
	return size == 4 ? read_i32(code, at) : 0;
}

/*
 * Finds the next instruction that sets rsp: mov offset(%reg),%rsp or mov %reg,%rsp. Returns the
 * offset of its end; *place becomes the operand's displacement, -1 for a register.
 */
static size_t next_sp_write(const struct go_code *code, size_t from, int32_t *place)
{
	for (size_t at = from; at + 4 <= code->size; at++) {
		uint8_t modrm = code->bytes[at + 2];
		size_t end = at + 3;

		if ((code->bytes[at] & 0xf8) != 0x48)
			continue;
		*place = -1;
		if (code->bytes[at + 1] == 0x89 && (modrm & 0xc7) == 0xc4)
			return end;
		if (code->bytes[at + 1] != 0x8b || (modrm & 0x38) != 0x20)
			continue;
		if (modrm >> 6 == 3)
			return end;
		/* A base of 4 has a SIB byte, here rsp itself; others do not occur. */
		if ((modrm & 7) == 4 && code->bytes[end++] != 0x24)
			continue;
		*place = displacement(code, end, modrm);
		end += displacement_size(modrm);
		if (end > code->size)
			break;
		return end;
	}
	return NOT_FOUND;
}

static size_t find(const struct go_code *code, size_t from, const char *bytes, size_t count)
{
	for (size_t at = from; at < code->size; at++) {
		if (has_bytes(code, at, bytes, count))
			return at;
	}
	return NOT_FOUND;
}

#define find_code(code, from, bytes) find(code, from, bytes, sizeof(bytes) - 1)

static struct unwind_rule frame(uint64_t size, struct go_saves saves)
{
	struct unwind_rule rule = {.cfa_kind = UNWIND_CFA_REG, .cfa_reg = UNWIND_REG_SP};

	if (size > INT32_MAX - WORD)
		return (struct unwind_rule){.cfa_kind = UNWIND_CFA_NONE};
	rule.cfa_offset = (int32_t)size + WORD;
	rule.kinds = UNWIND_AT_CFA | UNWIND_UNKNOWN << 4;
	rule.ra_offset = -1;
	if (size >= WORD && saves.is_saved) {
		rule.kinds |= UNWIND_AT_CFA << 2;
		rule.fp_offset = -2;
	}
	return rule;
}

/*
 * Compiled functions set up a frame by "push %rbp; mov %rsp,%rbp", before Go 1.21 by "sub" and "mov
 * %rbp,size-8(%rsp)"; Go's assembler does the same unless it is disabled.
 */
static struct go_saves saves(const struct go_code *code)
{
	return (struct go_saves){
		.is_saved = find_code(code, 0, "\x55\x48\x89\xe5") != NOT_FOUND ||
			    (find_code(code, 0, "\x48\x89\x6c\x24") != NOT_FOUND &&
			     find_code(code, 0, "\x48\x8d\x6c\x24") != NOT_FOUND) ||
			    (find_code(code, 0, "\x48\x89\xac\x24") != NOT_FOUND &&
			     find_code(code, 0, "\x48\x8d\xac\x24") != NOT_FOUND),
	};
}

/*
 * Finds the next "mov g,%reg" of the thread-local variable; sets its offset from the thread
 * pointer, 0 if it is known only in the process. Position-independent code has the offset in a word
 * filled in by the dynamic linker.
 */
static size_t next_goroutine_read(const struct go_code *code, size_t from, struct go_file *go,
				  int64_t *offset)
{
	size_t at = find_code(code, from, "\x64\x48\x8b"), load;
	uint32_t type = 0;
	uint64_t addend;

	if (at == NOT_FOUND || at + 4 > code->size)
		return NOT_FOUND;
	/* mov %fs:offset,%reg */
	if ((code->bytes[at + 3] & 0xc7) == 4 && has(code, at + 4, "\x25")) {
		*offset = read_i32(code, at + 5);
		return at + 9;
	}
	/* mov …,%rcx; mov %fs:(%rcx),%reg */
	load = at - 7;
	if (at < 7 || (code->bytes[at + 3] & 0xc7) != 1)
		return NOT_FOUND;
	if (has(code, load, "\x48\xc7\xc1")) {
		*offset = read_i32(code, load + 3);
		return at + 4;
	}
	if (!has(code, load, "\x48\x8b\x0d"))
		return NOT_FOUND;
	addend = go_relocated_word(go, code->vaddr + at + (uint64_t)read_i32(code, load + 3),
				   &type);
	if (type != R_X86_64_TPOFF64)
		return NOT_FOUND;
	/* A program's variables are adjacent to the thread pointer, a library's anywhere below. */
	*offset = go->file->has_interpreter ? (int64_t)addend - (int64_t)go->file->tls_size : 0;
	return at + 4;
}

/* mov m(%rax),%rbx */
static bool read_m(const struct go_code *code, size_t at, int32_t *place)
{
	if (!has(code, at, "\x48\x8b\x58") || at + 4 > code->size)
		return false;
	*place = (int8_t)code->bytes[at + 3];
	return true;
}

/*
 * Reads, in the part of systemstack that returns to the goroutine, "mov g,%rax", "mov
 * m(%rax),%rbx", "mov curg(%rbx),%rax" and "mov sp(%rax),%rsp".
 */
static void read_layout(struct go_layout *layout, const struct go_code *code, struct go_file *go)
{
	int32_t sp, m, curg, there;
	int64_t tls;
	size_t at = next_sp_write(code, 0, &there);

	/* Before Go 1.21, the first one sets rsp via rbx. */
	if (at == NOT_FOUND)
		return;
	at = next_goroutine_read(code, at, go, &tls);
	if (at == NOT_FOUND || !read_m(code, at, &m) || !has(code, at + 4, "\x48\x8b\x83"))
		return;
	curg = read_i32(code, at + 7);
	if (next_sp_write(code, at + 11, &sp) == NOT_FOUND)
		return;
	if (m < 0 || m % WORD || m / WORD > 15 || sp < 0 || sp % WORD || sp / WORD > 31 ||
	    curg < 0 || curg % WORD || curg / WORD > 127 || tls % WORD || tls < INT16_MIN ||
	    tls > 0)
		return;
	layout->is_known = true;
	layout->g_reg = tls ? UNWIND_REG_SP : G_REG;
	layout->tls = (int16_t)(tls / WORD);
	layout->packed = (uint16_t)GO_PACK(m / WORD, sp / WORD, curg / WORD);
}

/*
 * Returns the rule of a function that has left its stack: its frame is found by the frame pointer.
 */
static struct unwind_rule by_frame_pointer(void)
{
	return (struct unwind_rule){
		.cfa_kind = UNWIND_CFA_OTHER_STACK,
		.cfa_reg = UNWIND_REG_FP,
		.cfa_offset = 2 * WORD,
		.kinds = UNWIND_AT_CFA | UNWIND_AT_CFA << 2 | UNWIND_UNKNOWN << 4,
		.ra_offset = -1,
		.fp_offset = -2,
	};
}

/*
 * Returns the rule of a function that has switched to the system stack; `own` is its rule without
 * the switch.
 */
static struct unwind_rule by_goroutine(struct unwind_rule own, int32_t offset,
				       const struct go_layout *layout)
{
	if (!layout->is_known)
		return (struct unwind_rule){.cfa_kind = UNWIND_CFA_NONE};
	own.cfa_kind = UNWIND_CFA_GOROUTINE;
	own.cfa_reg = layout->g_reg;
	own.cfa_offset = offset;
	own.cfa_deref = layout->tls;
	own.base_offset = (int16_t)layout->packed;
	return own;
}

static const struct unwind_rule end_rule = {.cfa_kind = UNWIND_CFA_END};
static const struct unwind_rule no_rule = {.cfa_kind = UNWIND_CFA_NONE};

static bool has_saved_fp(struct unwind_rule rule)
{
	return UNWIND_FP_KIND(rule.kinds) == UNWIND_AT_CFA;
}

/*
 * Returns the offset after the instruction that leaves the stack and, unless `back` is NULL, sets
 * the one after the return to it.
 */
static size_t find_switch(const struct go_function *function, size_t *back)
{
	int32_t place;
	size_t leave = next_sp_write(&function->code, 0, &place);

	if (back) {
		*back = leave;
		for (size_t at = leave; at != NOT_FOUND;
		     at = next_sp_write(&function->code, at, &place))
			*back = at;
	}
	return leave;
}

/* Corrects code that returns to its stack; the frame pointer locates its frame meanwhile. */
static void mend_round_trip(const struct go_function *function)
{
	size_t back, leave = find_switch(function, &back), align;
	struct unwind_rule rule;

	/* If it stays on its stack, and $-16,%rsp comes first. */
	align = find_code(&function->code, 0, "\x48\x83\xe4\xf0");
	if (align < leave)
		leave = align + 4;
	if (leave == NOT_FOUND || back == NOT_FOUND || back < leave)
		return;
	rule = has_saved_fp(go_rule_at(function, leave)) ? by_frame_pointer() : no_rule;
	go_replace(function, leave, back, rule);
}

static void mend_systemstack(const struct go_function *function, const struct go_layout *layout)
{
	size_t back, leave = find_switch(function, &back);
	struct unwind_rule own;

	if (leave == NOT_FOUND || back == leave) {
		go_replace(function, 0, function->code.size, no_rule);
		return;
	}
	own = go_rule_at(function, leave);
	if (has_saved_fp(own))
		go_replace(function, leave, back, by_frame_pointer());
	else
		go_replace(function, leave, back, by_goroutine(own, own.cfa_offset, layout));
}

/*
 * Returns the word of "mov %reg,slot(%rsp)" or "movq $0,slot(%rsp)" and sets the instruction's end;
 * -1: another instruction.
 */
static int slot_of(const struct go_code *code, size_t at, size_t *end)
{
	size_t operand = at + 3, immediate = 0;
	int place = 0;

	if (has(code, at, "\x48\xc7"))
		immediate = 4;
	else if (!has(code, at, "\x48\x89"))
		return -1;
	if (operand >= code->size || code->bytes[operand] != 0x24 ||
	    (code->bytes[at + 2] & 7) != 4 || code->bytes[at + 2] >> 7)
		return -1;
	*end = operand + 1;
	if (code->bytes[at + 2] >> 6) {
		if (*end >= code->size || code->bytes[*end] > 127)
			return -1;
		place = code->bytes[(*end)++];
	}
	*end += immediate;
	return place % WORD ? -1 : place / WORD;
}

/*
 * asmcgocall keeps the goroutine and the depth of its stack in its frame on the system stack. It
 * stores one word after the other; until both are stored, the rule uses the goroutine's saved
 * state. Returns the offset after the code that returns to the stack, or NOT_FOUND.
 */
static size_t mend_asmcgocall_branch(const struct go_function *function, size_t leave,
				     struct unwind_rule own, struct unwind_rule before)
{
	const struct go_code *code = &function->code;
	size_t back = next_sp_write(code, leave, &(int32_t){0}), stored = NOT_FOUND;
	int slots[2] = {0}, count = 0;

	if (back == NOT_FOUND)
		return NOT_FOUND;
	for (size_t at = leave; at < back && count < 2; at++) {
		int slot = slot_of(code, at, &stored);

		if (slot >= 0)
			slots[count++] = slot;
	}
	go_replace(function, leave, back, before);
	if (count < 2)
		return NOT_FOUND;
	go_replace(function, stored, back, go_depth_rule(own, slots));
	return back;
}

static void mend_asmcgocall(const struct go_function *function, const struct go_layout *layout)
{
	size_t leave = find_switch(function, NULL), back;
	struct unwind_rule own;

	if (leave == NOT_FOUND)
		return;
	own = go_rule_at(function, leave - 1);
	back = mend_asmcgocall_branch(function, leave, own,
				      by_goroutine(own, own.cfa_offset, layout));
	if (back == NOT_FOUND)
		return;
	/* The branch already on the system stack: and $-16,%rsp. */
	leave = find_code(&function->code, back, "\x48\x83\xe4\xf0");
	if (leave != NOT_FOUND)
		mend_asmcgocall_branch(function, leave, own, no_rule);
}

/* The kernel returns here twice; code of the new thread has no caller. */
static void mend_clone(const struct go_function *function, const struct go_layout *layout)
{
	size_t at = find_code(&function->code, 0, "\x0f\x05");

	if (at != NOT_FOUND)
		at = find_code(&function->code, at, "\xc3");
	if (at != NOT_FOUND)
		go_replace(function, at + 1, SIZE_MAX, end_rule);
}

/*
 * A signal handler returns here. The row begins a byte early, because the address is looked up like
 * a return address.
 */
static void mend_sigreturn(const struct go_function *function, const struct go_layout *layout)
{
	struct stub_row *row = &function->rows->rows.items[function->first];

	*row = (struct stub_row){
		.vaddr = function->code.vaddr - 1,
		.rule = unwind_signal_rule_x86_64,
	};
	function->rows->rows.count = function->first + 1;
}

/* Functions whose call a signal handler injects into interrupted code: the "caller" is at a pc. */
static void mend_injected(const struct go_function *function, const struct go_layout *layout)
{
	for (size_t i = function->first; i < function->rows->rows.count; i++)
		function->rows->rows.items[i].rule.flags |= UNWIND_SIGNAL_FRAME;
}

/* After the switch, the stack below belongs to another goroutine, or is about to. */
static void mend_one_way(const struct go_function *function, const struct unwind_rule *rule)
{
	size_t leave = find_switch(function, NULL);

	if (leave != NOT_FOUND)
		go_replace(function, leave, SIZE_MAX, *rule);
}

static void mend_morestack(const struct go_function *function, const struct go_layout *layout)
{
	/* The saved sp is the caller's, without morestack's own return address. */
	struct unwind_rule rule = by_goroutine(frame(0, (struct go_saves){0}), 0, layout);

	rule.kinds &= ~3;
	mend_one_way(function, &rule);
}

static void mend_end(const struct go_function *function, const struct go_layout *layout)
{
	go_replace(function, 0, SIZE_MAX, end_rule);
}

static void mend_switch_to_other(const struct go_function *function, const struct go_layout *layout)
{
	mend_one_way(function, &end_rule);
}

/* The last "mov %rax,labels(%reg)", after the write barrier. */
static uint16_t label_place(const struct go_code *code)
{
	int32_t place = 0;

	for (size_t at = 0; at + 7 <= code->size; at++) {
		if ((code->bytes[at] & 0xfe) == 0x48 && code->bytes[at + 1] == 0x89 &&
		    (code->bytes[at + 2] & 0xf8) == 0x80 && (code->bytes[at + 2] & 7) != 4)
			place = read_i32(code, at + 3);
	}
	return place > 0 && place % WORD == 0 && place <= UINT16_MAX ? (uint16_t)place : 0;
}

static const struct go_special specials[] = {
	{"runtime.goexit", mend_end},
	{"runtime.rt0_go", mend_end},
	{"runtime.mstart", mend_end},
	{"runtime.execute", mend_end},
	{"runtime.mcall", mend_switch_to_other},
	{"runtime.gogo", mend_switch_to_other},
	{"gogo", mend_switch_to_other},
	{"runtime.systemstack", mend_systemstack},
	{"runtime.morestack", mend_morestack},
	{"runtime.asmcgocall", mend_asmcgocall},
	{"runtime.clone", mend_clone},
	{"runtime.sigreturn__sigaction", mend_sigreturn},
	{"runtime.sigreturn", mend_sigreturn}, /* before Go 1.20 */
	{"runtime.asyncPreempt", mend_injected},
	{"runtime.sigpanic", mend_injected},
	{"runtime.sigtramp", NULL}, /* leads to sigreturn */
	{0},
};

const struct go_arch go_arch_x86_64 = {
	.frame = frame,
	.saves = saves,
	.read_layout = read_layout,
	.label_place = label_place,
	.specials = specials,
	.mend_sp_writer = mend_round_trip,
};
