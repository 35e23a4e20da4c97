/* SPDX-License-Identifier: MIT */
#include "lib/live/process/unopened_file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/alloc.h"
#include "lib/base/index.h"

/* After so many failures with living processes, a file is given up. */
#define TRIES_MAX 256

struct unopened_file *unopened_file_new(const struct map_event *event)
{
	struct unopened_file *u = xcalloc(1, sizeof(*u));

	u->event = *event;
	u->event.path = xstrdup(event->path);
	return u;
}

void unopened_file_free(struct unopened_file *u)
{
	if (u)
		free((char *)u->event.path);
	free(u);
}

uint64_t unopened_file_hash(const struct map_event *event)
{
	return hash_pair(
		hash_bytes(event->path, strlen(event->path), event->inode_generation),
		hash_pair(event->inode, hash_pair(event->device_major, event->device_minor)));
}

bool unopened_file_equal(const struct unopened_file *u, const struct map_event *event)
{
	const struct map_event *own = &u->event;

	return own->inode == event->inode && own->inode_generation == event->inode_generation &&
	       own->device_major == event->device_major &&
	       own->device_minor == event->device_minor && strcmp(own->path, event->path) == 0;
}

bool process_has_ended(uint32_t pid)
{
	char name[32], target[1];

	snprintf(name, sizeof(name), "/proc/%u/exe", pid);
	return readlink(name, target, sizeof(target)) < 0 && (errno == ENOENT || errno == ESRCH);
}

bool unopened_file_is_worth_a_try(const struct unopened_file *u, uint32_t pid, uint64_t start)
{
	return u->tries < TRIES_MAX && (u->tried_pid != pid || u->tried_start != start) &&
	       !process_has_ended(pid);
}

void unopened_file_note_try(struct unopened_file *u, const struct map_event *event)
{
	u->tried_pid = event->pid;
	u->tried_start = event->start;
	u->tries += !process_has_ended(event->pid);
}

struct map_event unopened_file_mapped(const struct unopened_file *u, const struct mapping *mapping,
				      uint32_t pid, uint64_t time)
{
	struct map_event event = u->event;

	event.time = time;
	event.pid = event.tid = pid;
	event.start = mapping->start;
	event.size = mapping->end - mapping->start;
	event.file_offset = mapping->file_offset;
	return event;
}
