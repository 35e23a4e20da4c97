/* SPDX-License-Identifier: MIT */
#include "lib/code/runtimes/php.h"

#include "bpf/runtime_identity.h"
#include "lib/base/bytes.h"

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

static void add_line(struct managed_code *code, uint32_t unit, uint32_t line)
{
	if (line > INT32_MAX)
		line = 0;
	if (!code->lines.count || vec_last(&code->lines).line != line)
		vec_push(&code->lines, ((struct managed_line){unit, line, 0}));
}

/* Adds the lines of instructions, the first of which has this number. */
static void add_lines(struct managed_code *code, const void *ops, uint32_t first, uint32_t count)
{
	struct bytes b;

	for (uint32_t i = 0; i < count; i++) {
		bytes_init(&b, (const uint8_t *)ops + (size_t)i * PHP_OP_SIZE + PHP_OP_LINE, 4);
		add_line(code, first + i, bytes_u32(&b));
	}
}

/* Copies the head. Returns the instructions after it; NULL: not a valid head. */
static const char *head_of(const struct rec_function *function, struct php_function_head *head)
{
	const char *data = function->body + function->name.size + function->file.size;

	if (function->lines.size < sizeof(*head))
		return NULL;
	memcpy(head, data, sizeof(*head));
	if (head->class_size > PHP_CLASS_MAX || head->op_count > function->units ||
	    head->op_count > (function->lines.size - sizeof(*head)) / PHP_OP_SIZE)
		return NULL;
	return data + sizeof(*head);
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
