/* SPDX-License-Identifier: MIT */
#include "lib/binary/needed.h"

#include <gelf.h>

#include "lib/binary/handle.h"

static void take_entry(const GElf_Dyn *entry, const struct string_table *names,
		       struct binary_needed *needed)
{
	const char *text = string_table_get(names, entry->d_un.d_val);

	if (!text || !*text)
		return;
	if (entry->d_tag == DT_NEEDED && needed->count < BINARY_NEEDED_MAX)
		needed->names[needed->count++] = text;
	else if (entry->d_tag == DT_RUNPATH || (entry->d_tag == DT_RPATH && !needed->run_path))
		needed->run_path = text;
}

void binary_find_needed(const struct binary *b, struct binary_needed *needed)
{
	size_t size = gelf_fsize(b->elf, ELF_T_DYN, 1, EV_CURRENT);
	struct string_table names;
	GElf_Shdr header;
	Elf_Scn *scn = section_of_type(b->elf, NULL, SHT_DYNAMIC, &header);
	Elf_Data *data = scn ? elf_getdata(scn, NULL) : NULL;

	*needed = (struct binary_needed){0};
	if (!data || !data->d_buf || !size)
		return;
	names = string_table_open(b->elf, header.sh_link);
	for (size_t i = 0; i < data->d_size / size && i < INT32_MAX; i++) {
		GElf_Dyn entry;

		if (!gelf_getdyn(data, (int)i, &entry) || entry.d_tag == DT_NULL)
			return;
		take_entry(&entry, &names, needed);
	}
}
