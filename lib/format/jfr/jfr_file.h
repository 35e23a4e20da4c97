/* SPDX-License-Identifier: MIT */
/*
 * The container of Java flight recordings: chunks with the types of their events, constant pools,
 * and events. Every chunk is self-contained. All bytes are untrusted.
 */
#pragma once

#include "lib/base/bytes.h"
#include "lib/model/tables/strings.h"

#define JFR_MAGIC "FLR"
/* Maximum values of an event or constant; the rest is not read. */
#define JFR_LEAVES_MAX 256
#define JFR_NONE UINT32_MAX

/* A recording in memory or in a file. */
struct jfr_input {
	const char *text; /* NULL: in a file */
	int fd;
	uint64_t size;
};

enum jfr_kind {
	JFR_STRUCT,
	JFR_LONG,
	JFR_INT,
	JFR_SHORT,
	JFR_CHAR,
	JFR_BYTE,
	JFR_BOOLEAN,
	JFR_FLOAT,
	JFR_DOUBLE,
	JFR_STRING,
};

/* Meanings of numbers. Times are converted to ns since the Unix epoch, and spans to ns. */
enum jfr_unit {
	JFR_PLAIN,
	JFR_TIME,
	JFR_SPAN,
	JFR_BYTES,
	JFR_SHARE, /* a fraction of 1 */
	JFR_ADDRESS,
};

/* A value in an event or constant. Members of structs are values of the outermost struct. */
struct jfr_leaf {
	string_id name; /* "heapUsed", "heapSpace.start" */
	string_id label;
	uint32_t type; /* row */
	uint8_t unit; /* enum jfr_unit */
	uint8_t scale; /* enum scale */
	bool is_ref, is_array;
};

struct jfr_type {
	uint64_t id;
	string_id name, label;
	uint32_t first_field, field_count;
	uint32_t first_leaf, leaf_count; /* valid after jfr_leaves() */
	uint8_t kind; /* enum jfr_kind */
	bool is_event, is_simple, has_leaves, is_damaged;
};

enum jfr_value_kind {
	JFR_NO_VALUE,
	JFR_NUMBER,
	JFR_REAL,
	JFR_TEXT,
	JFR_REF,
	JFR_ARRAY,
};

struct jfr_value {
	uint8_t kind; /* enum jfr_value_kind */
	uint8_t form; /* encoding of a text */
	uint32_t type; /* row of the type of a reference's target, or of an array's elements */
	union {
		int64_t number; /* also the key of a reference */
		double real;
		const uint8_t *bytes; /* text: its characters; array: its count */
	};
	uint32_t size; /* characters of a text, or bytes up to the end of an array */
};

struct jfr_constant {
	int64_t key;
	const uint8_t *bytes;
	uint32_t type, size; /* bytes up to the end of the pool's event */
};

struct jfr_field {
	string_id name, label;
	uint64_t class;
	uint8_t unit, scale;
	bool is_ref, is_array;
};

/* Names of annotations are only known once all types are. */
struct jfr_annotation {
	uint64_t class;
	uint32_t type, field; /* field JFR_NONE: annotates the type */
	string_id value;
};

/* The bytes that types were read from. Most chunks have those of the chunk before. */
struct jfr_types_text {
	void *bytes; /* owned */
	size_t size;
	bool is_compressed;
};

struct jfr_chunk {
	const struct jfr_input *in;
	uint64_t at, size;
	uint64_t metadata, pools; /* offsets in the chunk */
	uint64_t start_ns, duration_ns; /* ns since the Unix epoch, ns */
	int64_t start_ticks;
	uint64_t frequency;
	bool is_unfinished, is_compressed, has_constants;
	struct strings names;
	VEC(struct jfr_type) types;
	VEC(struct jfr_field) fields;
	VEC(struct jfr_leaf) leaves;
	VEC(struct jfr_annotation) annotations;
	VEC(struct jfr_constant) constants;
	struct index type_index, constant_index;
	VEC(char *) blocks; /* bytes of a file, owned */
	struct jfr_types_text types_text;
	uint32_t string_type; /* row of java.lang.String */
};

/*
 * Reads the chunk's header and types at an offset of the input. Returns -EBADMSG if they are
 * damaged, -ENODATA if the chunk was never finished and has no types, -ENOTSUP for old versions.
 * `c` is zeroed, or has another chunk, which it replaces. The caller releases it in any case.
 */
int jfr_chunk_open(struct jfr_chunk *c, const struct jfr_input *in, uint64_t at, struct error *err);
void jfr_chunk_release(struct jfr_chunk *c);
/*
 * Reads the chunk's constants, unless that is done; the first request for one does it as well.
 * Returns -EBADMSG if they are damaged.
 */
int jfr_constants_read(struct jfr_chunk *c, struct error *err);

const char *jfr_name(const struct jfr_chunk *c, string_id name);
/* Returns the row of the type with that name, or JFR_NONE. */
uint32_t jfr_type_find(const struct jfr_chunk *c, const char *name);
/* Lists the values of a type. Returns false if it has no readable ones. */
bool jfr_leaves(struct jfr_chunk *c, uint32_t type);
/* Returns the index of the value with that name, or JFR_NONE. */
uint32_t jfr_leaf_find(struct jfr_chunk *c, uint32_t type, const char *name);

/* Reads all values of a type, which has leaves. Returns false if they end early. */
bool jfr_read(const struct jfr_chunk *c, uint32_t type, struct bytes *b,
	      struct jfr_value values[JFR_LEAVES_MAX]);
/*
 * Reads the referenced constant and returns the row of its type; JFR_NONE for null and missing
 * constants.
 */
uint32_t jfr_constant_read(struct jfr_chunk *c, const struct jfr_value *ref,
			   struct jfr_value values[JFR_LEAVES_MAX]);
/* Follows references to simple constants: to a text or number, to a struct's last reference. */
struct jfr_value jfr_resolve(struct jfr_chunk *c, struct jfr_value value);
/* Begins iterating over the elements of an array. Returns their number. */
uint32_t jfr_array_begin(struct jfr_chunk *c, const struct jfr_value *array, struct bytes *b);
/* Appends a text as UTF-8. */
void jfr_add_text(const struct jfr_chunk *c, const struct jfr_value *text, struct strbuf *out);

/* Events of a chunk in the order of the file. */

struct jfr_events {
	const struct jfr_chunk *chunk;
	uint64_t next; /* offset in the chunk */
	char *window; /* bytes of a file, owned */
	uint64_t window_at;
	size_t window_size, window_capacity;
	bool failed; /* the rest of the chunk is damaged */
};

struct jfr_event {
	uint32_t type; /* row */
	struct bytes bytes;
};

/* Events with unknown types are skipped. An event is valid until the next call. */
bool jfr_events_next(struct jfr_events *e, struct jfr_event *event);
void jfr_events_release(struct jfr_events *e);

/* Shared by jfr_types.c and jfr_file.c only. */

/* Events of the container itself. */
#define JFR_METADATA 0
#define JFR_CHECKPOINT 1

/* Maximum nesting of elements in the metadata, and of structs. */
#define JFR_DEPTH_MAX 24

/* Scale of times and amounts in the file. */
enum scale {
	SCALE_NONE,
	SCALE_TICKS,
	SCALE_NS,
	SCALE_US,
	SCALE_MS,
	SCALE_S,
	SCALE_BITS,
};

/* Integers: LEB128 whose ninth byte has eight bits, or big-endian of fixed width. */

static inline uint64_t jfr_compressed(struct bytes *b)
{
	uint64_t value = 0;

	for (unsigned int shift = 0; shift < 56; shift += 7) {
		uint8_t byte = bytes_u8(b);

		value |= (uint64_t)(byte & 0x7f) << shift;
		if (byte < 0x80)
			return value;
	}
	return value | (uint64_t)bytes_u8(b) << 56;
}

static inline uint64_t jfr_big_endian(struct bytes *b, size_t size)
{
	const uint8_t *at = bytes_take(b, size);
	uint64_t value = 0;

	for (size_t i = 0; at && i < size; i++)
		value = value << 8 | at[i];
	return value;
}

static inline int64_t jfr_read_long(const struct jfr_chunk *c, struct bytes *b)
{
	if (c->is_compressed && b->at < b->end && *b->at < 0x80 && !b->failed)
		return *b->at++;
	return (int64_t)(c->is_compressed ? jfr_compressed(b) : jfr_big_endian(b, 8));
}

static inline int32_t jfr_read_int(const struct jfr_chunk *c, struct bytes *b)
{
	return (int32_t)(c->is_compressed ? jfr_compressed(b) : jfr_big_endian(b, 4));
}

static inline int16_t jfr_read_short(const struct jfr_chunk *c, struct bytes *b)
{
	return (int16_t)(c->is_compressed ? jfr_compressed(b) : jfr_big_endian(b, 2));
}

/* Returns a count of elements of at least a byte each. */
static inline uint32_t jfr_read_count(const struct jfr_chunk *c, struct bytes *b)
{
	int32_t count = jfr_read_int(c, b);

	if (count < 0 || (size_t)count > bytes_left(b)) {
		b->failed = true;
		return 0;
	}
	return (uint32_t)count;
}

int jfr_damaged(struct error *err, const char *what);
struct jfr_value jfr_read_text(const struct jfr_chunk *c, struct bytes *b);
/* Returns a row, or INDEX_NONE. */
uint32_t jfr_type_of_id(const struct jfr_chunk *c, uint64_t id);
/* Reads the types of a chunk, which has none, from its event of metadata, after the id. */
int jfr_types_read(struct jfr_chunk *c, const struct bytes *event, struct error *err);
