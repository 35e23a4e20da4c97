/* SPDX-License-Identifier: MIT */
/*
 * embedding SECONDS: a C program that has Python in it. For a third of that CPU time each, the
 * functions below are called by main(), by a thread that Python does not know, and in a second
 * interpreter: call_outer(), outer, key for a sort in C, twice(), inner.
 */
#include <Python.h>

#include <pthread.h>
#include <stdlib.h>
#include <time.h>

static const char script[] = "import host\n"
			     "def inner(n):\n"
			     "    total = 0\n"
			     "    for i in range(n):\n"
			     "        total += i\n"
			     "    return total\n"
			     "def key(x):\n"
			     "    return host.twice(inner, 3000)\n"
			     "def outer():\n"
			     "    return sorted((3, 1, 2), key=key)\n";

static double cpu_time(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static PyObject *twice(PyObject *self, PyObject *args)
{
	PyObject *function, *number, *result;

	if (!PyArg_ParseTuple(args, "OO", &function, &number))
		return NULL;
	result = PyObject_CallFunctionObjArgs(function, number, NULL);
	Py_XDECREF(result);
	return result ? PyObject_CallFunctionObjArgs(function, number, NULL) : NULL;
}

static PyObject *make_host(void)
{
	static PyMethodDef methods[] = {{"twice", twice, METH_VARARGS, NULL}, {0}};
	static PyModuleDef module = {PyModuleDef_HEAD_INIT, .m_name = "host", .m_methods = methods};

	return PyModule_Create(&module);
}

/* The caller holds the lock of an interpreter that has run the script. */
static void __attribute__((noinline)) call_outer(double seconds)
{
	double end = cpu_time() + seconds;

	while (cpu_time() < end) {
		PyObject *main_module = PyImport_AddModule("__main__");
		PyObject *result = PyObject_CallMethod(main_module, "outer", NULL);

		if (!result) {
			PyErr_Print();
			exit(1);
		}
		Py_DECREF(result);
	}
}

static void *run_thread(void *seconds)
{
	PyGILState_STATE state = PyGILState_Ensure();

	call_outer(*(double *)seconds);
	PyGILState_Release(state);
	return NULL;
}

static void run_second(double seconds)
{
	PyThreadState *first = PyThreadState_Get(), *second = Py_NewInterpreter();

	if (!second || PyRun_SimpleString(script) != 0)
		exit(1);
	call_outer(seconds);
	Py_EndInterpreter(second);
	PyThreadState_Swap(first);
}

int main(int argc, char **argv)
{
	double seconds = argc > 1 ? atof(argv[1]) / 3 : 0.3;
	PyThreadState *state;
	pthread_t thread;

	PyImport_AppendInittab("host", make_host);
	Py_Initialize();
	if (PyRun_SimpleString(script) != 0)
		return 1;
	call_outer(seconds);
	state = PyEval_SaveThread();
	if (pthread_create(&thread, NULL, run_thread, &seconds) != 0)
		return 1;
	pthread_join(thread, NULL);
	PyEval_RestoreThread(state);
	run_second(seconds);
	return Py_FinalizeEx() < 0;
}
