/* SPDX-License-Identifier: MIT */
#include "lib/binary/vdso.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lib/base/cleanup.h"

/* Far more than any kernel's; the size comes from the mapping, not from the ELF header. */
#define MAX_VDSO_BYTES (1 << 20)

/* End of the mapping that starts at `start`, 0 where there is none. */
static uintptr_t mapping_end(uintptr_t start)
{
	_cleanup_fclose_ FILE *maps = fopen("/proc/self/maps", "re");
	char line[512];
	bool at_line_start = true;

	if (!maps)
		return 0;
	while (fgets(line, sizeof(line), maps)) {
		bool is_start = at_line_start;
		uintptr_t from, to;

		/* A path longer than the buffer continues in the next round. */
		at_line_start = strchr(line, '\n') != NULL;
		if (is_start && sscanf(line, "%" SCNxPTR "-%" SCNxPTR, &from, &to) == 2 &&
		    from == start)
			return to;
	}
	return 0;
}

int vdso_open(struct error *err)
{
	uintptr_t start = (uintptr_t)getauxval(AT_SYSINFO_EHDR);
	uintptr_t end = start ? mapping_end(start) : 0;
	_cleanup_close_ int fd = -1;
	size_t done = 0;

	if (end <= start || end - start > MAX_VDSO_BYTES)
		return error_text(err, -ENOENT, "this process has no vDSO");
	fd = memfd_create("vdso", MFD_CLOEXEC);
	if (fd < 0)
		return error_set(err, -errno, "memfd_create");
	while (done < end - start) {
		ssize_t n = pwrite(fd, (const char *)start + done, end - start - done, (off_t)done);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return error_set(err, n ? -errno : -EIO, "copy the vDSO");
		done += (size_t)n;
	}
	return steal_fd(&fd);
}
