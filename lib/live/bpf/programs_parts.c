/* SPDX-License-Identifier: MIT */
/*
 * Loads the first object and the parts. Most of the time goes into the kernel's check of each
 * program, so a second thread loads the parts meanwhile. They share maps of the first object, which
 * exist as soon as its first program is about to be loaded.
 */
#include <bpf/libbpf.h>
#include <errno.h>
#include <signal.h>

#include "lib/live/bpf/programs_internal.h"
#include "lib/live/bpf/shared_maps.h"
#include "prof.skel.h"

/* The section of the first object's first program, which is also its longest. */
#define FIRST_SECTION "perf_event"

static int load_part(struct programs *p, const struct open_part *row)
{
	int code = share_maps(*row->skeleton->obj, p->skeleton->obj);

	return code ? code : bpf_object__load_skeleton(row->skeleton);
}

static void *load_parts(void *arg)
{
	struct programs *p = arg;

	p->loader.code = 0;
	vec_for_each(&p->parts, const struct open_part *, row) {
		if (!p->loader.code && !row->part.is_late)
			p->loader.code = load_part(p, row);
	}
	return NULL;
}

/* Signals are the other threads'. */
static void begin_parts(struct programs *p)
{
	sigset_t all, before;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	if (pthread_create(&p->loader.thread, NULL, load_parts, p) == 0)
		p->loader.state = PARTS_LOADING;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
}

/* Called before a program of FIRST_SECTION is loaded, of any object. */
static int prepare_first(struct bpf_program *program, struct bpf_prog_load_opts *load, long cookie)
{
	struct programs *p = (struct programs *)cookie;

	(void)load;
	if (p->loader.state == PARTS_MAY_BEGIN && program == p->skeleton->progs.on_tick)
		begin_parts(p);
	return 0;
}

int programs_watch_first(struct programs *p)
{
	LIBBPF_OPTS(libbpf_prog_handler_opts, options, .cookie = (long)p,
		    .prog_prepare_load_fn = prepare_first);

	p->first_handler = libbpf_register_prog_handler(FIRST_SECTION, BPF_PROG_TYPE_PERF_EVENT,
							BPF_CGROUP_INET_INGRESS, &options);
	return p->first_handler < 0 ? p->first_handler : 0;
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
	return found.skeleton ? load_part(p, &found) : -ENOENT;
}

bool programs_have_unsampled_waits(const struct programs *p)
{
	const volatile struct prof_bpf__data_shared *shared = p->skeleton->data_shared;

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
	int code;

	if (!has_parts(p))
		return prof_bpf__load(p->skeleton);
	p->loader.state = PARTS_MAY_BEGIN;
	code = prof_bpf__load(p->skeleton);
	if (p->loader.state == PARTS_LOADING)
		pthread_join(p->loader.thread, NULL);
	else if (!code)
		load_parts(p);
	p->loader.state = PARTS_NOT_BEGUN;
	return code ? code : p->loader.code;
}
