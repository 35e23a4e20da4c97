/* SPDX-License-Identifier: MIT */
/* Objects that are loaded while recording. */
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lib/base/cleanup.h"
#include "lib/base/log.h"
#include "lib/base/strbuf.h"
#include "lib/live/bpf/kernel_types.h"
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

/* `types`: an empty file for the needed kernel types; -1: libbpf reads the kernel's own. */
static int add_late(struct programs *p, const struct programs_part *part, int types,
		    struct bpf_object_skeleton **out, struct error *err)
{
	_cleanup_(strbuf_release) struct strbuf picked = {0};
	LIBBPF_OPTS(bpf_object_open_opts, open);
	struct type_names names = {0};
	struct bpf_object_skeleton *skeleton;
	char path[64];
	int code;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", types);
	if (types >= 0)
		open.btf_custom_path = path;
	code = part->open(part->ctx, &open, &skeleton);
	if (code)
		return error_set(err, code, "open a BPF object");
	if (types >= 0) {
		type_names_add_all(&names, bpf_object__btf(*skeleton->obj));
		code = kernel_types_read(&picked, &names, NULL, 0, err);
		type_names_release(&names);
		if (!code && write(types, picked.text, picked.size) != (ssize_t)picked.size)
			code = error_set(err, -EIO, "write the kernel's types");
		if (code)
			return code;
	}
	code = share_with_partners(p, *skeleton->obj, part->partners);
	if (!code)
		code = bpf_object__load_skeleton(skeleton);
	*out = skeleton;
	return code ? error_set(err, code, "load a BPF program") : 0;
}

int programs_add_late(struct programs *p, const struct programs_part *part, struct error *err)
{
	_cleanup_close_ int types = memfd_create("types", MFD_CLOEXEC);
	struct open_part row = {.part = *part};
	struct error first = {0};
	int code = add_late(p, part, types, &row.skeleton, types >= 0 ? &first : err);

	if (code && types >= 0) {
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
