/* SPDX-License-Identifier: MIT */
#include "lib/live/kernel/kernel_symbols.h"

#include <string.h>

#include "lib/base/log.h"
#include "lib/base/text.h"
#include "lib/live/bpf/programs.h"

/* Parses the numbers after the name: "+0x12/0x34", then the end or a blank. */
static bool scan_extent(const char *at, uint64_t *offset, uint64_t *size)
{
	const char *end = at + strcspn(at, " ");

	if (!text_starts_with(at, "+0x"))
		return false;
	at += 3;
	if (!text_scan_hex(&at, end, offset) || !text_starts_with(at, "/0x"))
		return false;
	at += 3;
	return text_scan_hex(&at, end, size) && at == end;
}

bool kernel_symbol_parse(struct kernel_symbol_text *symbol, uint64_t addr, const char *text)
{
	const char *extent = strrchr(text, '+');
	const char *module = extent ? strchr(extent, ' ') : NULL;
	uint64_t offset, size, end;

	if (!extent || extent == text || !scan_extent(extent, &offset, &size) || offset > addr)
		return false;
	*symbol = (struct kernel_symbol_text){
		.start = addr - offset,
		.size = size,
		.name = text,
		.name_size = (size_t)(extent - text),
		.module = module ? module + 1 : NULL,
	};
	return offset < size && !__builtin_add_overflow(symbol->start, size, &end);
}

bool kernel_symbols_find(struct programs *programs, const uint64_t *addrs, size_t count,
			 kernel_symbol_fn *fn, void *ctx)
{
	uint64_t end = 0;

	for (size_t i = 0; i < count; i++) {
		struct kernel_symbol_text symbol;
		const char *text;

		if (addrs[i] < end)
			continue;
		text = programs_find_symbol(programs, addrs[i]);
		if (!text) {
			log_debug("the kernel does not name its addresses: %m");
			return false;
		}
		end = 0;
		if (!kernel_symbol_parse(&symbol, addrs[i], text))
			continue;
		end = symbol.start + symbol.size;
		fn(ctx, &symbol);
	}
	return true;
}
