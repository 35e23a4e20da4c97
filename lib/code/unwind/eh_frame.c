/* SPDX-License-Identifier: MIT */
#include "lib/code/unwind/eh_frame.h"

#include "lib/code/binary/paged_section.h"
#include "lib/code/unwind/cfi_data.h"
#include "lib/code/unwind/unwind_table.h"

struct fde_ranges {
	struct cfi_file file;
	struct cfi_data data;
	struct eh_frame frame;
	struct unwind_table_stats stats; /* required by eh_frame, unused */
	uint64_t first_vaddr;
};

DEFINE_CLEANUP(struct fde_ranges *, fde_ranges_free)

static int read_frame(struct fde_ranges *r, struct error *err)
{
	int ret;

	/* Few functions are looked up. */
	r->data.by_pages = true;
	ret = cfi_data_read(&r->data, &r->file, err);
	if (ret)
		return ret;
	eh_frame_init(&r->frame, r->file.arch, &r->data.cfi, &r->data.hdr, r->data.is_debug_frame,
		      &r->stats);
	return r->frame.hdr.count || r->frame.places.count ? 0 : -ENOENT;
}

/* crtbegin.o adds an empty .eh_frame to files with all CFI in .debug_frame. */
static int read_debug_frame(struct fde_ranges *r, struct error *err)
{
	if (!r->file.eh_frame.size || !r->file.debug_frame.size)
		return -ENOENT;
	eh_frame_release(&r->frame);
	cfi_data_release(&r->data);
	r->frame = (struct eh_frame){0};
	r->file.eh_frame.size = r->file.eh_frame_hdr.size = 0;
	return read_frame(r, err);
}

int fde_ranges_new(struct fde_ranges **out, int fd, struct error *err)
{
	_cleanup_(fde_ranges_free) struct fde_ranges *r = xcalloc(1, sizeof(*r));
	int ret = cfi_file_open(&r->file, fd, err);

	if (ret)
		return ret;
	ret = read_frame(r, err);
	if (ret == -ENOENT)
		ret = read_debug_frame(r, err);
	if (ret == -ENOENT)
		return error_text(err, -ENOENT, "no call frame information");
	if (ret)
		return ret;
	if (r->file.segments.count)
		r->first_vaddr = r->file.segments.items[0].vaddr;
	*out = steal(r);
	return 0;
}

void fde_ranges_free(struct fde_ranges *r)
{
	if (!r)
		return;
	eh_frame_release(&r->frame);
	cfi_data_release(&r->data);
	cfi_file_release(&r->file);
	free(r);
}

/* Returns the end of the code around a vaddr; 0: not code. */
static uint64_t code_end(const struct fde_ranges *r, uint64_t vaddr)
{
	const struct code_range *code = vec_find(&r->file.code, it,
						 vaddr >= it->start && vaddr < it->end);

	return code ? code->end : 0;
}

static bool eh_frame_find(struct eh_frame *frame, uint64_t vaddr, struct fde *fde);

bool fde_ranges_find(struct fde_ranges *r, uint64_t rva, struct fde_range *range)
{
	uint64_t vaddr = rva + r->first_vaddr, end;
	struct fde fde;

	*range = (struct fde_range){0};
	if (!eh_frame_find(&r->frame, vaddr, &fde) || fde.start < r->first_vaddr)
		return false;
	end = code_end(r, fde.start);
	if (end > fde.end)
		end = fde.end;
	*range = (struct fde_range){
		.rva = fde.start - r->first_vaddr,
		.size = vaddr < end ? end - fde.start : 0,
		/* Some linkers set an entry for libraries, too: the start of their code. */
		.is_entry = r->file.has_interpreter && fde.start == r->file.entry,
	};
	return vaddr < end;
}

#define HDR_VERSION 1

static bool is_sorted(struct eh_frame_hdr hdr)
{
	uint64_t last = 0;

	while (bytes_left(&hdr.entries)) {
		uint64_t start = eh_frame_hdr_next(&hdr).start;

		if (start < last)
			return false;
		last = start;
	}
	return true;
}

void eh_frame_hdr_read(struct eh_frame_hdr *hdr, const struct cfi_section *section)
{
	uint8_t target_encoding, count_encoding, table_encoding;
	struct bytes b;
	uint64_t count;

	*hdr = (struct eh_frame_hdr){.base = section->vaddr};
	bytes_init(&b, section->data, section->size);
	if (bytes_u8(&b) != HDR_VERSION)
		return;
	target_encoding = bytes_u8(&b);
	count_encoding = bytes_u8(&b);
	table_encoding = bytes_u8(&b);
	if (target_encoding == POINTER_OMITTED)
		return;
	hdr->target = pointer_read(&b, target_encoding, section->vaddr, section->vaddr);
	if (b.failed)
		hdr->target = 0;
	if (count_encoding == POINTER_OMITTED)
		return;
	count = pointer_read(&b, count_encoding, section->vaddr, section->vaddr);
	if (table_encoding == (POINTER_DATA_RELATIVE | POINTER_S64))
		hdr->is_wide = true;
	else if (table_encoding != (POINTER_DATA_RELATIVE | POINTER_S32))
		return;
	if (b.failed || count > bytes_left(&b) / (hdr->is_wide ? 16 : 8))
		return;
	hdr->entries = bytes_sub(&b, count * (hdr->is_wide ? 16 : 8));
	if (is_sorted(*hdr))
		hdr->count = count;
}

/* DWARF64's escape before a length of 8 bytes. */
#define LENGTH_64 0xffffffffu
/* Limit of empty FDEs at one address to skip in search of a real one. */
#define MAX_EMPTY_FDES 16

/* Maximum bytes from the start of an entry to an FDE's program. */
#define HEAD_BYTES 64

/* A CIE or FDE in the section. */
struct entry {
	bool is_cie, is_terminator;
	uint64_t cie_offset; /* for an FDE */
	uint64_t end; /* offset of the next entry */
	struct bytes body; /* after the id; the cursor's start is that of the section */
};

/*
 * Loads the section's bytes from an offset on into memory, as far as they exist. Returns false if
 * they are unreadable.
 */
static inline bool need(const struct eh_frame *frame, uint64_t offset, uint64_t size)
{
	const struct cfi_section *section = &frame->section;

	if (!section->pages || offset > section->size)
		return true;
	return paged_section_need(section->pages, offset,
				  offset + MIN(size, section->size - offset));
}

/* Returns false if no entry lies within the section's bounds. */
static inline bool read_entry(const struct eh_frame *frame, uint64_t offset, struct entry *entry)
{
	const struct cfi_section *section = &frame->section;
	struct bytes b;
	bool is_64bit;
	uint64_t length, id, id_offset;

	if (!need(frame, offset, HEAD_BYTES))
		return false;
	bytes_init(&b, section->data, section->size);
	bytes_skip(&b, offset);
	length = bytes_unit_length(&b, &is_64bit);
	if (length > bytes_left(&b) || b.failed)
		return false;
	b.end = b.at + length;
	entry->end = bytes_position(&b) + length;
	entry->is_terminator = length == 0;
	id_offset = bytes_position(&b);
	/* Ids in .eh_frame have 4 bytes even after a length of 8. */
	if (frame->is_debug_frame && length) {
		id = is_64bit ? bytes_u64(&b) : bytes_u32(&b);
		entry->is_cie = id == (is_64bit ? UINT64_MAX : UINT32_MAX);
		entry->cie_offset = id;
	} else if (length) {
		id = bytes_u32(&b);
		entry->is_cie = id == 0;
		entry->cie_offset = id_offset - id;
	}
	entry->body = b;
	return !b.failed;
}

/* Reads a pointer encoding. The machine determines the size of absolute pointers. */
static uint8_t read_encoding(const struct eh_frame *frame, struct bytes *data)
{
	return pointer_encoding(bytes_u8(data), frame->arch->word);
}

/*
 * Reads the operands of an augmentation, one per letter. Without 'z', only letters without an
 * operand are valid. Returns false for an unknown letter.
 */
static bool read_augmentation(const struct eh_frame *frame, struct cie *cie, const char *letters,
			      struct bytes *data)
{
	for (; *letters; letters++) {
		switch (*letters) {
		case 'R':
			cie->pc_encoding = read_encoding(frame, data);
			break;
		case 'P':
			pointer_skip(data, read_encoding(frame, data), frame->section.vaddr);
			break;
		case 'L':
			bytes_u8(data);
			break;
		case 'S':
			cie->is_signal_frame = true;
			break;
		case 'B': /* arm64: return addresses are signed with the B key */
		case 'G': /* arm64: the stack is tagged */
			break;
		default:
			return false;
		}
	}
	return !data->failed;
}

/* Reads the fields between the augmentation string and the program. */
static bool read_cie_head(const struct eh_frame *frame, struct cie *cie, struct bytes *b)
{
	uint8_t version = bytes_u8(b);
	const char *letters = bytes_cstr(b);
	uint64_t code_factor, ra_column, size = 0;
	int64_t data_factor;
	struct bytes data;

	if (!letters || (version != 1 && version != 3 && version != 4))
		return false;
	/* GCC 2's augmentation, with the address of an exception table. */
	if (letters[0] == 'e' && letters[1] == 'h') {
		bytes_skip(b, frame->arch->word);
		letters += 2;
	}
	if (version == 4 && (bytes_u8(b) != frame->arch->word || bytes_u8(b) != 0))
		return false;
	code_factor = bytes_uleb(b);
	data_factor = bytes_sleb(b);
	ra_column = version == 1 ? bytes_u8(b) : bytes_uleb(b);
	if (b->failed || ra_column != frame->arch->ra_column || !code_factor ||
	    code_factor > CIE_MAX_FACTOR || data_factor > CIE_MAX_FACTOR ||
	    data_factor < -CIE_MAX_FACTOR)
		return false;
	cie->code_factor = (uint32_t)code_factor;
	cie->data_factor = (int32_t)data_factor;
	if (letters[0] == 'z') {
		cie->has_augmentation_size = true;
		size = bytes_uleb(b);
		letters++;
	}
	/* Keep the section's start, because pointers may be aligned to it. */
	data = *b;
	bytes_skip(b, size);
	data.end = b->at;
	return !b->failed && read_augmentation(frame, cie, letters, &data) &&
	       ((cie->pc_encoding & ~POINTER_FORM) == 0 ||
		(cie->pc_encoding & ~POINTER_FORM) == POINTER_PC_RELATIVE ||
		((cie->pc_encoding & ~POINTER_FORM) == POINTER_TEXT_RELATIVE &&
		 frame->section.text));
}

static void read_cie(struct eh_frame *frame, uint64_t offset, struct cie *cie)
{
	struct entry entry;

	*cie = (struct cie){
		.section_vaddr = frame->section.vaddr,
		.section_end = frame->section.data + frame->section.size,
		.pc_encoding = pointer_encoding(POINTER_ABSOLUTE, frame->arch->word),
	};
	if (!read_entry(frame, offset, &entry) || entry.is_terminator || !entry.is_cie ||
	    !need(frame, offset, entry.end - offset))
		return;
	if (!read_cie_head(frame, cie, &entry.body) || bytes_left(&entry.body) > frame->budget)
		return;
	frame->budget -= bytes_left(&entry.body);
	cie->usable = cfi_run_cie(frame->arch, cie, entry.body);
}

static bool is_usual(const struct eh_frame *frame, const struct cie *cie)
{
	return !frame->is_debug_frame && cie->usable && cie->has_augmentation_size &&
	       cie->pc_encoding == (POINTER_PC_RELATIVE | POINTER_S32);
}

INDEX_EQUAL(cie_has_offset, struct eh_frame, cie_offsets, *a == *b)

/* Keeps unusable CIEs as well, so that each is read only once. */
static uint32_t intern_cie(struct eh_frame *frame, uint64_t offset)
{
	struct cie cie;
	uint32_t id;

	id = index_find(&frame->cie_index, offset, cie_has_offset, frame, &offset);
	if (id == INDEX_NONE) {
		read_cie(frame, offset, &cie);
		frame->stats->malformed += !cie.usable;
		id = (uint32_t)frame->cies.count;
		vec_push(&frame->cies, cie);
		vec_push(&frame->cie_offsets, offset);
		index_add(&frame->cie_index, offset, id);
	}
	frame->last_cie = id;
	frame->last_cie_offset = offset;
	frame->last_cie_is_usual = is_usual(frame, &frame->cies.items[id]);
	return id;
}

/* Reads the usual range: two numbers of 4 bytes, the first one pc-relative. */
static inline void read_short_range(struct bytes *b, uint64_t vaddr, struct fde *fde)
{
	uint64_t position = vaddr + bytes_position(b);

	fde->start = position + (uint64_t)(int64_t)(int32_t)bytes_u32(b);
	fde->end = fde->start + (uint64_t)(int64_t)(int32_t)bytes_u32(b);
}

static inline bool read_fde(struct eh_frame *frame, const struct entry *entry, struct fde *fde)
{
	struct bytes *b = &fde->program;
	const struct cie *cie;

	*b = entry->body;
	if (frame->cies.count && entry->cie_offset == frame->last_cie_offset)
		fde->cie = frame->last_cie;
	else
		fde->cie = intern_cie(frame, entry->cie_offset);
	cie = &frame->cies.items[fde->cie];
	if (!cie->usable)
		return false;
	if (cie->pc_encoding == (POINTER_PC_RELATIVE | POINTER_S32)) {
		read_short_range(b, cie->section_vaddr, fde);
	} else {
		fde->start = pointer_read(b, cie->pc_encoding, cie->section_vaddr,
					  frame->section.text);
		fde->end = fde->start + pointer_read_form(b, cie->pc_encoding);
	}
	if (cie->has_augmentation_size)
		bytes_skip(b, bytes_uleb(b));
	return !b->failed && fde->end >= fde->start;
}

/* The start of the usual FDE: numbers of 4 bytes, the code's start pc-relative. */
struct usual_fde {
	uint32_t length, cie;
	int32_t start, size;
	uint8_t augmentation_size; /* LEB128 */
} __attribute__((packed));

/*
 * Reads a usual FDE of the same CIE as the one before. Returns false for any other: use
 * read_entry().
 */
static inline bool read_usual_fde(const struct eh_frame *frame, uint64_t offset, struct fde *fde)
{
	const struct cfi_section *section = &frame->section;
	const uint64_t to_id = offsetof(struct usual_fde, cie), size = sizeof(struct usual_fde);
	struct usual_fde head;
	uint64_t end;

	if (!frame->last_cie_is_usual || offset > section->size || section->size - offset < size)
		return false;
	if (!need(frame, offset, size))
		return false;
	memcpy(&head, section->data + offset, size);
	end = to_id + head.length;
	if (head.length == LENGTH_64 || end > section->size - offset || !head.cie ||
	    offset + to_id - head.cie != frame->last_cie_offset || head.size < 0 ||
	    head.augmentation_size >= 0x80 || size + head.augmentation_size > end)
		return false;
	fde->cie = frame->last_cie;
	fde->start = section->vaddr + offset + offsetof(struct usual_fde, start);
	fde->start += (uint64_t)(int64_t)head.start;
	fde->end = fde->start + (uint64_t)head.size;
	bytes_init(&fde->program, section->data, offset + end);
	fde->program.at += offset + size + head.augmentation_size;
	return fde->end >= fde->start;
}

/* Returns true if the entry points to an FDE of the code it lists. */
static bool read_place(struct eh_frame *frame, const struct fde_place *place, struct fde *fde)
{
	uint64_t offset = place->vaddr - frame->section.vaddr;
	struct entry entry;

	if (read_usual_fde(frame, offset, fde))
		return fde->start == place->start;
	return read_entry(frame, offset, &entry) && !entry.is_terminator && !entry.is_cie &&
	       read_fde(frame, &entry, fde) && fde->start == place->start;
}

/*
 * Returns true if the first, the last and a middle entry of the table point to the FDEs of their
 * code.
 */
static bool table_is_true(struct eh_frame *frame)
{
	size_t entry_size = frame->hdr.is_wide ? 16 : 8;
	uint64_t samples[] = {0, frame->hdr.count / 2, frame->hdr.count - 1};

	for (size_t i = 0; i < sizeof(samples) / sizeof(samples[0]); i++) {
		struct eh_frame_hdr hdr = frame->hdr;
		struct fde_place place;
		struct fde fde;

		bytes_skip(&hdr.entries, samples[i] * entry_size);
		place = eh_frame_hdr_next(&hdr);
		if (!read_place(frame, &place, &fde))
			return false;
	}
	return true;
}

static int compare_places(const void *a, const void *b)
{
	const struct fde_place *left = a, *right = b;

	if (left->start != right->start)
		return left->start < right->start ? -1 : 1;
	return left->vaddr < right->vaddr ? -1 : left->vaddr > right->vaddr;
}

static void find_places(struct eh_frame *frame)
{
	bool is_sorted = true;
	struct entry entry;
	struct fde fde;

	if (!need(frame, 0, frame->section.size))
		return;
	for (uint64_t at = 0; at < frame->section.size; at = entry.end) {
		if (!read_entry(frame, at, &entry)) {
			frame->stats->malformed++;
			break;
		}
		/* crtend.o's terminator ends .eh_frame; in .debug_frame it would be padding. */
		if (entry.is_terminator && !frame->is_debug_frame)
			break;
		if (entry.is_terminator || entry.is_cie)
			continue;
		if (!read_fde(frame, &entry, &fde)) {
			frame->stats->malformed++;
			continue;
		}
		if (fde.start == fde.end)
			continue;
		if (frame->places.count && fde.start < vec_last(&frame->places).start)
			is_sorted = false;
		vec_push(&frame->places, (struct fde_place){.start = fde.start,
							    .vaddr = frame->section.vaddr + at});
	}
	if (!is_sorted)
		vec_sort(&frame->places, compare_places);
}

void eh_frame_init(struct eh_frame *frame, const struct unwind_arch *arch,
		   const struct cfi_section *section, const struct cfi_section *hdr,
		   bool is_debug_frame, struct unwind_table_stats *stats)
{
	*frame = (struct eh_frame){
		.arch = arch,
		.section = *section,
		.is_debug_frame = is_debug_frame,
		.stats = stats,
		.budget = 2 * (uint64_t)section->size,
	};
	eh_frame_hdr_read(&frame->hdr, hdr);
	if (frame->hdr.count && !table_is_true(frame))
		frame->hdr.count = 0;
	if (!frame->hdr.count)
		find_places(frame);
}

void eh_frame_release(struct eh_frame *frame)
{
	vec_release(&frame->cies);
	vec_release(&frame->cie_offsets);
	vec_release(&frame->places);
	index_release(&frame->cie_index);
}

static bool next_place(struct eh_frame *frame, struct fde_place *place)
{
	if (frame->hdr.count) {
		if (!bytes_left(&frame->hdr.entries))
			return false;
		*place = eh_frame_hdr_next(&frame->hdr);
		return true;
	}
	if (frame->next == frame->places.count)
		return false;
	*place = frame->places.items[frame->next++];
	return true;
}

bool eh_frame_next(struct eh_frame *frame, struct fde *fde)
{
	struct fde_place place;

	while (next_place(frame, &place)) {
		/* Only a sample of the table was checked: other entries may be forged. */
		if (!read_place(frame, &place, fde)) {
			frame->stats->malformed++;
			continue;
		}
		if (fde->start == fde->end)
			continue;
		if (bytes_left(&fde->program) > frame->budget) {
			frame->stats->malformed++;
			return false;
		}
		frame->budget -= bytes_left(&fde->program);
		frame->stats->fdes++;
		return true;
	}
	return false;
}

static struct fde_place place_at(const struct eh_frame *frame, size_t number)
{
	struct eh_frame_hdr hdr = frame->hdr;

	if (!hdr.count)
		return frame->places.items[number];
	hdr.entries.at = hdr.entries.start;
	bytes_skip(&hdr.entries, number * (hdr.is_wide ? 16 : 8));
	return eh_frame_hdr_next(&hdr);
}

/*
 * Finds the last FDE that begins at or before a vaddr, independent of eh_frame_next(). If the
 * section is paged, does not load its program. Returns false if there is none.
 */
static bool eh_frame_find(struct eh_frame *frame, uint64_t vaddr, struct fde *fde)
{
	size_t low = 0, high = frame->hdr.count ? frame->hdr.count : frame->places.count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (place_at(frame, middle).start <= vaddr)
			low = middle + 1;
		else
			high = middle;
	}
	/* Linkers leave empty FDEs of dropped functions at the start of the next one. */
	for (size_t tries = 0; low && tries < MAX_EMPTY_FDES; tries++) {
		struct fde_place place = place_at(frame, --low);

		if (read_place(frame, &place, fde) && fde->start < fde->end)
			return vaddr >= fde->start;
	}
	return false;
}

const struct cie *eh_frame_cie(const struct eh_frame *frame, const struct fde *fde)
{
	return &frame->cies.items[fde->cie];
}
