/* SPDX-License-Identifier: MIT */
/* Finds HotSpot in a file, and a JVM's code in a process. */
#include <errno.h>
#include <string.h>

#include "lib/base/text.h"
#include "lib/code/binary/objects.h"
#include "lib/code/runtimes/hotspot.h"

#define CODELETS_MAX 1024
#define CODELET_TEXT 32
#define HEAP_MAX ((uint64_t)1 << 32)
#define SHIFT_MAX 16

int hotspot_probe(const struct binary *b, struct runtime_layout *layout, struct error *err)
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
	/* Not exported: a file may lack it. */
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

/* Reads a variable of the library's that is a pointer. False: it is unreadable, or 0 yet. */
static bool read_variable(const struct starting *s, uint64_t vaddr, uint64_t *value)
{
	return hotspot_memory_word(s->memory, vaddr + s->bias, value) && *value;
}

/* Has the first thread been made? All code that the JVM begins with is there by then. */
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

/* Finds the interpreter's code, and in it what methods begin with: pieces side by side. */
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

/* Finds the classes that are mapped from an archive: none is ever unloaded. */
static void read_shared(const struct starting *s, struct runtime_memory *lasting)
{
	const struct hotspot_layout *l = s->layout;

	if (!l->shared_start || !l->shared_end ||
	    !read_variable(s, l->shared_start, &lasting->start) ||
	    !read_variable(s, l->shared_end, &lasting->end))
		*lasting = (struct runtime_memory){0};
}

int hotspot_start(struct runtime_layout *layout, uint64_t bias, runtime_read_fn *read, void *ctx,
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
