/* SPDX-License-Identifier: MIT */
#include "lib/code/binary/usdt_notes.h"

#include <elf.h>

#include "lib/base/bytes.h"
#include "lib/base/open_file.h"
#include "lib/code/binary/binary.h"

#define SECTION ".note.stapsdt"
#define BASE_SECTION ".stapsdt.base"
#define OWNER "stapsdt"
#define NOTE_TYPE 3
/* Size of a probe's note: some 80 bytes. */
#define SECTION_MAX (USDT_NOTES_MAX * 128u)

/* The file whose notes are read. */
struct usdt_file {
	int fd;
	struct binary_summary summary;
	uint64_t base; /* address of BASE_SECTION; 0: none */
};

static uint64_t read_address(struct bytes *b, bool is_64bit)
{
	return is_64bit ? bytes_u64(b) : bytes_u32(b);
}

/* Finds the file offset of a loaded address. */
static bool find_offset(const struct usdt_file *file, uint64_t vaddr, bool has_to_be_code,
			uint64_t *offset)
{
	for (size_t i = 0; i < file->summary.segment_count; i++) {
		const struct binary_segment *segment = &file->summary.segments[i];

		if ((has_to_be_code && !segment->executable) || vaddr < segment->vaddr ||
		    vaddr - segment->vaddr >= segment->file_size)
			continue;
		*offset = segment->file_offset + (vaddr - segment->vaddr);
		return true;
	}
	return false;
}

/*
 * Returns whether the instruction there is a no-op. A tracer's breakpoint in the middle of another
 * instruction would break the program.
 */
static bool is_nop(const struct usdt_file *file, uint64_t offset)
{
	static const uint8_t arm64[] = {0x1f, 0x20, 0x03, 0xd5};
	uint8_t code[4] = {0};

	if (read_at(file->fd, code, sizeof(code), offset) <= 0)
		return false;
	if (file->summary.machine == EM_AARCH64)
		return memcmp(code, arm64, sizeof(arm64)) == 0;
	if (file->summary.machine != EM_X86_64 && file->summary.machine != EM_386)
		return false;
	/* One byte or several, with or without a prefix. */
	return code[0] == 0x90 || (code[0] == 0x0f && code[1] == 0x1f) ||
	       (code[0] == 0x66 && (code[1] == 0x90 || (code[1] == 0x0f && code[2] == 0x1f)));
}

static bool read_note(const struct usdt_file *file, struct bytes *desc, struct usdt_note *note)
{
	bool is_64bit = file->summary.is_64bit;
	uint64_t pc = read_address(desc, is_64bit), base = read_address(desc, is_64bit);
	uint64_t semaphore = read_address(desc, is_64bit), moved = 0;

	/* prelink(8) moves a file without updating its notes. */
	if (file->base && base)
		moved = file->base - base;
	note->provider = bytes_cstr(desc);
	note->name = bytes_cstr(desc);
	note->arguments = bytes_cstr(desc);
	note->semaphore = 0;
	if (!note->provider || !*note->provider || !note->name || !*note->name ||
	    !note->arguments || !find_offset(file, pc + moved, true, &note->offset))
		return false;
	if (semaphore && !find_offset(file, semaphore + moved, false, &note->semaphore))
		return false;
	return is_nop(file, note->offset);
}

static void read_all(struct usdt_notes *notes, const struct usdt_file *file, size_t size)
{
	struct bytes all;

	bytes_init(&all, notes->bytes, size);
	while (bytes_left(&all) && notes->rows.count < USDT_NOTES_MAX) {
		uint32_t owner_size = bytes_u32(&all), desc_size = bytes_u32(&all);
		uint32_t type = bytes_u32(&all);
		struct bytes owner = bytes_sub(&all, owner_size), desc;
		struct usdt_note note;
		const char *name;

		bytes_align(&all, 4);
		desc = bytes_sub(&all, desc_size);
		bytes_align(&all, 4);
		name = bytes_cstr(&owner);
		if (name && strcmp(name, OWNER) == 0 && type == NOTE_TYPE &&
		    read_note(file, &desc, &note))
			vec_push(&notes->rows, note);
	}
}

int usdt_notes_read(struct usdt_notes *notes, int fd, struct error *err)
{
	struct usdt_file file = {.fd = fd};
	struct binary *b = NULL;
	size_t size = 0;
	int code;

	*notes = (struct usdt_notes){0};
	code = binary_open(&b, fd, err);
	if (code)
		return code;
	code = binary_summarize(fd, &file.summary, err);
	if (!code && binary_has_section(b, SECTION)) {
		notes->machine = file.summary.machine;
		binary_section_vaddr(b, BASE_SECTION, &file.base);
		if (!binary_read_section(b, SECTION, SECTION_MAX, &notes->bytes, &size, NULL))
			read_all(notes, &file, size);
	}
	binary_summary_release(&file.summary);
	binary_free(b);
	return code;
}

void usdt_notes_release(struct usdt_notes *notes)
{
	vec_release(&notes->rows);
	free(notes->bytes);
	*notes = (struct usdt_notes){0};
}
