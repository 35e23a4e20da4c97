/* SPDX-License-Identifier: MIT */
#include "lib/live/process/identity_cache.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

struct key {
	const struct scan_view *view;
	const struct map_event *event;
};

void identity_cache_release(struct identity_cache *c)
{
	vec_release(&c->rows);
	index_release(&c->index);
	strbuf_release(&c->paths);
}

struct scan_view scan_view_of(uint32_t pid)
{
	struct scan_view view = {0};
	struct stat root, mounts;
	char path[32];

	snprintf(path, sizeof(path), "/proc/%u/root", pid);
	if (stat(path, &root))
		return view;
	snprintf(path, sizeof(path), "/proc/%u/ns/mnt", pid);
	if (stat(path, &mounts))
		return view;
	return (struct scan_view){root.st_dev, root.st_ino, mounts.st_ino};
}

static bool file_equal(const void *table, uint32_t id, const void *key)
{
	const struct identity_cache *c = table;
	const struct scan_file *row = &c->rows.items[id];
	const struct key *k = key;

	return row->inode == k->event->inode && row->device_major == k->event->device_major &&
	       row->device_minor == k->event->device_minor &&
	       row->view.root_device == k->view->root_device &&
	       row->view.root_inode == k->view->root_inode && row->view.mounts == k->view->mounts &&
	       strcmp(c->paths.text + row->path, k->event->path) == 0;
}

uint32_t identity_cache_resolve(struct identity_cache *c, struct module_registry *modules,
				const struct scan_view *view, const struct map_event *event)
{
	const struct key key = {view, event};
	struct scan_file row = {
		.view = *view,
		.inode = event->inode,
		.device_major = event->device_major,
		.device_minor = event->device_minor,
		.path = c->paths.size,
	};
	uint64_t hash = hash_pair(hash_bytes(event->path, strlen(event->path), view->mounts),
				  event->inode);
	uint32_t id;

	if (!event->inode || !view->mounts)
		return module_registry_resolve(modules, event);
	id = index_find(&c->index, hash, file_equal, c, &key);
	if (id != INDEX_NONE)
		return c->rows.items[id].module_id;
	row.module_id = module_registry_resolve(modules, event);
	/* The next process may lead to it. */
	if (module_registry_is_unopened(modules, row.module_id))
		return row.module_id;
	strbuf_add(&c->paths, event->path, strlen(event->path) + 1);
	index_add(&c->index, hash, (uint32_t)c->rows.count);
	vec_push(&c->rows, row);
	return row.module_id;
}
