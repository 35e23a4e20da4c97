/* SPDX-License-Identifier: MIT */
#include "lib/live/process/module_registry.h"

#include <elf.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "lib/base/alloc.h"
#include "lib/base/cleanup.h"
#include "lib/base/index.h"
#include "lib/base/log.h"
#include "lib/base/text.h"
#include "lib/base/vec.h"
#include "lib/binary/binary.h"
#include "lib/binary/vdso.h"
#include "lib/live/process/file_opener.h"
#include "lib/live/process/process_root.h"
#include "lib/record/record.h"

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
	bool may_go; /* a file, which has not been forgotten */
	struct file_identity identity; /* all zero: never opened */
	uint64_t mapped_ns; /* when last; CLOCK_MONOTONIC */
};

struct module_registry {
	struct file_set *files;
	struct file_opener opener;
	record_sink_fn *sink;
	void *ctx;
	VEC(struct known_module) rows; /* row number = module_id of records */
	struct index by_build_id, by_identity;
	bool keeps_mounts;
	uint32_t vdso[2]; /* module_id of the 64-bit and 32-bit vDSO, NO_REC_MODULE until seen */
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
	vec_release(&r->rows);
	file_opener_release(&r->opener);
	index_release(&r->by_build_id);
	index_release(&r->by_identity);
	free(r);
}

static bool build_id_equal(const void *table, uint32_t id, const void *key)
{
	const struct module_registry *r = table;
	const struct known_module *row = &r->rows.items[id], *wanted = key;

	return row->build_id_size == wanted->build_id_size &&
	       memcmp(row->build_id, wanted->build_id, wanted->build_id_size) == 0;
}

static bool identity_equal(const void *table, uint32_t id, const void *key)
{
	const struct module_registry *r = table;
	const struct file_identity *a = &r->rows.items[id].identity, *b = key;

	return a->device == b->device && a->inode == b->inode && a->size == b->size &&
	       a->modified_ns == b->modified_ns;
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
	rec->rec.flags = what->is_named_deleted ? MODULE_NAMED_DELETED : 0;
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

/* Adds a row, keeps what->fd for that process (0: for all), sends the record. */
static uint32_t add_module(struct module_registry *r, uint64_t time,
			   const struct special_module *what, const struct binary_summary *summary,
			   const struct file_identity *identity, uint32_t pid)
{
	uint32_t id = (uint32_t)r->rows.count;
	struct known_module row = {
		.build_id_size = what->build_id_size,
		.may_go = what->kind == MODULE_FILE,
	};

	memcpy(row.build_id, what->build_id, sizeof(row.build_id));
	if (identity)
		row.identity = *identity;
	vec_push(&r->rows, row);
	if (row.build_id_size)
		index_add(&r->by_build_id, build_id_hash(&row), id);
	if (identity)
		index_add(&r->by_identity, identity_hash(identity), id);
	if (what->fd >= 0 && pid)
		file_set_add_for(r->files, id, pid, what->fd);
	else if (what->fd >= 0)
		file_set_add(r->files, id, what->fd);
	send_module(r, id, time, what, summary);
	return id;
}

uint32_t module_registry_add_special(struct module_registry *r, uint64_t time,
				     const struct special_module *special)
{
	struct binary_summary none = {.machine = OWN_MACHINE};

	return add_module(r, time, special, &none, NULL, 0);
}

/*
 * All 64-bit processes share one vDSO, the recorder's own. All 32-bit ones share another, near the
 * end of their address space.
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
	*id = add_module(r, event->time, &what, &summary, NULL, 0);
	binary_summary_release(&summary);
	return *id;
}

/* True for names that the kernel invents for memory without a file. */
static bool is_anonymous(const char *path)
{
	return path[0] != '/' || text_starts_with(path, "//") ||
	       text_starts_with(path, "/dev/zero") || text_starts_with(path, "/SYSV");
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
	struct special_module what = {.kind = MODULE_FILE, .path = event->path};
	struct opened_file opened = {0};
	uint32_t id;

	what.fd = file_opener_open(&r->opener, &file, &opened);
	if (what.fd < 0) {
		log_debug("cannot open %s of pid %u: %s", event->path, event->pid,
			  strerror(-what.fd));
		memcpy(what.build_id, event->build_id, sizeof(what.build_id));
		what.build_id_size = event->build_id_size;
		return add_module(r, event->time, &what, &opened.summary, NULL, 0);
	}
	id = index_find(&r->by_identity, identity_hash(&opened.identity), identity_equal, r,
			&opened.identity);
	if (id != INDEX_NONE) {
		close(what.fd);
		file_set_use(r->files, id, event->pid);
	} else if (!opened.summary.segment_count && text_starts_with(event->path, "/memfd:")) {
		/* Memory of a just-in-time compiler, not a file of code. */
		close(what.fd);
		id = NO_REC_MODULE;
	} else {
		memcpy(what.build_id, opened.summary.build_id, sizeof(what.build_id));
		what.build_id_size = opened.summary.build_id_size;
		if (!what.build_id_size)
			what.contents = binary_contents_hash(what.fd);
		what.is_named_deleted = opened.has_path;
		id = add_module(r, event->time, &what, &opened.summary, &opened.identity,
				event->pid);
		/* The process's root holds the debug files and sources of the module. */
		process_root_keep_for_module(r->files, id, event->pid, r->keeps_mounts);
	}
	binary_summary_release(&opened.summary);
	return id;
}

static uint32_t resolve(struct module_registry *r, const struct map_event *event)
{
	struct known_module wanted = {.build_id_size = event->build_id_size};

	if (strcmp(event->path, "[vdso]") == 0)
		return resolve_vdso(r, event);
	if (is_anonymous(event->path))
		return NO_REC_MODULE;
	if (event->build_id_size) {
		uint32_t id;

		memcpy(wanted.build_id, event->build_id, sizeof(wanted.build_id));
		id = index_find(&r->by_build_id, build_id_hash(&wanted), build_id_equal, r,
				&wanted);
		if (id != INDEX_NONE) {
			file_set_use(r->files, id, event->pid);
			return id;
		}
	}
	return resolve_file(r, event);
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
