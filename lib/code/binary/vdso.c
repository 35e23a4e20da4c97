/* SPDX-License-Identifier: MIT */
#include "lib/code/binary/vdso.h"

#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "lib/base/open_file.h"

/* Far above any kernel's vDSO; the size comes from the mapping, not from the ELF header. */
#define MAX_VDSO_BYTES (1 << 20)

/* Returns the end of the mapping that starts at `start`; 0: none. */
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
	int ret;

	if (end <= start || end - start > MAX_VDSO_BYTES)
		return error_text(err, -ENOENT, "this process has no vDSO");
	fd = memfd_create("vdso", MFD_CLOEXEC);
	if (fd < 0)
		return error_set(err, -errno, "cannot create a file in memory");
	ret = write_at(fd, (const void *)start, end - start, 0);
	if (ret)
		return error_set(err, ret, "cannot copy the vDSO");
	return steal_fd(&fd);
}

#if defined(__x86_64__)

/* From asm/prctl.h; available in kernels with checkpoint/restore support. */
#define MAP_VDSO_32 0x2002
/* The image and its data currently take three mappings. */
#define MAX_VDSO_RANGES 8

struct range {
	uintptr_t start, end;
};

/* Finds up to MAX_VDSO_RANGES mappings whose name in /proc/self/maps begins with `name`. */
static size_t find_mappings(const char *name, struct range *ranges)
{
	_cleanup_fclose_ FILE *maps = fopen("/proc/self/maps", "re");
	size_t count = 0;
	char line[512];

	while (maps && count < MAX_VDSO_RANGES && fgets(line, sizeof(line), maps)) {
		struct range *range = &ranges[count];

		if (strstr(line, name) &&
		    sscanf(line, "%" SCNxPTR "-%" SCNxPTR, &range->start, &range->end) == 2)
			count++;
	}
	return count;
}

static void unmap(const char *name)
{
	struct range ranges[MAX_VDSO_RANGES];
	size_t count = find_mappings(name, ranges);

	while (count--)
		munmap((void *)ranges[count].start, ranges[count].end - ranges[count].start);
}

/*
 * Runs in a child: a process has at most one image, so the old one is removed before the other is
 * mapped. From then on, the child must not call functions that use the vDSO. Returns a negative
 * errno.
 */
static int copy_other_image(int fd)
{
	struct range ranges[MAX_VDSO_RANGES];

	unmap("[vvar");
	unmap("[vdso]");
	if (syscall(SYS_arch_prctl, MAP_VDSO_32, 0) < 0)
		return -errno;
	if (find_mappings("[vdso]", ranges) != 1 ||
	    ranges[0].end - ranges[0].start > MAX_VDSO_BYTES)
		return -EIO;
	return write_at(fd, (const void *)ranges[0].start, ranges[0].end - ranges[0].start, 0);
}

int vdso_open_32bit(struct error *err)
{
	_cleanup_close_ int fd = -1;
	int status = 0;
	pid_t child;

	fd = memfd_create("vdso32", MFD_CLOEXEC);
	if (fd < 0)
		return error_set(err, -errno, "cannot create a file in memory");
	child = fork();
	if (child < 0)
		return error_set(err, -errno, "cannot start a process");
	if (child == 0)
		_exit(-copy_other_image(fd));
	while (waitpid(child, &status, 0) < 0 && errno == EINTR)
		;
	if (!WIFEXITED(status) || WEXITSTATUS(status))
		return error_text(err, -ENOENT, "the kernel provides no vDSO for 32-bit programs");
	return steal_fd(&fd);
}

#else

int vdso_open_32bit(struct error *err)
{
	return error_text(err, -ENOENT, "no vDSO for 32-bit programs on this machine");
}

#endif
