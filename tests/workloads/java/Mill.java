// SPDX-License-Identifier: MIT
/*
 * A second program for tests/java_truth.py, of other habits than Tree.java:
 *
 *     Mill MILLISECONDS [THREADS]
 */
import java.math.BigInteger;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.PriorityQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.function.Function;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

public class Mill {
    static volatile long sink;

    static long grind(int n) {
        long x = n;
        for (int i = 1; i < n; i++)
            x ^= x << 7 ^ x >>> 9 ^ i;
        return x;
    }

    interface Visitor {
        long leaf(int n);

        default long pair(Node a, Node b) {
            return a.accept(this) + b.accept(this);
        }
    }

    abstract static class Node {
        abstract long accept(Visitor v);
    }

    static class Leaf extends Node {
        final int value;

        Leaf(int value) {
            this.value = value;
        }

        @Override
        long accept(Visitor v) {
            return v.leaf(value);
        }
    }

    static class Pair extends Node {
        final Node left, right;

        Pair(Node left, Node right) {
            this.left = left;
            this.right = right;
        }

        @Override
        long accept(Visitor v) {
            return v.pair(left, right);
        }
    }

    static class Grinder implements Visitor {
        @Override
        public long leaf(int n) {
            return grind(n);
        }
    }

    static Node grow(int depth) {
        if (depth == 0)
            return new Leaf(200);
        return new Pair(grow(depth - 1), grow(depth - 1));
    }

    static final Node TREE = grow(6);

    static long visiting() {
        return TREE.accept(new Grinder());
    }

    static class Weighed {
        final int weight;

        Weighed(int weight) {
            this.weight = weight;
        }

        static int order(Weighed a, Weighed b) {
            return grind(30) == 1 ? 0 : Integer.compare(a.weight, b.weight);
        }

        @Override
        public int hashCode() {
            return (int) grind(40) + weight;
        }

        @Override
        public boolean equals(Object o) {
            return o instanceof Weighed && ((Weighed) o).weight == weight;
        }
    }

    static long queueing() {
        PriorityQueue<Weighed> queue = new PriorityQueue<>(Weighed::order);
        for (int i = 0; i < 150; i++)
            queue.add(new Weighed(i * 31 % 151));
        long sum = 0;
        while (!queue.isEmpty())
            sum += queue.poll().weight;
        return sum;
    }

    static long hashing() {
        Map<Weighed, Integer> map = new HashMap<>();
        for (int i = 0; i < 200; i++)
            map.merge(new Weighed(i % 50), 1, Integer::sum);
        return map.size();
    }

    static class Steps implements Iterable<Integer> {
        @Override
        public Iterator<Integer> iterator() {
            return new Iterator<>() {
                int at;

                @Override
                public boolean hasNext() {
                    return at < 100;
                }

                @Override
                public Integer next() {
                    return (int) grind(100) + at++;
                }
            };
        }
    }

    static long stepping() {
        long sum = 0;
        for (int step : new Steps())
            sum += step;
        return sum;
    }

    static String shout(java.util.regex.MatchResult match) {
        return grind(200) == 1 ? "" : match.group().toUpperCase();
    }

    static final Pattern WORDS = Pattern.compile("[a-z]+");

    static long matching() {
        return WORDS.matcher("the quick brown fox jumps over the lazy dog").replaceAll(Mill::shout).length();
    }

    static Function<Integer, Long> compose(int n) {
        if (n == 0)
            return x -> grind(x);
        Function<Integer, Long> inner = compose(n - 1);
        return x -> inner.apply(x) + n;
    }

    static final Function<Integer, Long> COMPOSED = compose(12);

    static long composing() {
        return COMPOSED.apply(2000);
    }

    static long factorial() {
        BigInteger product = BigInteger.ONE;
        for (int i = 1; i < 120; i++)
            product = product.multiply(BigInteger.valueOf(i));
        return product.bitCount();
    }

    static String group(Integer i) {
        return "g" + grind(60 + i % 5) % 7;
    }

    static long grouping() {
        List<Integer> numbers = new ArrayList<>();
        for (int i = 0; i < 100; i++)
            numbers.add(i);
        return numbers.stream().collect(Collectors.groupingBy(Mill::group)).size();
    }

    static final ExecutorService POOL = Executors.newFixedThreadPool(2, run -> {
        Thread thread = new Thread(run, "mill");
        thread.setDaemon(true);
        return thread;
    });

    static long fetched() {
        return grind(3000);
    }

    static long awaiting() {
        return CompletableFuture.supplyAsync(Mill::fetched, POOL).thenApply(Mill::refined).join();
    }

    static long refined(long x) {
        return x + grind(1000);
    }

    static synchronized long guarded(int n) {
        return grind(n);
    }

    static long guarding() {
        long sum = 0;
        for (int i = 0; i < 30; i++)
            sum += guarded(150);
        return sum;
    }

    static long cascade(int n) {
        try {
            if (n == 0)
                throw new IllegalStateException();
            return cascade(n - 1);
        } finally {
            sink += grind(100);
        }
    }

    static long unwinding() {
        try {
            return cascade(15);
        } catch (IllegalStateException e) {
            return 1;
        }
    }

    static long round() {
        long sum = visiting();
        sum += queueing();
        sum += hashing();
        sum += stepping();
        sum += matching();
        sum += composing();
        sum += factorial();
        sum += grouping();
        sum += awaiting();
        sum += guarding();
        sum += unwinding();
        return sum;
    }

    static void turn(long end) {
        while (System.currentTimeMillis() < end)
            sink += round();
    }

    public static void main(String[] args) throws Exception {
        long end = System.currentTimeMillis() + Long.parseLong(args[0]);
        int count = args.length > 1 ? Integer.parseInt(args[1]) : 1;
        List<Thread> threads = new ArrayList<>();
        for (int i = 1; i < count; i++) {
            threads.add(new Thread(() -> turn(end), "turner-" + i));
            threads.get(i - 1).start();
        }
        turn(end);
        for (Thread thread : threads)
            thread.join();
    }
}
