/* SPDX-License-Identifier: MIT */
#include "cmd/run/outputs.h"

#include <errno.h>

/* Refuses two names of one file: the last one written would replace the other. */
static int check(const struct outputs *o, const struct output_options *output,
		 const struct live_options *live, struct error *err)
{
	const struct {
		const char *option, *path;
		const struct outfile *file;
	} files[] = {
		{"--output", output->path, o->profile},
		{"--stats", output->stats_path, o->stats},
		{"--ready-file", live->ready_path, o->ready.file},
	};

	for (size_t i = 1; i < sizeof(files) / sizeof(files[0]); i++) {
		for (size_t j = 0; j < i; j++) {
			if (files[i].file && files[j].file &&
			    outfile_is_same(files[i].file, files[j].file))
				return error_text(err, -EINVAL, "%s %s and %s %s are the same file",
						  files[j].option, files[j].path, files[i].option,
						  files[i].path);
		}
	}
	return 0;
}

int outputs_open(struct outputs *o, const struct output_options *output,
		 const struct live_options *live, const struct identity *owner, struct error *err)
{
	/* Snapshots open their own. */
	int ret = live->last.keep_ns ? 0 : output_open(output, owner, &o->profile, err);

	if (!ret && output->stats_path)
		ret = outfile_open_plain(&o->stats, output->stats_path, owner, err);
	if (!ret)
		ret = ready_open(&o->ready, live, *owner, err);
	if (!ret)
		ret = check(o, output, live, err);
	if (!ret)
		output_check_debug_dirs(output, owner);
	return ret;
}

void outputs_release(struct outputs *o)
{
	ready_release(&o->ready);
	outfile_free(o->stats);
	outfile_free(o->profile);
	*o = OUTPUTS_INIT;
}
