/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Names a kernel address. Run by the recorder for sampled addresses. */
#include "bpf/kernel.h"
#include "bpf/config.h"

struct symbol_query symbol_query = {};

SEC("raw_tp")
int find_symbol(void *ctx)
{
	static const char format[] = "%pS";
	__u64 args[] = {symbol_query.addr};

	symbol_query.text[0] = 0;
	bpf_snprintf(symbol_query.text, sizeof(symbol_query.text), format, args, sizeof(args));
	return 0;
}
