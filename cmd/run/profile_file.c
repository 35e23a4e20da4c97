/* SPDX-License-Identifier: MIT */
#include "cmd/run/profile_file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "cmd/run/capture_file.h"
#include "cmd/run/lookup.h"
#include "lib/base/cleanup.h"
#include "lib/base/identity.h"
#include "lib/base/infile.h"

/* More text than a browser could load. */
#define TEXT_MAX ((size_t)1 << 30)

void profile_file_release(struct profile_file *f)
{
	free(f->text);
	if (f->capture)
		capture_file_free(f->capture);
	else if (f->profile)
		profile_free(f->profile);
	*f = (struct profile_file){0};
}

int profile_file_open(struct profile_file *f, const char *path, struct error *err)
{
	bool is_stdin = strcmp(path, "-") == 0;
	int fd = is_stdin ? fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1)
			  : open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);

	f->label = is_stdin ? "standard input" : path;
	return fd < 0 ? error_set(err, -errno, "read %s", f->label) : fd;
}

int profile_file_read(struct profile_file *f, int fd, struct error *err)
{
	int ret = infile_read(fd, f->label, TEXT_MAX, &f->text, &f->size, err);

	if (ret)
		return ret;
	f->format = format_of_text(f->text, f->size);
	if (f->format)
		return 0;
	if (capture_is_one(f->text, f->size))
		ret = error_text(err, -ESPIPE, "%s: a capture is read from a file only", f->label);
	else
		ret = error_text(err, -EBADMSG, "%s: no profile of a format that can be read",
				 f->label);
	profile_file_release(f);
	return ret;
}

static int load_capture(struct profile_file *f, int fd, const struct output_options *output,
			struct error *err)
{
	static const struct output_options by_default = {.quiet = true};
	int ret = capture_file_load(&f->capture, fd, f->label, output ? output : &by_default, err);

	if (!ret)
		f->profile = f->capture->profile;
	return ret;
}

struct reader profile_file_owner(const char *path)
{
	_cleanup_close_ int place = strcmp(path, "-") == 0 ? fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0)
							   : open(path, O_PATH | O_CLOEXEC);

	return lookup_reader(place);
}

static int load(struct profile_file *f, const char *path, const struct output_options *output,
		struct error *err)
{
	_cleanup_close_ int fd = profile_file_open(f, path, err);
	int ret;

	if (fd >= 0 && capture_file_is_one(fd))
		return load_capture(f, fd, output, err);
	ret = fd < 0 ? fd : profile_file_read(f, fd, err);
	if (ret)
		return ret;
	if (!f->format->read)
		return error_text(err, -EBADMSG, "%s: the format %s can only be written", f->label,
				  f->format->name);
	ret = f->format->read(&f->profile, f->text, f->size, &f->counts, err);
	return ret ? error_wrap(err, "%s", f->label) : 0;
}

int profile_file_load(struct profile_file *f, const char *path, const struct output_options *output,
		      struct error *err)
{
	struct identity owner = identity_of_invoker();
	struct identity before = identity_assume_files(&owner);
	int ret = before.failure;

	*f = (struct profile_file){0};
	if (ret)
		error_set(err, ret, "read files as user %u", owner.uid);
	else
		ret = load(f, path, output, err);
	identity_restore_files(&before);
	if (ret)
		profile_file_release(f);
	free(f->text);
	f->text = NULL;
	return ret;
}
