/* SPDX-License-Identifier: MIT */
#include "lib/stream/session/tasks/tasks.h"

#include "lib/stream/record/records.h"

/* Samples of a thread in a period in which its process had one user. */
struct stretch {
	uint64_t user;
	thread_id row;
	uint64_t from, until; /* until 0: to the end */
};

struct stretches {
	VEC(struct stretch) rows;
};

ORDER(compare_users, struct stretch,
      COMPARE(a->user, b->user) ?: COMPARE(a->row, b->row) ?: COMPARE(a->from, b->from))

static void split_row(struct stretches *s, thread_id id, const struct process *process)
{
	struct stretch stretch = {.user = process->first_user, .row = id};

	vec_for_each(&process->users, const struct user_change *, change) {
		if (change->since > stretch.from) {
			stretch.until = change->since;
			vec_push(&s->rows, stretch);
			stretch.from = change->since;
		}
		stretch.user = change->user;
	}
	stretch.until = 0;
	vec_push(&s->rows, stretch);
}

static void split_rows(struct stretches *s, struct tasks *t)
{
	struct threads *threads = &t->profile->threads;

	for (thread_id id = 0; id < threads->rows.count; id++)
		split_row(s, id, tasks_process_of(t, id));
	vec_sort(&s->rows, compare_users);
}

struct marks {
	struct profile *profile;
	uint32_t round; /* number of the current user */
	uint32_t *stacks, *modules; /* by id: last round that visited the stack or module */
};

static void mark_stack(struct marks *m, stack_id stack, uint64_t user)
{
	while (stack != NO_STACK && m->stacks[stack] != m->round) {
		const struct stack *row = &m->profile->stacks.rows.items[stack];
		module_id id = m->profile->frames.rows.items[row->frame].module;

		m->stacks[stack] = m->round;
		stack = row->parent;
		if (id == NO_MODULE || m->modules[id] == m->round)
			continue;
		m->modules[id] = m->round;
		if (!module_is_kernel(modules_get(&m->profile->modules, id)))
			vec_push(&modules_get(&m->profile->modules, id)->users.rows,
				 (struct reader){(uint32_t)user, (uint32_t)(user >> 32)});
	}
}

static void mark_stretch(struct marks *m, const struct stretch *stretch)
{
	const struct samples *samples = &threads_get(&m->profile->threads, stretch->row)->samples;
	_cleanup_(sample_iterator_release) struct sample_iterator it =
		stretch->from ? samples_after(samples, stretch->from - 1) : samples_begin(samples);
	const struct sample *sample;

	while ((sample = sample_iterator_next(&it)) &&
	       (!stretch->until || sample->time < stretch->until))
		mark_stack(m, sample->stack, stretch->user);
}

void module_users_find(struct tasks *t)
{
	struct profile *p = t->profile;
	_cleanup_free_ uint32_t *stacks = xcalloc(p->stacks.rows.count + 1, sizeof(*stacks));
	_cleanup_free_ uint32_t *modules = xcalloc(p->modules.rows.count + 1, sizeof(*modules));
	struct marks marks = {.profile = p, .stacks = stacks, .modules = modules};
	struct stretches all = {0};

	split_rows(&all, t);
	for (size_t i = 0; i < all.rows.count; i++) {
		const struct stretch *it = &all.rows.items[i];

		if (!i || it[-1].user != it->user)
			marks.round++;
		mark_stretch(&marks, it);
	}
	vec_release(&all.rows);
}

/* No module has more sections with sampled code. */
#define MAX_SECTIONS 64
#define MAX_SYMBOLS 16384

#define SAME_KIND(kind) \
	_Static_assert((int)MODULE_##kind == (int)PROFILE_MODULE_##kind, \
		       "kinds of modules are taken from records as they are")
SAME_KIND(FILE);
SAME_KIND(VDSO);
SAME_KIND(KERNEL);
SAME_KIND(KERNEL_MODULE);
SAME_KIND(KERNEL_DYNAMIC);
SAME_KIND(ANON);
SAME_KIND(KIND_COUNT);
_Static_assert(sizeof(((struct module *)NULL)->build_id) == REC_BUILD_ID_MAX,
	       "build ids of records fit");

INDEX_HAS(key_equal, struct modules, rows, file_key)

module_id module_map_find(const struct module_map *m, uint32_t key)
{
	if (key == NO_REC_MODULE)
		return NO_MODULE;
	return index_find(&m->by_key, hash_u64(key), key_equal, &m->profile->modules, &key);
}

/*
 * The kernel's suffix for unlinked files is not part of the name. The path keeps it, so that no
 * existing file of that path is taken for the mapped one.
 */
static bool was_deleted(const struct rec_module *rec, const char *path, size_t size)
{
	const size_t suffix = sizeof(PATH_DELETED) - 1;

	return !(rec->rec.flags & MODULE_NAMED_DELETED) && size > suffix &&
	       memcmp(path + size - suffix, PATH_DELETED, suffix) == 0;
}

/* Returns the last component of the path; the whole name of a pseudo file ("[vdso]"). */
static string_id module_name(struct strings *strings, const char *path, size_t size)
{
	size_t start = size;

	while (start && path[start - 1] != '/')
		start--;
	if (start == size || path[0] == '[')
		start = 0;
	return strings_intern_sized(strings, path + start, size - start);
}

/* True for a repeated module: captures repeat them for readers that start later. */
static bool is_same(const struct module_map *m, module_id id, const struct rec_module *rec,
		    string_id path)
{
	const struct module *module = modules_get(&m->profile->modules, id);

	return module->path == path && module->base == rec->base &&
	       module->build_id_size == rec->build_id_size &&
	       !memcmp(module->build_id, rec->build_id, rec->build_id_size) &&
	       module->contents == rec_module_contents(rec) && (int)module->kind == rec->kind;
}

static enum module_opening opening_of(const struct rec_module *rec)
{
	if (!(rec->rec.flags & MODULE_UNOPENED))
		return MODULE_OPENED;
	if (rec->rec.flags & MODULE_SILENT)
		return MODULE_FILES_SILENT;
	return rec->rec.flags & MODULE_ENDED ? MODULE_PROCESS_ENDED : MODULE_NOT_OPENED;
}

static void set_segments(struct module *module, const struct rec_module *rec)
{
	vec_clear(&module->segments);
	vec_reserve(&module->segments, rec->segment_count);
	for (uint16_t i = 0; i < rec->segment_count; i++) {
		const struct rec_segment *from = &rec->segments[i];
		struct module_segment segment = {
			.file_offset = from->file_offset,
			.file_size = from->file_size,
			.vaddr = from->vaddr,
			.executable = from->executable,
		};

		vec_push(&module->segments, segment);
	}
}

/* True if the record completes that row, whose samples so far are from the same file. */
static bool completes(const struct module_map *m, module_id id, const struct rec_module *rec)
{
	return rec->rec.flags & MODULE_COMPLETED &&
	       modules_get(&m->profile->modules, id)->opening != MODULE_OPENED;
}

static module_id add_row(struct module_map *m, const struct rec_module *rec)
{
	module_id id = modules_add(&m->profile->modules,
				   rec->kind < MODULE_KIND_COUNT
					   ? (enum profile_module_kind)rec->kind
					   : PROFILE_MODULE_FILE,
				   NO_STRING, NO_STRING);

	modules_get(&m->profile->modules, id)->file_key = rec->module_id;
	index_add(&m->by_key, hash_u64(rec->module_id), id);
	return id;
}

void module_map_add(struct module_map *m, const struct rec_module *rec)
{
	struct strings *strings = &m->profile->strings;
	const char *path = rec_module_path(rec);
	size_t size = strnlen(path, rec->path_size), name_end;
	module_id id = module_map_find(m, rec->module_id);
	bool is_completed = id != NO_MODULE && completes(m, id, rec);
	struct module *module;
	string_id path_id;

	if (rec->module_id == NO_REC_MODULE)
		return;
	if (!size) {
		path = "[unknown]";
		size = strlen(path);
	}
	path_id = strings_intern_sized(strings, path, size);
	if (id != NO_MODULE && !is_completed) {
		if (is_same(m, id, rec, path_id))
			return;
		index_remove(&m->by_key, hash_u64(rec->module_id), id);
	}
	if (!is_completed)
		id = add_row(m, rec);
	name_end = was_deleted(rec, path, size) ? size - strlen(PATH_DELETED) : size;
	module = modules_get(&m->profile->modules, id);
	module->path = path_id;
	module->name = module_name(strings, path, name_end);
	module->was_deleted = name_end < size;
	module->opening = opening_of(rec);
	module->machine = rec->machine;
	module->base = rec->base;
	module->build_id_size = rec->build_id_size;
	memcpy(module->build_id, rec->build_id, rec->build_id_size);
	module->contents = rec_module_contents(rec);
	set_segments(module, rec);
}

void module_map_add_section(struct module_map *m, const struct rec_section *rec)
{
	module_id id = module_map_find(m, rec->module_id);
	struct module_section section = {.offset = rec->offset};
	struct module *module;

	/* Sections that contain code have no such long names. */
	if (id == NO_MODULE || rec->name_size >= sizeof(section.name))
		return;
	module = modules_get(&m->profile->modules, id);
	memcpy(section.name, rec->name, rec->name_size);
	if (module->sections.count < MAX_SECTIONS)
		vec_push(&module->sections, section);
}

void module_map_add_symbol(struct module_map *m, const struct rec_symbol *rec)
{
	module_id id = module_map_find(m, rec->module_id);
	struct module *module;

	if (id == NO_MODULE || !rec->name_size)
		return;
	module = modules_get(&m->profile->modules, id);
	if (module->symbols.count < MAX_SYMBOLS)
		module_add_symbol(module, rec->offset, rec->size, rec->name, rec->name_size);
}
