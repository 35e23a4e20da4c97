/* SPDX-License-Identifier: MIT */
/* Files that a capture holds: what is not taken, and what a forged one cannot make of it. */

#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/recording/kept_contents.h"
#include "lib/stream/record/records.h"
#include "tests/unit/test.h"

#define MODULE 3
#define FAR ((uint64_t)1 << 20)

/* Returns an unnamed copy of this program, readable by all, as memfd_create() makes them. */
static int copy_program(void)
{
	int from = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	int to = memfd_create("program", MFD_CLOEXEC);
	struct stat st;

	assert_true(from >= 0 && to >= 0);
	assert_int_equal(fstat(from, &st), 0);
	for (off_t at = 0; at < st.st_size;)
		assert_true(sendfile(to, from, &at, (size_t)(st.st_size - at)) > 0);
	close(from);
	assert_int_equal(fstat(to, &st), 0);
	assert_int_equal(st.st_nlink, 0);
	assert_true(st.st_mode & S_IROTH);
	return to;
}

/* Returns the bytes that the capture of that user has of the program. */
static uint64_t keep_for(uid_t uid)
{
	const struct identity owner = {.uid = uid, .gid = getgid()};
	const struct rec_module rec = {.rec.kind = REC_MODULE, .module_id = MODULE};
	const struct capture_writer_options options = {.fd = memfd_create("capture", MFD_CLOEXEC)};
	const struct capture_start start = {.start_ns = 1};
	struct file_set *files = file_set_new(64);
	struct kept_contents kept = {0};
	struct capture_writer *writer = capture_writer_new(&options, &start, NULL);

	assert_int_equal(rec.kind, MODULE_FILE);
	assert_non_null(writer);
	file_set_add(files, MODULE, copy_program());
	kept_contents_add(&kept, &rec, files, &owner, writer);
	capture_writer_free(writer);
	file_set_free(files);
	vec_release(&kept.others);
	return kept.bytes;
}

TEST(memory_of_others_is_left_out)
{
	assert_true(keep_for(getuid()) > 0);
	assert_int_equal(keep_for(getuid() + 1), 0);
}

/* A byte in each of many pages takes all of these. */
TEST(scattered_bytes_count_as_pages)
{
	struct rec_file *rec = calloc(1, rec_file_size(1));
	struct read_contents contents = {0};
	uint64_t pages = 2 * KEPT_FILE_MAX / 4096;
	struct stat st;

	record_init(&rec->rec, REC_FILE, rec_file_size(1), 0, 0, 0);
	rec->module_id = MODULE;
	rec->size = 1;
	rec->bytes[0] = 1;
	for (uint64_t i = 0; i < pages + 1000; i++) {
		rec->offset = FAR + 4096 * i;
		read_contents_take(&contents, rec);
	}
	assert_int_equal(fstat(read_contents_find(&contents, MODULE), &st), 0);
	assert_int_equal(st.st_size, FAR + 4096 * (pages - 1) + 1);
	assert_true((uint64_t)st.st_blocks * 512 <= 2 * KEPT_FILE_MAX + 4096);
	read_contents_release(&contents);
	free(rec);
}

TEST(what_nobody_asks_for_is_forgotten)
{
	struct rec_file *rec = calloc(1, rec_file_size(1));
	struct read_contents contents = {0};

	record_init(&rec->rec, REC_FILE, rec_file_size(1), 0, 0, 0);
	rec->size = 1;
	for (rec->module_id = 1; rec->module_id <= 3; rec->module_id++)
		read_contents_take(&contents, rec);
	assert_true(read_contents_find(&contents, 2) >= 0);
	assert_true(read_contents_find(&contents, 1) >= 0);
	read_contents_trim(&contents, 3 * 4096);
	assert_int_equal(contents.rows.count, 3);
	read_contents_trim(&contents, 3 * 4096 - 1);
	assert_int_equal(read_contents_find(&contents, 3), -1);
	read_contents_trim(&contents, 4096);
	assert_int_equal(read_contents_find(&contents, 2), -1);
	assert_true(read_contents_find(&contents, 1) >= 0);
	read_contents_trim(&contents, 0);
	assert_int_equal(contents.rows.count, 0);
	read_contents_release(&contents);
	free(rec);
}
