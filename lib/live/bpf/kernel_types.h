/* SPDX-License-Identifier: MIT */
/*
 * A small BTF made of the kernel's (Documentation/bpf/btf.rst): those of its types that have
 * certain names, and what lies within them. libbpf takes it in place of the whole. It asks for no
 * more than those, but goes through all 150,000 types of the kernel once for each.
 */
#ifndef PROF_LIB_LIVE_BPF_KERNEL_TYPES_H
#define PROF_LIB_LIVE_BPF_KERNEL_TYPES_H

#include <stddef.h>
#include <stdint.h>

#include "lib/base/error.h"
#include "lib/base/index.h"
#include "lib/base/strbuf.h"
#include "lib/base/vec.h"

/* A set of names of types. Zeroed it is empty. */
struct type_names {
	VEC(const char *) rows;
	struct index index;
};

/* `name` is borrowed until the release. What follows "___" in it, a flavor, does not count. */
void type_names_add(struct type_names *names, const char *name);
/* All that a BPF object knows by name: the kernel's types, and some of its own. Borrowed, too. */
struct btf;
void type_names_add_all(struct type_names *names, const struct btf *object);
void type_names_release(struct type_names *names);

/* What a program can be attached to. */
struct kernel_function {
	const char *name;
	uint32_t number; /* in the kernel's BTF; 0: it is not there */
};

/*
 * Appends to `out` a BTF with all types of `btf` (`size` bytes, untrusted) that have one of these
 * names, and all that they are made of: each stays as it is, but for pointers, which point to void.
 * -ENOEXEC where anything is not as this code expects it, be it damaged or of a later format.
 *
 * Sets the number of `function`, too; NULL: nobody asks.
 */
int kernel_types_pick(struct strbuf *out, const void *btf, size_t size,
		      const struct type_names *names, struct kernel_function *function,
		      struct error *err);

/* The same with the BTF of the running kernel. */
int kernel_types_read(struct strbuf *out, const struct type_names *names,
		      struct kernel_function *function, struct error *err);

#endif
