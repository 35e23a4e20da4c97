/* SPDX-License-Identifier: MIT */
#include "lib/code/binary/binary.h"

#include <errno.h>
#include <gelf.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "lib/code/binary/handle.h"

static Elf_Scn *find_section(const struct binary *b, const char *name, GElf_Shdr *header)
{
	Elf_Scn *scn = NULL;

	while ((scn = elf_nextscn(b->elf, scn))) {
		const char *own;

		if (!gelf_getshdr(scn, header) || header->sh_type == SHT_NOBITS)
			continue;
		own = string_table_get(&b->section_names, header->sh_name);
		if (own && strcmp(own, name) == 0)
			return scn;
	}
	return NULL;
}

bool binary_section_vaddr(const struct binary *b, const char *name, uint64_t *vaddr)
{
	GElf_Shdr header;

	if (!find_section(b, name, &header))
		return false;
	*vaddr = header.sh_addr;
	return true;
}

int binary_read_section(const struct binary *b, const char *name, size_t max, uint8_t **data,
			size_t *size, struct error *err)
{
	GElf_Shdr header;
	GElf_Chdr compression;
	Elf_Scn *scn = find_section(b, name, &header);
	Elf_Data *found;

	if (!scn)
		return error_text(err, -ENOENT, "no section %s", name);
	if (header.sh_flags & SHF_COMPRESSED) {
		if (!gelf_getchdr(scn, &compression))
			return error_text(err, -ENOEXEC, "%s: %s", name, elf_errmsg(-1));
		if (compression.ch_size > max)
			return error_text(err, -EFBIG, "%s is too large", name);
		if (elf_compress(scn, 0, 0) < 0)
			return error_text(err, -ENOEXEC, "%s: %s", name, elf_errmsg(-1));
	} else if (header.sh_size > max) {
		return error_text(err, -EFBIG, "%s is too large", name);
	}
	found = elf_rawdata(scn, NULL);
	if (!found || (found->d_size && !found->d_buf))
		return error_text(err, -ENOEXEC, "%s: %s", name, elf_errmsg(-1));
	*data = xmemdup(found->d_buf, found->d_size);
	*size = found->d_size;
	return 0;
}
