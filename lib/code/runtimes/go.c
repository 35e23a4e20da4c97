/* SPDX-License-Identifier: MIT */
#include "lib/code/runtimes/go.h"

#include "lib/base/bytes.h"
#include "lib/code/unwind/go_code.h"
#include "lib/code/unwind/go_file.h"

/* .go.buildinfo since Go 1.18 (src/debug/buildinfo in Go's source): flags, then strings. */
#define BUILD_INFO_FLAGS_AT 15
#define BUILD_INFO_INLINE 2 /* the strings follow, each preceded by its size */
#define BUILD_INFO_TEXT_AT 32
#define BUILD_INFO_SIZE 64

/* The function that every program with labels contains. */
#define SETTER "runtime/pprof.runtime_setProfLabel"

/* Reads "go1.19.8" as 119; 0: unreadable. */
static uint16_t read_version(const struct cfi_file *file)
{
	struct file_range range = file->go_build_info;
	_cleanup_free_ uint8_t *data = NULL;
	unsigned int minor = 0;
	size_t size = 0, at = BUILD_INFO_TEXT_AT + 1, end;

	if (range.size > BUILD_INFO_SIZE)
		range.size = BUILD_INFO_SIZE;
	if (cfi_file_read(file, &range, &data, &size, NULL) != 0 || size <= at ||
	    !(data[BUILD_INFO_FLAGS_AT] & BUILD_INFO_INLINE))
		return 0;
	end = at + data[at - 1];
	if (end > size)
		end = size;
	if (end - at < 5 || memcmp(data + at, "go1.", 4) != 0)
		return 0;
	for (at += 4; at < end && isdigit(data[at]) && minor < 100; at++)
		minor = 10 * minor + data[at] - '0';
	return minor && minor < 100 ? (uint16_t)(100 + minor) : 0;
}

static void read_function(struct go_file *go, const struct go_arch *arch,
			  const struct pclntab_function *function, struct go_layout *layout,
			  struct go_label_places *places)
{
	struct go_code code = {.vaddr = go->text + function->start};
	struct file_range range = cfi_file_find(go->file, code.vaddr);
	_cleanup_free_ uint8_t *data = NULL;

	if (range.size > function->end - function->start)
		range.size = function->end - function->start;
	if (range.size > GO_CODE_MAX)
		range.size = GO_CODE_MAX;
	if (cfi_file_read(go->file, &range, &data, &code.size, NULL) != 0)
		return;
	code.bytes = data;
	if (strcmp(function->name, SETTER) == 0)
		places->labels = arch->label_place(&code);
	else
		arch->read_layout(layout, &code, go);
}

/* Returns false if the program never sets labels. */
static bool read_code(struct go_file *go, const struct go_arch *arch, struct go_layout *layout,
		      struct go_label_places *places)
{
	struct pclntab_function function;
	bool is_labelled = false;

	for (uint32_t i = 0; i < go->table.count; i++) {
		bool is_setter;

		if (!pclntab_function(&go->table, i, &function) ||
		    strncmp(function.name, "runtime", 7) != 0)
			continue;
		is_setter = strcmp(function.name, SETTER) == 0;
		is_labelled |= is_setter;
		if (is_setter || strcmp(function.name, "runtime.systemstack") == 0)
			read_function(go, arch, &function, layout, places);
	}
	return is_labelled;
}

static int find(struct go_label_places *places, const struct cfi_file *file, struct error *err)
{
	struct go_layout layout = {0};
	struct go_file go;
	bool is_labelled;

	if (!file->arch->go || !go_file_find(&go, file))
		return -ENOENT;
	is_labelled = read_code(&go, file->arch->go, &layout, places);
	go_file_release(&go);
	if (!is_labelled)
		return -ENOENT;
	places->version = read_version(file);
	if (!places->version)
		return error_text(err, -ENOTSUP,
				  "Go's labels: the file does not state its version");
	if (!layout.is_known || !places->labels)
		return error_text(err, -ENOTSUP, "Go's labels: Go 1.%u keeps them elsewhere",
				  places->version - 100u);
	places->tls = (int16_t)(layout.g_reg == UNWIND_REG_SP ? layout.tls * 8 : 0);
	places->g_reg = (uint8_t)(layout.g_reg == UNWIND_REG_SP ? 0
								: layout.g_reg - UNWIND_REG_OTHER);
	places->m = (uint16_t)(GO_M_AT(layout.packed) * 8);
	places->current = (uint16_t)(GO_CURG_AT(layout.packed) * 8);
	return 0;
}

int go_label_places_find(struct go_label_places *places, int fd, struct error *err)
{
	struct cfi_file file;
	int code = -ENOENT;

	*places = (struct go_label_places){0};
	if (cfi_file_open(&file, fd, NULL) == 0 && file.segments.count)
		code = find(places, &file, err);
	cfi_file_release(&file);
	return code;
}

/* First version that stores labels as a slice. */
#define SLICE_VERSION 124

int go_probe(int fd, struct runtime_layout *layout, struct error *err)
{
	struct go_label_places places;
	int code = go_label_places_find(&places, fd, err);

	if (code)
		return code == -ENOENT ? 0 : code;
	layout->kind = RUNTIME_GO;
	layout->go = (struct go_labels_layout){
		.tls = places.tls,
		.g_reg = places.g_reg,
		.version = places.version,
		.m = places.m,
		.current = places.current,
		.labels = places.labels,
		.is_map = places.version < SLICE_VERSION,
	};
	return 0;
}

static void write_version(const struct runtime_layout *layout, char *text, size_t size)
{
	snprintf(text, size, "1.%u", layout->go.version - 100u);
}

static bool is_sane(const struct runtime_layout *layout)
{
	return layout->go.version >= 100 && layout->go.g_reg < 32;
}

const struct runtime runtime_go = {
	.kind = RUNTIME_GO,
	.name = "Go",
	.is_sane = is_sane,
	.version = write_version,
};
