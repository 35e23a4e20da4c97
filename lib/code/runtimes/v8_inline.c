/* SPDX-License-Identifier: MIT */
/*
 * Reads the sources of compiled code from the process: its table of source positions, each with the
 * number of an inlined call or none, and for each such call its position and its function.
 */
#include "lib/base/bytes.h"
#include "lib/code/runtimes/runtime.h"
#include "lib/code/runtimes/v8.h"

#define TABLE_MAX ((uint64_t)1 << 18) /* bytes */
#define FUNCTIONS_MAX 512
#define CALLS_MAX 4096
#define CALL_SIZE 16 /* bytes: a position, the number of the function, 4 unused */
#define PLACES_MAX ((size_t)1 << 17)
#define CHAIN_MAX 32
#define DEOPT_WORDS 9 /* up to the last word needed */
#define DEOPT_COUNT 1 /* number of functions at the start of the literals */
#define TEXT_MAX 4096
#define NAMES_MAX ((size_t)1 << 17) /* maximum bytes of all names and files of a record */
#define UNREAD UINT32_MAX
#define OWN UINT32_MAX

struct call {
	uint64_t place; /* position in its caller */
	uint32_t function; /* literal; OWN: the code's own function, which calls itself */
};

/* References of a Code, all unchanged if nothing has moved. */
struct code_parts {
	uint64_t table, deopt, calls;
	uint64_t functions[FUNCTIONS_MAX];
	size_t function_count;
};

struct inline_reader {
	struct v8_heap heap;
	const struct rec_function *function;
	struct known_functions *known;
	struct v8_function_head own;
	struct code_parts parts;
	VEC(struct call) calls;
	struct managed_code *code; /* as in the record */
	uint32_t rows[FUNCTIONS_MAX]; /* by literal: its function, as in managed_line */
	uint32_t own_row; /* the same for OWN */
	VEC(struct managed_place) places;
	VEC(struct managed_function) functions;
	size_t names; /* bytes of their names and files */
};

/* Reads the length of an array and checks it. */
static bool read_length(const struct inline_reader *r, uint64_t array, uint64_t max,
			uint64_t *length)
{
	const struct v8_layout *l = r->heap.layout;
	uint8_t data[8];
	struct bytes b;

	/* The upper half of a word, like a small integer, or a word of half the size. */
	if (!v8_heap_read(&r->heap, array, l->is_compressed ? 8 : l->array_length, data,
			  8 >> l->is_compressed))
		return false;
	bytes_init(&b, data, 8 >> l->is_compressed);
	*length = l->is_compressed ? bytes_u32(&b) : bytes_u64(&b) >> 32;
	if (l->is_compressed && l->array_length == 8)
		*length >>= 1;
	return *length <= max;
}

/* Returns true if this is still the sampled code. */
static bool is_same_code(const struct v8_layout *l, const struct inline_reader *r,
			 const uint64_t *words)
{
	uint64_t start = l->code_header ? r->own.code - 1 + l->code_header
					: words[l->code_start / 8];
	uint32_t size = (uint32_t)(words[l->code_size / 8] >> (l->code_size & 4) * 8);

	return start == r->own.code_start && size == r->function->units;
}

static bool read_parts(const struct inline_reader *r, struct code_parts *parts)
{
	const struct v8_layout *l = r->heap.layout;
	uint64_t words[V8_CODE_MAX / 8], deopt[DEOPT_WORDS], length, literals;
	*parts = (struct code_parts){0};
	uint64_t code = r->own.code;

	if (!v8_heap_is(&r->heap, code, V8_CODE))
		return false;
	if (r->heap.own_cage != r->heap.cage)
		code += V8_OWN_WORD;
	if (!v8_heap_object(&r->heap, code, V8_CODE_NUMBERS, words, V8_CODE_MAX / 8) ||
	    !is_same_code(l, r, words))
		return false;
	parts->table = v8_heap_own(&r->heap, words[l->code_positions / 8]);
	parts->deopt = v8_heap_own(&r->heap, words[l->code_deopt / 8]);
	if (!v8_heap_is(&r->heap, parts->table, V8_POSITIONS) ||
	    !read_length(r, parts->deopt, UINT32_MAX, &length) || length < DEOPT_WORDS ||
	    !v8_heap_words(&r->heap, parts->deopt, l->array_data, deopt, DEOPT_WORDS))
		return false;
	parts->calls = v8_heap_own(&r->heap, deopt[l->deopt_inlined]);
	literals = v8_heap_own(&r->heap, deopt[l->deopt_literals]);
	parts->function_count = deopt[DEOPT_COUNT] >> 32;
	return parts->function_count <= FUNCTIONS_MAX &&
	       read_length(r, literals, UINT32_MAX, &length) && length >= parts->function_count &&
	       v8_heap_words(&r->heap, literals, l->array_data, parts->functions,
			     parts->function_count);
}

static bool read_calls(struct inline_reader *r)
{
	_cleanup_free_ uint8_t *data = NULL;
	uint64_t size;
	struct bytes b;

	if (!r->parts.function_count)
		return true;
	if (!read_length(r, r->parts.calls, CALLS_MAX * CALL_SIZE, &size))
		return false;
	data = xmalloc(size + 1);
	if (!v8_heap_read(&r->heap, r->parts.calls, r->heap.layout->array_data, data, size))
		return false;
	bytes_init(&b, data, size);
	while (bytes_left(&b) >= CALL_SIZE) {
		struct call call = {.place = bytes_u64(&b)};

		call.function = bytes_u32(&b);
		bytes_skip(&b, 4);
		vec_push(&r->calls, call);
	}
	return true;
}

static void take_text(void *ctx, unsigned int width, const void *text, size_t size)
{
	v8_text(width, text, size, ctx);
}

static void read_text(const struct inline_reader *r, uint64_t string, struct strbuf *text)
{
	strbuf_reset(text);
	if (!v8_heap_string(&r->heap, string, TEXT_MAX, take_text, text))
		strbuf_reset(text);
}

/* Reads the name and the position of a function, like v8_describe_scope() in the kernel. */
static void read_scope(const struct inline_reader *r, uint64_t scope, struct managed_function *f)
{
	const struct v8_layout *l = r->heap.layout;
	uint64_t flags, locals, words[V8_SCOPE_WORDS], range[2], at = l->scope_names;
	uint8_t number[8] = {0};
	struct bytes b;

	/* Compressed, the flags are a number. */
	if (!v8_heap_read(&r->heap, scope, l->scope_flags, number, 8 >> l->is_compressed) ||
	    !v8_heap_words(&r->heap, scope, l->scope_locals, &locals, 1))
		return;
	bytes_init(&b, number, sizeof(number));
	flags = bytes_u64(&b) >> (l->scope_flags_shift & 63);
	locals >>= 32;
	if (locals > V8_SCOPE_LOCALS_MAX)
		return;
	at += 8 * (locals < V8_SCOPE_LOCALS ? 2 * locals : locals + 1);
	if ((flags & 15) == l->scope_module)
		at += 8;
	if (!v8_heap_words(&r->heap, scope, at, words, V8_SCOPE_WORDS))
		return;
	read_text(r, words[V8_SCOPE_NAME], &f->name);
	if (!f->name.size)
		read_text(r, words[V8_SCOPE_INFERRED], &f->name);
	at = (uint32_t)words[V8_SCOPE_INFERRED] ? V8_SCOPE_START : V8_SCOPE_INFERRED;
	memcpy(range, words + at, sizeof(range));
	if (l->scope_start && !v8_heap_words(&r->heap, scope, l->scope_start, range, 2))
		return;
	if (!(uint32_t)range[0] && !(uint32_t)range[1] && range[0] < range[1] &&
	    range[1] >> 32 <= INT32_MAX) {
		f->start = (int32_t)(range[0] >> 32);
		f->end = (int32_t)(range[1] >> 32);
	}
}

/* Returns the characters of a script's text; 0: unknown. */
static uint32_t source_length(const struct v8_heap *h, uint64_t script)
{
	uint64_t text;

	if (!v8_heap_words(h, script, h->layout->script_source, &text, 1))
		return 0;
	return v8_heap_length(h, text);
}

/* Reads a SharedFunctionInfo. Returns false for other objects. */
static bool read_function(const struct inline_reader *r, uint64_t reference,
			  struct managed_function *f)
{
	const struct v8_layout *l = r->heap.layout;
	struct function_key key = {.pid = r->function->rec.pid, .tid = r->function->rec.tid};
	uint64_t words[V8_SHARED_MAX / 8], script, id, name;
	const struct managed_function *known;

	reference &= ~UINT64_C(2); /* a weak reference */
	if (!v8_heap_is(&r->heap, reference, V8_SHARED) ||
	    !v8_heap_object(&r->heap, reference, V8_SHARED_NUMBERS, words, V8_SHARED_MAX / 8))
		return false;
	script = words[l->shared_script / 8];
	if (!v8_heap_is(&r->heap, script, V8_SCRIPT) ||
	    !v8_heap_words(&r->heap, script, l->script_id, &id, 1))
		return false;
	key.source = (struct managed_source){script, (uint32_t)(id >> 32),
					     source_length(&r->heap, script)};
	key.number = (uint32_t)(words[l->shared_literal / 8] >> (l->shared_literal & 4) * 8);
	known = known_functions_find(r->known, &key);
	if (known) {
		managed_function_copy(f, known);
		return true;
	}
	*f = (struct managed_function){.source = key.source, .start = -1, .end = -1};
	name = words[l->shared_name / 8];
	if (v8_heap_is(&r->heap, name, V8_SCOPE))
		read_scope(r, name, f);
	else
		read_text(r, name, &f->name);
	v8_set_anonymous(&f->name);
	if (v8_heap_words(&r->heap, script, l->script_name, &name, 1))
		read_text(r, name, &f->file);
	v8_cut_scheme(&f->file);
	known_functions_add(r->known, &key, f);
	return true;
}

/* Returns the number of the added function, as in managed_line. */
static uint32_t add_function(struct inline_reader *r, struct managed_function function)
{
	vec_push(&r->functions, function);
	r->names += function.name.size + function.file.size;
	return (uint32_t)r->functions.count;
}

/* Describes the code's own function, inlined into itself. */
static struct managed_function copy_own(const struct inline_reader *r)
{
	const struct managed_code *code = r->code;
	struct managed_function copy, own = {
					      .name = code->name,
					      .file = code->file,
					      .source = code->source,
					      .start = r->own.start,
					      .end = r->own.end,
					      .first_line = code->first_line,
				      };

	managed_function_copy(&copy, &own);
	return copy;
}

/* Returns the function's number, as in managed_line; 0: unknown. */
static uint32_t find_function(struct inline_reader *r, uint32_t literal)
{
	struct managed_function function;

	if (r->names > NAMES_MAX)
		return 0;
	if (literal == OWN) {
		if (!r->own_row)
			r->own_row = add_function(r, copy_own(r));
		return r->own_row;
	}
	if (literal >= r->parts.function_count)
		return 0;
	if (r->rows[literal] == UNREAD) {
		r->rows[literal] = 0;
		if (read_function(r, r->parts.functions[literal], &function))
			r->rows[literal] = add_function(r, function);
	}
	return r->rows[literal];
}

static int32_t characters_of(uint64_t place)
{
	return (int32_t)(place >> 1 & 0x3fffffff) - 1;
}

/* Returns the call of a position, plus 1; 0: none. */
static uint32_t call_of(uint64_t place)
{
	return place >> 31 & 0xffff;
}

/* Returns whether the position can be in a function of this range. */
static bool is_within(int32_t start, int32_t end, int32_t place)
{
	return place < 0 || start < 0 || end <= start || (place >= start && place < end);
}

static bool is_own(const struct inline_reader *r, uint64_t place)
{
	return is_within(r->own.start, r->own.end, characters_of(place));
}

/*
 * Some entries name no call although they are in the text of an inlined function. Returns the
 * position with the only call to which it can belong, or else the start of the code's own function.
 */
static uint64_t guess_call(struct inline_reader *r, uint64_t place)
{
	int32_t at = characters_of(place);
	uint64_t found = 0;

	for (uint32_t i = 0; i < r->calls.count; i++) {
		uint32_t function = find_function(r, r->calls.items[i].function);
		const struct managed_function *f;

		if (!function)
			continue;
		f = &r->functions.items[function - 1];
		if (f->start < 0 || !is_within(f->start, f->end, at))
			continue;
		if (found)
			return ((uint64_t)(uint32_t)r->own.start + 1) << 1;
		found = i + 1;
	}
	return found ? place | found << 31 : ((uint64_t)(uint32_t)r->own.start + 1) << 1;
}

/* Adds the calls that lead to a position, from the code's own function on. */
static void add_chain(struct inline_reader *r, uint32_t unit, uint64_t place)
{
	uint64_t chain[CHAIN_MAX + 1] = {place};
	uint32_t functions[CHAIN_MAX + 1], call;
	size_t count = 0;

	if (!call_of(place) && !is_own(r, place))
		place = chain[0] = guess_call(r, place);
	for (uint64_t at = place; (call = call_of(at)); at = chain[++count]) {
		/* A call is listed after its caller. */
		if (count >= CHAIN_MAX || call > r->calls.count ||
		    (count && call >= call_of(chain[count - 1])))
			return;
		functions[count] = r->calls.items[call - 1].function;
		chain[count + 1] = r->calls.items[call - 1].place;
	}
	vec_push(&r->places, ((struct managed_place){unit, characters_of(chain[count]), 0, 0}));
	while (count--) {
		uint32_t function = find_function(r, functions[count]);

		if (!function)
			return;
		vec_push(&r->places,
			 ((struct managed_place){unit, characters_of(chain[count]), function, 0}));
	}
}

static bool read_places(struct inline_reader *r)
{
	_cleanup_free_ uint8_t *data = NULL;
	struct v8_position position = {.unit = V8_POSITION_BEGIN};
	uint64_t size;
	struct bytes b;

	if (!read_length(r, r->parts.table, TABLE_MAX, &size))
		return false;
	/* V8 leaves positions out unless the embedder or a profiler asks for them. */
	r->code->hides_inlined = !size && r->calls.count;
	if (r->code->hides_inlined)
		return false;
	data = xmalloc(size + 1);
	if (!v8_heap_read(&r->heap, r->parts.table, r->heap.layout->array_data, data, size))
		return false;
	bytes_init(&b, data, size);
	while (v8_next_position(r->heap.layout, &b, &position) &&
	       position.unit < r->function->units) {
		if (position.unit >= 0 && position.place >= 0 && !(position.place & 1))
			add_chain(r, (uint32_t)position.unit, (uint64_t)position.place);
		if (r->places.count > PLACES_MAX)
			return false;
	}
	return true;
}

/* Returns whether nothing was moved or replaced meanwhile. */
static bool is_unchanged(const struct inline_reader *r)
{
	struct code_parts now;

	return read_parts(r, &now) && memcmp(&now, &r->parts, sizeof(now)) == 0;
}

static bool begin(struct inline_reader *r, const struct runtime_layout *layout,
		  runtime_read_fn *read, void *ctx)
{
	if (!runtime_read_head(r->function, &r->own, sizeof(r->own)) || !layout->v8.code_size)
		return false;
	r->heap = v8_heap_of(&layout->v8, r->own.script, r->own.code, read, ctx);
	memset(r->rows, 0xff, sizeof(r->rows));
	return r->own.code;
}

bool v8_read_inlined(const struct runtime_layout *layout, const struct rec_function *function,
		     struct known_functions *known, runtime_read_fn *read, void *ctx,
		     struct managed_code *code)
{
	struct inline_reader *r = xcalloc(1, sizeof(*r));
	bool is_read;

	r->function = function;
	r->known = known;
	r->code = code;
	is_read = begin(r, layout, read, ctx) && read_parts(r, &r->parts) && read_calls(r) &&
		  read_places(r) && is_unchanged(r);
	if (is_read) {
		vec_clear(&code->places);
		vec_for_each(&r->places, const struct managed_place *, place)
			vec_push(&code->places, *place);
		vec_for_each(&r->functions, const struct managed_function *, each)
			vec_push(&code->inlined, *each);
		r->functions.count = 0;
	}
	vec_for_each(&r->functions, struct managed_function *, each)
		managed_function_release(each);
	vec_release(&r->functions);
	vec_release(&r->places);
	vec_release(&r->calls);
	free(r);
	return is_read;
}
