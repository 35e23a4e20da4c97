/* SPDX-License-Identifier: MIT */
#include "lib/code/runtimes/ruby.h"

#include "bpf/runtime_identity.h"
#include "lib/base/bytes.h"

/* Lines of Ruby code: rows, and for each position in the code the number of its row. */

#define ROWS_MAX (1u << 16)
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

static void add_line(struct managed_code *code, uint32_t unit, uint32_t line)
{
	if (line > INT32_MAX)
		line = 0;
	if (!code->lines.count || vec_last(&code->lines).line != line)
		vec_push(&code->lines, ((struct managed_line){unit, line, 0}));
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
	if (!count || count > ROWS_MAX || size > INDEX_MAX || !words[3])
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
			add_line(code, unit, row_line(m, rows, row - 1));
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

static bool head_of(const struct rec_function *function, struct ruby_function_head *head)
{
	if (function->lines.size < sizeof(*head))
		return false;
	memcpy(head, function->body + function->name.size + function->file.size, sizeof(*head));
	return true;
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
	if (head_of(function, &head) && head.definition)
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

/* Reads a method by its entry. */
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

	if (!head_of(function, &head))
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
