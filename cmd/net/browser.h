/* SPDX-License-Identifier: MIT */
/* Opens an address in the user's browser. */
#ifndef PROF_CMD_NET_BROWSER_H
#define PROF_CMD_NET_BROWSER_H

#include <stdbool.h>

struct browser {
	char *folder, *page; /* a page that leads to the address; owned */
	bool is_missing; /* there is a screen, but not the program that opens browsers */
	int starter; /* takes the name of that page, 0 if none */
};

/*
 * Starts a process that waits to become the browser. Call before drop_new_privileges(): the
 * sandboxes of many browsers are set up by a set-user-id program. Does nothing without a screen.
 */
void browser_prepare(struct browser *b);

/*
 * Command lines can be read by every user of the machine, so the browser gets the name of a page
 * that only this user can read. False: there is no browser, or no screen, or it is not prepared.
 */
bool browser_open(struct browser *b, const char *url);
/* Removes the page; a browser that was not opened will not be. */
void browser_release(struct browser *b);

#endif
