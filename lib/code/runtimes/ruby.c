/* SPDX-License-Identifier: MIT */
#include "lib/code/runtimes/ruby.h"

#include "bpf/runtime_identity.h"
#include "lib/base/bytes.h"
#include "lib/code/binary/objects.h"
#include "lib/code/runtimes/file_functions.h"

/*
 * Found in Debian's interpreters by scripts/ruby-offsets, which reads the structures of a process
 * that runs a known program.
 */

/* clang-format off */
static const struct ruby_layout layouts[] = {
	{
		.version = RUNTIME_VERSION(2, 7), .frame_size = 56,
		.body_path = 64, .body_label = 80, .body_first_line = 88, .body_lines = 120,
		.line_size = 8, .string_text = 16,
		.class_more = 24, .more_variables = 8, .singleton = 12,
	},
	{
		.version = RUNTIME_VERSION(3, 1), .frame_size = 64,
		.body_path = 64, .body_label = 80, .body_first_line = 88, .body_lines = 120,
		.line_size = 12, .string_text = 16,
		.class_more = 24, .more_variables = 8, .singleton = 12,
	},
	{
		.version = RUNTIME_VERSION(3, 3), .frame_size = 56,
		.body_path = 64, .body_label = 80, .body_first_line = 88, .has_line_number = true,
		.body_lines = 112, .line_size = 12,
		.string_text = 24, .string_length = 16,
		.class_name = 152, .class_object = 128, .singleton = 12,
	},
	{
		.version = RUNTIME_VERSION(3, 4), .frame_size = 56,
		.body_path = 64, .body_label = 80, .body_first_line = 88, .has_line_number = true,
		.body_lines = 112, .line_size = 12,
		.string_text = 24, .string_length = 16,
		.class_name = 152, .class_object = 128, .singleton = 13,
	},
	{
		.version = RUNTIME_VERSION(4, 0), .frame_size = 56,
		.body_path = 64, .body_label = 80, .body_first_line = 88, .has_line_number = true,
		.body_lines = 112, .line_size = 12,
		.string_text = 24, .string_length = 16,
		.class_name = 152, .class_object = 136, .singleton = 13,
	},
};
/* clang-format on */

LAYOUT_OF_VERSION(bool ruby_layout_of_version, ruby_layout)

/* Reads Ruby objects from a process, with few reads whatever they contain. */

#define TEXT_MAX 4096
#define VARIABLES_MAX 64
#define SYMBOLS_IN_A_ROW 512
#define OPERATOR_LAST 170 /* symbols up to this one are identified by their characters */
#define KIND_OBJECT 2 /* a class */
#define KIND_MODULE 3

bool ruby_read_words(const struct ruby_memory *m, uint64_t addr, uint64_t *words, size_t count)
{
	uint8_t data[64 * 8];
	struct bytes b;

	if (!addr || addr % 8 || count > sizeof(data) / 8 ||
	    !m->read(m->ctx, addr, data, count * 8))
		return false;
	bytes_init(&b, data, count * 8);
	for (size_t i = 0; i < count; i++)
		words[i] = bytes_u64(&b);
	return true;
}

bool ruby_read_string(const struct ruby_memory *m, uint64_t addr, struct strbuf *text)
{
	uint64_t words[RUBY_STRING_WORDS], size, from;
	char data[TEXT_MAX];

	if (!ruby_read_words(m, addr, words, RUBY_STRING_WORDS))
		return false;
	if ((words[0] & RUBY_TYPE_MASK) == RUBY_TYPE_ARRAY) {
		addr = words[2];
		if (!(words[0] & RUBY_STRING_APART) ||
		    !ruby_read_words(m, addr, words, RUBY_STRING_WORDS))
			return false;
	}
	if ((words[0] & RUBY_TYPE_MASK) != RUBY_TYPE_STRING)
		return false;
	size = words[0] & RUBY_STRING_APART || m->layout->string_length ? words[2]
									: words[0] >> 14 & 31;
	from = words[0] & RUBY_STRING_APART ? words[3] : addr + m->layout->string_text;
	if (size > sizeof(data))
		size = sizeof(data);
	if (!m->read(m->ctx, from, data, size))
		return false;
	managed_text_add(text, data, size);
	return true;
}

static bool read_element(const struct ruby_memory *m, uint64_t array, uint64_t index,
			 uint64_t *value)
{
	uint64_t words[RUBY_STRING_WORDS], from;

	if (!ruby_read_words(m, array, words, RUBY_STRING_WORDS) ||
	    (words[0] & RUBY_TYPE_MASK) != RUBY_TYPE_ARRAY)
		return false;
	from = words[0] & RUBY_STRING_APART ? array + 16 : words[4];
	return ruby_read_words(m, from + index * 8, value, 1);
}

bool ruby_read_symbol(const struct ruby_memory *m, uint64_t symbols, uint64_t id,
		      struct strbuf *text)
{
	uint64_t number = id > OPERATOR_LAST ? id >> 4 : id, all[3], row, string;

	/* The number of the last symbol, a table, then the names. */
	return symbols && number <= UINT32_MAX && ruby_read_words(m, symbols, all, 3) &&
	       number <= (uint32_t)all[0] &&
	       read_element(m, all[2], number / SYMBOLS_IN_A_ROW, &row) &&
	       read_element(m, row, number % SYMBOLS_IN_A_ROW * 2, &string) &&
	       ruby_read_string(m, string, text);
}

/* Finds an internal variable of a class. */
static bool find_variable(const struct ruby_memory *m, uint64_t symbols, uint64_t table,
			  const char *name, uint64_t *value)
{
	/*
	 * Sizes, type, number of entries, bins, indices of the first entry and after the last,
	 * entries.
	 */
	uint64_t words[7], entry[3];

	if (!ruby_read_words(m, table, words, 7))
		return false;
	for (uint64_t i = 0; i < words[5] && i < VARIABLES_MAX; i++) {
		_cleanup_(strbuf_release) struct strbuf text = {0};

		if (!ruby_read_words(m, words[6] + i * sizeof(entry), entry, 3))
			return false;
		if (!ruby_read_symbol(m, symbols, entry[1], &text) ||
		    strcmp(strbuf_text(&text), name) != 0)
			continue;
		*value = entry[2];
		return true;
	}
	return false;
}

/* Finds a class's name or, for a singleton class, its object. */
static bool find_property(const struct ruby_memory *m, uint64_t symbols, uint64_t class,
			  bool is_name, uint64_t *value)
{
	const struct ruby_layout *l = m->layout;
	uint16_t at = is_name ? l->class_name : l->class_object;
	uint64_t more, table;

	if (at)
		return ruby_read_words(m, class + at, value, 1);
	return ruby_read_words(m, class + l->class_more, &more, 1) &&
	       ruby_read_words(m, more + l->more_variables, &table, 1) &&
	       find_variable(m, symbols, table, is_name ? "__classpath__" : "__attached__", value);
}

bool ruby_read_class(const struct ruby_memory *m, uint64_t symbols, uint64_t class,
		     struct strbuf *text)
{
	const char *end = "#";
	uint64_t flags, value;

	for (int hop = 0; hop < 2; hop++) {
		if (!ruby_read_words(m, class, &flags, 1))
			return false;
		if ((flags & RUBY_TYPE_MASK) != KIND_OBJECT &&
		    (flags & RUBY_TYPE_MASK) != KIND_MODULE)
			return false;
		if ((flags & RUBY_TYPE_MASK) != KIND_OBJECT || !(flags >> m->layout->singleton & 1))
			break;
		if (!find_property(m, symbols, class, false, &value))
			return false;
		class = value;
		end = ".";
	}
	if (!find_property(m, symbols, class, true, &value) || !ruby_read_string(m, value, text))
		return false;
	strbuf_adds(text, end);
	return true;
}

/* Finds Ruby's interpreter in a file, and the addresses of its variables in its code. */

enum {
	CURRENT, /* rb_thread_current(), present even in files without other symbols */
	VERSION,
	ID_TO_TEXT,
	EXEC,
	EVAL,
	CONTEXT, /* a global variable until 2.7, then thread-local */
	OBJECT_COUNT,
};

static const struct binary_object wanted[OBJECT_COUNT] = {
	[CURRENT] = {.name = "rb_thread_current"},
	[VERSION] = {.name = "ruby_version"},
	[ID_TO_TEXT] = {.name = "rb_id2str"},
	[EXEC] = {.name = "rb_vm_exec"},
	[EVAL] = {.name = "rb_iseq_eval"},
	[CONTEXT] = {.name = "ruby_current_execution_context_ptr"},
};

#define CODE_MAX 512
#define EXEC_MAX 65536

struct ruby_file {
	const struct binary *binary;
	struct binary_object objects[OBJECT_COUNT];
};

/* The version as text: "3.1.2". */
static uint16_t find_version(const struct ruby_file *f)
{
	char text[8] = "";

	if (!binary_read_text(f->binary, f->objects[VERSION].vaddr, text, 5) || text[1] != '.' ||
	    text[3] != '.')
		return 0;
	return RUNTIME_VERSION(text[0] - '0', text[2] - '0');
}

/* Reads up to `size` bytes of code. Returns the number read. */
static size_t read_code(const struct ruby_file *f, uint64_t vaddr, uint8_t *code, size_t size)
{
	while (size && !binary_read_text(f->binary, vaddr, code, size))
		size /= 2;
	return size;
}

/* lea index(%rip),%rdi; call __tls_get_addr, in the form that linkers require. */
static const uint8_t index_code[] = {0x66, 0x48, 0x8d, 0x3d};
static const uint8_t call_code[] = {0x66, 0x66, 0x48, 0xe8};

/*
 * The rest, up to the thread's object: mov (%rax),%rax; mov 48(%rax),%rax; mov 16(%rax),%rax.
 * Confirms that the variable is the context, and the layout of its start. From 4.0 on, the context
 * goes through memory: mov %rax,8(%rsp); mov 8(%rsp),%rax.
 */
static const uint8_t thread_code[] = {0x48, 0x8b, 0x00, 0x48, 0x8b, 0x40,
				      0x30, 0x48, 0x8b, 0x40, 0x10};
static const uint8_t volatile_code[] = {0x48, 0x8b, 0x00, 0x48, 0x89, 0x44, 0x24,
					0x08, 0x48, 0x8b, 0x44, 0x24, 0x08, 0x48,
					0x8b, 0x40, 0x30, 0x48, 0x8b, 0x40, 0x10};

static bool has_code(const uint8_t *code, size_t left, const uint8_t *pattern, size_t size)
{
	return left >= size && memcmp(code, pattern, size) == 0;
}

/*
 * Returns whether the file has the variable of 2.7, the running context. The code begins with mov
 * slot(%rip),%rax; the thread lies at 56.
 */
static bool has_variable(const struct ruby_file *f)
{
	static const uint8_t slot[] = {0x48, 0x8b, 0x05},
			     thread[] = {0x48, 0x8b, 0x00, 0x48, 0x8b, 0x40,
					 0x38, 0x48, 0x8b, 0x40, 0x10};
	uint8_t code[18];

	return f->objects[CONTEXT].is_there &&
	       read_code(f, f->objects[CURRENT].vaddr, code, sizeof(code)) == sizeof(code) &&
	       memcmp(code, slot, sizeof(slot)) == 0 &&
	       memcmp(code + 7, thread, sizeof(thread)) == 0;
}

/* Finds the words of the thread-local variable with the context. */
static bool find_context_index(const struct ruby_file *f, struct ruby_layout *l)
{
	const size_t call_at = sizeof(index_code) + 4, then_at = call_at + sizeof(call_code) + 4;
	uint8_t code[64];
	size_t size = read_code(f, f->objects[CURRENT].vaddr, code, sizeof(code));

	for (size_t at = 0; at + then_at <= size; at++) {
		const uint8_t *then = code + at + then_at;
		size_t left = size - at - then_at;

		if (memcmp(code + at, index_code, sizeof(index_code)) == 0 &&
		    memcmp(code + at + call_at, call_code, sizeof(call_code)) == 0 &&
		    (has_code(then, left, thread_code, sizeof(thread_code)) ||
		     has_code(then, left, volatile_code, sizeof(volatile_code)))) {
			l->context_index =
				code_target(code + at + sizeof(index_code),
					    f->objects[CURRENT].vaddr + at + sizeof(index_code));
			return true;
		}
	}
	return false;
}

/*
 * Finds the names of symbols, which begin with the number of the last one: the function that names
 * a symbol compares its number with it, by cmp last(%rip),%reg or with swapped operands; from 4.0
 * on by mov last(%rip),%reg; cmp %reg,%reg.
 */
static bool compares_last(const uint8_t *code, size_t left)
{
	bool is_loaded = code[0] == 0x8b && left >= 8 && (code[6] & 0xfd) == 0x39 &&
			 code[7] >= 0xc0;

	return (code[1] & 0xc7) == 5 && (code[0] == 0x39 || code[0] == 0x3b || is_loaded);
}

static uint64_t find_symbols(const struct ruby_file *f)
{
	uint64_t vaddr = f->objects[ID_TO_TEXT].vaddr;
	uint8_t code[CODE_MAX];

	for (int hop = 0; hop < 2; hop++) {
		size_t size = read_code(f, vaddr, code, sizeof(code));
		uint64_t next = 0;

		for (size_t at = 0; at + 6 <= size; at++) {
			if (compares_last(code + at, size - at))
				return code_target(code + at + 2, vaddr + at + 2);
			/* The function ends with a jump to its implementation. */
			if (code[at] == 0xe9 && !next && at < f->objects[ID_TO_TEXT].size)
				next = code_target(code + at + 1, vaddr + at + 1);
		}
		if (!next)
			return 0;
		vaddr = next;
	}
	return 0;
}

/*
 * Returns whether rb_vm_exec begins there. It reads the innermost tag and the thread of its
 * argument early: mov 24(%rdi),%rax; mov 48(%rdi),%rax.
 */
static bool is_exec(const struct ruby_file *f, uint64_t start)
{
	static const uint8_t tag[] = {0x48, 0x8b, 0x47, 0x18}, thread[] = {0x48, 0x8b, 0x47, 0x30};
	uint8_t code[128];
	size_t size = read_code(f, start, code, sizeof(code));

	return memmem(code, size, tag, sizeof(tag)) && memmem(code, size, thread, sizeof(thread));
}

/*
 * Finds rb_vm_exec by its name, or as the target of the call or the final jump of the function that
 * runs a program.
 */
static bool find_exec(const struct ruby_file *f, const struct file_functions *functions,
		      struct ruby_layout *l)
{
	const struct binary_object *eval = &f->objects[EVAL];
	uint8_t code[CODE_MAX];
	size_t size = eval->size < sizeof(code) ? eval->size : sizeof(code);

	l->exec_start = f->objects[EXEC].vaddr;
	l->exec_end = l->exec_start + f->objects[EXEC].size;
	if (f->objects[EXEC].is_there)
		return l->exec_end > l->exec_start;
	size = read_code(f, eval->vaddr, code, size);
	for (size_t at = 0; at + 5 <= size && !l->exec_start; at++) {
		uint64_t start = code_target(code + at + 1, eval->vaddr + at + 1);

		if ((code[at] == 0xe8 || code[at] == 0xe9) &&
		    file_functions_end(functions, start) && is_exec(f, start))
			l->exec_start = start;
	}
	l->exec_end = file_functions_end(functions, l->exec_start);
	return l->exec_end;
}

/* Finds the loop: by far the largest of the functions that rb_vm_exec calls. */
static bool find_loop(const struct ruby_file *f, const struct file_functions *functions,
		      struct ruby_layout *l)
{
	_cleanup_free_ uint8_t *code = xmalloc(EXEC_MAX);
	size_t size = l->exec_end - l->exec_start;

	if (size > EXEC_MAX || !binary_read_text(f->binary, l->exec_start, code, size))
		return false;
	for (size_t at = 0; at + 5 <= size; at++) {
		uint64_t start, end;

		if (code[at] != 0xe8)
			continue;
		start = code_target(code + at + 1, l->exec_start + at + 1);
		end = file_functions_end(functions, start);
		if (end && end - start > l->loop_end - l->loop_start) {
			l->loop_start = start;
			l->loop_end = end;
		}
	}
	return true;
}

/* Returns true for lea label(%rip),%reg with a label in the same code. */
static bool is_own_label(const uint8_t *code, size_t at, size_t size)
{
	int64_t label;

	if ((code[at] & 0xfb) != 0x48 || code[at + 1] != 0x8d || (code[at + 2] & 0xc7) != 5)
		return false;
	label = (int64_t)at + 7 + code_int(code + at + 3);
	return label > 0 && label < (int64_t)size;
}

#define TAG_BUFFER 16 /* offset of the registers in a tag */
#define HIDDEN_OUTER (TAG_BUFFER + 200) /* after the C library's jmp_buf */

/*
 * Returns the offset of the tag from the sp if this is lea buffer(%rsp),%rdi with the register
 * buffer of the C library's setjmp(), else 0; and the size of the instruction.
 */
static uint64_t tag_at(const uint8_t *code, size_t left, size_t *size)
{
	static const uint8_t lea[] = {0x48, 0x8d}, short_form = 0x7c, long_form = 0xbc;
	int64_t buffer = 0;

	if (left < 8 || memcmp(code, lea, sizeof(lea)) != 0 || code[3] != 0x24)
		return 0;
	if (code[2] == short_form)
		buffer = (int8_t)code[4];
	else if (code[2] == long_form)
		buffer = code_int(code + 4);
	*size = code[2] == short_form ? 5 : 8;
	return buffer >= TAG_BUFFER && buffer < 4096 ? (uint64_t)(buffer - TAG_BUFFER) : 0;
}

/*
 * Returns true if there is mov %reg,outer(%rsp). The tag's penultimate member is the next outer
 * tag.
 */
static bool stores_outer(const uint8_t *code, size_t size, uint64_t outer)
{
	for (size_t at = 0; at + 8 <= size; at++) {
		if ((code[at] & 0xfb) == 0x48 && code[at + 1] == 0x89 &&
		    (code[at + 2] & 0xc7) == 0x84 && code[at + 3] == 0x24 &&
		    code_int(code + at + 4) == (int64_t)outer)
			return true;
	}
	return false;
}

#define SETJMP_WITHIN 24 /* maximum bytes from its argument to the call */

/* Finds the offset of rb_vm_exec's own tag, and where its call of setjmp() returns. */
static bool find_hidden(struct ruby_layout *l, const uint8_t *code, size_t size)
{
	for (size_t at = 0; at + 8 <= size; at++) {
		size_t call = 0, last = at + 8 + SETJMP_WITHIN;
		uint64_t tag = tag_at(code + at, size - at, &call);

		if (!tag || !stores_outer(code, size, tag + HIDDEN_OUTER))
			continue;
		for (call += at; call <= last && call + 5 <= size && !l->hidden_at; call++) {
			if (code[call] != 0xe8)
				continue;
			l->hidden_at = (uint16_t)tag;
			l->hidden_label = (uint16_t)(call + 5);
		}
		return l->hidden_at;
	}
	return false;
}

/*
 * Finds the form of tags from the one in rb_vm_exec: the compiler's __builtin_setjmp() stores the
 * address of a label; otherwise it is the C library's jmp_buf, which mangles its contents.
 */
static bool find_tag_form(const struct ruby_file *f, struct ruby_layout *l)
{
	uint8_t code[CODE_MAX];
	size_t size = l->exec_end - l->exec_start;
	bool has_label = false;

	if (size > sizeof(code))
		size = sizeof(code);
	size = read_code(f, l->exec_start, code, size);
	for (size_t at = 0; at + 7 <= size && !has_label; at++)
		has_label = is_own_label(code, at, size);
	l->tag_fp = has_label ? TAG_BUFFER : TAG_BUFFER + 8;
	l->tag_label = has_label ? TAG_BUFFER + 8 : TAG_BUFFER + 56;
	l->tag_sp = has_label ? TAG_BUFFER + 16 : TAG_BUFFER + 48;
	l->tag_outer = has_label ? 56 : HIDDEN_OUTER;
	return has_label || find_hidden(l, code, size);
}

static bool find_interpreter(const struct ruby_file *f, struct ruby_layout *l)
{
	struct file_functions functions = {0};
	bool is_found = file_functions_read(f->binary, &functions) && find_exec(f, &functions, l) &&
			find_loop(f, &functions, l);

	file_functions_release(&functions);
	return is_found && find_tag_form(f, l);
}

static int find_places(const struct ruby_file *f, struct ruby_layout *l, struct error *err)
{
	const unsigned int major = l->version >> 8, minor = l->version & 255u;

	if (has_variable(f))
		l->context = f->objects[CONTEXT].vaddr;
	else if (!find_context_index(f, l))
		return error_text(err, -ENOTSUP, "cannot find the thread contexts of Ruby %u.%u",
				  major, minor);
	if (!find_interpreter(f, l))
		return error_text(err, -ENOTSUP, "cannot find the interpreter of Ruby %u.%u", major,
				  minor);
	if (f->objects[ID_TO_TEXT].is_there)
		l->symbols = find_symbols(f);
	return 0;
}

static int ruby_probe(const struct binary *b, struct runtime_layout *layout, struct error *err)
{
	struct ruby_file f = {.binary = b};
	struct ruby_layout *l = &layout->ruby;
	uint16_t version;
	int result;

	memcpy(f.objects, wanted, sizeof(wanted));
	/* Look up only this one at first: most files lack it. */
	binary_find_exported(b, f.objects, 1);
	if (!f.objects[CURRENT].is_there)
		return 0;
	binary_find_objects(b, f.objects, OBJECT_COUNT);
	if (!f.objects[VERSION].is_there)
		return 0;
	version = find_version(&f);
	if (!ruby_layout_of_version(version, l))
		return error_text(err, -ENOTSUP, "Ruby %u.%u is not supported", version >> 8,
				  version & 255u);
	result = find_places(&f, l, err);
	if (result != 0)
		return result;
	layout->kind = RUNTIME_RUBY;
	return 0;
}

/* Lines of Ruby code: rows, and for each position in the code the number of its row. */

#define LINE_ROWS_MAX (1u << 16)
#define INDEX_MAX ((size_t)1 << 20)

/*
 * The index counts, for each position, the rows up to it. The first 54 positions have 7 bits each,
 * 9 per word. Blocks of 512 positions follow: a count, 9-bit counts for all but the first of its 8
 * words, and these words, which have a bit at the position of each row.
 */
#define INDEX_PLACES 54u
#define INDEX_WORD_PLACES 9u
#define INDEX_FIRST_WORDS (INDEX_PLACES / INDEX_WORD_PLACES)
#define BLOCK_PLACES 512u
#define BLOCK_WORDS 10u

static size_t index_words(uint32_t units)
{
	if (units <= INDEX_PLACES)
		return INDEX_FIRST_WORDS;
	return INDEX_FIRST_WORDS +
	       BLOCK_WORDS * (size_t)((units - INDEX_PLACES + BLOCK_PLACES - 1) / BLOCK_PLACES);
}

static uint64_t word_at(const uint8_t *data, size_t word)
{
	struct bytes b;

	bytes_init(&b, data + word * 8, 8);
	return bytes_u64(&b);
}

/* Returns the number of rows up to the unit. */
static uint64_t count_rows(const uint8_t *index, uint32_t unit)
{
	uint32_t at, word;
	uint64_t bits, count;
	size_t block;

	if (unit < INDEX_PLACES)
		return word_at(index, unit / INDEX_WORD_PLACES) >> unit % INDEX_WORD_PLACES * 7 &
		       127;
	at = (unit - INDEX_PLACES) % BLOCK_PLACES;
	block = INDEX_FIRST_WORDS + BLOCK_WORDS * (size_t)((unit - INDEX_PLACES) / BLOCK_PLACES);
	word = at / 64;
	count = (uint32_t)word_at(index, block);
	if (word)
		count += word_at(index, block + 1) >> (word - 1) * 9 & 511;
	bits = word_at(index, block + 2 + word) << (63 - at % 64);
	return count + (uint64_t)__builtin_popcountll(bits);
}

static uint32_t row_line(const struct ruby_memory *m, const uint8_t *rows, uint64_t row)
{
	struct bytes b;

	bytes_init(&b, rows + row * m->layout->line_size, 4);
	return bytes_u32(&b);
}

/*
 * Finds the lines of code with this number of instructions, from the addresses of the rows
 * (`row_size` bytes each) and of their positions, the number of both, and the address of an index
 * that may replace the positions.
 */
static bool ruby_read_lines(const struct ruby_memory *m, uint64_t addr, uint32_t units,
			    struct managed_code *code)
{
	_cleanup_free_ uint8_t *rows = NULL, *index = NULL;
	/* Addresses of rows and positions, number of rows, address of the index. */
	uint64_t words[4];
	size_t size;
	uint32_t count;

	if (!ruby_read_words(m, addr, words, 4))
		return false;
	count = (uint32_t)words[2];
	size = index_words(units) * 8;
	if (!count || count > LINE_ROWS_MAX || size > INDEX_MAX || !words[3])
		return false;
	rows = xmalloc((size_t)count * m->layout->line_size);
	index = xmalloc(size);
	if (!m->read(m->ctx, words[0], rows, (size_t)count * m->layout->line_size))
		return false;
	/* A single row needs no index. */
	if (!m->read(m->ctx, words[3], index, size))
		return false;
	vec_clear(&code->lines);
	for (uint32_t unit = 0; unit < units; unit++) {
		uint64_t row = count_rows(index, unit);

		if (row && row <= count)
			runtime_add_line(code, unit, row_line(m, rows, row - 1));
	}
	return true;
}

static bool is_sane(const struct runtime_layout *layout)
{
	const struct ruby_layout *l = &layout->ruby;
	struct ruby_layout known;

	if (!ruby_layout_of_version(l->version, &known))
		return false;
	/* Members that differ between files of a version. */
	known.context_index = l->context_index;
	known.context = l->context;
	known.symbols = l->symbols;
	known.exec_start = l->exec_start;
	known.exec_end = l->exec_end;
	known.loop_start = l->loop_start;
	known.loop_end = l->loop_end;
	known.tag_fp = l->tag_fp;
	known.tag_label = l->tag_label;
	known.tag_sp = l->tag_sp;
	known.tag_outer = l->tag_outer;
	known.hidden_at = l->hidden_at;
	known.hidden_label = l->hidden_label;
	return memcmp(&known, l, sizeof(known)) == 0;
}

/* Takes the path out of "<internal:/usr/lib/ruby/rubygems/kernel_require.rb>". */
static void unwrap_path(struct strbuf *file)
{
	static const char prefix[] = "<internal:";
	size_t skipped = sizeof(prefix) - 1;
	_cleanup_free_ char *path = NULL;

	if (!text_starts_with(strbuf_text(file), prefix) || strbuf_text(file)[skipped] != '/')
		return;
	path = xstrdup(strbuf_text(file) + skipped);
	if (text_ends_with(path, ">"))
		path[strlen(path) - 1] = 0;
	strbuf_reset(file);
	strbuf_adds(file, path);
}

static void decode(const struct runtime_layout *layout, const struct rec_function *function,
		   struct managed_code *code)
{
	struct ruby_function_head head;

	code->start = -1;
	code->first_line = 0;
	code->tier = "Ruby";
	vec_clear(&code->lines);
	/* Lines and classes are always read afterwards. */
	code->lacks_text = true;
	code->is_cut = (function->name.flags | function->file.flags) & FUNCTION_CUT;
	strbuf_reset(&code->name);
	strbuf_reset(&code->file);
	managed_text_add(&code->name, function->body, function->name.size);
	managed_text_add(&code->file, function->body + function->name.size, function->file.size);
	unwrap_path(&code->file);
	if (runtime_read_head(function, &head, sizeof(head)) && head.definition)
		code->tier = "C method";
}

struct reader {
	struct ruby_memory memory;
	uint64_t symbols; /* address; 0: unknown */
	const struct ruby_function_head *head;
	uint64_t body[RUBY_BODY_WORDS];
};

static uint64_t body_word(const struct reader *r, uint16_t at)
{
	return r->body[at / 8];
}

/* See ruby_code_identity() in bpf/runtimes/ruby_stack.bpf.h. */
static bool has_identity(const struct reader *r, uint64_t identity)
{
	const struct ruby_layout *l = r->memory.layout;
	const uint64_t words[] = {r->body[RUBY_BODY_CODE], r->body[RUBY_BODY_SIZE] >> 32,
				  body_word(r, l->body_path), body_word(r, l->body_label),
				  body_word(r, l->body_first_line)};
	uint64_t sum = RUNTIME_IDENTITY_SEED;

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		sum = runtime_identity_add(sum, words[i]);
	return sum == identity;
}

static bool read_method(const struct reader *r, uint64_t addr, uint64_t *method)
{
	return ruby_read_words(&r->memory, addr, method, RUBY_METHOD_WORDS) &&
	       (method[RUBY_METHOD_FLAGS] & RUBY_INTERNAL_MASK) == RUBY_METHOD_TYPE;
}

/* Puts the class before the name of a method, which may follow other words: "block in Foo#bar". */
static void qualify(const struct reader *r, const uint64_t *method, struct strbuf *name)
{
	_cleanup_(strbuf_release) struct strbuf class = {0}, whole = {0};
	const char *text = strbuf_text(name), *space = strrchr(text, ' ');
	size_t words = space ? (size_t)(space + 1 - text) : 0;

	/* "<main>" and "<class:Foo>" are not methods, but "<=>" is. */
	if (text[words] == '<' && text[words + 1] >= 'a' && text[words + 1] <= 'z')
		return;
	if (!ruby_read_class(&r->memory, r->symbols, method[RUBY_METHOD_OWNER], &class))
		return;
	strbuf_add(&whole, text, words);
	strbuf_add(&whole, strbuf_text(&class), class.size);
	strbuf_adds(&whole, text + words);
	strbuf_reset(name);
	strbuf_add(name, whole.text, whole.size);
}

static bool late_code(struct reader *r, const struct rec_function *function,
		      struct managed_code *code)
{
	const struct ruby_layout *l = r->memory.layout;
	uint64_t method[RUBY_METHOD_WORDS], line;

	if (!ruby_read_words(&r->memory, function->code, r->body, RUBY_BODY_WORDS) ||
	    !has_identity(r, function->identity))
		return false;
	if (!code->name.size)
		ruby_read_string(&r->memory, body_word(r, l->body_label), &code->name);
	if (!code->file.size)
		ruby_read_string(&r->memory, body_word(r, l->body_path), &code->file);
	unwrap_path(&code->file);
	line = body_word(r, l->body_first_line);
	/* The lowest bit of an Integer is a tag. */
	line = l->has_line_number ? (uint32_t)line : line >> 1;
	code->first_line = line <= INT32_MAX ? (uint32_t)line : 0;
	ruby_read_lines(&r->memory, function->code + l->body_lines, function->units, code);
	if (read_method(r, r->head->method, method))
		qualify(r, method, &code->name);
	return true;
}

static bool late_method(const struct reader *r, struct managed_code *code)
{
	uint64_t method[RUBY_METHOD_WORDS];
	_cleanup_(strbuf_release) struct strbuf name = {0};

	if (!read_method(r, r->head->method, method) ||
	    method[RUBY_METHOD_DEFINITION] != r->head->definition ||
	    !ruby_read_symbol(&r->memory, r->symbols, r->head->id, &name))
		return false;
	strbuf_reset(&code->name);
	ruby_read_class(&r->memory, r->symbols, method[RUBY_METHOD_OWNER], &code->name);
	strbuf_add(&code->name, name.text, name.size);
	return true;
}

static bool late(const struct runtime_layout *layout, const struct rec_function *function,
		 runtime_read_fn *read, void *ctx, struct managed_code *code)
{
	struct ruby_function_head head;
	struct reader r = {
		.memory = {.layout = &layout->ruby, .read = read, .ctx = ctx},
		.head = &head,
	};

	if (!runtime_read_head(function, &head, sizeof(head)))
		return false;
	r.symbols = head.symbols;
	return head.definition ? late_method(&r, code) : late_code(&r, function, code);
}

const struct runtime runtime_ruby = {
	.kind = RUNTIME_RUBY,
	.name = "Ruby",
	.probe = ruby_probe,
	.is_sane = is_sane,
	.version_at = offsetof(struct runtime_layout, ruby.version),
	.decode = decode,
	.late = late,
};
