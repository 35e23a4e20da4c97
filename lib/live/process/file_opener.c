/* SPDX-License-Identifier: MIT */
#include "lib/live/process/file_opener.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "lib/base/alloc.h"
#include "lib/base/bounded_call.h"
#include "lib/base/log.h"
#include "lib/base/text.h"
#include "lib/stream/process/mapping.h"

/* Rings hold what comes meanwhile. */
#define LIMIT_NS 500000000ull
#define ABANDONED_MAX 4

/* An opening that may outlive its caller. */
struct opening {
	struct mapped_file file; /* with a path and a build id of its own */
	int found; /* taken by the opening */
	uint8_t build_id[BUILD_ID_MAX];
	struct opened_file opened;
};

void file_opener_release(struct file_opener *o)
{
	vec_release(&o->silent);
}

static void open_file(const struct mapped_file *file, int found, struct opened_file *opened)
{
	opened->fd = mapped_file_open(file, found, &opened->identity, &opened->summary);
	opened->has_path = opened->fd >= 0 && text_ends_with(file->path, PATH_DELETED) &&
			   mapped_file_has_path(file, &opened->identity);
}

static void run(void *ctx)
{
	struct opening *o = ctx;

	open_file(&o->file, o->found, &o->opened);
}

static void free_opening(struct opening *o)
{
	free((char *)o->file.path);
	free(o);
}

static void release(void *ctx)
{
	struct opening *o = ctx;

	if (o->opened.fd >= 0) {
		close(o->opened.fd);
		binary_summary_release(&o->opened.summary);
	}
	free_opening(o);
}

static struct opening *new_opening(const struct mapped_file *file, int found)
{
	struct opening *o = xcalloc(1, sizeof(*o));

	o->file = *file;
	o->found = found;
	o->file.path = xstrdup(file->path);
	if (file->build_id_size)
		memcpy(o->build_id, file->build_id, file->build_id_size);
	o->file.build_id = o->build_id;
	return o;
}

static bool is_silent(const struct file_opener *o, dev_t device)
{
	if (!device)
		return o->abandoned >= ABANDONED_MAX;
	vec_for_each(&o->silent, const dev_t *, known) {
		if (*known == device)
			return true;
	}
	return false;
}

static int abandon(struct file_opener *o, const struct mapped_file *file, dev_t device)
{
	log_warn("the file system of %s does not answer: it is recorded without names", file->path);
	if (device)
		vec_push(&o->silent, device);
	else
		o->abandoned++;
	return -ETIMEDOUT;
}

int file_opener_open(struct file_opener *o, const struct mapped_file *file,
		     struct opened_file *opened)
{
	struct opening *opening;
	dev_t device;
	int found = mapped_file_find(file, &device);

	/* Others have no device of their own: they are on a network, in memory, or in layers. */
	if (major(device)) {
		open_file(file, found, opened);
		return opened->fd;
	}
	if (is_silent(o, device)) {
		if (found >= 0)
			close(found);
		return -ETIMEDOUT;
	}
	opening = new_opening(file, found);
	if (!bounded_call(run, release, opening, LIMIT_NS))
		return abandon(o, file, device);
	*opened = opening->opened;
	free_opening(opening);
	return opened->fd;
}
