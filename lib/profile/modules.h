/* SPDX-License-Identifier: MIT */
/*
 * The files (and pseudo files) that frames lie in. Addresses come in three kinds: a virtual address
 * in a process; a file offset, which is what frames hold; and the RVA, the virtual address that the
 * ELF file gives the byte minus that of its first PT_LOAD, which is what profiles and debug
 * information are asked with.
 */
#ifndef PROF_LIB_PROFILE_MODULES_H
#define PROF_LIB_PROFILE_MODULES_H

#include <stdbool.h>

#include "lib/base/readers.h"
#include "lib/base/vec.h"
#include "lib/profile/ids.h"

/* Same values as enum module_kind on the wire: lib/session asserts it. */
enum profile_module_kind {
	PROFILE_MODULE_FILE,
	PROFILE_MODULE_VDSO,
	PROFILE_MODULE_KERNEL,
	PROFILE_MODULE_KERNEL_MODULE,
	PROFILE_MODULE_KERNEL_DYNAMIC,
	PROFILE_MODULE_ANON,
	PROFILE_MODULE_KIND_COUNT,
};

/* What became of the search for debug information; see symbol_reason.h for what each says. */
enum symbol_reason {
	SYMBOLS_UNASKED, /* also: the search was stopped before */
	SYMBOLS_FOUND,
	SYMBOLS_STRIPPED,
	SYMBOLS_NO_LINES, /* not stripped, but without debug information and any trace of it */
	SYMBOLS_NO_DEBUG_FILE,
	SYMBOLS_BUILD_ID_MISMATCH,
	SYMBOLS_CRC_MISMATCH,
	SYMBOLS_NO_SHARED_PART, /* of dwz: .gnu_debugaltlink */
	SYMBOLS_NO_SPLIT_UNITS, /* of all or some of the units */
	SYMBOLS_UNREADABLE,
	SYMBOLS_NOT_THEIRS, /* the recorded users may not read it */
	SYMBOLS_DELETED,
	SYMBOLS_NOT_HERE, /* where a profile is completed later */
	SYMBOLS_OTHER_BUILD, /* likewise: what is there now is not what was recorded */
	SYMBOLS_NO_BUILD_ID, /* likewise */
	SYMBOLS_TOO_LARGE,
	SYMBOLS_DAMAGED,
	SYMBOLS_DOWNLOAD_FAILED,
	SYMBOLS_DOWNLOAD_TIMEOUT,
	SYMBOLS_NO_CODE_MAP, /* of just-in-time compilers */
	SYMBOLS_KERNEL_HIDDEN,
	SYMBOLS_KERNEL_NO_DEBUG_FILE,
	SYMBOL_REASON_COUNT,
};

struct module_segment {
	uint64_t file_offset, file_size, vaddr;
	bool executable;
};

#define MODULE_SECTION_NAME 32

/* Where a section with code of a loaded kernel module is; its file does not say. */
struct module_section {
	char name[MODULE_SECTION_NAME]; /* terminated */
	uint64_t offset; /* from the module's base */
};

/* What the kernel called a function of its module while it was there. */
struct module_symbol {
	uint64_t offset, size; /* from the module's base */
	char *name; /* owned */
};

struct module {
	enum profile_module_kind kind;
	uint32_t file_key; /* under which the source's file_set holds it; UINT32_MAX: nowhere */
	uint8_t build_id[20];
	uint8_t build_id_size; /* 0: none */
	uint16_t machine; /* e_machine, 0: unknown */
	string_id path; /* as the process sees it */
	string_id name; /* the last component, or "[vdso]" */
	bool was_deleted; /* the path ends with PATH_DELETED, which the kernel added */
	uint64_t base; /* kernel modules: load address */
	uint32_t pid; /* of MODULE_ANON: whose; else 0 */
	VEC(struct module_segment) segments; /* PT_LOADs in file order */
	VEC(struct module_section) sections; /* of a kernel module; empty: not known */
	VEC(struct module_symbol) symbols; /* likewise, those that were asked for; by offset */
	struct readers users; /* the real ids of all processes with frames in it */
	enum symbol_reason reason; /* why its frames have no names or lines, or SYMBOLS_FOUND */
	string_id debug_file; /* where its debug information was; NO_STRING: itself or nowhere */
};

struct modules {
	VEC(struct module) rows;
};

void modules_release(struct modules *m);
/* A new row; the segments are the caller's to push onto modules_get(). */
module_id modules_add(struct modules *m, enum profile_module_kind kind, string_id path,
		      string_id name);
struct module *modules_get(struct modules *m, module_id id);
bool module_is_kernel(const struct module *m);
/* A symbol of that extent; the name, which needs not be terminated, is copied. */
void module_add_symbol(struct module *m, uint64_t offset, uint64_t size, const char *name,
		       size_t name_size);
/* The one that covers the offset, or NULL. */
const struct module_symbol *module_find_symbol(const struct module *m, uint64_t offset);
/*
 * File offset → RVA, by the executable PT_LOAD that covers it, else any that does. Modules without
 * segments (kernel, vdso, anonymous memory): the offset itself. False where no segment covers it.
 */
bool module_offset_to_rva(const struct module *m, uint64_t offset, uint64_t *rva);
/*
 * Bytes of the module from that RVA on, to the end of its segment: no function is larger, whatever
 * symbols and debug information say. At most MODULE_CODE_MAX, which it is outside of all segments.
 */
#define MODULE_CODE_MAX ((uint64_t)1 << 40)
uint64_t module_bytes_from(const struct module *m, uint64_t rva);
/* RVA → the vaddr in the ELF file: rva + first PT_LOAD's vaddr. */

#endif
