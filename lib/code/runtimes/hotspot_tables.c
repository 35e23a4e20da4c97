/* SPDX-License-Identifier: MIT */
/* Reads the tables of structures and types that a JVM has for debuggers. */
#include <errno.h>
#include <string.h>

#include "lib/code/runtimes/hotspot.h"

/* Entries of the tables, of which each JVM tells the size. */
struct struct_entry {
	uint64_t type, field, kind; /* texts */
	uint32_t is_static, padding;
	uint64_t offset, address;
};

struct type_entry {
	uint64_t type, super; /* texts */
	uint32_t is_oop, is_integer, is_unsigned, padding;
	uint64_t size;
};

#define ENTRIES_MAX 16384
#define TEXT_SIZE 64

enum field_flags {
	IS_OPTIONAL = 1 << 0,
	IS_STATIC = 1 << 1, /* `at` is a 64-bit vaddr */
	IS_VALUE = 1 << 2, /* static, and its value counts */
};

/* A field of the JVM's and the layout's member that has its offset. Later rows replace earlier. */
struct field {
	const char *type, *name;
	size_t at;
	uint16_t sets; /* HOTSPOT_… */
	uint8_t flags;
};

#define FIELD(type, name, member) \
	{ \
		type, name, offsetof(struct hotspot_layout, member), 0, 0 \
	}
#define OPTIONAL(type, name, member, sets) \
	{ \
		type, name, offsetof(struct hotspot_layout, member), sets, IS_OPTIONAL \
	}
#define STATIC(type, name, member) \
	{ \
		type, name, offsetof(struct hotspot_layout, member), 0, IS_STATIC \
	}

static const struct field fields[] = {
	STATIC("CodeCache", "_heaps", heaps),
	STATIC("AbstractInterpreter", "_code", interpreter),
	STATIC("StubRoutines", "_call_stub_return_address", call_stub),
	/* The first thread, or a list of all. */
	{"Threads", "_thread_list", offsetof(struct hotspot_layout, threads), 0,
	 IS_STATIC | IS_OPTIONAL},
	{"ThreadsSMRSupport", "_java_thread_list", offsetof(struct hotspot_layout, threads),
	 HOTSPOT_THREAD_LIST, IS_STATIC | IS_OPTIONAL},
	{"MetaspaceObj", "_shared_metaspace_base", offsetof(struct hotspot_layout, shared_start), 0,
	 IS_STATIC | IS_OPTIONAL},
	{"MetaspaceObj", "_shared_metaspace_top", offsetof(struct hotspot_layout, shared_end), 0,
	 IS_STATIC | IS_OPTIONAL},
	{"Abstract_VM_Version", "_vm_major_version", offsetof(struct hotspot_layout, version), 0,
	 IS_VALUE},
	OPTIONAL("GenericGrowableArray", "_len", array_length, 0),
	OPTIONAL("GrowableArrayBase", "_len", array_length, 0),
	FIELD("GrowableArray<int>", "_data", array_data),
	FIELD("CodeHeap", "_memory", heap_memory),
	FIELD("CodeHeap", "_segmap", heap_segments),
	FIELD("CodeHeap", "_log2_segment_size", heap_shift),
	FIELD("VirtualSpace", "_low_boundary", space_low),
	FIELD("VirtualSpace", "_high_boundary", space_high),
	FIELD("VirtualSpace", "_low", space_start),
	FIELD("StubQueue", "_stub_buffer", queue_buffer),
	FIELD("StubQueue", "_queue_end", queue_end),
	FIELD("InterpreterCodelet", "_size", codelet_size),
	FIELD("InterpreterCodelet", "_description", codelet_text),
	OPTIONAL("ThreadsList", "_length", list_length, 0),
	FIELD("CodeBlob", "_name", blob_name),
	FIELD("CodeBlob", "_frame_size", blob_frame_size),
	FIELD("CodeBlob", "_frame_complete_offset", blob_complete),
	OPTIONAL("CodeBlob", "_code_begin", blob_code, 0),
	OPTIONAL("CodeBlob", "_code_end", blob_code_end, 0),
	OPTIONAL("CodeBlob", "_code_offset", blob_code, HOTSPOT_OFFSETS),
	OPTIONAL("CodeBlob", "_data_offset", data, 0),
	OPTIONAL("CompiledMethod", "_method", method, 0),
	OPTIONAL("nmethod", "_method", method, 0),
	OPTIONAL("CompiledMethod", "_deopt_handler_begin", deopt, 0),
	OPTIONAL("CompiledMethod", "_deopt_mh_handler_begin", deopt_mh, 0),
	OPTIONAL("nmethod", "_deopt_handler_offset", deopt, HOTSPOT_INT_DEOPT),
	OPTIONAL("nmethod", "_deopt_mh_handler_offset", deopt_mh, 0),
	FIELD("nmethod", "_orig_pc_offset", orig_pc),
	FIELD("nmethod", "_compile_id", compile_id),
	FIELD("nmethod", "_comp_level", level),
	OPTIONAL("CompiledMethod", "_scopes_data_begin", scopes_data, 0),
	OPTIONAL("nmethod", "_scopes_data_offset", scopes_data, 0),
	OPTIONAL("nmethod", "_scopes_pcs_offset", scopes_pcs, 0),
	OPTIONAL("nmethod", "_metadata_offset", metadata, 0),
	OPTIONAL("nmethod", "_immutable_data", immutable_data, 0),
	OPTIONAL("CodeBlob", "_mutable_data", mutable_data, 0),
	OPTIONAL("CodeBlob", "_relocation_size", relocation_size, 0),
	FIELD("Method", "_constMethod", const_method),
	FIELD("ConstMethod", "_constants", const_pool),
	OPTIONAL("ConstMethod", "_flags", const_flags, 0),
	OPTIONAL("ConstMethod", "_flags._flags", const_flags, 0),
	FIELD("ConstMethod", "_code_size", const_code_size),
	FIELD("ConstMethod", "_name_index", const_name),
	FIELD("ConstMethod", "_signature_index", const_signature),
	FIELD("ConstantPool", "_pool_holder", pool_holder),
	OPTIONAL("ConstantPool", "_source_file_name_index", pool_source, 0),
	FIELD("Klass", "_name", klass_name),
	FIELD("Symbol", "_length", symbol_length),
	FIELD("Symbol", "_body", symbol_text),
};

#define FIELD_COUNT (sizeof(fields) / sizeof(*fields))

/* A type and the layout's member that has its size. */
static const struct {
	const char *name;
	size_t at;
} types[] = {
	{"HeapBlock", offsetof(struct hotspot_layout, heap_block)},
	{"InterpreterCodelet", offsetof(struct hotspot_layout, codelet_header)},
	{"ConstMethod", offsetof(struct hotspot_layout, const_size)},
	{"ConstantPool", offsetof(struct hotspot_layout, pool_size)},
};

#define TYPE_COUNT (sizeof(types) / sizeof(*types))

struct tables {
	struct hotspot_memory *memory;
	struct hotspot_layout *layout;
	uint64_t bias;
	bool found[FIELD_COUNT];
	uint64_t last_type; /* text that no field is of */
};

static void set16(struct hotspot_layout *layout, size_t at, uint64_t value)
{
	uint16_t small = value > UINT16_MAX ? UINT16_MAX : (uint16_t)value;

	memcpy((char *)layout + at, &small, sizeof(small));
}

static void take_field(struct tables *t, size_t i, const struct struct_entry *entry)
{
	const struct field *field = &fields[i];
	uint64_t vaddr = entry->address - t->bias;
	char kind[TEXT_SIZE];
	uint32_t value;

	if (field->flags & IS_STATIC) {
		memcpy((char *)t->layout + field->at, &vaddr, sizeof(vaddr));
	} else if (field->flags & IS_VALUE) {
		if (!hotspot_memory_int(t->memory, entry->address, &value))
			return;
		set16(t->layout, field->at, value);
	} else {
		set16(t->layout, field->at, entry->offset);
	}
	t->layout->flags |= field->sets;
	if (field->at == offsetof(struct hotspot_layout, blob_complete)) {
		hotspot_memory_text(t->memory, entry->kind, kind, sizeof(kind));
		if (strcmp(kind, "int16_t") == 0)
			t->layout->flags |= HOTSPOT_SHORT_COMPLETE;
	}
	t->found[i] = true;
}

static void take_struct(struct tables *t, const struct struct_entry *entry)
{
	char type[TEXT_SIZE], name[TEXT_SIZE] = "";
	bool is_known = false;

	if (entry->type == t->last_type)
		return;
	hotspot_memory_text(t->memory, entry->type, type, sizeof(type));
	for (size_t i = 0; i < FIELD_COUNT; i++) {
		if (strcmp(fields[i].type, type) != 0)
			continue;
		if (!is_known)
			hotspot_memory_text(t->memory, entry->field, name, sizeof(name));
		is_known = true;
		if (strcmp(fields[i].name, name) == 0)
			take_field(t, i, entry);
	}
	if (!is_known)
		t->last_type = entry->type;
}

static void take_type(struct tables *t, const struct type_entry *entry)
{
	char name[TEXT_SIZE];

	hotspot_memory_text(t->memory, entry->type, name, sizeof(name));
	for (size_t i = 0; i < TYPE_COUNT; i++) {
		if (strcmp(types[i].name, name) == 0)
			set16(t->layout, types[i].at, entry->size);
	}
	if (strcmp(name, "ContinuationEntry") == 0)
		set16(t->layout, offsetof(struct hotspot_layout, entry_frame), entry->size + 16);
}

/* Returns the address of a table's first entry; 0: it is not there yet. */
static uint64_t find_table(const struct tables *t, uint64_t variable, uint64_t stride_variable,
			   size_t stride)
{
	uint64_t first, told;

	if (!hotspot_memory_word(t->memory, variable + t->bias, &first) ||
	    !hotspot_memory_word(t->memory, stride_variable + t->bias, &told) || told != stride)
		return 0;
	return first;
}

/* False: the tables are not there yet. */
static bool read_entries(struct tables *t)
{
	uint64_t structs = find_table(t, t->layout->structs, t->layout->struct_stride,
				      sizeof(struct struct_entry));
	uint64_t rows = find_table(t, t->layout->types, t->layout->type_stride,
				   sizeof(struct type_entry));
	struct struct_entry entry;
	struct type_entry type;

	if (!structs || !rows)
		return false;
	for (size_t i = 0; i < ENTRIES_MAX; i++) {
		if (!hotspot_memory_read(t->memory, structs + i * sizeof(entry), &entry,
					 sizeof(entry)))
			return false;
		if (!entry.type)
			break;
		take_struct(t, &entry);
	}
	for (size_t i = 0; i < ENTRIES_MAX; i++) {
		if (!hotspot_memory_read(t->memory, rows + i * sizeof(type), &type, sizeof(type)))
			return false;
		if (!type.type)
			break;
		take_type(t, &type);
	}
	return true;
}

/* Returns the first field that the JVM does not tell; NULL: all are there. */
static const struct field *missing_field(const struct tables *t)
{
	for (size_t i = 0; i < FIELD_COUNT; i++) {
		if (!t->found[i] && !(fields[i].flags & IS_OPTIONAL))
			return &fields[i];
	}
	return NULL;
}

bool hotspot_layout_is_sane(const struct hotspot_layout *l)
{
	const uint16_t head[] = {l->blob_name, l->blob_frame_size, l->blob_complete, l->blob_code,
				 l->blob_code_end};
	const uint16_t blob[] = {l->method,  l->deopt,	    l->deopt_mh,
				 l->orig_pc, l->compile_id, l->level};
	const uint16_t consts[] = {l->const_pool, l->const_flags, l->const_code_size, l->const_name,
				   l->const_signature};

	for (size_t i = 0; i < sizeof(head) / sizeof(*head); i++) {
		if (head[i] > HOTSPOT_HEAD_SIZE - 8 || head[i] % 2)
			return false;
	}
	for (size_t i = 0; i < sizeof(blob) / sizeof(*blob); i++) {
		if (blob[i] > HOTSPOT_BLOB_SIZE - 8 || blob[i] % 4)
			return false;
	}
	for (size_t i = 0; i < sizeof(consts) / sizeof(*consts); i++) {
		if (consts[i] > HOTSPOT_CONST_SIZE - 8 || consts[i] % 2)
			return false;
	}
	return l->blob_name % 8 == 0 && l->method % 8 == 0 && l->blob_code && l->method &&
	       l->const_pool % 8 == 0 && l->heap_block && l->heap_block % 8 == 0 && l->const_size &&
	       l->pool_size;
}

int hotspot_read_tables(struct hotspot_layout *layout, uint64_t bias, struct hotspot_memory *m,
			struct error *err)
{
	struct hotspot_layout read = *layout;
	struct tables t = {.memory = m, .layout = &read, .bias = bias};
	const struct field *missing;

	read.flags = 0;
	if (!read_entries(&t))
		return 0;
	missing = missing_field(&t);
	if (missing)
		return error_text(err, -ENOTSUP, "the JVM does not tell of %s::%s", missing->type,
				  missing->name);
	if (!read.threads)
		return error_text(err, -ENOTSUP, "the JVM does not tell of its threads");
	if (read.version < HOTSPOT_OLDEST)
		return error_text(err, -ENOTSUP, "Java is older than %d", HOTSPOT_OLDEST);
	if (read.flags & HOTSPOT_OFFSETS)
		read.blob_code_end = read.data;
	if (read.version >= 20)
		read.flags |= HOTSPOT_NO_ZEROS;
	if (read.version >= 21 && !read.entry_frame)
		read.entry_frame = 80;
	if (!hotspot_layout_is_sane(&read))
		return error_text(err, -EINVAL, "Java %u has structures of an unknown form",
				  read.version);
	read.flags |= HOTSPOT_IS_COMPLETE;
	*layout = read;
	return 1;
}
