/* SPDX-License-Identifier: MIT */
#include "lib/live/process/exec_maps.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "lib/base/cleanup.h"
#include "lib/base/text.h"

#define MAPS_MAX (64u << 20)

/* PROCMAP_QUERY of <linux/fs.h>, which headers of older kernels lack. */
struct question {
	uint64_t size; /* size of this struct */
	uint64_t flags;
	uint64_t addr;
	uint64_t start, end, vma_flags, page_size, file_offset, inode;
	uint32_t device_major, device_minor;
	uint32_t name_size; /* in: room; out: length with the terminator, 0: no name */
	uint32_t build_id_size; /* 0: not requested */
	uint64_t name, build_id; /* pointers */
};

_Static_assert(sizeof(struct question) == 104, "as the kernel has it");

#define QUESTION _IOWR('f', 17, struct question)
#define ASK_EXECUTABLE 0x04
#define ASK_THIS_OR_NEXT 0x10

/*
 * Returns -ENOENT after the last mapping, -ESRCH if the process has ended, -ENOTTY if the kernel
 * has no PROCMAP_QUERY.
 */
static int ask(const struct exec_maps *maps, struct question *q)
{
	*q = (struct question){
		.size = sizeof(*q),
		.flags = ASK_EXECUTABLE | ASK_THIS_OR_NEXT,
		.addr = maps->next,
		.name_size = sizeof(maps->name),
		.name = (uint64_t)(uintptr_t)maps->name,
	};
	return ioctl(maps->fd, QUESTION, q) ? -errno : 0;
}

int exec_maps_open(struct exec_maps *maps, uint32_t pid, enum exec_maps_way way)
{
	char path[32];

	maps->way = way;
	maps->next = 0;
	maps->text = maps->at = NULL;
	snprintf(path, sizeof(path), "/proc/%u/maps", pid);
	maps->fd = open(path, O_RDONLY | O_CLOEXEC);
	return maps->fd < 0 ? -errno : 0;
}

void exec_maps_release(struct exec_maps *maps)
{
	if (maps->fd >= 0)
		close(steal_fd(&maps->fd));
	free(steal(maps->text));
	maps->at = NULL;
}

static void take_answer(struct exec_maps *maps, const struct question *q, struct proc_map *map)
{
	maps->next = q->end;
	*map = (struct proc_map){
		.start = q->start,
		.end = q->end,
		.file_offset = q->file_offset,
		.inode = q->inode,
		.device_major = q->device_major,
		.device_minor = q->device_minor,
		.executable = true,
		.path = q->name_size ? maps->name : "",
	};
}

static bool next_line(struct exec_maps *maps, struct proc_map *map)
{
	if (!maps->text)
		maps->at = maps->text = text_read_fd(maps->fd, MAPS_MAX, NULL);
	while (maps->at && proc_maps_next(&maps->at, map)) {
		if (map->executable && map->start >= maps->next && map->start <= INT64_MAX)
			return true;
	}
	return false;
}

bool exec_maps_next(struct exec_maps *maps, struct proc_map *map)
{
	struct question q;
	int code;

	if (maps->way == EXEC_MAPS_ASK) {
		code = ask(maps, &q);
		if (code == -ENOENT || code == -ESRCH)
			return false;
		if (!code && q.end > maps->next) {
			take_answer(maps, &q, map);
			return true;
		}
		/* PROCMAP_QUERY is missing or its answer does not fit: read the rest. */
		maps->way = EXEC_MAPS_READ;
	}
	return next_line(maps, map);
}
