/* SPDX-License-Identifier: MIT */
/*
 * Runs a BPF program whenever a process reaches certain places in the code of a file, now or once
 * it has mapped the file. Other processes with the file are unaffected.
 */
#pragma once

#include "lib/base/base.h"

struct uprobe_place {
	uint64_t offset; /* file offset of the instruction */
	uint64_t semaphore; /* offset of the semaphore that the kernel increments; 0: none */
	uint64_t cookie;
};

/* Closing all of them detaches, which takes some 50 ms each. */
struct uprobe_links {
	VEC(int) fds;
};

struct bpf_object;

/* Returns whether this kernel can attach to all places of a file at once. */
bool uprobe_has_multi(void);
/*
 * Sets the attach type of the object's uprobe programs, before it is loaded. Programs that
 * tail-call one another need the same.
 */
void uprobe_set_type(struct bpf_object *object);
/* True if this kernel can probe user code at all. */
bool uprobe_is_available(void);

/* uprobe_target.flags */
enum {
	UPROBE_IS_MULTI = 1 << 0, /* needs uprobe_has_multi() */
	UPROBE_RETURNS = 1 << 1, /* places are functions, and the program runs when these return */
};

struct uprobe_target {
	int program; /* descriptor of the program */
	uint32_t flags;
	int file; /* descriptor of the file, borrowed */
	uint32_t pid; /* main thread of the process; 0: all processes, present and future */
	const struct uprobe_place *places;
	size_t count;
};

/*
 * Attaches to as many of the places as the kernel allows. Returns their number, with err set to the
 * first failure if some are left out; -ESRCH if the process no longer exists.
 */
int uprobe_attach(const struct uprobe_target *target, struct uprobe_links *links,
		  struct error *err);
void uprobe_detach(struct uprobe_links *links);
