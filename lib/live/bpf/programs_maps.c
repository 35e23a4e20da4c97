/* SPDX-License-Identifier: MIT */
/* Makes the maps of maps: a ring for each CPU, and shards for unwind tables. */
#include <bpf/bpf.h>
#include <errno.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "bpf/unwind.h"
#include "lib/base/cleanup.h"
#include "lib/live/machine/cpu_list.h"
#include "lib/live/bpf/programs_internal.h"
#include "lib/live/bpf/shard.h"

static int make_ring(void *ctx, const struct map_slot *slot)
{
	const struct programs *p = ctx;

	(void)slot;
	return ring_make(p->ring_bytes);
}

/* Makes a map of maps like `inner`. */
static int make_outer(const char *name, uint32_t count, int inner)
{
	LIBBPF_OPTS(bpf_map_create_opts, options, .inner_map_fd = (uint32_t)inner);

	return bpf_map_create(BPF_MAP_TYPE_ARRAY_OF_MAPS, name, sizeof(uint32_t), sizeof(uint32_t),
			      count, &options);
}

static int make_rings(struct programs *p, const struct programs_options *options)
{
	/* The verifier ignores the size of inner rings. */
	_cleanup_close_ int like = ring_make((uint64_t)sysconf(_SC_PAGESIZE));
	struct cpu_list online;
	int code;

	if (like < 0)
		return like;
	p->rings_fd = make_outer("rings", options->possible_cpus, like);
	if (p->rings_fd < 0)
		return p->rings_fd;
	code = cpu_list_read("online", &online);
	if (code)
		return code;
	for (uint32_t i = 0; i < online.count; i++) {
		vec_push(&p->slots, (struct map_slot){p->rings_fd, online.cpus[i], -1, 0});
		p->copying_cpus = online.cpus[i] + 1;
	}
	cpu_list_release(&online);
	return 0;
}

/* The first shard is always needed with tables, and is the template for all others. */
static int make_shards(struct programs *p)
{
	int first = shard_make(UNWIND_SHARD_BYTES);

	if (first < 0)
		return first;
	vec_push(&p->slots, (struct map_slot){.fd = first});
	p->shards_fd = make_outer("unwind_shards", UNWIND_SHARDS_MAX, first);
	vec_last(&p->slots).outer_fd = p->shards_fd;
	return p->shards_fd < 0 ? p->shards_fd : 0;
}

/*
 * The programs refer to the map even without tables. Kernels before 6.8 check functions that nobody
 * calls, too, so the template is as large as a shard; it is gone at once.
 */
static int make_no_shards(struct programs *p)
{
	_cleanup_close_ int like = shard_make(UNWIND_SHARD_BYTES);

	if (like < 0)
		return like;
	p->shards_fd = make_outer("unwind_shards", 1, like);
	return p->shards_fd < 0 ? p->shards_fd : 0;
}

int programs_make_maps(struct programs *p, const struct programs_options *options,
		       struct error *err)
{
	int code = options->unwind & UNWIND_BY_CFI ? make_shards(p) : make_no_shards(p);

	if (!code)
		code = make_rings(p, options);
	if (code)
		return error_set(err, code, "create BPF maps");
	p->filler = map_slots_fill(p->slots.items, p->slots.count, make_ring, p);
	return 0;
}

static void wait_for_slots(struct programs *p)
{
	map_slots_wait(steal(p->filler));
}

void programs_free_maps(struct programs *p)
{
	wait_for_slots(p);
	vec_for_each(&p->rings, struct ring *, ring)
		ring_close(ring);
	vec_release(&p->rings);
	vec_for_each(&p->slots, struct map_slot *, slot) {
		if (slot->fd >= 0)
			close(slot->fd);
	}
	vec_release(&p->slots);
	if (p->epoll_fd >= 0)
		close(p->epoll_fd);
	if (p->rings_fd >= 0)
		close(p->rings_fd);
	if (p->shards_fd >= 0)
		close(p->shards_fd);
}

static struct map_slot *find_ring(struct programs *p, uint32_t cpu)
{
	wait_for_slots(p);
	vec_for_each(&p->slots, struct map_slot *, slot) {
		if (slot->outer_fd == p->rings_fd && slot->key == cpu)
			return slot;
	}
	return NULL;
}

/*
 * Edge-triggered: a ring that is read is hardly ever empty, and its reader waits until it holds
 * much data.
 */
static int watch_ring(struct programs *p, int fd)
{
	struct epoll_event event = {.events = EPOLLIN | EPOLLET, .data.fd = fd};

	return epoll_ctl(p->epoll_fd, EPOLL_CTL_ADD, fd, &event) ? -errno : 0;
}

/*
 * Gives the CPU's ring to the programs, unless they have it: of CPUs that come online later, and of
 * those whose ring could not be made or mapped before.
 */
static int fill_slot(struct programs *p, uint32_t cpu, int *fd)
{
	struct map_slot *slot = find_ring(p, cpu);

	if (!slot) {
		vec_push(&p->slots, (struct map_slot){p->rings_fd, cpu, -1, 0});
		slot = &vec_last(&p->slots);
	}
	if (slot->code || slot->fd < 0)
		map_slots_wait(map_slots_fill(slot, 1, make_ring, p));
	*fd = slot->code ? -1 : steal_fd(&slot->fd);
	return slot->code;
}

/* Reads the ring from now on. Takes over the descriptor. */
static int open_ring(struct programs *p, uint32_t cpu, int fd, struct error *err)
{
	struct ring ring;
	int code = ring_open(&ring, fd, p->ring_bytes);

	if (code)
		return error_set(err, code, "map the ring of CPU %u", cpu);
	ring.cpu = cpu;
	code = watch_ring(p, ring.fd);
	if (code) {
		ring_close(&ring);
		return error_set(err, code, "watch the ring of CPU %u", cpu);
	}
	vec_push(&p->rings, ring);
	return 0;
}

int programs_add_ring(struct programs *p, uint32_t cpu, struct error *err)
{
	int fd, code = fill_slot(p, cpu, &fd);

	if (code)
		return error_set(err, code, "create a ring of %llu bytes for CPU %u",
				 (unsigned long long)p->ring_bytes, cpu);
	code = open_ring(p, cpu, fd, err);
	/* Without a ring, the programs count what they lose; nobody would read this one. */
	if (code)
		bpf_map_delete_elem(p->rings_fd, &cpu);
	return code;
}

int programs_unwind_shards_fd(const struct programs *p)
{
	return p->shards_fd;
}

int programs_take_shard(struct programs *p)
{
	wait_for_slots(p);
	vec_for_each(&p->slots, struct map_slot *, slot) {
		if (slot->outer_fd == p->shards_fd && !slot->code)
			return steal_fd(&slot->fd);
	}
	return -1;
}
