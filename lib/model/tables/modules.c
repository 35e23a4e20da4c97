/* SPDX-License-Identifier: MIT */
#include "lib/model/tables/modules.h"

#include "lib/model/languages/language.h"

static const char *const texts[SYMBOL_REASON_COUNT] = {
	[SYMBOLS_UNASKED] = "symbols were not searched",
	[SYMBOLS_FOUND] = "debug information found",
	[SYMBOLS_STRIPPED] = "stripped, without a build id or link that leads to a debug file",
	[SYMBOLS_NO_LINES] = "functions only: built without debug information",
	[SYMBOLS_NO_DEBUG_FILE] = "no debug file for build id",
	[SYMBOLS_BUILD_ID_MISMATCH] = "the debug file is from a different build",
	[SYMBOLS_CRC_MISMATCH] = "the linked debug file has a different checksum",
	[SYMBOLS_NO_SHARED_PART] = "the file with shared debug information is missing",
	[SYMBOLS_NO_SPLIT_UNITS] = "the .dwo or .dwp files are missing",
	[SYMBOLS_UNREADABLE] = "the file could not be read",
	[SYMBOLS_NOT_THEIRS] = "the users who ran the program may not read the debug file",
	[SYMBOLS_DELETED] = "the file was deleted before it could be opened",
	[SYMBOLS_NOT_HERE] = "the file is not on this machine",
	[SYMBOLS_OTHER_BUILD] = "the file on this machine is from a different build",
	[SYMBOLS_NO_BUILD_ID] = "no build id to identify the file by",
	[SYMBOLS_TOO_LARGE] = "the debug information is too large",
	[SYMBOLS_DAMAGED] = "the debug information is damaged",
	[SYMBOLS_DOWNLOAD_FAILED] = "the debug file could not be downloaded",
	[SYMBOLS_DOWNLOAD_TIMEOUT] = "downloading the debug file took too long",
	[SYMBOLS_NO_CODE_MAP] = "code made at run time, without a map",
	[SYMBOLS_KERNEL_HIDDEN] = "the kernel hides symbol addresses",
	[SYMBOLS_KERNEL_NO_DEBUG_FILE] = "functions only: no debug file for build id",
	[SYMBOLS_SILENT] = "the file system did not answer",
	[SYMBOLS_NEWER_DWARF] = "the debug information is DWARF 6 or newer, which cannot be read",
};

const char *symbol_reason_text(enum symbol_reason reason)
{
	return texts[reason];
}

bool symbol_reason_is_of_search(enum symbol_reason reason)
{
	return reason == SYMBOLS_NOT_HERE || reason == SYMBOLS_OTHER_BUILD ||
	       reason == SYMBOLS_NO_BUILD_ID;
}

static void add_build_id(const struct module *m, struct strbuf *text)
{
	char id[MODULE_BUILD_ID_TEXT];

	module_build_id_text(m, id);
	strbuf_addf(text, " %s", id);
}

void module_describe_reason(const struct module *m, struct strbuf *text)
{
	if (m->reason == SYMBOLS_FOUND)
		return;
	strbuf_adds(text, symbol_reason_text(m->reason));
	if (m->reason == SYMBOLS_NO_DEBUG_FILE || m->reason == SYMBOLS_KERNEL_NO_DEBUG_FILE)
		add_build_id(m, text);
}

void modules_release(struct modules *m)
{
	vec_for_each(&m->rows, struct module *, module) {
		vec_release(&module->segments);
		vec_release(&module->sections);
		vec_for_each(&module->symbols, struct module_symbol *, symbol)
			free(symbol->name);
		vec_release(&module->symbols);
		readers_release(&module->users);
	}
	vec_release(&m->rows);
}

module_id modules_add(struct modules *m, enum profile_module_kind kind, string_id path,
		      string_id name)
{
	struct module module = {
		.kind = kind,
		.file_key = UINT32_MAX,
		.path = path,
		.name = name,
		.debug_file = NO_STRING,
	};

	vec_push(&m->rows, module);
	return (module_id)(m->rows.count - 1);
}

module_id modules_copy(struct modules *m, const struct module *from, string_id path, string_id name)
{
	module_id id = modules_add(m, from->kind, path, name);
	struct module *into = modules_get(m, id);

	memcpy(into->build_id, from->build_id, sizeof(into->build_id));
	into->build_id_size = from->build_id_size;
	into->contents = from->contents;
	into->machine = from->machine;
	into->was_deleted = from->was_deleted;
	into->base = from->base;
	into->pid = from->pid;
	into->reason = from->reason;
	vec_for_each(&from->segments, const struct module_segment *, segment)
		vec_push(&into->segments, *segment);
	vec_for_each(&from->sections, const struct module_section *, section)
		vec_push(&into->sections, *section);
	return id;
}

struct module *modules_get(struct modules *m, module_id id)
{
	return &m->rows.items[id];
}

bool module_is_kernel(const struct module *m)
{
	return m->kind == PROFILE_MODULE_KERNEL || m->kind == PROFILE_MODULE_KERNEL_MODULE ||
	       m->kind == PROFILE_MODULE_KERNEL_DYNAMIC;
}

bool module_name_is_c_library(const char *name)
{
	/* Covers names of older glibc releases: "libm-2.31.so". */
	static const char *const prefixes[] = {
		"libc.so", "libc-2.",  "libc.musl-", "ld-linux", "ld-musl-",	  "ld-2.",
		"ld.so",   "libm.so",  "libm-2.",    "libmvec.", "libmvec-2.",	  "libpthread.so",
		"librt.",  "librt-2.", "libdl.so",   "libdl-2.", "libpthread-2.", "libresolv.so",
	};

	return array_find(prefixes, it, text_starts_with(name, *it));
}

void module_build_id_text(const struct module *m, char text[MODULE_BUILD_ID_TEXT])
{
	*text = '\0';
	for (size_t i = 0; i < m->build_id_size && i < sizeof(m->build_id); i++)
		snprintf(text + 2 * i, 3, "%02x", m->build_id[i]);
}

bool module_path_is_dump(const char *path)
{
	return language_dump_is_path(path);
}

/* Returns the number of symbols that begin at or before the offset. */
static size_t count_symbols_until(const struct module *m, uint64_t offset)
{
	return vec_count_front(&m->symbols, it, it->offset <= offset);
}

void module_add_symbol(struct module *m, uint64_t offset, uint64_t size, const char *name,
		       size_t name_size)
{
	size_t at = count_symbols_until(m, offset), behind = m->symbols.count - at;
	struct module_symbol symbol = {
		.offset = offset, .size = size, .name = xstrndup(name, name_size)};

	vec_push(&m->symbols, symbol);
	memmove(&m->symbols.items[at + 1], &m->symbols.items[at], behind * sizeof(symbol));
	m->symbols.items[at] = symbol;
}

const struct module_symbol *module_find_symbol(const struct module *m, uint64_t offset)
{
	size_t at = count_symbols_until(m, offset);
	const struct module_symbol *symbol = at ? &m->symbols.items[at - 1] : NULL;

	return symbol && offset - symbol->offset < symbol->size ? symbol : NULL;
}

bool module_offset_to_rva(const struct module *m, uint64_t offset, uint64_t *rva)
{
	const struct module_segment *found = NULL;

	if (!m->segments.count) {
		*rva = offset;
		return true;
	}
	/* If two segments share a page, the executable one decides whether it is code. */
	vec_for_each(&m->segments, const struct module_segment *, segment) {
		if (offset < segment->file_offset ||
		    offset - segment->file_offset >= segment->file_size)
			continue;
		if (!found || (segment->executable && !found->executable))
			found = segment;
	}
	if (!found)
		return false;
	*rva = offset - found->file_offset + found->vaddr - m->segments.items[0].vaddr;
	return true;
}

uint64_t modules_address(const struct modules *m, module_id id, uint64_t offset)
{
	uint64_t address = offset;

	if (id != NO_MODULE)
		module_offset_to_rva(&m->rows.items[id], offset, &address);
	return address;
}

uint64_t module_bytes_from(const struct module *m, uint64_t rva)
{
	uint64_t most = 0;

	vec_for_each(&m->segments, const struct module_segment *, segment) {
		uint64_t at = rva - (segment->vaddr - m->segments.items[0].vaddr);

		if (at < segment->file_size && segment->file_size - at > most)
			most = segment->file_size - at;
	}
	return most && most < MODULE_CODE_MAX ? most : MODULE_CODE_MAX;
}
