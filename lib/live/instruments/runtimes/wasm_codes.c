/* SPDX-License-Identifier: MIT */
#include "lib/live/instruments/runtimes/wasm_codes.h"

#include "lib/live/process/maps_walk.h"

/* Data of a process's files that is searched, and bytes to read at a time. */
#define DATA_MAX ((uint64_t)32 << 20)
#define STEP ((uint64_t)128 << 10)
/* Time between searches: it doubles after each. */
#define WAIT_MIN_NS 50000000ull
#define WAIT_MAX_NS 16000000000ull
/* V8 may move code from one table to another meanwhile. */
#define TRIES 2

void wasm_codes_release(struct wasm_codes *w)
{
	wasm_modules_release(&w->modules);
}

struct search {
	struct wasm_codes *codes;
	const struct runtime *runtime;
	struct late_reader *reader;
	uint64_t addr; /* of code */
	uint64_t left; /* bytes left to read */
	uint64_t *words; /* STEP bytes */
	VEC(struct runtime_memory) data, objects; /* of files, and anonymous; ascending */
};

/*
 * Finds the data of the process's files, which includes anonymous memory right after it, and other
 * memory that it may refer to.
 */
static void read_maps(struct search *s, uint32_t pid)
{
	_cleanup_free_ char *text = proc_maps_read(pid);
	struct proc_map map;
	uint64_t file_end = 0;

	for (char *at = text; at && proc_maps_next(&at, &map);) {
		const struct runtime_memory memory = {map.start, map.end};
		bool is_file = *map.path == '/', is_data = is_file || map.start == file_end;

		file_end = is_file ? map.end : 0;
		if (!map.writable || map.executable)
			continue;
		if (is_data)
			vec_push(&s->data, memory);
		else
			vec_push(&s->objects, memory);
	}
}

static bool may_be_object(const struct search *s, uint64_t addr)
{
	size_t at = vec_count_front(&s->objects, it, it->start <= addr);

	return addr % 8 == 0 && at && addr < s->objects.items[at - 1].end;
}

static bool search_words(struct search *s, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (may_be_object(s, s->words[i]) &&
		    s->runtime->wasm->find_spaces(&s->codes->modules, s->words[i], s->addr,
						  late_reader_read, s->reader))
			return true;
	}
	return false;
}

static bool search_data(struct search *s, uint64_t start, uint64_t end)
{
	while (start < end && s->left) {
		uint64_t size = MIN(end - start, STEP);

		size = MIN(size, s->left);
		s->left -= size;
		if (late_reader_read(s->reader, start, s->words, size) && search_words(s, size / 8))
			return true;
		start += size;
	}
	return false;
}

static bool search_process(struct search *s, uint32_t pid)
{
	bool is_found = false;

	read_maps(s, pid);
	s->words = xmalloc(STEP);
	for (size_t i = 0; i < s->data.count && !is_found; i++)
		is_found = search_data(s, s->data.items[i].start, s->data.items[i].end);
	free(s->words);
	vec_release(&s->data);
	vec_release(&s->objects);
	return is_found;
}

bool wasm_codes_find(struct wasm_codes *w, const struct runtime *runtime, uint32_t pid,
		     uint64_t addr, uint64_t time, struct late_reader *reader,
		     struct sampled_code *code)
{
	if (!w->modules.spaces)
		return false;
	for (int i = 0; i < TRIES; i++) {
		late_reader_begin(reader, (pid_t)pid, i ? clock_monotonic_ns() : time);
		if (runtime->wasm->find_code(&w->modules, addr, late_reader_read, reader, code))
			return true;
	}
	return false;
}

bool wasm_codes_search(struct wasm_codes *w, const struct runtime *runtime, uint32_t pid,
		       uint64_t addr, uint64_t time, struct late_reader *reader)
{
	struct search search = {
		.codes = w, .runtime = runtime, .reader = reader, .addr = addr, .left = DATA_MAX};
	uint64_t begin = clock_monotonic_ns();
	bool is_found;

	if (!runtime->wasm || w->modules.spaces || begin < w->search_ns)
		return false;
	late_reader_begin(reader, (pid_t)pid, time);
	is_found = search_process(&search, pid);
	w->wait_ns = w->wait_ns ? 2 * w->wait_ns : WAIT_MIN_NS;
	w->wait_ns = MIN(w->wait_ns, WAIT_MAX_NS);
	w->search_ns = clock_monotonic_ns() + w->wait_ns;
	return is_found;
}

uint64_t wasm_codes_generation(struct wasm_codes *w, const struct runtime *runtime, uint32_t pid,
			       uint64_t time, struct late_reader *reader)
{
	if (!runtime->wasm || time < w->generation_ns)
		return w->generation;
	w->generation_ns = clock_monotonic_ns();
	late_reader_begin(reader, (pid_t)pid, time);
	w->generation = runtime->wasm->generation(&w->modules, late_reader_read, reader);
	return w->generation;
}
