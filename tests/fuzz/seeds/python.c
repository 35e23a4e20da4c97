/* SPDX-License-Identifier: MIT */
/*
 * Shows what a file with CPython 3.MINOR, or 2.7 if MINOR is 0, has for those who look from
 * outside, as in its builds: compiled by tests/fuzz/make-python-seeds.
 */

#ifndef LEVEL
#define LEVEL 0xf
#endif
#ifndef THREADED
#define THREADED 0
#endif

typedef unsigned long word;

struct member {
	const char *name;
	long type, offset, flags;
	const char *doc;
};

#ifndef FILE_AT
#define FILE_AT (MINOR >= 11 ? 112 : MINOR >= 8 ? 104 : MINOR ? 96 : 80)
#endif

static const struct member members[] = {
	{"co_argcount", 1,
	 MINOR >= 12   ? 52
	 : MINOR == 11 ? 56
		       : 16,
	 1, 0},
#if MINOR >= 10
	{"co_linetable", 6, MINOR >= 11 ? 136 : 120, 1, 0},
#else
	{"co_lnotab", 6,
	 MINOR >= 8 ? 120
	 : MINOR    ? 112
		    : 104,
	 1, 0},
#endif
	{"co_filename", 6, FILE_AT, 1, 0},
	{"co_name", 6,
	 MINOR >= 11  ? 120
	 : MINOR >= 8 ? 112
	 : MINOR      ? 104
		      : 88,
	 1, 0},
#if MINOR >= 11
	{"co_qualname", 6, 128, 1, 0},
#endif
	{"co_firstlineno", 1,
	 MINOR >= 12   ? 68
	 : MINOR == 11 ? 72
	 : MINOR >= 8  ? 40
	 : MINOR       ? 36
		       : 96,
	 1, 0},
	{0, 0, 0, 0, 0},
};

struct {
	word head[30];
	const struct member *members;
	word rest[20];
} PyCode_Type = {.members = members};

#if MINOR >= 11 && !defined(NO_VERSION)
const word Py_Version = 3 << 24 | MINOR << 16 | 0x01f0;
#endif

#if MINOR < 7
word _PyThreadState_Current = 1;
#ifdef FAR
__attribute__((section(".far")))
#endif
static volatile word interp_head = 1;

word PyInterpreterState_Head(void)
{
	return interp_head;
}
#else
#if MINOR >= 10
__attribute__((section(".PyRuntime")))
#endif
word _PyRuntime[160] = {
#if MINOR >= 13
	0x7970677562656478, /* xdebugpy */
	3 << 24 | MINOR << 16 | 0x0100 | LEVEL << 4,
	THREADED,
#endif
#if MINOR == 13
	283320,
	608,
	632,
	194968,
	7272,
	7264,
	7344,
	7400,
	7656,
	7640,
	7648,
	16,
	7752,
	0,
	7768,
	7760,
	304,
	0,
	8,
	16,
	72,
	152,
	160,
	232,
	32,
	80,
	8,
	0,
	56,
	72,
	70,
	208,
	112,
	120,
	128,
	136,
	68,
	52,
	96,
	104,
	200,
	16,
	8,
	416,
	24,
	88,
	168,
	32,
	24,
	16,
	40,
	24,
	16,
	48,
	32,
	40,
	24,
	16,
	32,
	16,
	24,
	40,
	16,
	32,
	64,
	32,
	16,
	40,
	240,
	200,
#elif MINOR == 14
	316616, 784,  808,  225864, 7280, 7272, 7344, 7360, 7408, 7688, 7672, 7680, 16,	 7784,
	0,	7800, 7792, 7992,   0,	  832,	0,    8,    16,	  72,	152,  160,  232, 32,
	88,	8,    0,    56,	    80,	  74,	64,   0,    216,  112,	120,  128,  136, 68,
	52,	96,   104,  208,    0,	  16,	8,    416,  24,	  88,	168,  40,   32,	 16,
	40,	24,   16,   200,    24,	  40,	32,   48,   32,	  40,	24,   16,   32,	 16,
	24,	40,   16,   32,	    64,	  32,	16,   40,   264,  192,
#elif MINOR >= 15
	346568, 912,  936,  226240, 7272, 7264, 7336, 7352, 7400, 7592, 7576, 7584, 16, 7736,
	0,	7752, 7744, 7944,   0,	  888,	0,    8,    16,	  72,	80,   88,   96, 176,
	184,	256,  32,   36,	    40,	  136,	288,  0,    88,	  8,	0,    56,   80, 74,
	64,	0,    216,  112,    120,  128,	136,  68,   52,	  96,	104,  208,  0,	16,
	8,	424,  24,   88,	    168,  32,	288,  944,  888,  40,	32,   16,   40, 24,
	16,	200,  24,   40,	    32,	  48,	32,   40,   24,	  16,	32,   16,   24, 40,
	16,	32,   64,   32,	    16,	  40,	56,   176,
#else
	1,
#endif
};
#endif

#define FUNCTION(name) \
	void name(void) \
	{ \
		__asm__(".skip 64, 0x90"); \
	}

#if MINOR < 7
FUNCTION(PyEval_EvalFrameEx)
#endif
#if !MINOR
FUNCTION(PyString_Type)
#endif
#if MINOR >= 6
FUNCTION(_PyEval_EvalFrameDefault)
#endif
#if MINOR >= 8
FUNCTION(PyCode_NewWithPosOnlyArgs)
#endif
#if MINOR >= 9
FUNCTION(PyFrame_GetCode)
#endif
#if MINOR >= 10
FUNCTION(PyIter_Send)
#endif
