/* SPDX-License-Identifier: MIT */
#include <dwarf.h>
#include <limits.h>

#include "symbolize/demangle.h"
#include "symbolize/dwarf/debug_info.h"

/* Finds the inlined calls of a function at an address and describes their whole chain. */

#define NO_CALL UINT32_MAX
/* Missing in some versions of dwarf.h. */
#define DISCRIMINATOR_OF_CALL 0x2136 /* DW_AT_GNU_discriminator */

/* False for functions and types inside this one, which have code and calls of their own. */
static bool is_part_of_function(int tag)
{
	return tag == DW_TAG_inlined_subroutine || tag == DW_TAG_lexical_block ||
	       tag == DW_TAG_try_block || tag == DW_TAG_catch_block || tag == DW_TAG_with_stmt ||
	       tag == DW_TAG_common_block;
}

static struct inline_tree *inline_tree_new(struct debug_info *info, const struct unit *unit,
					   const struct function *function)
{
	struct inline_tree *t = xcalloc(1, sizeof(*t));
	uint32_t callers[MAX_DIE_DEPTH + 1] = {NO_CALL}; /* enclosing call by depth */
	struct intervals intervals = {0};
	struct die_walk walk;
	struct die_entry e;

	if (!unit_walk_open(info, unit, &walk))
		return t;
	die_walk_enter(&walk, function->at);
	while (die_walk_next(&walk, &e)) {
		uint32_t inner;

		if (!is_part_of_function((int)e.tag) || e.depth >= MAX_DIE_DEPTH) {
			die_walk_skip(&walk, &e);
			continue;
		}
		inner = callers[e.depth];
		if (e.tag == DW_TAG_inlined_subroutine) {
			inner = (uint32_t)t->calls.count;
			vec_push(&t->calls, (struct inlined_call){e.at, callers[e.depth]});
			entry_add_ranges(unit, &e, inner, e.depth, &intervals, &info->budget);
		}
		callers[e.depth + 1] = inner;
	}
	segments_build(&t->segments, &intervals);
	vec_release(&intervals.rows);
	return t;
}

void inline_tree_free(struct inline_tree *t)
{
	if (!t)
		return;
	vec_release(&t->calls);
	segments_release(&t->segments);
	free(t);
}

static size_t inline_tree_bytes(const struct inline_tree *t)
{
	return sizeof(*t) + t->calls.capacity * sizeof(struct inlined_call) +
	       t->segments.rows.capacity * sizeof(struct segment);
}

static uint64_t attribute_number(Dwarf_Die *die, unsigned int name)
{
	Dwarf_Attribute attribute;
	Dwarf_Word value;

	if (!dwarf_attr(die, name, &attribute) || dwarf_formudata(&attribute, &value) != 0)
		return 0;
	return value;
}

/*
 * Describes file and line. Without a row in the line table, the file that declares the function is
 * the best guess.
 */
static void describe_place(struct debug_info *info, struct unit *unit, Dwarf_Die *function,
			   uint64_t addr, struct location *at)
{
	const struct line_row *row = line_table_find(&unit->detail->lines, addr);

	if (row) {
		at->file = unit_file(info, unit, row->file);
		at->line = row->line;
		at->discriminator = line_table_discriminator(&unit->detail->lines, row);
	} else if (function) {
		at->file = unit_file(info, unit, attribute_number(function, DW_AT_decl_file));
	}
}

static void describe_call(struct debug_info *info, struct unit *unit, Dwarf_Die *call,
			  struct location *at)
{
	uint64_t line = attribute_number(call, DW_AT_call_line);

	at->file = unit_file(info, unit, attribute_number(call, DW_AT_call_file));
	at->line = line <= UINT32_MAX ? (uint32_t)line : 0;
	if (info->wants_discriminators)
		at->discriminator = (uint32_t)attribute_number(call, DISCRIMINATOR_OF_CALL);
}

static void describe_function(struct debug_info *info, Dwarf_Die *die, struct location *at)
{
	at->func = die_function_name(info, die);
	at->start_line = die_start_line(info, *die);
}

/*
 * Each level except the innermost is at its call of the next; the callee's entry contains file and
 * line of that call. The file is always that of the line; for included code it differs from the one
 * that declares the function.
 */
void describe_address(struct debug_info *info, struct unit *unit, struct function *function,
		      uint64_t addr, struct answer *answer)
{
	const struct inline_tree *tree;
	uint32_t call = NO_CALL;
	size_t depth = 1;
	Dwarf_Die die;

	if (function && !function->inlines) {
		function->inlines = inline_tree_new(info, unit, function);
		info->detail_bytes += inline_tree_bytes(function->inlines);
	}
	tree = function ? function->inlines : NULL;
	if (tree)
		call = segments_find(&tree->segments, addr);
	for (uint32_t at = call; at != NO_CALL; at = tree->calls.items[at].parent)
		depth++;
	answer->depth = depth;
	answer->chain = arena_alloc(&info->arena, depth * sizeof(*answer->chain));
	memset(answer->chain, 0, depth * sizeof(*answer->chain));
	if (function)
		die = unit_die_at(unit, function->at);
	describe_place(info, unit, function ? &die : NULL, addr, &answer->chain[depth - 1]);
	if (function)
		describe_function(info, &die, &answer->chain[0]);
	answer->has_source_name = function && unit->detail->is_ada;
	for (size_t level = depth - 1; level > 0; level--) {
		die = unit_die_at(unit, tree->calls.items[call].at);
		describe_function(info, &die, &answer->chain[level]);
		describe_call(info, unit, &die, &answer->chain[level - 1]);
		call = tree->calls.items[call].parent;
	}
}

/* Source files of a unit as whole paths; caches of paths and names. */

static bool equal_place(const void *table, uint32_t id, const void *key)
{
	const struct caches *caches = table;

	return caches->rows.items[id].place == key;
}

/* Returns NULL if nothing is cached for this place. */
static const struct cached *caches_find(const struct caches *caches, const void *place)
{
	uint64_t hash = hash_u64((uintptr_t)place);
	uint32_t row = index_find(&caches->index, hash, equal_place, caches, place);

	return row == INDEX_NONE ? NULL : &caches->rows.items[row];
}

void caches_add(struct caches *caches, const void *place, const void *value)
{
	index_add(&caches->index, hash_u64((uintptr_t)place), (uint32_t)caches->rows.count);
	vec_push(&caches->rows, (struct cached){place, value});
}

void caches_release(struct caches *caches)
{
	vec_release(&caches->rows);
	index_release(&caches->index);
}

void path_set_release(struct path_set *set)
{
	vec_release(&set->rows);
	index_release(&set->index);
}

static bool equal_path(const void *table, uint32_t id, const void *key)
{
	const struct path_set *set = table;

	return strcmp(set->rows.items[id], key) == 0;
}

static const char *intern_path(struct debug_info *info, const char *path)
{
	struct path_set *set = &info->paths;
	size_t size = strlen(path);
	uint64_t hash = hash_bytes(path, size, 0);
	uint32_t row = index_find(&set->index, hash, equal_path, set, path);

	if (row != INDEX_NONE)
		return set->rows.items[row];
	index_add(&set->index, hash, (uint32_t)set->rows.count);
	vec_push(&set->rows, arena_strndup(&info->arena, path, size));
	return vec_last(&set->rows);
}

/* Prefixes a relative path with its directory. */
static void put_in_front(struct strbuf *path, const char *dir)
{
	_cleanup_(strbuf_release) struct strbuf joined = {0};

	if (!dir || !*dir || strbuf_text(path)[0] == '/' || strnlen(dir, PATH_MAX) == PATH_MAX)
		return;
	strbuf_adds(&joined, dir);
	strbuf_addch(&joined, '/');
	strbuf_add(&joined, path->text, path->size);
	strbuf_reset(path);
	strbuf_add(path, joined.text, joined.size);
}

static void put_absolute_in_front(struct strbuf *path, const char *dir)
{
	if (dir && *dir == '/')
		put_in_front(path, dir);
}

/*
 * Directories are relative to the unit's own, which DWARF 5 repeats as number 0. If the build hid
 * that one, a relative path without it is more useful.
 */
static void build_path(struct debug_info *info, struct unit *unit, const struct line_file *file,
		       struct strbuf *path)
{
	const struct line_table *lines = &unit->detail->lines;

	strbuf_adds(path, file->name);
	if (file->dir < lines->dirs.count)
		put_in_front(path, lines->dirs.items[file->dir]);
	if (lines->dirs.count)
		put_absolute_in_front(path, lines->dirs.items[0]);
	put_absolute_in_front(path, attribute_text(info, &unit->die, DW_AT_comp_dir));
}

const char *unit_file(struct debug_info *info, struct unit *unit, uint64_t number)
{
	struct line_table *lines = &unit->detail->lines;
	struct strbuf path = {0};
	struct line_file *file;

	if (number >= lines->files.count)
		return NULL;
	file = &lines->files.items[number];
	if (file->path || !file->name || strnlen(file->name, PATH_MAX) == PATH_MAX)
		return file->path;
	build_path(info, unit, file, &path);
	file->path = intern_path(info, path.text);
	strbuf_release(&path);
	return file->path;
}

/* Names of functions in DWARF. */

/*
 * Maximum number of references: an inlined call refers to an abstract function, which refers to a
 * declaration, which ends the chain.
 */
#define MAX_REFERENCES 8
#define MAX_TEXT 65536
/* Maximum length of a name: by nesting, a small file could produce many long names. */
#define MAX_BUILT_NAME 2048

static const struct debug_view *view_of(const struct debug_info *info, Dwarf_CU *cu)
{
	Dwarf *dwarf = dwarf_cu_getdwarf(cu);
	const struct cached *known;

	if (dwarf == info->dwarf)
		return &info->sections->view;
	known = caches_find(&info->views, dwarf);
	return known ? known->value : NULL;
}

static bool is_within(const struct debug_view *view, const char *text, bool *is_sane)
{
	for (int kind = 0; view && kind < DEBUG_SECTION_COUNT; kind++) {
		const struct debug_section *s = &view->at[kind];
		uintptr_t at = (uintptr_t)text - (uintptr_t)s->data;

		if (at >= s->size)
			continue;
		*is_sane = memchr(text, '\0', MIN(s->size - at, MAX_TEXT));
		return true;
	}
	return false;
}

/*
 * libdw returns the last string of a section even if it is not terminated. Strings longer than any
 * compiler's would cost their length for each entry that refers to them.
 */
static bool is_sane_text(const struct debug_info *info, Dwarf_CU *cu, const char *text)
{
	bool is_sane = false;

	return (is_within(view_of(info, cu), text, &is_sane) ||
		(info->shared && is_within(&info->shared->view, text, &is_sane))) &&
	       is_sane;
}

const char *attribute_text(struct debug_info *info, Dwarf_Die *die, unsigned int name)
{
	Dwarf_Attribute attribute;
	const char *text = dwarf_attr(die, name, &attribute) ? dwarf_formstring(&attribute) : NULL;

	/* An empty name counts as missing. */
	return text && is_sane_text(info, die->cu, text) && text[0] ? text : NULL;
}

/* True if the target of the reference is unpacked. Only the module's own file may be packed. */
static bool is_there(struct debug_info *info, Dwarf_Attribute *attribute)
{
	switch (dwarf_whatform(attribute)) {
	case DW_FORM_ref1:
	case DW_FORM_ref2:
	case DW_FORM_ref4:
	case DW_FORM_ref8:
	case DW_FORM_ref_udata: /* in the same unit */
	case DW_FORM_GNU_ref_alt:
	case DW_FORM_ref_sup4:
	case DW_FORM_ref_sup8: /* in the shared part */
		return true;
	default:
		return dwarf_cu_getdwarf(attribute->cu) != info->dwarf || units_need_all(info);
	}
}

static bool follow(struct debug_info *info, Dwarf_Die *die, unsigned int name)
{
	Dwarf_Attribute attribute;
	Dwarf_Die target;

	if (!dwarf_attr(die, name, &attribute) || !is_there(info, &attribute) ||
	    !dwarf_formref_die(&attribute, &target))
		return false;
	*die = target;
	return true;
}

static bool follow_any(struct debug_info *info, Dwarf_Die *die)
{
	return follow(info, die, DW_AT_abstract_origin) || follow(info, die, DW_AT_specification);
}

static const char *linkage_name(struct debug_info *info, Dwarf_Die *die)
{
	return attribute_text(info, die, DW_AT_linkage_name)
		       ?: attribute_text(info, die, DW_AT_MIPS_linkage_name);
}

/* Takes the name from the declaration itself: libdw's search could open other files. */
static const char *plain_name(struct debug_info *info, Dwarf_Die die)
{
	for (int i = 0; i < MAX_REFERENCES; i++) {
		const char *name = attribute_text(info, &die, DW_AT_name);

		if (name || !follow_any(info, &die))
			return name;
	}
	return NULL;
}

uint64_t unit_language(Dwarf_Die *unit)
{
	return attribute_number(unit, DW_AT_language);
}

bool language_is_ada(uint64_t language)
{
	enum { ADA_2005 = 0x2e, ADA_2012 = 0x2f }; /* newer than some libdw */

	return language == DW_LANG_Ada83 || language == DW_LANG_Ada95 || language == ADA_2005 ||
	       language == ADA_2012;
}

static bool language_has_scopes(Dwarf_Die *unit)
{
	switch (unit_language(unit)) {
	case 0: /* not given */
	case DW_LANG_Haskell:
	case DW_LANG_C89:
	case DW_LANG_C:
	case DW_LANG_C99:
	case DW_LANG_C11:
	case DW_LANG_ObjC:
	case DW_LANG_Go: /* names are complete */
	case DW_LANG_Mips_Assembler:
		return false;
	default:
		return true;
	}
}

static const char *type_name(struct debug_info *info, Dwarf_Die *type, const char *member)
{
	const char *name = attribute_text(info, type, DW_AT_name);

	return !name && text_starts_with(member, "operator()") ? "{lambda}" : name;
}

static void add_scope(struct debug_info *info, struct strbuf *name, Dwarf_Die *scope,
		      const char *member)
{
	const char *text = NULL;

	switch (dwarf_tag(scope)) {
	case DW_TAG_namespace:
		text = attribute_text(info, scope, DW_AT_name) ?: "(anonymous namespace)";
		break;
	case DW_TAG_class_type:
	case DW_TAG_structure_type:
	case DW_TAG_union_type:
	case DW_TAG_interface_type:
	case DW_TAG_enumeration_type:
		text = type_name(info, scope, member);
		break;
	case DW_TAG_module:
	case DW_TAG_subprogram:
		text = plain_name(info, *scope);
		break;
	default:
		break;
	}
	if (text) {
		strbuf_adds(name, text);
		strbuf_adds(name, "::");
	}
}

/*
 * Adds the scopes of an entry. Entries do not link to their parents; as a walk is in depth-first
 * order, the entries open when it reaches one are its scopes.
 */
static void add_scopes(struct debug_info *info, Dwarf_Die unit, const Dwarf_Die *die,
		       const char *member, struct strbuf *name)
{
	const uint8_t *path[MAX_DIE_DEPTH], *target = die->addr;
	const struct debug_view *view = view_of(info, unit.cu);
	struct die_entry e = {.at = NULL};
	Dwarf_Die scope = unit;
	struct die_walk walk;

	if (!view ||
	    !die_walk_open(&walk, &info->abbrevs, view,
			   (const uint8_t *)unit.addr - dwarf_cuoffset(&unit), &info->budget))
		return;
	die_walk_enter(&walk, unit.addr);
	while (die_walk_next(&walk, &e) && e.at < target) {
		if (e.depth >= MAX_DIE_DEPTH || (e.sibling && e.sibling <= target))
			die_walk_skip(&walk, &e);
		else
			path[e.depth] = e.at;
	}
	for (unsigned int i = 0; e.at == target && i < e.depth && name->size < MAX_BUILT_NAME;
	     i++) {
		scope.addr = (void *)(uintptr_t)path[i];
		scope.abbrev = NULL;
		add_scope(info, name, &scope, member);
	}
}

static const char *build_name(struct debug_info *info, Dwarf_Die *die)
{
	const char *plain = plain_name(info, *die);
	struct strbuf name = {0};
	const char *built;
	Dwarf_Die unit;

	if (!plain || !dwarf_diecu(die, &unit, NULL, NULL) || !language_has_scopes(&unit))
		return plain;
	/* Take the scopes of the declaration; the definition may be outside of them. */
	while (follow(info, die, DW_AT_specification) && step_budget_take(&info->budget, 1)) {
		if (!dwarf_diecu(die, &unit, NULL, NULL))
			return plain;
	}
	add_scopes(info, unit, die, plain, &name);
	if (!name.size || name.size > MAX_BUILT_NAME) {
		strbuf_release(&name);
		return plain;
	}
	strbuf_adds(&name, plain);
	built = arena_strndup(&info->arena, name.text, name.size);
	strbuf_release(&name);
	return built;
}

static const char *ada_name(struct debug_info *info, const char *text)
{
	_cleanup_(strbuf_release) struct strbuf name = {0};

	demangle_ada(text, &name);
	return arena_strndup(&info->arena, strbuf_text(&name), name.size);
}

/*
 * Returns the name that a function has in the source if its symbol is less informative; NULL
 * otherwise.
 */
static const char *source_name(struct debug_info *info, Dwarf_Die *die)
{
	const char *name = attribute_text(info, die, DW_AT_name);
	uint64_t language;
	Dwarf_Die unit;

	if (!name || !dwarf_diecu(die, &unit, NULL, NULL))
		return NULL;
	language = unit_language(&unit);
	if (language == DW_LANG_Haskell)
		return name;
	return language_is_ada(language) && strlen(name) < MAX_BUILT_NAME ? ada_name(info, name)
									  : NULL;
}

static const char *find_name(struct debug_info *info, Dwarf_Die *die)
{
	for (int i = 0; i < MAX_REFERENCES; i++) {
		Dwarf_Die next = *die;
		const char *name = source_name(info, die);

		if (!name)
			name = linkage_name(info, die);
		if (name)
			return name;
		if (!follow_any(info, &next))
			return build_name(info, die);
		*die = next;
	}
	return NULL;
}

uint32_t die_start_line(struct debug_info *info, Dwarf_Die die)
{
	for (int i = 0; i < MAX_REFERENCES; i++) {
		uint64_t line = attribute_number(&die, DW_AT_decl_line);

		if (line)
			return line <= UINT32_MAX ? (uint32_t)line : 0;
		if (!follow_any(info, &die))
			break;
	}
	return 0;
}

const char *die_function_name(struct debug_info *info, Dwarf_Die *die)
{
	Dwarf_Die origin = *die;
	const struct cached *known;
	const void *place;
	const char *name;

	/* Many calls of one function have the same origin: find its name once. */
	follow(info, &origin, DW_AT_abstract_origin);
	place = origin.addr;
	known = caches_find(&info->names, place);
	if (known)
		return known->value;
	name = find_name(info, &origin);
	caches_add(&info->names, place, name);
	return name;
}
