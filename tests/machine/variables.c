/* SPDX-License-Identifier: MIT */
/* Variables of the programs. */
#include <stdio.h>

#include "bpf/live_record.h"
#include "lib/live/bpf/programs.h"
#include "prof.skel.h"
#include "signals.skel.h"
#include "tests/machine/internal.h"

/* Each function of the kernel has 256 bytes. */
void machine_find_symbol(void)
{
	struct prof_bpf__bss *variables = machine_variables("prof_bpf");
	struct symbol_query *query = &variables->symbol_query;

	snprintf(query->text, sizeof(query->text), "function_%llx+0x%llx/0x100",
		 (unsigned long long)query->addr >> 8, (unsigned long long)query->addr & 0xff);
}

void machine_count_signals(uint64_t delivered, uint64_t lost)
{
	struct signals_bpf__bss *variables = machine_variables("signals_bpf");

	variables->markers.sent = delivered;
	variables->markers.lost = lost;
}
