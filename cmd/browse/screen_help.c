/* SPDX-License-Identifier: MIT */
#include <stddef.h>

#include "cmd/browse/screen.h"
#include "cmd/browse/term.h"

static const char *const lines[] = {
	"Views",
	"  1 functions  2 tree  3 inverted tree  4 flame graph  5 threads over time",
	"  6 lines  7 assembly of a function  8 difference of two files, d other file",
	"Moving",
	"  arrows, hjkl, pages, Ctrl-F Ctrl-B Ctrl-D Ctrl-U, Home End, g G, mouse",
	"  / search by an expression   n next   N before   Esc back",
	"Rows",
	"  Enter  functions: lines; trees: open, close; flame: zoom; threads: choose",
	"  right, left  open, close, to the caller       a  assembly",
	"  s  order: self, total, name                   B  by module, file, process ...",
	"  z  half lines in the flame graph",
	"What counts (u undoes, R undoes all)",
	"  f  stacks with this function    i  those without    r  stacks begin at it",
	"  m  leave it out, callers get its weight             c  its callers",
	"  K  without the kernel           w  with waits       F  fold recursion",
	"  [ ]  begin and end of a range of time in threads, Enter takes it",
	"  :  options of prof report: --process make --time 1..2",
	"More",
	"  space  live: freeze, go on; else a page down    + -  live: length of the window",
	"  !  the prof report command for this   Ctrl-L  draw anew   q  quit",
};

void screen_draw_help(struct screen *s, int line, int height)
{
	int count = (int)(sizeof(lines) / sizeof(*lines)), rows, columns;

	term_size(&rows, &columns);
	if (s->help_top > count - height)
		s->help_top = count - height;
	if (s->help_top < 0)
		s->help_top = 0;
	for (int i = 0; i < height && s->help_top + i < count; i++) {
		const char *text = lines[s->help_top + i];

		term_text(line + i, 1, columns - 1, *text == ' ' ? TERM_PLAIN : TERM_BOLD, false,
			  text);
	}
}
