/* SPDX-License-Identifier: MIT */
#include <stdio.h>

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/cleanup.h"
#include "symbolize/source_texts.h"
#include "tests/unit/test.h"

struct fixture {
	char folder[64];
	struct profile *p;
	struct file_set *files;
	struct sources_stats stats;
};

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	strcpy(f->folder, "/tmp/test_sources.XXXXXX");
	assert_non_null(mkdtemp(f->folder));
	/* The rest of the path is open to everybody. */
	assert_int_equal(chmod(f->folder, 0755), 0);
	f->p = profile_new();
	f->files = file_set_new(16);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;
	char command[128];

	snprintf(command, sizeof(command), "rm -rf '%s'", f->folder);
	assert_int_equal(system(command), 0);
	file_set_free(f->files);
	profile_free(f->p);
	free(f);
	return 0;
}

static void write_file(struct fixture *f, const char *name, const char *text, size_t size)
{
	char path[128];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", f->folder, name);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, size), size);
	close(fd);
}

/* Adds `frames` frames of a function in that file of the folder; absolute paths stay absolute. */
static source_file_id name_file(struct fixture *f, module_id module, const char *name,
				unsigned int frames)
{
	char path[128];
	struct func func = {.module = module};
	struct frame frame = {.module = module, .symbol = NO_SYMBOL};

	snprintf(path, sizeof(path), "%s%s%s", *name == '/' ? "" : f->folder,
		 *name == '/' ? "" : "/", name);
	func.file = source_files_intern(&f->p->source_files, strings_intern(&f->p->strings, path));
	func.name = strings_intern(&f->p->strings, name);
	frame.func = funcs_intern(&f->p->funcs, &func);
	for (unsigned int i = 0; i < frames; i++) {
		frame.offset = i;
		frames_intern(&f->p->frames, &frame);
	}
	return func.file;
}

static void collect(struct fixture *f, uint64_t file_bytes, uint64_t total_bytes)
{
	struct sources_options options = {
		.files = f->files,
		.owner = identity_of_invoker(),
		.file_bytes = file_bytes,
		.total_bytes = total_bytes,
	};

	sources_collect(f->p, &options, &f->stats);
}

static const char *text_of(struct fixture *f, source_file_id id)
{
	return f->p->source_files.rows.items[id].text;
}

#define CASE(name) TEST_WITH(name, setup, teardown)

CASE(takes_source_code_only)
{
	struct fixture *f = *state;
	source_file_id code, key, zero, missing, device, folder, unused;

	write_file(f, "a.c", "int a;\n", 7);
	write_file(f, "key", "secret\n", 7);
	write_file(f, "zero.h", "a\0b", 3);
	code = name_file(f, NO_MODULE, "a.c", 1);
	key = name_file(f, NO_MODULE, "key", 1);
	zero = name_file(f, NO_MODULE, "zero.h", 1);
	missing = name_file(f, NO_MODULE, "missing.c", 1);
	device = name_file(f, NO_MODULE, "/dev/null", 1);
	folder = name_file(f, NO_MODULE, "/usr/include", 1);
	unused = name_file(f, NO_MODULE, "a.h", 0);
	collect(f, 100, 1000);

	assert_string_equal(text_of(f, code), "int a;\n");
	assert_null(text_of(f, key));
	assert_null(text_of(f, zero));
	assert_null(text_of(f, missing));
	assert_null(text_of(f, device));
	assert_null(text_of(f, folder));
	assert_null(text_of(f, unused));
	assert_int_equal(f->stats.files[SOURCE_TAKEN], 1);
	assert_int_equal(f->stats.bytes, 7);
	assert_int_equal(f->stats.files[SOURCE_NO_CODE], 4);
	assert_int_equal(f->stats.files[SOURCE_MISSING], 1);
}

CASE(has_limits)
{
	struct fixture *f = *state;
	struct strbuf text __attribute__((cleanup(strbuf_release_cleanup))) = {0};
	source_file_id rare, often, large;

	write_file(f, "rare.c", "12345678", 8);
	write_file(f, "often.c", "1234567", 7);
	write_file(f, "large.c", "123456789", 9);
	rare = name_file(f, NO_MODULE, "rare.c", 1);
	large = name_file(f, NO_MODULE, "large.c", 5);
	often = name_file(f, NO_MODULE, "often.c", 2);
	collect(f, 8, 14);

	assert_null(text_of(f, large));
	assert_string_equal(text_of(f, often), "1234567");
	assert_null(text_of(f, rare));
	sources_describe(&f->stats, &text);
	assert_string_equal(strbuf_text(&text), "1 file (7 B); left out: 1 too large, 1 beyond the "
						"total limit");
}

CASE(knows_what_is_newer)
{
	struct fixture *f = *state;
	struct timespec times[2] = {{.tv_sec = 1000}, {.tv_sec = 1000}};
	module_id module = modules_add(&f->p->modules, PROFILE_MODULE_FILE,
				       strings_intern(&f->p->strings, "/bin/a"),
				       strings_intern(&f->p->strings, "a"));
	char path[128];

	write_file(f, "binary", "x", 1);
	write_file(f, "old.c", "x", 1);
	write_file(f, "new.c", "x", 1);
	snprintf(path, sizeof(path), "%s/old.c", f->folder);
	assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
	snprintf(path, sizeof(path), "%s/binary", f->folder);
	times[1].tv_sec = 2000;
	assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
	file_set_add(f->files, 7, open(path, O_RDONLY));
	modules_get(&f->p->modules, module)->file_key = 7;
	name_file(f, module, "old.c", 1);
	name_file(f, module, "new.c", 1);
	collect(f, 100, 100);
	assert_int_equal(f->stats.files[SOURCE_TAKEN], 2);
	assert_int_equal(f->stats.newer, 1);
}

static void make_folders(struct fixture *f, const char *names)
{
	char command[256];

	snprintf(command, sizeof(command), "cd '%s' && mkdir -p %s", f->folder, names);
	assert_int_equal(system(command), 0);
}

static int open_folder(struct fixture *f, const char *name)
{
	char path[128];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", f->folder, name);
	fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	assert_true(fd >= 0);
	return fd;
}

static module_id add_module(struct fixture *f, enum profile_module_kind kind, uint32_t key)
{
	string_id name = strings_intern(&f->p->strings, "app");
	module_id id = modules_add(&f->p->modules, kind, name, name);

	modules_get(&f->p->modules, id)->file_key = key;
	return id;
}

/* Two roots in the fixture's folder; paths in them are as long as those outside. */
CASE(in_the_root_of_the_process)
{
	struct fixture *f = *state;
	module_id first = add_module(f, PROFILE_MODULE_FILE, 3);
	module_id second = add_module(f, PROFILE_MODULE_FILE, 4);
	module_id made = add_module(f, PROFILE_MODULE_ANON, UINT32_MAX);
	source_file_id inside, outside, linked, climbing, shared, script;
	char target[128];

	make_folders(f, "root1/src root2/src secret");
	write_file(f, "root1/src/inside.c", "in\n", 3);
	write_file(f, "root1/src/shared.c", "one\n", 4);
	write_file(f, "root2/src/shared.c", "two\n", 4);
	write_file(f, "root2/src/app.py", "py\n", 3);
	write_file(f, "outside.c", "out\n", 4);
	write_file(f, "secret/secret.c", "secret\n", 7);
	snprintf(target, sizeof(target), "%s/root1/src/linked.c", f->folder);
	assert_int_equal(symlink("../../secret/secret.c", target), 0);
	file_set_add_root(f->files, 3, open_folder(f, "root1"));
	file_set_add_root(f->files, 4, open_folder(f, "root2"));
	file_set_add_process_root(f->files, 77, open_folder(f, "root2"));
	modules_get(&f->p->modules, made)->pid = 77;
	inside = name_file(f, first, "/src/inside.c", 1);
	outside = name_file(f, first, "outside.c", 1);
	linked = name_file(f, first, "/src/linked.c", 1);
	climbing = name_file(f, first, "/../secret/secret.c", 1);
	name_file(f, first, "/src/shared.c", 2);
	shared = name_file(f, second, "/src/shared.c", 3);
	script = name_file(f, made, "/src/app.py", 1);
	collect(f, 100, 1000);
	assert_string_equal(text_of(f, inside), "in\n");
	/* The program may have been built outside. */
	assert_string_equal(text_of(f, outside), "out\n");
	assert_null(text_of(f, linked));
	assert_null(text_of(f, climbing));
	assert_string_equal(text_of(f, shared), "two\n");
	assert_string_equal(text_of(f, script), "py\n");
	assert_int_equal(f->stats.files[SOURCE_MISSING], 2);
}

/* A file of the same path outside is a different one. */
CASE(what_is_in_the_root_comes_first)
{
	struct fixture *f = *state;
	module_id module = add_module(f, PROFILE_MODULE_FILE, 3);
	source_file_id same, large;
	char names[128];

	snprintf(names, sizeof(names), "root%s", f->folder);
	make_folders(f, names);
	write_file(f, "same.c", "out\n", 4);
	write_file(f, "large.c", "out\n", 4);
	snprintf(names, sizeof(names), "root%s/same.c", f->folder);
	write_file(f, names, "in\n", 3);
	snprintf(names, sizeof(names), "root%s/large.c", f->folder);
	write_file(f, names, "123456789", 9);
	file_set_add_root(f->files, 3, open_folder(f, "root"));
	same = name_file(f, module, "same.c", 1);
	large = name_file(f, module, "large.c", 1);
	collect(f, 8, 1000);
	assert_string_equal(text_of(f, same), "in\n");
	assert_null(text_of(f, large));
	assert_int_equal(f->stats.files[SOURCE_TOO_LARGE], 1);
}

TEST(knows_code_by_its_name)
{
	assert_true(source_texts_is_code("/src/x.c"));
	assert_true(source_texts_is_code("/usr/lib/clang/../../include/c++/12/vector"));
	assert_false(source_texts_is_code("/home/u/.ssh/id_rsa"));
	assert_false(source_texts_is_code("/usr/include/../../home/u/.ssh/id_rsa"));
	assert_false(source_texts_is_code("/include/../include/c++/../../etc/passwd"));
}
