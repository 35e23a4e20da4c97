// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Reports modules that the kernel loads during the recording. The record is sent before their first
 * code runs, with a wake-up, because user space must look up the names of their functions while
 * they are loaded.
 */
#include "bpf/emit.bpf.h"
#include "bpf/live_record.h"

/* Fills in the location of the code; the first branch is for kernels since 6.4. */
static __always_inline void place_code(struct module *module, struct rec_loaded *rec)
{
	struct module___until_6_3 *old = (void *)module;

	if (bpf_core_field_exists(module->mem)) {
		rec->start = (__u64)BPF_CORE_READ(module, mem[MOD_TEXT].base);
		rec->size = BPF_CORE_READ(module, mem[MOD_TEXT].size);
		rec->init_start = (__u64)BPF_CORE_READ(module, mem[MOD_INIT_TEXT].base);
		rec->init_size = BPF_CORE_READ(module, mem[MOD_INIT_TEXT].size);
	} else {
		rec->start = (__u64)BPF_CORE_READ(old, core_layout.base);
		rec->size = BPF_CORE_READ(old, core_layout.text_size);
		rec->init_start = (__u64)BPF_CORE_READ(old, init_layout.base);
		rec->init_size = BPF_CORE_READ(old, init_layout.text_size);
	}
}

SEC("raw_tp/module_load")
int BPF_PROG(on_module, struct module *module)
{
	struct rec_loaded *rec = emit_reserve_event(REC_LOADED, sizeof(*rec));

	if (!rec)
		return 0;
	rec->rec.pid = rec->rec.tid = 0;
	place_code(module, rec);
	__builtin_memset(rec->name, 0, sizeof(rec->name));
	bpf_probe_read_kernel_str(rec->name, sizeof(rec->name), module->name);
	emit_submit(rec, BPF_RB_FORCE_WAKEUP);
	return 0;
}
