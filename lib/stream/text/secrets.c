/* SPDX-License-Identifier: MIT */
#include "lib/stream/text/secrets.h"

#include <strings.h>

/*
 * Options whose names do not reveal that they take a secret: "-pSECRET", "-p SECRET", "-u
 * user:SECRET".
 */
enum letter_form {
	FORM_GLUED = 1 << 0,
	FORM_NEXT = 1 << 1,
	FORM_USER = 1 << 2, /* only the text after a colon is secret */
};

static const struct known_letter {
	const char *program; /* prefix of the program name */
	char letter;
	unsigned char forms;
} known_letters[] = {
	{"mysql", 'p', FORM_GLUED},
	{"mariadb", 'p', FORM_GLUED},
	{"sshpass", 'p', FORM_GLUED | FORM_NEXT},
	{"redis-cli", 'a', FORM_GLUED | FORM_NEXT},
	{"ldap", 'w', FORM_GLUED | FORM_NEXT},
	{"smbclient", 'U', FORM_GLUED | FORM_NEXT | FORM_USER},
	{"curl", 'u', FORM_GLUED | FORM_NEXT | FORM_USER},
	{"curl", 'U', FORM_GLUED | FORM_NEXT | FORM_USER},
	{"7z", 'p', FORM_GLUED},
	{"zip", 'P', FORM_GLUED | FORM_NEXT},
	{"unzip", 'P', FORM_GLUED | FORM_NEXT},
};

enum next_word {
	NEXT_IS_SHOWN,
	NEXT_IS_SECRET,
	NEXT_IS_USER, /* "user:SECRET" */
};

struct masking {
	struct strbuf *out;
	const char *program; /* last argument that looks like a known program, … */
	size_t program_size; /* … and its length without folders */
	enum next_word next;
	bool is_cut; /* the current argument may be incomplete */
};

static bool is_name_character(char c)
{
	return isalnum((unsigned char)c) || c == '_' || c == '-' || c == '.';
}

static bool contains(const char *text, size_t size, const char *word)
{
	size_t length = strlen(word);

	for (size_t i = 0; i + length <= size; i++) {
		if (strncasecmp(text + i, word, length) == 0)
			return true;
	}
	return false;
}

static bool word_says_secret(const char *word, size_t size)
{
	static const char *const whole[] = {"pass", "passin",	     "passout", "pwd",
					    "auth", "authorization", "cookie"};
	static const char *const parts[] = {"passw",  "passphrase", "passcode", "token",
					    "secret", "credential", "pwd"};

	for (size_t i = 0; i < sizeof(whole) / sizeof(*whole); i++) {
		if (strlen(whole[i]) == size && strncasecmp(word, whole[i], size) == 0)
			return true;
	}
	for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++) {
		if (contains(word, size, parts[i]))
			return true;
	}
	/* "key", "keys", "apikey", "SSHKey"; not "keyboard" */
	if (size && (word[size - 1] == 's' || word[size - 1] == 'S'))
		size--;
	return size >= 3 && strncasecmp(word + size - 3, "key", 3) == 0;
}

/* True for "--db-password", "PGPASSWORD", "aws.secretKey". */
static bool says_secret(const char *name, size_t size)
{
	size_t start = 0;

	for (size_t i = 0; i <= size; i++) {
		if (i < size && isalnum((unsigned char)name[i]))
			continue;
		if (i > start && word_says_secret(name + start, i - start))
			return true;
		start = i + 1;
	}
	return false;
}

static void mask(struct masking *m)
{
	strbuf_adds(m->out, "***");
}

/*
 * Returns the size of the separator between a name and its value: "=", ": ", `": "`; 0 if no value
 * follows.
 */
static size_t separator_size(const char *text, size_t size)
{
	size_t at = 0;

	while (at < size && (text[at] == '"' || text[at] == '\''))
		at++;
	if (at == size || (text[at] != '=' && text[at] != ':'))
		return 0;
	at++;
	/* "C::key" and "key://" are not names with values. */
	if (at < size && (text[at] == ':' || text[at] == '/') && text[at - 1] == ':')
		return 0;
	while (at < size && strchr(" =\"'", text[at]))
		at++;
	return at;
}

/* Returns the size of "user:SECRET@" or "SECRET@" before a host; 0 if there is none. */
static size_t user_size(const struct masking *m, const char *text, size_t size)
{
	size_t end = 0, at = 0;

	for (; end < size && !strchr("/?# \t\n\"'<>", text[end]); end++) {
		if (text[end] == '@')
			at = end + 1;
	}
	/* The text is truncated here: the host may be in the missing part. */
	if (!at && m->is_cut && end == size && memchr(text, ':', end))
		return end;
	return at;
}

/* Writes the user part of the URL at text[at]. Returns the end of that part. */
static size_t mask_user(struct masking *m, const char *text, size_t at, size_t size)
{
	size_t part = user_size(m, text + at, size - at);
	const char *colon = part ? memchr(text + at, ':', part) : NULL;
	bool is_web = (at >= 7 && strncasecmp(text + at - 7, "http://", 7) == 0) ||
		      (at >= 8 && strncasecmp(text + at - 8, "https://", 8) == 0);

	if (!part || (!colon && !is_web))
		return at;
	if (colon)
		strbuf_add(m->out, text + at, (size_t)(colon + 1 - (text + at)));
	mask(m);
	if (text[at + part - 1] == '@')
		strbuf_addch(m->out, '@');
	return at + part;
}

static const struct known_letter *find_letter(const struct masking *m, const char *word,
					      size_t size)
{
	if (size < 2 || word[0] != '-' || !m->program)
		return NULL;
	for (size_t i = 0; i < sizeof(known_letters) / sizeof(*known_letters); i++) {
		const struct known_letter *known = &known_letters[i];
		size_t length = strlen(known->program);

		if (known->letter == word[1] && m->program_size >= length &&
		    memcmp(m->program, known->program, length) == 0)
			return known;
	}
	return NULL;
}

/* Masks the part after a colon; without one, the text is a user name alone. */
static void mask_password_of_user(struct masking *m, const char *text, size_t size)
{
	const char *colon = memchr(text, ':', size);

	/* smbclient separates them as "user%SECRET". */
	if (!colon)
		colon = memchr(text, '%', size);
	if (!colon) {
		strbuf_add(m->out, text, size);
		return;
	}
	strbuf_add(m->out, text, (size_t)(colon + 1 - text));
	mask(m);
}

/* Handles "-pSECRET". True if the rest of the argument was written. */
static bool mask_letter(struct masking *m, const char *word, size_t word_size, size_t rest)
{
	const struct known_letter *known = find_letter(m, word, word_size);

	if (!known)
		return false;
	if (word_size == 2) {
		if (known->forms & FORM_NEXT)
			m->next = known->forms & FORM_USER ? NEXT_IS_USER : NEXT_IS_SECRET;
		return false;
	}
	if (!(known->forms & FORM_GLUED))
		return false;
	strbuf_add(m->out, word, 2);
	if (known->forms & FORM_USER)
		mask_password_of_user(m, word + 2, rest - 2);
	else
		mask(m);
	return true;
}

/* Notes a word that could be a program's path, by its last component. */
static void note_program(struct masking *m, const char *word, size_t size)
{
	const char *slash = memrchr(word, '/', size);

	if (!size || *word == '-')
		return;
	if (slash) {
		size -= (size_t)(slash + 1 - word);
		word = slash + 1;
	}
	for (size_t i = 0; i < sizeof(known_letters) / sizeof(*known_letters); i++) {
		size_t length = strlen(known_letters[i].program);

		if (size >= length && memcmp(word, known_letters[i].program, length) == 0) {
			m->program = word;
			m->program_size = size;
		}
	}
}

static bool is_space(char c)
{
	return c == ' ' || c == '\t' || c == '\n';
}

/* True if a word begins there, as a shell or a reader would split the text. */
static bool begins_word(const char *text, size_t at)
{
	return !at || is_space(text[at - 1]) || strchr("'\"`(;|&", text[at - 1]);
}

static size_t word_size(const char *text, size_t size)
{
	size_t at = 0;

	while (at < size && !is_space(text[at]) && !strchr("'\"`);|&", text[at]))
		at++;
	return at;
}

static bool is_user_option(const char *name, size_t size)
{
	return (size == 6 && memcmp(name, "--user", 6) == 0) ||
	       (size == 12 && memcmp(name, "--proxy-user", 12) == 0);
}

/*
 * Checks the name at text[at]. If its value is secret and in the same argument, writes both and
 * returns true. The end of the value is unknown, so it is masked up to the argument's end.
 */
static bool mask_value(struct masking *m, const char *text, size_t at, size_t name, size_t size)
{
	size_t separator = separator_size(text + at + name, size - at - name);
	bool is_secret = says_secret(text + at, name), is_user = is_user_option(text + at, name);
	bool is_option = text[at] == '-', is_last = at + name == size;

	if ((!is_secret && !is_user) || (!separator && !is_option))
		return false;
	if (!separator && is_last) {
		m->next = is_secret ? NEXT_IS_SECRET : NEXT_IS_USER;
		return false;
	}
	if (!separator && !is_space(text[at + name]))
		return false;
	separator = separator ? separator : 1;
	strbuf_add(m->out, text + at, name + separator);
	if (is_secret)
		mask(m);
	else
		mask_password_of_user(m, text + at + name + separator,
				      size - at - name - separator);
	return true;
}

/* Masks an argument that follows no option with a secret value. */
static void mask_argument(struct masking *m, const char *text, size_t size)
{
	size_t at = 0;

	while (at < size) {
		size_t name = 0;

		if (begins_word(text, at)) {
			size_t word = word_size(text + at, size - at);

			note_program(m, text + at, word);
			if (mask_letter(m, text + at, word, size - at))
				return;
			/* The secret is the next word of the same text. */
			if (m->next && at + word < size) {
				strbuf_add(m->out, text + at, word + 1);
				mask(m);
				m->next = NEXT_IS_SHOWN;
				return;
			}
		}
		if (size - at > 3 && memcmp(text + at, "://", 3) == 0) {
			strbuf_add(m->out, text + at, 3);
			at = mask_user(m, text, at + 3, size);
			continue;
		}
		while (at + name < size && is_name_character(text[at + name]))
			name++;
		if (!name) {
			strbuf_addch(m->out, text[at++]);
			continue;
		}
		if (mask_value(m, text, at, name, size))
			return;
		strbuf_add(m->out, text + at, name);
		at += name;
	}
}

void secrets_mask(struct strbuf *out, const char *list, size_t size, bool is_cut)
{
	struct masking m = {.out = out};

	for (size_t at = 0; at < size;) {
		size_t length = strnlen(list + at, size - at);
		enum next_word next = m.next;

		m.next = NEXT_IS_SHOWN;
		m.is_cut = is_cut && at + length + 1 >= size;
		if (next == NEXT_IS_SECRET)
			mask(&m);
		else if (next == NEXT_IS_USER)
			mask_password_of_user(&m, list + at, length);
		else
			mask_argument(&m, list + at, length);
		strbuf_addch(out, '\0');
		at += length + 1;
	}
}
