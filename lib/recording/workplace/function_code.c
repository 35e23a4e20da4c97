/* SPDX-License-Identifier: MIT */
#include "lib/recording/workplace/function_code.h"

#include <sys/mman.h>

#include "lib/code/binary/binary.h"
#include "lib/code/binary/code_dump.h"
#include "lib/recording/workplace/naming.h"

/* Maximum number of files in a capture, against hostile ones. */
#define FILES_MAX 16384
/* Maximum offset in a valid file. */
#define OFFSET_MAX ((uint64_t)1 << 40)
#define PAGE ((uint64_t)4096)

void read_contents_release(struct read_contents *c)
{
	for (size_t i = 0; i < c->rows.count; i++)
		close(c->rows.items[i].fd);
	vec_release(&c->rows);
	*c = (struct read_contents){0};
}

int read_contents_find(struct read_contents *c, uint32_t module)
{
	for (size_t i = c->rows.count; i > 0; i--) {
		if (c->rows.items[i - 1].module_id != module)
			continue;
		c->rows.items[i - 1].used = ++c->calls;
		return c->rows.items[i - 1].fd;
	}
	return -1;
}

void read_contents_trim(struct read_contents *c, uint64_t bytes)
{
	while (c->bytes > bytes && c->rows.count) {
		size_t oldest = 0;

		for (size_t i = 1; i < c->rows.count; i++) {
			if (c->rows.items[i].used < c->rows.items[oldest].used)
				oldest = i;
		}
		close(c->rows.items[oldest].fd);
		c->bytes -= c->rows.items[oldest].bytes;
		c->rows.items[oldest] = vec_last(&c->rows);
		c->rows.count--;
	}
}

/* Parts of a file are adjacent, so the last row is the likely one. */
static size_t find_or_add(struct read_contents *c, uint32_t module)
{
	size_t i = c->rows.count;
	int fd;

	while (i > 0 && c->rows.items[i - 1].module_id != module)
		i--;
	if (i > 0)
		return i - 1;
	fd = c->rows.count < FILES_MAX ? memfd_create("prof-module", MFD_CLOEXEC) : -1;
	if (fd < 0)
		return SIZE_MAX;
	vec_add_zeroed(&c->rows, 1);
	c->rows.items[c->rows.count - 1].module_id = module;
	c->rows.items[c->rows.count - 1].fd = fd;
	return c->rows.count - 1;
}

/* Returns the memory used by the bytes: whole pages, even for a single byte in each. */
static uint64_t memory_of(const struct rec_file *rec)
{
	uint64_t first = rec->offset / PAGE, end = (rec->offset + rec->size + PAGE - 1) / PAGE;

	return (end - first) * PAGE;
}

void read_contents_take(struct read_contents *c, const struct rec_file *rec)
{
	uint64_t memory;
	size_t row;

	if (!rec->size || rec->offset > OFFSET_MAX)
		return;
	memory = memory_of(rec);
	if (c->bytes + memory > 2 * KEPT_ALL_MAX)
		return;
	row = find_or_add(c, rec->module_id);
	if (row == SIZE_MAX || c->rows.items[row].bytes + memory > 2 * KEPT_FILE_MAX)
		return;
	if (pwrite(c->rows.items[row].fd, rec->bytes, rec->size, (off_t)rec->offset) < 0)
		return;
	c->rows.items[row].bytes += memory;
	c->bytes += memory;
}

bool code_fetch_is_possible(const struct module *module)
{
	return module->build_id_size && naming_downloads() &&
	       (module->kind == PROFILE_MODULE_FILE || module->kind == PROFILE_MODULE_KERNEL);
}

/* False for a debug file, which contains only addresses of code. */
static bool has_code(int fd)
{
	struct binary *binary;
	bool found;

	if (binary_open(&binary, fd, NULL))
		return false;
	found = binary_has_section(binary, ".text");
	binary_free(binary);
	return found;
}

int code_fetch(const struct module *module, const struct identity *owner)
{
	char id[2 * sizeof(module->build_id) + 1];
	struct debug_request request = {.kind = DEBUG_FETCH_EXECUTABLE, .build_id = id};
	_cleanup_close_ int fd = -1;

	if (!code_fetch_is_possible(module))
		return -1;
	build_id_to_text(module->build_id, module->build_id_size, id);
	fd = naming_fetch(&request, owner);
	if (fd >= 0 || module->kind != PROFILE_MODULE_KERNEL)
		return steal_fd(&fd);
	/* Some servers offer a vmlinux only as debug information. */
	request.kind = DEBUG_FETCH_INFO;
	fd = naming_fetch(&request, owner);
	return fd >= 0 && has_code(fd) ? steal_fd(&fd) : -1;
}

static int fail_missing(const struct module *module, const char *name, struct error *err)
{
	if (module_is_kernel(module)) {
		error_text(err, -ENOENT, "%s: the kernel's code is not on this machine", name);
		error_hint(err, "install the kernel's debug package, with its vmlinux, or name a "
				"server in DEBUGINFOD_URLS");
		return -ENOENT;
	}
	if (module->kind == PROFILE_MODULE_CODE_DUMP) {
		error_text(err, -ENOENT, "%s: code generated at run time: %s", name,
			   module->reason == SYMBOLS_OTHER_BUILD
				   ? "a later run has overwritten the dump"
			   : module->reason == SYMBOLS_UNREADABLE
				   ? "cannot read the dump"
				   : "the dump is not on this machine");
		error_hint(
			err,
			"keep the dump where it was written, or name its folder with --debug-dir");
		return -ENOENT;
	}
	return error_text(err, -ENOENT, "%s: no code: %s", name,
			  symbol_reason_text(module->reason == SYMBOLS_UNASKED ? SYMBOLS_NOT_HERE
									       : module->reason));
}

static int read_segment(struct function_code *code, int fd, const struct binary_summary *summary,
			uint64_t rva, uint64_t size)
{
	uint64_t vaddr = rva + (summary->segment_count ? summary->segments[0].vaddr : 0);

	for (size_t i = 0; i < summary->segment_count; i++) {
		const struct binary_segment *s = &summary->segments[i];
		ssize_t got;

		if (!s->executable || vaddr < s->vaddr || vaddr - s->vaddr >= s->file_size)
			continue;
		if (size > s->file_size - (vaddr - s->vaddr))
			size = s->file_size - (vaddr - s->vaddr);
		code->bytes = xmalloc(size + 1);
		got = pread(fd, code->bytes, size, (off_t)(s->file_offset + (vaddr - s->vaddr)));
		if (got > 0) {
			code->size = (size_t)got;
			return 0;
		}
		free(code->bytes);
		code->bytes = NULL;
	}
	return -ERANGE;
}

static int read_dump(struct function_code *code, int fd, const char *name, uint64_t rva,
		     uint64_t size, struct error *err)
{
	struct dumped_code dumped;
	int ret = code_dump_read(&dumped, fd, rva, err);

	if (ret)
		return error_wrap(err, "%s", name);
	code->bytes = dumped.bytes;
	code->size = dumped.size < size ? dumped.size : size;
	code->machine = dumped.machine;
	code->address = dumped.address;
	return 0;
}

int function_code_read(struct function_code *code, const struct module *module, const char *name,
		       const struct file_set *files, uint64_t rva, uint64_t size, struct error *err)
{
	int fd = module->file_key == UINT32_MAX ? -1 : file_set_find(files, module->file_key);
	struct binary_summary summary = {0};
	int ret;

	*code = (struct function_code){0};
	if (fd < 0 || module_is_kernel(module))
		return fail_missing(module, name, err);
	size = size < FUNCTION_CODE_MAX ? size : FUNCTION_CODE_MAX;
	if (module->kind == PROFILE_MODULE_CODE_DUMP)
		return read_dump(code, fd, name, rva, size, err);
	code->address = rva;
	ret = binary_summarize(fd, &summary, err);
	if (ret)
		return error_wrap(err, "%s", name);
	code->machine = summary.machine;
	ret = read_segment(code, fd, &summary, rva, size);
	binary_summary_release(&summary);
	return ret ? error_text(err, ret, "%s: no code at 0x%llx", name, (unsigned long long)rva)
		   : 0;
}
