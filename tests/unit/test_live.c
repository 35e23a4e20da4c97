/* SPDX-License-Identifier: MIT */
/* The parts of lib/live that need no privilege: /proc text, mapped files, modules. */
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/base/cleanup.h"
#include "lib/live/process/maps_walk.h"
#include "lib/live/kernel/kernel_space.h"
#include "lib/live/process/file_opener.h"
#include "lib/live/process/module_registry.h"
#include "lib/stream/record/records.h"
#include "tests/unit/test.h"

TEST(maps_lines_are_parsed)
{
	char text[] = "55d0-55f0 r-xp 00002000 fd:01 131 /usr/bin/a b\n"
		      "rubbish\n"
		      "7000-6000 r-xp 00000000 00:00 0\n"
		      "ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0  [vsyscall]\n"
		      "9000-a000 rw-p 00000000 00:00 0 ";
	char *at = text;
	struct proc_map map;

	assert_true(proc_maps_next(&at, &map));
	assert_int_equal(map.start, 0x55d0);
	assert_int_equal(map.end, 0x55f0);
	assert_int_equal(map.file_offset, 0x2000);
	assert_int_equal(map.device_major, 0xfd);
	assert_int_equal(map.device_minor, 1);
	assert_int_equal(map.inode, 131);
	assert_true(map.executable);
	assert_string_equal(map.path, "/usr/bin/a b");
	assert_true(proc_maps_next(&at, &map));
	assert_string_equal(map.path, "[vsyscall]");
	assert_true(proc_maps_next(&at, &map));
	assert_false(map.executable);
	assert_string_equal(map.path, "");
	assert_false(proc_maps_next(&at, &map));
}

TEST(the_kernel_image_is_found)
{
	assert_int_equal(kernel_space_find_image("0000000000000000 A fixed_percpu_data\n"
						 "ffffffff80000000 T not_text\n"
						 "ffffffff81000000 T _text\n"
						 "ffffffff81000000 t startup_text\n"),
			 0xffffffff81000000);
	assert_int_equal(kernel_space_find_image("0000000000000000 T _text\n"), 0);
	assert_int_equal(kernel_space_find_image(""), 0);
	assert_int_equal(kernel_space_find_image("ffffffff81000000 T _stext\n"
						 "ffffffff81000000 T _text\n"
						 "ffffffff81000010 T more\n"),
			 0xffffffff81000000);
	assert_int_equal(kernel_space_find_image("ffffca42fae10000 t gic_handle_irq\n"
						 "ffffca42fae10000 T _stext\n"
						 "ffffca42fae10000 T __irqentry_text_start\n"
						 "ffffca42fae10010 t more\n"),
			 0xffffca42fae00000);
	/* The image may have more symbols at that address. */
	assert_int_equal(kernel_space_find_image("ffffffff81000000 T _stext\n"), 0);
}

/* The executable mapping of this program in /proc/self/maps. */
static char *own_text_mapping(struct proc_map *map)
{
	char *text = text_read_file("/proc/self/maps", 1 << 20, NULL), *at = text;
	uint64_t here = (uint64_t)(uintptr_t)&own_text_mapping;

	assert_non_null(text);
	while (proc_maps_next(&at, map)) {
		if (map->executable && map->start <= here && here < map->end)
			return text;
	}
	fail();
	return NULL;
}

/* Both ways list the same, if the kernel can be asked: this program, and memory without a file. */
TEST(executable_mappings_are_listed)
{
	void *anonymous = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1,
			       0);
	uint64_t here = (uint64_t)(uintptr_t)&executable_mappings_are_listed;
	bool found_anonymous = false, found_here = false;
	struct exec_maps asked, text;
	struct proc_map a, b;

	assert_int_equal(exec_maps_open(&asked, (uint32_t)getpid(), EXEC_MAPS_ASK), 0);
	assert_int_equal(exec_maps_open(&text, (uint32_t)getpid(), EXEC_MAPS_READ), 0);
	while (exec_maps_next(&text, &b)) {
		assert_true(exec_maps_next(&asked, &a));
		assert_int_equal(a.start, b.start);
		assert_int_equal(a.end, b.end);
		assert_int_equal(a.file_offset, b.file_offset);
		assert_int_equal(a.inode, b.inode);
		assert_int_equal(a.device_major, b.device_major);
		assert_int_equal(a.device_minor, b.device_minor);
		assert_string_equal(a.path, b.path);
		assert_true(a.executable && b.executable);
		assert_string_not_equal(b.path, "[vsyscall]");
		found_anonymous |= b.start == (uintptr_t)anonymous && !*b.path;
		found_here |= b.start <= here && here < b.end && *b.path == '/';
	}
	assert_false(exec_maps_next(&asked, &a));
	assert_true(found_anonymous && found_here);
	exec_maps_release(&asked);
	exec_maps_release(&text);
	munmap(anonymous, 4096);
	assert_int_equal(exec_maps_open(&asked, 0x7ffffff0, EXEC_MAPS_ASK), -ENOENT);
}

/* A zombie. */
TEST(what_has_no_memory_has_no_mappings)
{
	struct exec_maps maps;
	struct proc_map map;

	for (int way = EXEC_MAPS_ASK; way <= EXEC_MAPS_READ; way++) {
		pid_t child = fork();

		if (child == 0)
			_exit(0);
		assert_int_equal(waitid(P_PID, (id_t)child, NULL, WEXITED | WNOWAIT), 0);
		assert_int_equal(exec_maps_open(&maps, (uint32_t)child, (enum exec_maps_way)way),
				 0);
		assert_false(exec_maps_next(&maps, &map));
		exec_maps_release(&maps);
		assert_int_equal(waitpid(child, NULL, 0), child);
	}
}

static int open_mapped(const struct mapped_file *file, struct file_identity *identity,
		       struct binary_summary *summary)
{
	dev_t device;

	return mapped_file_open(file, mapped_file_find(file, &device), identity, summary);
}

TEST(the_mapped_file_is_opened_and_no_other)
{
	struct proc_map map;
	_cleanup_free_ char *text = own_text_mapping(&map);
	struct mapped_file file = {
		.pid = (uint32_t)getpid(),
		.start = map.start,
		.end = map.end,
		.path = map.path,
		.inode = map.inode,
	};
	static const uint8_t other_build_id[20] = {1, 2, 3};
	struct file_identity identity;
	struct binary_summary summary = {0};
	_cleanup_close_ int fd = open_mapped(&file, &identity, &summary);

	assert_non_null(text);
	assert_true(fd >= 0);
	assert_true(summary.segment_count > 0);
	binary_summary_release(&summary);
	file.build_id = other_build_id;
	file.build_id_size = sizeof(other_build_id);
	assert_int_equal(open_mapped(&file, &identity, &summary), -ESTALE);
}

static int try_open(const struct mapped_file *file)
{
	struct file_identity identity;
	struct binary_summary summary = {0};
	int fd = open_mapped(file, &identity, &summary);

	binary_summary_release(&summary);
	return fd < 0 ? fd : close(fd);
}

static bool has_layers(const char *path)
{
	struct statfs fs;

	assert_int_equal(statfs(path, &fs), 0);
	return fs.f_type == OVERLAYFS_SUPER_MAGIC || fs.f_type == BTRFS_SUPER_MAGIC;
}

/* Finds the file by its path alone, as nothing is mapped there any more. */
TEST(what_took_the_place_of_the_file_is_another)
{
	char dir[] = "/tmp/prof-test-XXXXXX", path[64], other[64], folder[64];
	struct mapped_file file = {.pid = (uint32_t)getpid(), .start = 1, .end = 2, .path = path};
	struct stat st;

	assert_non_null(mkdtemp(dir));
	snprintf(folder, sizeof(folder), "%s/a", dir);
	snprintf(path, sizeof(path), "%s/a/file", dir);
	snprintf(other, sizeof(other), "%s/other", dir);
	assert_int_equal(mkdir(folder, 0700), 0);
	assert_int_equal(close(open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600)), 0);
	assert_int_equal(stat(path, &st), 0);
	file.inode = st.st_ino;
	file.device = st.st_dev;
	assert_int_equal(try_open(&file), 0);
	file.device++;
	assert_int_equal(try_open(&file), has_layers(path) ? 0 : -ESTALE);
	file.device--;
	/* A link to the very file, in its place or its folder's. */
	assert_int_equal(rename(path, other), 0);
	assert_int_equal(symlink(other, path), 0);
	assert_int_equal(try_open(&file), -ELOOP);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(rename(other, path), 0);
	assert_int_equal(rename(folder, other), 0);
	assert_int_equal(symlink("other", folder), 0);
	assert_int_equal(try_open(&file), -ELOOP);
	assert_int_equal(unlink(folder), 0);
	assert_int_equal(rename(other, folder), 0);
	assert_int_equal(try_open(&file), 0);
	/* Another file of that name. */
	assert_int_equal(rename(path, other), 0);
	assert_int_equal(close(open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600)), 0);
	assert_int_equal(try_open(&file), -ESTALE);
	unlink(path);
	unlink(other);
	rmdir(folder);
	rmdir(dir);
}

TEST(a_fifo_is_never_opened)
{
	char dir[] = "/tmp/prof-test-XXXXXX", path[64];
	struct mapped_file file = {.pid = (uint32_t)getpid(), .start = 1, .end = 2, .path = path};
	struct file_identity identity;
	struct binary_summary summary = {0};

	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/fifo", dir);
	assert_int_equal(mkfifo(path, 0600), 0);
	/* Opening it for reading would block. */
	assert_int_equal(open_mapped(&file, &identity, &summary), -ENXIO);
	unlink(path);
	rmdir(dir);
}

struct collected {
	size_t modules, maps, names;
	char main_name[REC_NAME_SIZE];
	bool own_file, invalid;
	uint64_t here;
};

static void collect(void *ctx, const struct rec *rec)
{
	struct collected *c = ctx;
	const struct rec_map *map = (const struct rec_map *)rec;

	if (!record_is_valid(rec, record_size(rec)))
		c->invalid = true;
	if (rec->kind == REC_MODULE) {
		c->modules++;
	} else if (rec->kind == REC_NAME) {
		c->names++;
		memcpy(c->main_name, ((const struct rec_name *)rec)->name, REC_NAME_SIZE);
	} else if (rec->kind == REC_MAP) {
		c->maps++;
		if (map->start <= c->here && c->here < map->end)
			c->own_file = map->module_id != NO_REC_MODULE;
	}
}

TEST(a_scan_finds_this_process)
{
	struct collected c = {.here = (uint64_t)(uintptr_t)&a_scan_finds_this_process};
	struct file_set *files = file_set_new(16);
	struct module_registry *modules = module_registry_new(files, collect, &c);
	struct identity_cache cache = {0};

	assert_int_equal(proc_walk_name(collect, &c, (uint32_t)getpid(), REC_OUTSIDE, 1, NULL), 0);
	assert_int_equal(proc_walk_maps(modules, &cache, collect, &c, (uint32_t)getpid(), 1, NULL),
			 0);
	assert_false(c.invalid);
	assert_int_equal(c.names, 1);
	assert_string_equal(c.main_name, "test_live");
	assert_true(c.own_file);
	assert_true(c.maps >= c.modules);
	/* Every file is known the second time. */
	c.modules = 0;
	assert_int_equal(proc_walk_maps(modules, &cache, collect, &c, (uint32_t)getpid(), 2, NULL),
			 0);
	assert_int_equal(c.modules, 0);
	/* A file seen in another view counts as another, and is identified by its contents. */
	assert_in_range(cache.rows.count, 2, 100);
	identity_cache_release(&cache);
	module_registry_free(modules);
	file_set_free(files);
}

TEST(a_scan_of_nobody_says_so)
{
	struct collected c = {0};
	struct module_registry *modules = module_registry_new(NULL, collect, &c);
	struct identity_cache cache = {0};
	struct error err = {0};

	assert_int_equal(proc_walk_name(collect, &c, 0x7ffffff0, 0, 1, &err), -ESRCH);
	assert_non_null(strstr(err.text, "2147483632"));
	assert_int_equal(proc_walk_maps(modules, &cache, collect, &c, 0x7ffffff0, 1, &err),
			 -ENOENT);
	assert_non_null(strstr(err.text, "2147483632"));
	module_registry_free(modules);
}

TEST(anonymous_memory_has_no_module)
{
	static const char *const names[] = {"",		  "//anon",	  "[heap]",
					    "[anon:jit]", "anon_inode:x", "/dev/zero (deleted)"};
	struct collected c = {0};
	struct module_registry *modules = module_registry_new(NULL, collect, &c);

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		struct map_event event = {
			.pid = (uint32_t)getpid(), .start = 4096, .size = 4096, .path = names[i]};

		assert_int_equal(module_registry_resolve(modules, &event), NO_REC_MODULE);
	}
	assert_int_equal(c.modules, 0);
	module_registry_free(modules);
}
