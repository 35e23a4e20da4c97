/* SPDX-License-Identifier: MIT */
#include "lib/code/binary/needed.h"

#include <gelf.h>
#include <sys/param.h>

#include "lib/code/binary/handle.h"

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

/* The entries of the dynamic section. */
struct dynamic {
	Elf_Data *data; /* NULL: none */
	size_t count, next;
	size_t names; /* section of their names */
};

static void open_dynamic(const struct binary *b, struct dynamic *d)
{
	size_t size = gelf_fsize(b->elf, ELF_T_DYN, 1, EV_CURRENT);
	GElf_Shdr header;
	Elf_Scn *scn = section_of_type(b->elf, NULL, SHT_DYNAMIC, &header);
	Elf_Data *data = scn ? elf_getdata(scn, NULL) : NULL;

	*d = (struct dynamic){0};
	if (!data || !data->d_buf || !size)
		return;
	d->data = data;
	d->count = MIN(data->d_size / size, (size_t)INT32_MAX);
	d->names = header.sh_link;
}

static bool next_entry(struct dynamic *d, GElf_Dyn *entry)
{
	return d->next < d->count && gelf_getdyn(d->data, (int)d->next++, entry) &&
	       entry->d_tag != DT_NULL;
}

void binary_find_needed(const struct binary *b, struct binary_needed *needed)
{
	struct string_table names;
	struct dynamic d;
	GElf_Dyn entry;

	*needed = (struct binary_needed){0};
	open_dynamic(b, &d);
	if (!d.data)
		return;
	names = string_table_open(b->elf, d.names);
	while (next_entry(&d, &entry))
		take_entry(&entry, &names, needed);
}

bool binary_has_soname(const struct binary *b)
{
	struct dynamic d;
	GElf_Dyn entry;

	open_dynamic(b, &d);
	while (next_entry(&d, &entry)) {
		if (entry.d_tag == DT_SONAME)
			return true;
	}
	return false;
}
