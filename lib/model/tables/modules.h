/* SPDX-License-Identifier: MIT */
/*
 * The files (and pseudo files) that contain frames. There are three kinds of addresses: virtual
 * addresses in a process; file offsets, used in frames; and RVAs, by which profiles and debug
 * information are looked up. An RVA is the byte's virtual address in the ELF file minus that of the
 * first PT_LOAD.
 */
#ifndef PROF_LIB_MODEL_TABLES_MODULES_H
#define PROF_LIB_MODEL_TABLES_MODULES_H

#include <stdbool.h>

#include "lib/base/readers.h"
#include "lib/base/strbuf.h"
#include "lib/base/vec.h"
#include "lib/model/tables/ids.h"

/* Same values as enum module_kind in records, asserted in lib/stream/session. */
enum profile_module_kind {
	PROFILE_MODULE_FILE,
	PROFILE_MODULE_VDSO,
	PROFILE_MODULE_KERNEL,
	PROFILE_MODULE_KERNEL_MODULE,
	PROFILE_MODULE_KERNEL_DYNAMIC,
	PROFILE_MODULE_ANON,
	PROFILE_MODULE_KIND_COUNT,
	/*
	 * A jitdump with the bytes of generated code; never in records. An offset is that of the
	 * code's load record in the dump plus the offset in the code. The build id is the dump's
	 * own.
	 */
	PROFILE_MODULE_CODE_DUMP = PROFILE_MODULE_KIND_COUNT,
};

/* Outcome of the search for debug information; symbol_reason_text() explains each. */
enum symbol_reason {
	SYMBOLS_UNASKED, /* also if the search was stopped early */
	SYMBOLS_FOUND,
	SYMBOLS_STRIPPED,
	SYMBOLS_NO_LINES, /* not stripped, but no trace of debug information */
	SYMBOLS_NO_DEBUG_FILE,
	SYMBOLS_BUILD_ID_MISMATCH,
	SYMBOLS_CRC_MISMATCH,
	SYMBOLS_NO_SHARED_PART, /* the file of dwz: .gnu_debugaltlink */
	SYMBOLS_NO_SPLIT_UNITS, /* of all or some of the units */
	SYMBOLS_UNREADABLE,
	SYMBOLS_NOT_THEIRS, /* the recorded users have no permission to read it */
	SYMBOLS_DELETED,
	SYMBOLS_NOT_HERE, /* prof symbolize: the file is not on this machine */
	SYMBOLS_OTHER_BUILD, /* likewise, the file here is not the one recorded */
	SYMBOLS_NO_BUILD_ID, /* likewise, no build id was recorded */
	SYMBOLS_TOO_LARGE,
	SYMBOLS_DAMAGED,
	SYMBOLS_DOWNLOAD_FAILED,
	SYMBOLS_DOWNLOAD_TIMEOUT,
	SYMBOLS_NO_CODE_MAP, /* of just-in-time compilers */
	SYMBOLS_KERNEL_HIDDEN,
	SYMBOLS_KERNEL_NO_DEBUG_FILE,
	SYMBOLS_SILENT, /* a file system did not answer */
	SYMBOL_REASON_COUNT,
};

/* Result of opening the file while recording; its unwind tables need it to be open. */
enum module_opening {
	MODULE_OPENED,
	MODULE_NOT_OPENED, /* failed for another reason */
	MODULE_PROCESS_ENDED, /* the process that mapped it had ended before */
	MODULE_FILES_SILENT, /* its file system did not respond */
};

struct module_segment {
	uint64_t file_offset, file_size, vaddr;
	bool executable;
};

#define MODULE_SECTION_NAME 32

/* Address of a code section of a loaded kernel module, which its file does not contain. */
struct module_section {
	char name[MODULE_SECTION_NAME]; /* terminated */
	uint64_t offset; /* from the module's base */
};

/* A kernel module's function, as the kernel listed it while the module was loaded. */
struct module_symbol {
	uint64_t offset, size; /* from the module's base */
	char *name; /* owned */
};

struct module {
	enum profile_module_kind kind;
	uint32_t file_key; /* key in the source's file_set; UINT32_MAX: not there */
	uint8_t build_id[20];
	uint8_t build_id_size; /* 0: none */
	uint64_t contents; /* without a build id, a hash of the file's contents; 0: unknown */
	uint16_t machine; /* e_machine, 0: unknown */
	string_id path; /* as the process sees it */
	string_id name; /* the last component, or "[vdso]" */
	enum module_opening opening;
	bool was_deleted; /* path ends with PATH_DELETED, appended by the kernel */
	uint64_t base; /* kernel modules: load address */
	uint32_t pid; /* MODULE_ANON: its process; else 0 */
	VEC(struct module_segment) segments; /* PT_LOADs in file order */
	VEC(struct module_section) sections; /* of a kernel module; empty: unknown */
	VEC(struct module_symbol) symbols; /* likewise; only the requested ones, by offset */
	struct readers users; /* real ids of all processes with frames in the module */
	enum symbol_reason reason; /* why frames lack names or lines, or SYMBOLS_FOUND */
	uint64_t naming_ns; /* time spent on naming its frames */
	/* File with the debug information. NO_STRING: the module itself, or none. */
	string_id debug_file;
};

struct modules {
	VEC(struct module) rows;
};

void modules_release(struct modules *m);
/* Always adds a row. The caller pushes the segments onto modules_get(). */
module_id modules_add(struct modules *m, enum profile_module_kind kind, string_id path,
		      string_id name);
/*
 * Adds a copy of a row of another profile, with strings of this one. Leaves out file, users,
 * symbols, and the file with debug information.
 */
module_id modules_copy(struct modules *m, const struct module *from, string_id path,
		       string_id name);
struct module *modules_get(struct modules *m, module_id id);
bool module_is_kernel(const struct module *m);
/* Writes the build id in hexadecimal; "" if there is none. */
#define MODULE_BUILD_ID_TEXT (2 * sizeof(((struct module *)0)->build_id) + 1)
void module_build_id_text(const struct module *m, char text[MODULE_BUILD_ID_TEXT]);
/* True if a file of that name, as in module.name, is part of a C library or its dynamic linker. */
bool module_name_is_c_library(const char *name);
/* True if a file of that name is a PROFILE_MODULE_CODE_DUMP. */
bool module_path_is_dump(const char *path);
/* Adds a symbol. Copies the name, which need not be terminated. */
void module_add_symbol(struct module *m, uint64_t offset, uint64_t size, const char *name,
		       size_t name_size);
/* Returns the symbol that covers the offset, or NULL. */
const struct module_symbol *module_find_symbol(const struct module *m, uint64_t offset);
/*
 * Converts a file offset to an RVA by the executable PT_LOAD that covers it, or by any other
 * PT_LOAD if none does. Modules without segments (kernel, vdso, anonymous memory): returns the
 * offset itself. Returns false if no segment covers the offset.
 */
bool module_offset_to_rva(const struct module *m, uint64_t offset, uint64_t *rva);
/*
 * Returns the address shown for code without a name: its RVA, or the offset if it has none.
 * NO_MODULE: the offset is the address.
 */
uint64_t modules_address(const struct modules *m, module_id id, uint64_t offset);
/*
 * Returns the number of bytes from the RVA to the end of its segment, which limits the size of
 * functions whatever symbols and debug information claim. At most MODULE_CODE_MAX, also outside of
 * all segments.
 */
#define MODULE_CODE_MAX ((uint64_t)1 << 40)
uint64_t module_bytes_from(const struct module *m, uint64_t rva);
/* RVA → the vaddr in the ELF file: rva + first PT_LOAD's vaddr. */

/* Explains to users why a module's functions or lines have no name. */

/* Returns a static phrase, in lower case and without a full stop. */
const char *symbol_reason_text(enum symbol_reason reason);
/* True if the reason is that a search for the module's own file found nothing. */
bool symbol_reason_is_of_search(enum symbol_reason reason);
/*
 * Appends the reason with the build id: "no debug file for build id 1a2b…". Appends nothing for
 * SYMBOLS_FOUND.
 */
void module_describe_reason(const struct module *m, struct strbuf *text);

#endif
