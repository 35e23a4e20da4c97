/* SPDX-License-Identifier: MIT */
/*
 * R. Its interpreter exports variables, but not the functions that evaluate: these are found by
 * their calls. The contents of contexts are checked as they are read.
 */
#include "lib/base/bytes.h"
#include "lib/code/binary/objects.h"
#include "lib/code/runtimes/file_functions.h"
#include "lib/code/runtimes/runtime.h"

/* RCNTXT of src/include/Defn.h, after a sigjmp_buf of 200 bytes: from 3.5 on. */
#define FIRST_VERSION RUNTIME_VERSION(3, 5)
#define CONTEXT_FUNCTION 232
#define CONTEXT_CALL 248
#define CONTEXT_LOOP 320

enum {
	CONTEXT,
	COLONS, /* in the order of enum r_operator */
	SOURCE = COLONS + R_OPERATORS,
	EVAL,
	SERIALIZE,
	FORCE_AND_CALL,
	APPLY, /* until 4.4 */
	OBJECT_COUNT,
};

static const struct binary_object wanted[OBJECT_COUNT] = {
	[CONTEXT] = {.name = "R_GlobalContext"},
	[COLONS + R_COLONS] = {.name = "R_DoubleColonSymbol"},
	[COLONS + R_THREE_COLONS] = {.name = "R_TripleColonSymbol"},
	[COLONS + R_DOLLAR] = {.name = "R_DollarSymbol"},
	[COLONS + R_BRACKETS] = {.name = "R_Bracket2Symbol"},
	[SOURCE] = {.name = "R_SrcrefSymbol"},
	[EVAL] = {.name = "Rf_eval"},
	[SERIALIZE] = {.name = "R_Serialize"},
	[FORCE_AND_CALL] = {.name = "R_forceAndCall"},
	[APPLY] = {.name = "Rf_applyClosure"},
};

#define CODE_MAX 1024

/*
 * Returns the version, 0x0402 for 4.2, from the code that writes it to serialized data: mov
 * $0x040202,%esi. 0: unknown.
 */
static uint16_t find_version(const struct binary *b, const struct binary_object *serialize)
{
	size_t size = serialize->size < CODE_MAX ? serialize->size : CODE_MAX;
	uint32_t version = 0, number;
	uint8_t code[CODE_MAX];

	if (!serialize->is_there || !binary_read_text(b, serialize->vaddr, code, size))
		return 0;
	for (size_t at = 0; at + 5 <= size; at++) {
		number = (uint32_t)code_int(code + at + 1);
		if (code[at] == 0xbe && number >> 8 >= RUNTIME_VERSION(2, 0) &&
		    number >> 8 < RUNTIME_VERSION(10, 0) && number > version)
			version = number;
	}
	return (uint16_t)(version >> 8);
}

#define FUNCTION_MAX (1u << 20)
#define CALLS_MAX 1024

/* A function, and the functions of its file that it calls directly. */
struct caller {
	uint64_t start, end;
	VEC(uint64_t) calls;
};

static bool does_call(const struct caller *caller, uint64_t function)
{
	vec_for_each(&caller->calls, const uint64_t *, call) {
		if (*call == function)
			return true;
	}
	return false;
}

/*
 * Finds calls in the function at `start`: call with a 32-bit distance to another one's start. On
 * arm64 there are none.
 */
static void read_calls(const struct binary *b, const struct file_functions *functions,
		       uint64_t start, struct caller *caller)
{
	_cleanup_free_ uint8_t *code = NULL;
	uint64_t target;
	size_t size;

	caller->start = start;
	caller->end = file_functions_end(functions, start);
	if (caller->end <= start || caller->end - start > FUNCTION_MAX)
		return;
	size = (size_t)(caller->end - start);
	code = xmalloc(size);
	if (!binary_read_text(b, start, code, size))
		return;
	for (size_t at = 0; at + 5 <= size && caller->calls.count < CALLS_MAX; at++) {
		if (code[at] != 0xe8)
			continue;
		target = code_target(code + at + 1, start + at + 1);
		if (target != start && !does_call(caller, target) &&
		    file_functions_end(functions, target))
			vec_push(&caller->calls, target);
	}
}

/*
 * Returns the loop for bytecode, which is far larger than all other functions: at least 75 kB,
 * while they have at most 20. 0: there is no such function.
 */
static uint64_t find_loop(const struct file_functions *functions)
{
	struct eh_frame_hdr hdr = functions->hdr;
	uint64_t start = 0, largest = 0, found = 0, next, others = 0;

	while (bytes_left(&hdr.entries)) {
		next = eh_frame_hdr_next(&hdr).start;
		if (start && next > start && next - start > others) {
			others = next - start;
			if (others > largest) {
				others = largest;
				largest = next - start;
				found = start;
			}
		}
		start = next;
	}
	return largest / 2 > others ? found : 0;
}

static void add_evaluator(struct r_layout *l, size_t *count, uint64_t start, uint64_t end)
{
	if (*count == R_EVALUATORS || end <= start)
		return;
	l->eval_start[*count] = start;
	l->eval_end[(*count)++] = end;
}

/*
 * Finds the functions that evaluate: eval() calls the loop for bytecode, directly or through
 * another function, and shares with the loop, and with R_forceAndCall(), those for promises,
 * arguments and closures. False: another interpreter.
 */
static bool add_evaluators(const struct binary *b, const struct file_functions *functions,
			   struct caller callers[3], uint64_t apply, struct r_layout *l)
{
	const struct caller *eval = &callers[0], *loop = &callers[1], *force = &callers[2];
	bool has_loop = does_call(eval, loop->start);
	size_t count = 0;

	if (apply)
		add_evaluator(l, &count, apply, file_functions_end(functions, apply));
	add_evaluator(l, &count, eval->start, eval->end);
	add_evaluator(l, &count, loop->start, loop->end);
	vec_for_each(&eval->calls, const uint64_t *, call) {
		struct caller called = {0};
		bool calls_loop;

		if (*call == loop->start)
			continue;
		read_calls(b, functions, *call, &called);
		calls_loop = does_call(&called, loop->start);
		has_loop |= calls_loop;
		if (calls_loop || does_call(loop, *call) || does_call(force, *call))
			add_evaluator(l, &count, called.start, called.end);
		vec_release(&called.calls);
	}
	return has_loop;
}

static bool find_evaluators(const struct binary *b, const struct binary_object *objects,
			    struct r_layout *l)
{
	struct file_functions functions = {0};
	struct caller callers[3] = {0};
	bool is_found = false;
	uint64_t loop = 0;

	if (file_functions_read(b, &functions))
		loop = find_loop(&functions);
	if (loop && objects[EVAL].is_there) {
		read_calls(b, &functions, objects[EVAL].vaddr, &callers[0]);
		read_calls(b, &functions, loop, &callers[1]);
		if (objects[FORCE_AND_CALL].is_there)
			read_calls(b, &functions, objects[FORCE_AND_CALL].vaddr, &callers[2]);
		is_found = add_evaluators(b, &functions, callers, objects[APPLY].vaddr, l);
	}
	for (size_t i = 0; i < 3; i++)
		vec_release(&callers[i].calls);
	file_functions_release(&functions);
	return is_found;
}

static int probe(const struct binary *b, struct runtime_layout *layout, struct error *err)
{
	struct binary_object objects[OBJECT_COUNT];
	struct r_layout *l = &layout->r;
	unsigned int major, minor;

	memcpy(objects, wanted, sizeof(wanted));
	/* Look up only this one at first: most files lack it. */
	binary_find_exported(b, objects, 1);
	if (!objects[CONTEXT].is_there)
		return 0;
	binary_find_exported(b, objects, OBJECT_COUNT);
	l->version = find_version(b, &objects[SERIALIZE]);
	major = l->version >> 8;
	minor = l->version & 255u;
	if (!l->version)
		return 0;
	if (l->version < FIRST_VERSION)
		return error_text(err, -ENOTSUP, "R %u.%u is not supported", major, minor);
	l->context = objects[CONTEXT].vaddr;
	for (size_t i = 0; i < R_OPERATORS; i++)
		l->operators[i] = objects[COLONS + i].vaddr;
	l->source = objects[SOURCE].vaddr;
	l->context_function = CONTEXT_FUNCTION;
	l->context_call = CONTEXT_CALL;
	l->context_loop = CONTEXT_LOOP;
	if (!find_evaluators(b, objects, l))
		return error_text(err, -ENOTSUP, "cannot find the interpreter of R %u.%u", major,
				  minor);
	layout->kind = RUNTIME_R;
	return 0;
}

static bool is_sane(const struct runtime_layout *layout)
{
	const struct r_layout *l = &layout->r;

	return l->version >= FIRST_VERSION && l->context_function == CONTEXT_FUNCTION &&
	       l->context_call == CONTEXT_CALL && l->context_loop == CONTEXT_LOOP;
}

/* Names an element of a list as R does: list[["name"]], list[[2]]. */
static void add_element(struct managed_code *code, const struct r_function_head *head,
			const char *name, size_t size)
{
	const char *quote = head->form == R_FORM_TEXT ? "\"" : "";
	double real;

	strbuf_adds(&code->name, "[[");
	strbuf_adds(&code->name, quote);
	memcpy(&real, &head->number, sizeof(real));
	if (head->form == R_FORM_INTEGER)
		strbuf_addf(&code->name, "%d", (int32_t)head->number);
	else if (head->form == R_FORM_REAL)
		strbuf_addf(&code->name, "%.0f", real);
	else
		managed_text_add(&code->name, name, size);
	strbuf_adds(&code->name, quote);
	strbuf_adds(&code->name, "]]");
}

static void set_name(struct managed_code *code, const struct r_function_head *head,
		     const char *name, size_t size)
{
	static const char *const operators[] = {
		[R_COLONS] = "::", [R_THREE_COLONS] = ":::", [R_DOLLAR] = "$"};

	if (head->form == R_FORM_SYMBOL) {
		managed_text_add(&code->name, name, size);
		return;
	}
	if (head->form < R_FORM_OPERATOR || head->form >= R_FORMS) {
		strbuf_adds(&code->name, "<Anonymous>");
		return;
	}
	managed_text_add(&code->name, head->object, head->object_size);
	if (head->form < R_FORM_OPERATOR + R_BRACKETS) {
		strbuf_adds(&code->name, operators[head->form - R_FORM_OPERATOR]);
		managed_text_add(&code->name, name, size);
	} else {
		add_element(code, head, name, size);
	}
}

static void decode(const struct runtime_layout *layout, const struct rec_function *function,
		   struct managed_code *code)
{
	const char *name = function->body, *file = name + function->name.size;
	struct r_function_head head;

	code->start = -1;
	code->first_line = 0;
	code->tier = NULL;
	vec_clear(&code->lines);
	strbuf_reset(&code->name);
	strbuf_reset(&code->file);
	code->is_cut = (function->name.flags | function->file.flags) & FUNCTION_CUT;
	if (!runtime_read_head(function, &head, sizeof(head)) ||
	    head.object_size > sizeof(head.object))
		return;
	code->first_line = function->first_line <= INT32_MAX ? function->first_line : 0;
	managed_text_add(&code->file, file, function->file.size);
	set_name(code, &head, name, function->name.size);
}

const struct runtime runtime_r = {
	.kind = RUNTIME_R,
	.name = "R",
	.probe = probe,
	.is_sane = is_sane,
	.version_at = offsetof(struct runtime_layout, r.version),
	.decode = decode,
};
