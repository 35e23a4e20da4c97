// SPDX-License-Identifier: MIT
/*
 * Calls methods in every way that crosses the JVM's own code, for so many milliseconds:
 *
 *     Tree MILLISECONDS [THREADS]
 *
 * tests/java_truth.py knows who calls whom. Each call is on a line that names what it calls.
 */
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.stream.IntStream;

public class Tree {
    static final int DEPTH = 60, THROWS = 20;
    static final ThreadLocal<long[]> sink = ThreadLocal.withInitial(() -> new long[1]);

    interface Shape {
        int area(int n);
    }

    static class Square implements Shape {
        public int area(int n) {
            return side(n) * 2;
        }

        int side(int n) {
            return spin(n);
        }
    }

    static class Cube extends Square {
        @Override
        int side(int n) {
            return spin(n) + 1;
        }
    }

    static class Disc implements Shape {
        public int area(int n) {
            return spin(n) * 3;
        }
    }

    static class Broken extends RuntimeException {
        Broken() {
            super("broken");
        }
    }

    static int spin(int n) {
        int x = n;
        for (int i = 0; i < n; i++)
            x = x * 31 + (i ^ x >>> 3);
        return x;
    }

    static int bottom() {
        return spin(3000);
    }

    static int recurse(int n) {
        if (n > 1)
            return recurse(n - 1) + 1;
        return bottom();
    }

    static int recursing() {
        return recurse(DEPTH);
    }

    static int fib(int n) {
        return n < 2 ? n : fib(n - 1) + fib(n - 2);
    }

    static int counting() {
        return fib(18);
    }

    static int compare(Integer a, Integer b) {
        return spin(20) == 1 ? 0 : Integer.compare(a, b);
    }

    static int sorting() {
        Integer[] numbers = new Integer[400];
        for (int i = 0; i < numbers.length; i++)
            numbers[i] = i * 7919 % 401;
        Arrays.sort(numbers, Tree::compare);
        return numbers[0];
    }

    static int mapped(int i) {
        return spin(i % 100 + 50);
    }

    static int streaming() {
        return IntStream.range(0, 100).map(Tree::mapped).sum();
    }

    static int reflected(int n) {
        return spin(n);
    }

    static final Method METHOD;
    static final MethodHandle HANDLE;

    static {
        try {
            METHOD = Tree.class.getDeclaredMethod("reflected", int.class);
            HANDLE = MethodHandles.lookup().findStatic(Tree.class, "handled",
                    MethodType.methodType(int.class, int.class));
        } catch (ReflectiveOperationException e) {
            throw new ExceptionInInitializerError(e);
        }
    }

    static int reflecting() throws Exception {
        int sum = 0;
        for (int i = 0; i < 20; i++)
            sum += (Integer) METHOD.invoke(null, 300 + i); // reflected
        return sum;
    }

    static int handled(int n) {
        return spin(n);
    }

    static int handling() throws Throwable {
        int sum = 0;
        for (int i = 0; i < 20; i++)
            sum += (int) HANDLE.invokeExact(300 + i); // handled
        return sum;
    }

    static int thrower(int n) {
        if (n > 1)
            return thrower(n - 1);
        if (spin(500) != 1)
            throw new Broken();
        return 0;
    }

    static int throwing() {
        int caught = 0;
        for (int i = 0; i < 10; i++) {
            try {
                caught += thrower(THROWS);
            } catch (Broken e) {
                caught += e.getStackTrace().length;
            }
        }
        return caught;
    }

    static int formatting() {
        int size = 0;
        for (int i = 0; i < 50; i++)
            size += String.format("%d %s %.2f", i, "x", i * 0.5).length();
        return size;
    }

    static int allocating() {
        List<byte[]> list = new ArrayList<>();
        for (int i = 0; i < 200; i++) {
            if (i % 50 == 0)
                list.clear();
            list.add(new byte[4000]);
        }
        return list.size();
    }

    static final Shape[] SHAPES = {new Square(), new Cube(), new Disc()};

    static int dispatching() {
        int sum = 0;
        for (int i = 0; i < 60; i++)
            sum += SHAPES[i % 3].area(100 + i);
        return sum;
    }

    static final Object OUTER = new Object(), INNER = new Object();

    static int inner(int n) {
        synchronized (INNER) {
            return spin(n);
        }
    }

    static int locking() {
        int sum = 0;
        for (int i = 0; i < 20; i++) {
            synchronized (OUTER) {
                sum += inner(200);
            }
        }
        return sum;
    }

    static int copying() {
        long[] from = new long[20000], to = new long[20000];
        for (int i = 0; i < 10; i++)
            System.arraycopy(from, 0, to, i, 20000 - i);
        return (int) to[5] + Arrays.hashCode(to);
    }

    public static int initialized(int n) {
        return spin(n);
    }

    /* Made anew from its bytes each time: its code comes and goes. */
    static class Fresh {
        static int value = initialized(2000);
    }

    static class Loader extends ClassLoader {
        @Override
        protected Class<?> findClass(String name) throws ClassNotFoundException {
            try (var in = Tree.class.getResourceAsStream("Tree$Fresh.class")) {
                byte[] bytes = in.readAllBytes();
                return defineClass(name, bytes, 0, bytes.length);
            } catch (java.io.IOException e) {
                throw new ClassNotFoundException(name, e);
            }
        }

        @Override
        public Class<?> loadClass(String name) throws ClassNotFoundException {
            return name.endsWith("Fresh") ? findClass(name) : super.loadClass(name);
        }
    }

    static int loading() throws Exception {
        Class<?> made = Class.forName("Tree$Fresh", true, new Loader());
        return made.getModifiers();
    }

    static int scene() throws Throwable {
        int sum = recursing();
        sum += counting();
        sum += sorting();
        sum += streaming();
        sum += reflecting();
        sum += handling();
        sum += throwing();
        sum += formatting();
        sum += allocating();
        sum += dispatching();
        sum += locking();
        sum += copying();
        sum += loading();
        return sum;
    }

    static void work(long end) {
        try {
            while (System.currentTimeMillis() < end)
                sink.get()[0] += scene();
        } catch (Throwable e) {
            throw new AssertionError(e);
        }
    }

    public static void main(String[] args) throws Exception {
        long end = System.currentTimeMillis() + Long.parseLong(args[0]);
        int count = args.length > 1 ? Integer.parseInt(args[1]) : 1;
        List<Thread> threads = new ArrayList<>();
        for (int i = 1; i < count; i++) {
            threads.add(new Thread(() -> work(end), "worker-" + i));
            threads.get(i - 1).start();
        }
        work(end);
        for (Thread thread : threads)
            thread.join();
    }
}
