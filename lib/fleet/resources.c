/* SPDX-License-Identifier: MIT */
#include "lib/fleet/resources.h"

#include "lib/model/tables/markers.h"
#include "lib/stream/process/mapping.h"
#include "lib/stream/process/resource.h"

#define UNIT_SUFFIX ".service"
#define POD "pod"
/* Lengths of a uid: with dashes, and, for static pods, without. */
#define UID_SIZE 36
#define SHORT_UID_SIZE 32
#define UNKNOWN_SERVICE "unknown_service:"

void cgroup_service(const char *path, struct strbuf *service)
{
	const size_t suffix = strlen(UNIT_SUFFIX);

	for (size_t size = strlen(path); size;) {
		size_t part = size;
		const char *leaf = cgroup_leaf(path, &part);

		if (part > suffix && !memcmp(leaf + part - suffix, UNIT_SUFFIX, suffix)) {
			strbuf_add(service, leaf, part - suffix);
			return;
		}
		size = (size_t)(leaf - path);
		while (size && path[size - 1] == '/')
			size--;
	}
}

/* Returns the size of the uid at the beginning of the text; 0 if there is none. */
static size_t uid_size(const char *text)
{
	size_t size = 0;

	while (size < UID_SIZE) {
		bool is_dash = size == 8 || size == 13 || size == 18 || size == 23;

		if (is_dash ? text[size] != '-' && text[size] != '_'
			    : !isxdigit((unsigned char)text[size]))
			break;
		size++;
	}
	if (size == UID_SIZE)
		return size;
	size = strspn(text, "0123456789abcdef");
	return size == SHORT_UID_SIZE ? size : 0;
}

void cgroup_pod(const char *path, struct strbuf *pod)
{
	for (const char *at = strstr(path, POD); at; at = strstr(at + 1, POD)) {
		const char *uid = at + strlen(POD);
		size_t size = uid_size(uid);

		/* The systemd driver replaces dashes, which it cannot use there. */
		for (size_t i = 0; i < size; i++)
			strbuf_addch(pod, uid[i] == '_' ? '-' : uid[i]);
		if (size)
			return;
	}
}

/* Kinds of markers that describe a process; each has one field. */
enum stated { STATED_CGROUP, STATED_RESOURCE, STATED_COUNT };

static const char *const told_names[STATED_COUNT] = {
	[STATED_CGROUP] = "cgroup", [STATED_RESOURCE] = "resource"};

/* A process whose markers are being searched. */
struct process {
	uint32_t pid, incarnation;
	string_id stated[STATED_COUNT];
	bool is_sampled;
};

struct search {
	const struct profile *profile;
	VEC(struct process) processes;
	struct index index;
};

INDEX_EQUAL(process_equal, struct search, processes,
	    a->pid == b->pid && a->incarnation == b->incarnation)

static struct process *process_of(struct search *s, const struct profile_thread *thread)
{
	struct process process = {thread->pid, thread->incarnation, {NO_STRING, NO_STRING}, false};
	uint64_t hash = hash_pair(process.pid, process.incarnation);
	uint32_t id = index_intern(&s->index, hash, process_equal, s, &process, s->processes.count);

	if (id == s->processes.count)
		vec_push(&s->processes, process);
	return &s->processes.items[id];
}

/* Returns the schema with that name and one field; NO_SCHEMA if there is none. */
static schema_id find_schema(const struct profile *p, const char *name)
{
	const struct schemas *schemas = &p->markers.schemas;

	vec_for_each(&schemas->rows, const struct schema *, schema) {
		if (schema->field_count == 1 &&
		    strcmp(strings_get(&p->strings, schema->name), name) == 0)
			return (schema_id)(schema - schemas->rows.items);
	}
	return NO_SCHEMA;
}

static void find_stated(struct search *s, enum stated what)
{
	const struct profile *p = s->profile;
	schema_id schema = find_schema(p, told_names[what]);

	vec_for_each(&p->threads.rows, const struct profile_thread *, thread) {
		vec_for_each(&thread->markers, const struct marker *, marker) {
			const struct marker_value *value;

			if (schema == NO_SCHEMA || marker->schema != schema)
				continue;
			value = marker_value(&p->markers, marker, 0);
			if (value->type == FIELD_STRING)
				process_of(s, thread)->stated[what] = value->string;
		}
	}
}

/* In files of the Firefox Profiler, names end with the process's label. */
static char *executable_of(const struct profile *p, const struct profile_thread *thread,
			   bool has_group)
{
	const char *name = strings_get(&p->strings, thread->process_name);
	const char *label = strrchr(name, '(');
	size_t size = strlen(name);

	if (thread->process_label == NO_STRING && label && label > name + 1 && label[-1] == ' ' &&
	    name[size - 1] == ')' && (has_group || !strncmp(label, "(pid ", 5)))
		return xstrndup(name, (size_t)(label - 1 - name));
	return xstrdup(name);
}

/* Removes the service from a process's attributes and returns it; NULL if they name none. */
static char *take_attributes(const char *stated, struct fleet_resource *row)
{
	_cleanup_(strbuf_release) struct strbuf others = {0};
	struct resource resource = {0}, rest = {0};
	char *service = NULL;

	/* The file may contain anything. */
	resource_parse(&resource, stated, strlen(stated));
	vec_for_each(&resource.rows, const struct resource_attribute *, attribute) {
		if (strcmp(attribute->key, RESOURCE_SERVICE_NAME) == 0)
			service = xstrdup(attribute->value);
		else
			vec_push(&rest.rows, *attribute);
	}
	resource_write(&rest, &others);
	row->attributes = xstrdup(strbuf_text(&others));
	vec_release(&rest.rows);
	resource_release(&resource);
	return service;
}

/* Returns the systemd unit, unless it is that of the container's host. */
static char *find_service(const char *cgroup, const char *container, const char *executable)
{
	_cleanup_(strbuf_release) struct strbuf unit = {0};

	if (!container)
		cgroup_service(cgroup, &unit);
	return unit.size ? xstrdup(strbuf_text(&unit))
			 : xasprintf(UNKNOWN_SERVICE "%s", executable);
}

static const char *stated_of(const struct profile *p, const struct process *process,
			     enum stated what)
{
	string_id id = process->stated[what];

	return id == NO_STRING ? "" : strings_get(&p->strings, id);
}

static struct fleet_resource make_row(const struct profile *p, const struct profile_thread *thread,
				      const struct process *process, const char *service,
				      const char *fallback)
{
	_cleanup_(strbuf_release) struct strbuf pod = {0};
	const char *path = stated_of(p, process, STATED_CGROUP);
	const char *id = cgroup_container_id(path, strlen(path));
	struct fleet_resource row = {.executable = executable_of(p, thread, *path)};

	row.service = take_attributes(stated_of(p, process, STATED_RESOURCE), &row);
	if (service) {
		free(row.service);
		row.service = xstrdup(service);
	} else if (!row.service) {
		row.service = fallback ? xstrdup(fallback) : find_service(path, id, row.executable);
	}
	cgroup_pod(path, &pod);
	row.container = id ? xstrndup(id, CONTAINER_ID_SIZE) : xstrdup("");
	row.pod = xstrdup(strbuf_text(&pod));
	return row;
}

static void release_row(struct fleet_resource *row)
{
	free(row->service);
	free(row->executable);
	free(row->container);
	free(row->pod);
	free(row->attributes);
}

static uint64_t hash_row(const struct fleet_resource *row)
{
	return hash_pair(hash_pair(hash_bytes(row->service, strlen(row->service), 0),
				   hash_bytes(row->executable, strlen(row->executable), 0)),
			 hash_bytes(row->container, strlen(row->container), 0));
}

INDEX_EQUAL(row_equal, struct fleet_resources, rows,
	    !strcmp(a->service, b->service) && !strcmp(a->executable, b->executable) &&
		    !strcmp(a->container, b->container) && !strcmp(a->pod, b->pod) &&
		    !strcmp(a->attributes, b->attributes))

static uint32_t intern(struct fleet_resources *r, struct index *index, struct fleet_resource *row)
{
	uint64_t hash = hash_row(row);
	uint32_t id = index_find(index, hash, row_equal, r, row);

	if (id != INDEX_NONE) {
		release_row(row);
		return id;
	}
	index_add(index, hash, (uint32_t)r->rows.count);
	vec_push(&r->rows, *row);
	return (uint32_t)r->rows.count - 1;
}

static uint64_t weight_of(const struct profile_thread *thread)
{
	uint64_t weight = 0;

	samples_for_each(&thread->samples, sample)
		weight += sample->weight;
	return weight;
}

/* Merges all resources smaller than the first `max` into one more. */
static void merge_smallest(struct fleet_resources *r, size_t threads, size_t max)
{
	struct fleet_resource other = {.service = xstrdup(RESOURCE_OTHER),
				       .executable = xstrdup(RESOURCE_OTHER),
				       .container = xstrdup(""),
				       .pod = xstrdup(""),
				       .attributes = xstrdup("")};
	VEC(uint64_t) values = {0};
	uint32_t *into = xcalloc(r->rows.count, sizeof(*into));
	uint64_t least;
	size_t kept = 0;

	vec_for_each(&r->rows, const struct fleet_resource *, row)
		vec_push(&values, row->value);
	vec_sort(&values, u64_compare);
	least = values.items[values.count - (max - 1)];
	for (size_t i = 0; i < r->rows.count; i++) {
		struct fleet_resource row = r->rows.items[i];

		if (row.value >= least && kept < max - 1) {
			into[i] = (uint32_t)kept;
			r->rows.items[kept++] = row;
			continue;
		}
		into[i] = UINT32_MAX;
		other.value += row.value;
		r->merged++;
		release_row(&row);
	}
	r->rows.count = kept;
	vec_push(&r->rows, other);
	for (size_t i = 0; i < threads; i++) {
		uint32_t row = into[r->of_threads[i]];

		r->of_threads[i] = row == UINT32_MAX ? (uint32_t)kept : row;
	}
	vec_release(&values);
	free(into);
}

void fleet_resources_init(struct fleet_resources *r, const struct profile *p, const char *service,
			  const char *fallback, size_t max)
{
	size_t threads = p->threads.rows.count;
	struct search s = {.profile = p};
	struct index index = {0};

	max = max ? max : RESOURCES_MAX;
	*r = (struct fleet_resources){.of_threads = xcalloc(threads + 1, sizeof(*r->of_threads))};
	for (enum stated what = 0; what < STATED_COUNT; what++)
		find_stated(&s, what);
	for (size_t i = 0; i < threads; i++) {
		const struct profile_thread *thread = &p->threads.rows.items[i];
		struct fleet_resource row = make_row(p, thread, process_of(&s, thread), service,
						     fallback);

		r->of_threads[i] = intern(r, &index, &row);
		r->rows.items[r->of_threads[i]].value += weight_of(thread);
	}
	if (r->rows.count > max && max > 1)
		merge_smallest(r, threads, max);
	index_release(&index);
	index_release(&s.index);
	vec_release(&s.processes);
}

void fleet_resources_release(struct fleet_resources *r)
{
	vec_for_each(&r->rows, struct fleet_resource *, row)
		release_row(row);
	vec_release(&r->rows);
	free(r->of_threads);
	*r = (struct fleet_resources){0};
}

/*
 * Finds the threads with samples, and the main threads of the same processes, which hold the
 * markers.
 */
static void find_sampled(struct search *s, bool *is_kept)
{
	const struct profile *p = s->profile;
	size_t count = p->threads.rows.count;

	for (size_t i = 0; i < count; i++) {
		is_kept[i] = weight_of(&p->threads.rows.items[i]);
		if (is_kept[i])
			process_of(s, &p->threads.rows.items[i])->is_sampled = true;
	}
	for (size_t i = 0; i < count; i++) {
		const struct profile_thread *thread = &p->threads.rows.items[i];

		is_kept[i] |= thread->is_main && process_of(s, thread)->is_sampled;
	}
}

/* Keeps only the markers that find_stated() reads. */
static void keep_told(struct profile_thread *thread, const schema_id *schemas)
{
	size_t kept = 0;

	vec_for_each(&thread->markers, const struct marker *, marker) {
		bool is_kept = false;

		for (enum stated what = 0; what < STATED_COUNT; what++)
			is_kept |= marker->schema == schemas[what];
		if (is_kept)
			thread->markers.items[kept++] = *marker;
	}
	thread->markers.count = kept;
}

void fleet_resources_keep(struct profile *p)
{
	bool *is_kept = xcalloc(p->threads.rows.count + 1, sizeof(*is_kept));
	struct search s = {.profile = p};
	schema_id schemas[STATED_COUNT];

	for (enum stated what = 0; what < STATED_COUNT; what++)
		schemas[what] = find_schema(p, told_names[what]);
	find_sampled(&s, is_kept);
	threads_keep(&p->threads, is_kept);
	vec_for_each(&p->threads.rows, struct profile_thread *, thread) {
		keep_told(thread, schemas);
		thread->arguments = NO_STRING;
	}
	profile_counters_release(&p->counters);
	profile_drop_unused(p);
	index_release(&s.index);
	vec_release(&s.processes);
	free(is_kept);
}
