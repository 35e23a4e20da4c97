/* SPDX-License-Identifier: MIT */
#include "lib/live/process/module_registry.h"

#include <elf.h>
#include <sys/sysmacros.h>

#include "lib/code/binary/binary.h"
#include "lib/code/binary/vdso.h"
#include "lib/live/process/file_opener.h"
#include "lib/live/process/process_root.h"
#include "lib/stream/record/records.h"

/*
 * A mapped file that could not be opened yet, usually because its process had already ended. It is
 * retried with other processes that have it mapped.
 */

struct unopened_file {
	struct map_event event; /* event of the first mapping; its path is owned */
	/* The last mapping tried. */
	uint32_t tried_pid;
	uint64_t tried_start;
	uint32_t tries; /* attempts with processes that were alive */
};

/* Maximum number of failures with living processes before a file is abandoned. */
#define TRIES_MAX 256

/* Copies the event with its path. */
static struct unopened_file *unopened_file_new(const struct map_event *event)
{
	struct unopened_file *u = xcalloc(1, sizeof(*u));

	u->event = *event;
	u->event.path = xstrdup(event->path);
	return u;
}

/* Accepts NULL. */
static void unopened_file_free(struct unopened_file *u)
{
	if (u)
		free((char *)u->event.path);
	free(u);
}

/* Identifies a file without a build id by inode and path. */
static uint64_t unopened_file_hash(const struct map_event *event)
{
	return hash_pair(
		hash_bytes(event->path, strlen(event->path), event->inode_generation),
		hash_pair(event->inode, hash_pair(event->device_major, event->device_minor)));
}

static bool unopened_file_equal(const struct unopened_file *u, const struct map_event *event)
{
	const struct map_event *own = &u->event;

	return own->inode == event->inode && own->inode_generation == event->inode_generation &&
	       own->device_major == event->device_major &&
	       own->device_minor == event->device_minor && strcmp(own->path, event->path) == 0;
}

/* True if the process's program has ended; a zombie no longer has one. */
static bool process_has_ended(uint32_t pid)
{
	char name[32], target[1];

	snprintf(name, sizeof(name), "/proc/%u/exe", pid);
	return readlink(name, target, sizeof(target)) < 0 && (errno == ENOENT || errno == ESRCH);
}

/* Returns true if this mapping may succeed although earlier ones failed. */
static bool unopened_file_is_worth_a_try(const struct unopened_file *u, uint32_t pid,
					 uint64_t start)
{
	return u->tries < TRIES_MAX && (u->tried_pid != pid || u->tried_start != start) &&
	       !process_has_ended(pid);
}

static void unopened_file_note_try(struct unopened_file *u, const struct map_event *event)
{
	u->tried_pid = event->pid;
	u->tried_start = event->start;
	u->tries += !process_has_ended(event->pid);
}

/* Describes another process's mapping of the file. The path is that of `u`. */
static struct map_event unopened_file_mapped(const struct unopened_file *u,
					     const struct mapping *mapping, uint32_t pid,
					     uint64_t time)
{
	struct map_event event = u->event;

	event.time = time;
	event.pid = event.tid = pid;
	event.start = mapping->start;
	event.size = mapping->end - mapping->start;
	event.file_offset = mapping->file_offset;
	return event;
}

/* ELF machine of the recorder, and so of the kernel. */
#if defined(__x86_64__)
#define OWN_MACHINE EM_X86_64
#elif defined(__aarch64__)
#define OWN_MACHINE EM_AARCH64
#else
#define OWN_MACHINE EM_NONE
#endif

struct known_module {
	uint8_t build_id[REC_BUILD_ID_MAX];
	uint8_t build_id_size;
	bool may_go; /* a file that has not been forgotten */
	struct file_identity identity; /* all zero: unknown */
	struct unopened_file *unopened; /* owned; NULL: opened, or not a file */
	uint64_t mapped_ns; /* CLOCK_MONOTONIC time of the last mapping */
};

struct module_registry {
	struct file_set *files;
	struct file_opener opener;
	record_sink_fn *sink;
	void *ctx;
	VEC(struct known_module) rows; /* modules by module_id of records */
	struct index by_build_id, by_identity;
	struct index by_inode; /* index of files that are not opened yet and have no build id */
	uint32_t unopened_count;
	bool keeps_mounts;
	uint32_t vdso[2]; /* module_id of the 64-bit and the 32-bit vDSO; NO_REC_MODULE: not seen
			     yet */
};

struct module_registry *module_registry_new(struct file_set *files, record_sink_fn *sink, void *ctx)
{
	struct module_registry *r = xcalloc(1, sizeof(*r));

	r->files = files;
	r->sink = sink;
	r->ctx = ctx;
	r->vdso[0] = r->vdso[1] = NO_REC_MODULE;
	return r;
}

void module_registry_keep_mounts(struct module_registry *r)
{
	r->keeps_mounts = true;
}

void module_registry_free(struct module_registry *r)
{
	if (!r)
		return;
	vec_for_each(&r->rows, struct known_module *, row)
		unopened_file_free(row->unopened);
	vec_release(&r->rows);
	file_opener_release(&r->opener);
	index_release(&r->by_build_id);
	index_release(&r->by_identity);
	index_release(&r->by_inode);
	free(r);
}

INDEX_EQUAL(build_id_equal, struct module_registry, rows,
	    a->build_id_size == b->build_id_size &&
		    memcmp(a->build_id, b->build_id, b->build_id_size) == 0)

static bool identity_equal(const void *table, uint32_t id, const void *key)
{
	const struct module_registry *r = table;
	const struct file_identity *a = &r->rows.items[id].identity, *b = key;

	return a->device == b->device && a->inode == b->inode && a->size == b->size &&
	       a->modified_ns == b->modified_ns;
}

static bool mapping_equal(const void *table, uint32_t id, const void *key)
{
	const struct module_registry *r = table;

	return unopened_file_equal(r->rows.items[id].unopened, key);
}

static uint64_t build_id_hash(const struct known_module *row)
{
	return hash_bytes(row->build_id, row->build_id_size, 0);
}

static uint64_t identity_hash(const struct file_identity *id)
{
	return hash_pair(hash_pair(id->device, id->inode),
			 hash_pair((uint64_t)id->size, (uint64_t)id->modified_ns));
}

static void send_module(struct module_registry *r, uint32_t id, uint64_t time,
			const struct special_module *what, const struct binary_summary *summary)
{
	size_t path_size = strnlen(what->path, 4096);
	unsigned int count = (unsigned int)summary->segment_count;
	size_t size = rec_module_size(count, path_size);
	_cleanup_free_ struct rec_module *rec = xcalloc(1, size);

	record_init(&rec->rec, REC_MODULE, size, time, 0, 0);
	rec->rec.flags = what->flags;
	rec->module_id = id;
	rec->kind = what->kind;
	rec->build_id_size = what->build_id_size;
	if (what->build_id_size)
		memcpy(rec->build_id, what->build_id, what->build_id_size);
	else
		memcpy(rec->build_id, &what->contents, sizeof(what->contents));
	rec->segment_count = count;
	rec->base = what->base;
	rec->machine = summary->machine;
	rec->path_size = path_size;
	for (unsigned int i = 0; i < count; i++) {
		rec->segments[i].file_offset = summary->segments[i].file_offset;
		rec->segments[i].file_size = summary->segments[i].file_size;
		rec->segments[i].vaddr = summary->segments[i].vaddr;
		rec->segments[i].executable = summary->segments[i].executable;
	}
	memcpy(&rec->segments[count], what->path, path_size);
	r->sink(r->ctx, &rec->rec);
}

/* Fills in the row, keeps what->fd for that process (0: for all), and sends the record. */
static void set_module(struct module_registry *r, uint32_t id, uint64_t time,
		       const struct special_module *what, const struct binary_summary *summary,
		       const struct file_identity *identity, uint32_t pid)
{
	struct known_module *row = &r->rows.items[id];

	if (what->build_id_size && !row->build_id_size) {
		row->build_id_size = what->build_id_size;
		memcpy(row->build_id, what->build_id, sizeof(row->build_id));
		index_add(&r->by_build_id, build_id_hash(row), id);
	}
	if (identity) {
		row->identity = *identity;
		index_add(&r->by_identity, identity_hash(identity), id);
	}
	if (what->fd >= 0 && pid)
		file_set_add_for(r->files, id, pid, what->fd);
	else if (what->fd >= 0)
		file_set_add(r->files, id, what->fd);
	send_module(r, id, time, what, summary);
}

static uint32_t add_row(struct module_registry *r, enum module_kind kind)
{
	vec_push(&r->rows, (struct known_module){.may_go = kind == MODULE_FILE});
	return (uint32_t)r->rows.count - 1;
}

uint32_t module_registry_add_special(struct module_registry *r, uint64_t time,
				     const struct special_module *special)
{
	struct binary_summary none = {.machine = OWN_MACHINE};
	uint32_t id = add_row(r, special->kind);

	set_module(r, id, time, special, &none, NULL, 0);
	return id;
}

/*
 * Resolves to the vDSO: all 64-bit processes share the recorder's own. All 32-bit ones share
 * another, near the end of their address space.
 */
static uint32_t resolve_vdso(struct module_registry *r, const struct map_event *event)
{
	bool is_32bit = event->start <= UINT32_MAX;
	uint32_t *id = &r->vdso[is_32bit];

	struct special_module what = {.kind = MODULE_VDSO, .path = "[vdso]"};
	struct binary_summary summary = {0};

	if (*id != NO_REC_MODULE) {
		file_set_use(r->files, *id, event->pid);
		return *id;
	}
	what.fd = is_32bit ? vdso_open_32bit(NULL) : vdso_open(NULL);
	if (what.fd >= 0 && binary_summarize(what.fd, &summary, NULL) == 0) {
		what.build_id_size = summary.build_id_size;
		memcpy(what.build_id, summary.build_id, sizeof(what.build_id));
	}
	*id = add_row(r, MODULE_VDSO);
	set_module(r, *id, event->time, &what, &summary, NULL, 0);
	binary_summary_release(&summary);
	return *id;
}

/* Returns true for the kernel's placeholder names of memory without a file. */
static bool is_anonymous(const char *path)
{
	return path[0] != '/' || text_starts_with(path, "//") ||
	       text_starts_with(path, "/dev/zero") || text_starts_with(path, "/SYSV");
}

static uint32_t find_by_build_id(const struct module_registry *r, const uint8_t *build_id,
				 uint8_t size)
{
	struct known_module wanted = {.build_id_size = size};

	if (!size)
		return INDEX_NONE;
	memcpy(wanted.build_id, build_id, sizeof(wanted.build_id));
	return index_find(&r->by_build_id, build_id_hash(&wanted), build_id_equal, r, &wanted);
}

/* Returns the row of a known file that is not open yet; INDEX_NONE if there is none. */
static uint32_t find_unopened(const struct module_registry *r, const struct map_event *event,
			      const uint8_t *build_id, uint8_t build_id_size)
{
	uint32_t id = INDEX_NONE;

	if (!event->build_id_size && event->inode)
		id = index_find(&r->by_inode, unopened_file_hash(event), mapping_equal, r, event);
	if (id == INDEX_NONE)
		id = find_by_build_id(r, build_id, build_id_size);
	return id == INDEX_NONE || r->rows.items[id].unopened ? id : INDEX_NONE;
}

static bool is_by_inode(const struct unopened_file *u)
{
	return !u->event.build_id_size && u->event.inode;
}

/* Ends the attempts, because the file was opened or is dropped. */
static void end_unopened(struct module_registry *r, uint32_t id)
{
	struct unopened_file *unopened = steal(r->rows.items[id].unopened);

	if (!unopened)
		return;
	if (is_by_inode(unopened))
		index_remove(&r->by_inode, unopened_file_hash(&unopened->event), id);
	unopened_file_free(unopened);
	r->unopened_count--;
}

static uint32_t add_unopened(struct module_registry *r, const struct map_event *event, int failure)
{
	static const struct binary_summary none;
	struct unopened_file *unopened = unopened_file_new(event);
	struct special_module what = {
		.kind = MODULE_FILE,
		.path = event->path,
		.fd = -1,
		.build_id_size = event->build_id_size,
		.flags = MODULE_UNOPENED,
	};
	uint32_t id = add_row(r, MODULE_FILE);

	r->rows.items[id].unopened = unopened;
	r->unopened_count++;
	if (is_by_inode(unopened))
		index_add(&r->by_inode, unopened_file_hash(event), id);
	if (failure == -ETIMEDOUT)
		what.flags |= MODULE_SILENT;
	else if (process_has_ended(event->pid))
		what.flags |= MODULE_ENDED;
	memcpy(what.build_id, event->build_id, sizeof(event->build_id));
	set_module(r, id, event->time, &what, &none, NULL, 0);
	return id;
}

/* Returns the file's row, which waits for a process that allows the file to be opened. */
static uint32_t take_failure(struct module_registry *r, const struct map_event *event, int failure)
{
	uint32_t id = find_unopened(r, event, event->build_id, event->build_id_size);

	log_debug("cannot open %s of pid %u: %s", event->path, event->pid, strerror(-failure));
	if (id == INDEX_NONE)
		id = add_unopened(r, event, failure);
	unopened_file_note_try(r->rows.items[id].unopened, event);
	return id;
}

/* Returns the file's row: that of earlier, failed attempts, or a new one. */
static uint32_t take_opened(struct module_registry *r, const struct map_event *event, int fd,
			    const struct opened_file *opened)
{
	const struct binary_summary *summary = &opened->summary;
	uint32_t id = find_unopened(r, event, summary->build_id, summary->build_id_size);
	struct special_module what = {
		.kind = MODULE_FILE,
		.path = event->path,
		.fd = fd,
		.build_id_size = summary->build_id_size,
		.flags = opened->has_path ? MODULE_NAMED_DELETED : 0,
	};

	memcpy(what.build_id, summary->build_id, sizeof(what.build_id));
	if (!what.build_id_size)
		what.contents = binary_contents_hash(fd);
	if (id == INDEX_NONE) {
		id = add_row(r, MODULE_FILE);
	} else {
		end_unopened(r, id);
		what.flags |= MODULE_COMPLETED;
	}
	set_module(r, id, event->time, &what, summary, &opened->identity, event->pid);
	/* The process's root contains the debug files and sources of the module. */
	process_root_keep_for_module(r->files, id, event->pid, r->keeps_mounts);
	return id;
}

static uint32_t resolve_file(struct module_registry *r, const struct map_event *event)
{
	struct mapped_file file = {
		.pid = event->pid,
		.start = event->start,
		.end = event->start + event->size,
		.path = event->path,
		.build_id = event->build_id,
		.build_id_size = event->build_id_size,
		.inode = event->inode,
		.device = makedev(event->device_major, event->device_minor),
	};
	struct opened_file opened = {0};
	int fd = file_opener_open(&r->opener, &file, &opened);
	uint32_t id;

	if (fd < 0)
		return take_failure(r, event, fd);
	id = index_find(&r->by_identity, identity_hash(&opened.identity), identity_equal, r,
			&opened.identity);
	if (id != INDEX_NONE) {
		close(fd);
		file_set_use(r->files, id, event->pid);
	} else if (!opened.summary.segment_count && text_starts_with(event->path, "/memfd:")) {
		/* Memory of a just-in-time compiler, not a file with code. */
		close(fd);
		id = NO_REC_MODULE;
	} else {
		id = take_opened(r, event, fd, &opened);
	}
	binary_summary_release(&opened.summary);
	return id;
}

static bool is_worth_a_try(const struct known_module *row, uint32_t pid, uint64_t start)
{
	return row->unopened && unopened_file_is_worth_a_try(row->unopened, pid, start);
}

static uint32_t resolve(struct module_registry *r, const struct map_event *event)
{
	uint32_t id;

	if (strcmp(event->path, "[vdso]") == 0)
		return resolve_vdso(r, event);
	if (is_anonymous(event->path))
		return NO_REC_MODULE;
	id = find_by_build_id(r, event->build_id, event->build_id_size);
	if (id == INDEX_NONE || is_worth_a_try(&r->rows.items[id], event->pid, event->start))
		return resolve_file(r, event);
	file_set_use(r->files, id, event->pid);
	return id;
}

bool module_registry_has_unopened(const struct module_registry *r)
{
	return r->unopened_count;
}

bool module_registry_is_unopened(const struct module_registry *r, uint32_t id)
{
	return id < r->rows.count && r->rows.items[id].unopened;
}

void module_registry_inherit(struct module_registry *r, const struct mapping *mapping, uint32_t pid,
			     uint64_t time)
{
	uint32_t id = mapping->module;
	_cleanup_free_ char *path = NULL;
	struct map_event event;

	if (id >= r->rows.count || !is_worth_a_try(&r->rows.items[id], pid, mapping->start))
		return;
	event = unopened_file_mapped(r->rows.items[id].unopened, mapping, pid, time);
	/* Opening the file frees the event's own path. */
	event.path = path = xstrdup(event.path);
	resolve_file(r, &event);
}

uint32_t module_registry_resolve(struct module_registry *r, const struct map_event *event)
{
	uint32_t id = resolve(r, event);

	if (id != NO_REC_MODULE)
		r->rows.items[id].mapped_ns = event->time;
	return id;
}

static void forget(struct module_registry *r, uint32_t id, uint64_t now_ns)
{
	struct known_module *row = &r->rows.items[id];
	struct rec_gone rec = {.module_id = id};

	if (row->build_id_size)
		index_remove(&r->by_build_id, build_id_hash(row), id);
	if (row->identity.inode)
		index_remove(&r->by_identity, identity_hash(&row->identity), id);
	end_unopened(r, id);
	row->may_go = false;
	file_set_remove(r->files, id);
	record_init(&rec.rec, REC_GONE, sizeof(rec), now_ns, 0, 0);
	r->sink(r->ctx, &rec.rec);
}

void module_registry_forget(struct module_registry *r, uint64_t since_ns, uint64_t now_ns,
			    const struct module_users *users)
{
	for (uint32_t id = 0; id < r->rows.count; id++) {
		const struct known_module *row = &r->rows.items[id];

		if (!row->may_go || row->mapped_ns >= since_ns ||
		    users->is_used(users->ctx, id, since_ns))
			continue;
		users->forget(users->ctx, id);
		forget(r, id, now_ns);
	}
}
