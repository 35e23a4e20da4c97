/* SPDX-License-Identifier: MIT */
#include "lib/stream/text/usdt_arguments.h"

#include <elf.h>

#define TOKEN_MAX 128

/* A register's position in struct pt_regs, and the bits used. */
struct place {
	uint16_t at;
	uint8_t shift; /* number of lower bits to drop */
	uint8_t bits;
};

/* x86-64: the 64-, 32-, 16- and 8-bit names, and the name of the second lowest byte. */
static const struct {
	uint16_t at;
	const char *names[5];
} x86_registers[] = {
	{0, {"r15", "r15d", "r15w", "r15b", NULL}},  {8, {"r14", "r14d", "r14w", "r14b", NULL}},
	{16, {"r13", "r13d", "r13w", "r13b", NULL}}, {24, {"r12", "r12d", "r12w", "r12b", NULL}},
	{32, {"rbp", "ebp", "bp", "bpl", NULL}},     {40, {"rbx", "ebx", "bx", "bl", "bh"}},
	{48, {"r11", "r11d", "r11w", "r11b", NULL}}, {56, {"r10", "r10d", "r10w", "r10b", NULL}},
	{64, {"r9", "r9d", "r9w", "r9b", NULL}},     {72, {"r8", "r8d", "r8w", "r8b", NULL}},
	{80, {"rax", "eax", "ax", "al", "ah"}},	     {88, {"rcx", "ecx", "cx", "cl", "ch"}},
	{96, {"rdx", "edx", "dx", "dl", "dh"}},	     {104, {"rsi", "esi", "si", "sil", NULL}},
	{112, {"rdi", "edi", "di", "dil", NULL}},    {152, {"rsp", "esp", "sp", "spl", NULL}},
};

#define ARM64_SP_AT 248
#define ARM64_REGISTERS 31

/* A text being parsed. */
struct cursor {
	const char *at;
	bool is_arm64;
};

static void skip_spaces(struct cursor *c)
{
	while (*c->at == ' ' || *c->at == '\t')
		c->at++;
}

static bool skip(struct cursor *c, char what)
{
	skip_spaces(c);
	if (*c->at != what)
		return false;
	c->at++;
	return true;
}

static bool read_number(struct cursor *c, __s64 *number)
{
	char *end;

	skip_spaces(c);
	if (!isdigit((unsigned char)*c->at) && *c->at != '-' && *c->at != '+')
		return false;
	*number = (__s64)strtoull(c->at, &end, 0);
	if (end == c->at)
		return false;
	c->at = end;
	return true;
}

static bool find_x86(const char *name, size_t size, struct place *place)
{
	static const uint8_t bits[5] = {64, 32, 16, 8, 8};

	for (size_t i = 0; i < sizeof(x86_registers) / sizeof(x86_registers[0]); i++) {
		for (size_t j = 0; j < 5; j++) {
			const char *known = x86_registers[i].names[j];

			if (!known || strlen(known) != size || memcmp(known, name, size) != 0)
				continue;
			*place = (struct place){x86_registers[i].at, j == 4 ? 8 : 0, bits[j]};
			return true;
		}
	}
	return false;
}

static bool find_arm64(const char *name, size_t size, struct place *place)
{
	unsigned int number = 0;

	*place = (struct place){ARM64_SP_AT, 0, 64};
	if (size == 2 && memcmp(name, "sp", 2) == 0)
		return true;
	if (size < 2 || size > 3 || (*name != 'x' && *name != 'w'))
		return false;
	for (size_t i = 1; i < size; i++) {
		if (!isdigit((unsigned char)name[i]))
			return false;
		number = number * 10 + (unsigned int)(name[i] - '0');
	}
	*place = (struct place){(uint16_t)(number * 8), 0, *name == 'x' ? 64 : 32};
	return number < ARM64_REGISTERS;
}

static bool read_register(struct cursor *c, struct place *place)
{
	size_t size = 0;
	const char *name;

	skip_spaces(c);
	if (!c->is_arm64 && *c->at++ != '%')
		return false;
	name = c->at;
	while (isalnum((unsigned char)name[size]))
		size++;
	c->at += size;
	return c->is_arm64 ? find_arm64(name, size, place) : find_x86(name, size, place);
}

static void set_index(struct usdt_argument *a, const struct place *place)
{
	a->index = place->at;
	if (place->bits == 32)
		a->flags |= USDT_INDEX_LOW;
}

/* Parses "(%rax,%rbx,8)", after the number. */
static bool read_x86_memory(struct cursor *c, struct usdt_argument *a)
{
	struct place place;
	__s64 scale = 1;

	if (!skip(c, '('))
		return false;
	skip_spaces(c);
	if (*c->at != ',') {
		if (!read_register(c, &place) || place.bits < 32)
			return false;
		a->base = place.at;
	}
	if (skip(c, ',')) {
		if (!read_register(c, &place) || place.bits < 32 || place.shift)
			return false;
		set_index(a, &place);
		if (skip(c, ',') && !read_number(c, &scale))
			return false;
	}
	if (scale != 1 && scale != 2 && scale != 4 && scale != 8)
		return false;
	a->shift = (uint8_t)__builtin_ctzll((unsigned long long)scale);
	return skip(c, ')');
}

/* Parses "x1, lsl 3" or "w1, sxtw 3". */
static bool read_arm64_index(struct cursor *c, struct usdt_argument *a)
{
	struct place place;
	__s64 shift = 0;
	char how[5] = {0};

	if (!read_register(c, &place))
		return false;
	set_index(a, &place);
	if (skip(c, ',')) {
		skip_spaces(c);
		for (size_t i = 0; i < 4 && isalpha((unsigned char)*c->at); i++)
			how[i] = *c->at++;
		if (strcmp(how, "sxtw") == 0)
			a->flags |= USDT_INDEX_SIGNED;
		else if (strcmp(how, "lsl") != 0 && strcmp(how, "uxtw") != 0)
			return false;
		skip_spaces(c);
		skip(c, '#');
		if (*c->at != ']' && !read_number(c, &shift))
			return false;
	}
	a->shift = (uint8_t)shift;
	return shift >= 0 && shift <= 4;
}

/* Parses "[x0]", "[sp, 16]", "[x0, x1, lsl 3]". */
static bool read_arm64_memory(struct cursor *c, struct usdt_argument *a)
{
	struct place place;

	if (!skip(c, '[') || !read_register(c, &place) || place.bits != 64)
		return false;
	a->base = place.at;
	if (skip(c, ',')) {
		skip_spaces(c);
		skip(c, '#');
		if (!read_number(c, &a->number) && !read_arm64_index(c, a))
			return false;
	}
	return skip(c, ']');
}

static void read_one_register(struct cursor *c, struct usdt_argument *a)
{
	struct place place;

	if (!read_register(c, &place) || place.bits < a->size * 8)
		return;
	a->kind = USDT_REGISTER;
	a->base = place.at;
	a->shift = place.shift;
}

static void read_x86(struct cursor *c, struct usdt_argument *a)
{
	if (skip(c, '$')) {
		if (read_number(c, &a->number))
			a->kind = USDT_CONSTANT;
	} else if (*c->at == '%') {
		read_one_register(c, a);
	} else {
		if (*c->at != '(' && !read_number(c, &a->number))
			return;
		if (read_x86_memory(c, a))
			a->kind = USDT_MEMORY;
	}
}

static void read_arm64(struct cursor *c, struct usdt_argument *a)
{
	skip(c, '#');
	if (*c->at == '[') {
		if (read_arm64_memory(c, a))
			a->kind = USDT_MEMORY;
	} else if (read_number(c, &a->number)) {
		a->kind = USDT_CONSTANT;
	} else {
		read_one_register(c, a);
	}
}

/* Parses an argument, "SIZE@PLACE". */
static void read_argument(const char *text, bool is_arm64, struct usdt_argument *a)
{
	struct cursor c = {text, is_arm64};
	__s64 size = 0;

	*a = (struct usdt_argument){.base = USDT_NO_REGISTER, .index = USDT_NO_REGISTER};
	if (!read_number(&c, &size))
		return;
	if (size < -8 || size > 8)
		return;
	a->flags = size < 0 ? USDT_SIGNED : 0;
	size = size < 0 ? -size : size;
	if (size != 1 && size != 2 && size != 4 && size != 8)
		return;
	a->size = (uint8_t)size;
	/* An f marks floating-point numbers. */
	if (*c.at++ != '@')
		return;
	if (is_arm64)
		read_arm64(&c, a);
	else
		read_x86(&c, a);
	if (*c.at)
		a->kind = USDT_UNREADABLE;
}

/*
 * Copies the text of the next argument, including spaces within brackets. Returns false at the end.
 */
static bool next_token(const char **text, char token[TOKEN_MAX])
{
	size_t size = 0;
	bool is_inside = false;

	*text += strspn(*text, " \t");
	for (; **text && (is_inside || !strchr(" \t", **text)); (*text)++) {
		if (**text == '[')
			is_inside = true;
		else if (**text == ']')
			is_inside = false;
		if (size < TOKEN_MAX - 1)
			token[size++] = **text;
	}
	token[size] = 0;
	return size;
}

void usdt_arguments_parse(struct usdt_layout *layout, uint16_t machine, const char *text)
{
	char token[TOKEN_MAX];

	layout->count = 0;
	while (layout->count < USDT_ARGUMENTS_MAX && next_token(&text, token))
		read_argument(token, machine == EM_AARCH64, &layout->arguments[layout->count++]);
}
