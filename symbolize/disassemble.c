/* SPDX-License-Identifier: MIT */
/*
 * Declares LLVM's stable interface (llvm-c/Disassembler.h) itself, so that the build needs no LLVM
 * header and any installed version works.
 */
#include "symbolize/disassemble.h"

#include <dlfcn.h>
#include <elf.h>
#include <pthread.h>

/* LLVMDisassembler_Option_… */
#define OPTION_HEX 2u
#define OPTION_OTHER_SYNTAX 4u /* Intel syntax on x86 */
/* LLVMDisassembler_ReferenceType_In_… */
#define REFERENCE_BRANCH 1u
#define TEXT_SIZE 256

/*
 * Extensions of arm64 that version 14 decodes. It has no common name for them, and prints errors
 * for unknown ones.
 */
#define ARM64_FEATURES_14 \
	"+v8.8a,+v9.3a,+crypto,+aes,+sha2,+sha3,+sm4,+crc,+dotprod,+fullfp16,+fp16fml,+bf16," \
	"+i8mm,+f32mm,+f64mm,+sve2-aes,+sve2-bitperm,+sve2-sha3,+sve2-sm4,+sme,+sme-f64,+sme-i64," \
	"+mte,+rand,+ls64,+tme,+mops,+hbc,+brbe,+ete,+trbe,+spe,+spe-eef,+predres,+ssbs,+rme"

typedef const char *lookup_fn(void *ctx, uint64_t value, uint64_t *type, uint64_t pc,
			      const char **name);

struct machine {
	uint16_t machine;
	const char *triple, *features, *arch, *syntax;
	unsigned int step; /* number of bytes skipped at an invalid instruction */
	const char *initializers[3];
};

static const struct machine machines[] = {
	{EM_X86_64,
	 "x86_64-linux-gnu",
	 "",
	 "x86_64",
	 "Intel",
	 1,
	 {"LLVMInitializeX86TargetInfo", "LLVMInitializeX86TargetMC",
	  "LLVMInitializeX86Disassembler"}},
	{EM_386,
	 "i386-linux-gnu",
	 "",
	 "i686",
	 "Intel",
	 1,
	 {"LLVMInitializeX86TargetInfo", "LLVMInitializeX86TargetMC",
	  "LLVMInitializeX86Disassembler"}},
	{EM_AARCH64,
	 "aarch64-linux-gnu",
	 "+all",
	 "aarch64",
	 "ARM",
	 4,
	 {"LLVMInitializeAArch64TargetInfo", "LLVMInitializeAArch64TargetMC",
	  "LLVMInitializeAArch64Disassembler"}},
};

#define LIBRARY_14 "libLLVM-14.so.1"

/* Newest first. */
static const char *const libraries[] = {
	"libLLVM.so.19.1", "libLLVM-19.so.1", "libLLVM.so.18.1", "libLLVM-18.so.1",
	"libLLVM-17.so.1", "libLLVM-16.so.1", "libLLVM-15.so.1", LIBRARY_14,
};

/* Loaded once, and never unloaded. */
static struct {
	void *handle;
	bool lacks_all; /* the LLVM library does not know the feature "all" */
	void *(*create)(const char *triple, const char *cpu, const char *features, void *ctx,
			int tag, void *operand_info, lookup_fn *lookup);
	int (*set_options)(void *disassembler, uint64_t options);
	size_t (*instruction)(void *disassembler, uint8_t *code, uint64_t size, uint64_t pc,
			      char *text, size_t text_size);
	void (*dispose)(void *disassembler);
} llvm;

static pthread_mutex_t loading = PTHREAD_MUTEX_INITIALIZER;

/* ISO C cannot convert the void * of dlsym() to a function pointer. */
static bool find(void *handle, const char *name, void *function)
{
	void *found = dlsym(handle, name);

	memcpy(function, &found, sizeof(found));
	return found;
}

static bool load_from(const char *library)
{
	void *handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);

	if (!handle)
		return false;
	if (find(handle, "LLVMCreateDisasmCPUFeatures", &llvm.create) &&
	    find(handle, "LLVMSetDisasmOptions", &llvm.set_options) &&
	    find(handle, "LLVMDisasmInstruction", &llvm.instruction) &&
	    find(handle, "LLVMDisasmDispose", &llvm.dispose)) {
		llvm.handle = handle;
		llvm.lacks_all = strcmp(library, LIBRARY_14) == 0;
		return true;
	}
	dlclose(handle);
	return false;
}

static int load(struct error *err)
{
	for (size_t i = 0; !llvm.handle && i < sizeof(libraries) / sizeof(libraries[0]); i++)
		load_from(libraries[i]);
	if (llvm.handle)
		return 0;
	error_text(err, -ENOENT, "cannot disassemble without the LLVM library, version 14 to 19");
	error_hint(err, "install libllvm14 or later");
	return -ENOENT;
}

/* Stores the instruction's target without naming it, so that LLVM prints the address. */
static const char *note_target(void *ctx, uint64_t value, uint64_t *type, uint64_t pc,
			       const char **name)
{
	uint64_t *target = ctx;

	if (*type == REFERENCE_BRANCH)
		*target = value;
	*type = 0;
	*name = NULL;
	return NULL;
}

static const char *features_of(const struct machine *m)
{
	return m->machine == EM_AARCH64 && llvm.lacks_all ? ARM64_FEATURES_14 : m->features;
}

static int open_disassembler(void **out, const struct machine *m, uint64_t *target,
			     struct error *err)
{
	void (*initialize)(void);
	int ret;

	pthread_mutex_lock(&loading);
	ret = load(err);
	for (size_t i = 0; !ret && i < 3; i++) {
		if (find(llvm.handle, m->initializers[i], &initialize))
			initialize();
	}
	*out = ret ? NULL
		   : llvm.create(m->triple, "", features_of(m), target, 0, NULL, note_target);
	pthread_mutex_unlock(&loading);
	if (ret)
		return ret;
	if (!*out)
		return error_text(err, -ENOTSUP, "the LLVM library does not support %s", m->arch);
	/* Set the syntax first, as that creates a new printer. */
	if (m->step == 1)
		llvm.set_options(*out, OPTION_OTHER_SYNTAX);
	llvm.set_options(*out, OPTION_HEX);
	return 0;
}

/* Converts "\tmov\trax, rbx\t# comment" to "mov rax, rbx # comment". */
static char *plain(const char *text)
{
	char *copy = xstrdup(text + strspn(text, " \t")), *to = copy;

	for (const char *from = copy; *from; from++) {
		char c = isspace((unsigned char)*from) ? ' ' : *from;

		if (c != ' ' || (to > copy && to[-1] != ' '))
			*to++ = c;
	}
	while (to > copy && to[-1] == ' ')
		to--;
	*to = '\0';
	return copy;
}

/*
 * Computes the address of data from the reported one, which is relative to the next instruction.
 * LLVM's own result is wrong in some versions (14) if an immediate follows.
 */
static uint64_t data_address(const char *text, uint64_t next)
{
	static const char base[] = "[rip";
	const char *at = strstr(text, base);
	uint64_t distance;

	if (!at)
		return NO_TARGET;
	at += strlen(base);
	if (*at == ']')
		return next;
	/* " + 0x10]" */
	distance = strtoull(at + strcspn(at, "0123456789]"), NULL, 16);
	return at[1] == '-' ? next - distance : next + distance;
}

static char *bytes_text(const uint8_t *code, size_t size)
{
	char *text = xstrdup(size == 4 ? ".word 0x" : ".byte 0x"), *longer;

	while (size--) {
		longer = xasprintf("%s%02x", text, code[size]);
		free(text);
		text = longer;
	}
	return text;
}

/* Returns whether the instruction is only a prefix, which some versions decode separately. */
static bool is_prefix(const char *text)
{
	static const char *const prefixes[] = {"lock",	   "rep",     "repne",
					       "data16",   "addr32",  "xacquire",
					       "xrelease", "notrack", "bnd"};

	return array_find(prefixes, it, strcmp(*it, text) == 0);
}

static void add_instruction(struct disassembly *d, const struct instruction *row)
{
	struct instruction *last = d->rows.count ? &vec_last(&d->rows) : NULL;
	char *text;

	if (!last || !is_prefix(last->text)) {
		vec_push(&d->rows, *row);
		return;
	}
	text = xasprintf("%s %s", last->text, row->text);
	free(last->text);
	free(row->text);
	last->text = text;
	last->size += row->size;
	last->target = row->target;
	last->data = row->data;
}

int disassemble(struct disassembly *d, uint16_t machine, const uint8_t *code, size_t size,
		uint64_t address, struct error *err)
{
	const struct machine *m = machines, *end = machines + sizeof(machines) / sizeof(*machines);
	uint64_t target;
	void *disassembler;
	int ret;

	*d = (struct disassembly){0};
	while (m < end && m->machine != machine)
		m++;
	if (m == end)
		return error_text(err, -ENOTSUP, "cannot disassemble code of machine %u", machine);
	ret = open_disassembler(&disassembler, m, &target, err);
	if (ret)
		return ret;
	d->arch = m->arch;
	d->syntax = m->syntax;
	for (size_t at = 0; at < size;) {
		struct instruction row = {.offset = (uint32_t)at};
		char text[TEXT_SIZE] = "";
		size_t room = size - at;

		target = NO_TARGET;
		row.size = (uint32_t)llvm.instruction(disassembler, (uint8_t *)code + at, room,
						      address + at, text, sizeof(text));
		row.target = row.size ? target : NO_TARGET;
		row.data = NO_TARGET;
		if (row.size) {
			row.text = plain(text);
			row.data = data_address(row.text, address + at + row.size);
		} else {
			row.size = room < m->step ? (uint32_t)room : m->step;
			row.text = bytes_text(code + at, row.size);
		}
		add_instruction(d, &row);
		at += row.size;
	}
	llvm.dispose(disassembler);
	return 0;
}

static char *place_text(const struct instruction *row, const char *name, uint64_t start)
{
	uint64_t address = row->target != NO_TARGET ? row->target : row->data;
	char *data = row->target == NO_TARGET && row->data != NO_TARGET
			     ? xasprintf("%s # 0x%" PRIx64, row->text, row->data)
			     : xstrdup(row->text);
	char *text;

	if (!name || address == NO_TARGET || address < start)
		return data;
	text = address == start ? xasprintf("%s <%s>", data, name)
				: xasprintf("%s <%s+0x%" PRIx64 ">", data, name, address - start);
	free(data);
	return text;
}

char *instruction_text(const struct instruction *row, const char *name, uint64_t start,
		       const char *patched)
{
	char *place = place_text(row, name, start), *text;

	if (!patched)
		return place;
	text = xasprintf("%s  [patched: %s]", place, patched);
	free(place);
	return text;
}

void disassembly_release(struct disassembly *d)
{
	vec_for_each(&d->rows, struct instruction *, row)
		free(row->text);
	vec_release(&d->rows);
}
