/* SPDX-License-Identifier: MIT */
/*
 * Makes a small BTF from the kernel's (Documentation/bpf/btf.rst): the types with given names, and
 * the types within them. libbpf gets it instead of the full BTF, in which it would search all
 * 150,000 types for each name.
 */
#pragma once

#include "lib/base/base.h"

/* A set of names by their first three characters, with false positives. */
struct name_starts {
	uint64_t bits[64];
};

/* A set of type names; empty when zeroed. */
struct type_names {
	VEC(const char *) rows;
	struct index index;
	struct name_starts starts; /* starts of the names without their flavors */
};

/* Adds a name, borrowed until the release. Ignores its flavor ("___" and the rest). */
void type_names_add(struct type_names *names, const char *name);
/* Adds the names of all types in all of prof's BPF objects, the kernel's as well as their own. */
void type_names_add_needed(struct type_names *names);
void type_names_release(struct type_names *names);

/*
 * The beginning of a BTF. Not struct btf_header: since Linux 7.2 it also has the offset and size of
 * a section with the sizes of each kind of type, which kernels may omit.
 */
struct types_header {
	uint16_t magic;
	uint8_t version, flags;
	uint32_t header_size; /* offsets are relative to the end of the header */
	uint32_t types_offset, types_size;
	uint32_t strings_offset, strings_size;
};
_Static_assert(sizeof(struct types_header) == 24, "format of kernels until 7.1");

/* A function of the kernel, or the type of a tracepoint, that a program can be attached to. */
struct attach_point {
	const char *name; /* NULL: not needed */
	bool is_type;
	uint32_t number; /* type number in the kernel's BTF; 0: missing */
};

/*
 * Appends to `out` a BTF with all types of `btf` (`size` bytes, untrusted) that have one of these
 * names, and the types they contain, unchanged except that pointers point to void. Returns -ENOEXEC
 * if the BTF is malformed or of an unknown format.
 *
 * Also sets the numbers of `points`.
 */
int kernel_types_pick(struct strbuf *out, const void *btf, size_t size,
		      const struct type_names *names, struct attach_point *points,
		      size_t point_count, struct error *err);

/* Does the same with the running kernel's BTF. */
int kernel_types_read(struct strbuf *out, const struct type_names *names,
		      struct attach_point *points, size_t point_count, struct error *err);
