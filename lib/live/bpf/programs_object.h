/* SPDX-License-Identifier: MIT */
/* Makes functions for struct programs_part, because each skeleton has a different type. */
#pragma once

#include <bpf/libbpf.h>

#include "lib/base/base.h"

/* An object's bytes once they are unpacked. */
struct object_bytes {
	void *bytes;
	size_t size;
};

/*
 * Returns an object's bytes, which zstd has packed, alone or against those of another object, and
 * sets their size. They stay as long as the process. The size is 0 if they cannot be unpacked.
 */
const void *object_unpack(struct object_bytes *object, const void *packed, size_t packed_size,
			  const void *(*prefix)(size_t *size), size_t *size);

/* For objects without variables or links of their own. */
static inline void programs_object_as_is(const void *state)
{
}

/*
 * Makes open_<object>() and close_<object>() for the object, whose skeleton is in the given member
 * of the owner's state. prepare(state) sets the object's variables once it is open; finish(state)
 * closes everything that still refers to it before it is destroyed.
 */
#define PROGRAMS_OBJECT(state, member, object, prepare, finish) \
	static int open_##object(void *ctx, const struct bpf_object_open_opts *options, \
				 struct bpf_object_skeleton **out) \
	{ \
		state *owner_ = ctx; \
\
		owner_->member = object##__open_opts(options); \
		if (!owner_->member) \
			return -errno; \
		prepare(owner_); \
		*out = owner_->member->skeleton; \
		return 0; \
	} \
	static void close_##object(void *ctx) \
	{ \
		state *owner_ = ctx; \
\
		finish(owner_); \
		object##__destroy(steal(owner_->member)); \
	}
