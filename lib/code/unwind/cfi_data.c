/* SPDX-License-Identifier: MIT */
#include "lib/code/unwind/cfi_data.h"

/* Without section headers, .eh_frame_hdr gives the start of .eh_frame; its size is unknown. */
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

/* Prepares reading .eh_frame page by page. */
static int page(struct cfi_data *data, const struct cfi_file *file, struct error *err)
{
	int ret = cfi_file_page(file, &file->eh_frame, &data->pages, err);

	data->cfi.data = data->pages.memory;
	data->cfi.size = data->pages.from.size;
	data->cfi.pages = data->pages.memory ? &data->pages : NULL;
	return ret;
}

static int read_debug_frame(const struct cfi_file *file, struct cfi_buffer *buffer,
			    struct cfi_section *section, struct error *err)
{
	int ret = file->packed_debug_frame ? inflate(file, buffer, &section->size, err)
					   : cfi_file_read_into(file, &file->debug_frame, buffer,
								&section->size, err);

	section->data = buffer->data;
	section->vaddr = file->debug_frame.vaddr;
	return ret;
}

static int read_eh_frame(struct cfi_data *data, const struct cfi_file *file, struct error *err)
{
	int ret;

	data->cfi.vaddr = file->eh_frame.vaddr;
	if (data->by_pages)
		return page(data, file, err);
	ret = cfi_file_read_into(file, &file->eh_frame, &data->buffers[0], &data->cfi.size, err);
	data->cfi.data = data->buffers[0].data;
	return ret;
}

int cfi_data_read(struct cfi_data *data, struct cfi_file *file, struct error *err)
{
	int ret;

	data->cfi = data->hdr = data->more = (struct cfi_section){0};
	ret = find_eh_frame(file, err);
	if (ret)
		return ret;
	data->is_debug_frame = !file->eh_frame.size;
	if (data->is_debug_frame)
		return read_debug_frame(file, &data->buffers[0], &data->cfi, err);
	ret = read_eh_frame(data, file, err);
	if (ret)
		return ret;
	/* A supplement: damage in it is ignored. */
	if (file->debug_frame.size && !data->by_pages &&
	    read_debug_frame(file, &data->buffers[2], &data->more, NULL) != 0)
		data->more = (struct cfi_section){0};
	data->hdr.vaddr = file->eh_frame_hdr.vaddr;
	ret = cfi_file_read_into(file, &file->eh_frame_hdr, &data->buffers[1], &data->hdr.size,
				 err);
	data->hdr.data = data->buffers[1].data;
	return ret;
}

void cfi_data_release(struct cfi_data *data)
{
	free(data->buffers[0].data);
	free(data->buffers[1].data);
	free(data->buffers[2].data);
	free(data->pages.memory);
	paged_section_release(&data->pages);
	*data = (struct cfi_data){0};
}

uint8_t pointer_encoding(uint8_t encoding, uint8_t word)
{
	if (word == 8 || encoding == POINTER_OMITTED || encoding & POINTER_FORM)
		return encoding;
	return (encoding & POINTER_BASE) == POINTER_ALIGNED ? POINTER_FORM : encoding | POINTER_U32;
}

uint64_t pointer_read_form(struct bytes *b, uint8_t encoding)
{
	switch (encoding & POINTER_FORM) {
	case POINTER_ABSOLUTE:
	case POINTER_U64:
	case POINTER_S64:
		return bytes_u64(b);
	case POINTER_ULEB:
		return bytes_uleb(b);
	case POINTER_U16:
		return bytes_u16(b);
	case POINTER_U32:
		return bytes_u32(b);
	case POINTER_SLEB:
		return (uint64_t)bytes_sleb(b);
	case POINTER_S16:
		return (uint64_t)(int16_t)bytes_u16(b);
	case POINTER_S32:
		return (uint64_t)(int32_t)bytes_u32(b);
	default:
		b->failed = true;
		return 0;
	}
}

static void align(struct bytes *b, uint64_t vaddr)
{
	bytes_skip(b, -(vaddr + bytes_position(b)) & 7);
}

uint64_t pointer_read(struct bytes *b, uint8_t encoding, uint64_t vaddr, uint64_t base)
{
	switch (encoding & (POINTER_BASE | POINTER_INDIRECT)) {
	case 0:
		base = 0;
		break;
	case POINTER_PC_RELATIVE:
		base = vaddr + bytes_position(b);
		break;
	case POINTER_DATA_RELATIVE:
	case POINTER_TEXT_RELATIVE:
		break;
	case POINTER_ALIGNED:
		base = 0;
		align(b, vaddr);
		break;
	default:
		b->failed = true;
		return 0;
	}
	return base + pointer_read_form(b, encoding);
}

void pointer_skip(struct bytes *b, uint8_t encoding, uint64_t vaddr)
{
	if (encoding == POINTER_OMITTED)
		return;
	if ((encoding & POINTER_BASE) == POINTER_ALIGNED)
		align(b, vaddr);
	pointer_read_form(b, encoding);
}
