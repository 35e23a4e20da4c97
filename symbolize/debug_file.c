/* SPDX-License-Identifier: MIT */
#include "symbolize/debug_file.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/alloc.h"
#include "lib/base/cleanup.h"
#include "lib/base/log.h"
#include "lib/base/open_regular.h"

static const char *const default_dirs[] = {"/usr/lib/debug", NULL};

/* What the file has to bear. */
struct wanted {
	const uint8_t *build_id;
	size_t size;
};

static int open_matching(struct debug_file *f, const char *path, const struct wanted *wanted)
{
	_cleanup_close_ int fd = open_regular(path);
	uint8_t build_id[BUILD_ID_MAX];
	struct error err;
	size_t size;

	if (fd < 0)
		return -ENOENT;
	if (binary_open(&f->binary, fd, &err) != 0) {
		log_debug("%s: %s", path, err.text);
		return -ENOENT;
	}
	size = binary_build_id(f->binary, build_id);
	if (size != wanted->size || memcmp(build_id, wanted->build_id, size) != 0) {
		log_debug("%s: of another build", path);
		debug_file_close(f);
		return -ENOENT;
	}
	f->fd = steal_fd(&fd);
	return 0;
}

static int search(struct debug_file *f, const char *const *dirs, const struct wanted *wanted)
{
	char id[2 * BUILD_ID_MAX + 1];

	build_id_to_text(wanted->build_id, wanted->size, id);
	for (; dirs && *dirs; dirs++) {
		_cleanup_free_ char *path = xasprintf("%s/.build-id/%.2s/%s.debug", *dirs, id,
						      id + 2);

		if (open_matching(f, path, wanted) == 0)
			return 0;
	}
	return -ENOENT;
}

int debug_file_open_by_id(struct debug_file *f, const uint8_t *build_id, size_t size,
			  const char *const *dirs, struct error *err)
{
	const struct wanted wanted = {build_id, size};

	*f = (struct debug_file){.fd = -1};
	/* A single byte could not be split into a folder and a name. */
	if (size > 1 && size <= BUILD_ID_MAX &&
	    (search(f, dirs, &wanted) == 0 || search(f, default_dirs, &wanted) == 0))
		return 0;
	return error_text(err, -ENOENT, "no debug file");
}

int debug_file_open(struct debug_file *f, const struct symbolizer_input *input, struct error *err)
{
	const struct module *module = input->module;

	return debug_file_open_by_id(f, module->build_id, module->build_id_size, input->debug_dirs,
				     err);
}

void debug_file_close(struct debug_file *f)
{
	if (!f->binary)
		return;
	binary_free(f->binary);
	f->binary = NULL;
	if (f->fd >= 0)
		close(f->fd);
	f->fd = -1;
}
