/* SPDX-License-Identifier: MIT */
#include "lib/query/program_names.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "lib/base/cleanup.h"

/* A row of many processes is called "cc1 × 60". */
static const char times[] = " × ";

struct finder {
	const struct profile *p;
	struct strings words; /* first ones of names */
	VEC(string_id) commons; /* by id of words: what names have in common, in programs.names */
};

static const char *name_of(const struct finder *f, thread_id thread)
{
	return strings_get(&f->p->strings, f->p->threads.rows.items[thread].process_name);
}

/* The size of a name without the number of processes that it stands for; sets that. */
static size_t split_count(const char *name, uint32_t *count)
{
	const char *at = strstr(name, times);
	unsigned long value = at ? strtoul(at + strlen(times), NULL, 10) : 0;

	*count = value > 1 && value < UINT32_MAX ? (uint32_t)value : 1;
	return at && value ? (size_t)(at - name) : strlen(name);
}

/* Kernel threads have a '/' before the distinguishing part. */
static size_t word_end(const char *name, size_t size)
{
	size_t end = 1;

	while (end < size && name[end] != ' ' && name[end] != '/')
		end++;
	return end < size ? end : size;
}

/* The start of the container in "nginx (pid 1 in 1a2b3c4d5e6f)"; `size`: there is none. */
static size_t label_start(const char *name, size_t size)
{
	const char *at = memrchr(name, '(', size);

	return at && at > name + 1 && at[-1] == ' ' ? (size_t)(at - 1 - name) : size;
}

size_t program_name_bare_size(const char *name)
{
	size_t size = strlen(name);

	return size && name[size - 1] == ')' ? label_start(name, size) : size;
}

/* The size of what both begin with, in whole words. */
static size_t common_size(const char *a, size_t a_size, const char *b, size_t b_size)
{
	size_t size = 0, end = 0;

	while (size < a_size && size < b_size && a[size] == b[size]) {
		if (a[size] == ' ')
			end = size;
		size++;
	}
	if ((size == a_size || a[size] == ' ') && (size == b_size || b[size] == ' '))
		end = size;
	/* Labels have words in common, too. */
	if (end && a[end - 1] != ')')
		end = label_start(a, end);
	return end ? end : word_end(a, a_size);
}

static void add_name(struct finder *f, struct program_names *out, const char *name, size_t size)
{
	string_id word = strings_intern_sized(&f->words, name, word_end(name, size));
	string_id before;

	if (word == f->commons.count) {
		vec_push(&f->commons, strings_intern_sized(&out->names, name, size));
		return;
	}
	before = f->commons.items[word];
	size = common_size(strings_get(&out->names, before), strings_size(&out->names, before),
			   name, size);
	f->commons.items[word] = strings_intern_sized(&out->names, name, size);
}

/* Rows of a process need not be neighbours, in files of others. */
static bool process_equal(const void *table, uint32_t id, const void *key)
{
	const struct profile_thread *row = &((const struct profile *)table)->threads.rows.items[id];
	const struct profile_thread *wanted = key;

	return row->pid == wanted->pid && row->incarnation == wanted->incarnation &&
	       row->process_name == wanted->process_name;
}

static void find_processes(struct program_names *out, const struct profile *p)
{
	struct index index = {0};

	for (thread_id i = 0; i < p->threads.rows.count; i++) {
		const struct profile_thread *row = &p->threads.rows.items[i];
		uint64_t hash = hash_pair((uint64_t)row->pid << 32 | row->incarnation,
					  row->process_name);

		out->firsts[i] = index_find(&index, hash, process_equal, p, row);
		if (out->firsts[i] == INDEX_NONE) {
			index_add(&index, hash, i);
			out->firsts[i] = i;
		}
		split_count(strings_get(&p->strings, row->process_name), &out->processes[i]);
	}
	index_release(&index);
}

void program_names_find(struct program_names *out, const struct profile *p)
{
	struct finder f = {.p = p};
	size_t count = p->threads.rows.count;
	uint32_t ignored;

	*out = (struct program_names){
		.of_threads = xcalloc(count + 1, sizeof(*out->of_threads)),
		.firsts = xcalloc(count + 1, sizeof(*out->firsts)),
		.processes = xcalloc(count + 1, sizeof(*out->processes)),
	};
	for (thread_id i = 0; i < count; i++)
		add_name(&f, out, name_of(&f, i), split_count(name_of(&f, i), &ignored));
	for (thread_id i = 0; i < count; i++) {
		const char *name = name_of(&f, i);
		size_t size = word_end(name, split_count(name, &ignored));

		out->of_threads[i] = f.commons.items[strings_intern_sized(&f.words, name, size)];
	}
	find_processes(out, p);
	strings_release(&f.words);
	vec_release(&f.commons);
}

void program_names_release(struct program_names *programs)
{
	strings_release(&programs->names);
	free(programs->of_threads);
	free(programs->firsts);
	free(programs->processes);
}
