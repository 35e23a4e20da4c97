/* SPDX-License-Identifier: MIT */
#include "lib/live/instruments/runtimes/sampled_codes.h"

#include "lib/code/runtimes/v8_wasm.h"
#include "lib/live/process/maps_walk.h"

/* Names the code of WebAssembly by the tables that its engine keeps of it. */

/* Knowledge of a process. A zeroed struct is empty. */
struct wasm_codes {
	struct wasm_modules modules;
	uint64_t search_ns, wait_ns; /* time of the next search for the tables, and time between */
	uint64_t generation, generation_ns; /* number at that time */
};

/* Data of a process's files that is searched, and bytes to read at a time. */
#define DATA_MAX ((uint64_t)32 << 20)
#define STEP ((uint64_t)128 << 10)
/* Time between searches: it doubles after each. */
#define WAIT_MIN_NS 50000000ull
#define WAIT_MAX_NS 16000000000ull
/* V8 may move code from one table to another meanwhile. */
#define TRIES 2

static void wasm_codes_release(struct wasm_codes *w)
{
	wasm_modules_release(&w->modules);
}

struct wasm_search {
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
static void read_maps(struct wasm_search *s, uint32_t pid)
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

static bool may_be_object(const struct wasm_search *s, uint64_t addr)
{
	size_t at = vec_count_front(&s->objects, it, it->start <= addr);

	return addr % 8 == 0 && at && addr < s->objects.items[at - 1].end;
}

static bool search_object_words(struct wasm_search *s, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (may_be_object(s, s->words[i]) &&
		    s->runtime->wasm->find_spaces(&s->codes->modules, s->words[i], s->addr,
						  late_reader_read, s->reader))
			return true;
	}
	return false;
}

static bool search_data(struct wasm_search *s, uint64_t start, uint64_t end)
{
	while (start < end && s->left) {
		uint64_t size = MIN(end - start, STEP);

		size = MIN(size, s->left);
		s->left -= size;
		if (late_reader_read(s->reader, start, s->words, size) &&
		    search_object_words(s, size / 8))
			return true;
		start += size;
	}
	return false;
}

static bool search_process(struct wasm_search *s, uint32_t pid)
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

/*
 * Finds and names the code at an address that was seen in a process at that time. Returns false,
 * with `code` unchanged, if it is not WebAssembly, or the tables are not known yet.
 */
static bool wasm_codes_find(struct wasm_codes *w, const struct runtime *runtime, uint32_t pid,
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

/*
 * Searches the tables in the data of the process's files. Returns false if they are known already,
 * or do not have the address, which may be of other code.
 */
static bool wasm_codes_search(struct wasm_codes *w, const struct runtime *runtime, uint32_t pid,
			      uint64_t addr, uint64_t time, struct late_reader *reader)
{
	struct wasm_search search = {
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

/* Returns a number that changes when memory of known code may have been reused. */
static uint64_t wasm_codes_generation(struct wasm_codes *w, const struct runtime *runtime,
				      uint32_t pid, uint64_t time, struct late_reader *reader)
{
	if (!runtime->wasm || time < w->generation_ns)
		return w->generation;
	w->generation_ns = clock_monotonic_ns();
	late_reader_begin(reader, (pid_t)pid, time);
	w->generation = runtime->wasm->generation(&w->modules, late_reader_read, reader);
	return w->generation;
}

/* Maximum pieces of code of a process. */
#define SAMPLED_ROWS_MAX 16384
/* Part of an address that is taken for code that was not found. */
#define GRAIN 64ull
/* Interval of checks whether an address still has the same code. */
#define CHECK_NS 1000000000ull
/* V8 allocates its heap in pieces of this alignment; other memory rarely begins at one. */
#define HEAP_ALIGNMENT (256ull << 10)
#define HEAP_STEP (1ull << 20) /* bytes to read at a time */
/* Minimum time between searches of a heap, as a multiple of the duration of the last one. */
#define SEARCH_SHARE 20
/* A search may take as long as the process was seen in code without names, at this interval. */
#define SEEN_NS 1000000ull
#define SEEN_MIN 5
/* Searches for a name: a collection may move the objects meanwhile. */
#define SEARCHES_MAX 2

/* Code at [start, start + size), without a name once it has been sent. */
struct known_code {
	struct sampled_code code;
	uint64_t check_ns; /* when it was last seen there */
	uint64_t since; /* of the sample that first showed it */
	uint64_t generation; /* WebAssembly: of the code when it was last seen; else 0 */
	bool is_pending; /* not sent yet */
	bool is_searched; /* its name is being searched … */
	unsigned int searches; /* … and has been in vain */
};

struct sampled_process {
	struct runtime_layout layout;
	VEC(struct known_code) rows; /* ascending, without overlaps */
	size_t pending; /* rows that are */
	uint64_t seen; /* times that they were, since the last search */
	uint64_t cost_ns; /* duration of the last search, in all its parts */
	uint64_t search_ns; /* time of the next search of the heap, or of its rest */
	uint64_t searched; /* end of the searched part; 0: no search has begun */
	struct wasm_codes wasm;
};

struct sampled_state {
	struct sampled_process *followed; /* owned; NULL: not followed */
};

struct sampled_codes {
	struct tracker *tracker;
	struct late_reader *reader;
	struct process_state state;
	size_t count; /* followed processes */
	record_sink_fn *sink;
	void *ctx;
};

static struct sampled_state *state_of(const struct sampled_codes *s, struct live_process *process)
{
	return live_process_state(process, s->state);
}

static void release(void *ctx, struct live_process *process)
{
	struct sampled_codes *s = ctx;
	struct sampled_process *p = steal(state_of(s, process)->followed);

	if (!p)
		return;
	vec_for_each(&p->rows, struct known_code *, row)
		strbuf_release(&row->code.name);
	vec_release(&p->rows);
	wasm_codes_release(&p->wasm);
	free(p);
	s->count--;
}

/* An address seen in a process. */
struct seen {
	struct sampled_codes *s;
	struct live_process *process;
	struct sampled_process *followed;
	uint64_t time;
};

static void send(const struct seen *seen, struct known_code *row)
{
	struct strbuf *name = &row->code.name;
	size_t size = rec_code_size(0, name->size + 1);
	_cleanup_free_ struct rec_code *rec = xcalloc(1, size);

	record_init(&rec->rec, REC_CODE, size, clock_monotonic_ns(), seen->process->pid,
		    seen->process->pid);
	rec->since = row->since;
	rec->start = row->code.start;
	rec->size = row->code.size;
	rec->text_size = (uint32_t)name->size + 1;
	memcpy((char *)rec_code_text(rec), name->text, name->size);
	seen->s->sink(seen->s->ctx, &rec->rec);
	strbuf_release(name);
	row->is_pending = row->is_searched = false;
	seen->followed->pending--;
}

/* Code that is still without a name keeps its kind. */
static void name_rest(void *ctx, struct live_process *process, uint64_t time)
{
	const struct seen seen = {
		.s = ctx, .process = process, .followed = state_of(ctx, process)->followed};

	for (size_t i = 0; seen.followed && i < seen.followed->rows.count; i++) {
		if (seen.followed->rows.items[i].is_pending)
			send(&seen, &seen.followed->rows.items[i]);
	}
}

static void replace_program(void *ctx, struct live_process *process, uint64_t time)
{
	name_rest(ctx, process, time);
	release(ctx, process);
}

struct sampled_codes *sampled_codes_new(struct tracker *tracker, struct late_reader *reader,
					record_sink_fn *sink, void *ctx)
{
	static const struct process_listener listener = {
		.stage = LISTENER_HOLDS,
		.state_size = sizeof(struct sampled_state),
		.exec = replace_program,
		.exit = name_rest,
		.release = release,
	};
	struct sampled_codes *s = xcalloc(1, sizeof(*s));

	*s = (struct sampled_codes){.tracker = tracker, .reader = reader, .sink = sink, .ctx = ctx};
	s->state = live_processes_listen(tracker_processes(tracker), &listener, s);
	return s;
}

void sampled_codes_free(struct sampled_codes *s)
{
	free(s);
}

void sampled_codes_follow(struct sampled_codes *s, uint32_t pid,
			  const struct runtime_layout *layout)
{
	struct live_process *process = live_processes_find(tracker_processes(s->tracker), pid,
							   UINT64_MAX);

	if (!process || state_of(s, process)->followed)
		return;
	state_of(s, process)->followed = xcalloc(1, sizeof(struct sampled_process));
	state_of(s, process)->followed->layout = *layout;
	s->count++;
}

/* Names the code that has a holder with that word. Returns whether any is left to search. */
static bool name_at(const struct seen *seen, uint64_t word, uint64_t place)
{
	struct sampled_process *p = seen->followed;
	bool is_left = false;

	vec_for_each(&p->rows, struct known_code *, row) {
		if (!row->is_searched)
			continue;
		if ((word == row->code.holders[0] || word == row->code.holders[1]) &&
		    runtimes[p->layout.kind]->name_regexp(&p->layout, place, late_reader_read,
							  seen->s->reader, &row->code))
			send(seen, row);
		is_left |= row->is_searched;
	}
	return is_left;
}

/* A search of the heap for the holders of code. */
struct search {
	const struct seen *seen;
	VEC(uint64_t) wanted;
	uint64_t *words; /* HEAP_STEP bytes read */
	bool is_over; /* all are found */
};

static void search_words(struct search *search, uint64_t addr, size_t count)
{
	const uint64_t *end = search->wanted.items + search->wanted.count;

	for (size_t i = 0; i < count && !search->is_over; i++) {
		const uint64_t *at = search->wanted.items;

		while (at < end && *at != search->words[i])
			at++;
		if (at < end)
			search->is_over = !name_at(search->seen, *at, addr + i * 8);
	}
}

/* Returns false if there is no time for more in this second. */
static bool search_mapping(struct search *search, const struct proc_map *map)
{
	struct late_reader *reader = search->seen->s->reader;
	uint64_t *searched = &search->seen->followed->searched, refused = reader->refused;

	if (!map->writable || map->executable || *map->path || map->start % HEAP_ALIGNMENT)
		return true;
	*searched = MAX(*searched, map->start);
	while (*searched < map->end && !search->is_over) {
		uint64_t left = map->end - *searched, size = left < HEAP_STEP ? left : HEAP_STEP;

		if (late_reader_read(reader, *searched, search->words, size))
			search_words(search, *searched, size / 8);
		else if (reader->refused != refused)
			return false;
		*searched += size;
	}
	return true;
}

/* Returns true at the end of the heap, or if nothing is left to search. */
static bool search_heap(struct search *search)
{
	_cleanup_free_ char *text = proc_maps_read(search->seen->process->pid);
	struct proc_map map;

	for (char *at = text; at && !search->is_over && proc_maps_next(&at, &map);) {
		if (!search_mapping(search, &map))
			return false;
	}
	return true;
}

/* Searches the names of pending code. Code whose name is not found is named by its kind. */
static void name_pending(const struct seen *seen)
{
	struct sampled_process *p = seen->followed;
	uint64_t begin = clock_monotonic_ns();
	uint64_t needed = p->cost_ns / SEEN_NS < SEEN_MIN ? SEEN_MIN : p->cost_ns / SEEN_NS;
	struct search search = {.seen = seen};
	bool is_over;

	if (begin < p->search_ns || (!p->searched && p->seen < needed))
		return;
	if (!p->searched)
		p->seen = p->cost_ns = 0;
	vec_for_each(&p->rows, struct known_code *, row) {
		row->is_searched |= row->is_pending && !p->searched;
		for (size_t i = 0; row->is_searched && i < 2; i++) {
			if (row->code.holders[i])
				vec_push(&search.wanted, row->code.holders[i]);
		}
	}
	search.words = xmalloc(HEAP_STEP);
	late_reader_begin(seen->s->reader, (pid_t)seen->process->pid, begin);
	is_over = search_heap(&search);
	free(search.words);
	vec_release(&search.wanted);
	p->search_ns = clock_monotonic_ns();
	p->cost_ns += p->search_ns - begin;
	p->search_ns += SEARCH_SHARE * (p->search_ns - begin);
	if (!is_over)
		return;
	p->searched = 0;
	vec_for_each(&p->rows, struct known_code *, row) {
		if (row->is_searched && ++row->searches == SEARCHES_MAX)
			send(seen, row);
	}
}

/* Removes the code in [start, end). Returns the position of the next row. */
static size_t remove_rows(struct sampled_process *p, uint64_t start, uint64_t end)
{
	size_t first = vec_count_front(&p->rows, it, it->code.start + it->code.size <= start);
	size_t last = vec_count_front(&p->rows, it, it->code.start < end);

	for (size_t i = first; i < last; i++) {
		p->pending -= p->rows.items[i].is_pending;
		strbuf_release(&p->rows.items[i].code.name);
	}
	if (last > first) {
		memmove(p->rows.items + first, p->rows.items + last,
			(p->rows.count - last) * sizeof(*p->rows.items));
		p->rows.count -= last - first;
	}
	return first;
}

static struct known_code *add_row(struct sampled_process *p, const struct known_code *row)
{
	size_t at = remove_rows(p, row->code.start, row->code.start + row->code.size);

	vec_add_zeroed(&p->rows, 1);
	memmove(p->rows.items + at + 1, p->rows.items + at,
		(p->rows.count - 1 - at) * sizeof(*p->rows.items));
	p->rows.items[at] = *row;
	return &p->rows.items[at];
}

static bool is_same(const struct sampled_code *a, const struct sampled_code *b)
{
	return a->start == b->start && a->size == b->size && a->hash == b->hash &&
	       a->is_named == b->is_named;
}

/* Finds the code at an address. Returns false if there is none that is known. */
static bool find_code(const struct seen *seen, uint64_t addr, struct sampled_code *code)
{
	struct sampled_process *p = seen->followed;
	const struct runtime *runtime = runtimes[p->layout.kind];
	struct late_reader *reader = seen->s->reader;
	uint32_t pid = seen->process->pid;

	if (wasm_codes_find(&p->wasm, runtime, pid, addr, seen->time, reader, code))
		return true;
	late_reader_begin(reader, (pid_t)pid, seen->time);
	return runtime->find_regexp(&p->layout, addr, late_reader_read, reader, code) ||
	       (wasm_codes_search(&p->wasm, runtime, pid, addr, seen->time, reader) &&
		wasm_codes_find(&p->wasm, runtime, pid, addr, seen->time, reader, code));
}

static uint64_t generation_of(const struct seen *seen)
{
	struct sampled_process *p = seen->followed;

	return wasm_codes_generation(&p->wasm, runtimes[p->layout.kind], seen->process->pid,
				     seen->time, seen->s->reader);
}

static bool is_wasm(const struct sampled_code *code)
{
	return code->is_named && !code->holders[0];
}

/* Reads the code at an address that was not known, or long ago. */
static void read_code(const struct seen *seen, uint64_t addr, struct known_code *known)
{
	struct sampled_process *p = seen->followed;
	struct known_code row = {.check_ns = seen->time, .since = seen->time};

	row.generation = generation_of(seen);
	if (!find_code(seen, addr, &row.code)) {
		row.code.start = addr & ~(GRAIN - 1);
		row.code.size = GRAIN;
	}
	if (row.code.hash && !is_wasm(&row.code))
		row.generation = 0;
	if (known && is_same(&known->code, &row.code)) {
		known->check_ns = seen->time;
		known->generation = row.generation;
		strbuf_release(&row.code.name);
		return;
	}
	row.is_pending = row.code.is_named;
	p->pending += row.is_pending;
	known = add_row(p, &row);
	/* Only the name of an expression has to be searched. */
	if (is_wasm(&row.code))
		send(seen, known);
}

static bool is_old(const struct seen *seen, const struct known_code *known)
{
	return seen->time >= known->check_ns + CHECK_NS ||
	       (known->generation && known->generation != generation_of(seen));
}

static void see_addr(const struct seen *seen, uint64_t addr)
{
	struct sampled_process *p = seen->followed;
	size_t at = vec_count_front(&p->rows, it, it->code.start <= addr);
	struct known_code *known = at ? &p->rows.items[at - 1] : NULL;

	if (known && addr - known->code.start >= known->code.size)
		known = NULL;
	p->seen += known && known->is_pending;
	if (known ? is_old(seen, known)
		  : p->rows.count < SAMPLED_ROWS_MAX &&
			    tracker_is_generated(seen->s->tracker, seen->process, addr))
		read_code(seen, addr, known);
}

/* Return addresses may belong to the next function: looks one byte before. */
static void see_stack(const struct seen *seen, const struct rec_stack *stack)
{
	struct stack_body body = stack_record_body(stack);
	uint64_t addrs[USER_DEPTH_MAX];
	uint8_t kinds[USER_DEPTH_MAX];
	uint32_t count;

	if (stack->user_depth > USER_DEPTH_MAX)
		return;
	count = stack_body_unpack(&body, stack->kernel_depth, addrs, kinds);
	for (uint32_t i = 0; i < count; i++) {
		if (kinds[i] == FRAME_NATIVE)
			see_addr(seen, addrs[i] - 1);
	}
}

void sampled_codes_observe(struct sampled_codes *s, const struct rec *rec)
{
	struct seen seen = {.s = s, .time = rec->time};

	if (!s->count || (rec->kind != REC_SAMPLE && rec->kind != REC_STACK))
		return;
	seen.process = live_processes_find(tracker_processes(s->tracker), rec->pid, rec->time);
	seen.followed = seen.process ? state_of(s, seen.process)->followed : NULL;
	if (!seen.followed)
		return;
	if (rec->kind == REC_STACK)
		see_stack(&seen, (const struct rec_stack *)rec);
	else if (!(rec->flags & SAMPLE_LEAF_KERNEL))
		see_addr(&seen, ((const struct rec_sample *)rec)->leaf);
	if (seen.followed->pending)
		name_pending(&seen);
}
