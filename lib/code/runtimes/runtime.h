/* SPDX-License-Identifier: MIT */
/*
 * Runtimes with functions that are not native code: the layouts that the BPF programs
 * (bpf/runtimes) need for a file with a runtime, and the names of recorded functions. Touches no
 * machine: bytes in, layouts and names out. A runtime is one file here, one in bpf/runtimes and a
 * row of `bpf/runtimes.def`.
 */
#pragma once

#include "bpf/live_record.h"
#include "bpf/runtime_layout.h"
#include "lib/code/binary/binary.h"
#include "lib/code/runtimes/source_map.h"

#define RUNTIME_PROCESS_MAX 256 /* bytes */

/*
 * A line of code, from that unit of its function's instructions on. In compiled code with inlined
 * functions, the lines of a unit are a chain of calls, outermost first.
 */
struct managed_line {
	uint32_t unit;
	uint32_t line; /* 0: none */
	uint32_t function; /* 0: the code's own function; else 1 + row of managed_code.inlined */
};

/* A function's source text in its process's memory. */
struct managed_source {
	uint64_t object; /* address of the object that holds the text; 0: none, or not needed */
	uint32_t id; /* identifies the object, which may move */
	uint32_t length; /* length of the text in characters; 0: unknown */
};

/* Starts of a text's lines, in characters from its start. A zeroed struct is empty. */
struct line_starts {
	VEC(uint32_t) rows; /* from the second line on, ascending */
	uint32_t length; /* of the text */
	bool after_return; /* the text so far ends with \r */
	/* URL of the text's source map, from its last comment of that form; empty: none. */
	struct strbuf map;
	uint32_t matched; /* characters of the comment's start at the end of the text so far */
};

/*
 * Code from that unit on was compiled from this position in the source; chains as in managed_line.
 */
struct managed_place {
	uint32_t unit;
	int32_t place; /* in characters; -1: unknown */
	uint32_t function; /* as in managed_line */
	uint32_t line; /* set once the lines of the source are known; else 0 */
};

/* A function inlined into other code. A zeroed struct is empty. */
struct managed_function {
	struct strbuf name, file;
	struct managed_source source;
	int32_t start, end; /* start and end of the definition; -1: unknown */
	uint32_t first_line; /* 0: unknown */
	const char *tier; /* NULL: same as the code's */
};

/* A function of a runtime. A zeroed struct is empty. */
struct managed_code {
	struct strbuf name, file; /* UTF-8; empty: unknown */
	uint32_t first_line; /* line of the definition; 0: unknown */
	VEC(struct managed_line) lines; /* ascending by unit, without repeating a line */
	const char *tier; /* a tier of its language; NULL: its runtime has none */
	/* For runtimes with positions in a text instead of lines; see runtime_set_lines(). */
	struct managed_source source;
	int32_t start; /* position of the definition; -1: unknown */
	VEC(struct managed_place) places; /* ascending by unit */
	VEC(struct managed_function) inlined;
	bool wants_types; /* set by the caller: include parameter types in names if possible */
	bool is_compiled; /* may have inlined functions */
	bool hides_inlined; /* has inlined functions at unknown places; set by read_inlined() */
	bool is_cut; /* name or file are truncated */
	bool lacks_text; /* the record lacked name, file or lines: see late() */
};

/* Appends text of any bytes, up to a zero, as UTF-8. */
void managed_text_add(struct strbuf *to, const char *data, size_t size);
void managed_code_release(struct managed_code *code);
void managed_function_release(struct managed_function *function);
/* *to must be empty. */
void managed_function_copy(struct managed_function *to, const struct managed_function *from);

struct known_functions;
struct wasm_modules;
struct wasm_engine;

/* Generated code that no frame of a function covers. A zeroed struct is empty. */
struct sampled_code {
	uint64_t start, size;
	uint64_t hash; /* of its instructions; 0: unreadable */
	uint64_t holders[2]; /* words of the objects that lead to its name; 0: none */
	bool is_named; /* false: code of a function, or of another kind without a name */
	struct strbuf name; /* its kind, as in a perf map, then its name */
};

/* Reads memory of the process. False: unreadable. */
typedef bool runtime_read_fn(void *ctx, uint64_t addr, void *to, size_t size);

/* Takes the name of a thread, by the id that it has in its own pid namespace. */
typedef void runtime_thread_fn(void *ctx, uint32_t tid, const struct strbuf *name);

/* Memory of a process: addresses [start, end). */
struct runtime_memory {
	uint64_t start, end;
};

struct runtime {
	enum runtime_kind kind;
	const char *name; /* name of its language's category */
	/*
	 * Looks for the runtime in a file, by the file's contents and with few reads, since most
	 * files have none. Returns 0, with layout->kind RUNTIME_NONE if there is none; a negative
	 * errno for an unsupported runtime, with the reason in err (version, free-threaded, a
	 * failed self-check).
	 *
	 * NULL: the runtime is only searched for on request, and has no functions to decode.
	 */
	int (*probe)(const struct binary *b, struct runtime_layout *layout, struct error *err);
	/* Returns whether the search for the runtime may have set this layout. */
	bool (*is_sane)(const struct runtime_layout *layout);
	/*
	 * Completes `layout` from constant memory of a process, and fills `process`, the value for
	 * the BPF map runtime_processes; it begins with a struct runtime_process set by the
	 * caller. `bias`: address - vaddr. Returns 1 if done, 0 if the runtime has not started
	 * yet, a negative errno if it is not supported, with the reason in err. NULL: the file
	 * contains all facts.
	 */
	int (*start)(struct runtime_layout *layout, uint64_t bias, runtime_read_fn *read, void *ctx,
		     void *process, struct runtime_memory *lasting, struct error *err);
	size_t version_at; /* offset of the RUNTIME_VERSION() in a layout; unused with `version` */
	/* Does the work of runtime_write_version(). NULL: the version is at version_at. */
	void (*version)(const struct runtime_layout *layout, char *text, size_t size);
	/* Decodes a valid record. Never fails: missing or malformed parts stay empty. */
	void (*decode)(const struct runtime_layout *layout, const struct rec_function *function,
		       struct managed_code *code);
	/*
	 * Reads the parts missing in the record from the process. Returns false, with `code`
	 * unchanged, if the code object has changed or is unreadable.
	 */
	bool (*late)(const struct runtime_layout *layout, const struct rec_function *function,
		     runtime_read_fn *read, void *ctx, struct managed_code *code);
	/*
	 * Finds the lines of a source. Returns false, with `lines` empty, if it is gone or
	 * unreadable. NULL: functions have lines.
	 */
	bool (*read_source)(const struct runtime_layout *layout,
			    const struct managed_source *source, runtime_read_fn *read, void *ctx,
			    struct line_starts *lines);
	/*
	 * Reads the positions in compiled code, and its inlined functions. Returns false, with
	 * `code` unchanged, if it is gone or unreadable. NULL: the runtime has no such code.
	 */
	bool (*read_inlined)(const struct runtime_layout *layout,
			     const struct rec_function *function, struct known_functions *known,
			     runtime_read_fn *read, void *ctx, struct managed_code *code);
	/*
	 * Finds the code at an address in generated code that no frame of a function covers; fills
	 * `code`, except for the rest of its name. Returns false if there is none. NULL: the
	 * runtime has no such code.
	 */
	bool (*find_regexp)(const struct runtime_layout *layout, uint64_t addr,
			    runtime_read_fn *read, void *ctx, struct sampled_code *code);
	/*
	 * Completes the name from the object that has one of code->holders at that place. Returns
	 * false, with `code` unchanged, if it does not lead to the name.
	 */
	bool (*name_regexp)(const struct runtime_layout *layout, uint64_t place,
			    runtime_read_fn *read, void *ctx, struct sampled_code *code);
	const struct wasm_engine *wasm; /* NULL: it runs no WebAssembly */
	/*
	 * Reads the names of a process's threads, as far as readable now. *list: the process's
	 * state between calls, initially 0. NULL: the kernel has the names, or there are none.
	 */
	void (*read_threads)(const struct runtime_layout *layout, uint64_t bias, uint64_t *list,
			     runtime_read_fn *read, void *read_ctx, runtime_thread_fn *fn,
			     void *ctx);
};

/* Copies the `size` bytes at the start of the record's piece "lines". False: it is shorter. */
bool runtime_read_head(const struct rec_function *function, void *head, size_t size);
/* Adds a line, unless the last one is equal. A line that is out of range is 0. */
void runtime_add_line(struct managed_code *code, uint32_t unit, int64_t line);
/*
 * Sets the lines of the positions in one of the code's functions, numbered as in managed_line. With
 * a map, which may be NULL, lines, name and file are those of the original source.
 */
void runtime_set_lines(struct managed_code *code, uint32_t function,
		       const struct line_starts *lines, const struct source_map *map);
/* Converts the code's positions to lines, once their lines are set. */
void runtime_make_lines(struct managed_code *code);
/* Adds the lines of a piece of text, `width` bytes per character: 1 or 2. */
void line_starts_add(struct line_starts *lines, unsigned int width, const void *text, size_t size);
/* The same for UTF-8, counting UTF-16 units. False: invalid. */
bool line_starts_add_utf8(struct line_starts *lines, const char *text, size_t size);
void line_starts_release(struct line_starts *lines);

#define RUNTIME_VERSION(major, minor) (uint16_t)((major) << 8 | (minor))
/* Defines the function that copies the row of a version from the table `layouts`. */
#define LAYOUT_OF_VERSION(function, type) \
	function(uint16_t version, struct type *layout) \
	{ \
		for (size_t i = 0; i < sizeof(layouts) / sizeof(layouts[0]); i++) { \
			if (layouts[i].version != version) \
				continue; \
			*layout = layouts[i]; \
			return true; \
		} \
		return false; \
	}

#define RUNTIME(KIND, name, ...) extern const struct runtime runtime_##name;
#include "bpf/runtimes.def"
/* By enum runtime_kind; RUNTIME_NONE has no row. */
extern const struct runtime *const runtimes[RUNTIME_KIND_COUNT];

/* Runs the probes of all runtimes; like struct runtime's probe. */
int runtime_probe(int fd, struct runtime_layout *layout, struct error *err);
/* The same; also finds Go programs that set labels, if there is no other runtime. */
int runtime_probe_with_go(int fd, struct runtime_layout *layout, struct error *err);

/* Returns whether these probes may have set the layout, which is of any kind. */
bool runtime_layout_is_sane(const struct runtime_layout *layout);
/*
 * Writes the version in a sane layout as text, "3.11"; nothing before the runtime has started.
 */
void runtime_write_version(const struct runtime_layout *layout, char *text, size_t size);

/* A function read from a process; cached, since most compiled code inlines the same few. */

struct function_key {
	uint32_t pid, tid; /* of the process and of its thread */
	struct managed_source source;
	uint32_t number; /* of the function in its source */
};

struct known_function {
	struct function_key key;
	struct managed_function function;
};

/* A zeroed struct is empty. */
struct known_functions {
	VEC(struct known_function) rows;
	struct index index;
};

void known_functions_release(struct known_functions *k);
/* Returns NULL if unknown. The result is valid until a function is added. */
const struct managed_function *known_functions_find(const struct known_functions *k,
						    const struct function_key *key);
/* Adds a copy of a new function; drops all others once there are too many. */
void known_functions_add(struct known_functions *k, const struct function_key *key,
			 const struct managed_function *function);
