/* SPDX-License-Identifier: MIT */
#include "lib/code/runtimes/go.h"

#include <errno.h>
#include <stdio.h>

#include "lib/code/unwind/go_labels.h"

/* The first version whose labels are a slice. */
#define SLICE_VERSION 124

int go_probe(int fd, struct runtime_layout *layout, struct error *err)
{
	struct go_label_places places;
	int code = go_label_places_find(&places, fd, err);

	if (code)
		return code == -ENOENT ? 0 : code;
	layout->kind = RUNTIME_GO;
	layout->go = (struct go_labels_layout){
		.tls = places.tls,
		.g_reg = places.g_reg,
		.version = places.version,
		.m = places.m,
		.current = places.current,
		.labels = places.labels,
		.is_map = places.version < SLICE_VERSION,
	};
	return 0;
}

static void write_version(const struct runtime_layout *layout, char *text, size_t size)
{
	snprintf(text, size, "1.%u", layout->go.version - 100u);
}

const struct runtime runtime_go = {
	.kind = RUNTIME_GO,
	.name = "Go",
	.version = write_version,
};
