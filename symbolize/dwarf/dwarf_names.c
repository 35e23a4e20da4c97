/* SPDX-License-Identifier: MIT */
/* Names of functions in DWARF. */
#include <dwarf.h>
#include <string.h>
#include <sys/param.h>

#include "lib/base/strbuf.h"
#include "lib/base/text.h"
#include "symbolize/dwarf/debug_info.h"

/*
 * An inlined call refers to an abstract function, which refers to a declaration, which ends the
 * chain.
 */
#define MAX_REFERENCES 8
#define MAX_TEXT 65536
/* Longer names are nonsense, and nesting could make many of them from a small file. */
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
 * libdw hands out the last string of a section even if it is not terminated. Strings longer than
 * any compiler makes would cost their length for each entry that has them.
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

	/* An empty name counts as none. */
	return text && is_sane_text(info, die->cu, text) && text[0] ? text : NULL;
}

/*
 * True if the target of the reference is there. Only the module's own file may not be unpacked yet.
 */
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
	const char *name = attribute_text(info, die, DW_AT_linkage_name);

	return name ? name : attribute_text(info, die, DW_AT_MIPS_linkage_name);
}

/* Takes the name from the declaration itself, as libdw's search could open other files. */
static const char *plain_name(struct debug_info *info, Dwarf_Die die)
{
	for (int i = 0; i < MAX_REFERENCES; i++) {
		const char *name = attribute_text(info, &die, DW_AT_name);

		if (name || !follow_any(info, &die))
			return name;
	}
	return NULL;
}

static bool language_has_scopes(Dwarf_Die *unit)
{
	Dwarf_Attribute attribute;
	Dwarf_Word language;

	if (!dwarf_attr(unit, DW_AT_language, &attribute) ||
	    dwarf_formudata(&attribute, &language) != 0)
		return false;
	switch (language) {
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
		text = attribute_text(info, scope, DW_AT_name);
		if (!text)
			text = "(anonymous namespace)";
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
 * Entries do not know their parents. They are in depth-first order, so the entries open when the
 * walk reaches one are its scopes.
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

static const char *find_name(struct debug_info *info, Dwarf_Die *die)
{
	for (int i = 0; i < MAX_REFERENCES; i++) {
		Dwarf_Die next = *die;
		const char *name = linkage_name(info, die);

		if (name)
			return name;
		if (!follow_any(info, &next))
			return build_name(info, die);
		*die = next;
	}
	return NULL;
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
