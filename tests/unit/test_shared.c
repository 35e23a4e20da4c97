/* SPDX-License-Identifier: MIT */

#include <elf.h>
#include <string.h>

#include "tests/unit/export_fixture.h"
#include "tests/unit/test.h"

#define FFFD "\xef\xbf\xbd"

static const uint8_t build_id[20] = {0x51, 0x0d, 0x0a, 0x5c, 0x19, 0xea, 0xdf, 0x80, 0x43, 0xf2,
				     0x03, 0xb4, 0x52, 0x5b, 0xe9, 0xbe, 0x3d, 0xcb, 0x95, 0x54};

static module_id add_module(struct exported *f, enum profile_module_kind kind, const char *path,
			    const char *name)
{
	return modules_add(&f->p->modules, kind, export_intern(f, path), export_intern(f, name));
}

/* A file with code at file offset 0x1000 and RVA 0x2000. */
static module_id add_file(struct exported *f, const char *path, const char *name, bool has_build_id)
{
	module_id id = add_module(f, PROFILE_MODULE_FILE, path, name);
	struct module *module = modules_get(&f->p->modules, id);

	module->machine = EM_X86_64;
	if (has_build_id) {
		memcpy(module->build_id, build_id, sizeof(build_id));
		module->build_id_size = sizeof(build_id);
	}
	vec_push(&module->segments, (struct module_segment){0, 0x1000, 0x400000, false});
	vec_push(&module->segments, (struct module_segment){0x1000, 0x90000000, 0x402000, true});
	return id;
}

#define CASE(name) TEST_WITH(name, export_setup, export_teardown)

CASE(test_frames_and_libs)
{
	struct exported *f = *state;
	module_id file = add_file(f, "/usr/bin/app", "app", true);
	module_id copy = add_file(f, "/mnt/usr/bin/app", "app", true);
	module_id unused = add_file(f, "/usr/bin/unused", "unused", false);
	module_id kernel = add_module(f, PROFILE_MODULE_KERNEL, "vmlinux", "vmlinux");
	module_id anon = add_module(f, PROFILE_MODULE_ANON, "", "[anon]");
	module_id vdso = add_module(f, PROFILE_MODULE_VDSO, "[vdso]", "[vdso]");
	func_id func = export_add_func(f, file, "main", "/src/app.c");
	struct symbol main_symbol = {file, export_intern(f, "main"), 0x2000, 0x100};
	struct frame frame = {.module = file, .func = func, .offset = 0x1010, .line = 12};
	json_t *root;

	frame.symbol = symbols_intern(&f->p->symbols, &main_symbol);
	frames_intern(&f->p->frames, &frame);
	frame.offset = 0x1100; /* beyond its symbol */
	frames_intern(&f->p->frames, &frame);
	export_add_frame(f, copy, export_add_func(f, copy, "main", "/src/app.c"), 0x1010);
	frame = (struct frame){.module = kernel,
			       .func = export_add_func(f, kernel, "do_idle", NULL),
			       .offset = 0x80,
			       .symbol = NO_SYMBOL,
			       .kind = PROFILE_FRAME_KERNEL};
	frames_intern(&f->p->frames, &frame);
	export_add_frame(f, anon, NO_FUNC, 0x7f0000000000);
	export_add_frame(f, vdso, NO_FUNC, 0xc40);
	export_add_frame(f, file, NO_FUNC, 0x80001000); /* an RVA of more than 31 bits */
	export_add_frame(f, unused, NO_FUNC, 0x99999999ffull); /* in no segment */
	export_add_thread(f, 10, 10, "make");
	root = export_run(f);
	export_expect(root, "libs.0",
		      "{\"arch\":\"x86_64\",\"name\":\"app\",\"path\":\"/usr/bin/app\","
		      "\"debugName\":\"app\",\"debugPath\":\"/usr/bin/app\","
		      "\"breakpadId\":\"5C0A0D51EA1980DF43F203B4525BE9BE0\","
		      "\"codeId\":\"510d0a5c19eadf8043f203b4525be9be3dcb9554\"}");
	export_expect(root, "libs.1.name", "\"[kernel.kallsyms]\"");
	export_expect(root, "libs.1.codeId", "null");
	export_expect(root, "libs.1.arch", "null");
	assert_int_equal(json_string_length(export_at(root, "libs.1.breakpadId")), 33);
	export_expect(root, "libs.2.name", "\"[vdso]\"");
	assert_int_equal(json_array_size(export_at(root, "libs")), 3);
	export_expect(root, "shared.frameTable.address", "[8208,8448,8208,128,-1,3136,-1,-1]");
	export_expect(root, "shared.frameTable.lib", "[0,0,0,1,-1,2,-1,-1]");
	export_expect(root, "shared.frameTable.nativeSymbol",
		      "[0,null,null,null,null,null,null,null]");
	export_expect(root, "shared.frameTable.line", "[12,12,null,null,null,null,null,null]");
	export_expect(root, "shared.frameTable.category", "[1,1,1,2,1,1,1,1]");
	export_expect(root, "shared.frameTable.func", "[0,0,0,1,2,3,4,5]");
	export_expect(root, "shared.funcTable.resource", "[0,1,-1,2,0,-1]");
	export_expect(root, "shared.funcTable.source", "[0,null,null,null,null,null]");
	export_expect(root, "shared.nativeSymbols.functionSize", "[256]");
	export_expect(root, "shared.nativeSymbols.address", "[8192]");
	export_expect(root, "shared.resourceTable.type", "[1,1,1]");
	export_expect_text(root, "shared.resourceTable.name", 1, "[kernel.kallsyms]");
	export_expect_text(root, "shared.sources.filename", 0, "/src/app.c");
	export_expect_text(root, "shared.funcTable.name", 2, "0x7f0000000000");
	export_expect_text(root, "shared.funcTable.name", 4, "0x80002000");
}

CASE(test_libs_are_unique)
{
	struct exported *f = *state;
	const char *ids[3];
	json_t *root;

	for (int i = 0; i < 3; i++) {
		module_id id = add_file(f, "/opt/a\xff/b", i == 2 ? "x/b" : "b", false);

		export_add_frame(f, id, NO_FUNC, 0x1000);
	}
	export_add_thread(f, 10, 10, "make");
	root = export_run(f);
	export_expect(root, "libs.0.path", "\"/opt/a" FFFD "/b\"");
	export_expect(root, "libs.2.debugName", "\"x_b\"");
	ids[0] = json_string_value(export_at(root, "libs.0.breakpadId"));
	ids[1] = json_string_value(export_at(root, "libs.1.breakpadId"));
	ids[2] = json_string_value(export_at(root, "libs.2.breakpadId"));
	assert_string_not_equal(ids[0], ids[1]);
	assert_string_equal(ids[0], ids[2]);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(strlen(ids[i]), 33);
		assert_int_equal(strspn(ids[i], "0123456789ABCDEF"), 33);
	}
}

/* Strings with equal text become one, and so do their functions and files. */
CASE(test_strings_become_one)
{
	static const char *const names[] = {"f\xff", "f\xfe", "f" FFFD, "\"\n\\"};
	struct exported *f = *state;
	json_t *root;

	export_intern(f, "never used");
	for (size_t i = 0; i < 4; i++)
		export_add_frame(f, NO_MODULE, export_add_func(f, NO_MODULE, names[i], names[i]),
				 i);
	export_add_thread(f, 10, 10, "make");
	root = export_run(f);
	export_expect(root, "shared.stringArray", "[\"f" FFFD "\",\"\\\"\\n\\\\\"]");
	export_expect(root, "shared.funcTable.name", "[0,1]");
	export_expect(root, "shared.funcTable.source", "[0,1]");
	export_expect(root, "shared.sources.filename", "[0,1]");
	export_expect(root, "shared.frameTable.func", "[0,0,0,1]");
}

CASE(test_inline_chain)
{
	struct exported *f = *state;
	module_id file = add_file(f, "/usr/bin/app", "app", true);
	struct symbol symbol = {file, export_intern(f, "main"), 0x2000, 0};
	struct frame frame = {.module = file, .offset = 0x1010};
	stack_id stack = NO_STACK;
	json_t *root;

	frame.symbol = symbols_intern(&f->p->symbols, &symbol);
	for (int depth = 0; depth < 3; depth++) {
		const char *names[] = {"main", "parse", "next"};

		frame.func = export_add_func(f, file, names[depth], NULL);
		frame.inline_depth = (uint16_t)depth;
		stack = stacks_intern(&f->p->stacks, stack, frames_intern(&f->p->frames, &frame));
	}
	export_add_thread(f, 10, 10, "make");
	root = export_run(f);
	export_expect(root, "shared.frameTable.inlineDepth", "[0,1,2]");
	export_expect(root, "shared.frameTable.address", "[8208,8208,8208]");
	export_expect(root, "shared.frameTable.nativeSymbol", "[0,0,0]");
	export_expect(root, "shared.nativeSymbols.functionSize", "[null]");
	export_expect(root, "shared.stackTable.prefixOffset", "[0,1,1]");
}
