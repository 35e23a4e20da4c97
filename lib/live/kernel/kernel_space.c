/* SPDX-License-Identifier: MIT */
#include "lib/live/kernel/kernel_space.h"

#include <bpf/bpf.h>

#include "lib/live/bpf/programs.h"
#include "lib/live/kernel/kernel_modules.h"
#include "lib/stream/record/records.h"

/* Parses the numbers after the name: "+0x12/0x34", then the end or a blank. */
static bool scan_extent(const char *at, uint64_t *offset, uint64_t *size)
{
	const char *end = at + strcspn(at, " ");

	if (!text_starts_with(at, "+0x"))
		return false;
	at += 3;
	if (!text_scan_hex(&at, end, offset) || !text_starts_with(at, "/0x"))
		return false;
	at += 3;
	return text_scan_hex(&at, end, size) && at == end;
}

bool kernel_symbol_parse(struct kernel_symbol_text *symbol, uint64_t addr, const char *text)
{
	const char *extent = strrchr(text, '+');
	const char *module = extent ? strchr(extent, ' ') : NULL;
	uint64_t offset, size, end;

	if (!extent || extent == text || !scan_extent(extent, &offset, &size) || offset > addr)
		return false;
	*symbol = (struct kernel_symbol_text){
		.start = addr - offset,
		.size = size,
		.name = text,
		.name_size = (size_t)(extent - text),
		.module = module ? module + 1 : NULL,
	};
	return offset < size && !__builtin_add_overflow(symbol->start, size, &end);
}

bool kernel_symbols_find(struct programs *programs, const uint64_t *addrs, size_t count,
			 kernel_symbol_fn *fn, void *ctx)
{
	uint64_t end = 0;

	for (size_t i = 0; i < count; i++) {
		struct kernel_symbol_text symbol;
		const char *text;

		if (addrs[i] < end)
			continue;
		text = programs_find_symbol(programs, addrs[i]);
		if (!text) {
			log_debug("cannot look up kernel symbols: %m");
			return false;
		}
		end = 0;
		if (!kernel_symbol_parse(&symbol, addrs[i], text))
			continue;
		end = symbol.start + symbol.size;
		fn(ctx, &symbol);
	}
	return true;
}

/*
 * Maximum number of programs, and of functions per program; the rest gets names only from the
 * kernel's list.
 */
#define MAX_PROGRAMS 1000
#define MAX_FUNCTIONS 256

void kernel_code_send(struct module_registry *modules, record_sink_fn *sink, void *ctx,
		      const struct map_event *event)
{
	const struct special_module module = {
		.kind = MODULE_KERNEL_DYNAMIC,
		.path = event->path,
		.base = event->start,
		.fd = -1,
	};
	struct rec_map map = {.start = event->start, .end = event->start + event->size};

	record_init(&map.rec, REC_MAP, sizeof(map), event->time, 0, 0);
	map.rec.flags = MAP_KERNEL_SPACE;
	map.module_id = module_registry_add_special(modules, event->time, &module);
	sink(ctx, &map.rec);
}

/* The functions of a program, the main one first. */
struct program {
	struct bpf_prog_info info;
	uint64_t addrs[MAX_FUNCTIONS];
	uint32_t sizes[MAX_FUNCTIONS];
	uint8_t tags[MAX_FUNCTIONS][BPF_TAG_SIZE];
};

/* Returns the number of functions with known address, size and tag. */
static uint32_t read_program(int fd, struct program *p)
{
	uint32_t size = sizeof(p->info), count;

	p->info = (struct bpf_prog_info){
		.nr_jited_ksyms = MAX_FUNCTIONS,
		.jited_ksyms = (uintptr_t)p->addrs,
		.nr_jited_func_lens = MAX_FUNCTIONS,
		.jited_func_lens = (uintptr_t)p->sizes,
		.nr_prog_tags = MAX_FUNCTIONS,
		.prog_tags = (uintptr_t)p->tags,
	};
	if (bpf_obj_get_info_by_fd(fd, &p->info, &size) != 0)
		return 0;
	count = MIN(p->info.nr_jited_ksyms, p->info.nr_jited_func_lens);
	return MIN(MIN(count, p->info.nr_prog_tags), MAX_FUNCTIONS);
}

/* Names functions like the kernel, except that long names are truncated. */
static void name_function(const struct program *p, uint32_t number, char *name, size_t size)
{
	size_t used = (size_t)snprintf(name, size, "bpf_prog_");

	for (size_t i = 0; i < BPF_TAG_SIZE; i++)
		used += (size_t)snprintf(name + used, size - used, "%02x", p->tags[number][i]);
	if (!number && p->info.name[0])
		snprintf(name + used, size - used, "_%.*s", BPF_OBJ_NAME_LEN, p->info.name);
}

void kernel_code_send_loaded(struct module_registry *modules, record_sink_fn *sink, void *ctx,
			     uint64_t time)
{
	struct program program;
	uint32_t id = 0;

	for (size_t i = 0; i < MAX_PROGRAMS && bpf_prog_get_next_id(id, &id) == 0; i++) {
		_cleanup_close_ int fd = bpf_prog_get_fd_by_id(id);
		uint32_t count = fd >= 0 ? read_program(fd, &program) : 0;

		for (uint32_t k = 0; k < count; k++) {
			char name[64];
			struct map_event event = {
				.kind = MAP_EVENT_CODE,
				.time = time,
				.start = program.addrs[k],
				.size = program.sizes[k],
				.path = name,
			};

			/* Addresses may be hidden. */
			if (!event.start || !event.size)
				continue;
			name_function(&program, k, name, sizeof(name));
			kernel_code_send(modules, sink, ctx, &event);
		}
	}
}

/*
 * Bytes to read: _text is near the start, after the per-CPU symbols. Reading the rest takes 30 ms.
 */
#define KALLSYMS_FIRST (16u << 10)
#define KALLSYMS_MAX (1u << 20)
/* Offset of _stext in the image, aligned by the linker. 6.1 on arm64 does not list _text. */
#define ARM64_IMAGE_HEADER (64u << 10)
/*
 * Upper bound of the image's size. Finding the true end would require reading half the symbols, and
 * matters little: only modules are this close after the image, and they are mapped on top.
 */
#define IMAGE_SIZE_MAX (256u << 20)
/* Start of modules and BPF programs on x86-64, independent of KASLR. */
#define X86_64_MODULES 0xffffffffc0000000ull
#define IMAGE_PATH "[kernel.kallsyms]"

struct kernel_space {
	struct module_registry *modules;
	record_sink_fn *sink;
	void *ctx;
	uint64_t time;
};

static void send_map(const struct kernel_space *k, uint32_t module, uint64_t start, uint64_t end,
		     uint64_t offset)
{
	struct rec_map map = {.start = start, .end = end, .file_offset = offset};

	record_init(&map.rec, REC_MAP, sizeof(map), k->time, 0, 0);
	map.rec.flags = MAP_KERNEL_SPACE;
	map.module_id = module;
	k->sink(k->ctx, &map.rec);
}

/* True if the line "ffffffff81000000 T _text" names this symbol. */
static bool line_is(const char *line, const char *end, const char *symbol)
{
	size_t size = strlen(symbol);
	const char *name = end;

	while (name > line && name[-1] != ' ')
		name--;
	return (size_t)(end - name) == size && !memcmp(name, symbol, size);
}

uint64_t kernel_space_find_image(const char *kallsyms)
{
	uint64_t code = 0;

	for (const char *line = kallsyms; *line;) {
		const char *end = strchrnul(line, '\n');
		const char *at = line;
		uint64_t addr = 0;

		text_scan_hex(&at, end, &addr);
		if (line_is(line, end, "_text"))
			return addr;
		if (code && addr > code)
			return code - ARM64_IMAGE_HEADER;
		if (line_is(line, end, "_stext"))
			code = addr;
		line = *end ? end + 1 : end;
	}
	return 0;
}

static uint64_t read_image_start(void)
{
	uint64_t start = 0;

	for (size_t max = KALLSYMS_FIRST; !start && max <= KALLSYMS_MAX; max *= 8) {
		_cleanup_free_ char *kallsyms = text_read_file("/proc/kallsyms", max, NULL);

		if (!kallsyms)
			break;
		start = kernel_space_find_image(kallsyms);
	}
	return start;
}

static uint64_t image_end(uint64_t start)
{
	uint64_t end = start + IMAGE_SIZE_MAX;

	return start < X86_64_MODULES && end > X86_64_MODULES ? X86_64_MODULES : end;
}

/* Finds the image's base and build id. False if addresses are hidden. */
static bool find_image(struct special_module *image)
{
	*image = (struct special_module){.kind = MODULE_KERNEL, .path = IMAGE_PATH, .fd = -1};
	image->base = read_image_start();
	if (image->base)
		kernel_notes_read_build_id("/sys/kernel/notes", image);
	return image->base;
}

static bool send_image(const struct kernel_space *k)
{
	struct special_module image;

	if (!find_image(&image)) {
		log_debug("kernel addresses are hidden: see kernel.kptr_restrict");
		return false;
	}
	image.fd = open("/proc/kallsyms", O_RDONLY | O_CLOEXEC);
	send_map(k, module_registry_add_special(k->modules, k->time, &image), image.base,
		 image_end(image.base), 0);
	return true;
}

bool kernel_space_find(const char *path, struct special_module *found)
{
	return strcmp(path, IMAGE_PATH) == 0 ? find_image(found) : kernel_modules_find(path, found);
}

bool kernel_space_send(struct module_registry *modules, record_sink_fn *sink, void *ctx,
		       uint64_t time)
{
	struct kernel_space k = {.modules = modules, .sink = sink, .ctx = ctx, .time = time};
	struct special_module dynamic = {
		.kind = MODULE_KERNEL_DYNAMIC, .path = "[kernel.dynamic]", .fd = -1};
	const uint64_t upper_half = 1ull << 63;

	/* Map the whole upper half first; later mappings replace parts of it. */
	dynamic.fd = open("/proc/kallsyms", O_RDONLY | O_CLOEXEC);
	send_map(&k, module_registry_add_special(modules, time, &dynamic), upper_half, UINT64_MAX,
		 upper_half);
	return send_image(&k);
}
