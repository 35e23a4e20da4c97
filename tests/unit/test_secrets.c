/* SPDX-License-Identifier: MIT */

#include <string.h>

#include "lib/stream/text/secrets.h"
#include "tests/unit/test.h"

/* Arguments are separated by '|' here. */
static void check_cut(const char *arguments, const char *expected, bool is_cut)
{
	struct strbuf masked = {0};
	char list[512];
	size_t size = strlen(arguments) + !is_cut;

	memcpy(list, arguments, strlen(arguments) + 1);
	for (size_t i = 0; i < size; i++) {
		if (list[i] == '|')
			list[i] = '\0';
	}
	secrets_mask(&masked, list, size, is_cut);
	for (size_t i = 0; i + 1 < masked.size; i++) {
		if (!masked.text[i])
			masked.text[i] = '|';
	}
	assert_string_equal(strbuf_text(&masked), expected);
	strbuf_release(&masked);
}

static void check(const char *arguments, const char *expected)
{
	check_cut(arguments, expected, false);
}

TEST(values_of_options)
{
	check("a|--password=x|b", "a|--password=***|b");
	check("a|--password|x|b", "a|--password|***|b");
	check("a|--db-password|x|b", "a|--db-password|***|b");
	check("a|--auth-token=x y|b", "a|--auth-token=***|b");
	check("a|--api-key|-x|b", "a|--api-key|***|b");
	check("a|--apikey=x", "a|--apikey=***");
	check("a|--client_secret=x", "a|--client_secret=***");
	check("a|-password=x|-Token|y", "a|-password=***|-Token|***");
	check("a|--ACCESS-KEYS=x", "a|--ACCESS-KEYS=***");
	check("openssl|-passin|pass:x", "openssl|-passin|***");
	check("a|--password=", "a|--password=***");
	/* The last argument has no value behind it. */
	check("a|--password", "a|--password");
}

TEST(what_is_no_secret_stays)
{
	check("", "");
	check("a||b", "a||b");
	check("cc|-c|-O2|-o|parse.o|parse.c", "cc|-c|-O2|-o|parse.o|parse.c");
	check("opt|-passes=mem2reg", "opt|-passes=mem2reg");
	check("a|--keyboard=de|--keep-going|--monkeys", "a|--keyboard=de|--keep-going|--monkeys");
	check("mkdir|-p|x", "mkdir|-p|x");
	check("gcc|-pipe|-pthread", "gcc|-pipe|-pthread");
	check("ssh|-p|22|git@host:path", "ssh|-p|22|git@host:path");
	check("git|clone|ssh://git@host/x", "git|clone|ssh://git@host/x");
	check("curl|http://host:80/@x", "curl|http://host:80/@x");
	check("f|Token::parse", "f|Token::parse");
	check("é|\xff|a\nb", "é|\xff|a\nb");
}

TEST(variables)
{
	check("env|PGPASSWORD=x|psql", "env|PGPASSWORD=***|psql");
	check("docker|run|-e|API_TOKEN=x|-it", "docker|run|-e|API_TOKEN=***|-it");
	check("a|--env=AWS_SECRET_ACCESS_KEY=x", "a|--env=AWS_SECRET_ACCESS_KEY=***");
	check("cc|-DSECRET=x", "cc|-DSECRET=***");
	check("mount|-o|user=me,password=x", "mount|-o|user=me,password=***");
	check("psql|host=h password=x dbname=d", "psql|host=h password=***");
}

TEST(headers_and_bodies)
{
	check("curl|-H|Authorization: Bearer x", "curl|-H|Authorization: ***");
	check("curl|-H|X-Api-Key:x", "curl|-H|X-Api-Key:***");
	check("curl|-H|Cookie: a=b", "curl|-H|Cookie: ***");
	check("curl|-d|{\"password\": \"x\"}", "curl|-d|{\"password\": \"***");
}

TEST(urls)
{
	check("git|clone|https://me:x@host/p", "git|clone|https://me:***@host/p");
	check("git|clone|https://x@host/p|b", "git|clone|https://***@host/p|b");
	check("a|url=postgres://u:p:q@r@h:1/db", "a|url=postgres://u:***@h:1/db");
	check("a|http://h/x?token=x&y=1", "a|http://h/x?token=***");
	check_cut("a|https://me:half", "a|https://me:***", true);
	check_cut("a|https://host/pa", "a|https://host/pa", true);
}

TEST(letters_of_known_programs)
{
	check("mysql|-px|db", "mysql|-p***|db");
	check("/usr/bin/mysqldump|-p|db", "/usr/bin/mysqldump|-p|db");
	check("sudo|mysql|-px", "sudo|mysql|-p***");
	check("sh|-c|mysql -px db", "sh|-c|mysql -p***");
	check("sshpass|-p|x|ssh|h", "sshpass|-p|***|ssh|h");
	check("sshpass|-px|ssh|h", "sshpass|-p***|ssh|h");
	check("curl|-u|me:x|h", "curl|-u|me:***|h");
	check("curl|-ume:x|h", "curl|-ume:***|h");
	check("curl|--user|me:x|h", "curl|--user|me:***|h");
	check("curl|--user=me:x|h", "curl|--user=me:***|h");
	check("docker|run|--user|me|h", "docker|run|--user|me|h");
	check("sh|-c|sshpass -p x ssh h", "sh|-c|sshpass -p ***");
	check("sh|-c|tool --password x; other", "sh|-c|tool --password ***");
}

/* A server's title is a single argument. */
TEST(titles_are_one_argument)
{
	check_cut("server: worker --password=x", "server: worker --password=***", false);
	check_cut("mysqld", "mysqld", true);
}
