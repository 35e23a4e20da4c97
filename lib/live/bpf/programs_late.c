/* SPDX-License-Identifier: MIT */
/* Objects that are loaded while recording. */
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdio.h>

#include "lib/base/log.h"
#include "lib/live/bpf/programs_internal.h"
#include "lib/live/bpf/shared_maps.h"
#include "prof.skel.h"

static int share_with_partners(struct programs *p, struct bpf_object *object,
			       const char *const *partners)
{
	int code = share_maps(object, p->skeleton->obj);

	for (; partners && *partners && !code; partners++) {
		const struct bpf_object *partner = programs_find_object(p, *partners);

		if (partner)
			code = share_maps(object, partner);
	}
	return code;
}

/* `types`: a file with the needed kernel types; -1: libbpf reads the kernel's own. */
static int add_late(struct programs *p, const struct programs_part *part, int types,
		    struct bpf_object_skeleton **out, struct error *err)
{
	LIBBPF_OPTS(bpf_object_open_opts, open);
	struct bpf_object_skeleton *skeleton;
	char path[64];
	int code;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", types);
	if (types >= 0)
		open.btf_custom_path = path;
	code = part->open(part->ctx, &open, &skeleton);
	if (code)
		return error_set(err, code, "open a BPF object");
	code = size_maps_by_cpu(*skeleton->obj, p->copying_cpus);
	if (!code)
		code = share_with_partners(p, *skeleton->obj, part->partners);
	if (!code)
		code = bpf_object__load_skeleton(skeleton);
	*out = skeleton;
	return code ? error_set(err, code, "load a BPF program") : 0;
}

int programs_add_late(struct programs *p, const struct programs_part *part, struct error *err)
{
	struct open_part row = {.part = *part};
	struct error first = {0};
	int code = add_late(p, part, p->types_fd, &row.skeleton, p->types_fd >= 0 ? &first : err);

	if (code && p->types_fd >= 0) {
		part->close(part->ctx);
		log_info("%s; again with all types of the kernel", first.text);
		code = add_late(p, part, -1, &row.skeleton, err);
	}
	if (code) {
		part->close(part->ctx);
		return code;
	}
	pthread_mutex_lock(&p->parts_lock);
	vec_push(&p->parts, row);
	pthread_mutex_unlock(&p->parts_lock);
	return 0;
}
