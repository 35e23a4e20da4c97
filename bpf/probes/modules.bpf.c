// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Modules that the kernel loads while it is recorded: told before the first of their code runs, and
 * at once, because what they are called by is asked while they are there.
 */
#include "bpf/emit.bpf.h"
#include "bpf/live_record.h"

/* Where the code is, as the kernel keeps it since 6.4, and as it did before. */
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
