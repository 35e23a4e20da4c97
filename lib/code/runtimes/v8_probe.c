/* SPDX-License-Identifier: MIT */
#include "lib/base/bytes.h"
#include "lib/code/binary/objects.h"
#include "lib/code/runtimes/v8.h"

#define MAJOR "_ZN2v88internal7Version6major_E"
#define MINOR "_ZN2v88internal7Version6minor_E"
#define NAMES_MAX 3
#define DATA_MAX ((size_t)128 << 20)

/* A constant for debuggers, under its present and former names. */
struct constant {
	const char *names[NAMES_MAX];
	int32_t fallback; /* value for versions of V8 without it; REQUIRED if there is none */
};

#define REQUIRED INT32_MIN

enum {
	FIRST, /* looked up before the others: few files have it */
	VERSION_MAJOR,
	VERSION_MINOR,
	BUILTIN, /* a symbol in the table that strip removes */
	/* Numbers for which the kernel's program assumes fixed values. */
	SMI_TAG,
	SMI_SHIFT,
	OBJECT_TAG,
	OFF_CONTEXT,
	OFF_BYTECODE,
	OFF_OFFSET,
	STRING_LENGTH,
	STRING_TEXT,
	STRING_FIRST,
	STRING_SECOND,
	STRING_ACTUAL,
	STRING_PARENT,
	STRING_OFFSET,
	KIND_MASK,
	ONE_BYTE_TAG,
	/* Members of the layout. */
	MAP_TYPE,
	STRING_END,
	TYPE_SHARED,
	TYPE_SCRIPT,
	TYPE_SCOPE,
	TYPE_BYTECODE,
	TYPE_POSITIONS,
	TYPE_CODE,
	FUNCTION_SHARED,
	SHARED_DATA,
	SHARED_NAME,
	SHARED_SCRIPT,
	SHARED_COUNTS,
	SHARED_FLAGS,
	SCRIPT_SOURCE,
	SCRIPT_NAME,
	SCRIPT_LINE_ENDS,
	SCOPE_LOCALS,
	SCOPE_VARIABLES,
	BYTECODE_DATA,
	BYTECODE_WRAPPER,
	ARRAY_LENGTH,
	ARRAY_DATA,
	CODE_BASELINE,
	CODE_KIND_MASK,
	CONSTANT_COUNT,
};

static const struct constant constants[CONSTANT_COUNT] = {
	[FIRST] = {{"v8dbg_off_fp_function"}, REQUIRED},
	[VERSION_MAJOR] = {{MAJOR}, REQUIRED},
	[VERSION_MINOR] = {{MINOR}, REQUIRED},
	[BUILTIN] = {{"Builtins_InterpreterEntryTrampoline"}, 0},
	[SMI_TAG] = {{"v8dbg_SmiTag"}, REQUIRED},
	[SMI_SHIFT] = {{"v8dbg_SmiShiftSize"}, REQUIRED},
	[OBJECT_TAG] = {{"v8dbg_HeapObjectTag"}, REQUIRED},
	[OFF_CONTEXT] = {{"v8dbg_off_fp_context_or_frame_type"}, REQUIRED},
	[OFF_BYTECODE] = {{"v8dbg_off_fp_bytecode_array"}, REQUIRED},
	[OFF_OFFSET] = {{"v8dbg_off_fp_bytecode_offset"}, REQUIRED},
	[STRING_LENGTH] = {{"v8dbg_class_String__length__int32_t"}, REQUIRED},
	[STRING_TEXT] = {{"v8dbg_class_SeqOneByteString__chars__char"}, REQUIRED},
	[STRING_FIRST] = {{"v8dbg_class_ConsString__first__String"}, REQUIRED},
	[STRING_SECOND] = {{"v8dbg_class_ConsString__second__String"}, REQUIRED},
	[STRING_ACTUAL] = {{"v8dbg_class_ThinString__actual__String"}, REQUIRED},
	[STRING_PARENT] = {{"v8dbg_class_SlicedString__parent__String"}, REQUIRED},
	[STRING_OFFSET] = {{"v8dbg_class_SlicedString__offset__SMI"}, REQUIRED},
	[KIND_MASK] = {{"v8dbg_StringRepresentationMask"}, REQUIRED},
	[ONE_BYTE_TAG] = {{"v8dbg_OneByteStringTag"}, REQUIRED},
	[MAP_TYPE] = {{"v8dbg_class_Map__instance_type__uint16_t"}, REQUIRED},
	[STRING_END] = {{"v8dbg_FirstNonstringType"}, REQUIRED},
	[TYPE_SHARED] = {{"v8dbg_type_SharedFunctionInfo__SHARED_FUNCTION_INFO_TYPE"}, REQUIRED},
	[TYPE_SCRIPT] = {{"v8dbg_type_Script__SCRIPT_TYPE"}, REQUIRED},
	[TYPE_SCOPE] = {{"v8dbg_type_ScopeInfo__SCOPE_INFO_TYPE"}, REQUIRED},
	[TYPE_BYTECODE] = {{"v8dbg_type_BytecodeArray__BYTECODE_ARRAY_TYPE"}, REQUIRED},
	[TYPE_POSITIONS] = {{"v8dbg_type_TrustedByteArray__TRUSTED_BYTE_ARRAY_TYPE",
			     "v8dbg_type_ByteArray__BYTE_ARRAY_TYPE"},
			    REQUIRED},
	[TYPE_CODE] = {{"v8dbg_type_Code__CODE_TYPE"}, 0},
	[FUNCTION_SHARED] = {{"v8dbg_class_JSFunction__shared__Tagged_SharedFunctionInfo_",
			      "v8dbg_class_JSFunction__shared__SharedFunctionInfo"},
			     REQUIRED},
	[SHARED_DATA] = {{"v8dbg_class_SharedFunctionInfo__function_data__Object"}, -1},
	[SHARED_NAME] =
		{{"v8dbg_class_SharedFunctionInfo__name_or_scope_info__Tagged_NameOrScopeInfoT_",
		  "v8dbg_class_SharedFunctionInfo__name_or_scope_info__Tagged_Object_",
		  "v8dbg_class_SharedFunctionInfo__name_or_scope_info__Object"},
		 REQUIRED},
	[SHARED_SCRIPT] = {{"v8dbg_class_SharedFunctionInfo__script__Tagged_HeapObject_",
			    "v8dbg_class_SharedFunctionInfo__script_or_debug_info__HeapObject"},
			   REQUIRED},
	[SHARED_COUNTS] = {{"v8dbg_class_SharedFunctionInfo__length__uint16_t"}, REQUIRED},
	[SHARED_FLAGS] = {{"v8dbg_class_SharedFunctionInfo__flags__int"}, REQUIRED},
	[SCRIPT_SOURCE] = {{"v8dbg_class_Script__source__Object"}, REQUIRED},
	[SCRIPT_NAME] = {{"v8dbg_class_Script__name__Object"}, REQUIRED},
	[SCRIPT_LINE_ENDS] = {{"v8dbg_class_Script__line_ends__Object"}, REQUIRED},
	[SCOPE_LOCALS] = {{"v8dbg_scopeinfo_idx_ncontextlocals"}, REQUIRED},
	[SCOPE_VARIABLES] = {{"v8dbg_scopeinfo_idx_first_vars"}, REQUIRED},
	[BYTECODE_DATA] = {{"v8dbg_class_BytecodeArray__data__uintptr_t"}, REQUIRED},
	[BYTECODE_WRAPPER] = {{"v8dbg_class_BytecodeArray__wrapper__Tagged_BytecodeWrapper_"}, 0},
	[ARRAY_LENGTH] = {{"v8dbg_class_FixedArrayBase__length__SMI"}, REQUIRED},
	[ARRAY_DATA] = {{"v8dbg_class_FixedArray__data__uintptr_t"}, REQUIRED},
	[CODE_BASELINE] = {{"v8dbg_CodeKindBaseline"}, 0},
	[CODE_KIND_MASK] = {{"v8dbg_CodeKindFieldMask"}, 0},
};

struct v8_file {
	const struct binary *binary;
	struct binary_object objects[CONSTANT_COUNT * NAMES_MAX];
	int32_t values[CONSTANT_COUNT];
};

/* Numbers that are 0 lie in .bss, which has no bytes in the file. */
static int32_t value_of(const struct v8_file *f, const struct binary_object *object)
{
	uint8_t word[4];
	struct bytes b;

	if (!binary_read_loaded(f->binary, object->vaddr, word, sizeof(word)))
		return 0;
	bytes_init(&b, word, sizeof(word));
	return (int32_t)bytes_u32(&b);
}

/*
 * Looks them up in the table with the first one. Most files export all; some of the names belong to
 * other versions and need not be searched among all symbols.
 */
static void find_objects(struct v8_file *f, size_t count)
{
	struct binary_object first = {.name = constants[FIRST].names[0]};

	binary_find_exported(f->binary, &first, 1);
	if (!first.is_there) {
		binary_find_objects(f->binary, f->objects, count);
		return;
	}
	binary_find_exported(f->binary, f->objects, count);
	for (size_t i = 0; i < count; i++) {
		if (f->objects[i].name == constants[BUILTIN].names[0])
			binary_find_objects(f->binary, &f->objects[i], 1);
	}
}

/* Returns the first constant that is missing, or NULL. */
static const char *find_values(struct v8_file *f)
{
	size_t count = 0;

	for (size_t i = 0; i < CONSTANT_COUNT; i++) {
		for (size_t k = 0; k < NAMES_MAX && constants[i].names[k]; k++)
			f->objects[count++].name = constants[i].names[k];
	}
	find_objects(f, count);
	count = 0;
	for (size_t i = 0; i < CONSTANT_COUNT; i++) {
		bool is_there = false;

		f->values[i] = constants[i].fallback;
		for (size_t k = 0; k < NAMES_MAX && constants[i].names[k]; k++, count++) {
			if (is_there || !f->objects[count].is_there)
				continue;
			f->values[i] = i == BUILTIN ? 1 : value_of(f, &f->objects[count]);
			is_there = true;
		}
		if (!is_there && constants[i].fallback == REQUIRED)
			return constants[i].names[0];
	}
	return NULL;
}

/*
 * Returns whether everything that has no place in the layout has the value that the kernel's
 * program assumes.
 */
static bool is_expected(const int32_t *v)
{
	const struct {
		int which, value;
	} rows[] = {
		{FIRST, V8_FRAME_FUNCTION},
		{OFF_CONTEXT, V8_FRAME_CONTEXT},
		{OFF_BYTECODE, V8_FRAME_BYTECODE},
		{OFF_OFFSET, V8_FRAME_OFFSET},
		{SMI_TAG, 0},
		{OBJECT_TAG, 1},
		{STRING_LENGTH, V8_STRING_LENGTH},
		{STRING_TEXT, V8_STRING_TEXT},
		{STRING_FIRST, V8_STRING_FIRST},
		{STRING_SECOND, V8_STRING_SECOND},
		{STRING_ACTUAL, V8_STRING_FIRST},
		{STRING_PARENT, V8_STRING_FIRST},
		{STRING_OFFSET, V8_STRING_SECOND},
		{KIND_MASK, 7},
		{ONE_BYTE_TAG, 8},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (v[rows[i].which] != rows[i].value)
			return false;
	}
	return true;
}

/*
 * Versions examined. The types are those of programs without constants, as scripts/v8-types prints
 * them: a ScopeInfo's is two below a SharedFunctionInfo's, a Code's one above bytecode's. Most of
 * the form of compiled code has no constant, and it changes.
 */
static const struct version {
	uint8_t major, minor, is_compressed;
	uint16_t shared, script, bytecode, positions; /* types; 0: not examined */
	uint8_t baseline;
	uint8_t header, stream, start, flags, size, deopt, sources, literals, inlined;
} versions[] = {
	{10, 2, 0, 0, 0, 0, 0, 0, 128, 128, 0, 48, 40, 16, 24, 2, 7}, /* node 18 */
	{11, 3, 0, 0, 0, 0, 0, 0, 0, 16, 40, 48, 56, 16, 24, 2, 7}, /* node 20 */
	{12, 4, 0, 0, 0, 0, 0, 0, 0, 32, 40, 48, 52, 8, 16, 2, 7}, /* node 22 */
	{12, 9, 0, 281, 167, 185, 193, 10, 0, 32, 40, 48, 52, 8, 16, 2, 7}, /* Deno 2.0 */
	{13, 0, 0, 280, 167, 185, 193, 10, 0, 32, 40, 48, 52, 8, 16, 2, 7}, /* Deno 2.1 */
	{13, 4, 0, 282, 167, 186, 196, 10, 0, 32, 40, 52, 56, 8, 16, 3, 8}, /* Deno 2.2.0 */
	{13, 5, 0, 282, 167, 186, 196, 10, 0, 32, 40, 52, 56, 8, 16, 3, 8}, /* Deno 2.2.15 */
	{13, 6, 0, 282, 167, 186, 196, 10, 0, 32, 40, 52, 56, 8, 16, 3, 8}, /* node 24 */
	{13, 7, 0, 284, 165, 184, 194, 10, 0, 32, 40, 52, 56, 8, 16, 3, 8}, /* Deno 2.4 */
	{14, 0, 0, 286, 165, 184, 195, 10, 0, 32, 40, 52, 56, 8, 16, 3, 8}, /* Deno 2.5 */
	{14, 1, 0, 286, 165, 184, 195, 10, 0, 32, 40, 52, 56, 8, 16, 3, 8}, /* node 25 */
	{14, 2, 0, 286, 165, 184, 195, 11, 0, 32, 40, 52, 56, 8, 16, 3, 8}, /* Deno 2.6.0 */
	{14, 5, 0, 288, 166, 185, 196, 11, 0, 32, 40, 52, 56, 8, 16, 3, 8}, /* Deno 2.6.8 */
	{14, 6, 0, 288, 166, 185, 196, 11, 0, 32, 40, 52, 56, 8, 16, 3, 8}, /* node 26 */
	{14, 7, 0, 288, 166, 185, 196, 11, 0, 32, 40, 52, 56, 8, 16, 3, 8}, /* Deno 2.7 */
	{14, 9, 0, 278, 167, 185, 196, 11, 0, 32, 40, 52, 56, 8, 16, 3, 8}, /* Deno 2.8 */
	{15, 0, 0, 278, 166, 185, 196, 11, 0, 32, 40, 52, 56, 8, 16, 3, 8}, /* Deno 2.9 */
	{14, 4, 1, 287, 165, 184, 195, 11, 0, 16, 40, 52, 56, 8, 16, 3, 8}, /* mini-racer 0.14 */
	{15, 6, 1, 281, 166, 184, 194, 11, 0, 16, 40, 52, 56, 8, 16, 3, 8}, /* Chromium 156 */
	{15, 8, 1, 282, 167, 185, 195, 11, 0, 16, 40, 52, 56, 8, 16, 3, 8}, /* workerd */
};

static const struct version *find_version(unsigned int major, unsigned int minor,
					  bool is_compressed)
{
	for (size_t i = 0; i < sizeof(versions) / sizeof(versions[0]); i++) {
		if (versions[i].major == major && versions[i].minor == minor &&
		    versions[i].is_compressed == is_compressed)
			return &versions[i];
	}
	return NULL;
}

/* Sets the members that are the same in all files of the layout's version. False: unknown. */
static bool set_code_form(struct v8_layout *l)
{
	const struct version *form = find_version(l->major, l->minor, l->is_compressed);

	if (!form)
		return false;
	l->code_header = form->header;
	l->stream_size = form->stream;
	l->code_start = form->start;
	l->code_flags = form->flags;
	l->code_size = form->size;
	l->code_deopt = form->deopt;
	l->code_positions = form->sources;
	l->deopt_literals = form->literals;
	l->deopt_inlined = form->inlined;
	return true;
}

static void set_code(const int32_t *v, struct v8_layout *l)
{
	if (!v[TYPE_CODE] || !v[CODE_BASELINE] || v[CODE_KIND_MASK] != V8_CODE_KIND ||
	    !set_code_form(l))
		return;
	l->types[V8_CODE] = (uint16_t)v[TYPE_CODE];
	l->code_baseline = (uint8_t)v[CODE_BASELINE];
}

/* Sets offsets without a constant, and those used as they are. */
static bool set_layout(const int32_t *v, struct v8_layout *l)
{
	/* From 13 on, a ScopeInfo begins with the function's position in the source. */
	bool has_start = v[SCOPE_VARIABLES] == 5;
	/*
	 * 14.8 or 14.9 renumbered the kinds of scopes, made lengths of arrays integers, and added a
	 * flag to positions.
	 */
	bool is_14_9 = v[VERSION_MAJOR] > 14 || (v[VERSION_MAJOR] == 14 && v[VERSION_MINOR] > 7);
	bool is_compressed = v[SMI_SHIFT] == 0;
	int data = v[SHARED_DATA] >= 0 ? v[SHARED_DATA] : v[SHARED_NAME] - 8;

	/* Larger and negative ones would not fit. */
	for (size_t i = MAP_TYPE; i < CONSTANT_COUNT; i++) {
		if (i != SHARED_DATA && (v[i] < 0 || v[i] > 4096))
			return false;
	}
	*l = (struct v8_layout){
		.major = (uint16_t)v[VERSION_MAJOR],
		.minor = (uint16_t)v[VERSION_MINOR],
		.map_type = (uint16_t)v[MAP_TYPE],
		.string_end = (uint16_t)v[STRING_END],
		.types =
			{
				[V8_SHARED] = (uint16_t)v[TYPE_SHARED],
				[V8_SCRIPT] = (uint16_t)v[TYPE_SCRIPT],
				[V8_SCOPE] = (uint16_t)v[TYPE_SCOPE],
				[V8_BYTECODE] = (uint16_t)v[TYPE_BYTECODE],
				[V8_POSITIONS] = (uint16_t)v[TYPE_POSITIONS],
			},
		.function_shared = (uint16_t)v[FUNCTION_SHARED],
		.shared_builtin = (uint16_t)data,
		.shared_name = (uint16_t)v[SHARED_NAME],
		.shared_script = (uint16_t)v[SHARED_SCRIPT],
		.shared_counts = (uint16_t)v[SHARED_COUNTS],
		.shared_literal = (uint16_t)(v[SHARED_FLAGS] + 4),
		.script_source = (uint16_t)v[SCRIPT_SOURCE],
		.script_name = (uint16_t)v[SCRIPT_NAME],
		.script_id = (uint16_t)(v[SCRIPT_LINE_ENDS] + 8),
		.scope_flags = 8,
		.scope_locals = (uint16_t)(8 * (v[SCOPE_LOCALS] + 1)),
		.scope_names = (uint16_t)(8 * (v[SCOPE_VARIABLES] + 1)),
		.scope_start = has_start ? 32 : 0,
		.scope_flags_shift = has_start ? 0 : 32,
		.scope_module = has_start && !is_14_9 ? 5 : 3,
		.bytecode_length = (uint16_t)v[ARRAY_LENGTH],
		.bytecode_data = (uint16_t)v[BYTECODE_DATA],
		.bytecode_positions = v[BYTECODE_WRAPPER] ? 24 : 32,
		/* Read as the upper half of a word, like a small integer. */
		.array_length = (uint16_t)(v[ARRAY_LENGTH] - (is_14_9 ? 4 : 0)),
		.array_data = (uint16_t)v[ARRAY_DATA],
		.names_builtins = !v[BUILTIN],
		.place_flags = is_14_9 ? 2 : v[VERSION_MAJOR] >= 14,
		.is_compressed = is_compressed,
	};
	set_code(v, l);
	return v8_layout_is_sane(l);
}

bool v8_layout_is_sane(const struct v8_layout *l)
{
	const uint16_t words[] = {l->shared_builtin, l->shared_name, l->shared_script,
				  l->shared_counts};
	struct v8_layout formed = *l;

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		if (words[i] % 8 || words[i] > V8_SHARED_MAX - 8)
			return false;
	}
	if (l->code_size && (!set_code_form(&formed) || memcmp(&formed, l, sizeof(formed)) != 0))
		return false;
	return l->shared_literal % 4 == 0 && l->shared_literal <= V8_SHARED_MAX - 4;
}

/* Constants that are the same in all examined versions since 12.9. */
static const int32_t common[CONSTANT_COUNT] = {
	[FIRST] = V8_FRAME_FUNCTION,
	[SMI_SHIFT] = 31,
	[OBJECT_TAG] = 1,
	[OFF_CONTEXT] = V8_FRAME_CONTEXT,
	[OFF_BYTECODE] = V8_FRAME_BYTECODE,
	[OFF_OFFSET] = V8_FRAME_OFFSET,
	[STRING_LENGTH] = V8_STRING_LENGTH,
	[STRING_TEXT] = V8_STRING_TEXT,
	[STRING_FIRST] = V8_STRING_FIRST,
	[STRING_SECOND] = V8_STRING_SECOND,
	[STRING_ACTUAL] = V8_STRING_FIRST,
	[STRING_PARENT] = V8_STRING_FIRST,
	[STRING_OFFSET] = V8_STRING_SECOND,
	[KIND_MASK] = 7,
	[ONE_BYTE_TAG] = 8,
	[MAP_TYPE] = 12,
	[STRING_END] = 128,
	[FUNCTION_SHARED] = 32,
	[SHARED_DATA] = -1,
	[SHARED_NAME] = 24,
	[SHARED_SCRIPT] = 40,
	[SHARED_COUNTS] = 48,
	[SHARED_FLAGS] = 56,
	[SCRIPT_SOURCE] = 8,
	[SCRIPT_NAME] = 16,
	[SCRIPT_LINE_ENDS] = 56,
	[SCOPE_LOCALS] = 2,
	[SCOPE_VARIABLES] = 5,
	[BYTECODE_DATA] = 64,
	[BYTECODE_WRAPPER] = 16,
	[ARRAY_LENGTH] = 8,
	[ARRAY_DATA] = 16,
	[CODE_KIND_MASK] = V8_CODE_KIND,
};

/* Takes a number of one or two digits, and the point after it. */
static bool take_number(const uint8_t **at, const uint8_t *end, unsigned int *number)
{
	const uint8_t *start = *at;

	*number = 0;
	while (*at < end && *at - start < 3 && **at >= '0' && **at <= '9')
		*number = *number * 10 + (unsigned int)(*(*at)++ - '0');
	return *at > start && *at - start < 3 && *at < end && *(*at)++ == '.';
}

/* Statements about V8 in the read-only data of a program. */
struct statements {
	bool has_options, is_compressed;
	/* The only examined version without and with compressed pointers; NULL: none. */
	const struct version *versions[2];
	bool has_several[2];
};

static void note_version(struct statements *found, unsigned int major, unsigned int minor)
{
	for (int i = 0; i < 2; i++) {
		const struct version *version = find_version(major, minor, i);

		if (!version || !version->shared)
			continue;
		found->has_several[i] |= found->versions[i] && found->versions[i] != version;
		found->versions[i] = version;
	}
}

/* Finds texts that may be numbers of versions, "15.0.245.2-rusty", with a 0 before them. */
static void search_versions(struct statements *found, const uint8_t *data, size_t size)
{
	for (const uint8_t *at = data, *end = data + size;
	     (at = memchr(at, '.', (size_t)(end - at))); at++) {
		const uint8_t *text = at - 2;
		unsigned int major, minor;

		if (at - data < 3 || at[-3] || !take_number(&text, end, &major) ||
		    !take_number(&text, end, &minor))
			continue;
		while (text < end && *text >= '0' && *text <= '9')
			text++;
		if (text < end && *text == '.')
			note_version(found, major, minor);
	}
}

static bool read_statements(void *ctx, const uint8_t *data, size_t size)
{
	static const char option[] = "allow natives syntax";
	static const char cage[] = "process-wide V8 pointer compression cage";
	struct statements *found = ctx;

	_Static_assert(sizeof(cage) <= BINARY_PIECE_OVERLAP, "no text lies in two pieces");
	found->has_options |= memmem(data, size, option, sizeof(option)) != NULL;
	found->is_compressed |= memmem(data, size, cage, sizeof(cage)) != NULL;
	search_versions(found, data, size);
	return true;
}

/* Returns whether it can be V8 although it has no constants, by symbols that are quick to find. */
static bool may_have_v8(const struct binary *b)
{
	/* The interface for native modules, as in Deno; Chromium; embedders with V8's symbols. */
	struct binary_object exported[] = {{.name = "napi_create_function"},
					   {.name = "ChromeMain"}};
	struct binary_object version = {.name = MAJOR};

	binary_find_exported(b, exported, sizeof(exported) / sizeof(exported[0]));
	if (exported[0].is_there || exported[1].is_there)
		return true;
	binary_find_mark(b, &version);
	return version.is_there;
}

/*
 * Sets the constants of a program that has none, by its version. False: it has another version, or
 * another engine, such as Bun, which states the version of node's V8 but has none of its options.
 */
static bool set_by_version(struct v8_file *f)
{
	struct binary_object builtin = {.name = constants[BUILTIN].names[0]};
	struct statements found = {0};
	const struct version *version;

	if (!may_have_v8(f->binary) ||
	    !binary_search_section(f->binary, ".rodata", DATA_MAX, read_statements, &found) ||
	    !found.has_options)
		return false;
	version = found.versions[found.is_compressed];
	if (!version || found.has_several[found.is_compressed])
		return false;
	memcpy(f->values, common, sizeof(common));
	binary_find_objects(f->binary, &builtin, 1);
	f->values[BUILTIN] = builtin.is_there;
	if (found.is_compressed) {
		f->values[SMI_SHIFT] = 0;
		f->values[MAP_TYPE] = 8;
		f->values[BYTECODE_DATA] = 36;
	}
	f->values[VERSION_MAJOR] = version->major;
	f->values[VERSION_MINOR] = version->minor;
	f->values[TYPE_SHARED] = version->shared;
	f->values[TYPE_SCRIPT] = version->script;
	f->values[TYPE_SCOPE] = version->shared - 2;
	f->values[TYPE_BYTECODE] = version->bytecode;
	f->values[TYPE_POSITIONS] = version->positions;
	f->values[TYPE_CODE] = version->bytecode + 1;
	f->values[CODE_BASELINE] = version->baseline;
	return true;
}

int v8_probe(const struct binary *b, struct runtime_layout *layout, struct error *err)
{
	struct binary_object first = {.name = constants[FIRST].names[0]};
	struct v8_file f = {.binary = b};
	const char *missing = NULL;
	int32_t *v = f.values;

	binary_find_mark(b, &first);
	if (first.is_there)
		missing = find_values(&f);
	else if (!set_by_version(&f))
		return 0;
	if (v[VERSION_MAJOR] != REQUIRED && v[VERSION_MAJOR] < V8_OLDEST)
		return error_text(err, -ENOTSUP, "V8 is older than %d", V8_OLDEST);
	if (missing)
		return error_text(err, -ENOTSUP, "V8 without %s", missing);
	if (first.is_there && v[SMI_SHIFT] != 31)
		return error_text(err, -ENOTSUP, "V8 %d.%d compresses pointers", v[VERSION_MAJOR],
				  v[VERSION_MINOR]);
	if (!is_expected(v) || !set_layout(v, &layout->v8))
		return error_text(err, -EINVAL, "V8 %d.%d has objects of an unknown form",
				  v[VERSION_MAJOR], v[VERSION_MINOR]);
	layout->kind = RUNTIME_V8;
	return 0;
}
