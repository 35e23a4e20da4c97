/* SPDX-License-Identifier: MIT */
#include "lib/live/process/resource_watch.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/alloc.h"
#include "lib/base/cleanup.h"
#include "lib/base/text.h"
#include "lib/stream/process/resource.h"
#include "lib/stream/record/record.h"

#define ENVIRONMENT_MAX (256u << 10)

/* Opens the environment. -1: it is gone, or not its user's, as that of a set-user-ID program. */
static int open_environment(uint32_t pid)
{
	char path[64];
	struct stat file, folder;
	_cleanup_close_ int fd = -1;

	snprintf(path, sizeof(path), "/proc/%u/environ", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	if (fd < 0)
		return -1;
	/* The folder is always the user's; its files are root's where the user may not look. */
	*strrchr(path, '/') = '\0';
	if (fstat(fd, &file) || stat(path, &folder) || file.st_uid != folder.st_uid)
		return -1;
	return steal_fd(&fd);
}

void resource_watch_send(struct resource_watch *w, uint32_t pid, uint64_t time,
			 record_sink_fn *sink, void *ctx)
{
	_cleanup_(strbuf_release) struct strbuf text = {0};
	_cleanup_close_ int fd = open_environment(pid);
	_cleanup_free_ char *environment = NULL;
	_cleanup_free_ struct rec_resource *rec = NULL;
	struct resource resource = {0};
	size_t size;

	if (fd >= 0)
		environment = text_read_fd(fd, ENVIRONMENT_MAX, &size);
	/* It is empty while the process ends, or begins. */
	if (!environment || !size)
		return;
	resource_parse_environment(&resource, environment, size);
	resource_write(&resource, &text);
	resource_release(&resource);
	w->is_any_told |= text.size;
	if (!w->is_any_told)
		return;
	rec = xcalloc(1, rec_resource_size(text.size));
	record_init(&rec->rec, REC_RESOURCE, rec_resource_size(text.size), time, pid, pid);
	rec->size = (uint32_t)text.size;
	memcpy(rec->attributes, strbuf_text(&text), text.size);
	sink(ctx, &rec->rec);
}
