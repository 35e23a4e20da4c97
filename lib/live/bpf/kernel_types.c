/* SPDX-License-Identifier: MIT */
#include "lib/live/bpf/kernel_types.h"

#include <bpf/btf.h>
#include <linux/btf.h>
#include <sys/mman.h>

#include "lib/base/bytes.h"
#include "lib/base/open_file.h"

#define KERNEL_BTF "/sys/kernel/btf/vmlinux"
/* Maximum size; kernels have around 6 MB, those with everything built in somewhat more. */
#define BTF_BYTES_MAX ((size_t)256 << 20)

/* Parts of btf_type.info since 7.2: before, kinds had 5 bits, counts 16, and the rest was 0. */
#define KIND_OF(info) ((info) >> 24 & 0x7f)
#define COUNT_OF(info) ((info)&0xffffff)
#define LAYOUT_ENTRY_SIZE 4 /* for each kind: the two bytes of a shape, then flags */
#define KINDS_MAX 128
/*
 * Notes the offset of one type in this many; the others are found from there. A list of all 150,000
 * types would take longer to fill than it takes to find the few that are needed.
 */
#define MARK_EVERY 16

/* Layout of the data after a struct btf_type. */
struct shape {
	bool is_known;
	uint8_t fixed, each; /* bytes of the type, and of each element */
};

struct picker {
	struct bytes types, layout; /* contents of the sections; no layout before 7.2 */
	struct shape shapes[KINDS_MAX]; /* by kind */
	const char *strings;
	size_t strings_size;
	uint32_t type_count; /* numbers begin at 1 */
	VEC(uint32_t) marks; /* section offsets of types 1, 1 + MARK_EVERY and so on */
	VEC(uint32_t) picked; /* numbers of the picked types, in the order of their new numbers */
	struct index picked_index; /* index of picked */
	struct strbuf out_types, out_strings;
	struct index string_index; /* index of out_offsets */
	VEC(uint32_t) in_offsets, out_offsets; /* offsets of the same strings in input and output */
	bool failed;
};

static void picker_release(struct picker *p)
{
	vec_release(&p->marks);
	vec_release(&p->picked);
	index_release(&p->picked_index);
	strbuf_release(&p->out_types);
	strbuf_release(&p->out_strings);
	index_release(&p->string_index);
	vec_release(&p->in_offsets);
	vec_release(&p->out_offsets);
}

/* Returns the length of a name without its flavor ("___" and the rest). */
static size_t essential_length(const char *name)
{
	size_t length = strlen(name);

	for (size_t i = length < 5 ? 0 : length - 4; i-- > 0;) {
		if (memcmp(name + i + 1, "___", 3) == 0 && name[i] != '_' && name[i + 4] != '_')
			return i + 1;
	}
	return length;
}

struct piece {
	const char *text;
	size_t length;
};

static bool equal_name(const void *table, uint32_t id, const void *key)
{
	const struct type_names *names = table;
	const struct piece *piece = key;

	return essential_length(names->rows.items[id]) == piece->length &&
	       memcmp(names->rows.items[id], piece->text, piece->length) == 0;
}

static bool has_name(const struct type_names *names, const char *name, uint64_t *hash)
{
	struct piece piece = {name, essential_length(name)};

	*hash = hash_bytes(name, piece.length, 0);
	return index_find(&names->index, *hash, equal_name, names, &piece) != INDEX_NONE;
}

/* Returns the bit number for a name's first three characters. */
static uint32_t start_of(const char *name)
{
	uint32_t start = (uint8_t)name[0];

	if (start && name[1])
		start |= (uint32_t)(uint8_t)name[1] << 8 | (uint32_t)(uint8_t)name[2] << 16;
	return start * 0x9e3779b1u >> 20;
}

static void add_start(struct name_starts *starts, const char *name)
{
	uint32_t bit = start_of(name);

	starts->bits[bit / 64] |= 1ull << bit % 64;
}

static bool may_have(const struct name_starts *starts, const char *name)
{
	uint32_t bit = start_of(name);

	return starts->bits[bit / 64] >> bit % 64 & 1;
}

/* The start of a short name may extend into its flavor, or the flavor of a matching type. */
static void add_name_starts(struct name_starts *starts, const char *name)
{
	char essence[4] = {0};
	size_t length = essential_length(name);

	memcpy(essence, name, length < 3 ? length : 3);
	add_start(starts, essence);
	if (length < 3) {
		memset(essence + length, '_', 3 - length);
		add_start(starts, essence);
	}
}

void type_names_add(struct type_names *names, const char *name)
{
	uint64_t hash;

	if (!*name || has_name(names, name, &hash))
		return;
	add_name_starts(&names->starts, name);
	index_add(&names->index, hash, (uint32_t)names->rows.count);
	vec_push(&names->rows, name);
}

/* True for kinds that programs refer to by name. */
static bool is_type(uint32_t kind)
{
	return kind == BTF_KIND_STRUCT || kind == BTF_KIND_UNION || kind == BTF_KIND_ENUM ||
	       kind == BTF_KIND_ENUM64 || kind == BTF_KIND_TYPEDEF || kind == BTF_KIND_INT ||
	       kind == BTF_KIND_FLOAT || kind == BTF_KIND_FWD;
}

void type_names_add_needed(struct type_names *names)
{
	static const char *const needed[] = {
#include <type_names.inc>
	};

	for (size_t i = 0; i < sizeof(needed) / sizeof(needed[0]); i++)
		type_names_add(names, needed[i]);
}

void type_names_release(struct type_names *names)
{
	vec_release(&names->rows);
	index_release(&names->index);
}

static const struct shape shapes[] = {
	[BTF_KIND_INT] = {true, sizeof(uint32_t), 0},
	[BTF_KIND_PTR] = {true, 0, 0},
	[BTF_KIND_ARRAY] = {true, sizeof(struct btf_array), 0},
	[BTF_KIND_STRUCT] = {true, 0, sizeof(struct btf_member)},
	[BTF_KIND_UNION] = {true, 0, sizeof(struct btf_member)},
	[BTF_KIND_ENUM] = {true, 0, sizeof(struct btf_enum)},
	[BTF_KIND_FWD] = {true, 0, 0},
	[BTF_KIND_TYPEDEF] = {true, 0, 0},
	[BTF_KIND_VOLATILE] = {true, 0, 0},
	[BTF_KIND_CONST] = {true, 0, 0},
	[BTF_KIND_RESTRICT] = {true, 0, 0},
	[BTF_KIND_FUNC] = {true, 0, 0}, /* vlen is the linkage of the function */
	[BTF_KIND_FUNC_PROTO] = {true, 0, sizeof(struct btf_param)},
	[BTF_KIND_VAR] = {true, sizeof(struct btf_var), 0},
	[BTF_KIND_DATASEC] = {true, 0, sizeof(struct btf_var_secinfo)},
	[BTF_KIND_FLOAT] = {true, 0, 0},
	[BTF_KIND_DECL_TAG] = {true, sizeof(struct btf_decl_tag), 0},
	[BTF_KIND_TYPE_TAG] = {true, 0, 0},
	[BTF_KIND_ENUM64] = {true, 0, sizeof(struct btf_enum64)},
};
#define KIND_COUNT (sizeof(shapes) / sizeof(shapes[0]))

/* Notes the shapes of all kinds. The kernel describes newer ones, so that they can be skipped. */
static void fill_shapes(struct picker *p)
{
	struct bytes b = p->layout;

	memcpy(p->shapes, shapes, sizeof(shapes));
	bytes_skip(&b, KIND_COUNT * LAYOUT_ENTRY_SIZE);
	for (size_t kind = KIND_COUNT; kind < KINDS_MAX; kind++) {
		const uint8_t *entry = bytes_take(&b, LAYOUT_ENTRY_SIZE);

		if (entry)
			p->shapes[kind] = (struct shape){true, entry[0], entry[1]};
	}
}

/* Reads a type, and skips the rest of it. False if it is cut off or of an unknown kind. */
static inline bool read_type(const struct picker *p, struct bytes *b, struct btf_type *type)
{
	const void *bytes = bytes_take(b, sizeof(*type));
	struct shape shape;

	if (!bytes)
		return false;
	memcpy(type, bytes, sizeof(*type));
	shape = p->shapes[KIND_OF(type->info)];
	bytes_skip(b, shape.fixed + (size_t)COUNT_OF(type->info) * shape.each);
	return shape.is_known && !b->failed;
}

/* Returns the section offset of a type, whose number must be valid. */
static size_t find_type(const struct picker *p, uint32_t number)
{
	struct bytes b = p->types;
	struct btf_type type;

	bytes_seek(&b, p->marks.items[(number - 1) / MARK_EVERY]);
	for (uint32_t i = (number - 1) % MARK_EVERY; i; i--)
		read_type(p, &b, &type);
	return bytes_position(&b);
}

static const char *name_at(struct picker *p, uint32_t offset)
{
	if (offset < p->strings_size)
		return p->strings + offset;
	p->failed = true;
	return "";
}

INDEX_EQUAL(equal_number, struct picker, picked, *a == *b)

/* Returns the new number of a type, after picking it if necessary. */
static uint32_t pick(struct picker *p, uint32_t number)
{
	uint32_t row;

	if (!number)
		return 0; /* void has number 0 */
	if (number > p->type_count) {
		p->failed = true;
		return 0;
	}
	row = index_intern(&p->picked_index, hash_u64(number), equal_number, p, &number,
			   p->picked.count);
	if (row == p->picked.count)
		vec_push(&p->picked, number);
	return row + 1;
}

/* Sets the numbers of the attach points that have the type's name. */
static void find_points(const struct picker *p, const char *name, uint32_t kind,
			struct attach_point *points, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (points[i].name && points[i].is_type == (kind == BTF_KIND_TYPEDEF) &&
		    strcmp(points[i].name, name) == 0)
			points[i].number = p->type_count;
	}
}

/* True if some attach points are functions, whose names are a third of all. */
static bool has_functions(const struct attach_point *points, size_t count)
{
	return items_find(points, count, it, it->name && !it->is_type);
}

/* Counts the types, notes the offsets of some, and picks those with one of the names. */
static void scan_types(struct picker *p, const struct type_names *names,
		       struct attach_point *points, size_t point_count)
{
	bool with_functions = has_functions(points, point_count);
	struct bytes b = p->types;
	struct name_starts starts = {0};
	VEC(uint32_t) found = {0};

	for (size_t i = 0; i < point_count; i++) {
		if (points[i].name)
			add_start(&starts, points[i].name);
	}
	while (bytes_left(&b)) {
		uint32_t at = (uint32_t)bytes_position(&b);
		struct btf_type type;
		uint32_t kind;
		uint64_t hash;
		const char *name;

		if (!read_type(p, &b, &type)) {
			p->failed = true;
			break;
		}
		if (p->type_count++ % MARK_EVERY == 0)
			vec_push(&p->marks, at);
		kind = KIND_OF(type.info);
		if (!type.name_off ||
		    (!is_type(kind) && !(kind == BTF_KIND_FUNC && with_functions)))
			continue;
		name = name_at(p, type.name_off);
		/* Hashing the names of all types would take most of the time. */
		if (is_type(kind) && may_have(&names->starts, name) && has_name(names, name, &hash))
			vec_push(&found, p->type_count);
		if ((kind == BTF_KIND_FUNC || kind == BTF_KIND_TYPEDEF) && may_have(&starts, name))
			find_points(p, name, kind, points, point_count);
	}
	p->failed |= b.failed;
	vec_for_each(&found, const uint32_t *, number)
		pick(p, *number);
	vec_release(&found);
}

INDEX_EQUAL(equal_offset, struct picker, in_offsets, *a == *b)

/* Returns the new offset of a string, after copying it if necessary. */
static uint32_t copy_string(struct picker *p, uint32_t offset)
{
	uint64_t hash = hash_u64(offset);
	uint32_t row = index_find(&p->string_index, hash, equal_offset, p, &offset);
	const char *text;

	if (!offset)
		return 0;
	if (row != INDEX_NONE)
		return p->out_offsets.items[row];
	text = name_at(p, offset);
	/* Strings that overlap in the input are copied whole: limit the total. */
	if (p->out_strings.size + strlen(text) + 1 > p->strings_size)
		p->failed = true;
	if (p->failed)
		return 0;
	index_add(&p->string_index, hash, (uint32_t)p->in_offsets.count);
	vec_push(&p->in_offsets, offset);
	vec_push(&p->out_offsets, (uint32_t)p->out_strings.size);
	strbuf_add(&p->out_strings, text, strlen(text) + 1);
	return vec_last(&p->out_offsets);
}

static void copy_bytes(struct picker *p, struct bytes *b, size_t size)
{
	const void *bytes = bytes_take(b, size);

	if (bytes)
		strbuf_add(&p->out_types, bytes, size);
}

static void copy_array(struct picker *p, struct bytes *b)
{
	struct btf_array array;

	array.type = pick(p, bytes_u32(b));
	array.index_type = pick(p, bytes_u32(b));
	array.nelems = bytes_u32(b);
	strbuf_add(&p->out_types, &array, sizeof(array));
}

static void copy_members(struct picker *p, struct bytes *b, uint32_t count)
{
	for (uint32_t i = 0; i < count && !p->failed; i++) {
		struct btf_member member;

		member.name_off = copy_string(p, bytes_u32(b));
		member.type = pick(p, bytes_u32(b));
		member.offset = bytes_u32(b);
		strbuf_add(&p->out_types, &member, sizeof(member));
	}
}

/* Copies enumerators of either size: a name, then the value. */
static void copy_enumerators(struct picker *p, struct bytes *b, uint32_t count, size_t value_size)
{
	for (uint32_t i = 0; i < count && !p->failed; i++) {
		uint32_t name = copy_string(p, bytes_u32(b));

		strbuf_add(&p->out_types, &name, sizeof(name));
		copy_bytes(p, b, value_size);
	}
}

static void copy_type(struct picker *p, uint32_t number)
{
	struct bytes b = p->types;
	struct btf_type type = {0};
	uint32_t kind, count;

	bytes_seek(&b, find_type(p, number));
	type.name_off = copy_string(p, bytes_u32(&b));
	type.info = bytes_u32(&b);
	type.size = bytes_u32(&b);
	kind = KIND_OF(type.info);
	count = COUNT_OF(type.info);
	if (kind == BTF_KIND_PTR)
		type.type = 0;
	else if (kind == BTF_KIND_TYPEDEF || kind == BTF_KIND_CONST || kind == BTF_KIND_VOLATILE ||
		 kind == BTF_KIND_RESTRICT || kind == BTF_KIND_TYPE_TAG)
		type.type = pick(p, type.type);
	strbuf_add(&p->out_types, &type, sizeof(type));
	if (kind == BTF_KIND_INT)
		copy_bytes(p, &b, sizeof(uint32_t));
	else if (kind == BTF_KIND_ARRAY)
		copy_array(p, &b);
	else if (kind == BTF_KIND_STRUCT || kind == BTF_KIND_UNION)
		copy_members(p, &b, count);
	else if (kind == BTF_KIND_ENUM)
		copy_enumerators(p, &b, count, sizeof(uint32_t));
	else if (kind == BTF_KIND_ENUM64)
		copy_enumerators(p, &b, count, 2 * sizeof(uint32_t));
	else if (kind == BTF_KIND_FUNC || kind == BTF_KIND_FUNC_PROTO || kind == BTF_KIND_VAR ||
		 kind == BTF_KIND_DATASEC || kind == BTF_KIND_DECL_TAG || kind >= KIND_COUNT)
		p->failed = true; /* types never refer to this kind, or its layout is unknown */
	p->failed |= b.failed;
}

/* Copies the picked types. The types they refer to are appended to `picked` and copied in turn. */
static void copy_types(struct picker *p)
{
	/* Offset 0 is the empty name. */
	strbuf_addch(&p->out_strings, '\0');
	for (size_t i = 0; i < p->picked.count && !p->failed; i++)
		copy_type(p, p->picked.items[i]);
}

static void write_all(const struct picker *p, struct strbuf *out)
{
	struct types_header header = {
		.magic = BTF_MAGIC,
		.version = BTF_VERSION,
		.header_size = sizeof(header),
		.types_size = (uint32_t)p->out_types.size,
		.strings_offset = (uint32_t)p->out_types.size,
		.strings_size = (uint32_t)p->out_strings.size,
	};

	strbuf_add(out, &header, sizeof(header));
	strbuf_add(out, p->out_types.text, p->out_types.size);
	strbuf_add(out, p->out_strings.text, p->out_strings.size);
}

/* Returns a section of the data after the header. */
static struct bytes section(struct bytes b, uint32_t header_size, uint32_t offset, uint32_t size)
{
	bytes_seek(&b, header_size);
	bytes_skip(&b, offset);
	return bytes_sub(&b, size);
}

static bool open_sections(struct picker *p, const void *btf, size_t size)
{
	struct types_header header;
	uint32_t layout_offset, layout_size;
	struct bytes b, strings;

	if (size < sizeof(header))
		return false;
	bytes_init(&b, btf, size);
	memcpy(&header, bytes_take(&b, sizeof(header)), sizeof(header));
	if (header.magic != BTF_MAGIC || header.version != BTF_VERSION || header.flags ||
	    header.header_size < sizeof(header))
		return false;
	if (header.header_size >= sizeof(header) + 2 * sizeof(uint32_t)) {
		layout_offset = bytes_u32(&b);
		layout_size = bytes_u32(&b);
		p->layout = section(b, header.header_size, layout_offset, layout_size);
	}
	fill_shapes(p);
	p->types = section(b, header.header_size, header.types_offset, header.types_size);
	strings = section(b, header.header_size, header.strings_offset, header.strings_size);
	p->strings = (const char *)strings.at;
	p->strings_size = bytes_left(&strings);
	return !p->types.failed && !p->layout.failed && p->strings_size && !p->strings[0] &&
	       !p->strings[p->strings_size - 1];
}

int kernel_types_pick(struct strbuf *out, const void *btf, size_t size,
		      const struct type_names *names, struct attach_point *points,
		      size_t point_count, struct error *err)
{
	struct picker p = {0};

	p.failed = !open_sections(&p, btf, size);
	if (!p.failed)
		scan_types(&p, names, points, point_count);
	if (!p.failed)
		copy_types(&p);
	if (!p.failed)
		write_all(&p, out);
	picker_release(&p);
	return p.failed ? error_text(err, -ENOEXEC, "cannot parse the kernel's BTF") : 0;
}

int kernel_types_read(struct strbuf *out, const struct type_names *names,
		      struct attach_point *points, size_t point_count, struct error *err)
{
	_cleanup_close_ int fd = open_regular(KERNEL_BTF);
	_cleanup_free_ char *copy = NULL;
	struct stat st;
	size_t size;
	void *btf;
	int ret;

	if (fd < 0 || fstat(fd, &st))
		return error_set(err, fd < 0 ? fd : -errno, "cannot open " KERNEL_BTF);
	/* Kernels since 6.16 support mapping the file, which avoids a copy. */
	btf = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (btf != MAP_FAILED) {
		ret = kernel_types_pick(out, btf, (size_t)st.st_size, names, points, point_count,
					err);
		munmap(btf, (size_t)st.st_size);
		return ret;
	}
	copy = text_read_fd(fd, BTF_BYTES_MAX, &size);
	if (!copy)
		return error_set(err, -errno, "cannot read " KERNEL_BTF);
	return kernel_types_pick(out, copy, size, names, points, point_count, err);
}
