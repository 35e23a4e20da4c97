/* SPDX-License-Identifier: MIT */
#include "lib/code/unwind/fde_ranges.h"

#include <errno.h>
#include <stdlib.h>

#include "lib/base/alloc.h"
#include "lib/base/cleanup.h"
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

	/* Few functions are asked for. */
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
	vec_for_each(&r->file.code, const struct code_range *, code) {
		if (vaddr >= code->start && vaddr < code->end)
			return code->end;
	}
	return 0;
}

bool fde_ranges_find(struct fde_ranges *r, uint64_t rva, struct fde_range *range)
{
	uint64_t vaddr = rva + r->first_vaddr, end;
	struct fde fde;

	if (!eh_frame_find(&r->frame, vaddr, &fde) || fde.start < r->first_vaddr)
		return false;
	end = code_end(r, fde.start);
	if (end > fde.end)
		end = fde.end;
	*range = (struct fde_range){
		.rva = fde.start - r->first_vaddr,
		.size = end - fde.start,
		/* Some linkers give libraries an entry, too: the beginning of their code. */
		.is_entry = r->file.has_interpreter && fde.start == r->file.entry,
	};
	return vaddr < end;
}
