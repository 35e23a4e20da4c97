/* SPDX-License-Identifier: MIT */
#include "lib/code/unwind/cfi_data.h"

#include <stdlib.h>

#include "lib/base/cleanup.h"

/* Without section headers, .eh_frame_hdr has the start of .eh_frame; its size is unknown. */
static int find_eh_frame(struct cfi_file *file, struct error *err)
{
	_cleanup_free_ uint8_t *data = NULL;
	struct cfi_section section = {.vaddr = file->eh_frame_hdr.vaddr};
	struct eh_frame_hdr hdr;
	int ret;

	if (file->eh_frame.size || !file->eh_frame_hdr.size)
		return 0;
	ret = cfi_file_read(file, &file->eh_frame_hdr, &data, &section.size, err);
	if (ret)
		return ret;
	section.data = data;
	eh_frame_hdr_read(&hdr, &section);
	file->eh_frame = cfi_file_find(file, hdr.target);
	if (file->eh_frame.size > CFI_FILE_MAX_CFI)
		file->eh_frame.size = CFI_FILE_MAX_CFI;
	return 0;
}

static int inflate(const struct cfi_file *file, struct cfi_buffer *buffer, size_t *size,
		   struct error *err)
{
	free(steal(buffer->data));
	buffer->capacity = 0;
	return cfi_file_inflate(file, &buffer->data, size, err);
}

/* Prepares to read .eh_frame page by page. */
static int page(struct cfi_data *data, const struct cfi_file *file, struct error *err)
{
	int ret = cfi_file_page(file, &file->eh_frame, &data->pages, err);

	data->cfi.data = data->pages.memory;
	data->cfi.size = data->pages.from.size;
	data->cfi.pages = data->pages.memory ? &data->pages : NULL;
	return ret;
}

/* Reads, or prepares to read, the section of CFI. */
static int read_cfi(struct cfi_data *data, const struct cfi_file *file,
		    const struct file_range *range, struct error *err)
{
	struct cfi_buffer *buffer = &data->buffers[0];
	int ret;

	if (data->by_pages && !data->is_debug_frame)
		return page(data, file, err);
	if (data->is_debug_frame && file->packed_debug_frame)
		ret = inflate(file, buffer, &data->cfi.size, err);
	else
		ret = cfi_file_read_into(file, range, buffer, &data->cfi.size, err);
	data->cfi.data = buffer->data;
	return ret;
}

int cfi_data_read(struct cfi_data *data, struct cfi_file *file, struct error *err)
{
	const struct file_range *range;
	int ret;

	data->cfi = data->hdr = (struct cfi_section){0};
	ret = find_eh_frame(file, err);
	if (ret)
		return ret;
	data->is_debug_frame = !file->eh_frame.size;
	range = data->is_debug_frame ? &file->debug_frame : &file->eh_frame;
	ret = read_cfi(data, file, range, err);
	if (ret)
		return ret;
	data->cfi.vaddr = range->vaddr;
	data->hdr.vaddr = file->eh_frame_hdr.vaddr;
	if (data->is_debug_frame)
		return 0;
	ret = cfi_file_read_into(file, &file->eh_frame_hdr, &data->buffers[1], &data->hdr.size,
				 err);
	data->hdr.data = data->buffers[1].data;
	return ret;
}

void cfi_data_release(struct cfi_data *data)
{
	free(data->buffers[0].data);
	free(data->buffers[1].data);
	free(data->pages.memory);
	paged_section_release(&data->pages);
	*data = (struct cfi_data){0};
}
