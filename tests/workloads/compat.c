/* SPDX-License-Identifier: MIT */
/*
 * A 32-bit program that needs neither libraries nor headers of its architecture. Of its CPU time,
 * left() takes a half, right() a quarter, and a signal handler the rest.
 *	compat MS [FD]
 * Before that it reads FD to its end, byte by byte.
 */
enum { SYS_READ = 3, SYS_GETPID = 20, SYS_KILL = 37, SYS_SIGACTION = 67, SYS_CLOCK_GETTIME = 265 };
enum { SIGNAL = 10, CLOCK_THREAD_CPU = 3 };

#ifdef __clang__
#define NOINLINE __attribute__((noinline))
#else
#define NOINLINE __attribute__((noinline, noclone, no_icf))
#endif

struct action {
	void (*handler)(int);
	unsigned long mask, flags;
	void (*restorer)(void);
};

/* Without a restorer, handlers return through the kernel's own trampoline. */
static inline long call(long number, long a, const void *b)
{
	long result;

	/* The third argument is the size for those calls that have one. */
	__asm__ volatile("int $0x80"
			 : "=a"(result)
			 : "a"(number), "b"(a), "c"(b), "d"(1)
			 : "memory");
	return result;
}

static inline long cpu_us(void)
{
	long time[2] = {0};

	call(SYS_CLOCK_GETTIME, CLOCK_THREAD_CPU, time);
	return time[0] * 1000000 + time[1] / 1000;
}

static inline __attribute__((always_inline)) void burn_us(long us)
{
	long end = cpu_us() + us;
	unsigned long x = 2463534242;

	while (cpu_us() - end < 0) {
		for (int i = 0; i < 8000; i++) {
			x ^= x << 13;
			x ^= x >> 17;
			x ^= x << 5;
			__asm__ volatile("" : "+r"(x));
		}
	}
}

static NOINLINE void left(long us)
{
	burn_us(us / 2);
}

/* Has an aligned frame, so that its CFA is in memory. */
static NOINLINE void right(long us)
{
	_Alignas(64) volatile long spent[16];

	spent[us & 15] = us / 4;
	burn_us(spent[us & 15]);
}

static void handler(int signal)
{
	burn_us(5000);
}

static NOINLINE void both(long us)
{
	left(us);
	right(us);
	call(SYS_KILL, call(SYS_GETPID, 0, (void *)0), (const void *)SIGNAL);
	__asm__ volatile("");
}

static long number(const char *digit)
{
	long value = 0;

	for (; *digit; digit++)
		value = value * 10 + (*digit - '0');
	return value;
}

int run(int argc, char **argv);

__attribute__((used)) int run(int argc, char **argv)
{
	struct action action = {.handler = handler};
	long ms;
	char byte;

	if (argc != 2 && argc != 3)
		return 2;
	ms = number(argv[1]);
	while (argc == 3 && call(SYS_READ, number(argv[2]), &byte) > 0)
		;
	call(SYS_SIGACTION, SIGNAL, &action);
	for (; ms > 0; ms -= 20)
		both(20000);
	return 0;
}

/* At entry, argc and argv are on the stack; the ABI wants it aligned for the call. */
__asm__(".globl _start\n"
	".type _start, @function\n"
	"_start:\n"
	"	.cfi_startproc\n"
	"	.cfi_undefined eip\n"
	"	mov (%esp), %eax\n"
	"	lea 4(%esp), %edx\n"
	"	and $-16, %esp\n"
	"	sub $8, %esp\n"
	"	push %edx\n"
	"	push %eax\n"
	"	call run\n"
	"	mov %eax, %ebx\n"
	"	mov $1, %eax\n"
	"	int $0x80\n"
	"	.cfi_endproc\n"
	".size _start, . - _start\n");
