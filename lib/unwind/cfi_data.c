/* SPDX-License-Identifier: MIT */
#include "lib/unwind/cfi_data.h"

#include <stdlib.h>

#include "lib/base/cleanup.h"

/* Without section headers, .eh_frame is where .eh_frame_hdr says, and reaches who knows how far. */
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

int cfi_data_read(struct cfi_data *data, struct cfi_file *file, struct error *err)
{
	const struct file_range *range;
	int ret;

	*data = (struct cfi_data){0};
	ret = find_eh_frame(file, err);
	if (ret)
		return ret;
	data->is_debug_frame = !file->eh_frame.size;
	range = data->is_debug_frame ? &file->debug_frame : &file->eh_frame;
	if (data->is_debug_frame && file->packed_debug_frame)
		ret = cfi_file_inflate(file, &data->owned[0], &data->cfi.size, err);
	else
		ret = cfi_file_read(file, range, &data->owned[0], &data->cfi.size, err);
	if (ret)
		return ret;
	data->cfi.data = data->owned[0];
	data->cfi.vaddr = range->vaddr;
	data->hdr.vaddr = file->eh_frame_hdr.vaddr;
	if (data->is_debug_frame)
		return 0;
	ret = cfi_file_read(file, &file->eh_frame_hdr, &data->owned[1], &data->hdr.size, err);
	data->hdr.data = data->owned[1];
	return ret;
}

void cfi_data_release(struct cfi_data *data)
{
	free(data->owned[0]);
	free(data->owned[1]);
}
