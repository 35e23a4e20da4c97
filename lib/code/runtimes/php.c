/* SPDX-License-Identifier: MIT */
#include "lib/code/runtimes/php.h"

#include "bpf/runtime_identity.h"
#include "lib/base/bytes.h"
#include "lib/code/binary/objects.h"
#include "lib/code/runtimes/file_functions.h"

/* struct _zend_op_array of Zend/zend_compile.h, on 64-bit machines. */
static const struct php_layout layouts[] = {
	{.version = RUNTIME_VERSION(7, 4), .code_count = 60, .code = 64, .file = 136},
	{.version = RUNTIME_VERSION(8, 0), .code_count = 68, .code = 72, .file = 144},
	{.version = RUNTIME_VERSION(8, 1), .code_count = 68, .code = 72, .file = 144},
	{.version = RUNTIME_VERSION(8, 2), .code_count = 80, .code = 88, .file = 152},
	{.version = RUNTIME_VERSION(8, 3), .code_count = 76, .code = 80, .file = 144},
	{.version = RUNTIME_VERSION(8, 4), .code_count = 96, .code = 104, .file = 168},
	{.version = RUNTIME_VERSION(8, 5), .code_count = 96, .code = 104, .file = 168},
};

LAYOUT_OF_VERSION(bool php_layout_of_version, php_layout)

/* Finds PHP's engine in a file, and its variables by its code. */

enum {
	IS_EXECUTING, /* zend_is_executing(): is there a frame? */
	EXECUTE,
	GLOBALS, /* not in builds for threads */
	THREAD_GLOBALS, /* in these */
	FILE_NAME, /* returns the file of the innermost frame with one */
	OBJECT_COUNT,
};

static const struct binary_object wanted[OBJECT_COUNT] = {
	[IS_EXECUTING] = {.name = "zend_is_executing"},
	[EXECUTE] = {.name = "execute_ex"},
	[GLOBALS] = {.name = "executor_globals"},
	[THREAD_GLOBALS] = {.name = "executor_globals_offset"},
	[FILE_NAME] = {.name = "zend_get_executed_filename_ex"},
};

#define CODE_MAX 256
#define EXECUTE_MAX ((size_t)1 << 20)
#define DATA_MAX ((size_t)1 << 26)

struct php_file {
	const struct binary *binary;
	struct binary_object objects[OBJECT_COUNT];
};

/* Reads the code of a function, up to `size` bytes. Returns how many there are. */
static size_t read_code(const struct php_file *f, int function, uint8_t *code, size_t size)
{
	const struct binary_object *object = &f->objects[function];

	if (!object->is_there)
		return 0;
	if (object->size < size)
		size = object->size;
	return binary_read_text(f->binary, object->vaddr, code, size) ? size : 0;
}

/* Finds the version in a header of each answer that a script sends: "X-Powered-By: PHP/8.2.36". */
static bool read_version(void *ctx, const uint8_t *data, size_t size)
{
	static const char header[] = "X-Powered-By: PHP/";
	uint16_t *version = ctx;
	const uint8_t *text = memmem(data, size, header, sizeof(header) - 1);

	if (!text || size - (size_t)(text - data) < sizeof(header) + 3)
		return true;
	text += sizeof(header) - 1;
	if (text[0] < '0' || text[0] > '9' || text[1] != '.' || text[2] < '0' || text[2] > '9')
		return false;
	*version = RUNTIME_VERSION(text[0] - '0', text[2] - '0');
	return false;
}

static uint16_t find_version(const struct php_file *f)
{
	uint16_t version = 0;

	binary_search_section(f->binary, ".rodata", DATA_MAX, read_version, &version);
	return version;
}

/*
 * Finds the variable with the innermost frame: a function compares it with 0, after it has loaded
 * the address of all such variables: cmpq $0,offset(%reg).
 */
static bool find_frame(const struct php_file *f, struct php_layout *l)
{
	uint8_t code[32];
	size_t size = read_code(f, IS_EXECUTING, code, sizeof(code));

	for (size_t at = 0; at + 8 <= size; at++) {
		int32_t offset = code_int(code + at + 3);

		if ((code[at] & 0xfe) != 0x48 || code[at + 1] != 0x83 ||
		    (code[at + 2] & 0xf8) != 0xb8 || code[at + 7] != 0)
			continue;
		if (offset < 0 || (uint64_t)offset + 8 > f->objects[GLOBALS].size || offset % 8)
			continue;
		l->frame = f->objects[GLOBALS].vaddr + (uint64_t)offset;
		return true;
	}
	return false;
}

/*
 * Returns whether the code reads the file's name from the table's offset: mov file(%reg),%rax; ret.
 * Its loop reads the function before that: mov 24(%rax),%reg.
 */
static bool agrees(const struct php_file *f, const struct php_layout *l)
{
	uint8_t code[CODE_MAX];
	size_t size = read_code(f, FILE_NAME, code, sizeof(code));

	for (size_t at = 0; at + 8 <= size; at++) {
		if ((code[at] & 0xfe) == 0x48 && code[at + 1] == 0x8b &&
		    (code[at + 2] & 0xf8) == 0x80 && code[at + 7] == 0xc3 &&
		    code_int(code + at + 3) == l->file)
			return true;
		if ((code[at] & 0xfe) == 0x48 && code[at + 1] == 0x8b &&
		    (code[at + 2] & 0xf8) == 0x40 && code[at + 4] == 0xc3 &&
		    code[at + 3] == l->file)
			return true;
	}
	return false;
}

/* Pieces of code that jumps lead to, with the number of jumps. */
#define PIECES_MAX 64
struct pieces {
	struct {
		uint64_t start, end;
		uint32_t jumps;
	} rows[PIECES_MAX];
	size_t count;
};

static void add_jump(struct pieces *pieces, uint64_t start, uint64_t end)
{
	for (size_t i = 0; i < pieces->count; i++) {
		if (pieces->rows[i].start == start) {
			pieces->rows[i].jumps++;
			return;
		}
	}
	if (pieces->count == PIECES_MAX)
		return;
	pieces->rows[pieces->count].start = start;
	pieces->rows[pieces->count].end = end;
	pieces->rows[pieces->count++].jumps = 1;
}

/* Returns the size of a jump with a 32-bit distance; 0: none. */
static size_t jump_size(const uint8_t *code)
{
	if (code[0] == 0xe9)
		return 5;
	return code[0] == 0x0f && (code[1] & 0xf0) == 0x80 ? 6 : 0;
}

/*
 * Finds the interpreter's cold part, which the compiler has moved elsewhere: the function into
 * whose middle most jumps lead.
 */
static void find_cold_part(struct php_layout *l, const struct file_functions *functions,
			   const uint8_t *code, size_t size)
{
	struct pieces pieces = {0};
	size_t best = 0;

	for (size_t at = 0; at + 6 <= size; at++) {
		size_t jump = jump_size(code + at);
		uint64_t target, start, end = 0;

		if (!jump)
			continue;
		target = code_target(code + at + jump - 4, l->exec_start[0] + at + jump - 4);
		if (target >= l->exec_start[0] && target < l->exec_end[0])
			continue;
		start = file_functions_around(functions, target, &end);
		if (start && start != target)
			add_jump(&pieces, start, end);
	}
	for (size_t i = 1; i < pieces.count; i++) {
		if (pieces.rows[i].jumps > pieces.rows[best].jumps)
			best = i;
	}
	if (!pieces.count || pieces.rows[best].jumps < 4)
		return;
	l->exec_start[1] = pieces.rows[best].start;
	l->exec_end[1] = pieces.rows[best].end;
}

/*
 * Finds a place after the prologue, where the interpreter continues with the first instruction by
 * jmp *(%r15), and the size of its frame there. Builds for other compilers have none.
 */
static void find_dispatch(struct php_layout *l, const uint8_t *code, size_t size)
{
	static const uint8_t jump[] = {0x41, 0xff, 0x27};
	const uint8_t *found = memmem(code, size, jump, sizeof(jump));
	uint32_t words = 1, bytes = 0;
	size_t at = 0;

	/* endbr64 */
	if (size >= 4 && code[0] == 0xf3 && code[1] == 0x0f && code[2] == 0x1e)
		at = 4;
	/* push %r12 and the like, push %rbp and the like */
	for (; at + 8 <= size; words++) {
		if (code[at] == 0x41 && (code[at + 1] & 0xf8) == 0x50)
			at += 2;
		else if ((code[at] & 0xf8) == 0x50)
			at++;
		else
			break;
	}
	/* sub $bytes,%rsp */
	if (at + 8 <= size && code[at] == 0x48 && code[at + 2] == 0xec) {
		if (code[at + 1] == 0x83)
			bytes = code[at + 3];
		else if (code[at + 1] == 0x81)
			bytes = (uint32_t)code_int(code + at + 3);
	}
	if (!found || !bytes || bytes > 4096)
		return;
	l->dispatch = l->exec_start[0] + (uint64_t)(found - code);
	l->exec_size = (uint16_t)(words * 8 + bytes);
}

static bool find_interpreter(const struct php_file *f, struct php_layout *l)
{
	const struct binary_object *object = &f->objects[EXECUTE];
	struct file_functions functions = {0};
	_cleanup_free_ uint8_t *code = NULL;

	if (!object->is_there || !object->size || object->size > EXECUTE_MAX)
		return false;
	code = xmalloc(object->size);
	if (!binary_read_text(f->binary, object->vaddr, code, object->size))
		return false;
	l->exec_start[0] = object->vaddr;
	l->exec_end[0] = object->vaddr + object->size;
	find_dispatch(l, code, object->size);
	if (file_functions_read(f->binary, &functions))
		find_cold_part(l, &functions, code, object->size);
	file_functions_release(&functions);
	return true;
}

static int php_probe(const struct binary *b, struct runtime_layout *layout, struct error *err)
{
	struct php_file f = {.binary = b};
	struct php_layout *l = &layout->php;
	uint16_t version;
	unsigned int major, minor;

	memcpy(f.objects, wanted, sizeof(wanted));
	/* Look up only this one at first: most files lack it. */
	binary_find_exported(b, f.objects, 1);
	if (!f.objects[IS_EXECUTING].is_there)
		return 0;
	binary_find_exported(b, f.objects, OBJECT_COUNT);
	version = find_version(&f);
	major = version >> 8;
	minor = version & 255u;
	if (!version)
		return 0;
	if (!php_layout_of_version(version, l))
		return error_text(err, -ENOTSUP, "PHP %u.%u is not supported", major, minor);
	if (!f.objects[GLOBALS].is_there && f.objects[THREAD_GLOBALS].is_there)
		return error_text(err, -ENOTSUP,
				  "thread-safe builds of PHP %u.%u are not supported", major,
				  minor);
	if (!find_frame(&f, l) || !find_interpreter(&f, l))
		return error_text(err, -ENOTSUP, "cannot find the interpreter of PHP %u.%u", major,
				  minor);
	if (!agrees(&f, l))
		return error_text(err, -EINVAL, "PHP %u.%u has functions of an unknown form", major,
				  minor);
	layout->kind = RUNTIME_PHP;
	return 0;
}

/* Functions as the kernel saw them, and as they are in their process. */

#define TEXT_MAX 4096
#define OPS_AT_ONCE 256u

static bool is_sane(const struct runtime_layout *layout)
{
	const struct php_layout *l = &layout->php;
	struct php_layout known;

	return php_layout_of_version(l->version, &known) && l->code_count == known.code_count &&
	       l->code == known.code && l->file == known.file;
}

/*
 * Returns whether it is the name of a closure: "N\\{closure}", from 8.4 on "{closure:N\\f():12}".
 */
static bool is_closure(const char *name, size_t size)
{
	static const char all[] = "{closure}", begin[] = "{closure:";
	const size_t length = sizeof(all) - 1;

	return (size >= length && memcmp(name + size - length, all, length) == 0) ||
	       (size > length && memcmp(name, begin, length) == 0);
}

/*
 * Sets the name of a function: "f", "Class::f". An anonymous class's name continues with the place
 * of its code, after a zero.
 */
static void set_name(struct managed_code *code, const char *class, size_t class_size,
		     const char *name, size_t name_size)
{
	strbuf_reset(&code->name);
	if (class_size) {
		managed_text_add(&code->name, class, class_size);
		strbuf_adds(&code->name, "::");
	}
	if (is_closure(name, name_size))
		strbuf_adds(&code->name, "{closure}");
	else
		managed_text_add(&code->name, name, name_size);
}

/* Names nameless code: that of files and of eval(). */
static void set_code_name(const struct php_function_head *head, struct managed_code *code)
{
	strbuf_reset(&code->name);
	strbuf_adds(&code->name, head->type == PHP_TYPE_EVAL ? "{eval}"
				 : head->is_main	     ? "{main}"
							     : "{include}");
}

/* Adds the lines of instructions, the first of which has this number. */
static void add_lines(struct managed_code *code, const void *ops, uint32_t first, uint32_t count)
{
	struct bytes b;

	for (uint32_t i = 0; i < count; i++) {
		bytes_init(&b, (const uint8_t *)ops + (size_t)i * PHP_OP_SIZE + PHP_OP_LINE, 4);
		runtime_add_line(code, first + i, bytes_u32(&b));
	}
}

/* Copies the head. Returns the instructions after it; NULL: not a valid head. */
static const char *head_of(const struct rec_function *function, struct php_function_head *head)
{
	if (!runtime_read_head(function, head, sizeof(*head)) || head->class_size > PHP_CLASS_MAX ||
	    head->op_count > function->units ||
	    head->op_count > (function->lines.size - sizeof(*head)) / PHP_OP_SIZE)
		return NULL;
	return function->body + function->name.size + function->file.size + sizeof(*head);
}

static void decode(const struct runtime_layout *layout, const struct rec_function *function,
		   struct managed_code *code)
{
	const char *file = function->body + function->name.size, *ops;
	struct php_function_head head = {0};

	code->start = -1;
	code->first_line = 0;
	code->tier = "PHP";
	vec_clear(&code->lines);
	strbuf_reset(&code->name);
	strbuf_reset(&code->file);
	ops = head_of(function, &head);
	code->is_cut = (function->name.flags | function->file.flags) & FUNCTION_CUT ||
		       head.is_class_cut;
	code->lacks_text = (function->name.flags | function->file.flags) & FUNCTION_UNREADABLE ||
			   (ops && head.code && head.op_count < function->units);
	if (!ops)
		return;
	if (!head.code)
		code->tier = "C function";
	managed_text_add(&code->file, file, function->file.size);
	if (function->name.size)
		set_name(code, head.class, head.class_size, function->body, function->name.size);
	else if (!function->name.flags)
		set_code_name(&head, code);
	code->first_line = head.first_line <= INT32_MAX ? head.first_line : 0;
	add_lines(code, ops, 0, head.op_count);
}

/* Reads the missing parts of the record from the process, in a bounded number of reads. */

struct reader {
	const struct php_layout *layout;
	runtime_read_fn *read;
	void *ctx;
	uint8_t function[PHP_FUNCTION_WORDS * 8];
};

static uint64_t word_at(const uint8_t *data, size_t at)
{
	struct bytes b;

	bytes_init(&b, data + at, 8);
	return bytes_u64(&b);
}

static uint32_t int_at(const uint8_t *data, size_t at)
{
	struct bytes b;

	bytes_init(&b, data + at, 4);
	return bytes_u32(&b);
}

/* See php_identity() in bpf/runtimes/php_stack.bpf.h. */
static bool has_identity(const struct reader *r, bool is_internal, uint64_t identity)
{
	const struct php_layout *l = r->layout;
	const uint64_t words[] = {word_at(r->function, PHP_FUNCTION_NAME * 8),
				  word_at(r->function, PHP_FUNCTION_CLASS * 8),
				  word_at(r->function, l->code),
				  int_at(r->function, l->code_count),
				  word_at(r->function, l->file),
				  int_at(r->function, l->file + 8u)};
	uint64_t sum = RUNTIME_IDENTITY_SEED;

	for (size_t i = 0; i < (is_internal ? 2 : sizeof(words) / sizeof(words[0])); i++)
		sum = runtime_identity_add(sum, words[i]);
	return sum == identity;
}

/* Reads a string. Returns its size; 0: unreadable, or none. */
static size_t read_string(const struct reader *r, uint64_t addr, char text[TEXT_MAX])
{
	uint8_t head[PHP_STRING_WORDS * 8];
	uint64_t size;

	if (!addr || !r->read(r->ctx, addr, head, sizeof(head)))
		return 0;
	size = word_at(head, PHP_STRING_LENGTH * 8);
	if ((word_at(head, PHP_STRING_TYPE * 8) >> 32 & PHP_TYPE_MASK) != PHP_TYPE_STRING)
		return 0;
	if (size > TEXT_MAX)
		size = TEXT_MAX;
	return r->read(r->ctx, addr + PHP_STRING_TEXT, text, size) ? size : 0;
}

static void read_name(const struct reader *r, struct managed_code *code)
{
	uint64_t class = word_at(r->function, PHP_FUNCTION_CLASS * 8), class_name = 0;
	char name[TEXT_MAX], text[TEXT_MAX];
	size_t size = read_string(r, word_at(r->function, PHP_FUNCTION_NAME * 8), name);
	uint8_t word[8];

	if (!size)
		return;
	if (class && r->read(r->ctx, class + PHP_CLASS_NAME, word, sizeof(word)))
		class_name = word_at(word, 0);
	set_name(code, text, read_string(r, class_name, text), name, size);
}

/* Replaces the lines, if all of them are readable. */
static void read_lines(const struct reader *r, uint64_t addr, uint32_t units,
		       struct managed_code *code)
{
	_cleanup_free_ uint8_t *ops = xmalloc((size_t)OPS_AT_ONCE * PHP_OP_SIZE);
	uint32_t count;

	vec_clear(&code->lines);
	for (uint32_t at = 0; at < units; at += count) {
		count = units - at < OPS_AT_ONCE ? units - at : OPS_AT_ONCE;
		if (!r->read(r->ctx, addr + (uint64_t)at * PHP_OP_SIZE, ops,
			     (size_t)count * PHP_OP_SIZE))
			return;
		add_lines(code, ops, at, count);
	}
}

static bool late(const struct runtime_layout *layout, const struct rec_function *function,
		 runtime_read_fn *read, void *ctx, struct managed_code *code)
{
	struct php_function_head head;
	struct reader r = {.layout = &layout->php, .read = read, .ctx = ctx};
	char text[TEXT_MAX];
	size_t size;

	if (!head_of(function, &head))
		return false;
	size = head.code ? sizeof(r.function) : (size_t)PHP_INTERNAL_WORDS * 8;
	if (!read(ctx, function->code, r.function, size) ||
	    !has_identity(&r, !head.code, function->identity))
		return false;
	if (function->name.flags & FUNCTION_UNREADABLE)
		read_name(&r, code);
	if (!head.code)
		return true;
	if (!code->file.size) {
		size = read_string(&r, word_at(r.function, r.layout->file), text);
		managed_text_add(&code->file, text, size);
	}
	if (head.op_count < function->units)
		read_lines(&r, head.code, function->units, code);
	return true;
}

const struct runtime runtime_php = {
	.kind = RUNTIME_PHP,
	.name = "PHP",
	.probe = php_probe,
	.is_sane = is_sane,
	.version_at = offsetof(struct runtime_layout, php.version),
	.decode = decode,
	.late = late,
};
