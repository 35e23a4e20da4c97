/* SPDX-License-Identifier: MIT */

#include <elf.h>
#include <fcntl.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "lib/base/cleanup.h"
#include "lib/code/binary/binary.h"
#include "lib/code/binary/vdso.h"
#include "tests/unit/test.h"

TEST(copy_is_the_mapped_image)
{
	const void *image = (const void *)(uintptr_t)getauxval(AT_SYSINFO_EHDR);
	struct error err = {0};
	_cleanup_close_ int fd = vdso_open(&err);
	char copy[4096];

	assert_non_null(image);
	assert_true(fd >= 0);
	assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
	assert_int_equal(pread(fd, copy, sizeof(copy), 0), sizeof(copy));
	assert_memory_equal(copy, image, sizeof(copy));
}

TEST(copy_is_a_complete_elf_file)
{
	_cleanup_close_ int fd = vdso_open(NULL);
	struct binary_summary summary;
	off_t size = lseek(fd, 0, SEEK_END);

	assert_int_equal(binary_summarize(fd, &summary, NULL), 0);
	assert_true(summary.is_64bit);
	assert_true(summary.build_id_size > 0);
	assert_int_equal(summary.segment_count, 1);
	assert_true(summary.segments[0].executable);
	assert_true((off_t)(summary.segments[0].file_offset + summary.segments[0].file_size) <=
		    size);
	binary_summary_release(&summary);
}
