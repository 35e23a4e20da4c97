/* SPDX-License-Identifier: MIT */
/*
 * Loads the objects. Most of the time goes into the kernel's check of each program, so a second
 * thread loads the parts beside the first object. Neither has maps that the other one needs: all
 * that they share are those of an object without programs, which is loaded before.
 */
#include <bpf/libbpf.h>
#include <errno.h>

#include "lib/live/bpf/programs_internal.h"
#include "lib/base/thread.h"
#include "lib/live/bpf/shared_maps.h"
#include "prof.skel.h"
#include "shared.skel.h"

static int load_object(struct programs *p, struct bpf_object_skeleton *skeleton)
{
	int code = size_maps_by_cpu(*skeleton->obj, p->copying_cpus);

	if (!code)
		code = share_maps(*skeleton->obj, p->shared->obj);
	return code ? code : bpf_object__load_skeleton(skeleton);
}

static int load_parts(struct programs *p)
{
	vec_for_each(&p->parts, const struct open_part *, row) {
		int code = row->part.is_late ? 0 : load_object(p, row->skeleton);

		if (code)
			return code;
	}
	return 0;
}

static void *load_beside(void *p)
{
	return (void *)(intptr_t)load_parts(p);
}

int programs_load_late(struct programs *p, const void *part_ctx)
{
	struct open_part found = {0};

	pthread_mutex_lock(&p->parts_lock);
	vec_for_each(&p->parts, const struct open_part *, row) {
		if (row->part.is_late && row->part.ctx == part_ctx && !found.skeleton)
			found = *row;
	}
	pthread_mutex_unlock(&p->parts_lock);
	return found.skeleton ? load_object(p, found.skeleton) : -ENOENT;
}

bool programs_have_unsampled_waits(const struct programs *p)
{
	const volatile struct shared_bpf__data_shared *shared = p->shared->data_shared;

	return shared->has_unsampled_waits;
}

static bool has_parts(const struct programs *p)
{
	vec_for_each(&p->parts, const struct open_part *, row) {
		if (!row->part.is_late)
			return true;
	}
	return false;
}

int programs_load_parts(struct programs *p)
{
	int code = size_maps_by_cpu(p->shared->obj, p->copying_cpus);
	bool is_beside;
	pthread_t thread;
	void *result;

	if (!code)
		code = shared_bpf__load(p->shared);
	if (code)
		return code;
	is_beside = has_parts(p) && thread_start(&thread, "prof-loader", load_beside, p) == 0;
	code = load_object(p, p->skeleton->skeleton);
	if (!is_beside)
		return code ? code : load_parts(p);
	pthread_join(thread, &result);
	return code ? code : (int)(intptr_t)result;
}
