/* SPDX-License-Identifier: MIT */
#include "cmd/run/full_disk.h"

#include <sys/statvfs.h>

/* Reserve for the file system's metadata. */
#define SPARE_BYTES 16384

static int write_once(const struct full_disk *d, struct outfile *out, struct error *err)
{
	return d->write(d->ctx, out, err) ?: outfile_commit(out, err);
}

/* Sets the size of the profile as a file. */
static int measure(const struct full_disk *d, uint64_t *bytes)
{
	const struct outfile_options options = {
		.path = "/dev/null",
		.fd = open("/dev/null", O_WRONLY | O_CLOEXEC),
		.gzip = format_is_compressed(d->output->format, d->output->path),
		.owner = *d->owner,
	};
	struct outfile *out = NULL;
	struct error err = {0};
	int ret = options.fd < 0 ? -errno : outfile_open(&out, &options, &err);

	if (!ret)
		ret = write_once(d, out, &err);
	*bytes = ret ? 0 : outfile_size(out);
	outfile_free(out);
	return ret;
}

/* True if a file of this size fits into the output's folder without that capture. */
static bool has_room(const struct full_disk *d, uint64_t bytes, const struct stat *capture)
{
	const char *path = d->output->path, *slash = strrchr(path, '/');
	_cleanup_free_ char *folder = slash ? xstrndup(path, (size_t)(slash - path) + 1)
					    : xstrdup(".");
	struct statvfs room;
	struct stat st;
	uint64_t free_bytes;

	if (stat(folder, &st) != 0 || statvfs(folder, &room) != 0 || st.st_dev != capture->st_dev)
		return false;
	free_bytes = (uint64_t)room.f_bavail * room.f_frsize + (uint64_t)capture->st_blocks * 512;
	return bytes + SPARE_BYTES <= free_bytes;
}

int full_disk_write(const struct full_disk *d, struct outfile **out, struct error *err)
{
	int ret = write_once(d, *out, err);
	struct stat capture;
	uint64_t bytes;

	if (ret != -ENOSPC || output_is_stdout(d->output) || !d->find_capture(d->ctx, &capture))
		return ret;
	/* Free the space used by the first attempt. */
	outfile_free(steal(*out));
	if (measure(d, &bytes) || !has_room(d, bytes, &capture))
		return ret;
	log_warn("%s: the disk is full: the capture was removed to make room", d->output->path);
	d->abandon(d->ctx);
	*err = (struct error){0};
	return output_open(d->output, d->owner, out, err) ?: write_once(d, *out, err);
}
