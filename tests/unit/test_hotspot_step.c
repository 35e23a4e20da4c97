/* SPDX-License-Identifier: MIT */
/* Steps through a JVM's frames, in memory as HotSpot has it. */
#include "tests/unit/hotspot_vm.h"
#include "tests/unit/test.h"

enum {
	CALLER = VM_HEAP + 0x400 + 16, /* blobs: behind their headers */
	CALLEE = VM_HEAP + 0x800 + 16,
	INTERPRETER = VM_HEAP + 0x1000 + 16,
	STUBS = VM_HEAP + 0x2000 + 16,
	ADAPTER = VM_HEAP + 0x2400 + 16,
	CODE = 0x200, /* of a blob's first instruction */
	CODE_SIZE = 0x100,
	SIZE = 64, /* bytes of the callee's frame */
	CALLER_SIZE = 96,
	SP = VM_STACK + 0x800,
	CALLER_SP = SP + SIZE,
	COMPLETE = 0x20,
};

#define CALLER_PC (CALLER + CODE + 0x40) /* behind a call */
#define CALLEE_PC (CALLEE + CODE)
#define OUTER_PC (VM_NATIVE + 0x40)
#define CALLER_FP 0x4242
#define ORIG_PC_AT 16

static struct walk_frame frame;
static struct hotspot_walk vm;

static void put(uint64_t addr, const void *bytes, size_t size)
{
	uint8_t *at = vm_at(addr, size);

	assert_non_null(at);
	memcpy(at, bytes, size);
}

static void put_word(uint64_t addr, uint64_t word)
{
	put(addr, &word, sizeof(word));
}

static void put_int(uint64_t addr, uint32_t value)
{
	put(addr, &value, sizeof(value));
}

/* Makes a call end at the address. */
static void put_call(uint64_t addr)
{
	put(addr - 5, "\xe8\0\0\0", 5);
}

static void make_blob(uint64_t blob, const char *name, uint32_t frame_size, uint32_t segments)
{
	static uint64_t text = VM_TEXTS;
	uint64_t first = (blob - 16 - VM_HEAP) / VM_SEGMENT;

	if (text + 64 > VM_SEGMENTS)
		text = VM_TEXTS;
	put(text, name, strlen(name) + 1);
	put_word(blob + 96, text);
	put_int(blob + 28, frame_size / 8);
	put_int(blob + 20, COMPLETE);
	put_word(blob + 32, blob + CODE);
	put_word(blob + 40, blob + CODE + CODE_SIZE);
	put_int(blob + 300, ORIG_PC_AT);
	put_int(blob + 304, 77);
	put_word(blob + 112, 0x5000);
	put_word(blob + 128, blob + CODE + CODE_SIZE - 16);
	for (uint32_t i = 0; i < segments; i++)
		vm_memory.segments[first + i] = (uint8_t)i;
	text += 64;
}

/* A method that is called by another one, and that by native code. */
static void set_up(void)
{
	memset(&vm_memory, 0, sizeof(vm_memory));
	memset(vm_memory.segments, HOTSPOT_FREE, sizeof(vm_memory.segments));
	memset(vm_memory.heap, 0x90, sizeof(vm_memory.heap));
	memset(&frame, 0, sizeof(frame));
	vm = (struct hotspot_walk){.layout = vm_layout, .vm = vm_process};
	vm.vm.interpreter = INTERPRETER + CODE;
	vm.vm.interpreter_end = INTERPRETER + CODE + CODE_SIZE;
	vm.vm.entries = vm.vm.interpreter;
	vm.vm.entries_end = vm.vm.interpreter + 0x40;
	vm.vm.call_stub = STUBS + CODE + 0x40;
	make_blob(CALLER, "nmethod", CALLER_SIZE, 7);
	make_blob(CALLEE, "nmethod", SIZE, 7);
	make_blob(INTERPRETER, "Interpreter", 0, 7);
	make_blob(STUBS, "StubRoutines (1)", 0, 7);
	make_blob(ADAPTER, "I2C/C2I adapters", 0, 7);
	put_call(CALLER_PC);
	put_call(OUTER_PC);
	put_word(CALLER_SP - 8, CALLER_PC);
	put_word(CALLER_SP - 16, CALLER_FP);
	put_word(CALLER_SP + CALLER_SIZE - 8, OUTER_PC);
	frame.pc = CALLEE_PC + 0x60;
	frame.sp = SP;
	frame.fp = 0x1111;
	frame.is_pc = frame.has_sp = frame.has_others = 1;
}

static int step(void)
{
	vm.has_no_frame = 0;
	if (!hotspot_find_blob(&vm, frame.pc))
		return 0;
	hotspot_note(&frame, &vm);
	return hotspot_step(&frame, &vm);
}

static void assert_at_caller(uint64_t sp, uint64_t fp)
{
	assert_int_equal(frame.pc, CALLER_PC);
	assert_int_equal(frame.sp, sp);
	assert_int_equal(frame.fp, fp);
	assert_int_equal(frame.is_pc, 0);
}

TEST(frame_of_a_method_has_its_blobs_size)
{
	set_up();
	assert_true(step());
	assert_at_caller(CALLER_SP, CALLER_FP);
	assert_int_equal(vm.found.function, HOTSPOT_COMPILED);
	assert_int_equal(vm.found.compile_id, 77);
	assert_int_equal(vm.found.unit, 0x5f);
	assert_int_equal(vm.has_no_frame, 0);
	assert_true(step());
	assert_int_equal(frame.pc, OUTER_PC);
	assert_int_equal(frame.sp, CALLER_SP + CALLER_SIZE);
}

TEST(blob_is_found_from_each_of_its_segments)
{
	set_up();
	assert_int_equal(hotspot_find_start(&vm, CALLEE + 5), CALLEE);
	assert_int_equal(hotspot_find_start(&vm, CALLEE + CODE + CODE_SIZE - 1), CALLEE);
	assert_int_equal(hotspot_find_start(&vm, VM_HEAP + 0x4000), 0);
	assert_int_equal(hotspot_find_start(&vm, VM_HEAP - 1), 0);
}

/* Code of a method that begins, and where its caller is then. */
static const struct {
	const char *code;
	uint32_t size;
	uint64_t sp; /* of the return address */
	uint64_t fp; /* of the caller */
	int is_whole;
} beginnings[] = {
	{"", 0, SP, 0x1111, 0},
	{"\x89\x84\x24\x00\xc0\xfe\xff", 7, SP, 0x1111, 0},
	{"\x89\x84\x24\x00\xc0\xfe\xff\x55", 8, SP + 8, 0x2222, 0},
	{"\x55\x48\x8b\xec", 4, SP + 8, 0x2222, 0},
	{"\x55\x48\x83\xec\x30", 5, CALLER_SP - 8, CALLER_FP, 1},
	{"\x55\x48\x81\xec\x30\0\0\0", 8, CALLER_SP - 8, CALLER_FP, 1},
	{"\x48\x83\xec\x38", 4, CALLER_SP - 8, 0x1111, 0},
	/* Another frame's size is no evidence. */
	{"\x48\x83\xec\x20", 4, SP, 0x1111, 0},
};

TEST(method_that_begins_is_known_by_its_code)
{
	for (size_t i = 0; i < sizeof(beginnings) / sizeof(*beginnings); i++) {
		set_up();
		put(CALLEE_PC, beginnings[i].code, beginnings[i].size);
		frame.pc = CALLEE_PC + beginnings[i].size;
		put_word(SP, 0x2222);
		put_word(beginnings[i].sp, CALLER_PC);
		assert_true(step());
		assert_at_caller(beginnings[i].sp + 8, beginnings[i].fp);
		assert_int_equal(vm.has_no_frame, !beginnings[i].is_whole);
	}
}

/* Code of a method that ends; `at`: the pc. */
static const struct {
	const char *code;
	uint32_t size, at;
	uint64_t sp; /* of the return address */
} ends[] = {
	{"\x48\x83\xc4\x30\x5d\x49\x3b\xa7", 8, 4, SP + 8},
	{"\x48\x83\xc4\x30\x5d\x49\x3b\xa7", 8, 5, SP},
	{"\x0f\x87\1\2\3\4\xc3", 7, 0, SP},
	{"\x5d\xc3", 2, 1, SP},
	{"\x4c\x8d\x15\1\2\3\4\x4d\x89\x97\1\2\3\4\xe9", 15, 0, SP},
	{"\x4c\x8d\x15\1\2\3\4\x4d\x89\x97\1\2\3\4\xe9", 15, 7, SP},
	{"\x4c\x8d\x15\1\2\3\4\x4d\x89\x97\1\2\3\4\xe9", 15, 14, SP},
	{"\x5d\x4d\x8b\x97\1\2\3\4\x41\x85\x02\xc3", 12, 1, SP},
	{"\x41\x85\x02\xc3", 4, 0, SP},
};

TEST(method_that_ends_is_known_by_its_code)
{
	for (size_t i = 0; i < sizeof(ends) / sizeof(*ends); i++) {
		set_up();
		put(CALLEE_PC + 0x60, ends[i].code, ends[i].size);
		frame.pc = CALLEE_PC + 0x60 + ends[i].at;
		put_word(ends[i].sp, CALLER_PC);
		assert_true(step());
		assert_int_equal(frame.sp, ends[i].sp + 8);
		assert_int_equal(vm.has_no_frame, 1);
	}
}

TEST(method_whose_pop_restores_another_frame_is_whole)
{
	set_up();
	put(CALLEE_PC + 0x60, "\x48\x83\xc4\x20\x5d", 5);
	frame.pc = CALLEE_PC + 0x64;
	assert_true(step());
	assert_at_caller(CALLER_SP, CALLER_FP);
	assert_int_equal(vm.has_no_frame, 0);
}

TEST(words_on_top_of_a_frame_are_skipped)
{
	set_up();
	frame.sp -= 16;
	assert_true(step());
	assert_at_caller(CALLER_SP, CALLER_FP);
}

/* Makes the callee's frame larger than its blob says by so many bytes, as its entry does. */
static void extend_frame(uint64_t size)
{
	set_up();
	/* A return address may be left over there. */
	put_word(CALLER_SP - 8, CALLER_PC + 0x20);
	put_call(CALLER_PC + 0x20);
	put_word(SP + SIZE - HOTSPOT_STATED, SIZE - 16 + size);
	put_word(CALLER_SP + size - 8, CALLER_PC);
	put_word(CALLER_SP + size - 16, CALLER_FP);
}

TEST(frame_with_room_for_fields_states_its_size)
{
	extend_frame(144);
	assert_true(step());
	assert_at_caller(CALLER_SP + 144, CALLER_FP);
	assert_int_equal(vm.is_plain, 0);
	/* To be deoptimized. */
	extend_frame(144);
	frame.pc = CALLEE + CODE + CODE_SIZE - 16;
	frame.is_pc = 0;
	put_word(SP + ORIG_PC_AT, CALLEE_PC + 0x30);
	assert_true(step());
	assert_int_equal(vm.found.unit, 0x2f);
	assert_at_caller(CALLER_SP + 144, CALLER_FP);
	/* Not every frame of the method is larger. */
	set_up();
	put_word(SP + SIZE - HOTSPOT_STATED, SIZE - 16);
	assert_true(step());
	assert_at_caller(CALLER_SP, CALLER_FP);
	assert_int_equal(vm.is_plain, 0);
	set_up();
	assert_true(step());
	assert_int_equal(vm.is_plain, 1);
}

TEST(frame_with_room_for_fields_is_made_and_left)
{
	/* mov [rsp + 0x30], rbp; mov qword [rsp + 0x28], …; behind it, the method's plain entry */
	extend_frame(144);
	put(CALLEE_PC, "\x48\x89\x6c\x24\x30\x48\xc7\x44\x24\x28\xc0\0\0\0\xeb", 15);
	frame.pc = CALLEE_PC + 14;
	assert_true(step());
	assert_at_caller(CALLER_SP + 144, CALLER_FP);
	/* add rsp, [rsp + 0x28]; pop rbp, with both sizes of the offset */
	extend_frame(144);
	put(CALLEE_PC + 0x60, "\x48\x03\x64\x24\x28\x5d\x49\x3b\x67\x28", 10);
	frame.pc = CALLEE_PC + 0x65;
	frame.sp = CALLER_SP + 144 - 16;
	assert_true(step());
	assert_at_caller(CALLER_SP + 144, CALLER_FP);
	extend_frame(144);
	put(CALLEE_PC + 0x60, "\x48\x03\xa4\x24\x28\0\0\0\x5d", 9);
	frame.pc = CALLEE_PC + 0x68;
	frame.sp = CALLER_SP + 144 - 16;
	assert_true(step());
	assert_at_caller(CALLER_SP + 144, CALLER_FP);
	assert_int_equal(vm.has_no_frame, 1);
}

TEST(word_that_states_no_size_leads_nowhere)
{
	static const uint64_t words[] = {0,	     SIZE - 24,	     SIZE - 16 + 4,  1u << 31,
					 UINT64_MAX, UINT64_MAX - 7, SIZE - 16 + 800};

	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++) {
		extend_frame(144);
		put_word(CALLER_SP - 8, 7);
		put_word(SP + SIZE - HOTSPOT_STATED, words[i]);
		assert_false(step());
	}
	/* Another frame's. */
	extend_frame(144);
	put_word(CALLER_SP - 8, 7);
	put_word(CALLER_SP - 16, 8);
	assert_false(step());
	/* In a frame without room for the word. */
	extend_frame(144);
	put_word(CALLER_SP - 8, 7);
	put_int(CALLEE + 28, 2);
	assert_false(step());
}

TEST(method_to_be_deoptimized_has_its_pc_in_its_frame)
{
	set_up();
	frame.pc = CALLEE + CODE + CODE_SIZE - 16;
	frame.is_pc = 0;
	put_word(SP + ORIG_PC_AT, CALLEE_PC + 0x30);
	assert_true(step());
	assert_int_equal(vm.found.unit, 0x2f);
	assert_at_caller(CALLER_SP, CALLER_FP);
}

TEST(return_address_may_be_where_deoptimization_begins)
{
	set_up();
	put_word(CALLER_SP - 8, CALLER + CODE + CODE_SIZE - 16);
	assert_true(step());
	assert_int_equal(frame.pc, CALLER + CODE + CODE_SIZE - 16);
}

/* Makes the interpreter's frame at sp + 80, whose caller has that sp. */
static uint64_t make_slots(uint64_t sender)
{
	uint64_t fp = SP + 80;

	put_word(fp, CALLER_FP);
	put_word(fp + 8, CALLER_PC);
	put_word(fp - 8, sender);
	put_word(fp - 24, 0x5000);
	frame.fp = fp;
	frame.pc = INTERPRETER + CODE + 0x80;
	return fp;
}

TEST(interpreters_frame_tells_its_senders_sp)
{
	set_up();
	make_slots(SP + 200);
	assert_true(step());
	assert_at_caller(SP + 200, CALLER_FP);
}

TEST(senders_sp_within_the_frame_is_none)
{
	uint64_t fp;

	set_up();
	fp = make_slots(SP);
	assert_true(step());
	assert_at_caller(fp + 16, CALLER_FP);
}

TEST(interpreted_method_that_begins_has_its_senders_sp_in_a_register)
{
	set_up();
	frame.pc = INTERPRETER + CODE + 0x10;
	frame.other[HOTSPOT_R13] = SP + 16;
	put_word(SP, CALLER_PC);
	assert_true(step());
	assert_at_caller(SP + 16, 0x1111);
	assert_int_equal(vm.has_no_frame, 1);

	set_up();
	frame.pc = INTERPRETER + CODE + 0x10;
	frame.other[HOTSPOT_R13] = SP + 32;
	frame.other[HOTSPOT_RAX] = CALLER_PC;
	put_word(SP, 7);
	assert_true(step());
	assert_at_caller(SP + 32, 0x1111);
}

TEST(interpreted_method_that_ends_has_left_its_frame)
{
	set_up();
	frame.pc = INTERPRETER + CODE + 0x80;
	frame.base = SP + 24;
	put(frame.pc, "\x41\x5d\x48\x8b\xe3\x41\xff\xe5", 8);
	put_word(SP, CALLER_PC);
	assert_true(step());
	assert_at_caller(SP + 24, 0x1111);

	set_up();
	frame.pc = INTERPRETER + CODE + 0x82;
	frame.base = SP + 24;
	frame.other[HOTSPOT_R13] = CALLER_PC;
	put(frame.pc - 2, "\x41\x5d\x48\x8b\xe3\x41\xff\xe5", 8);
	assert_true(step());
	assert_at_caller(SP + 24, 0x1111);
}

TEST(call_stub_leads_to_native_code_and_keeps_its_register)
{
	set_up();
	frame.pc = vm.vm.call_stub;
	frame.is_pc = 0;
	frame.fp = SP + 96;
	put_word(SP + 96, 0x3333);
	put_word(SP + 104, OUTER_PC);
	assert_true(step());
	assert_int_equal(frame.pc, OUTER_PC);
	assert_int_equal(frame.fp, 0x3333);
	assert_int_equal(frame.base_at, SP + 96 - HOTSPOT_CALL_STUB_RBX);
}

TEST(adapter_has_its_return_address_at_sp_or_in_a_register)
{
	set_up();
	frame.pc = ADAPTER + CODE + 0x10;
	put_word(SP, CALLER_PC);
	put_word(SP + 8 + CALLER_SIZE - 8, OUTER_PC);
	assert_true(step());
	assert_at_caller(SP + 8, 0x1111);

	set_up();
	frame.pc = ADAPTER + CODE + 0x10;
	frame.other[HOTSPOT_RAX] = CALLER_PC;
	frame.other[HOTSPOT_R13] = SP + 40;
	put_word(SP + 40 + CALLER_SIZE - 8, OUTER_PC);
	assert_true(step());
	assert_at_caller(SP + 40, 0x1111);
}

TEST(wrapper_that_jumps_to_its_target_has_no_frame)
{
	set_up();
	make_blob(CALLEE, "native nmethod", 0, 7);
	put_word(SP, CALLER_PC);
	assert_true(step());
	assert_int_equal(vm.found.function, HOTSPOT_WRAPPER);
	assert_at_caller(SP + 8, 0x1111);
	set_up();
	make_blob(CALLEE, "native nmethod", 0, 7);
	put_word(SP, 1);
	put_word(SP + 8, CALLER_PC);
	assert_true(step());
	assert_at_caller(SP + 16, 0x1111);
	/* Other methods have frames. */
	set_up();
	make_blob(CALLEE, "nmethod", 0, 7);
	put_word(SP, CALLER_PC);
	assert_false(step());
}

TEST(stub_that_holds_up_a_method_has_a_cookie_in_its_frame)
{
	set_up();
	frame.pc = STUBS + CODE + 0x20;
	frame.fp = SP + 32;
	put_word(SP + 32, CALLER_FP);
	put_word(SP + 40, UINT64_MAX);
	put_word(SP + 48, CALLER_PC);
	assert_true(step());
	assert_at_caller(SP + 56, CALLER_FP);
}

/* At the end of the frames of a virtual thread that are on the stack. */
static void set_up_seam(void)
{
	set_up();
	make_blob(STUBS, "StubRoutines (continuationstubs)", 0, 7);
	frame.pc = STUBS + CODE + 0x20;
	frame.is_pc = 0;
	frame.fp = SP + 128;
}

TEST(carrier_of_a_virtual_thread_is_found_by_its_frame_or_the_frame_pointer)
{
	set_up_seam();
	put_word(SP + 64, CALLER_FP);
	put_word(SP + 72, CALLER_PC);
	assert_true(step());
	assert_at_caller(SP + 80, CALLER_FP);
	/* The last frame is an interpreted one, with its arguments above it. */
	set_up_seam();
	put_word(SP + 128, CALLER_FP);
	put_word(SP + 136, CALLER_PC);
	assert_true(step());
	assert_at_caller(SP + 144, CALLER_FP);
	set_up_seam();
	assert_false(step());
	assert_int_equal(vm.found.function, HOTSPOT_FROZEN);
}

TEST(handler_of_an_exception_returns_to_where_it_was_thrown)
{
	set_up();
	make_blob(STUBS, "handle_exception Runtime1 stub", SIZE, 7);
	vm.vm.call_stub = 0;
	frame.pc = STUBS + CODE + 0x60;
	frame.is_pc = 0;
	put_word(CALLER_SP - 8, CALLER + CODE + 0x60);
	assert_true(step());
	assert_int_equal(frame.pc, CALLER + CODE + 0x60);
	assert_int_equal(frame.sp, CALLER_SP);
}

TEST(handler_of_an_exception_is_where_a_stub_jumps_that_has_left_its_frame)
{
	set_up();
	make_blob(STUBS, "handle_exception_from_callee Runtime1 stub", 16, 7);
	vm.vm.call_stub = 0;
	frame.pc = STUBS + CODE + 0x60;
	put(frame.pc, "\x59\xff\xe1", 3);
	put_word(SP, CALLER + CODE + 0x60);
	/* It would be taken, were the frame still there. */
	put_word(SP + 8, CALLER_PC);
	assert_true(step());
	assert_int_equal(frame.pc, CALLER + CODE + 0x60);
	assert_int_equal(frame.sp, SP + 8);
	set_up();
	make_blob(STUBS, "handle_exception_from_callee Runtime1 stub", 16, 7);
	vm.vm.call_stub = 0;
	frame.pc = STUBS + CODE + 0x61;
	frame.other[HOTSPOT_RCX] = CALLER + CODE + 0x60;
	put(frame.pc - 1, "\x59\xff\xe1", 3);
	put_word(SP + 8, CALLER_PC);
	assert_true(step());
	assert_int_equal(frame.pc, CALLER + CODE + 0x60);
	assert_int_equal(frame.sp, SP);
}

TEST(exception_that_is_handed_on_has_its_place_in_a_register)
{
	set_up();
	frame.pc = STUBS + CODE + 0x60;
	frame.other[HOTSPOT_RDX] = CALLER_PC;
	put_word(SP + CALLER_SIZE - 8, OUTER_PC);
	assert_true(step());
	assert_at_caller(SP, 0x1111);
}

TEST(nothing_is_guessed_in_code_that_leads_nowhere)
{
	set_up();
	put_word(CALLER_SP - 8, VM_NATIVE + 0x20);
	assert_false(step());
	set_up();
	frame.pc = VM_HEAP + 0x5000;
	assert_false(step());
	set_up();
	put_int(CALLEE + 28, 0);
	assert_false(step());
	set_up();
	put_word(CALLEE + 32, CALLEE_PC + 0x1000);
	assert_false(step());
}
