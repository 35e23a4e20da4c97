/* SPDX-License-Identifier: MIT */
/*
 * false_v8 MODE [SECONDS]: no V8, but a program with the structures of 12.4, which burns below a
 * frame of generated code that has the slots of a function's. MODE says what is wrong with them:
 *   honest    nothing: one function, "honest", at line 7 of /honest.js
 *   entered   its loop was entered in the middle: the interpreter's slots are in the frame of
 *             compiled code, which has taken in "deep", at line 8
 *   cycle     texts that consist of themselves, a frame whose caller is itself
 *   long      2,000 frames of as many functions
 *   lengths   texts, tables and code that claim to have gigabytes
 *   wild      pointers to nowhere, into the kernel and into the middle of things
 *   changing  another thread changes all of it, again and again
 */
#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "tests/workloads/burn.h"
#include "tests/workloads/random_word.h"

/* Constants that V8 tells debuggers. */
#define TOLD(name, number) const int name = number

TOLD(_ZN2v88internal7Version6major_E, 12);
TOLD(_ZN2v88internal7Version6minor_E, 4);
TOLD(v8dbg_off_fp_function, -16);
TOLD(v8dbg_off_fp_context_or_frame_type, -8);
TOLD(v8dbg_off_fp_bytecode_array, -32);
TOLD(v8dbg_off_fp_bytecode_offset, -40);
TOLD(v8dbg_SmiTag, 0);
TOLD(v8dbg_SmiShiftSize, 31);
TOLD(v8dbg_HeapObjectTag, 1);
TOLD(v8dbg_class_String__length__int32_t, 12);
TOLD(v8dbg_class_SeqOneByteString__chars__char, 16);
TOLD(v8dbg_class_ConsString__first__String, 16);
TOLD(v8dbg_class_ConsString__second__String, 24);
TOLD(v8dbg_class_ThinString__actual__String, 16);
TOLD(v8dbg_class_SlicedString__parent__String, 16);
TOLD(v8dbg_class_SlicedString__offset__SMI, 24);
TOLD(v8dbg_StringRepresentationMask, 7);
TOLD(v8dbg_OneByteStringTag, 8);
TOLD(v8dbg_class_Map__instance_type__uint16_t, 12);
TOLD(v8dbg_FirstNonstringType, 128);
TOLD(v8dbg_type_SharedFunctionInfo__SHARED_FUNCTION_INFO_TYPE, 274);
TOLD(v8dbg_type_Script__SCRIPT_TYPE, 167);
TOLD(v8dbg_type_ScopeInfo__SCOPE_INFO_TYPE, 273);
TOLD(v8dbg_type_BytecodeArray__BYTECODE_ARRAY_TYPE, 204);
TOLD(v8dbg_type_TrustedByteArray__TRUSTED_BYTE_ARRAY_TYPE, 212);
TOLD(v8dbg_type_Code__CODE_TYPE, 206);
TOLD(v8dbg_class_JSFunction__shared__Tagged_SharedFunctionInfo_, 32);
TOLD(v8dbg_class_SharedFunctionInfo__function_data__Object, 8);
TOLD(v8dbg_class_SharedFunctionInfo__name_or_scope_info__Tagged_NameOrScopeInfoT_, 16);
TOLD(v8dbg_class_SharedFunctionInfo__script__Tagged_HeapObject_, 32);
TOLD(v8dbg_class_SharedFunctionInfo__length__uint16_t, 40);
TOLD(v8dbg_class_SharedFunctionInfo__flags__int, 48);
TOLD(v8dbg_class_Script__source__Object, 8);
TOLD(v8dbg_class_Script__name__Object, 16);
TOLD(v8dbg_class_Script__line_ends__Object, 56);
TOLD(v8dbg_scopeinfo_idx_ncontextlocals, 2);
TOLD(v8dbg_scopeinfo_idx_first_vars, 3);
TOLD(v8dbg_class_BytecodeArray__data__uintptr_t, 64);
TOLD(v8dbg_class_BytecodeArray__wrapper__Tagged_BytecodeWrapper_, 32);
TOLD(v8dbg_class_FixedArrayBase__length__SMI, 8);
TOLD(v8dbg_class_FixedArray__data__uintptr_t, 16);
TOLD(v8dbg_CodeKindBaseline, 10);
TOLD(v8dbg_CodeKindFieldMask, 15);

/* A reference to an object, and a small integer. */
#define REF(object) ((uint64_t)(object) + 1)
#define SMALL(number) ((uint64_t)(number) << 32)

struct map {
	char head[12];
	uint16_t type;
	char rest[18];
};

struct text {
	uint64_t map;
	uint32_t hash, length;
	union {
		char characters[48];
		uint64_t parts[2];
	};
};

struct scope {
	uint64_t map, flags, parameters, locals, name, variable, inferred, start, end;
};

struct shared {
	uint64_t map, data, name, outer, script, counts;
	uint32_t flags, literal;
	uint64_t rest;
};

struct function {
	uint64_t map, words[3], shared;
};

struct script {
	uint64_t map, source, name, words[5], id;
};

struct bytecode {
	uint64_t map, length, words[1], positions, more[4];
	uint8_t data[64];
};

struct code {
	uint64_t map, deopt, positions, words[2], start;
	uint32_t flags, size;
	uint64_t rest;
};

struct array {
	uint64_t map, length;
	union {
		uint64_t words[9];
		uint8_t bytes[72];
	};
};

_Static_assert(offsetof(struct script, id) == 64 && offsetof(struct bytecode, data) == 64 &&
		       offsetof(struct code, start) == 40 && offsetof(struct code, size) == 52 &&
		       offsetof(struct shared, literal) == 52,
	       "the layout of 12.4");

enum { TEXT_MAP = 8, THIN_MAP = 5, CONS_MAP = 9 };

static struct map flat_map = {.type = TEXT_MAP}, thin_map = {.type = THIN_MAP},
		  cons_map = {.type = CONS_MAP}, shared_map = {.type = 274},
		  script_map = {.type = 167}, scope_map = {.type = 273},
		  bytecode_map = {.type = 204}, code_map = {.type = 206}, table_map = {.type = 212},
		  other_map = {.type = 2000};

/* All that the other thread changes. */
static struct {
	struct text name, path, source;
	struct scope scope;
	struct shared shared;
	struct function function;
	struct script script;
	struct bytecode bytecode;
	struct code code;
	/* Compiled code and what it has taken in, for "entered". */
	struct text deep_name;
	struct scope deep_scope;
	struct shared deep;
	struct array table, deopt, literals, calls;
} heap;

/* Slots of a function's frame, from the frame pointer down, without the count of arguments. */
struct slots {
	uint64_t context, function, bytecode, offset;
};

static struct slots slots;

static void set_text(struct text *text, const char *characters)
{
	text->map = REF(&flat_map);
	text->length = (uint32_t)strlen(characters);
	memcpy(text->characters, characters, text->length);
}

static void set_up(void)
{
	set_text(&heap.name, "honest");
	set_text(&heap.path, "/honest.js");
	set_text(&heap.source, "\n\n\n\n\n\nfunction honest() { return 1 }\n");
	heap.scope = (struct scope){REF(&scope_map), 0,	       0,	 0, REF(&heap.name), 0,
				    REF(&heap.path), SMALL(6), SMALL(30)};
	heap.shared = (struct shared){.map = REF(&shared_map),
				      .data = REF(&heap.bytecode),
				      .name = REF(&heap.scope),
				      .script = REF(&heap.script),
				      .literal = 1};
	heap.function = (struct function){.map = REF(&other_map), .shared = REF(&heap.shared)};
	heap.script = (struct script){.map = REF(&script_map),
				      .source = REF(&heap.source),
				      .name = REF(&heap.path),
				      .id = SMALL(5)};
	heap.bytecode = (struct bytecode){.map = REF(&bytecode_map), .length = SMALL(64)};
	slots = (struct slots){REF(&heap.scope), REF(&heap.function), REF(&heap.bytecode),
			       SMALL(63 + 3)};
}

/*
 * The code that is "generated": enter(slots, next, arg) makes a function's frame and calls
 * next(arg, frame pointer).
 */
extern const char code_begin[], code_end[];
#if defined(__x86_64__)
__asm__(".text\ncode_begin:\n"
	"push %rbp\n mov %rsp, %rbp\n"
	"push (%rdi)\n push 8(%rdi)\n push $0\n push 16(%rdi)\n push 24(%rdi)\n sub $8, %rsp\n"
	"mov %rsi, %rax\n mov %rdx, %rdi\n mov %rbp, %rsi\n call *%rax\n"
	"leave\n ret\ncode_end:\n");
#elif defined(__aarch64__)
__asm__(".text\ncode_begin:\n"
	"stp x29, x30, [sp, #-16]!\n mov x29, sp\n sub sp, sp, #48\n"
	"ldp x3, x4, [x0]\n str x3, [x29, #-8]\n str x4, [x29, #-16]\n str xzr, [x29, #-24]\n"
	"ldp x3, x4, [x0, #16]\n str x3, [x29, #-32]\n str x4, [x29, #-40]\n"
	"mov x9, x1\n mov x0, x2\n mov x1, x29\n blr x9\n"
	"mov sp, x29\n ldp x29, x30, [sp], #16\n ret\ncode_end:\n");
#else
#error "false_v8 is not written for this architecture"
#endif

typedef void next_fn(void *arg, void *frame);
typedef void enter_fn(const struct slots *slots, next_fn *next, void *arg);

/* Instructions begin at a multiple of 64, behind a head that refers to their Code. */
#define CODE_HEAD 32
#define CODE_AT 128

static enter_fn *generate(void)
{
	char *area = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint64_t head[2] = {REF(&other_map), REF(&heap.code)};
	size_t size = (size_t)(code_end - code_begin);
	void *start = area + CODE_AT;
	enter_fn *enter;

	if (area == MAP_FAILED)
		exit(1);
	memcpy(area + CODE_AT - CODE_HEAD, head, sizeof(head));
	memcpy(start, code_begin, size);
	__builtin___clear_cache(start, (char *)start + size);
	heap.code = (struct code){.map = REF(&code_map),
				  .start = (uint64_t)start,
				  .flags = 12, /* the second compiler */
				  .size = (uint32_t)size};
	memcpy(&enter, &start, sizeof(enter));
	return enter;
}

/* Writes a number as tables of places have it. Returns how many bytes it takes. */
static size_t put_number(uint8_t *at, uint64_t number)
{
	size_t size = 0;

	for (number *= 2; number > 0x7f; number >>= 7)
		at[size++] = (uint8_t)(number | 0x80);
	at[size++] = (uint8_t)number;
	return size;
}

/* Places in texts: characters from 1, doubled. */
#define IN_HONEST 26
#define IN_DEEP 90
#define FIRST_CALL ((uint64_t)1 << 31)

static void make_entered(void)
{
	size_t size;

	set_text(&heap.source, "\n\n\n\n\n\nfunction honest() { }\nfunction deep() { }");
	set_text(&heap.deep_name, "deep");
	heap.deep_scope = heap.scope;
	heap.deep_scope.name = REF(&heap.deep_name);
	heap.deep_scope.start = SMALL(40);
	heap.deep_scope.end = SMALL(50);
	heap.deep = heap.shared;
	heap.deep.name = REF(&heap.deep_scope);
	heap.deep.literal = 2;
	heap.table.map = REF(&table_map);
	size = put_number(heap.table.bytes, 1);
	size += put_number(heap.table.bytes + size, FIRST_CALL | IN_DEEP);
	heap.table.length = SMALL(size);
	heap.calls = (struct array){.length = SMALL(16), .words = {IN_HONEST}};
	heap.literals = (struct array){.length = SMALL(1), .words = {REF(&heap.deep)}};
	heap.deopt = (struct array){
		.length = SMALL(9),
		.words = {[1] = SMALL(1), [2] = REF(&heap.literals), [7] = REF(&heap.calls)}};
	heap.code.positions = REF(&heap.table);
	heap.code.deopt = REF(&heap.deopt);
}

/* Changes words of the heap and the slots of the frame. */
static void *change(void *frame)
{
	uint64_t start = heap.code.start;
	uint32_t size = heap.code.size;

	for (;;) {
		uint64_t word = random_word(&heap, sizeof(heap)),
			 choice = random_word(&heap, sizeof(heap)) >> 3;
		size_t words = sizeof(heap) / 8;
		uint64_t *slot = (uint64_t *)frame - 1 - choice % 5;

		if (choice % 7 == 0)
			*(volatile uint64_t *)slot = word;
		else
			memcpy((uint64_t *)(void *)&heap + choice % words, &word, sizeof(word));
		if (choice % 29)
			continue;
		set_up();
		heap.code = (struct code){
			.map = REF(&code_map), .start = start, .flags = 12, .size = size};
		memcpy((uint64_t *)frame - 1, &slots.context, 8);
		memcpy((uint64_t *)frame - 2, &slots.function, 8);
		memcpy((uint64_t *)frame - 4, &slots.bytecode, 8);
		memcpy((uint64_t *)frame - 5, &slots.offset, 8);
	}
	return NULL;
}

static enter_fn *enter;
static double seconds = 0.5;

static void burn_below(void *arg, void *frame)
{
	const char *mode = arg;
	pthread_t changer;

	if (strcmp(mode, "cycle") == 0)
		memcpy(frame, &frame, sizeof(frame));
	else if (strcmp(mode, "changing") == 0 &&
		 pthread_create(&changer, NULL, change, frame) != 0)
		exit(1);
	burn_ms(1000 * seconds);
	exit(0);
}

#define LONG_CHAIN 2000

struct chain {
	struct function functions[LONG_CHAIN];
	struct shared shared[LONG_CHAIN];
	size_t depth;
};

static void go_deeper(void *arg, void *frame)
{
	struct chain *chain = arg;
	size_t i = chain->depth++;
	struct slots own = slots;

	if (i == LONG_CHAIN)
		burn_below("", frame);
	chain->shared[i] = heap.shared;
	chain->shared[i].literal = (uint32_t)i;
	chain->functions[i] = heap.function;
	chain->functions[i].shared = REF(&chain->shared[i]);
	own.function = REF(&chain->functions[i]);
	enter(&own, go_deeper, chain);
}

static void make_cycles(void)
{
	heap.name.map = REF(&cons_map);
	heap.name.parts[0] = heap.name.parts[1] = REF(&heap.name);
	heap.path.map = REF(&thin_map);
	heap.path.parts[0] = REF(&heap.path);
	heap.source.map = REF(&cons_map);
	heap.source.parts[0] = heap.source.parts[1] = REF(&heap.source);
}

static void make_lengths(void)
{
	heap.name.length = heap.path.length = heap.source.length = UINT32_MAX;
	heap.scope.locals = SMALL(INT32_MAX);
	heap.bytecode.length = heap.bytecode.positions = SMALL(INT32_MAX);
	heap.code.size = UINT32_MAX;
	heap.code.deopt = REF(&heap.bytecode);
	/* The code is searched, and its tables are read. */
	slots.bytecode = 0;
}

static void make_wild(void)
{
	heap.scope.name = 0xffffffff81000001;
	heap.shared.script = REF(&heap.script) + 8;
	heap.script.source = 9;
	heap.bytecode.positions = REF(0xffffffffff600000);
	heap.code.deopt = heap.code.positions = 0x7ffffffff001;
	slots.offset = ~0ull;
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "honest";
	struct chain *chain = calloc(1, sizeof(*chain));

	seconds = argc > 2 ? strtod(argv[2], NULL) : seconds;
	enter = generate();
	set_up();
	if (!chain)
		return 1;
	if (strcmp(mode, "entered") == 0)
		make_entered();
	else if (strcmp(mode, "cycle") == 0)
		make_cycles();
	else if (strcmp(mode, "lengths") == 0)
		make_lengths();
	else if (strcmp(mode, "wild") == 0)
		make_wild();
	if (strcmp(mode, "long") == 0)
		go_deeper(chain, NULL);
	else
		enter(&slots, burn_below, (void *)mode);
	return 0;
}
