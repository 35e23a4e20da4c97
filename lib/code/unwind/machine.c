/* SPDX-License-Identifier: MIT */
#include "lib/code/unwind/machine.h"

#include <unistd.h>

#include "lib/code/unwind/walk.h"

#ifdef __aarch64__
#define OWN_ARCH unwind_arch_aarch64
#else
#define OWN_ARCH unwind_arch_x86_64
#endif

struct unwind_machine unwind_machine_own(void)
{
	return (struct unwind_machine){
		.arch = &OWN_ARCH,
		.pc_mask = walk_own_pc_mask(),
		.page_size = (uint32_t)sysconf(_SC_PAGESIZE),
	};
}

bool unwind_machine_is_arm64(const struct unwind_machine *machine)
{
	return machine->arch == &unwind_arch_aarch64;
}
