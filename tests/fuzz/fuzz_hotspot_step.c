/* SPDX-License-Identifier: MIT */
/*
 * Any bytes as the memory of a process with a JVM, walked by the kernel's code: first struct head,
 * then the parts of struct vm_memory one after the other, as far as the bytes go.
 */
#include "tests/fuzz/input.h"
#include "tests/unit/hotspot_vm.h"

#define FRAMES_MAX 256

struct head {
	uint64_t pc, sp, fp, base, rax, r13;
	uint32_t is_pc, flags;
	uint16_t offsets[12];
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct head head = {0};
	struct walk_frame frame = {.has_sp = 1, .has_others = 1};
	struct hotspot_walk vm = {.layout = vm_layout, .vm = vm_process};

	if (size < sizeof(head))
		return 0;
	memcpy(&head, data, sizeof(head));
	data += sizeof(head);
	size -= sizeof(head);
	memset(&vm_memory, 0, sizeof(vm_memory));
	memcpy(&vm_memory, data, size < sizeof(vm_memory) ? size : sizeof(vm_memory));
	vm.layout.flags |= (uint16_t)(head.flags & 0x1e);
	vm.layout.orig_pc = head.offsets[0];
	vm.layout.deopt = head.offsets[1];
	vm.layout.blob_name = head.offsets[2];
	vm.layout.const_method = head.offsets[3];
	vm.layout.const_code_size = head.offsets[4];
	vm.vm.segment_shift = head.offsets[5];
	vm.vm.interpreter = VM_HEAP + 0x1000;
	vm.vm.interpreter_end = VM_HEAP + 0x2000;
	vm.vm.entries = VM_HEAP + 0x1000;
	vm.vm.entries_end = VM_HEAP + 0x1800;
	vm.vm.call_stub = VM_HEAP + head.offsets[6];
	frame.pc = head.pc;
	frame.sp = head.sp;
	frame.fp = head.fp;
	frame.base = head.base;
	frame.other[HOTSPOT_RAX] = head.rax;
	frame.other[HOTSPOT_R13] = head.r13;
	frame.is_pc = head.is_pc & 1;
	for (int i = 0; i < FRAMES_MAX && hotspot_is_code(&vm, frame.pc); i++) {
		uint64_t sp = frame.sp;
		int was_top = (int)frame.is_pc, has_stepped;

		if (!hotspot_find_blob(&vm, frame.pc - !frame.is_pc))
			break;
		hotspot_note(&frame, &vm);
		vm.has_no_frame = 0;
		has_stepped = hotspot_step(&frame, &vm);
		hotspot_note_interpreted(&vm, head.base, head.r13);
		if (vm.found.unit && vm.found.unit >= vm.found.units)
			abort();
		if (!has_stepped)
			break;
		/* Each step goes on. */
		if (frame.sp < sp || (!was_top && frame.sp == sp))
			abort();
	}
	return 0;
}
