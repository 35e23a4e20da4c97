/* SPDX-License-Identifier: MIT */
#include "lib/code/runtimes/hotspot.h"

#include "lib/base/bytes.h"
#include "lib/code/binary/objects.h"
#include "lib/code/runtimes/hotspot_names.h"

bool hotspot_memory_read(struct hotspot_memory *m, uint64_t addr, void *to, size_t size)
{
	return m->read(m->ctx, addr, to, size);
}

bool hotspot_memory_word(struct hotspot_memory *m, uint64_t addr, void *word)
{
	return hotspot_memory_read(m, addr, word, sizeof(uint64_t));
}

bool hotspot_memory_int(struct hotspot_memory *m, uint64_t addr, uint32_t *value)
{
	return hotspot_memory_read(m, addr, value, sizeof(*value));
}

/* Reads a terminated string, truncated to `size`; empty if it is unreadable. */
static void hotspot_memory_text(struct hotspot_memory *m, uint64_t addr, char *text, size_t size)
{
	size_t i = 0;

	for (; i + 1 < size; i++) {
		if (!hotspot_memory_read(m, addr + i, text + i, 1) || !text[i])
			break;
	}
	text[i] = '\0';
}

/* Names of the pieces of a blob of the JVM's own code, from the JVM's list of all pieces. */

#define STUBS_MAX 4096
#define NAME_SIZE 64

/* A StubCodeDesc; equal in all versions. */
struct stub {
	uint64_t next;
	uint64_t group, name; /* texts */
	uint64_t begin, end; /* its code */
};

struct stub_codes {
	VEC(struct stub) rows; /* without overlaps */
};

ORDER(compare_stubs, struct stub, COMPARE(a->begin, b->begin))

/* Finds the stubs within the code. */
static void find_stubs(struct hotspot_memory *memory, uint64_t list, uint64_t begin, uint64_t end,
		       struct stub_codes *found)
{
	struct stub stub;
	uint64_t addr;

	if (!hotspot_memory_word(memory, list, &addr))
		return;
	for (size_t i = 0; i < STUBS_MAX && addr; i++, addr = stub.next) {
		if (!hotspot_memory_read(memory, addr, &stub, sizeof(stub)))
			break;
		if (stub.begin >= begin && stub.begin < stub.end && stub.end <= end)
			vec_push(&found->rows, stub);
	}
	vec_sort(&found->rows, compare_stubs);
}

/* Adds the stub as the function of the code from that unit on. */
static void add_stub(struct hotspot_memory *memory, const struct stub *stub, uint32_t unit,
		     struct managed_code *code)
{
	struct managed_function f = {.start = -1, .end = -1};
	char name[NAME_SIZE];

	hotspot_memory_text(memory, stub->name, name, sizeof(name));
	hotspot_set_name(&f.name, NULL, 0, name, strlen(name));
	vec_push(&code->inlined, f);
	vec_push(&code->lines, ((struct managed_line){unit, 0, 0}));
	vec_push(&code->lines, ((struct managed_line){unit, 0, (uint32_t)code->inlined.count}));
}

/* Returns the unit of an instruction: the byte before it, see hotspot_note(). */
static uint32_t unit_at(const struct hotspot_function_head *head, uint64_t addr)
{
	return addr > head->code ? (uint32_t)(addr - head->code - 1) : 0;
}

bool hotspot_read_stubs(struct hotspot_memory *memory, const struct hotspot_function_head *head,
			uint32_t units, struct managed_code *code)
{
	struct stub_codes found = {0};
	uint64_t end = head->code;
	bool is_found;

	find_stubs(memory, head->stubs, head->code, head->code + units - 1, &found);
	is_found = found.rows.count;
	vec_clear(&code->lines);
	vec_for_each(&found.rows, const struct stub *, stub) {
		if (stub->begin < end)
			continue;
		if (stub->begin > end)
			vec_push(&code->lines, ((struct managed_line){unit_at(head, end), 0, 0}));
		add_stub(memory, stub, unit_at(head, stub->begin), code);
		end = stub->end;
	}
	if (is_found)
		vec_push(&code->lines, ((struct managed_line){unit_at(head, end), 0, 0}));
	vec_release(&found.rows);
	return is_found;
}

/* Reads the tables of structures and types that a JVM provides for debuggers. */

/* Entries of the tables; each JVM exports their size. */
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
	IS_VALUE = 1 << 2, /* static, and its value is used */
};

/* A field of the JVM and the layout's member for its offset. Later rows replace earlier ones. */
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
#define OPTIONAL_STATIC(type, name, member) \
	{ \
		type, name, offsetof(struct hotspot_layout, member), 0, IS_STATIC | IS_OPTIONAL \
	}

static const struct field fields[] = {
	STATIC("CodeCache", "_heaps", heaps),
	STATIC("AbstractInterpreter", "_code", interpreter),
	STATIC("StubRoutines", "_call_stub_return_address", call_stub),
	/* The first thread, or a list of all threads. */
	OPTIONAL_STATIC("Threads", "_thread_list", threads),
	{"ThreadsSMRSupport", "_java_thread_list", offsetof(struct hotspot_layout, threads),
	 HOTSPOT_THREAD_LIST, IS_STATIC | IS_OPTIONAL},
	OPTIONAL_STATIC("MetaspaceObj", "_shared_metaspace_base", shared_start),
	OPTIONAL_STATIC("MetaspaceObj", "_shared_metaspace_top", shared_end),
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
	OPTIONAL("ThreadsList", "_threads", list_rows, 0),
	OPTIONAL("JavaThread", "_threadObj", thread_object, 0),
	OPTIONAL("JavaThread", "_osthread", os_thread, 0),
	OPTIONAL("Thread", "_osthread", os_thread, 0),
	OPTIONAL("OSThread", "_thread_id", thread_id, 0),
	OPTIONAL_STATIC("Universe", "_narrow_oop._base", narrow_base),
	OPTIONAL_STATIC("Universe", "_narrow_oop._shift", narrow_shift),
	OPTIONAL_STATIC("CompressedOops", "_narrow_oop._base", narrow_base),
	OPTIONAL_STATIC("CompressedOops", "_narrow_oop._shift", narrow_shift),
	OPTIONAL_STATIC("CompressedOops", "_base", narrow_base),
	OPTIONAL_STATIC("CompressedOops", "_shift", narrow_shift),
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

/* A type and the layout's member for its size. */
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
	uint64_t last_type; /* type name that no field has */
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

/* Returns the address of a table's first entry; 0: not filled in yet. */
static uint64_t find_table(const struct tables *t, uint64_t variable, uint64_t stride_variable,
			   size_t stride)
{
	uint64_t first, stated;

	if (!hotspot_memory_word(t->memory, variable + t->bias, &first) ||
	    !hotspot_memory_word(t->memory, stride_variable + t->bias, &stated) || stated != stride)
		return 0;
	return first;
}

/* Returns false if the tables are not filled in yet. */
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

/* Returns the first field missing in the JVM's tables; NULL: none. */
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

/*
 * Completes the layout from the tables of a process. Returns 1 if done, 0 if they do not exist yet,
 * a negative errno if the JVM cannot be followed.
 */
static int hotspot_read_tables(struct hotspot_layout *layout, uint64_t bias,
			       struct hotspot_memory *m, struct error *err)
{
	struct hotspot_layout read = *layout;
	struct tables t = {.memory = m, .layout = &read, .bias = bias};
	const struct field *missing;

	read.flags = 0;
	if (!read_entries(&t))
		return 0;
	missing = missing_field(&t);
	if (missing)
		return error_text(err, -ENOTSUP, "the JVM does not describe %s::%s", missing->type,
				  missing->name);
	if (!read.threads)
		return error_text(err, -ENOTSUP, "the JVM does not describe its threads");
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

/* Finds HotSpot in a file, and a JVM's code in a process. */

#define CODELETS_MAX 1024
#define CODELET_TEXT 32
#define HEAP_MAX ((uint64_t)1 << 32)
#define SHIFT_MAX 16

/* See struct runtime. */
static int hotspot_probe(const struct binary *b, struct runtime_layout *layout, struct error *err)
{
	struct binary_object wanted[] = {
		{.name = "gHotSpotVMStructs"},
		{.name = "gHotSpotVMTypes"},
		{.name = "gHotSpotVMStructEntryArrayStride"},
		{.name = "gHotSpotVMTypeEntryArrayStride"},
	};
	struct binary_object stubs = {.name = "_ZN12StubCodeDesc5_listE"};

	binary_find_exported(b, wanted, 1);
	if (!wanted[0].is_there)
		return 0;
	binary_find_exported(b, wanted, sizeof(wanted) / sizeof(*wanted));
	for (size_t i = 0; i < sizeof(wanted) / sizeof(*wanted); i++) {
		if (!wanted[i].is_there)
			return error_text(err, -EINVAL, "a JVM without %s", wanted[i].name);
	}
	/* Not exported, so a file may lack it. */
	binary_find_objects(b, &stubs, 1);
	layout->kind = RUNTIME_HOTSPOT;
	layout->hotspot = (struct hotspot_layout){
		.structs = wanted[0].vaddr,
		.types = wanted[1].vaddr,
		.struct_stride = wanted[2].vaddr,
		.type_stride = wanted[3].vaddr,
		.stubs = stubs.is_there ? stubs.vaddr : 0,
	};
	return 0;
}

struct starting {
	const struct hotspot_layout *layout;
	uint64_t bias;
	struct hotspot_memory *memory;
	struct hotspot_process *vm;
};

/* Reads a pointer variable of the library. Returns false if it is unreadable or still 0. */
static bool read_variable(const struct starting *s, uint64_t vaddr, uint64_t *value)
{
	return hotspot_memory_word(s->memory, vaddr + s->bias, value) && *value;
}

/* Returns true once the first thread exists: all of the JVM's initial code exists by then. */
static bool has_threads(const struct starting *s)
{
	uint32_t length;
	uint64_t list;

	if (!read_variable(s, s->layout->threads, &list))
		return false;
	return !(s->layout->flags & HOTSPOT_THREAD_LIST) ||
	       (hotspot_memory_int(s->memory, list + s->layout->list_length, &length) && length);
}

static bool read_heap(const struct starting *s, uint64_t addr, struct hotspot_heap *heap)
{
	const struct hotspot_layout *l = s->layout;
	uint64_t space = addr + l->heap_memory;
	uint32_t shift;

	if (!hotspot_memory_word(s->memory, space + l->space_low, &heap->low) ||
	    !hotspot_memory_word(s->memory, space + l->space_high, &heap->high) ||
	    !hotspot_memory_word(s->memory, addr + l->heap_segments + l->space_start,
				 &heap->segments) ||
	    !hotspot_memory_int(s->memory, addr + l->heap_shift, &shift))
		return false;
	s->vm->segment_shift = shift;
	return heap->low && heap->low < heap->high && heap->high - heap->low <= HEAP_MAX &&
	       shift <= SHIFT_MAX;
}

static bool read_heaps(const struct starting *s)
{
	uint64_t heaps, rows, addr;
	uint32_t count;

	if (!read_variable(s, s->layout->heaps, &heaps) ||
	    !hotspot_memory_int(s->memory, heaps + s->layout->array_length, &count) ||
	    !hotspot_memory_word(s->memory, heaps + s->layout->array_data, &rows) || !count ||
	    count > HOTSPOT_HEAPS_MAX)
		return false;
	s->vm->low = UINT64_MAX;
	for (uint32_t i = 0; i < count; i++) {
		struct hotspot_heap *heap = &s->vm->heaps[i];

		if (!hotspot_memory_word(s->memory, rows + i * sizeof(addr), &addr) ||
		    !read_heap(s, addr, heap))
			return false;
		if (heap->low < s->vm->low)
			s->vm->low = heap->low;
		if (heap->high > s->vm->high)
			s->vm->high = heap->high;
	}
	return true;
}

/* Finds the interpreter's code and, in it, the method entries, which are adjacent pieces. */
static bool read_interpreter(const struct starting *s)
{
	const struct hotspot_layout *l = s->layout;
	uint64_t queue, at, end;
	uint32_t size, bytes;

	if (!read_variable(s, l->interpreter, &queue) ||
	    !hotspot_memory_word(s->memory, queue + l->queue_buffer, &at) ||
	    !hotspot_memory_int(s->memory, queue + l->queue_end, &bytes) || bytes > 1u << 28)
		return false;
	end = at + bytes;
	s->vm->interpreter = at;
	s->vm->interpreter_end = end;
	for (size_t i = 0; i < CODELETS_MAX && at < end; i++) {
		char text[CODELET_TEXT];
		uint64_t name;

		if (!hotspot_memory_word(s->memory, at + l->codelet_text, &name) ||
		    !hotspot_memory_int(s->memory, at + l->codelet_size, &size) ||
		    size < l->codelet_header || size > end - at)
			break;
		hotspot_memory_text(s->memory, name, text, sizeof(text));
		if (text_starts_with(text, "method entry point")) {
			if (!s->vm->entries)
				s->vm->entries = at;
			s->vm->entries_end = at + size;
		}
		at += size;
	}
	return s->vm->entries;
}

/* Finds the classes mapped from an archive, which are never unloaded. */
static void read_shared(const struct starting *s, struct runtime_memory *lasting)
{
	const struct hotspot_layout *l = s->layout;

	if (!l->shared_start || !l->shared_end ||
	    !read_variable(s, l->shared_start, &lasting->start) ||
	    !read_variable(s, l->shared_end, &lasting->end))
		*lasting = (struct runtime_memory){0};
}

static int start(struct runtime_layout *layout, uint64_t bias, runtime_read_fn *read, void *ctx,
		 void *process, struct runtime_memory *lasting, struct error *err)
{
	struct hotspot_memory memory = {.read = read, .ctx = ctx};
	struct hotspot_process *vm = process;
	struct starting s = {&layout->hotspot, bias, &memory, vm};
	uint64_t call_stub = 0;
	int code = 1;

	*vm = (struct hotspot_process){0};
	if (!(layout->hotspot.flags & HOTSPOT_IS_COMPLETE))
		code = hotspot_read_tables(&layout->hotspot, bias, &memory, err);
	if (code > 0 && !(has_threads(&s) && read_heaps(&s) && read_interpreter(&s) &&
			  read_variable(&s, layout->hotspot.call_stub, &call_stub)))
		code = 0;
	vm->call_stub = call_stub;
	if (code > 0)
		read_shared(&s, lasting);
	return code;
}

static const char *const kinds[] = {
	[HOTSPOT_INTERPRETED] = "Interpreter",
	[HOTSPOT_WRAPPER] = "Native",
	[HOTSPOT_STUB] = "Stub",
	[HOTSPOT_FROZEN] = "Stub",
};

static void write_version(const struct runtime_layout *layout, char *text, size_t size)
{
	if (layout->hotspot.version)
		snprintf(text, size, "%u", layout->hotspot.version);
	else
		*text = 0;
}

/* A process has to provide the rest. */
static bool is_sane(const struct runtime_layout *layout)
{
	const struct hotspot_layout *l = &layout->hotspot;
	const struct hotspot_layout probed = {
		.structs = l->structs,
		.types = l->types,
		.struct_stride = l->struct_stride,
		.type_stride = l->type_stride,
		.stubs = l->stubs,
	};

	return memcmp(l, &probed, sizeof(probed)) == 0;
}

static const char *tier_of(const struct hotspot_function_head *head)
{
	if (head->kind == HOTSPOT_COMPILED)
		return head->level == 4 ? "C2" : "C1";
	return head->kind <= HOTSPOT_FROZEN ? kinds[head->kind] : NULL;
}

static void decode(const struct runtime_layout *layout, const struct rec_function *function,
		   struct managed_code *code)
{
	const char *body = function->body;
	struct hotspot_function_head head;

	code->start = -1;
	code->tier = NULL;
	code->lacks_text = false;
	code->is_cut = (function->name.flags | function->file.flags) & FUNCTION_CUT;
	if (!runtime_read_head(function, &head, sizeof(head)))
		return;
	code->tier = tier_of(&head);
	code->lacks_text = head.method || (head.kind == HOTSPOT_STUB && head.stubs);
	if (head.kind == HOTSPOT_FROZEN) {
		strbuf_reset(&code->name);
		strbuf_adds(&code->name, "(callers of a virtual thread, not on the stack)");
	} else if (head.kind == HOTSPOT_STUB && !function->name.size) {
		strbuf_reset(&code->name);
		strbuf_adds(&code->name, "Interpreter");
	} else if (function->name.size)
		hotspot_set_name(&code->name, body + function->name.size, function->file.size, body,
				 function->name.size);
}

const struct runtime runtime_hotspot = {
	.kind = RUNTIME_HOTSPOT,
	.name = "Java",
	.probe = hotspot_probe,
	.is_sane = is_sane,
	.version = write_version,
	.start = start,
	.decode = decode,
	.late = hotspot_late,
	.read_threads = hotspot_threads,
};
