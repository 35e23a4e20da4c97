/* SPDX-License-Identifier: MIT */
#include "lib/code/runtimes/v8_wasm.h"

#include "lib/base/bytes.h"

/* Words of an object that may be the beginning of such a table. */
#define SPACES_WORDS 24
#define MODULE_WORDS 80
#define ALLOCATOR_WORDS 24
#define WRAPPERS_WORDS 48
#define SPACE_SIZE_MAX ((uint64_t)1 << 32)
#define SPACE_ALIGNMENT 4096
#define MODULES_MAX 32
#define PIECES_MAX 65536
#define NEW_MAX 4096 /* pieces of new code to read at a time */
#define SECTIONS_MAX 4096
#define IMPORTS_SIZE_MAX ((size_t)1 << 20)
#define NAMES_SIZE_MAX ((size_t)16 << 20) /* of all modules of a process */
#define FILE_NAME_MAX 256
#define NAME_MAX_SIZE 1024
#define PIECE ((size_t)1 << 16)

struct memory {
	runtime_read_fn *read;
	void *ctx;
};

static bool read_words(const struct memory *m, uint64_t addr, uint64_t *words, size_t count)
{
	return addr % 8 == 0 && addr && m->read(m->ctx, addr, words, count * 8);
}

/* A std::map of addresses, of GNU's library or LLVM's: a red-black tree. */

enum {
	NODE_KEY = 4,
	NODE_VALUE,
	NODE_VALUE_2,
	NODE_WORDS,
};

#define TREE_WORDS 5
#define TREE_DEPTH_MAX 64
#define NODES_MAX ((uint64_t)1 << 24)

struct tree {
	uint64_t root; /* 0: empty */
	uint8_t left, right; /* words of a node */
	uint8_t words; /* of the map */
};

static bool is_count(uint64_t word)
{
	return word && word <= NODES_MAX;
}

/* Recognizes such a map by its first words. */
static bool find_tree(const struct memory *m, uint64_t at, const uint64_t *words, struct tree *tree)
{
	uint64_t root[3];

	*tree = (struct tree){.root = words[1]};
	if (!tree->root) {
		/* GNU's refers to itself by both ends, LLVM's by the first. */
		tree->words = words[2] == at && words[3] == at && !words[4] ? 5 : 3;
		return tree->words == 5 || (words[0] == at + 8 && !words[2]);
	}
	/* The number of nodes rules out most other words. */
	if (!(uint32_t)words[0] && words[2] && words[3] && is_count(words[4]))
		*tree = (struct tree){tree->root, 2, 3, 5};
	else if (words[0] && is_count(words[2]))
		*tree = (struct tree){tree->root, 0, 1, 3};
	else
		return false;
	return read_words(m, tree->root, root, 3) &&
	       (tree->words == 5 ? root[1] == at : root[2] == at + 8);
}

/* Finds the node with the highest key up to that one. */
static bool find_node(const struct memory *m, const struct tree *tree, uint64_t key,
		      uint64_t *found)
{
	uint64_t node[NODE_WORDS], at = tree->root;
	bool is_found = false;

	for (size_t depth = 0; at && depth < TREE_DEPTH_MAX; depth++) {
		bool is_up_to = false;

		if (!read_words(m, at, node, NODE_WORDS))
			return false;
		is_up_to = node[NODE_KEY] <= key;
		if (is_up_to) {
			memcpy(found, node, sizeof(node));
			is_found = true;
		}
		at = node[is_up_to ? tree->right : tree->left];
	}
	return is_found && !at;
}

static bool read_tree(const struct memory *m, uint64_t at, struct tree *tree)
{
	uint64_t words[TREE_WORDS];

	return read_words(m, at, words, TREE_WORDS) && find_tree(m, at, words, tree);
}

/* Memory for code, and the module that it belongs to. */
struct space {
	uint64_t start, end;
	uint64_t module;
};

static bool find_space(const struct memory *m, const struct tree *spaces, uint64_t addr,
		       struct space *space)
{
	uint64_t node[NODE_WORDS];

	if (!find_node(m, spaces, addr, node))
		return false;
	*space = (struct space){node[NODE_KEY], node[NODE_VALUE], node[NODE_VALUE_2]};
	return space->start % SPACE_ALIGNMENT == 0 && space->end % SPACE_ALIGNMENT == 0 &&
	       addr < space->end && space->end - space->start <= SPACE_SIZE_MAX;
}

/* Objects of code: the module, the first instruction, other words, numbers of 32 bits. */

#define CODE_WORDS 11
#define CODE_NUMBERS 2 /* the first word that may be a number */
#define NO_INDEX UINT32_MAX

static bool read_code(const struct memory *m, uint64_t at, uint64_t module, uint64_t *words)
{
	return read_words(m, at, words, CODE_WORDS) && words[0] == module;
}

static uint32_t number_of(const uint64_t *words, size_t at)
{
	return (uint32_t)(words[at / 2] >> at % 2 * 32);
}

/*
 * Finds the places of the numbers by the code of a jump table: its size is followed by the sizes of
 * parts that it lacks, all 0, and by the number of its function, -1.
 */
static bool learn_numbers(struct wasm_module *module, const uint64_t *words)
{
	size_t index = 2 * (CODE_NUMBERS + 1), size;

	while (index < 2 * CODE_WORDS && number_of(words, index) != NO_INDEX)
		index++;
	if (index == 2 * CODE_WORDS)
		return false;
	size = index - 1;
	while (size > 2 * CODE_NUMBERS && !number_of(words, size))
		size--;
	module->numbers = (struct wasm_numbers){(uint8_t)size, (uint8_t)index};
	return size % 2 == 0 && size > 2 * CODE_NUMBERS;
}

/* Returns the piece of the module's code that lies lowest: a jump table. */
static uint64_t first_code(const struct memory *m, const struct tree *codes, uint64_t new_codes)
{
	uint64_t node[NODE_WORDS], at = codes->root, first = 0;

	for (size_t depth = 0; at && depth < TREE_DEPTH_MAX; depth++) {
		if (!read_words(m, at, node, NODE_WORDS))
			return 0;
		first = node[NODE_VALUE];
		at = node[codes->left];
	}
	return codes->root || read_words(m, new_codes, &first, 1) ? first : 0;
}

/*
 * Recognizes the module's code by the first words at an address: a map by the first instruction,
 * then a vector of code that is not yet in the map.
 */
static bool find_codes(const struct memory *m, struct wasm_module *module, uint64_t at,
		       const uint64_t *words)
{
	uint64_t code[CODE_WORDS], new_codes[3];
	struct tree codes;

	if (!find_tree(m, at, words, &codes) ||
	    !read_words(m, at + codes.words * 8, new_codes, 3) || new_codes[0] > new_codes[1] ||
	    new_codes[1] > new_codes[2] ||
	    !read_code(m, first_code(m, &codes, new_codes[0]), module->object, code) ||
	    !learn_numbers(module, code))
		return false;
	module->codes = at;
	return true;
}

/* The file of a module. */

static const uint8_t magic[8] = {0, 'a', 's', 'm', 1, 0, 0, 0};

/* A section, or part of one. */
struct section {
	uint8_t id;
	uint64_t start, end;
};

enum {
	SECTION_CUSTOM = 0,
	SECTION_IMPORT = 2,
	SECTION_EXPORT = 7,
	NAMES_OF_MODULE = 0,
	NAMES_OF_FUNCTIONS = 1,
};

/* Takes the next section before `end`. */
static bool next_section(const struct memory *m, uint64_t *at, uint64_t end, struct section *s)
{
	uint8_t head[6];
	size_t head_size = MIN(end - *at, sizeof(head));
	uint64_t size;
	struct bytes b;

	if (!head_size || !m->read(m->ctx, *at, head, head_size))
		return false;
	bytes_init(&b, head, head_size);
	s->id = bytes_u8(&b);
	size = bytes_uleb(&b);
	s->start = *at + bytes_position(&b);
	if (b.failed || size > end - s->start)
		return false;
	*at = s->end = s->start + size;
	return true;
}

/* Copies [start, end). Returns NULL if it is unreadable or larger than `max`. */
static uint8_t *copy(const struct memory *m, uint64_t start, uint64_t end, size_t max)
{
	_cleanup_free_ uint8_t *data = NULL;
	size_t size = end - start;

	if (!size || size > max)
		return NULL;
	data = xmalloc(size);
	for (size_t at = 0; at < size; at += PIECE) {
		if (!m->read(m->ctx, start + at, data + at, MIN(size - at, PIECE)))
			return NULL;
	}
	return steal(data);
}

static void skip_name(struct bytes *b)
{
	bytes_skip(b, bytes_uleb(b));
}

static void skip_type(struct bytes *b)
{
	uint8_t type = bytes_u8(b);

	/* A reference type is followed by its heap type. */
	if (type == 0x63 || type == 0x64)
		bytes_uleb(b);
}

static void skip_limits(struct bytes *b)
{
	uint8_t flags = bytes_u8(b);

	bytes_uleb(b);
	if (flags & 1)
		bytes_uleb(b);
	if (flags & 8)
		bytes_uleb(b);
}

/* Returns the number of imported functions. */
static uint32_t count_imports(const struct memory *m, const struct section *s)
{
	_cleanup_free_ uint8_t *data = copy(m, s->start, s->end, IMPORTS_SIZE_MAX);
	uint32_t functions = 0;
	struct bytes b;

	bytes_init(&b, data, data ? s->end - s->start : 0);
	for (uint64_t left = bytes_uleb(&b); left && bytes_left(&b); left--) {
		skip_name(&b);
		skip_name(&b);
		switch (bytes_u8(&b)) {
		case 0:
			functions++;
			bytes_uleb(&b);
			break;
		case 1:
			skip_type(&b);
			skip_limits(&b);
			break;
		case 2:
			skip_limits(&b);
			break;
		case 3:
			skip_type(&b);
			bytes_u8(&b);
			break;
		case 4:
			bytes_u8(&b);
			bytes_uleb(&b);
			break;
		default:
			return 0;
		}
	}
	return b.failed ? 0 : functions;
}

static void read_file_name(const struct memory *m, const struct section *s,
			   struct wasm_module *module)
{
	_cleanup_free_ uint8_t *data = copy(m, s->start, s->end, FILE_NAME_MAX);
	const void *name;
	struct bytes b;
	size_t size;

	if (!data)
		return;
	bytes_init(&b, data, s->end - s->start);
	size = bytes_uleb(&b);
	name = bytes_take(&b, size);
	if (name)
		managed_text_add(&module->file, name, size);
}

/* Copies a section with names, and returns its number of rows. */
static uint64_t begin_names(const struct memory *m, const struct section *s,
			    struct wasm_module *module, size_t max, struct bytes *b)
{
	module->names = copy(m, s->start, s->end, max);
	module->names_size = module->names ? s->end - s->start : 0;
	bytes_init(b, module->names, module->names_size);
	return bytes_uleb(b);
}

static void read_function_names(const struct memory *m, const struct section *s,
				struct wasm_module *module, size_t max)
{
	struct bytes b;

	if (module->names)
		return;
	for (uint64_t left = begin_names(m, s, module, max, &b); left && bytes_left(&b); left--) {
		struct wasm_name name = {.function = (uint32_t)bytes_uleb(&b)};

		name.place = (uint32_t)bytes_position(&b);
		skip_name(&b);
		if (b.failed ||
		    (module->rows.count && name.function <= vec_last(&module->rows).function))
			break;
		vec_push(&module->rows, name);
	}
}

static int compare_names(const void *left, const void *right)
{
	const struct wasm_name *a = left, *b = right;

	if (a->function != b->function)
		return a->function < b->function ? -1 : 1;
	return (a->place > b->place) - (a->place < b->place);
}

/* Takes the names of exported functions, for a module that was built without others. */
static void read_exports(const struct memory *m, const struct section *s,
			 struct wasm_module *module, size_t max)
{
	struct bytes b;

	for (uint64_t left = begin_names(m, s, module, max, &b); left && bytes_left(&b); left--) {
		struct wasm_name name = {.place = (uint32_t)bytes_position(&b)};
		bool is_function;

		skip_name(&b);
		is_function = !bytes_u8(&b);
		name.function = (uint32_t)bytes_uleb(&b);
		if (b.failed)
			break;
		if (is_function)
			vec_push(&module->rows, name);
	}
	vec_sort(&module->rows, compare_names);
}

/* Returns whether the section has names, as far as they are readable. */
static bool read_names(const struct memory *m, const struct section *s, struct wasm_module *module,
		       size_t max)
{
	static const char tag[] = "\4name";
	uint64_t at = s->start + sizeof(tag) - 1;
	uint8_t start[sizeof(tag) - 1];
	struct section part;

	if (at > s->end || !m->read(m->ctx, s->start, start, sizeof(start)) ||
	    memcmp(start, tag, sizeof(start)) != 0)
		return false;
	for (size_t i = 0; i < SECTIONS_MAX && next_section(m, &at, s->end, &part); i++) {
		if (part.id == NAMES_OF_MODULE && !module->file.size)
			read_file_name(m, &part, module);
		else if (part.id == NAMES_OF_FUNCTIONS)
			read_function_names(m, &part, module, max);
	}
	return true;
}

/* Reads the first section of each kind; there is only one in valid files. */
static void read_sections(const struct memory *m, struct wasm_module *module, size_t max)
{
	uint64_t at = module->bytes + sizeof(magic), end = module->bytes + module->size;
	bool has_imports = false, has_names = false;
	struct section section, exports = {0};

	for (size_t i = 0; i < SECTIONS_MAX && next_section(m, &at, end, &section); i++) {
		if (section.id == SECTION_IMPORT && !has_imports) {
			module->imports = count_imports(m, &section);
			has_imports = true;
		} else if (section.id == SECTION_EXPORT && !exports.end) {
			exports = section;
		} else if (section.id == SECTION_CUSTOM && !has_names) {
			has_names = read_names(m, &section, module, max);
		}
	}
	if (!module->names)
		read_exports(m, &exports, module, max);
	if (!module->file.size)
		strbuf_addf(&module->file, "%" PRIu64 "-bytes", module->size);
}

static bool find_bytes(const struct memory *m, uint64_t object, uint64_t *bytes)
{
	uint8_t start[sizeof(magic)];

	return read_words(m, object, bytes, 2) && bytes[1] > sizeof(magic) &&
	       bytes[1] <= INT32_MAX && m->read(m->ctx, bytes[0], start, sizeof(start)) &&
	       memcmp(start, magic, sizeof(magic)) == 0;
}

static void wasm_module_release(struct wasm_module *module)
{
	strbuf_release(&module->file);
	free(module->names);
	vec_release(&module->rows);
}

static void clear(struct wasm_modules *modules)
{
	vec_for_each(&modules->rows, struct wasm_module *, module)
		wasm_module_release(module);
	vec_clear(&modules->rows);
	vec_clear(&modules->pieces);
	modules->names_size = 0;
}

void wasm_modules_release(struct wasm_modules *modules)
{
	clear(modules);
	vec_release(&modules->rows);
	vec_release(&modules->pieces);
}

/* Finds the required members of a module's object. */
static bool read_module(const struct memory *m, uint64_t object, struct wasm_module *module)
{
	uint64_t words[MODULE_WORDS + TREE_WORDS], bytes[2];

	*module = (struct wasm_module){.object = object};
	if (!read_words(m, object, words, MODULE_WORDS + TREE_WORDS))
		return false;
	for (size_t i = 0; i < MODULE_WORDS && !(module->bytes && module->codes); i++) {
		if (!module->bytes && find_bytes(m, words[i], bytes)) {
			module->bytes = bytes[0];
			module->size = bytes[1];
			module->bytes_word = object + i * 8;
		}
		if (!module->codes)
			find_codes(m, module, object + i * 8, words + i);
	}
	return module->bytes && module->codes;
}

/* Returns whether the object is still that module. */
static bool is_same(const struct memory *m, const struct wasm_module *module)
{
	uint64_t object, bytes[2];

	return read_words(m, module->bytes_word, &object, 1) && find_bytes(m, object, bytes) &&
	       bytes[0] == module->bytes && bytes[1] == module->size;
}

static struct wasm_module *find_module(const struct memory *m, struct wasm_modules *modules,
				       uint64_t object)
{
	struct wasm_module module;

	vec_for_each(&modules->rows, struct wasm_module *, row) {
		if (row->object != object)
			continue;
		if (is_same(m, row))
			return row;
		clear(modules);
		break;
	}
	if (!read_module(m, object, &module))
		return NULL;
	if (modules->rows.count == MODULES_MAX)
		clear(modules);
	read_sections(m, &module, NAMES_SIZE_MAX - modules->names_size);
	modules->names_size += module.names_size;
	vec_push(&modules->rows, module);
	return &modules->rows.items[modules->rows.count - 1];
}

static bool read_piece(const struct memory *m, const struct wasm_numbers *numbers, uint64_t module,
		       uint64_t object, struct wasm_piece *piece)
{
	uint64_t words[CODE_WORDS];

	if (!read_code(m, object, module, words))
		return false;
	*piece = (struct wasm_piece){
		.start = words[1],
		.object = object,
		.module = module,
		.size = number_of(words, numbers->size),
		.function = number_of(words, numbers->function),
		.is_table = !number_of(words, numbers->size + 1u),
	};
	return true;
}

static bool contains(const struct wasm_piece *piece, uint64_t addr)
{
	return addr >= piece->start && addr - piece->start < piece->size;
}

static void add_piece(struct wasm_modules *modules, const struct wasm_piece *piece)
{
	size_t at = vec_count_front(&modules->pieces, it, it->start < piece->start);
	struct wasm_piece *rows;

	if (at == modules->pieces.count || modules->pieces.items[at].start != piece->start) {
		if (modules->pieces.count == PIECES_MAX)
			return;
		vec_add_zeroed(&modules->pieces, 1);
		rows = modules->pieces.items;
		memmove(rows + at + 1, rows + at, (modules->pieces.count - 1 - at) * sizeof(*rows));
	}
	modules->pieces.items[at] = *piece;
}

/* Finds a piece that was read before and is unchanged. */
static bool find_known(const struct memory *m, struct wasm_modules *modules, uint64_t addr,
		       struct wasm_piece *piece)
{
	size_t at = vec_count_front(&modules->pieces, it, it->start <= addr);
	struct wasm_piece now;

	if (!at || !contains(&modules->pieces.items[at - 1], addr))
		return false;
	*piece = modules->pieces.items[at - 1];
	if (read_piece(m, &modules->numbers, piece->module, piece->object, &now) &&
	    now.start == piece->start && now.size == piece->size && now.function == piece->function)
		return true;
	/* A new object may have the address of an old one. */
	vec_for_each(&modules->rows, struct wasm_module *, module)
		module->vector_count = 0;
	return false;
}

/* Reads the code that V8 has not entered into the module's map yet: a vector. */
static bool read_new(const struct memory *m, struct wasm_modules *modules,
		     struct wasm_module *module, uint64_t at, uint64_t addr,
		     struct wasm_piece *piece)
{
	uint64_t ends[2], last, object;
	size_t count;

	if (!read_words(m, at, ends, 2) || ends[1] < ends[0])
		return false;
	count = (ends[1] - ends[0]) / 8;
	/* V8 empties it at times. */
	if (module->vector != ends[0] || module->vector_count > count || !module->vector_count ||
	    !read_words(m, ends[0] + module->vector_count * 8 - 8, &last, 1) ||
	    last != module->vector_last)
		module->vector_count = 0;
	module->vector = ends[0];
	for (size_t i = 0; i < NEW_MAX && module->vector_count < count; i++) {
		struct wasm_piece row;

		if (!read_words(m, ends[0] + module->vector_count * 8, &object, 1) ||
		    !read_piece(m, &module->numbers, module->object, object, &row))
			return false;
		module->vector_last = object;
		module->vector_count++;
		add_piece(modules, &row);
		if (contains(&row, addr)) {
			*piece = row;
			return true;
		}
	}
	return false;
}

static bool find_in_module(const struct memory *m, struct wasm_modules *modules,
			   struct wasm_module *module, uint64_t addr, struct wasm_piece *piece)
{
	uint64_t node[NODE_WORDS];
	struct tree codes;

	if (!read_tree(m, module->codes, &codes))
		return false;
	if (!find_node(m, &codes, addr, node) ||
	    !read_piece(m, &module->numbers, module->object, node[NODE_VALUE], piece) ||
	    !contains(piece, addr))
		return read_new(m, modules, module, module->codes + codes.words * 8, addr, piece);
	add_piece(modules, piece);
	return true;
}

/*
 * Finds code that calls imported functions. From V8 13 on it belongs to no module; its map lies
 * after that of the spaces.
 */
static bool find_wrapper(const struct memory *m, const struct wasm_modules *modules, uint64_t addr,
			 struct wasm_piece *piece)
{
	uint64_t words[WRAPPERS_WORDS + TREE_WORDS], node[NODE_WORDS];
	struct tree tree;

	if (!read_words(m, modules->spaces, words, WRAPPERS_WORDS + TREE_WORDS))
		return false;
	for (size_t i = TREE_WORDS; i < WRAPPERS_WORDS; i++) {
		if (find_tree(m, modules->spaces + i * 8, words + i, &tree) &&
		    find_node(m, &tree, addr, node) &&
		    read_piece(m, &modules->numbers, 0, node[NODE_VALUE], piece) &&
		    contains(piece, addr))
			return true;
	}
	return false;
}

/* Returns a function's name in the module's file. */
static const void *find_name(const struct wasm_module *module, uint32_t function, size_t *size)
{
	const struct wasm_name *rows = module->rows.items;
	size_t low = 0, high = module->rows.count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (rows[middle].function == function) {
			struct bytes b;

			bytes_init(&b, module->names + rows[middle].place,
				   module->names_size - rows[middle].place);
			*size = bytes_uleb(&b);
			return bytes_take(&b, *size);
		}
		if (rows[middle].function < function)
			low = middle + 1;
		else
			high = middle;
	}
	return NULL;
}

/* Names it as V8's own profiler does. `module`: NULL for code of all modules. */
static void add_name(const struct wasm_module *module, const struct wasm_piece *piece,
		     struct strbuf *name)
{
	const char *text;
	size_t size;

	strbuf_adds(name, "Wasm:");
	if (!module || piece->function == NO_INDEX || piece->function < module->imports) {
		strbuf_adds(name, module && piece->is_table ? "jump table" : "wasm-to-js");
		return;
	}
	text = find_name(module, piece->function, &size);
	if (text && size)
		managed_text_add(name, text, MIN(size, NAME_MAX_SIZE));
	else
		strbuf_addf(name, "wasm-function[%" PRIu32 "]", piece->function);
	strbuf_addf(name, " wasm://wasm/%s", strbuf_text(&module->file));
}

static bool find_spaces(struct wasm_modules *modules, uint64_t object, uint64_t addr,
			runtime_read_fn *read, void *ctx)
{
	const struct memory m = {read, ctx};
	uint64_t words[SPACES_WORDS + TREE_WORDS];
	struct wasm_module module;
	struct space space;
	struct tree tree;

	if (!read_words(&m, object, words, SPACES_WORDS + TREE_WORDS))
		return false;
	for (size_t i = 0; i < SPACES_WORDS; i++) {
		if (!find_tree(&m, object + i * 8, words + i, &tree) ||
		    !find_space(&m, &tree, addr, &space) || !read_module(&m, space.module, &module))
			continue;
		modules->spaces = object + i * 8;
		modules->numbers = module.numbers;
		return true;
	}
	return false;
}

static bool find_piece(const struct memory *m, struct wasm_modules *modules, uint64_t addr,
		       struct wasm_piece *piece)
{
	struct wasm_module *module;
	struct space space;
	struct tree tree;

	if (find_known(m, modules, addr, piece))
		return true;
	if (!read_tree(m, modules->spaces, &tree))
		return false;
	if (!find_space(m, &tree, addr, &space))
		return find_wrapper(m, modules, addr, piece);
	module = find_module(m, modules, space.module);
	return module && find_in_module(m, modules, module, addr, piece);
}

static bool find_code(struct wasm_modules *modules, uint64_t addr, runtime_read_fn *read, void *ctx,
		      struct sampled_code *code)
{
	const struct memory m = {read, ctx};
	const struct wasm_module *module = NULL;
	struct wasm_piece piece;

	if (!find_piece(&m, modules, addr, &piece))
		return false;
	vec_for_each(&modules->rows, const struct wasm_module *, row) {
		if (row->object == piece.module)
			module = row;
	}
	add_name(module, &piece, &code->name);
	code->start = piece.start;
	code->size = piece.size;
	code->hash = hash_bytes(code->name.text, code->name.size, 0);
	code->is_named = true;
	return true;
}

/* A module's object begins with its memory for code: free ranges, freed ranges, and sizes. */
static uint64_t generation(const struct wasm_modules *modules, runtime_read_fn *read, void *ctx)
{
	const struct memory m = {read, ctx};
	uint64_t words[ALLOCATOR_WORDS], sum = 1;

	vec_for_each(&modules->rows, const struct wasm_module *, module) {
		if (read_words(&m, module->object, words, ALLOCATOR_WORDS))
			sum = hash_bytes(words, sizeof(words), sum);
	}
	return sum;
}

const struct wasm_engine v8_wasm_engine = {find_spaces, find_code, generation};
