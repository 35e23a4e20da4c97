/* SPDX-License-Identifier: MIT */
#include "lib/code/unwind/cfi_file.h"

#include <elf.h>
#include <sys/mman.h>

#include "lib/base/bytes.h"
#include "lib/base/open_file.h"
#include "lib/code/binary/binary.h"

/* Limit for the table of section names; real ones are far smaller. */
#define MAX_NAMES_SIZE (1u << 20)
#define LARGE_SIZE (2u << 20)

struct header {
	uint64_t phoff, shoff;
	uint16_t phnum, shnum, shstrndx;
};

struct section {
	uint32_t name, type, info, link;
	uint64_t flags;
	struct file_range range;
};

/*
 * Uses huge pages for large sections: faulting in small pages would take a tenth of the time of the
 * whole table.
 */
static void expect_large(uint8_t *data, size_t size)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	size_t skipped = -(uintptr_t)data & (page - 1);

	if (size >= LARGE_SIZE)
		madvise(data + skipped, (size - skipped) & ~(page - 1), MADV_HUGEPAGE);
}

static void make_room(struct cfi_buffer *buffer, size_t size)
{
	if (buffer->capacity >= size)
		return;
	/* The old contents are not needed. */
	free(buffer->data);
	buffer->data = xmalloc(size);
	buffer->capacity = size;
	expect_large(buffer->data, size);
}

/* Sets *left to the bytes of the range present in the file. */
static int measure(const struct cfi_file *file, const struct file_range *range, uint64_t *left,
		   struct error *err)
{
	*left = range->offset < file->size ? file->size - range->offset : 0;
	if (*left > range->size)
		*left = range->size;
	if (*left > CFI_FILE_MAX_CFI)
		return error_text(err, -EFBIG, "a section of %llu bytes",
				  (unsigned long long)*left);
	return 0;
}

int cfi_file_page(const struct cfi_file *file, const struct file_range *range,
		  struct paged_section *pages, struct error *err)
{
	struct file_part part = {.fd = file->fd, .offset = range->offset};
	int ret = measure(file, range, &part.size, err);

	*pages = (struct paged_section){0};
	if (!ret && part.size)
		paged_section_init(pages, &part, xcalloc(part.size, 1));
	return ret;
}

int cfi_file_read_into(const struct cfi_file *file, const struct file_range *range,
		       struct cfi_buffer *buffer, size_t *size, struct error *err)
{
	uint64_t left;
	ssize_t n;
	int ret = measure(file, range, &left, err);

	*size = 0;
	if (ret)
		return ret;
	make_room(buffer, (size_t)left + 1);
	n = read_at(file->fd, buffer->data, (size_t)left, range->offset);
	if (n < 0)
		return error_set(err, (int)n, "cannot read ELF file");
	*size = (size_t)n;
	return 0;
}

int cfi_file_read(const struct cfi_file *file, const struct file_range *range, uint8_t **data,
		  size_t *size, struct error *err)
{
	struct cfi_buffer buffer = {0};
	int ret = cfi_file_read_into(file, range, &buffer, size, err);

	*data = buffer.data;
	return ret;
}

/* Reads an address, offset or size, whose width depends on the file's class. */
static uint64_t read_word(const struct cfi_file *file, struct bytes *b)
{
	return file->is_32bit ? bytes_u32(b) : bytes_u64(b);
}

static size_t segment_size(const struct cfi_file *file)
{
	return file->is_32bit ? sizeof(Elf32_Phdr) : sizeof(Elf64_Phdr);
}

static size_t section_size(const struct cfi_file *file)
{
	return file->is_32bit ? sizeof(Elf32_Shdr) : sizeof(Elf64_Shdr);
}

/* Returns false if the file's class does not match the machine's word, as with x32. */
static bool has_own_class(const struct cfi_file *file, uint8_t class)
{
	return class == (file->arch->word == 4 ? ELFCLASS32 : ELFCLASS64);
}

static int read_header(struct cfi_file *file, struct header *header, struct error *err)
{
	uint8_t raw[sizeof(Elf64_Ehdr)] = {0};
	ssize_t n = read_at(file->fd, raw, sizeof(raw), 0);
	struct bytes b;
	uint16_t phentsize, shentsize;

	if (n < 0)
		return error_set(err, (int)n, "cannot read ELF header");
	if (n != (ssize_t)sizeof(raw) || memcmp(raw, ELFMAG, SELFMAG) != 0)
		return error_text(err, -ENOEXEC, "not an ELF file");
	if (raw[EI_DATA] != ELFDATA2LSB)
		return error_text(err, -ENOEXEC, "an ELF file with another byte order");
	bytes_init(&b, raw, sizeof(raw));
	bytes_skip(&b, EI_NIDENT);
	file->has_fixed_place = bytes_u16(&b) == ET_EXEC;
	file->arch = unwind_arch_find(bytes_u16(&b));
	if (!file->arch)
		return error_text(err, -ENOEXEC, "an ELF file of another machine");
	if (!has_own_class(file, raw[EI_CLASS]))
		return error_text(err, -ENOEXEC, "an ELF file of another class");
	file->is_32bit = raw[EI_CLASS] == ELFCLASS32;
	bytes_skip(&b, 4);
	file->entry = read_word(file, &b);
	header->phoff = read_word(file, &b);
	header->shoff = read_word(file, &b);
	bytes_skip(&b, 6);
	phentsize = bytes_u16(&b);
	header->phnum = bytes_u16(&b);
	shentsize = bytes_u16(&b);
	header->shnum = bytes_u16(&b);
	header->shstrndx = bytes_u16(&b);
	if (phentsize != segment_size(file))
		header->phnum = 0;
	if (shentsize != section_size(file))
		header->shoff = 0;
	return 0;
}

/* Returns 0 for a nonsensical alignment. */
static uint64_t align_up(uint64_t size, uint64_t alignment)
{
	if (!alignment)
		alignment = 1;
	if (alignment & (alignment - 1) || size > UINT64_MAX - alignment)
		return 0;
	return (size + alignment - 1) & ~(alignment - 1);
}

static void add_segment(struct cfi_file *file, struct bytes *b)
{
	uint32_t type = bytes_u32(b), flags = 0;
	uint64_t memory, alignment;
	struct file_range range;

	if (!file->is_32bit)
		flags = bytes_u32(b);
	range.offset = read_word(file, b);
	range.vaddr = read_word(file, b);
	read_word(file, b); /* skip the physical address */
	range.size = read_word(file, b);
	memory = read_word(file, b);
	if (file->is_32bit)
		flags = bytes_u32(b);
	alignment = read_word(file, b);
	file->has_interpreter |= type == PT_INTERP;
	if (type == PT_TLS && !b->failed)
		file->tls_size = align_up(memory, alignment);
	/* Count only bytes in the file: a segment may request any amount of memory. */
	if (range.offset > file->size)
		return;
	if (range.size > file->size - range.offset)
		range.size = file->size - range.offset;
	/* Ignore segments that wrap around the end of the address space. */
	if (b->failed || range.size > UINT64_MAX - range.vaddr)
		return;
	if (type == PT_GNU_EH_FRAME) {
		file->eh_frame_hdr = range;
	} else if (type == PT_LOAD) {
		vec_push(&file->segments, range);
		if (flags & PF_X)
			vec_push(&file->code,
				 (struct code_range){range.vaddr, range.vaddr + range.size});
	}
}

static int read_segments(struct cfi_file *file, const struct header *header, struct error *err)
{
	struct file_range table = {.offset = header->phoff};
	_cleanup_free_ uint8_t *data = NULL;
	size_t size;
	struct bytes b;
	int ret;

	table.size = header->phnum * segment_size(file);
	if (table.size > CFI_FILE_MAX_SEGMENTS * segment_size(file))
		table.size = CFI_FILE_MAX_SEGMENTS * segment_size(file);
	ret = cfi_file_read(file, &table, &data, &size, err);
	if (ret)
		return ret;
	bytes_init(&b, data, size);
	while (bytes_left(&b) >= segment_size(file))
		add_segment(file, &b);
	return 0;
}

static struct section read_section(const struct cfi_file *file, struct bytes *b)
{
	struct section section;

	section.name = bytes_u32(b);
	section.type = bytes_u32(b);
	section.flags = read_word(file, b);
	section.range.vaddr = read_word(file, b);
	section.range.offset = read_word(file, b);
	section.range.size = read_word(file, b);
	section.link = bytes_u32(b);
	section.info = bytes_u32(b);
	read_word(file, b); /* alignment */
	read_word(file, b); /* size of entries */
	return section;
}

/* Notes a section of interest, unless it has no bytes in the file. */
static void note_section(struct cfi_file *file, const struct section *section, const char *name)
{
	const struct {
		const char *name;
		struct file_range *range;
	} known[] = {
		{".eh_frame", &file->eh_frame},
		{".eh_frame_hdr", &file->eh_frame_hdr},
		{".debug_frame", &file->debug_frame},
		{".sframe", &file->sframe},
		{".plt", &file->plt},
		{".plt.sec", &file->plt_sec},
		{".plt.got", &file->plt_got},
		{".init", &file->init},
		{".fini", &file->fini},
		{".text", &file->text},
		{".go.buildinfo", &file->go_build_info},
		{".note.go.buildid", &file->go_build_id}, /* the only Go section in old plugins */
		{".gopclntab", &file->go_functions},
		{".data.rel.ro.gopclntab", &file->go_functions},
		{".go.module", &file->go_module},
		{".data.rel.ro", &file->relro},
		{".rela.dyn", &file->relocations},
	};

	bool is_packed = section->flags & SHF_COMPRESSED;

	if (section->type == SHT_NULL || section->type == SHT_NOBITS ||
	    section->range.size > UINT64_MAX - section->range.vaddr)
		return;
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		if (strcmp(name, known[i].name) != 0 || known[i].range->size)
			continue;
		/* Loaded sections are never compressed. */
		if (is_packed && known[i].range != &file->debug_frame)
			continue;
		*known[i].range = section->range;
		if (is_packed)
			file->packed_debug_frame = true;
	}
}

static void note_sections(struct cfi_file *file, struct bytes table, const struct section *names)
{
	_cleanup_free_ uint8_t *text = NULL;
	struct file_range range = names->range;
	struct bytes b;
	size_t size;

	if (range.size > MAX_NAMES_SIZE)
		range.size = MAX_NAMES_SIZE;
	if (cfi_file_read(file, &range, &text, &size, NULL) != 0)
		return;
	while (bytes_left(&table) >= section_size(file)) {
		struct section section = read_section(file, &table);
		const char *name;

		bytes_init(&b, text, size);
		bytes_seek(&b, section.name);
		name = bytes_cstr(&b);
		if (name && name[0] == '.')
			note_section(file, &section, name);
	}
}

/* Errors are ignored: PT_GNU_EH_FRAME may suffice without sections. */
static void read_sections(struct cfi_file *file, const struct header *header)
{
	struct file_range range = {.offset = header->shoff, .size = section_size(file)};
	_cleanup_free_ uint8_t *first = NULL, *table = NULL;
	uint64_t count = header->shnum, names = header->shstrndx;
	struct section section;
	size_t size;
	struct bytes b;

	if (!header->shoff || cfi_file_read(file, &range, &first, &size, NULL) != 0)
		return;
	bytes_init(&b, first, size);
	section = read_section(file, &b);
	/* A count that does not fit into 16 bits is in the first section header. */
	if (count == 0)
		count = section.range.size;
	if (names == SHN_XINDEX)
		names = section.link;
	if (b.failed || count > CFI_FILE_MAX_SECTIONS || names >= count)
		return;
	range.size = count * section_size(file);
	if (cfi_file_read(file, &range, &table, &size, NULL) != 0)
		return;
	bytes_init(&b, table, size);
	bytes_seek(&b, names * section_size(file));
	section = read_section(file, &b);
	if (b.failed)
		return;
	bytes_seek(&b, 0);
	note_sections(file, b, &section);
}

int cfi_file_inflate(const struct cfi_file *file, uint8_t **data, size_t *size, struct error *err)
{
	struct binary *binary;
	int ret = binary_open(&binary, file->fd, err);

	if (ret)
		return ret;
	ret = binary_read_section(binary, ".debug_frame", CFI_FILE_MAX_CFI, data, size, err);
	binary_free(binary);
	return ret;
}

int cfi_file_open(struct cfi_file *file, int fd, struct error *err)
{
	struct header header = {0};
	struct stat st;
	int ret;

	*file = (struct cfi_file){.fd = fd};
	if (fstat(fd, &st) != 0)
		return error_set(err, -errno, "cannot stat ELF file");
	file->size = st.st_size > 0 ? (uint64_t)st.st_size : 0;
	ret = read_header(file, &header, err);
	if (ret)
		return ret;
	ret = read_segments(file, &header, err);
	if (ret)
		return ret;
	read_sections(file, &header);
	return 0;
}

void cfi_file_release(struct cfi_file *file)
{
	vec_release(&file->segments);
	vec_release(&file->code);
}

struct file_range cfi_file_find(const struct cfi_file *file, uint64_t vaddr)
{
	vec_for_each(&file->segments, const struct file_range *, segment) {
		uint64_t skipped = vaddr - segment->vaddr;

		if (vaddr < segment->vaddr || skipped >= segment->size ||
		    segment->offset > UINT64_MAX - skipped)
			continue;
		return (struct file_range){.offset = segment->offset + skipped,
					   .size = segment->size - skipped,
					   .vaddr = vaddr};
	}
	return (struct file_range){0};
}
