/* SPDX-License-Identifier: MIT */
#include "lib/live/kernel/kernel_symbols.h"

#include <inttypes.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lib/base/cleanup.h"
#include "lib/base/log.h"
#include "lib/base/text.h"

/* Each takes some microseconds; /proc/kallsyms takes 60 ms. */
#define MAX_ADDRESSES 16384

/* The numbers behind the name: "+0x12/0x34", then the end or a blank. */
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

bool kernel_symbol_parse(struct kernel_symbol_text *symbol, uint64_t addr, const char *said)
{
	const char *extent = strrchr(said, '+');
	const char *module = extent ? strchr(extent, ' ') : NULL;
	uint64_t offset, size, end;

	if (!extent || extent == said || !scan_extent(extent, &offset, &size) || offset > addr)
		return false;
	*symbol = (struct kernel_symbol_text){
		.start = addr - offset,
		.size = size,
		.name = said,
		.name_size = (size_t)(extent - said),
		.module = module ? module + 1 : NULL,
	};
	return offset < size && !__builtin_add_overflow(symbol->start, size, &end);
}

uint64_t kernel_symbols_add(struct strbuf *list, uint64_t addr, const char *said)
{
	struct kernel_symbol_text symbol;

	if (!kernel_symbol_parse(&symbol, addr, said))
		return 0;
	strbuf_addf(list, "%016" PRIx64 " t %.*s%s%s\n", symbol.start, (int)symbol.name_size,
		    symbol.name, symbol.module ? "\t" : "", symbol.module ? symbol.module : "");
	strbuf_addf(list, "%016" PRIx64 " d end\n", symbol.start + symbol.size);
	return symbol.start + symbol.size;
}

int kernel_symbols_list(struct programs *programs, const uint64_t *addrs, size_t count)
{
	_cleanup_(strbuf_release) struct strbuf list = {0};
	_cleanup_close_ int fd = -1;
	uint64_t end = 0;

	if (!count || count > MAX_ADDRESSES)
		return -1;
	for (size_t i = 0; i < count; i++) {
		const char *said;

		if (addrs[i] < end)
			continue;
		said = programs_find_symbol(programs, addrs[i]);
		if (!said) {
			log_debug("the kernel does not name its addresses: %m");
			return -1;
		}
		end = kernel_symbols_add(&list, addrs[i], said);
	}
	fd = memfd_create("kernel symbols", MFD_CLOEXEC);
	if (!list.size || fd < 0 || write(fd, list.text, list.size) != (ssize_t)list.size)
		return -1;
	return steal_fd(&fd);
}
