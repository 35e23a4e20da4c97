/* SPDX-License-Identifier: MIT */
/* Allocates much and frees it, except for what remember() keeps. */
#include <stdlib.h>
#include <string.h>

struct session {
	struct session *next;
	char data[1000];
};

static struct session *sessions;

__attribute__((noinline)) static void remember(const char *data)
{
	struct session *s = malloc(sizeof(*s));

	memcpy(s->data, data, sizeof(s->data));
	s->next = sessions;
	sessions = s;
}

__attribute__((noinline)) static void handle(void)
{
	char *buffer = malloc(20000);

	memset(buffer, 1, 20000);
	remember(buffer);
	free(buffer);
}

int main(void)
{
	for (int i = 0; i < 30000; i++)
		handle();
	return 0;
}
