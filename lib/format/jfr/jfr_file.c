/* SPDX-License-Identifier: MIT */
#include "lib/format/jfr/jfr_file.h"

#include "lib/base/infile.h"
#include "lib/base/open_file.h"

#define HEADER_SIZE 68
/* Bytes to read at once from a file. */
#define WINDOW_SIZE ((size_t)1 << 20)
/* Limit of references to references. */
#define HOPS_MAX 8

/* Bytes of the input. */

/* Fills `to` from a file; false if it ends early. */
static bool read_file(const struct jfr_input *in, uint64_t offset, char *to, size_t size)
{
	return read_at(in->fd, to, size, offset) == (ssize_t)size;
}

/* Returns bytes of the chunk that live as long as it, or NULL. */
static const char *keep_bytes(struct jfr_chunk *c, uint64_t offset, size_t size)
{
	char *block;

	if (offset > c->size || size > c->size - offset)
		return NULL;
	if (c->in->text)
		return c->in->text + c->at + offset;
	block = xmalloc(size + 1);
	vec_push(&c->blocks, block);
	return read_file(c->in, c->at + offset, block, size) ? block : NULL;
}

/* Returns a cursor over the event at an offset, after its size; empty if there is none. */
static struct bytes event_at(struct jfr_chunk *c, uint64_t offset)
{
	uint64_t left = offset < c->size ? c->size - offset : 0;
	size_t head = left < 9 ? (size_t)left : 9;
	const char *text;
	struct bytes b;
	int32_t size;
	char copy[9] = {0};

	if (c->in->text && head)
		memcpy(copy, c->in->text + c->at + offset, head);
	else if (!c->in->text && !read_file(c->in, c->at + offset, copy, head))
		head = 0;
	bytes_init(&b, copy, head);
	size = jfr_read_int(c, &b);
	text = b.failed || size <= 0 ? NULL : keep_bytes(c, offset, (size_t)size);
	bytes_init(&b, text, text ? (size_t)size : 0);
	jfr_read_int(c, &b);
	return b;
}

/* Values. */

static double real_of(uint64_t bits, bool is_double)
{
	uint32_t low = (uint32_t)bits;
	double value;
	float single;

	if (is_double) {
		memcpy(&value, &bits, sizeof(value));
		return value;
	}
	memcpy(&single, &low, sizeof(single));
	return (double)single;
}

static struct jfr_value read_primitive(const struct jfr_chunk *c, uint8_t kind, struct bytes *b)
{
	struct jfr_value value = {.kind = JFR_NUMBER};

	switch (kind) {
	case JFR_LONG:
		value.number = jfr_read_long(c, b);
		break;
	case JFR_INT:
		value.number = jfr_read_int(c, b);
		break;
	case JFR_SHORT:
		value.number = jfr_read_short(c, b);
		break;
	case JFR_CHAR:
		value.number = (uint16_t)jfr_read_short(c, b);
		break;
	case JFR_BYTE:
		value.number = (int8_t)bytes_u8(b);
		break;
	case JFR_BOOLEAN:
		value.number = bytes_u8(b) != 0;
		break;
	case JFR_FLOAT:
	case JFR_DOUBLE:
		value.kind = JFR_REAL;
		value.real = real_of(jfr_big_endian(b, kind == JFR_DOUBLE ? 8 : 4),
				     kind == JFR_DOUBLE);
		break;
	default:
		value = jfr_read_text(c, b);
	}
	return value;
}

/* Spans of 2^63-1 are infinite and those of -2^63 unknown; neither has a value. */
static void convert(const struct jfr_chunk *c, const struct jfr_leaf *leaf, struct jfr_value *value)
{
	static const int64_t factors[] = {
		[SCALE_NS] = 1, [SCALE_US] = 1000, [SCALE_MS] = 1000000, [SCALE_S] = 1000000000};
	int64_t number = value->number;
	double ns;

	if (leaf->scale == SCALE_BITS)
		value->number /= 8;
	if (leaf->unit != JFR_TIME && leaf->unit != JFR_SPAN)
		return;
	if (number == INT64_MIN || number == INT64_MAX) {
		value->kind = JFR_NO_VALUE;
	} else if (leaf->scale == SCALE_TICKS) {
		if (leaf->unit == JFR_TIME &&
		    __builtin_sub_overflow(number, c->start_ticks, &number))
			value->kind = JFR_NO_VALUE;
		ns = (double)number / ((double)c->frequency / 1e9);
		if (!(ns > -9e18 && ns < 9e18) ||
		    __builtin_add_overflow((int64_t)ns,
					   leaf->unit == JFR_TIME ? (int64_t)c->start_ns : 0,
					   &value->number))
			value->kind = JFR_NO_VALUE;
	} else if (leaf->scale >= SCALE_NS && leaf->scale <= SCALE_S &&
		   __builtin_mul_overflow(number, factors[leaf->scale], &value->number)) {
		value->kind = JFR_NO_VALUE;
	}
}

static void skip_value(const struct jfr_chunk *c, uint32_t row, struct bytes *b,
		       unsigned int depth);

/* Elements of a type without values have no bytes. */
static void skip_array(const struct jfr_chunk *c, const struct jfr_leaf *leaf, struct bytes *b,
		       unsigned int depth)
{
	uint32_t count = jfr_read_count(c, b);
	const struct jfr_type *type = &c->types.items[leaf->type];

	if (leaf->is_ref) {
		for (; count && !b->failed; count--)
			jfr_read_long(c, b);
		return;
	}
	if (!type->has_leaves || type->is_damaged || depth > JFR_DEPTH_MAX)
		b->failed = true;
	for (; type->leaf_count && count && !b->failed; count--)
		skip_value(c, leaf->type, b, depth + 1);
}

static void skip_value(const struct jfr_chunk *c, uint32_t row, struct bytes *b, unsigned int depth)
{
	const struct jfr_type *type = &c->types.items[row];

	for (uint32_t i = 0; i < type->leaf_count && !b->failed; i++) {
		const struct jfr_leaf *leaf = &c->leaves.items[type->first_leaf + i];

		if (leaf->is_array)
			skip_array(c, leaf, b, depth);
		else if (leaf->is_ref || c->types.items[leaf->type].kind == JFR_LONG)
			jfr_read_long(c, b);
		else
			read_primitive(c, c->types.items[leaf->type].kind, b);
	}
}

static void read_value(const struct jfr_chunk *c, uint32_t row, struct bytes *b,
		       struct jfr_value *values)
{
	const struct jfr_type *type = &c->types.items[row];

	for (uint32_t i = 0; i < type->leaf_count && !b->failed; i++) {
		const struct jfr_leaf *leaf = &c->leaves.items[type->first_leaf + i];
		struct jfr_value *value = &values[i];

		*value = (struct jfr_value){.type = leaf->type};
		if (leaf->is_array) {
			value->kind = JFR_ARRAY;
			value->bytes = b->at;
			value->form = leaf->is_ref;
			skip_array(c, leaf, b, 0);
			value->size = (uint32_t)(b->at - value->bytes);
		} else if (leaf->is_ref) {
			value->kind = JFR_REF;
			value->number = jfr_read_long(c, b);
		} else {
			*value = read_primitive(c, c->types.items[leaf->type].kind, b);
			if (leaf->unit && value->kind == JFR_NUMBER)
				convert(c, leaf, value);
		}
	}
}

bool jfr_read(const struct jfr_chunk *c, uint32_t type, struct bytes *b,
	      struct jfr_value values[JFR_LEAVES_MAX])
{
	read_value(c, type, b, values);
	return !b->failed;
}

uint32_t jfr_array_begin(struct jfr_chunk *c, const struct jfr_value *array, struct bytes *b)
{
	if (array->kind != JFR_ARRAY || array->form) {
		bytes_init(b, NULL, 0);
		return 0;
	}
	bytes_init(b, array->bytes, array->size);
	return jfr_read_count(c, b);
}

/* Constants. */

struct constant_key {
	uint32_t type;
	int64_t key;
};

static bool constant_equal(const void *table, uint32_t row, const void *key)
{
	const struct jfr_constant *constant =
		&((const struct jfr_chunk *)table)->constants.items[row];
	const struct constant_key *wanted = key;

	return constant->type == wanted->type && constant->key == wanted->key;
}

static const struct jfr_constant *find_constant(const struct jfr_chunk *c, uint32_t type,
						int64_t key)
{
	const struct constant_key wanted = {type, key};
	uint32_t at = index_find(&c->constant_index, hash_pair(type, (uint64_t)key), constant_equal,
				 c, &wanted);

	return at == INDEX_NONE ? NULL : &c->constants.items[at];
}

/* The chain goes back in time; of several constants with one key, any will do. */
static void add_constant(struct jfr_chunk *c, uint32_t type, int64_t key, const struct bytes *b)
{
	const struct jfr_constant row = {key, b->at, type, (uint32_t)(b->end - b->at)};

	if (find_constant(c, type, key) || c->constants.count >= INDEX_NONE - 1)
		return;
	index_add(&c->constant_index, hash_pair(type, (uint64_t)key), (uint32_t)c->constants.count);
	vec_push(&c->constants, row);
}

static bool read_pool(struct jfr_chunk *c, struct bytes *b)
{
	uint32_t type = jfr_type_of_id(c, (uint64_t)jfr_read_long(c, b));
	uint32_t count = jfr_read_count(c, b);

	if (!count)
		return !b->failed;
	if (type == INDEX_NONE || !jfr_leaves(c, type))
		return false;
	for (; count && !b->failed; count--) {
		int64_t key = jfr_read_long(c, b);
		struct bytes value = *b;

		skip_value(c, type, b, 0);
		if (!b->failed)
			add_constant(c, type, key, &value);
	}
	return !b->failed;
}

/* Returns the distance to the next event with constants, 0 at the end of the chain. */
static int64_t read_constants(struct jfr_chunk *c, uint64_t offset, bool *failed)
{
	struct bytes b = event_at(c, offset);
	bool is_one = jfr_read_long(c, &b) == JFR_CHECKPOINT;
	int64_t delta;

	jfr_read_long(c, &b); /* skip the time */
	jfr_read_long(c, &b); /* skip the duration */
	delta = jfr_read_long(c, &b);
	bytes_u8(&b); /* skip the kind */
	if (!is_one || b.failed) {
		*failed = true;
		return 0;
	}
	for (uint32_t count = jfr_read_count(c, &b); count; count--) {
		if (!read_pool(c, &b)) {
			*failed = true;
			return 0;
		}
	}
	return delta;
}

/* The chain leads backwards, so it ends. */
int jfr_constants_read(struct jfr_chunk *c, struct error *err)
{
	uint64_t offset = c->has_constants ? 0 : c->pools;
	bool failed = false;

	c->has_constants = true;
	while (offset) {
		int64_t delta = read_constants(c, offset, &failed);

		if (failed || delta > 0 || (delta && (uint64_t)-delta > offset))
			return jfr_damaged(err, "its constants end early");
		offset = delta ? offset + (uint64_t)delta : 0;
	}
	return 0;
}

uint32_t jfr_constant_read(struct jfr_chunk *c, const struct jfr_value *ref,
			   struct jfr_value values[JFR_LEAVES_MAX])
{
	const struct jfr_constant *constant;
	struct bytes b;

	if (ref->kind != JFR_REF || jfr_constants_read(c, NULL))
		return JFR_NONE;
	constant = find_constant(c, ref->type, ref->number);
	if (!constant)
		return JFR_NONE;
	bytes_init(&b, constant->bytes, constant->size);
	return jfr_read(c, constant->type, &b, values) ? constant->type : JFR_NONE;
}

struct jfr_value jfr_resolve(struct jfr_chunk *c, struct jfr_value value)
{
	struct jfr_value values[JFR_LEAVES_MAX];

	for (unsigned int hop = 0; value.kind == JFR_REF && hop < HOPS_MAX; hop++) {
		uint32_t type = jfr_constant_read(c, &value, values);

		if (type == JFR_NONE || !c->types.items[type].leaf_count)
			return (struct jfr_value){0};
		if (!c->types.items[type].is_simple && c->types.items[type].kind == JFR_STRUCT)
			return value;
		value = values[0];
	}
	return value;
}

/* Chunks. */

static int check_header(struct jfr_chunk *c, uint16_t major, struct error *err)
{
	if (major < 2)
		return error_text(err, -ENOTSUP,
				  "flight recordings of Oracle's Java 9 and older have another "
				  "format");
	if (c->is_unfinished && !c->metadata)
		return error_text(err, -ENODATA,
				  "the flight recording was never finished, and has no types");
	if (c->size < HEADER_SIZE || c->size > c->in->size - c->at)
		return error_text(err, -EBADMSG, "the flight recording is cut off");
	if (!c->frequency || c->start_ns > INT64_MAX)
		return jfr_damaged(err, "it has no clock");
	return 0;
}

static void forget_types(struct jfr_chunk *c)
{
	strings_release(&c->names);
	vec_clear(&c->types);
	vec_clear(&c->fields);
	vec_clear(&c->leaves);
	vec_clear(&c->annotations);
	index_clear(&c->type_index);
	c->string_type = JFR_NONE;
	free(c->types_text.bytes);
	c->types_text = (struct jfr_types_text){0};
}

static void forget_constants(struct jfr_chunk *c)
{
	vec_for_each(&c->blocks, char **, block)
		free(*block);
	vec_clear(&c->blocks);
	vec_clear(&c->constants);
	index_clear(&c->constant_index);
	c->has_constants = false;
}

static int read_types(struct jfr_chunk *c, struct error *err)
{
	struct bytes b = event_at(c, c->metadata);
	bool is_one = jfr_read_long(c, &b) == JFR_METADATA;
	const struct jfr_types_text *old = &c->types_text;
	struct jfr_types_text text;
	int ret;

	jfr_read_long(c, &b); /* skip the time */
	jfr_read_long(c, &b); /* skip the duration */
	jfr_read_long(c, &b); /* skip the id */
	if (!is_one || b.failed)
		return jfr_damaged(err, "its types end early");
	if (old->bytes && old->size == bytes_left(&b) && old->is_compressed == c->is_compressed &&
	    memcmp(old->bytes, b.at, old->size) == 0)
		return 0;
	text = (struct jfr_types_text){
		.bytes = xmemdup(b.at, bytes_left(&b)),
		.size = bytes_left(&b),
		.is_compressed = c->is_compressed,
	};
	forget_types(c);
	ret = jfr_types_read(c, &b, err);
	if (ret)
		free(text.bytes);
	else
		c->types_text = text;
	return ret;
}

int jfr_chunk_open(struct jfr_chunk *c, const struct jfr_input *in, uint64_t at, struct error *err)
{
	char header[HEADER_SIZE];
	uint16_t major;
	struct bytes b;
	int ret;

	forget_constants(c);
	c->in = in;
	c->at = at;
	if (at > in->size || in->size - at < HEADER_SIZE)
		return error_text(err, -EBADMSG, "the flight recording is cut off");
	if (in->text)
		memcpy(header, in->text + at, HEADER_SIZE);
	else if (!read_file(in, at, header, HEADER_SIZE))
		return error_set(err, -EIO, "cannot read the flight recording");
	if (memcmp(header, JFR_MAGIC, sizeof(JFR_MAGIC)) != 0)
		return jfr_damaged(err, "a chunk has no header");
	bytes_init(&b, header + sizeof(JFR_MAGIC), HEADER_SIZE - sizeof(JFR_MAGIC));
	major = (uint16_t)jfr_big_endian(&b, 2);
	bytes_skip(&b, 2);
	c->size = jfr_big_endian(&b, 8);
	c->pools = jfr_big_endian(&b, 8);
	c->metadata = jfr_big_endian(&b, 8);
	c->start_ns = jfr_big_endian(&b, 8);
	c->duration_ns = jfr_big_endian(&b, 8);
	c->start_ticks = (int64_t)jfr_big_endian(&b, 8);
	c->frequency = jfr_big_endian(&b, 8);
	/* Flushed occasionally: everything within the header's size is complete. */
	c->is_unfinished = bytes_u8(&b) != 0;
	bytes_skip(&b, 1);
	c->is_compressed = jfr_big_endian(&b, 2) & 1;
	/* async-profiler writes an impossible size first. */
	c->is_unfinished |= !c->metadata;
	ret = check_header(c, major, err);
	return ret ? ret : read_types(c, err);
}

void jfr_chunk_release(struct jfr_chunk *c)
{
	forget_constants(c);
	forget_types(c);
	vec_release(&c->blocks);
	vec_release(&c->types);
	vec_release(&c->fields);
	vec_release(&c->leaves);
	vec_release(&c->annotations);
	vec_release(&c->constants);
	index_release(&c->type_index);
	index_release(&c->constant_index);
}

/* Events. */

/* Returns at least `size` bytes at an offset of the chunk, or NULL; *got is their number. */
static const char *window_at(struct jfr_events *e, uint64_t offset, size_t size, size_t *got)
{
	const struct jfr_chunk *c = e->chunk;
	uint64_t left = c->size - offset;

	if (size > left)
		return NULL;
	if (c->in->text) {
		*got = (size_t)left;
		if (offset - e->window_at >= WINDOW_SIZE) {
			e->window_at = offset;
			infile_pass(c->in->text + c->at + offset);
		}
		return c->in->text + c->at + offset;
	}
	if (offset < e->window_at || offset + size > e->window_at + e->window_size) {
		size_t wanted = size > WINDOW_SIZE ? size : WINDOW_SIZE;

		if (wanted > left)
			wanted = (size_t)left;
		if (wanted > e->window_capacity) {
			e->window = xrealloc(e->window, wanted);
			e->window_capacity = wanted;
		}
		e->window_at = offset;
		e->window_size = read_file(c->in, c->at + offset, e->window, wanted) ? wanted : 0;
		if (e->window_size < size)
			return NULL;
	}
	*got = (size_t)(e->window_at + e->window_size - offset);
	return e->window + (offset - e->window_at);
}

/* Returns the event's size and type, 0 if it is damaged. */
static size_t read_head(const struct jfr_chunk *c, struct bytes *b, uint64_t *type)
{
	int32_t size = jfr_read_int(c, b);

	*type = (uint64_t)jfr_read_long(c, b);
	return b->failed || size <= 0 || (size_t)size < bytes_position(b) ? 0 : (size_t)size;
}

bool jfr_events_next(struct jfr_events *e, struct jfr_event *event)
{
	const struct jfr_chunk *c = e->chunk;

	if (!e->next)
		e->next = HEADER_SIZE;
	while (!e->failed && e->next < c->size) {
		uint64_t left = c->size - e->next, type;
		size_t got = 0, size;
		const char *text = window_at(e, e->next, left < 18 ? (size_t)left : 18, &got);

		bytes_init(&event->bytes, text, text ? got : 0);
		size = read_head(c, &event->bytes, &type);
		if (size && type != JFR_METADATA && type != JFR_CHECKPOINT && size > got) {
			text = window_at(e, e->next, size, &got);
			bytes_init(&event->bytes, text, text ? got : 0);
			size = read_head(c, &event->bytes, &type);
		}
		if (!size || size > left) {
			e->failed = true;
			return false;
		}
		e->next += size;
		event->type = jfr_type_of_id(c, type);
		if (type == JFR_METADATA || type == JFR_CHECKPOINT || event->type == INDEX_NONE)
			continue;
		event->bytes.end = event->bytes.start + size;
		return true;
	}
	return false;
}

void jfr_events_release(struct jfr_events *e)
{
	free(e->window);
}
