/* SPDX-License-Identifier: MIT */
#include "lib/code/runtimes/hotspot_names.h"

/*
 * Reads from the process which methods compiled code was made from: its debug information records,
 * for some positions, the chain of inlined methods.
 */

#define PLACES_MAX 65536
#define PLACE_SIZE 16 /* bytes of a PcDesc: its pc, its scope, two others */
#define CHAIN_MAX 64
#define METHODS_MAX 1024
#define LOOP_END_MAX 32 /* bytes of code from a loop's position to the end of its jump back */

/* A method in a chain: inlined, or the code's own. */
struct scope {
	uint32_t method; /* number of its metadata */
	uint32_t bci;
};

/* A method, by the number of its metadata. */
struct known_method {
	uint32_t number;
	uint32_t functions[2]; /* as in managed_line: uncertain and certain occurrences */
	struct hotspot_method method;
};

struct scope_reader {
	const struct hotspot_layout *layout;
	struct hotspot_memory *memory;
	const struct hotspot_function_head *head;
	uint64_t places, scopes, metadata; /* addresses */
	bool wants_types;
	bool is_bad; /* something was unreadable, or already belongs to other code */
	VEC(struct known_method) methods;
	VEC(struct managed_line) lines;
	VEC(struct managed_function) functions;
	struct scope chain[CHAIN_MAX]; /* innermost first */
	struct scope last[CHAIN_MAX];
	uint32_t depth, last_depth;
	uint32_t certain, last_certain; /* number of outermost methods that certainly run there */
	uint32_t tail; /* unit after the last position */
};

/* Returns true if this is still the sampled code. */
static bool is_same_code(const struct scope_reader *r)
{
	uint64_t method;
	uint32_t id;

	return hotspot_memory_word(r->memory, r->head->blob + r->layout->method, &method) &&
	       hotspot_memory_int(r->memory, r->head->blob + r->layout->compile_id, &id) &&
	       method == r->head->method && id == r->head->compile_id;
}

static bool find_tables(struct scope_reader *r)
{
	const struct hotspot_layout *l = r->layout;
	uint64_t blob = r->head->blob, immutable, mutable;
	uint32_t pcs, scopes, metadata;

	if (!hotspot_memory_int(r->memory, blob + l->scopes_pcs, &pcs))
		return false;
	if (!(l->flags & HOTSPOT_OFFSETS)) {
		r->places = blob + pcs;
		if (!hotspot_memory_word(r->memory, blob + l->scopes_data, &r->scopes) ||
		    !hotspot_memory_int(r->memory, blob + l->metadata, &metadata))
			return false;
		r->metadata = blob + metadata;
		return l->metadata;
	}
	if (!l->immutable_data || !l->mutable_data || !l->relocation_size ||
	    !hotspot_memory_word(r->memory, blob + l->immutable_data, &immutable) ||
	    !hotspot_memory_word(r->memory, blob + l->mutable_data, &mutable) ||
	    !hotspot_memory_int(r->memory, blob + l->scopes_data, &scopes) ||
	    !hotspot_memory_int(r->memory, blob + l->relocation_size, &metadata))
		return false;
	r->places = immutable + pcs;
	r->scopes = immutable + scopes;
	r->metadata = mutable + metadata;
	return true;
}

/* Reads the Method with that number. Returns false if it is unreadable or does not exist. */
static bool read_metadata(struct scope_reader *r, uint32_t number, uint64_t *method)
{
	return number && hotspot_memory_word(r->memory, r->metadata + 8ull * (number - 1), method);
}

/*
 * Returns whether the chain just read begins with the code's own method. The memory of the records
 * is freed before the code's, and may already belong to other code.
 */
static bool is_own_chain(struct scope_reader *r)
{
	uint64_t method;

	if (!read_metadata(r, r->chain[r->depth - 1].method, &method) || method != r->head->method)
		r->is_bad = true;
	return !r->is_bad;
}

static bool read_chain(struct scope_reader *r, uint32_t offset)
{
	struct hotspot_numbers n = {r->memory, 0, r->layout->flags & HOTSPOT_NO_ZEROS, false};

	for (r->depth = 0; offset && r->depth < CHAIN_MAX; r->depth++) {
		uint32_t sender;

		n.at = r->scopes + offset;
		sender = hotspot_next_number(&n);
		r->chain[r->depth].method = hotspot_next_number(&n);
		r->chain[r->depth].bci = hotspot_next_number(&n) - 1;
		/* A caller is written before its callee. */
		r->is_bad |= n.is_bad;
		if (n.is_bad || (sender && sender >= offset))
			return false;
		offset = sender;
	}
	return r->depth && !offset && is_own_chain(r);
}

static uint32_t add_function(struct scope_reader *r, const struct hotspot_method *m,
			     bool is_certain)
{
	struct managed_function f = {
		.start = -1,
		.end = -1,
		.first_line = m->first_line,
		.tier = is_certain ? NULL : "Uncertain",
	};

	strbuf_add(&f.name, m->name.text, m->name.size);
	strbuf_adds(&f.name, strbuf_text(&m->parameters));
	strbuf_add(&f.file, strbuf_text(&m->file), m->file.size);
	vec_push(&r->functions, f);
	return (uint32_t)r->functions.count;
}

static bool hotspot_method_read(const struct hotspot_layout *layout, struct hotspot_memory *memory,
				uint64_t const_method, bool wants_types, struct hotspot_method *m);

/* Returns the method with that metadata number; NULL if it is not a method. */
static struct known_method *find_method(struct scope_reader *r, uint32_t number)
{
	struct known_method known = {.number = number};
	uint64_t method, const_method;

	vec_for_each(&r->methods, struct known_method *, each) {
		if (each->number == number)
			return each;
	}
	if (r->methods.count >= METHODS_MAX || !read_metadata(r, number, &method) ||
	    !hotspot_memory_word(r->memory, method + r->layout->const_method, &const_method) ||
	    !hotspot_method_read(r->layout, r->memory, const_method, r->wants_types, &known.method))
		return NULL;
	vec_push(&r->methods, known);
	return &vec_last(&r->methods);
}

static uint32_t hotspot_method_line(const struct hotspot_method *m, uint32_t bci);

/* Adds the line of a scope, `level` calls within the code's own method. */
static void add_line(struct scope_reader *r, uint32_t unit, uint32_t level)
{
	const struct scope *scope = &r->chain[r->depth - 1 - level];
	struct known_method *known = find_method(r, scope->method);
	struct managed_line line = {.unit = unit};
	bool is_certain = level < r->certain;

	if (!known) {
		r->is_bad = true;
		return;
	}
	/* The start of a call has the bytecode number -1. */
	line.line = scope->bci > UINT16_MAX ? known->method.first_line
					    : hotspot_method_line(&known->method, scope->bci);
	if (level) {
		if (!known->functions[is_certain])
			known->functions[is_certain] = add_function(r, &known->method, is_certain);
		line.function = known->functions[is_certain];
	}
	vec_push(&r->lines, line);
}

static void add_chain(struct scope_reader *r, uint32_t unit)
{
	if (r->depth == r->last_depth && r->certain == r->last_certain &&
	    memcmp(r->chain, r->last, r->depth * sizeof(*r->chain)) == 0)
		return;
	for (uint32_t level = 0; level < r->depth; level++)
		add_line(r, unit, level);
	memcpy(r->last, r->chain, r->depth * sizeof(*r->chain));
	r->last_depth = r->depth;
	r->last_certain = r->certain;
}

/* Returns how many methods, outermost first, run both at the last position and at this one. */
static uint32_t count_shared(const struct scope_reader *r)
{
	uint32_t min = r->depth < r->last_depth ? r->depth : r->last_depth, level = 0;

	for (; level < min; level++) {
		const struct scope *a = &r->chain[r->depth - 1 - level];
		const struct scope *b = &r->last[r->last_depth - 1 - level];

		if (a->method != b->method)
			return level;
		if (a->bci != b->bci)
			return level + 1;
	}
	return level;
}

/* Returns the length of a jump on x86-64, and its distance; 0: not a jump. */
static size_t take_jump(const uint8_t *code, size_t size, int32_t *by)
{
	size_t opcode = size >= 2 && code[0] == 0x0f && code[1] >> 4 == 8 ? 2 : 1;

	if (opcode == 2 || (size && code[0] == 0xe9)) {
		if (size < opcode + sizeof(*by))
			return 0;
		memcpy(by, code + opcode, sizeof(*by));
		return opcode + sizeof(*by);
	}
	if (size < 2 || (code[0] >> 4 != 7 && code[0] != 0xeb))
		return 0;
	*by = (int8_t)code[1];
	return 2;
}

/*
 * Returns the unit from which code no longer belongs to the last position, which ends at `unit`. A
 * loop has a position where it can be stopped, just before its jump back.
 */
static uint32_t behind_loop(struct scope_reader *r, uint32_t unit, uint32_t end)
{
	uint8_t code[LOOP_END_MAX];
	size_t size = end - unit < sizeof(code) ? end - unit : sizeof(code);

	if (!hotspot_memory_read(r->memory, r->head->code + unit, code, size))
		return unit;
	for (uint32_t i = 0; i < size; i++) {
		int32_t by = 0;
		size_t length = take_jump(code + i, size - i, &by);
		int64_t to = (int64_t)unit + i + (int64_t)length + by;

		if (length && to >= 0 && to < unit)
			return unit + i;
	}
	return unit;
}

/*
 * Adds the chain of the position that ends at `end`, from `unit` on. Code before the position may
 * belong to the preceding one or to neither: methods missing in one of the chains are uncertain.
 */
static void add_place(struct scope_reader *r, uint32_t unit, uint32_t end)
{
	unit = behind_loop(r, unit, end);
	if (unit < end - 1) {
		r->certain = count_shared(r);
		r->certain += !r->certain; /* the code's own method */
		add_chain(r, unit);
	}
	r->certain = r->depth;
	add_chain(r, end - 1);
}

/* Reads the positions; each describes the code before it, up to the previous one. */
static bool read_places(struct scope_reader *r, uint32_t units)
{
	uint32_t place[2], end = units - 1;

	for (size_t i = 0; i < PLACES_MAX; i++) {
		if (!hotspot_memory_read(r->memory, r->places + i * PLACE_SIZE, place,
					 sizeof(place)))
			return false;
		/* The first position is before the code, the last one far after it. */
		if (place[0] == UINT32_MAX)
			continue;
		if (place[0] > end) {
			r->tail = behind_loop(r, r->tail, end);
			return true;
		}
		if (place[0] < r->tail)
			return false;
		if (place[0] > r->tail && read_chain(r, place[1])) {
			add_place(r, r->tail, place[0]);
			r->tail = place[0];
		}
		if (r->is_bad)
			return false;
	}
	return false;
}

static void hotspot_method_release(struct hotspot_method *m);

/*
 * Reads the inlined methods of compiled code. Returns false, with `code` unchanged, if the code has
 * changed.
 */
static bool hotspot_read_scopes(const struct hotspot_layout *layout, struct hotspot_memory *memory,
				const struct hotspot_function_head *head, uint32_t units,
				struct managed_code *code)
{
	struct scope_reader *r = xcalloc(1, sizeof(*r));
	bool is_read;

	r->layout = layout;
	r->memory = memory;
	r->head = head;
	r->wants_types = code->wants_types;
	is_read = is_same_code(r) && find_tables(r) && read_places(r, units);
	if (is_read) {
		vec_clear(&code->lines);
		vec_for_each(&r->lines, const struct managed_line *, line)
			vec_push(&code->lines, *line);
		/*
		 * Cover the rest, after the positions and at hotspot_note()'s unit, with the method
		 * itself.
		 */
		vec_push(&code->lines, ((struct managed_line){r->tail, code->first_line, 0}));
		vec_for_each(&r->functions, const struct managed_function *, function)
			vec_push(&code->inlined, *function);
		r->functions.count = 0;
	}
	vec_for_each(&r->functions, struct managed_function *, function)
		managed_function_release(function);
	vec_for_each(&r->methods, struct known_method *, known)
		hotspot_method_release(&known->method);
	vec_release(&r->functions);
	vec_release(&r->methods);
	vec_release(&r->lines);
	free(r);
	return is_read;
}

#define NAME_MAX_SIZE 1024
#define LINES_MAX 65536
#define HAS_LINES 1 /* of a ConstMethod's flags */
#define ESCAPE 0xff /* numbers follow */
#define HIGH_CODES 64
#define HIGH_SHIFT 6
#define NUMBER_MAX 5

/* Returns where a hidden class's number, its address, begins: "/0x…", "+0x…". */
static size_t without_number(const char *text, size_t size)
{
	size_t at = size;

	while (at && text[at - 1] && strchr("0123456789abcdef", text[at - 1]))
		at--;
	if (at < 4 || at == size || memcmp(text + at - 2, "0x", 2) != 0)
		return size;
	at -= 3;
	return text[at] == '/' || text[at] == '+' ? at : size;
}

/* Appends a string of a class file; invalid UTF-8 becomes question marks. */
static void add_text(struct strbuf *to, const char *text, size_t size)
{
	for (size_t at = 0; at < size;) {
		size_t length = text[at] ? text_utf8_length(text + at, size - at) : 0;

		if (length)
			strbuf_add(to, text + at, length);
		else
			strbuf_addch(to, '?');
		at += length ? length : 1;
	}
}

/* The same, with dots between packages. */
static void add_dotted(struct strbuf *name, const char *text, size_t size)
{
	size_t begin = name->size;

	add_text(name, text, size);
	for (size_t i = begin; i < name->size; i++) {
		if (name->text[i] == '/')
			name->text[i] = '.';
	}
}

void hotspot_set_name(struct strbuf *name, const char *holder, size_t holder_size,
		      const char *method, size_t method_size)
{
	strbuf_reset(name);
	if (holder_size) {
		add_dotted(name, holder, without_number(holder, holder_size));
		strbuf_add(name, ".", 1);
	}
	add_text(name, method, method_size);
}

static uint8_t hotspot_next_byte(struct hotspot_numbers *n)
{
	uint8_t byte = 0;

	n->is_bad |= !hotspot_memory_read(n->memory, n->at++, &byte, 1);
	return byte;
}

uint32_t hotspot_next_number(struct hotspot_numbers *n)
{
	uint32_t excluded = n->has_no_zeros, low_codes = 256 - HIGH_CODES - excluded, sum = 0;

	for (unsigned int i = 0; i < NUMBER_MAX; i++) {
		uint32_t byte = hotspot_next_byte(n);

		if (byte < excluded) {
			n->is_bad = true;
			return 0;
		}
		byte -= excluded;
		sum += byte << (HIGH_SHIFT * i);
		if (byte < low_codes)
			break;
	}
	return sum;
}

static int32_t next_signed(struct hotspot_numbers *n)
{
	uint32_t bits = hotspot_next_number(n);

	return (int32_t)(bits >> 1 ^ (0 - (bits & 1)));
}

static void hotspot_method_release(struct hotspot_method *m)
{
	strbuf_release(&m->name);
	strbuf_release(&m->file);
	strbuf_release(&m->parameters);
	vec_release(&m->lines);
	*m = (struct hotspot_method){0};
}

/* Reads a Symbol. Empty if the object is not one. */
static void read_symbol(const struct hotspot_layout *l, struct hotspot_memory *memory,
			uint64_t symbol, struct strbuf *text)
{
	char bytes[NAME_MAX_SIZE];
	uint16_t size;

	symbol &= ~UINT64_C(1);
	if (!symbol || !hotspot_memory_read(memory, symbol + l->symbol_length, &size, sizeof(size)))
		return;
	if (size > sizeof(bytes))
		size = sizeof(bytes);
	if (hotspot_memory_read(memory, symbol + l->symbol_text, bytes, size))
		strbuf_add(text, bytes, size);
}

/* Reads entry `index` of a constant pool, which is a Symbol. */
static void read_constant(const struct hotspot_layout *l, struct hotspot_memory *memory,
			  uint64_t pool, uint16_t index, struct strbuf *text)
{
	uint64_t symbol;

	if (index && hotspot_memory_word(memory, pool + l->pool_size + 8ull * index, &symbol))
		read_symbol(l, memory, symbol, text);
}

static void read_lines(const struct hotspot_layout *l, struct hotspot_memory *memory, uint64_t at,
		       struct hotspot_method *m)
{
	struct hotspot_numbers n = {memory, at, l->flags & HOTSPOT_NO_ZEROS, false};
	int64_t bci = 0, line = 0;

	while (m->lines.count < LINES_MAX) {
		uint8_t byte = hotspot_next_byte(&n);

		if (!byte)
			return;
		if (byte == ESCAPE) {
			bci += next_signed(&n);
			line += next_signed(&n);
		} else {
			bci += byte >> 3;
			line += byte & 7;
		}
		if (n.is_bad || bci < 0 || bci > UINT16_MAX || line < 0 || line > UINT16_MAX)
			return;
		vec_push(&m->lines, ((struct hotspot_line){(uint32_t)bci, (uint32_t)line}));
		if (!m->first_line || line < m->first_line)
			m->first_line = (uint32_t)line;
	}
}

/* Returns whether the text is the name of a class without its package. */
static bool is_class(const struct strbuf *holder, const struct strbuf *text)
{
	size_t size = without_number(strbuf_text(holder), holder->size);

	return size >= text->size &&
	       memcmp(holder->text + size - text->size, text->text, text->size) == 0 &&
	       (size == text->size || holder->text[size - text->size - 1] == '/');
}

/*
 * Writes the path of the source: below the folder of all packages, unless the compiler recorded a
 * path or the package is synthetic.
 */
static void set_file(struct hotspot_method *m, const struct strbuf *holder,
		     const struct strbuf *source)
{
	static const char made_up[] = "org/python/pycode/";
	const char *slash = holder->size ? memrchr(holder->text, '/',
						   without_number(holder->text, holder->size))
					 : NULL;

	/* The source file of JVM-generated classes is the class itself. */
	if (!source->size || (memchr(source->text, '$', source->size) && is_class(holder, source)))
		return;
	if (slash && !memchr(source->text, '/', source->size) &&
	    !text_starts_with(holder->text, made_up))
		add_text(&m->file, holder->text, (size_t)(slash - holder->text) + 1);
	add_text(&m->file, source->text, source->size);
}

/* Appends the type that begins at `text` as written in source code, without its package. */
static size_t add_type(const char *text, size_t size, struct strbuf *to)
{
	static const char *const basic[] = {
		['B'] = "byte", ['C'] = "char", ['D'] = "double", ['F'] = "float",
		['I'] = "int",	['J'] = "long", ['S'] = "short",  ['Z'] = "boolean",
	};
	size_t arrays = 0, end;
	const char *slash;

	while (arrays < size && text[arrays] == '[')
		arrays++;
	end = arrays + 1;
	if (arrays < size && text[arrays] == 'L') {
		const char *semicolon = memchr(text + arrays, ';', size - arrays);

		end = semicolon ? (size_t)(semicolon - text) : size;
		slash = memrchr(text + arrays, '/', end - arrays);
		slash = slash ? slash + 1 : text + arrays + 1;
		add_text(to, slash, (size_t)(text + end - slash));
		end++;
	} else if (arrays < size && (uint8_t)text[arrays] < sizeof(basic) / sizeof(*basic) &&
		   basic[(uint8_t)text[arrays]]) {
		strbuf_adds(to, basic[(uint8_t)text[arrays]]);
	}
	while (arrays--)
		strbuf_add(to, "[]", 2);
	return end < size ? end : size;
}

/* Makes "(int, String)" of "(ILjava/lang/String;)V". */
static void set_parameters(struct strbuf *to, const char *text, size_t size)
{
	size_t at = 1;

	if (!size || text[0] != '(')
		return;
	strbuf_addch(to, '(');
	while (at < size && text[at] != ')') {
		if (at > 1)
			strbuf_add(to, ", ", 2);
		at += add_type(text + at, size - at, to);
	}
	strbuf_addch(to, ')');
}

static void read_parameters(const struct hotspot_layout *l, struct hotspot_memory *memory,
			    uint64_t pool, uint16_t index, struct hotspot_method *m)
{
	_cleanup_(strbuf_release) struct strbuf types = {0};

	read_constant(l, memory, pool, index, &types);
	set_parameters(&m->parameters, strbuf_text(&types), types.size);
}

/*
 * Reads a method whose ConstMethod is at that address. Returns false, with *m empty, if it is not
 * one.
 */
static bool hotspot_method_read(const struct hotspot_layout *l, struct hotspot_memory *memory,
				uint64_t const_method, bool wants_types, struct hotspot_method *m)
{
	_cleanup_(strbuf_release) struct strbuf holder = {0}, source = {0}, name = {0};
	uint8_t bytes[HOTSPOT_CONST_SIZE];
	uint16_t flags, code_size, index;
	uint64_t pool, klass, symbol;

	if (!const_method || !hotspot_memory_read(memory, const_method, bytes, sizeof(bytes)))
		return false;
	memcpy(&pool, bytes + l->const_pool, sizeof(pool));
	memcpy(&flags, bytes + l->const_flags, sizeof(flags));
	memcpy(&code_size, bytes + l->const_code_size, sizeof(code_size));
	memcpy(&index, bytes + l->const_name, sizeof(index));
	read_constant(l, memory, pool, index, &name);
	if (!name.size)
		return false;
	if (hotspot_memory_word(memory, pool + l->pool_holder, &klass) &&
	    hotspot_memory_word(memory, klass + l->klass_name, &symbol))
		read_symbol(l, memory, symbol, &holder);
	hotspot_set_name(&m->name, strbuf_text(&holder), holder.size, name.text, name.size);
	if (wants_types) {
		memcpy(&index, bytes + l->const_signature, sizeof(index));
		read_parameters(l, memory, pool, index, m);
	}
	if (l->pool_source &&
	    hotspot_memory_read(memory, pool + l->pool_source, &index, sizeof(index)))
		read_constant(l, memory, pool, index, &source);
	set_file(m, &holder, &source);
	if (flags & HAS_LINES)
		read_lines(l, memory, const_method + l->const_size + code_size, m);
	return true;
}

/* Returns the line of a bytecode; 0: unknown. */
static uint32_t hotspot_method_line(const struct hotspot_method *m, uint32_t bci)
{
	uint32_t best = 0, line = 0;

	/* Rows are not always ascending. */
	vec_for_each(&m->lines, const struct hotspot_line *, row) {
		if (row->bci > bci || (line && row->bci < best))
			continue;
		best = row->bci;
		line = row->line;
	}
	return line;
}

ORDER(compare_lines, struct managed_line, COMPARE(a->unit, b->unit))

/* Takes the lines of an interpreted method: its units are bytecodes. */
static void take_lines(const struct hotspot_method *m, struct managed_code *code)
{
	vec_clear(&code->lines);
	vec_for_each(&m->lines, const struct hotspot_line *, row)
		vec_push(&code->lines, ((struct managed_line){row->bci, row->line, 0}));
	vec_sort(&code->lines, compare_lines);
}

static bool is_same_name(const struct strbuf *a, const struct strbuf *b)
{
	return a->size == b->size && memcmp(a->text, b->text, a->size) == 0;
}

bool hotspot_late(const struct runtime_layout *layout, const struct rec_function *function,
		  runtime_read_fn *read, void *ctx, struct managed_code *code)
{
	const struct hotspot_layout *l = &layout->hotspot;
	struct hotspot_memory memory = {.read = read, .ctx = ctx};
	struct hotspot_function_head head;
	struct hotspot_method method = {0};
	uint64_t const_method;
	bool is_read;

	if (!(l->flags & HOTSPOT_IS_COMPLETE) || !runtime_read_head(function, &head, sizeof(head)))
		return false;
	if (head.kind == HOTSPOT_STUB)
		return head.stubs && hotspot_read_stubs(&memory, &head, function->units, code);
	if (!head.method)
		return false;
	is_read = hotspot_memory_word(&memory, head.method + l->const_method, &const_method) &&
		  (!head.const_method || head.const_method == const_method) &&
		  hotspot_method_read(l, &memory, const_method, code->wants_types, &method);
	/* The memory may already belong to another method. */
	if (is_read && code->name.size && !code->is_cut && !is_same_name(&code->name, &method.name))
		is_read = false;
	if (is_read) {
		code->first_line = method.first_line;
		strbuf_reset(&code->name);
		strbuf_add(&code->name, method.name.text, method.name.size);
		strbuf_adds(&code->name, strbuf_text(&method.parameters));
		strbuf_reset(&code->file);
		strbuf_add(&code->file, strbuf_text(&method.file), method.file.size);
		code->is_cut = false;
		if (head.kind == HOTSPOT_INTERPRETED)
			take_lines(&method, code);
		else if (head.kind == HOTSPOT_COMPILED &&
			 !hotspot_read_scopes(l, &memory, &head, function->units, code))
			vec_push(&code->lines, ((struct managed_line){0})); /* none has one */
	}
	hotspot_method_release(&method);
	return is_read;
}
