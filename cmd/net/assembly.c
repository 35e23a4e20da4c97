/* SPDX-License-Identifier: MIT */
/* POST asm/v1: the instructions of a function. */
#include "lib/recording/workplace/function_code.h"
#include "cmd/net/api_internal.h"
#include "symbolize/disassemble.h"
#include "symbolize/kernel/patched_code.h"

/* Maximum number of named targets in a function. */
#define TARGETS_MAX 4096

static uint64_t address_of(const struct instruction *row)
{
	return row->target != NO_TARGET ? row->target : row->data;
}

/* Appends "<main+0x12>" to instructions with such a target. */
static void name_targets(struct viewed_profile *v, module_id module, struct disassembly *d,
			 uint64_t start, const struct patched_code *patched)
{
	struct {
		VEC(uint64_t) list;
	} targets = {0};
	struct viewed_place *places;
	size_t next = 0;

	vec_for_each(&d->rows, const struct instruction *, row) {
		if (address_of(row) != NO_TARGET && targets.list.count < TARGETS_MAX)
			vec_push(&targets.list, address_of(row));
	}
	places = xcalloc(targets.list.count + 1, sizeof(*places));
	if (targets.list.count)
		viewed_profile_name(v, module, targets.list.items, targets.list.count, places);
	vec_for_each(&d->rows, struct instruction *, row) {
		const struct viewed_place *place = &places[next];
		bool has_place = address_of(row) != NO_TARGET && next < targets.list.count;
		const char *name = NULL;
		char *text;

		if (has_place && place->levels.count && place->has_start)
			name = vec_last(&place->levels).func;
		text = instruction_text(row, name, has_place ? place->start : 0,
					patched_code_find(patched, start + row->offset, row->size,
							  row->target == NO_TARGET ? NULL : name));
		next += has_place;
		free(row->text);
		row->text = text;
	}
	viewed_places_release(places, targets.list.count);
	free(places);
	vec_release(&targets.list);
}

/*
 * Names jumps within generated code. Other targets were in the memory of a process that has ended.
 */
static void name_own_targets(const struct viewed_profile *v, module_id module,
			     struct disassembly *d, uint64_t start,
			     const struct function_code *code)
{
	const struct profile *p = v->profile;
	const char *name = NULL;

	vec_for_each(&p->symbols.rows, const struct symbol *, symbol) {
		if (symbol->module == module && symbol->rva == start)
			name = strings_get(&p->strings, symbol->name);
	}
	vec_for_each(&d->rows, struct instruction *, row) {
		bool is_own = address_of(row) >= code->address &&
			      address_of(row) - code->address < code->size;
		char *text = instruction_text(row, is_own ? name : NULL, code->address, NULL);

		free(row->text);
		row->text = text;
	}
}

/* Front-ends that do not know the size send a lower bound. */
static uint64_t whole_size(struct viewed_profile *v, module_id module, uint64_t start,
			   uint64_t size)
{
	struct viewed_place place = {0};
	uint64_t whole = size;

	viewed_profile_name(v, module, &start, 1, &place);
	if (place.has_start && place.size && place.start <= start &&
	    place.start + place.size - start > size)
		whole = place.start + place.size - start;
	viewed_places_release(&place, 1);
	return whole;
}

static json_t *assembly_value(const struct disassembly *d, uint64_t start, uint64_t size)
{
	json_t *rows = json_array();

	vec_for_each(&d->rows, const struct instruction *, row)
		json_array_append_new(rows, json_pack("[I,o]", (json_int_t)row->offset,
						      api_text(row->text, strlen(row->text))));
	return json_pack("{s:o,s:o,s:s,s:[s],s:o}", "startAddress", api_hex(start), "size",
			 api_hex(size), "arch", d->arch, "syntax", d->syntax, "instructions", rows);
}

/* Locks because naming closes and reopens files, and none may be closed while it is read. */
static int read_code(struct function_code *code, struct patched_code *patched,
		     struct viewed_profile *v, module_id module, const char *name, uint64_t start,
		     uint64_t size, struct error *err)
{
	const struct module row = viewed_profile_code_module(v, module);
	int ret;

	pthread_mutex_lock(&v->lock);
	if (row.file_key != UINT32_MAX)
		file_set_need(v->files, &row.file_key, 1);
	ret = function_code_read(code, &row, name, v->files, start, size, err);
	/* A vmlinux is an ordinary file from here on. */
	if (!ret && text_starts_with(strings_get(&v->profile->strings, row.name), "[kernel"))
		patched_code_read(patched, file_set_find(v->files, row.file_key));
	pthread_mutex_unlock(&v->lock);
	return ret;
}

int api_assembly(const struct api *api, const json_t *request, struct strbuf *out,
		 struct error *err)
{
	struct patched_code patched = {0};
	struct function_code code;
	struct disassembly d;
	struct viewed_profile *v;
	module_id module;
	uint64_t start, size;
	const char *name;
	int ret;

	if (!api_get_hex(request, "startAddress", &start) || !api_get_hex(request, "size", &size))
		return error_text(err, -EINVAL, "\"startAddress\" or \"size\" is missing");
	v = api_find_asked(api, request, &module, err);
	if (!v)
		return -ENOENT;
	name = strings_get(&v->profile->strings, v->profile->modules.rows.items[module].name);
	if (json_is_true(json_object_get(request, "continueUntilFunctionEnd")))
		size = whole_size(v, module, start, size);
	ret = read_code(&code, &patched, v, module, name, start, size, err);
	if (ret)
		return ret;
	ret = disassemble(&d, code.machine, code.bytes, code.size, code.address, err);
	if (!ret) {
		if (v->profile->modules.rows.items[module].kind == PROFILE_MODULE_CODE_DUMP)
			name_own_targets(v, module, &d, start, &code);
		else
			name_targets(v, module, &d, start, &patched);
		ret = api_add_value(out, assembly_value(&d, start, code.size));
		disassembly_release(&d);
	} else if (err->hint[0]) {
		error_text(err, -ENOENT, "%s: %s", err->text, err->hint);
	}
	patched_code_release(&patched);
	free(code.bytes);
	return ret;
}
