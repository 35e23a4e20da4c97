/* SPDX-License-Identifier: MIT */
#include "lib/format/written_text.h"

#include "lib/base/cleanup.h"
#include "lib/base/memory_file.h"

struct written {
	const struct format *format;
	const struct profile *profile;
	const struct export_options *options;
	struct export_counts *counts;
};

static int write_profile(void *ctx, struct outfile *out, struct error *err)
{
	const struct written *w = ctx;

	return w->format->write(w->profile, w->options, out, w->counts, err);
}

int written_file(const struct format *format, const struct profile *p,
		 const struct export_options *options, struct export_counts *counts, bool gzip,
		 uint64_t *size, struct error *err)
{
	struct written w = {format, p, options, counts};

	return memory_file_write("the profile", gzip, write_profile, &w, size, err);
}

int written_text(const struct format *format, const struct profile *p,
		 const struct export_options *options, struct export_counts *counts, char **text,
		 size_t *size, struct error *err)
{
	uint64_t bytes;
	_cleanup_close_ int fd = written_file(format, p, options, counts, false, &bytes, err);

	*text = NULL;
	*size = bytes;
	return fd < 0 ? fd : memory_file_read(fd, "the profile", bytes, text, err);
}
